/* SPDX-License-Identifier: Apache-2.0
 *
 * Building a struct st_report piece by piece. Allocation failures are remembered and reported once,
 * by st_report_end.
 */
#ifndef ST_ANALYZE_TABLES_REPORT_MAKE_H
#define ST_ANALYZE_TABLES_REPORT_MAKE_H

#include "analyze/engine/dataset.h"
#include "analyze/tables/report.h"

struct st_buf;
struct st_table;
struct st_tables;

enum { ST_REPORT_COLUMNS_MAX = ST_QUESTION_DEPTH_MAX + ST_METRICS + 16 };

/* What report->memory points to. */
struct st_report_memory {
	struct st_arena arena;
	struct st_answer answer; /* owns texts of cells */
	uint32_t row_capacity;
	bool failed;
	struct st_cell scratch[ST_REPORT_COLUMNS_MAX]; /* given out when there is no memory */
};

enum st_status st_report_begin(struct st_report *out, const char *name,
			       const struct st_result *result, struct st_error *err);
/* ST_OK, or ST_ENOMEM after freeing the report. */
enum st_status st_report_end(struct st_report *report, struct st_error *err);

struct st_arena *st_report_arena(struct st_report *report);
void st_report_columns(struct st_report *report, const struct st_column *columns, uint32_t count);
/* Appends a row of empty cells and returns its cells; never NULL (a scratch row when memory is out). */
struct st_cell *st_report_add(struct st_report *report, uint32_t level);
struct st_cell *st_report_new_cells(struct st_report *report);

/* Reports of facts begin with the columns section, name and value: the cells of a further row; and a row with a text,
 * unless there is none, or a number. */
struct st_cell *st_report_fact(struct st_report *report, const char *section, const char *name);
void st_report_fact_text(struct st_report *report, const char *section, const char *name,
			 const char *text);
void st_report_fact_number(struct st_report *report, const char *section, const char *name,
			   uint64_t value);

/* Copied into the report: what dies before it does. */
struct st_cell st_report_text(struct st_report *report, struct st_text text);
struct st_cell st_report_buf(struct st_report *report, struct st_buf *buf); /* ends the buf */
/* 0 of nothing. */
double st_share(uint64_t part, uint64_t whole);

struct st_cell st_cell_text(const char *text); /* not copied; NULL gives an empty cell */
struct st_cell st_cell_bytes(struct st_text text);
struct st_cell st_cell_u64(uint64_t value);
struct st_cell st_cell_i64(int64_t value);
struct st_cell st_cell_double(double value);
struct st_cell st_cell_bool(bool value);

/* Grouping columns, then the metrics whose bits are set, then further ones; and the rows of an answer,
 * which the report takes over. Rows of the answer and of the report have the same numbers. */
struct st_report_layout {
	const struct st_question *question;
	const struct st_column *extra;
	uint32_t extra_count;
	uint32_t front_count;	   /* of the further ones: how many come before the metrics */
	const char *const *titles; /* by metric: another title, where not NULL; may be NULL */
	const uint8_t *first;	   /* list of metrics that come before the others; may be NULL */
};
void st_report_from_answer(struct st_report *report, struct st_answer *answer,
			   const struct st_report_layout *layout);
/* Index of the first further column, and of the first one behind the metrics. */
uint32_t st_report_extra_index(const struct st_report_layout *layout);
uint32_t st_report_behind_index(const struct st_report_layout *layout);
/* Where the report keeps the answer that it takes over. */
const struct st_answer *st_report_answer(const struct st_report *report);

/* The same with a row per instance: columns of a table, which come last, but for those that a grouping says already. */
struct st_report_instances {
	const struct st_question *question;
	const struct st_table *table;
	const struct st_tables *tables;
	const void *rows;	   /* what the cells of the table are read from */
	const char *const *keys;   /* which columns, up to a NULL; NULL: those with a title */
	const char *const *titles; /* as above */
};
void st_report_from_instances(struct st_report *report, struct st_answer *answer,
			      const struct st_report_instances *instances);
bool st_question_groups_by(const struct st_question *question, const char *key);

#endif
