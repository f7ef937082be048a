/* SPDX-License-Identifier: Apache-2.0
 *
 * The one question engine: dataset × filters × groupings × measures × sort × limit → tree of rows. Slices, samples,
 * operators, events and blocks of memory are datasets (analyze/engine/dataset.h); reports, exports, the library and
 * the command line only ask.
 */
#ifndef ST_ANALYZE_ENGINE_QUESTION_H
#define ST_ANALYZE_ENGINE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/engine/set.h"
#include "base/error.h"
#include "format/definitions.h"

struct st_result;

/* Names, titles and JSON keys of groupings are in groupings.c, those of metrics in the measures of the datasets. */
enum st_grouping {
	ST_BY_PROCESS,
	ST_BY_THREAD,
	ST_BY_CATEGORY, /* the layer: task, op, primitive, frame … */
	ST_BY_TASK_DOMAIN,
	ST_BY_TASK_TYPE,
	ST_BY_TASK_FAMILY,
	ST_BY_TASK,	   /* one row per instance */
	ST_BY_TASK_STACK,  /* tree of nested task types, any depth; only as the last grouping */
	ST_BY_STEP,	   /* the step of the program that a task belongs to */
	ST_BY_CALLER,	   /* where the task was begun: file and offset */
	ST_BY_PYTHON_LINE, /* file:line that began the task */
	ST_BY_FRAME_DOMAIN,
	ST_BY_FRAME,  /* one row per frame */
	ST_BY_DOMAIN, /* of what is neither task nor frame */
	ST_BY_REGION,
	ST_BY_MARKER,
	ST_BY_SCOPE,
	ST_BY_SYNC_TYPE,
	ST_BY_SYNC_OBJECT,
	ST_BY_COUNTER,
	ST_BY_SAMPLE, /* one row per value of a counter */
	ST_BY_HEAD,   /* of a relation */
	ST_BY_RELATION,
	ST_BY_TAIL,
	ST_BY_METADATA_KEY,
	ST_BY_HISTOGRAM,
	ST_BY_HEAP_FUNCTION,
	ST_BY_INSTANCE, /* one row each, of what has no better word */
	/* Of samples: where the CPU was. */
	ST_BY_FUNCTION,
	ST_BY_FUNCTION_MANGLED,
	ST_BY_MODULE, /* the binary */
	ST_BY_MODULE_PATH,
	ST_BY_CLASS, /* of C++ and Python */
	ST_BY_SOURCE_FILE,
	ST_BY_SOURCE_FILE_PATH,
	ST_BY_SOURCE_LINE,
	ST_BY_ADDRESS,
	ST_BY_PYTHON_FUNCTION,
	ST_BY_CALLSTACK,      /* tree of callers, innermost first; only as the last grouping */
	ST_BY_FUNCTION_STACK, /* tree of calls from the outermost in; only as the last grouping */
	ST_BY_CPU_CLASS,      /* effective, spin: lock contention … */
	ST_BY_BASIC_BLOCK,    /* of instructions: run from the first to the last */
	/* Of operators. */
	ST_BY_OPERATOR,
	ST_BY_INPUT_SHAPES,
	ST_BY_INPUT_TYPES,
	ST_BY_NN_MODULE,
	ST_BY_OPERATOR_SCOPE,
	/* Of waits. */
	ST_BY_WAIT_CLASS, /* synchronization, I/O, sleep … */
	ST_BY_WAKER,	  /* the thread that ended the wait */
	ST_BY_CREATED_AT, /* the line that made what is waited for */
	/* Of what ran on devices, or did not. */
	ST_BY_DEVICE,
	ST_BY_LAUNCH,	  /* grid and block of a kernel */
	ST_BY_GAP_REASON, /* why nothing ran */
	ST_GROUPINGS
};

enum st_metric {
	ST_COUNT,
	ST_THREADS, /* that have rows in the group, those that only repeat calls included */
	ST_WALL_TOTAL,
	ST_WALL_SELF,
	ST_WALL_MIN,
	ST_WALL_AVG,
	ST_WALL_MEDIAN,
	ST_WALL_P95,
	ST_WALL_P99,
	ST_WALL_MAX,
	ST_WALL_STDDEV, /* of all rows, not of a sample of them */
	ST_COPIES,	/* rows that repeat a call (ST_SLICE_COPY): counted here only */
	/* Of samples. Self: the CPU was in the group itself; effective + spin + overhead. */
	ST_CPU_SELF,
	ST_CPU_EFFECTIVE,
	ST_CPU_SPIN,
	ST_SPIN_IMBALANCE,
	ST_SPIN_LOCK,
	ST_SPIN_COMMUNICATION,
	ST_SPIN_OTHER,
	ST_CPU_OVERHEAD,
	ST_OVERHEAD_CREATION,
	ST_OVERHEAD_SCHEDULING,
	ST_OVERHEAD_REDUCTION,
	ST_OVERHEAD_ATOMICS,
	ST_OVERHEAD_OTHER,
	ST_CPU_TOTAL, /* self and all that it called, or that was nested in it */
	ST_CPU_INHERITED, /* part of self: of threads that work for the task of the thread that created them */
	ST_SAMPLES,
	ST_WAIT,     /* not on a CPU */
	ST_WAIT_ALL, /* the same and that of all that it called, or that was nested in it */
	ST_WAIT_COUNT,
	ST_SYNC_WAIT, /* of it: for another thread, or for Python's lock */
	ST_IDLE_WAIT, /* of it: of workers without work */
	ST_PREEMPTED, /* ready to run, without a CPU: in a wait or not */
	/* Of operators and of blocks of memory. */
	ST_ALLOCATED,
	ST_SELF_ALLOCATED,
	ST_FREED,
	ST_SELF_FREED,
	ST_FLOPS,
	ST_MOVED,
	ST_GFLOPS,
	ST_GBYTES,
	ST_INTENSITY,
	ST_DEVICE_SELF, /* of what they launched on devices */
	ST_DEVICE_TOTAL,
	ST_DEVICE_AVG,
	ST_HELD,
	/* Of waits, holds, acquisitions and releases. */
	ST_CANCELLED,
	ST_ACQUISITIONS,
	ST_RELEASES,
	ST_HOLD_TOTAL,
	ST_HOLD_AVG,
	ST_SHORT_WAITS, /* not recorded one by one */
	ST_SHORT_WAIT_TOTAL,
	ST_WAIT_AVG, /* of all of them */
	/* Of heap calls. */
	ST_HEAP_ALLOCATIONS,
	ST_HEAP_REALLOCATIONS,
	ST_HEAP_FREES,
	ST_HEAP_ALLOCATED,
	ST_HEAP_FREED,
	ST_HEAP_KEPT,
	/* Of what ran on devices. */
	ST_KERNEL_BYTES,
	ST_LAUNCH_DELAY,
	ST_OCCUPANCY,
	/* Of parallel regions of OpenMP. */
	ST_IMBALANCE,	/* wall time that evenly spread work would save */
	ST_REGION_WAIT, /* of all of its threads, for its end */
	ST_REGION_THREADS,
	ST_METRICS,
	/* Without a name to sort by: shares, and what others are derived from. */
	ST_CPU_TOTAL_EFFECTIVE = ST_METRICS,
	ST_SELF_SHARE,
	ST_TOTAL_SHARE,
	ST_DEVICE_SHARE,
	ST_WORK_KNOWN, /* operations, bytes or both */
	ST_FLOPS_KNOWN,
	ST_FLOPS_NS,
	ST_MOVED_KNOWN,
	ST_MOVED_NS,
	ST_BOTH_FLOPS,
	ST_BOTH_BYTES,
	ST_RATED_FLOPS, /* of rows whose time is that of the work */
	ST_RATED_MOVED,
	ST_KEPT,
	ST_LARGEST,
	ST_HOLDS,
	ST_LAUNCH_DELAY_NS,
	ST_LAUNCHES,
	ST_OCCUPANCY_SUM,
	ST_OCCUPANCY_NS,
	ST_REGION_THREAD_SUM,
	ST_MEASURES,
	ST_WALL_METRICS = ST_CPU_SELF, /* those of rows that last */
	ST_FIGURES = ST_ALLOCATED,     /* those behind those of samples */
};

struct st_grouping_info {
	const char *name;  /* "task-type" */
	const char *key;   /* "task_type" */
	const char *title; /* "Task Type" */
};
const struct st_grouping_info *st_grouping_info(enum st_grouping grouping);
/* Exact name (also title, any case); ST_EUSAGE with near names and the list otherwise: of groupings, those
 * of the set. */
enum st_status st_grouping_parse(const char *text, size_t size_bytes, struct st_set offered,
				 enum st_grouping *out, struct st_error *err);

/* ST_EUSAGE: the rows at hand have no such grouping; names those of the set that they have. */
enum st_status st_grouping_refuse(enum st_grouping grouping, struct st_set offered,
				  struct st_error *err);
/* ST_EUSAGE: nn-module, of a result that has none. */
enum st_status st_grouping_without_modules(struct st_error *err);

struct st_filter {
	enum st_grouping grouping;
	bool negate;
	const char *pattern; /* '*' and '?' match as in a shell; no wildcard: exact text */
};

enum { ST_QUESTION_DEPTH_MAX = 8, ST_QUESTION_SORT_MAX = 3 };

struct st_question {
	enum st_grouping groupings[ST_QUESTION_DEPTH_MAX];
	unsigned int grouping_count; /* 0: one row, the total */
	const struct st_filter
		*filters; /* same grouping: any of them; different ones: all of them */
	size_t filter_count;
	bool has_time_range;
	int64_t time_begin_ns,
		time_end_ns; /* slices that overlap it; their time is clipped to it */
	struct st_set metrics;
	enum st_metric sort[ST_QUESTION_SORT_MAX];
	bool sort_is_plain
		[ST_QUESTION_SORT_MAX]; /* total or self time, of whatever the rows have */
	bool sort_ascending;
	unsigned int sort_count; /* 0: ST_WALL_TOTAL; instances (ST_BY_TASK): by time of begin */
	uint64_t limit;	   /* rows of each level; 0: all. What is cut off is summed in others. */
	bool wants_row_of; /* st_answer.row_of */
};

/* A tree of rows, children of a row contiguous. */
struct st_answer_row {
	struct st_text text;	/* the key as shown: "aten::conv2d", "python3 train.py (4711)" */
	const uint64_t *values; /* of the dataset's measures: st_answer_value reads them */
	const uint8_t *slots;	/* by metric: index into values, or ST_NO_SLOT */
	enum st_grouping grouping;
	uint32_t first_child, child_count; /* indexes into rows */
	uint32_t parent;		   /* index into rows, or ST_NO_ROW */
	/* Of an instance (ST_BY_TASK …): row of the dataset. Of rows with chains of keys: the key, and of ST_BY_TASK the
	 * slice. Else ST_NO_ROW. */
	uint32_t slice;
	bool is_others; /* stands for what the limit cut off */
};

enum { ST_NO_SLOT = 255, ST_CPU_METRICS = ST_FIGURES - ST_WALL_METRICS };
/* ns or counts; 0 of a metric that the rows do not have. */
static inline uint64_t st_answer_value(const struct st_answer_row *row, enum st_metric metric)
{
	return row->slots && row->slots[metric] != ST_NO_SLOT ? row->values[row->slots[metric]] : 0;
}

enum { ST_CALLERS_MAX = 100000 }; /* groups of callers in one answer, besides those of others */

struct st_answer {
	struct st_answer_row *rows;
	uint32_t row_count;
	uint32_t root_first, root_count;
	struct st_answer_row total;
	/* When asked for: the innermost answer row that each row of the dataset is part of, or ST_NO_ROW. For
	 * figures that the engine does not know of. */
	uint32_t *row_of;
	uint64_t callers_cut; /* groups whose callers became others */
	void *memory;	      /* arena that owns texts made by the engine */
};

_Static_assert((int)ST_GROUPINGS <= ST_SET_MAX && (int)ST_MEASURES <= ST_SET_MAX,
	       "sets hold these");

/* Total rules: wall_total of a group counts a slice only if no enclosing slice is in the same group (no
 * time is counted twice); count, self and the distribution take every slice. */
void st_answer_fini(struct st_answer *answer);

#endif
