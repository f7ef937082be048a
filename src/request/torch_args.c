/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the report knobs that are torch's arguments. They are spelled with '-' or, as in torch, with '_'; a width
 * "none" is Python's None.
 */
#include "request/parts.h"

#include <stddef.h>
#include <string.h>

#include "analyze/engine/names.h"
#include "request/values.h"

const char st_torch_knob_names[] =
	"sort-by= row-limit= group-by-input-shape= group-by-stack-n= group-by-overload-name= "
	"record-shapes= profile-memory= with-flops= with-stack= rows= header= time-unit= "
	"top-level-events-only= "
	"max-name-column-width= max-shapes-column-width= max-src-column-width=";

enum { WIDTH_MAX = 1000000, STACK_MAX = 1000 };

static enum st_status read_truth(const char *name, const char *value, bool *out,
				 struct st_error *err)
{
	*out = st_name_equal(value, strlen(value), "true");
	if (*out || st_name_equal(value, strlen(value), "false"))
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0,
			    "-report-knob %s: expected true or false, not '%.60s'", name, value);
}

static bool is_none(const char *value)
{
	return st_name_equal(value, strlen(value), "none");
}

/* 0 is no width: torch would cut everything off. */
static enum st_status read_width(const char *name, const char *value, int32_t *out,
				 struct st_error *err)
{
	uint64_t width;
	enum st_status status;

	*out = -1;
	if (is_none(value))
		return ST_OK;
	status = st_value_count(name, value, 1, WIDTH_MAX, &width, err);
	*out = (int32_t)width;
	return status;
}

static enum st_status read_limit(struct st_torch_options *options, const char *value,
				 struct st_error *err)
{
	uint64_t limit = 0;
	enum st_status status = ST_OK;

	options->has_row_limit = true;
	options->row_limit = -1;
	if (strcmp(value, "-1") == 0)
		return ST_OK;
	status = st_value_count("report-knob row-limit", value, 0, INT64_MAX, &limit, err);
	options->row_limit = (int64_t)limit;
	return status;
}

static enum st_status read_unit(struct st_torch_options *options, const char *value,
				struct st_error *err)
{
	if (strcmp(value, "s") != 0 && strcmp(value, "ms") != 0 && strcmp(value, "us") != 0)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-report-knob time-unit: expected s, ms or us, not '%.60s'",
				    value);
	options->time_unit = value;
	return ST_OK;
}

static bool is_knob(const char *name, const char *knob)
{
	return st_name_equal(name, strlen(name), knob);
}

static enum st_status read_stack(struct st_torch_options *options, const char *value,
				 struct st_error *err)
{
	uint64_t count;
	enum st_status status =
		st_value_count("report-knob group-by-stack-n", value, 0, STACK_MAX, &count, err);

	options->group_by_stack_n = (uint32_t)count;
	return status;
}

static enum st_status read_shapes(struct st_torch_options *options, const char *value,
				  struct st_error *err)
{
	bool recorded = true;
	enum st_status status = read_truth("record-shapes", value, &recorded, err);

	options->hides_shapes = !recorded;
	return status;
}

bool st_torch_text(struct st_torch_options *options, const char *pair)
{
	const struct {
		const char *name;
		const char **at;
	} texts[] = {{"header=", &options->header}, {"rows=", &options->rows}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t length = strlen(texts[i].name);

		if (strncmp(pair, texts[i].name, length) != 0)
			continue;
		options->given = true;
		*texts[i].at = pair + length;
		return true;
	}
	return false;
}

static bool *truth_of(struct st_torch_options *options, const char *name)
{
	const struct {
		const char *name;
		bool *at;
	} truths[] = {
		{"group-by-input-shape", &options->group_by_input_shape},
		{"group-by-overload-name", &options->group_by_overload_name},
		{"profile-memory", &options->profile_memory},
		{"with-flops", &options->with_flops},
		{"with-stack", &options->with_stack},
		{"top-level-events-only", &options->top_level_events_only},
	};

	for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++)
		if (is_knob(name, truths[i].name))
			return truths[i].at;
	return NULL;
}

enum st_status st_torch_knob(struct st_torch_options *options, const char *name, const char *value,
			     struct st_error *err)
{
	bool *truth = truth_of(options, name);

	options->given = true;
	if (truth)
		return read_truth(name, value, truth, err);
	if (is_knob(name, "record-shapes"))
		return read_shapes(options, value, err);
	if (is_knob(name, "sort-by")) {
		options->sort_by = value;
		return ST_OK;
	}
	if (is_knob(name, "time-unit"))
		return read_unit(options, value, err);
	if (is_knob(name, "row-limit"))
		return read_limit(options, value, err);
	if (is_knob(name, "group-by-stack-n"))
		return read_stack(options, value, err);
	if (is_knob(name, "max-name-column-width"))
		return read_width("report-knob max-name-column-width", value, &options->name_width,
				  err);
	if (is_knob(name, "max-shapes-column-width"))
		return read_width("report-knob max-shapes-column-width", value,
				  &options->shapes_width, err);
	if (is_knob(name, "max-src-column-width"))
		return read_width("report-knob max-src-column-width", value, &options->source_width,
				  err);
	return st_error_set(err, ST_EUSAGE, 0,
			    "unknown report knob '%s'; expected bin-count, cpu-classes, "
			    "torch-folding or, for the torch tables, %s",
			    name, st_torch_knob_names);
}
