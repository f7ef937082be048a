/* SPDX-License-Identifier: Apache-2.0
 *
 * The words and options of a query.
 */
#include "request/locate.h"
#include "request/options.h"
#include "request/parts.h"
#include "request/values.h"

enum { MEMORY_MAX_MB = 1 << 20 };

/* "query SQL", "query RESULT SQL", "query SQL RESULT", "-query SQL [RESULT]". */
static enum st_status parse_words(struct st_request *request, const struct st_args *args,
				  struct st_error *err)
{
	const char *words[2] = {NULL, NULL};
	size_t count = 0;

	request->sql = st_args_value(args, ST_OPT_QUERY);
	for (size_t i = 0; i < args->word_count; i++) {
		if (count == (request->sql ? 1 : 2))
			return st_error_set(err, ST_EUSAGE, 0,
					    "unexpected argument '%.80s': put the SQL in quotes "
					    "and give one result",
					    args->words[i]);
		words[count++] = args->words[i];
	}
	if (request->sql) {
		request->result_word = words[0];
		return ST_OK;
	}
	if (count == 2 && st_locate_is_folder(words[0])) {
		request->result_word = words[0];
		request->sql = words[1];
	} else {
		request->sql = words[0];
		request->result_word = words[1];
	}
	if (!request->sql || (count == 1 && st_locate_is_folder(request->sql)))
		return st_error_set(err, ST_EUSAGE, 0,
				    "query requires SQL in quotes: strata query \"SELECT count(*) "
				    "FROM slices\" ('strata query --schema' lists the tables)");
	return ST_OK;
}

enum st_status st_query_args(struct st_request *request, const struct st_args *args,
			     struct st_error *err)
{
	const char *memory = st_args_value(args, ST_OPT_MEMORY_LIMIT);
	uint64_t memory_mb = ST_SQL_MEMORY_MB;
	enum st_status status = parse_words(request, args, err);

	if (status == ST_OK && memory)
		status = st_value_count("memory-limit", memory, ST_SQL_MEMORY_MB_MIN, MEMORY_MAX_MB,
					&memory_mb, err);
	request->limits.memory_bytes = memory_mb * 1000000;
	return status ? status : st_output_parse(&request->output, args, err);
}
