/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of SQL share: the tables as data, the open connection, and the scan of slices.
 */
#ifndef ST_ANALYZE_SQL_SQL_TABLE_H
#define ST_ANALYZE_SQL_SQL_TABLE_H

#include <sqlite3.h>

#include "analyze/datasets/counters.h"
#include "analyze/engine/dataset.h"
#include "analyze/tables/report.h"
#include "analyze/sql/sql.h"
#include "base/arena.h"
#include "store/result.h"

struct st_sql_column {
	const char *name;
	const char *type; /* INTEGER, TEXT, or "" for either */
	const char *help;
};

struct st_sql_table {
	const char *name;
	const char *help;
	const struct st_sql_column *columns;
	int column_count;
	/* The first column is the row number: looked up without a scan. */
	bool has_row_number;
	uint32_t (*count)(const struct st_sql *sql);
	void (*cell)(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out);
	/* Made ready when a statement first names the table; NULL: always is. SQLITE_OK or SQLITE_NOMEM. */
	int (*open)(struct st_sql *sql);
	/* Columns (as bits) of which a comparison can make the range of rows smaller, and how: op is '=', '<'
	 * or '>', the last two including equality. May only leave out rows that cannot match. */
	uint32_t narrows;
	void (*narrow)(const struct st_sql *sql, int column, char op, sqlite3_value *value,
		       uint32_t range[2]);
};
/* Slices come first. */
enum { ST_SQL_TABLES = 39 };
extern const struct st_sql_table *const st_sql_tables[ST_SQL_TABLES];

struct st_sql_binding { /* what SQLite hands back to a table */
	struct st_sql *sql;
	const struct st_sql_table *table;
};

struct st_sql {
	const struct st_result *result;
	struct st_sql_options options;
	sqlite3 *db;
	struct st_dataset dataset;
	struct st_arena arena;
	struct st_report info; /* behind the table info */
	uint32_t *info_rows;   /* its rows that are facts of the run */
	uint32_t info_count;
	struct st_text *threads;   /* by track, as reports show them */
	struct st_text *processes; /* by process */
	struct st_sql_binding bindings[ST_SQL_TABLES];
	struct st_sql_rows *rows;     /* what the tables of row sets need: sql_rows.c */
	const struct st_named *named; /* once a table of stacks was asked for */
	struct st_named *own_named;   /* the same, when it was opened here */
	struct st_step_list *steps;   /* behind the table steps, once it was asked for */
	struct st_counters counters;  /* behind the table counters, once it was asked for */
	uint64_t rows_read;
	bool is_declaring; /* SQLite parses a declaration of ours */
};

/* Slices: which of them a constraint can exclude without looking, and the walk over the rest. */
struct st_sql_scan {
	uint32_t row, row_end;	   /* of the current track */
	uint32_t track, track_end; /* tracks still to come are track + 1 … track_end - 1 */
	uint32_t row_min, row_max; /* max is included, here and below */
	int64_t begin_min, begin_max;
	int64_t end_min, end_max;
	uint8_t *tracks; /* 1: wanted; NULL: all */
	uint8_t *labels;
	bool nothing;
};

enum st_sql_slices_column {
	ST_SQL_ROW,
	ST_SQL_START_NS,
	ST_SQL_END_NS,
	ST_SQL_WALL_NS,
	ST_SQL_SELF_NS,
	ST_SQL_DEPTH,
	ST_SQL_PARENT,
	ST_SQL_TRACK,
	ST_SQL_TID,
	ST_SQL_THREAD,
	ST_SQL_PID,
	ST_SQL_PROCESS_ID,
	ST_SQL_PROCESS,
	ST_SQL_LABEL,
	ST_SQL_TASK_TYPE,
	ST_SQL_TASK_DOMAIN,
	ST_SQL_TASK_FAMILY,
	ST_SQL_UNFINISHED,
	ST_SQL_CLIPPED,
	ST_SQL_MISMATCHED,
	ST_SQL_COPY,
	ST_SQL_ITT_ID,
	ST_SQL_PARENT_ID,
	ST_SQL_CALLER,
	ST_SQL_PYTHON_LINE,
	ST_SQL_TWIN,
	ST_SQL_SLICES_COLUMNS
};
extern const struct st_sql_column st_sql_slices_columns[ST_SQL_SLICES_COLUMNS];
uint32_t st_sql_slices_count(const struct st_sql *sql);
void st_sql_slices_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out);

int st_sql_slices_best_index(const struct st_sql *sql, sqlite3_index_info *info);
/* SQLITE_OK or SQLITE_NOMEM; moves to the first row. */
int st_sql_scan_begin(struct st_sql_scan *scan, struct st_sql *sql, const char *plan,
		      sqlite3_value **values);
void st_sql_scan_next(struct st_sql_scan *scan, struct st_sql *sql);
bool st_sql_scan_is_done(const struct st_sql_scan *scan);
void st_sql_scan_fini(struct st_sql_scan *scan);

/* A number and a text of a track, a process. */
void st_sql_place_cell(const struct st_sql *sql, uint32_t track, enum st_sql_slices_column column,
		       sqlite3_context *out);
void st_sql_result_id(sqlite3_context *out, const struct st_sql *sql, st_string_id id);
void st_sql_result_itt_id(sqlite3_context *out, const struct st_sql *sql, uint32_t id);
void st_sql_result_row(sqlite3_context *out, uint32_t row); /* NULL for ST_NO_ROW */

/* The tables of sql_events.c and sql_rows.c. */
extern const struct st_sql_table st_sql_events_table, st_sql_spans_table, st_sql_objects_table,
	st_sql_object_facts_table, st_sql_sync_objects_table, st_sql_counters_table,
	st_sql_code_table, st_sql_code_maps_table, st_sql_callers_table;
/* sql_samples.c and sql_stacks.c */
extern const struct st_sql_table st_sql_samples_table, st_sql_samplers_table,
	st_sql_python_codes_table, st_sql_stack_nodes_table, st_sql_stack_frames_table,
	st_sql_functions_table;
/* sql_operators.c */
extern const struct st_sql_table st_sql_operators_table, st_sql_memory_table,
	st_sql_operator_sources_table;
/* python_calls_sql.c */
extern const struct st_sql_table st_sql_python_calls_table;
extern const struct st_sql_table st_sql_frames_table, st_sql_regions_table, st_sql_overlapped_table,
	st_sql_markers_table, st_sql_counter_values_table, st_sql_waits_table,
	st_sql_relations_table, st_sql_metadata_table, st_sql_histograms_table, st_sql_heap_table;
void st_sql_rows_close(struct st_sql *sql);
/* sql_steps.c */
extern const struct st_sql_table st_sql_steps_table;
void st_sql_steps_close(struct st_sql *sql);

/* Makes the tables known to the connection. */
int st_sql_register(struct st_sql *sql);
void st_sql_result_text(sqlite3_context *out, struct st_text text);

/* Steps a statement to its end and keeps its rows. */
enum st_status st_sql_collect(struct st_sql *sql, sqlite3_stmt *statement, struct st_report *out,
			      struct st_error *err);
/* The error of the connection in words: where, what, and near names. */
enum st_status st_sql_error(const struct st_sql *sql, const char *text, int code,
			    struct st_error *err);

#endif
