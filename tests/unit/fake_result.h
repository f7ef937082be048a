/* SPDX-License-Identifier: Apache-2.0
 *
 * A result made by hand: implements the accessors of store/result.h over arrays that a test fills, so
 * that tests of the question engine and of the exporters need no files. Linked instead of st_store.
 */
#ifndef ST_TESTS_UNIT_FAKE_RESULT_H
#define ST_TESTS_UNIT_FAKE_RESULT_H

#include "store/events.h"
#include "store/off_cpu.h"
#include "store/operators.h"
#include "store/python_calls.h"
#include "store/result.h"
#include "store/samples.h"
#include "store/traced_calls.h"

enum { FAKE_MAX = 300000, FAKE_SMALL = 64, FAKE_EVENTS = 4096 };

/* The columns of struct st_samples and struct st_stack_nodes, to be written to. */
struct fake_sample_columns {
	int64_t *time_ns;
	uint64_t *weight_ns;
	uint32_t *node, *track, *slice, *inherited;
	uint16_t *flags;
	uint32_t first_of_track[FAKE_SMALL + 1];
};
struct fake_node_columns {
	uint32_t *parent, *process, *line;
	uint64_t *value;
	uint8_t *kind;
};

struct st_result {
	struct st_result_info info;
	struct st_quality quality;
	struct st_slices slices;
	struct st_process processes[FAKE_SMALL];
	struct st_track tracks[FAKE_SMALL];
	struct st_label labels[FAKE_SMALL];
	struct st_not_entered_program not_entered[FAKE_SMALL];
	struct st_pause_window pauses[FAKE_SMALL];
	struct st_text texts[4 * FAKE_SMALL];
	uint32_t process_count, track_count, label_count, not_entered_count, pause_count,
		text_count;
	int64_t *begin_ns, *end_ns;
	uint64_t *self_ns;
	uint32_t *label, *track, *parent;
	uint16_t *depth, *flags;
	/* Events: rows of one track together, in the order of the tracks. */
	struct st_events events;
	struct st_event_row *event_rows;
	uint32_t first_of_track[FAKE_SMALL + 1];
	struct st_span *spans;
	struct st_itt_id ids[FAKE_SMALL];
	struct st_text blobs[FAKE_SMALL];
	struct st_sync_object sync_objects[FAKE_SMALL];
	struct st_object objects[FAKE_SMALL];
	struct st_object_fact facts[FAKE_SMALL];
	struct st_code code[FAKE_SMALL];
	struct st_code_map code_maps[FAKE_SMALL];
	struct st_caller callers[FAKE_SMALL];
	uint32_t *slice_callers; /* by slice; only given out when there are callers */
	/* Samples of one track together, in the order of the tracks. */
	struct st_samples samples;
	struct fake_sample_columns sample_columns;
	struct st_stack_nodes nodes;
	struct fake_node_columns node_columns;
	struct st_python_code python_codes[FAKE_SMALL];
	struct st_sampler samplers[FAKE_SMALL];
	struct st_cpu_demand demands[FAKE_SMALL];
	uint32_t demand_count;
	struct st_off_row off_cpu[FAKE_SMALL]; /* by track and time */
	uint32_t off_cpu_count;
	struct st_sample_quality sample_quality;
	struct st_operator operators[FAKE_SMALL]; /* by row */
	struct st_signature signatures[FAKE_SMALL];
	struct st_memory_moment moments[FAKE_SMALL], device_moments[FAKE_SMALL];
	struct st_operator_source operator_sources[FAKE_SMALL];
	uint32_t operator_count, signature_count, moment_count, device_moment_count,
		operator_source_count;
	struct st_python_function python_functions[FAKE_SMALL];
	struct st_python_calls python_calls[FAKE_SMALL];
	uint32_t python_function_count, python_calls_count;
	uint64_t python_calls_lost;
	struct st_traced_call traced_calls[FAKE_SMALL];
	struct st_slice_flow flows[FAKE_SMALL]; /* by from, then to */
	uint32_t traced_call_count, flow_count;
	uint32_t creators[FAKE_SMALL]; /* by track; ST_NO_ROW until a test sets it */
	uint32_t python_code_count, sampler_count;
	uint32_t span_count, id_count, blob_count, sync_object_count, object_count, fact_count,
		code_count, code_map_count, caller_count;
};

struct st_result *fake_create(void);
void fake_destroy(struct st_result *fake);
st_string_id fake_bytes(struct st_result *fake, const void *bytes, size_t size_bytes);
st_string_id fake_text(struct st_result *fake, const char *text);
uint32_t fake_process(struct st_result *fake, const char *name, uint32_t pid);
uint32_t fake_track(struct st_result *fake, uint32_t process, const char *name, uint32_t tid);
/* family NULL: the name with each run of digits folded. */
uint32_t fake_label(struct st_result *fake, const char *domain, const char *name);
uint32_t fake_label_bytes(struct st_result *fake, const char *domain, const void *name,
			  size_t size_bytes);
/* Appends to the newest track; rows must come in order of begin, parents first. */
uint32_t fake_slice(struct st_result *fake, uint32_t label, int64_t begin_ns, int64_t end_ns,
		    uint32_t parent);
/* Appends an event; rows of a track must come together, tracks in order. */
uint32_t fake_event(struct st_result *fake, struct st_event_row row);
uint32_t fake_span(struct st_result *fake, struct st_span span); /* by kind, then begin */
uint32_t fake_id(struct st_result *fake, uint64_t d1, uint64_t d2, uint64_t d3);
uint32_t fake_blob(struct st_result *fake, const void *bytes, size_t size_bytes);
uint32_t fake_object(struct st_result *fake, uint8_t kind, uint8_t type, const char *domain,
		     const char *name);
/* Stacks, outermost first: parent 0 is the empty stack. The process is that of the newest track. */
uint32_t fake_node(struct st_result *fake, uint32_t parent, uint8_t kind, uint64_t value);
uint32_t fake_python_code(struct st_result *fake, uint32_t process, const char *file,
			  const char *name, uint32_t first_line);
uint32_t fake_python_node(struct st_result *fake, uint32_t parent, uint32_t code, uint32_t line);
/* Appends to the newest track. Slice, inherited and the quality counts are filled in by fake_finish. */
uint32_t fake_sample(struct st_result *fake, int64_t time_ns, uint64_t weight_ns, uint32_t node,
		     uint16_t flags);
/* When a thread was on no CPU; tracks and times ascending. */
void fake_off(struct st_result *fake, uint32_t track, int64_t begin_ns, uint64_t off_ns,
	      uint32_t flags);
uint32_t fake_sampler(struct st_result *fake, uint32_t process, uint64_t period_ns);
void fake_code_map(struct st_result *fake, uint32_t process, uint64_t start, uint64_t end,
		   const char *path);
/* Self times, depths and counts, once every slice and sample is there. */
void fake_finish(struct st_result *fake);

#endif
