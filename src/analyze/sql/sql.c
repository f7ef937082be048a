// SPDX-License-Identifier: Apache-2.0
//
// SQL over a result: an empty database in memory that may read our tables and nothing else, a cap on
// its memory, and a way to stop it.
#include "analyze/sql/sql.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/sql/sql_parts.h"

enum {
	STEPS_BETWEEN_ASKING = 10000,
	/* A text beyond this is no answer, and functions of SQLite that are slow for long ones cannot be
	 * stopped in the middle. */
	VALUE_MAX_BYTES = 16 << 20,
	SQL_MAX_BYTES = 1 << 20,
	PATTERN_MAX_BYTES = 1000,
};

/* Functions that reach out of the database, where SQLite was built with them. */
static bool is_refused_function(const char *name)
{
	static const char *const refused[] = {"load_extension", "fts3_tokenizer", "readfile",
					      "writefile",	"edit",		  "fts5",
					      "fts5_source_id", "rtreecheck",	  "sqlite_log"};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (name && sqlite3_stricmp(name, refused[i]) == 0)
			return true;
	return false;
}

static int authorize(void *arg, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	const struct st_sql *sql = arg;

	(void)first;
	(void)database;
	(void)trigger;
	if (sql->is_declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return is_refused_function(second) ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static int progress(void *arg)
{
	struct st_sql *sql = arg;

	return sql->options.stopped && sql->options.stopped(sql->options.stopped_arg);
}

static int configure(struct st_sql *sql)
{
	sqlite3 *db = sql->db;
	int status;

	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_MAX_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* A misspelt "column" is an error, not a text. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	status = sqlite3_exec(db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	if (status == SQLITE_OK)
		status = st_sql_register(sql);
	if (status == SQLITE_OK)
		status = sqlite3_set_authorizer(db, authorize, sql);
	sqlite3_progress_handler(db, STEPS_BETWEEN_ASKING, progress, sql);
	return status;
}

enum st_status st_sql_open(struct st_sql **out, const struct st_result *result,
			   const struct st_sql_options *options, struct st_error *err)
{
	struct st_sql *sql = calloc(1, sizeof(*sql));
	enum st_status status;

	*out = NULL;
	if (!sql)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the query");
	sql->result = result;
	if (options)
		sql->options = *options;
	if (!sql->options.memory_bytes)
		sql->options.memory_bytes = (uint64_t)ST_SQL_MEMORY_MB * 1000000;
	st_arena_init(&sql->arena, SIZE_MAX / 2);
	st_arena_init(&sql->scratch, SIZE_MAX / 2);
	status = st_tables_init(&sql->tables, result, &sql->arena)
			 ? ST_OK
			 : st_error_set(err, ST_ENOMEM, 0, "out of memory for the query");
	sql->tables.named = sql->options.named;
	if (status == ST_OK &&
	    (sqlite3_open_v2(":memory:", &sql->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
				     SQLITE_OPEN_PRIVATECACHE,
			     NULL) ||
	     configure(sql)))
		status = st_error_set(err, ST_ENOMEM, 0, "cannot open SQLite: %.200s",
				      sqlite3_errmsg(sql->db));
	if (status) {
		st_sql_close(sql);
		return status;
	}
	*out = sql;
	return ST_OK;
}

void st_sql_close(struct st_sql *sql)
{
	if (!sql)
		return;
	sqlite3_close(sql->db);
	st_tables_fini(&sql->tables);
	st_arena_fini(&sql->scratch);
	st_arena_fini(&sql->arena);
	free(sql);
}

uint64_t st_sql_rows_read(const struct st_sql *sql)
{
	return sql->rows_read;
}

/* Behind the statement only blanks and comments may come. */
static enum st_status check_tail(struct st_sql *sql, const char *tail, struct st_error *err)
{
	while (*tail) {
		sqlite3_stmt *more = NULL;
		const char *rest = tail;
		int code = sqlite3_prepare_v2(sql->db, tail, -1, &more, &rest);

		sqlite3_finalize(more);
		if (code || more)
			return st_error_set(err, ST_EUSAGE, 0,
					    "only one statement is allowed: unexpected '%.40s' "
					    "after the first one",
					    tail);
		if (rest == tail)
			break;
		tail = rest;
	}
	return ST_OK;
}

static enum st_status check_statement(struct st_sql *sql, sqlite3_stmt *statement, const char *tail,
				      struct st_error *err)
{
	if (!statement)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"the SQL contains no statement; try SELECT count(*) FROM slices");
	if (sqlite3_bind_parameter_count(statement))
		return st_error_set(err, ST_EUSAGE, 0,
				    "the SQL has a parameter (%s) without a value",
				    sqlite3_bind_parameter_name(statement, 1)
					    ? sqlite3_bind_parameter_name(statement, 1)
					    : "?");
	if (!sqlite3_column_count(statement) || !sqlite3_stmt_readonly(statement))
		return st_error_set(err, ST_EUSAGE, 0,
				    "results are read-only: the SQL must be a SELECT");
	return check_tail(sql, tail, err);
}

enum st_status st_sql_ask(struct st_sql *sql, const char *text, struct st_report *out,
			  struct st_error *err)
{
	sqlite3_stmt *statement = NULL;
	const char *tail = text;
	enum st_status status;
	int64_t before;
	int code;

	memset(out, 0, sizeof(*out));
	if (strlen(text) > SQL_MAX_BYTES)
		return st_error_set(err, ST_EUSAGE, 0, "the SQL is longer than %d bytes",
				    SQL_MAX_BYTES);

	before = sqlite3_hard_heap_limit64((int64_t)sql->options.memory_bytes);
	code = sqlite3_prepare_v2(sql->db, text, -1, &statement, &tail);
	if (code)
		status = st_sql_error(sql, text, code, err);
	else
		status = check_statement(sql, statement, tail, err);
	if (status == ST_OK) {
		status = st_sql_collect(sql, statement, out, err);
		/* The text of an error of SQLite is made while it is still there. */
		if (status == ST_EIO)
			status = st_sql_error(sql, text, sqlite3_errcode(sql->db), err);
	}
	sqlite3_finalize(statement);
	sqlite3_hard_heap_limit64(before);
	return status;
}
