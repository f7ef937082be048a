/* SPDX-License-Identifier: Apache-2.0
 *
 * SQL over an open result: SQLite reads the columns of the result as virtual tables, so there is
 * nothing to import. Read-only: anything that would change, attach or load something is rejected
 * before it runs. One query at a time in a process, because the cap on SQLite's memory is the
 * process's.
 */
#ifndef ST_ANALYZE_SQL_SQL_H
#define ST_ANALYZE_SQL_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_buf;
struct st_report;
struct st_result;
struct st_named;
struct st_sql;

enum { ST_SQL_MEMORY_MB = 256, ST_SQL_MEMORY_MB_MIN = 1 };

struct st_sql_options {
	uint64_t memory_bytes;	    /* for SQLite and the answer together; 0: ST_SQL_MEMORY_MB */
	bool (*stopped)(void *arg); /* asked often while a query runs; true ends it. May be NULL. */
	void *stopped_arg;
	const struct st_named
		*named; /* the result's stacks with names; NULL: opened when asked for */
};

/* The result must outlive what is opened on it. */
enum st_status st_sql_open(struct st_sql **out, const struct st_result *result,
			   const struct st_sql_options *options, struct st_error *err);
void st_sql_close(struct st_sql *sql);

/* Runs one statement. The report is named "query"; its columns are those of the statement, with the unit
 * that the end of a name tells. ST_EUSAGE for wrong SQL, with its place; ST_ENOMEM over the cap. */
enum st_status st_sql_ask(struct st_sql *sql, const char *text, struct st_report *out,
			  struct st_error *err);

/* Rows of slices looked at since st_sql_open: what push-down saves. */
uint64_t st_sql_rows_read(const struct st_sql *sql);

/* Every table and column with its meaning, for people; false when memory is out. */
bool st_sql_schema(struct st_buf *out);

#endif
