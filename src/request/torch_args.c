/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the report knobs that are torch's arguments. They are spelled with '-' or, as in torch, with '_'; a width
 * "none" is Python's None.
 */
#include "request/parts.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analyze/engine/names.h"
#include "request/values.h"

const char st_torch_knob_names[] =
	"sort-by= row-limit= group-by-input-shape= group-by-stack-n= group-by-overload-name= "
	"record-shapes= use-device= profile-memory= with-flops= with-stack= rows= header= "
	"time-unit= "
	"top-level-events-only= "
	"max-name-column-width= max-shapes-column-width= max-src-column-width=";

enum { WIDTH_MAX = 1000000, STACK_MAX = 1000, OPTION_BYTES = 64 };

enum form { TRUTH, RECORDED /* hidden when false */, TEXT, UNIT, LIMIT, NUMBER, WIDTH };

#define AT(field) offsetof(struct st_torch_options, field)
static const struct knob {
	const char *name;
	enum form form;
	size_t at; /* in the options */
} knobs[] = {
	{"group-by-input-shape", TRUTH, AT(group_by_input_shape)},
	{"group-by-overload-name", TRUTH, AT(group_by_overload_name)},
	{"profile-memory", TRUTH, AT(profile_memory)},
	{"with-flops", TRUTH, AT(with_flops)},
	{"with-stack", TRUTH, AT(with_stack)},
	{"top-level-events-only", TRUTH, AT(top_level_events_only)},
	{"record-shapes", RECORDED, AT(hides_shapes)},
	{"use-device", RECORDED, AT(hides_devices)},
	{"sort-by", TEXT, AT(sort_by)},
	{"time-unit", UNIT, AT(time_unit)},
	{"row-limit", LIMIT, AT(row_limit)},
	{"group-by-stack-n", NUMBER, AT(group_by_stack_n)},
	{"max-name-column-width", WIDTH, AT(name_width)},
	{"max-shapes-column-width", WIDTH, AT(shapes_width)},
	{"max-src-column-width", WIDTH, AT(source_width)},
};
#undef AT

static bool is_word(const char *text, const char *word)
{
	return st_name_equal(text, strlen(text), word);
}

static enum st_status read_truth(const char *name, const char *value, bool *out,
				 struct st_error *err)
{
	*out = is_word(value, "true");
	if (*out || is_word(value, "false"))
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0,
			    "-report-knob %s: expected true or false, not '%.60s'", name, value);
}

static enum st_status read_text(enum form form, const char *value, const char **out,
				struct st_error *err)
{
	if (form == UNIT && strcmp(value, "s") != 0 && strcmp(value, "ms") != 0 &&
	    strcmp(value, "us") != 0)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-report-knob time-unit: expected s, ms or us, not '%.60s'",
				    value);
	*out = value;
	return ST_OK;
}

static enum st_status read_number(const struct knob *knob, const char *value, void *to,
				  struct st_error *err)
{
	/* 0 is no width: torch would cut everything off. */
	uint64_t min = knob->form == WIDTH, number = 0;
	uint64_t max = knob->form == WIDTH    ? WIDTH_MAX
		       : knob->form == NUMBER ? STACK_MAX
					      : INT64_MAX;
	bool is_any = (knob->form == WIDTH && is_word(value, "none")) ||
		      (knob->form == LIMIT && strcmp(value, "-1") == 0);
	char option[OPTION_BYTES];
	enum st_status status = ST_OK;

	snprintf(option, sizeof(option), "report-knob %s", knob->name);
	if (!is_any)
		status = st_value_count(option, value, min, max, &number, err);
	if (knob->form == LIMIT)
		*(int64_t *)to = is_any ? -1 : (int64_t)number;
	else if (knob->form == WIDTH)
		*(int32_t *)to = is_any ? -1 : (int32_t)number;
	else
		*(uint32_t *)to = (uint32_t)number;
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

enum st_status st_torch_knob(struct st_torch_options *options, const char *name, const char *value,
			     struct st_error *err)
{
	const struct knob *knob = knobs, *end = knobs + sizeof(knobs) / sizeof(knobs[0]);
	enum st_status status;
	void *to;

	options->given = true;
	while (knob < end && !is_word(name, knob->name))
		knob++;
	if (knob == end)
		return st_error_set(err, ST_EUSAGE, 0,
				    "unknown report knob '%s'; expected bin-count, cpu-classes, "
				    "min-percent, max-depth, "
				    "torch-folding or, for the torch tables, %s",
				    name, st_torch_knob_names);
	to = (char *)options + knob->at;
	options->has_row_limit |= knob->form == LIMIT;
	switch (knob->form) {
	case TRUTH:
		return read_truth(name, value, to, err);
	case RECORDED:
		status = read_truth(knob->name, value, to, err);
		*(bool *)to = !*(bool *)to;
		return status;
	case TEXT:
	case UNIT:
		return read_text(knob->form, value, to, err);
	default:
		return read_number(knob, value, to, err);
	}
}
