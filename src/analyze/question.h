/* SPDX-License-Identifier: Apache-2.0
 *
 * The one question engine: dataset × filters × groupings × metrics × sort × limit → tree of rows.
 * Command line, HTTP and Python ask through it; none of them computes. Later kinds of facts (samples,
 * operators, allocations, waits) join as further datasets that answer the same groupings: a dataset is
 * a row count plus, per grouping, a function from row to key (analyze/dataset.h); the engine knows no
 * more of it.
 */
#ifndef ST_ANALYZE_QUESTION_H
#define ST_ANALYZE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/definitions.h"

struct st_result;

/* Names, titles and JSON keys of groupings and metrics live in one table each (groupings.c, metrics.c). */
enum st_grouping {
	ST_BY_PROCESS,
	ST_BY_THREAD,
	ST_BY_TASK_DOMAIN,
	ST_BY_TASK_TYPE,
	ST_BY_TASK_FAMILY,
	ST_BY_TASK,	  /* one row per instance */
	ST_BY_TASK_STACK, /* tree of nested task types, any depth; only as the last grouping */
	ST_GROUPINGS
};

enum st_metric {
	ST_COUNT,
	ST_WALL_TOTAL,
	ST_WALL_SELF,
	ST_WALL_MIN,
	ST_WALL_AVG,
	ST_WALL_MEDIAN,
	ST_WALL_P95,
	ST_WALL_P99,
	ST_WALL_MAX,
	ST_METRICS
};

struct st_grouping_info {
	const char *name;  /* "task-type" */
	const char *key;   /* "task_type" */
	const char *title; /* "Task Type" */
};
struct st_metric_info {
	const char *
		name; /* as typed after -sort-desc: key, title or VTune's word ("Task Time") all match */
	const char *key;   /* "wall_total_ns" */
	const char *title; /* "Task Time" */
	const char *unit;  /* "ns", "" for counts */
};
const struct st_grouping_info *st_grouping_info(enum st_grouping grouping);
const struct st_metric_info *st_metric_info(enum st_metric metric);
/* Exact name (also title, any case); ST_EUSAGE with near names and the list otherwise. */
enum st_status st_grouping_parse(const char *text, size_t size_bytes, enum st_grouping *out,
				 struct st_error *err);
enum st_status st_metric_parse(const char *text, size_t size_bytes, enum st_metric *out,
			       struct st_error *err);

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
	uint32_t metrics;    /* bit set of 1 << enum st_metric */
	enum st_metric sort[ST_QUESTION_SORT_MAX];
	bool sort_ascending;
	unsigned int sort_count; /* 0: ST_WALL_TOTAL; instances (ST_BY_TASK): by time of begin */
	uint64_t limit; /* rows of each level; 0: all. What is cut off is summed in others. */
};

/* A tree of rows, children of a row contiguous. Values hold ns or counts. */
struct st_answer_row {
	enum st_grouping grouping;
	struct st_text text; /* the key as shown: "aten::conv2d", "python3 train.py (4711)" */
	uint64_t values[ST_METRICS];
	uint32_t first_child, child_count; /* indexes into rows */
	uint32_t slice;			   /* ST_BY_TASK: row of the slice, else ST_NO_ROW */
	bool is_others;			   /* stands for what the limit cut off */
};

struct st_answer {
	struct st_answer_row *rows;
	uint32_t row_count;
	uint32_t root_first, root_count;
	struct st_answer_row total;
	void *memory; /* arena that owns texts made by the engine */
};

/* Total rules: wall_total of a group counts a slice only if no enclosing slice is in the same group (no
 * time is counted twice); count, self and the distribution take every slice. */
enum st_status st_question_ask(const struct st_result *result, const struct st_question *question,
			       struct st_answer *out, struct st_error *err);
void st_answer_fini(struct st_answer *answer);

#endif
