// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a statement, in one sentence: where, what, and which names are near.
#include "analyze/sql/sql_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/near.h"

enum { NAMES_MAX = 256, NAME_BYTES = 64 };

/* The name behind prefix in a message of SQLite, without its table or schema; false when the message is
 * another one. */
static bool name_in(const char *message, const char *prefix, char *out)
{
	const char *dot;

	if (strncmp(message, prefix, strlen(prefix)) != 0)
		return false;
	message += strlen(prefix);
	dot = strrchr(message, '.');
	snprintf(out, NAME_BYTES, "%s", dot ? dot + 1 : message);
	return true;
}

static void add_name(const char **names, size_t *count, const char *name)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(names[i], name) == 0)
			return;
	if (*count < NAMES_MAX)
		names[(*count)++] = name;
}

static size_t table_names(const char **names)
{
	size_t count = 0;

	for (int i = 0; i < ST_TABLES; i++)
		add_name(names, &count, st_all_tables[i]->name);
	return count;
}

static size_t column_names(const char **names)
{
	size_t count = 0;

	for (int i = 0; i < ST_TABLES; i++)
		for (int j = 0; j < st_sql_column_count(st_all_tables[i]); j++)
			add_name(names, &count, st_all_tables[i]->columns[j].key);
	return count;
}

/* "; did you mean 'a' or 'b'?", or what there is. */
static void add_near(const char *typed, bool is_table, char *out, size_t out_size)
{
	const char *names[NAMES_MAX], *near[3];
	size_t count = is_table ? table_names(names) : column_names(names);
	size_t found = st_near_names(typed, names, count, near, 3), used = 0;

	out[0] = '\0';
	if (!is_table && found && strcasecmp(near[0], typed) == 0) {
		snprintf(out, out_size,
			 " in these tables; other tables have it (see strata query --schema)");
		return;
	}
	for (size_t i = 0; i < found && used < out_size; i++) {
		int size = snprintf(out + used, out_size - used, "%s'%s'%s",
				    i ? " or " : "; did you mean ", near[i],
				    i + 1 == found ? "?" : "");

		used += size > 0 ? (size_t)size : 0;
	}
	for (size_t i = 0; !found && is_table && i < count && used < out_size; i++) {
		int size = snprintf(out + used, out_size - used, "%s%s",
				    i ? ", " : "; available: ", names[i]);

		used += size > 0 ? (size_t)size : 0;
	}
	if (!found && !is_table)
		snprintf(out, out_size, " (see strata query --schema)");
}

/* Where the message's name stands, when SQLite does not say: the first place it stands alone. */
static int find_name(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; length && *at; at++) {
		bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
		unsigned char next =
			strncasecmp(at, name, length) == 0 ? (unsigned char)at[length] : 'x';

		if (begins && strncasecmp(at, name, length) == 0 && !isalnum(next) && next != '_')
			return (int)(at - text);
	}
	return -1;
}

/* "line 1, column 8: " */
static void add_place(const char *text, int offset, char *out, size_t out_size)
{
	unsigned int line = 1, column = 1;

	out[0] = '\0';
	if (offset < 0 || (size_t)offset > strlen(text))
		return;
	for (int i = 0; i < offset; i++) {
		bool ends = text[i] == '\n';

		line += ends;
		/* Bytes inside a character are no columns. */
		column = ends ? 1 : column + (((unsigned char)text[i] & 0xc0) != 0x80);
	}
	snprintf(out, out_size, "line %u, column %u: ", line, column);
}

static enum st_status wrong_sql(const struct st_sql *sql, const char *text, struct st_error *err)
{
	const char *message = sqlite3_errmsg(sql->db);
	int offset = sqlite3_error_offset(sql->db);
	char name[NAME_BYTES] = "", near[200] = "", place[64];
	bool is_table = name_in(message, "no such table: ", name);

	if (is_table || name_in(message, "no such column: ", name))
		add_near(name, is_table, near, sizeof(near));
	if (offset < 0)
		offset = find_name(text, name);
	if (!is_table && name[0] && offset >= 0 && text[offset] == '"')
		snprintf(near, sizeof(near), "; put texts in single quotes");
	add_place(text, offset, place, sizeof(place));
	return st_error_set(err, ST_EUSAGE, 0, "SQL %s%.220s%s", place, message, near);
}

enum st_status st_sql_error(const struct st_sql *sql, const char *text, int code,
			    struct st_error *err)
{
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return st_error_set(err, ST_ENOMEM, 0,
				    "the query requires more than %llu MB: select less, or raise "
				    "the limit with -memory-limit",
				    (unsigned long long)(sql->options.memory_bytes / 1000000));
	case SQLITE_INTERRUPT:
		return st_error_set(err, ST_EIO, 0, "the query was stopped");
	case SQLITE_AUTH:
		return st_error_set(err, ST_EUSAGE, 0,
				    "SQL: %.100s: results are read-only; use SELECT",
				    sqlite3_errmsg(sql->db));
	default:
		return wrong_sql(sql, text, err);
	}
}
