// SPDX-License-Identifier: Apache-2.0
//
// Report "recorded": which kinds of data a result has, which it does not have, and the options that record them. Whether
// what is there is also good is the report "quality".
#include "analyze/reports/report_kinds.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analyze/tables/report_make.h"
#include "format/analysis.h"
#include "store/events.h"
#include "store/operators.h"
#include "store/python_calls.h"
#include "store/result.h"
#include "store/samples.h"

enum column { DATA, COUNT, STATE, OPTIONS, COLUMNS };

static const struct st_column columns[COLUMNS] = {
	[DATA] = {"data", "Data", "", true},
	[COUNT] = {"count", "Count", "", false},
	[STATE] = {"state", "State", "", true},
	[OPTIONS] = {"options", "Options That Record It", "", true},
};

/* How many of each a result has. */
struct counts {
	uint64_t tasks, operators, shapes, modules, stacks, memory, samples, calls, waits, devices;
};

struct row {
	const char *name;
	size_t count_offset; /* in struct counts */
	uint32_t records;    /* ST_RECORDS_*: what a collection must be set to record */
	const char *options; /* a type of collection, or a knob that adds it to any of them */
};

#define COUNTED(member) offsetof(struct counts, member)

static const struct row rows[] = {
	{"CPU samples", COUNTED(samples), ST_RECORDS_SAMPLES, "-collect hotspots"},
	{"operators", COUNTED(operators), ST_RECORDS_OPERATORS, "-collect operators"},
	{"operator inputs", COUNTED(shapes), ST_RECORDS_SHAPES, "-knob operator-shapes=true"},
	{"operator stacks", COUNTED(stacks), ST_RECORDS_STACKS, "-knob operator-stacks=true"},
	{"operator memory", COUNTED(memory), ST_RECORDS_MEMORY, "-knob operator-memory=true"},
	{"nn.Module calls", COUNTED(modules), ST_RECORDS_MODULES, "-knob operator-modules=true"},
	{"tasks", COUNTED(tasks), ST_RECORDS_TASKS, "-collect tasks"},
	{"waits", COUNTED(waits), ST_RECORDS_WAITS, "-collect threading"},
	{"device work", COUNTED(devices), ST_RECORDS_DEVICES, "-knob device=on"},
	{"Python calls", COUNTED(calls), ST_RECORDS_CALLS, "-knob python-calls=true"},
};

static void count_slice(struct counts *counts, enum st_category category)
{
	if (category == ST_CATEGORY_OPERATOR)
		counts->operators++;
	else if (category == ST_CATEGORY_MODULE)
		counts->modules++;
	else if (st_category_is_device(category))
		counts->devices++;
	else if (category != ST_CATEGORY_RUNTIME_CALL)
		counts->tasks++;
}

static void count_slices(const struct st_result *result, struct counts *counts)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t label_count;
	const struct st_label *labels = st_result_labels(result, &label_count);

	for (uint32_t i = 0; i < slices->count; i++)
		if (slices->label[i] < label_count &&
		    !(slices->flags[i] & (ST_SLICE_COPY | ST_SLICE_TWIN)))
			count_slice(counts, labels[slices->label[i]].category);
}

static void count_operators(const struct st_result *result, struct counts *counts)
{
	uint32_t count, signature_count;
	const struct st_operator *operators = st_result_operators(result, &count);
	const struct st_signature *signatures = st_result_signatures(result, &signature_count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t signature = operators[i].signature;

		counts->stacks += operators[i].stack != 0;
		counts->shapes +=
			signature < signature_count && signatures[signature].input_count > 0;
	}
}

static struct counts count_all(const struct st_result *result)
{
	struct counts counts = {.samples = st_result_samples(result)->count};
	uint32_t count;
	const struct st_span *spans = st_result_spans(result, &count);

	for (uint32_t i = 0; i < count; i++)
		counts.waits += spans[i].kind == ST_SPAN_WAIT;
	count_slices(result, &counts);
	count_operators(result, &counts);
	st_result_memory(result, &count);
	counts.memory = count;
	st_result_python_calls(result, &count);
	counts.calls = count;
	return counts;
}

/* Whether the collection was to record it: as a knob said, or else by its type. */
static bool was_asked(const struct row *row, const struct st_result_info *info)
{
	const struct st_analysis *analysis = st_analysis_find(info->type);
	const char *equals = strchr(row->options, '='), *given = NULL;
	char knob[64];

	if (equals) {
		snprintf(knob, sizeof(knob), "%.*s", (int)(equals + 1 - row->options),
			 row->options);
		given = strstr(info->options, knob);
	}
	if (given) {
		given += strlen(knob);
		return strncmp(given, "false", 5) != 0 && strncmp(given, "off", 3) != 0;
	}
	return analysis && (analysis->records & row->records);
}

enum st_status st_report_recorded_build(const struct st_report_kind *kind,
					const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err)
{
	struct counts counts = count_all(result);

	(void)kind;
	(void)options;
	(void)err;
	st_report_columns(out, columns, COLUMNS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool asked = was_asked(&rows[i], st_result_info(result));
		struct st_cell *cells = st_report_add(out, 0);
		uint64_t count;

		memcpy(&count, (const char *)&counts + rows[i].count_offset, sizeof(count));
		cells[DATA] = st_cell_text(rows[i].name);
		cells[COUNT] = st_cell_u64(count);
		cells[STATE] = st_cell_text(count   ? "recorded"
					    : asked ? "none seen"
						    : "not asked for");
		if (!count && !asked)
			cells[OPTIONS] = st_cell_text(rows[i].options);
	}
	return ST_OK;
}
