/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of torch.profiler: the arguments of profile(), key_averages() and table().
 */
#ifndef ST_ANALYZE_TABLES_TORCH_OPTIONS_H
#define ST_ANALYZE_TABLES_TORCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: torch's defaults. */
struct st_torch_options {
	bool given; /* anything at all */
	/* Of the profile: what it was told not to record, or to show. */
	bool hides_shapes;  /* record_shapes=False */
	bool hides_devices; /* use_device=None: activities have none */
	bool profile_memory, with_flops, with_stack;
	/* Of key_averages. */
	bool group_by_input_shape, group_by_overload_name;
	uint32_t group_by_stack_n;
	/* Of table. */
	const char *
		rows; /* "3,0,7": these, in this order, numbered as they come without it; NULL: all */
	const char *sort_by, *header, *time_unit;
	bool top_level_events_only;
	bool has_row_limit;
	int64_t row_limit;				/* negative: all */
	int32_t name_width, shapes_width, source_width; /* 0: torch's default; negative: no limit */
};

enum {
	ST_TORCH_NAME_WIDTH = 55,
	ST_TORCH_SHAPES_WIDTH = 80,
	ST_TORCH_SOURCE_WIDTH = 75,
	ST_TORCH_ROW_LIMIT = 100,
};

/* How torch's table of a report looks; a report has it when its text is one. Found over all rows, also those that a
 * limit leaves out. */
struct st_torch_layout {
	uint32_t name_width, overload_width, shapes_width, source_width;
	uint32_t name_max; /* 0: any length */
	bool has_overloads, has_shapes, has_stacks, has_memory;
	bool has_device_memory;
	const char *flops_title; /* "Total KFLOPs", or NULL: no such column */
	double flops_scale;
	const char *header, *time_unit;
	bool top_level_events_only;
	uint64_t row_limit; /* of the text; UINT64_MAX: all */
	double self_us;	    /* of all rows */
	bool has_device;
	double self_device_us; /* of what ran on devices */
};

/* Columns of the reports torch-averages and torch-events; the latter has those behind ST_TORCH_AVERAGE_COLUMNS too. */
enum st_torch_column {
	ST_TORCH_KEY,
	ST_TORCH_OVERLOAD,
	ST_TORCH_COUNT,
	ST_TORCH_SELF_CPU,
	ST_TORCH_CPU_TOTAL,
	ST_TORCH_CPU_TIME,
	ST_TORCH_SELF_DEVICE,
	ST_TORCH_DEVICE_TOTAL,
	ST_TORCH_DEVICE_TIME,
	ST_TORCH_ON_DEVICE, /* it ran there; others only launched */
	ST_TORCH_MEMORY,
	ST_TORCH_SELF_MEMORY,
	ST_TORCH_DEVICE_MEMORY,
	ST_TORCH_SELF_DEVICE_MEMORY,
	ST_TORCH_SHAPES,
	ST_TORCH_STACK, /* frames with '\n' between them */
	ST_TORCH_FLOPS,
	ST_TORCH_SCOPE,
	ST_TORCH_USER,
	ST_TORCH_PYTHON, /* a call of a Python function or built-in */
	ST_TORCH_ID,	 /* row of its slice; of an average that of its first event */
	ST_TORCH_PARENT,
	ST_TORCH_AVERAGE_COLUMNS,
	ST_TORCH_START = ST_TORCH_AVERAGE_COLUMNS,
	ST_TORCH_END,
	ST_TORCH_THREAD,
	ST_TORCH_PROCESS,
	ST_TORCH_FORWARD_THREAD,
	ST_TORCH_SEQUENCE,
	ST_TORCH_TRACE_NAME,
	ST_TORCH_STRUCTURED_SHAPES,
	ST_TORCH_DTYPES,
	ST_TORCH_PYTHON_ID, /* of a call of a Python function, and of the one around it */
	ST_TORCH_PYTHON_PARENT,
	ST_TORCH_COLUMNS
};

#endif
