/* SPDX-License-Identifier: Apache-2.0
 *
 * An open result from inside; for result.c, events.c, samples.c and operators.c only.
 */
#ifndef ST_STORE_READ_RESULT_STATE_H
#define ST_STORE_READ_RESULT_STATE_H

#include "store/code.h"
#include "store/events.h"
#include "store/index/index_build.h"
#include "store/model/model.h"
#include "store/model/result_info.h"
#include "store/samples.h"

struct st_result {
	struct st_result_info info;
	struct st_info_more more;
	struct st_model model;
	struct st_index index;
	struct st_index_meta meta;
	struct st_slices slices;
	struct st_track *tracks;
	struct st_label *labels;
	struct st_pause_window *windows;
	struct st_quality quality;
	struct st_events events;
	uint32_t *first_of_track;
	struct st_code_table code;
	struct st_sync_object *named_objects; /* a copy, once one has got another name */
	struct st_samples samples;
	struct st_stack_nodes nodes;
	struct st_sampler *samplers;
	struct st_cpu_demand *demands;
	uint32_t *sample_first; /* first_of_track of the samples */
	struct st_sample_quality sample_quality;
	struct st_signature *signatures;
};

/* samples.c, operators.c: what their accessors give out. False: no memory. */
bool st_samples_make(struct st_result *result);
bool st_operators_make(struct st_result *result);
/* calls.c: times become ns. */
void st_python_calls_make(struct st_result *result);

#endif
