/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators as torch.profiler presents them: those that started and ended while it ran, folded by its rules, with the
 * memory of each, and a record "[memory]" for each time that memory moved outside of any of them.
 */
#ifndef ST_ANALYZE_TORCH_TORCH_EVENTS_H
#define ST_ANALYZE_TORCH_TORCH_EVENTS_H

#include "analyze/operators/dataset_operators.h"
#include "analyze/engine/filter.h"
#include "analyze/tables/torch_options.h"

/* An event is a number: rows of the dataset that were chosen, then moments of memory. */
struct st_torch_events {
	const struct st_result *result;
	const struct st_torch_options *options;
	struct st_dataset dataset;
	const struct st_operator_rows *rows;
	struct st_selection selection;
	int64_t begin_ns;	       /* that times count from */
	int64_t *memory, *self_memory; /* bytes, by row; NULL: not asked for */
	int64_t *device_memory, *self_device_memory;
	const struct st_memory_moment **moments; /* those outside of rows, of the CPU first */
	uint32_t moment_count;
	uint64_t *flops; /* by signature, and one for none; NULL: not asked for */
	struct st_key_texts shapes;
	uint32_t *shapes_of; /* by signature, and one for none: key of shapes */
	/* By row; NULL before st_torch_events_link. */
	uint32_t *forward_tid; /* of a backward node: the thread; 0: none */
	uint32_t *
		forward_row; /* of a node and of what lies inside: its forward operator, or ST_NO_ROW */
	uint8_t *is_backward; /* a node, or inside of one */
	/* By row; NULL before st_torch_events_stacks. */
	struct st_key_texts
		stacks;	    /* frames, the innermost first, with '\n' between; the first is none */
	uint32_t *stack_of; /* key of stacks */
};

enum st_status st_torch_events_init(struct st_torch_events *out, const struct st_result *result,
				    const struct st_question *question,
				    const struct st_torch_options *options, struct st_error *err);
void st_torch_events_fini(struct st_torch_events *events);

/* Zeros that live as long as the events, one more than the count. NULL: no memory. */
void *st_torch_column(struct st_torch_events *events, uint32_t count, size_t size_bytes);
/* enum st_operator_scope. */
uint32_t st_torch_event_scope(const struct st_torch_events *events, uint32_t row);
/* Bytes of a device, as torch counts them: of those that it knows. */
int64_t st_torch_device_bytes(const struct st_memory_moment *moment);
/* Of the CPU. */
int64_t st_torch_cpu_bytes(const struct st_memory_moment *moment);
/* A range of the program, not an operator. */
bool st_torch_event_is_user(const struct st_torch_events *events, uint32_t row);
/* Gives nodes of the backward pass the thread of their forward operator, and what autograd's engine wraps around a node
 * the number and thread of the node. False: no memory. */
bool st_torch_events_link(struct st_torch_events *events);

/* The Python stack of each event, at most `most` frames of it; of what runs backward that of the forward operator.
 * Links the events. False: no memory. */
bool st_torch_events_stacks(struct st_torch_events *events, uint32_t most);

#endif
