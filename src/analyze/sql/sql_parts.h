/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of SQL share: the open connection, and the scan of slices. Tables and columns are those of
 * analyze/tables/table.h.
 */
#ifndef ST_ANALYZE_SQL_SQL_PARTS_H
#define ST_ANALYZE_SQL_SQL_PARTS_H

#include <sqlite3.h>

#include "analyze/sql/sql.h"
#include "analyze/tables/table.h"

struct st_sql_binding { /* what SQLite hands back to a table */
	struct st_sql *sql;
	const struct st_table *table;
};

struct st_sql {
	const struct st_result *result;
	struct st_sql_options options;
	sqlite3 *db;
	struct st_arena arena;
	struct st_tables tables;
	struct st_arena scratch; /* texts of the cell at hand */
	struct st_sql_binding bindings[ST_TABLES];
	uint64_t rows_read;
	bool is_declaring; /* SQLite parses a declaration of ours */
};

/* Columns of a table that SQL has; they come first. */
int st_sql_column_count(const struct st_table *table);

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

int st_sql_slices_best_index(const struct st_sql *sql, sqlite3_index_info *info);
/* SQLITE_OK or SQLITE_NOMEM; moves to the first row. */
int st_sql_scan_begin(struct st_sql_scan *scan, struct st_sql *sql, const char *plan,
		      sqlite3_value **values);
void st_sql_scan_next(struct st_sql_scan *scan, struct st_sql *sql);
bool st_sql_scan_is_done(const struct st_sql_scan *scan);
void st_sql_scan_fini(struct st_sql_scan *scan);

/* Makes the tables known to the connection. */
int st_sql_register(struct st_sql *sql);

/* Steps a statement to its end and keeps its rows. */
enum st_status st_sql_collect(struct st_sql *sql, sqlite3_stmt *statement, struct st_report *out,
			      struct st_error *err);
/* The error of the connection in words: where, what, and near names. */
enum st_status st_sql_error(const struct st_sql *sql, const char *text, int code,
			    struct st_error *err);

#endif
