/* SPDX-License-Identifier: Apache-2.0
 *
 * A report: a named question with its answer laid out as columns and rows, ready for any writer
 * (export/report/report_text.c, report_csv.c, report_json.c). The JSON is schema strata.report/1.
 */
#ifndef ST_ANALYZE_TABLES_REPORT_H
#define ST_ANALYZE_TABLES_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/engine/dataset.h"
#include "analyze/engine/sample_view.h"
#include "analyze/tables/torch_options.h"

enum st_cell_kind {
	ST_CELL_NONE,
	ST_CELL_TEXT,
	ST_CELL_U64,
	ST_CELL_I64,
	ST_CELL_DOUBLE,
	ST_CELL_BOOL
};

struct st_cell {
	enum st_cell_kind kind;
	union {
		struct st_text text;
		uint64_t u64;
		int64_t i64;
		double number;
		bool truth;
	} as;
};

struct st_column {
	const char *key; /* snake_case, ends in its unit */
	const char *title;
	const char *unit; /* "ns", "bytes", "ratio", "" */
	bool is_key;	  /* names the row (grouping) rather than measures it */
};

struct st_report_row {
	struct st_cell *cells; /* one per column */
	uint32_t first_child, child_count;
	uint32_t level;
};

/* How a report looks as text. */
enum st_text_layout {
	ST_LAYOUT_TABLE,
	ST_LAYOUT_TREE,
	ST_LAYOUT_SUMMARY,
	ST_LAYOUT_TIMELINE,
	ST_LAYOUT_INFO,
	ST_LAYOUT_TORCH,
	ST_LAYOUT_FINDINGS,
	ST_LAYOUT_THREADING,
};

struct st_report {
	const char *name;
	const char *result;
	const char *source;
	const char *group_by[ST_QUESTION_DEPTH_MAX];
	unsigned int group_by_count;
	struct st_column *columns;
	uint32_t column_count;
	struct st_report_row *rows;
	uint32_t row_count, root_first, root_count;
	struct st_report_row totals;
	enum st_text_layout layout;
	bool as_asked; /* a table whose columns are the user's: empty ones are shown too */
	bool as_table; /* columns were chosen: a plain table, whatever the report's own layout is */
	uint32_t kept_columns; /* the first so many are shown at any width */
	uint32_t blocks; /* column that numbers blocks, with an empty line between them; 0: none */
	uint32_t
		name_width; /* what a text leaves the names before it leaves out columns; 0: as usual */
	bool folds_glue;	  /* frames between functions are left out of its tree */
	bool is_about_waits;	  /* its tree shows wait time rather than CPU time */
	bool hides_zeros;	  /* a text leaves out columns in which every number is zero */
	const char *subject;	  /* the file or function that all rows are about; NULL: none */
	const char *empty;	  /* what to say when there are no rows; NULL: "No tasks match." */
	const char *const *notes; /* about names in it, besides the quality of the result */
	uint32_t note_count;
	const struct st_torch_layout *torch; /* its text is a table as torch's profiler makes it */
	void *memory;
};

struct st_source_object { /* what a report about code shows; NULL: not told */
	const char *function, *source_file, *module;
};

struct st_report_options {
	struct st_question question; /* grouping_count 0 = the report's default */
	uint32_t bin_count;	     /* timeline; 0 = 60 */
	struct st_sample_view view;  /* of reports over samples */
	struct st_source_object object;
	bool torch_folding;   /* operators: as torch's profiler counts them */
	bool working_threads; /* python-calls: without threads that only wait, by their samples */
	struct st_torch_options torch;
};

/* Parts of the question that mean something to a report; others are refused, never ignored. */
enum st_report_accepts {
	ST_ACCEPTS_GROUP_BY = 1,
	ST_ACCEPTS_FILTER = 2, /* and a time range */
	ST_ACCEPTS_SORT = 4,
	ST_ACCEPTS_LIMIT = 8,
	ST_ACCEPTS_BINS = 16,
	ST_ACCEPTS_VIEW = 32,	  /* how stacks are shown, and samples at all */
	ST_ACCEPTS_OBJECT = 64,	  /* a function or file whose code is shown */
	ST_ACCEPTS_FOLDING = 128, /* operators may be folded */
	ST_ACCEPTS_TORCH = 256,	  /* what torch's profiler can be asked */
};

/* What the rows of a report are about: the groupings and metrics that it takes are theirs. */
enum st_report_facts {
	ST_FACTS_NONE,
	ST_FACTS_SLICES,
	ST_FACTS_SAMPLES,
	ST_FACTS_BOTH, /* of slices and samples */
	ST_FACTS_OPERATORS,
	ST_FACTS_MEMORY, /* blocks, which are those of operators */
	ST_FACTS_ROWS,	 /* a set of dataset_rows.h */
};

struct st_report_kind;
struct st_rows_report;
struct st_result;
/* Fills a report that was begun, and does not end it. */
typedef enum st_status st_report_build_fn(const struct st_report_kind *kind,
					  const struct st_result *result,
					  const struct st_report_options *options,
					  struct st_report *out, struct st_error *err);

struct st_report_kind {
	const char *name;     /* "tasks" */
	const char *summary;  /* one line for help */
	unsigned int accepts; /* set of enum st_report_accepts */
	enum st_report_facts facts;
	st_report_build_fn *build;
	const struct st_rows_report *rows; /* of reports of report_rows.h */
	/* Lists of enum st_grouping: instead of those of its facts; when none is asked for; one that always comes last. */
	const uint8_t *groupings, *defaults, *last;
	const uint8_t
		*metrics; /* list of enum st_metric to sort by, instead of those of its facts */
	bool (*metric_word)(struct st_text text, enum st_metric *out); /* further words for them */
	enum st_text_layout layout;
	bool is_comparable;  /* two results can be laid side by side */
	bool is_in_order;    /* its rows have an order of their own, also in a comparison */
	bool is_about_waits; /* their figures come first, and sort unless asked otherwise */
	bool is_about_file;  /* a word behind it names a source file rather than a function */
	int filled_by;	     /* ST_RECORDS_* of collections without which it is empty */
	const char *empty;   /* what it says then; NULL: "No tasks match." */
};
/* Ends with a NULL name. */
extern const struct st_report_kind st_report_kinds[];

/* The groupings that a report can answer, or those that its filters can be about, which may be more; with a result only
 * those that this one has. Empty for a report that takes none. */
enum st_asked { ST_ASKED_GROUPS, ST_ASKED_FILTERS };
enum st_status st_report_groupings(const struct st_report_kind *kind,
				   const struct st_result *result, enum st_asked asked,
				   struct st_set *out, struct st_error *err);

/* What a metric is called: of a measure with a name, the first that has it. */
const struct st_measure *st_metric_info(enum st_metric metric);
/* Exact name, key or title, any case; ST_EUSAGE with near names and the list otherwise. */
enum st_status st_metric_parse(const char *text, size_t size_bytes, enum st_metric *out,
			       struct st_error *err);
/* ST_EUSAGE: the rows at hand cannot be sorted by it; names the metrics by which they can. */
enum st_status st_metric_refuse(enum st_metric metric, struct st_set offered, struct st_error *err);

/* The metrics that a report can be sorted by, as set bits; what it calls one of them; and which of them a user
 * typed: any name of the metric, or the report's own title. plain: just "total" or "self", of tasks or of CPU time as
 * the result has it (st_question.sort_is_plain). ST_EUSAGE with the list otherwise. */
struct st_set st_report_metrics(const struct st_report_kind *kind);
const char *st_report_metric_title(const struct st_report_kind *kind, enum st_metric metric);
enum st_status st_report_metric_parse(const struct st_report_kind *kind, struct st_text text,
				      enum st_metric *out, bool *plain, struct st_error *err);

enum st_status st_report_build(const struct st_result *result, const char *name,
			       const struct st_report_options *options, struct st_report *out,
			       struct st_error *err);
/* Keeps only the columns that the list names (comma between): by key, by title, or by any part of either,
 * whatever the case. Columns of the grouping always stay. ST_EUSAGE when a word fits no column. */
enum st_status st_report_choose_columns(struct st_report *report, const char *list,
					struct st_error *err);
void st_report_fini(struct st_report *report);
/* Its last grouping is a tree of any depth: every row counts, and has a depth. */
bool st_report_is_tree(const struct st_report *report);

#endif
