/* SPDX-License-Identifier: Apache-2.0
 *
 * The operators of samples that were taken while none were recorded: PyTorch's own frames name them.
 */
#ifndef ST_ANALYZE_SAMPLES_SAMPLE_OPERATORS_H
#define ST_ANALYZE_SAMPLES_SAMPLE_OPERATORS_H

#include "analyze/datasets/operator_turns.h"
#include "analyze/samples/sample_set.h"

struct st_sample_operators {
	struct st_operator_turns turns;
	/* By function: a slice of the operator that it is the call of, ST_NO_ROW: of none. */
	uint32_t *slice_of;
	/* By frame: itself or the nearest caller that is the call of an operator; 0: none. */
	uint32_t *frame_of;
};

/* Nothing is made where every operator was recorded. */
enum st_status st_sample_operators_make(struct st_sample_set *set, struct st_error *err);
void st_sample_operators_fini(struct st_sample_set *set);

/* The frame that calls the innermost operator of a sample whose operators were not recorded; 0: they were, or there is
 * none. *inherited: it is a frame of the thread that created the sample's. */
uint32_t st_sample_operator_frame(const struct st_sample_set *set, uint32_t sample,
				  bool *inherited);
/* A slice of the operator that a frame is the call of. */
uint32_t st_sample_operator_slice(const struct st_sample_set *set, uint32_t frame);
/* The frame that calls the operator around that; 0: none. */
uint32_t st_sample_operator_outer(const struct st_sample_set *set, uint32_t frame);

#endif
