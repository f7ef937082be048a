/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the Kineto form share: the walk over threads (kineto.c), what is written once for many operators
 * (kineto_texts.c), Python functions as recorded (kineto_calls.c), devices (kineto_devices.c), and what stands around
 * the slices (kineto_frame.c).
 */
#ifndef ST_EXPORT_TRACE_KINETO_PARTS_H
#define ST_EXPORT_TRACE_KINETO_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/operators/dataset_operators.h"
#include "analyze/torch/python_functions.h"
#include "export/stream.h"
#include "export/trace/lanes.h"
#include "export/trace/thread_ids.h"
#include "store/traced_calls.h"

struct st_json;

struct st_kineto {
	const struct st_result *result;
	const struct st_export_options *options;
	struct st_stream stream;
	struct st_buf *out; /* the stream's */
	struct st_dataset dataset;
	const struct st_operator_rows *rows;
	const struct st_slices *slices;
	const struct st_process *processes;
	const struct st_track *tracks;
	uint32_t process_count, track_count, label_count, signature_count;
	unsigned int parts; /* ST_PART_*: what is written */
	bool has_window;
	int64_t begin_ns, end_ns; /* of the window, else of the result */
	int64_t shift_ns;	  /* from the start of collection to the base of the file's times */
	uint64_t base_ns;	  /* of the times, since 1970 */
	uint8_t *wanted;	  /* by track */
	uint32_t *
		numbers; /* by track: as torch numbers threads of a process, from 1; 0: no operators */
	uint32_t *forwards; /* by row, as st_operators_forwards */
	uint32_t *flows;    /* by row: the flow that begins or ends there, from 1; 0: none */
	struct st_thread_ids ids;
	struct st_buf heads; /* by label: the beginning of an event up to its name */
	size_t *head_ends;
	struct st_buf inputs; /* by signature: arguments */
	size_t *input_ends;
	struct st_python_functions python;
	/* Calls of Python functions: drawn as they were recorded, where they were. */
	const struct st_traced_call *calls;
	uint32_t call_count;		/* 0: none, functions come from the stacks of operators */
	struct st_row_span *call_spans; /* by track */
	int64_t *call_ends;		/* by call: where it ends in the file */
	int64_t *slice_ends;		/* by slice, the same; 0: as recorded */
	struct st_lanes lanes;
	uint32_t *lane_tids; /* of the thread at hand, beyond lane 0 */
	uint32_t lane_count, lane_capacity;
	struct st_slice_flow *launches; /* by what was launched */
	uint32_t launch_count;
	uint32_t *externals; /* by row: its number in the file; 0: it is not there */
	uint32_t external;   /* the last of them */
	uint64_t index;	     /* events so far */
};

/* As a profiler that ran over the window has it: what began and ended inside (analyze/operators/dataset_operators.h). */
static inline bool st_kineto_has_slice(const struct st_kineto *kineto, uint32_t slice)
{
	return !kineto->has_window || (kineto->slices->begin_ns[slice] >= kineto->begin_ns &&
				       kineto->slices->end_ns[slice] <= kineto->end_ns &&
				       !(kineto->slices->flags[slice] & ST_SLICE_UNFINISHED));
}

/* A time as it stands in the file. That of a damaged result may be any number. */
static inline int64_t st_kineto_time(const struct st_kineto *kineto, int64_t ns)
{
	return (int64_t)((uint64_t)ns + (uint64_t)kineto->shift_ns);
}

/* What a slice is in the file. */
enum st_python_slice st_kineto_kind(const void *kineto, uint32_t slice);

/* kineto_calls.c. A track is prepared before it is written. */
bool st_kineto_calls_create(struct st_kineto *kineto);
void st_kineto_calls_destroy(struct st_kineto *kineto);
/* Those of all threads of a process are in the file, as torch has them, if any of its operators may be. */
bool st_kineto_has_calls(const struct st_kineto *kineto, uint32_t track);
bool st_kineto_calls_track(struct st_kineto *kineto, uint32_t track);
enum st_status st_kineto_write_calls(struct st_kineto *kineto, uint32_t track,
				     struct st_error *err);
static inline int64_t st_kineto_slice_end(const struct st_kineto *kineto, uint32_t slice)
{
	return kineto->slice_ends && kineto->slice_ends[slice] ? kineto->slice_ends[slice]
							       : kineto->slices->end_ns[slice];
}

/* kineto_devices.c */
struct st_kineto_row_name { /* of a row */
	const char *kind;   /* "process_name" */
	uint32_t pid, tid;
	const char *key;
	struct st_text text; /* none: the number */
	uint64_t number;
};
typedef void st_kineto_namer(struct st_kineto *kineto, const struct st_kineto_row_name *name);
bool st_kineto_devices_create(struct st_kineto *kineto);
void st_kineto_devices_destroy(struct st_kineto *kineto);
bool st_kineto_is_stream(const struct st_kineto *kineto, uint32_t track);
bool st_kineto_is_call(const struct st_kineto *kineto, uint32_t slice);
void st_kineto_write_call(struct st_kineto *kineto, uint32_t slice, const uint32_t pid_tid[2]);
enum st_status st_kineto_write_stream(struct st_kineto *kineto, uint32_t track,
				      struct st_error *err);
/* The call that launched a slice, or ST_NO_ROW. */
uint32_t st_kineto_launch_of(const struct st_kineto *kineto, uint32_t slice);
void st_kineto_name_streams(struct st_kineto *kineto, st_kineto_namer *add);

/* kineto_device_more.c */
void st_kineto_add_devices(struct st_kineto *kineto, struct st_json *json);
/* What a call waited for, where that is known. */
void st_kineto_write_wait(struct st_kineto *kineto, uint32_t slice);
void st_kineto_write_overhead(struct st_kineto *kineto, uint32_t slice, struct st_text name);
/* Ranges of the program, over what of a stream was launched in them; false when memory is out. */
bool st_kineto_write_ranges(struct st_kineto *kineto, uint32_t track, const uint32_t pid_tid[2]);

void st_kineto_add_us(struct st_json *json, int64_t ns);
/* The event of a call of a Python function, up to what only some have in their arguments. Numbers from 1; 0: none. */
struct st_kineto_call {
	struct st_text name;
	int64_t begin_ns, end_ns;
	uint64_t id, parent;
};
void st_kineto_call_begin(struct st_kineto *kineto, struct st_json *json, uint32_t track,
			  const struct st_kineto_call *call);
void st_kineto_call_end(struct st_kineto *kineto, struct st_json *json);
bool st_kineto_make_heads(struct st_kineto *kineto);
bool st_kineto_make_inputs(struct st_kineto *kineto);
void st_kineto_begin(struct st_kineto *kineto); /* all in front of the first slice */
enum st_status st_kineto_write_memory(struct st_kineto *kineto, struct st_error *err);
void st_kineto_end(struct st_kineto *kineto);

#endif
