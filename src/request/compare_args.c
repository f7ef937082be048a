/* SPDX-License-Identifier: Apache-2.0
 *
 * What is compared: two results, or several runs on each side.
 */
#include <stdlib.h>
#include <string.h>

#include "request/locate.h"
#include "request/options.h"
#include "request/parts.h"
#include "request/values.h"

enum { PATHS_MAX = ST_SIDES * ST_RUNS_MAX };

static enum st_status add_path(struct st_request *request, int side, const char *path,
			       struct st_error *err)
{
	struct st_sides *sides = &request->sides;

	if (sides->counts[side] == ST_RUNS_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "at most %d results on each side",
				    ST_RUNS_MAX);
	sides->paths[sides->counts[0] + sides->counts[1]] = path;
	sides->counts[side]++;
	return ST_OK;
}

static enum st_status make_room(struct st_request *request, const struct st_args *args,
				struct st_error *err)
{
	size_t bytes = 1;

	for (size_t i = 0; i < args->word_count; i++)
		bytes += strlen(args->words[i]) + 1;
	request->sides.paths = calloc(PATHS_MAX, sizeof(*request->sides.paths));
	request->sides.texts = calloc(bytes, 1);
	if (!request->sides.paths || !request->sides.texts)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	return ST_OK;
}

/* "r000hs,r001hs", unless that is the name of one folder; *room is where the parts are copied to. */
static enum st_status add_list(struct st_request *request, int side, const char *word, char **room,
			       struct st_error *err)
{
	enum st_status status = ST_OK;
	const char *comma;

	if (st_locate_is_folder(word) || !strchr(word, ','))
		return add_path(request, side, word, err);
	do {
		size_t size;

		comma = strchr(word, ',');
		size = comma ? (size_t)(comma - word) : strlen(word);
		memcpy(*room, word, size);
		if (size)
			status = add_path(request, side, *room, err);
		*room += size + 1;
		word += size + 1;
	} while (comma && !status);
	return status;
}

static enum st_status too_few(struct st_error *err)
{
	return st_error_set(err, ST_EUSAGE, 0,
			    "compare requires two results, or several runs on each side: strata "
			    "compare r000hs r001hs, strata compare r000hs,r001hs r002hs,r003hs");
}

/* "-r A -r B", and with -against any number on either side. */
static enum st_status add_given(struct st_request *request, const struct st_args *args,
				struct st_error *err)
{
	bool has_against = st_args_has(args, ST_OPT_AGAINST);
	enum st_status status = ST_OK;
	const char *value;
	int side = 0;

	for (size_t at = 0; !status && (value = st_args_next(args, ST_OPT_RESULT_DIR, &at));) {
		if (!has_against && side == ST_SIDES)
			return st_error_set(err, ST_EUSAGE, 0,
					    "only two results can be compared by -r; several runs: "
					    "strata compare -r A1 -r A2 -against B1 -against B2");
		status = add_path(request, has_against ? 0 : side++, value, err);
	}
	for (size_t at = 0; !status && (value = st_args_next(args, ST_OPT_AGAINST, &at));)
		status = add_path(request, 1, value, err);
	return status;
}

static enum st_status parse_gate(struct st_request *request, const struct st_args *args,
				 struct st_error *err)
{
	const char *text = st_args_value(args, ST_OPT_FAIL_ABOVE);
	char *end;
	double percent;

	if (!text)
		return ST_OK;
	percent = strtod(text, &end);
	while (*end == ' ')
		end++;
	if (end == text || (*end && strcmp(end, "%") != 0) || !(percent > 0.0 && percent < 1e6))
		return st_error_set(err, ST_EUSAGE, 0,
				    "-fail-above: invalid value '%.60s'; expected a percentage "
				    "above 0, such as 5%%",
				    text);
	request->fail_above = percent / 100.0;
	return ST_OK;
}

enum st_status st_compare_args(struct st_request *request, const struct st_args *args,
			       struct st_error *err)
{
	bool is_given = st_args_has(args, ST_OPT_RESULT_DIR) || st_args_has(args, ST_OPT_AGAINST);
	size_t results = is_given ? 0 : 2, next = args->word_count == results + 1 ? 1 : 0;
	enum st_status status = make_room(request, args, err);
	char *room = request->sides.texts;

	request->is_default = !next;
	request->name = next ? args->words[0] : "hotspots";
	if (!status && !st_report_kind_of(request->name))
		status = st_report_unknown(request->name, err);
	if (!status && args->word_count != next + results)
		status = too_few(err);
	for (int side = 0; !status && !is_given && side < ST_SIDES; side++)
		status = add_list(request, side, args->words[next + (size_t)side], &room, err);
	if (!status && is_given)
		status = add_given(request, args, err);
	if (!status && (!request->sides.counts[0] || !request->sides.counts[1]))
		status = too_few(err);
	return status ? status : parse_gate(request, args, err);
}

enum st_status st_compare_results(struct st_request *request, const struct st_args *args,
				  struct st_error *err)
{
	enum st_status status;
	size_t count = 0, at = 0;

	while (st_args_next(args, ST_OPT_RESULT_DIR, &at))
		count++;
	if (count < 2)
		return ST_OK;
	if (request->result_word)
		return st_error_set(err, ST_EUSAGE, 0, "only two results can be compared");
	status = make_room(request, args, err);
	return status ? status : add_given(request, args, err);
}
