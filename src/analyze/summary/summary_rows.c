// SPDX-License-Identifier: Apache-2.0
//
// The lines of the summary about everything except nested tasks: one for each kind present.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>

#include "analyze/datasets/dataset_rows.h"
#include "base/buf.h"

enum { NAMES_SHOWN = 4 };

static const struct {
	const char *section;
	enum st_row_set set;
	enum st_grouping by;
	const char *one, *many; /* what it is grouped by */
} kinds[] = {
	{"frames", ST_ROWS_FRAMES, ST_BY_FRAME_DOMAIN, "domain", "domains"},
	{"overlapped", ST_ROWS_OVERLAPPED, ST_BY_TASK_TYPE, "type", "types"},
	{"regions", ST_ROWS_REGIONS, ST_BY_REGION, "name", "names"},
	{"waits", ST_ROWS_SYNC, ST_BY_SYNC_OBJECT, "object", "objects"},
	{"markers", ST_ROWS_MARKERS, ST_BY_MARKER, "name", "names"},
};

/* The names of the largest groups: "a, b, c …". */
static struct st_cell names_cell(struct st_report *report, const struct st_answer *answer)
{
	struct st_buf names;

	st_buf_init(&names, 1 << 20);
	for (uint32_t i = 0; i < answer->root_count && i < NAMES_SHOWN; i++) {
		struct st_text text = answer->rows[answer->root_first + i].text;

		st_buf_append_text(&names, i ? ", " : "");
		st_buf_append(&names, text.bytes, text.size_bytes);
	}
	if (answer->root_count > NAMES_SHOWN)
		st_buf_append_text(&names, ", …");
	return st_report_buf(report, &names);
}

static bool is_momentary(enum st_row_set set)
{
	return set == ST_ROWS_MARKERS;
}

static bool is_in_range(const struct st_question *scope, int64_t time_ns)
{
	return !scope->has_time_range ||
	       (time_ns >= scope->time_begin_ns && time_ns < scope->time_end_ns);
}

/* Values of counters are only counted here, so they need not be sorted and summed up first. */
static enum st_status add_counters(struct st_report *report, const struct st_result *result,
				   const struct st_question *scope, struct st_error *err)
{
	const struct st_events *events = st_result_events(result);
	uint32_t object_count, counters = 0;
	const struct st_object *objects = st_result_objects(result, &object_count);
	uint64_t *counts = calloc((size_t)object_count + 1, sizeof(*counts)), total = 0;
	struct st_buf names;
	struct st_cell *cells;

	if (!counts)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the summary");
	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];

		if ((row->kind == ST_EVENT_COUNTER_ADD || row->kind == ST_EVENT_COUNTER_SET) &&
		    row->object < object_count && is_in_range(scope, row->time_ns))
			counts[row->object]++;
	}
	st_buf_init(&names, 1 << 20);
	for (uint32_t i = 0; i < object_count; i++) {
		struct st_text name = st_result_text(result, objects[i].name);

		if (objects[i].kind != ST_OBJECT_COUNTER || !counts[i])
			continue;
		total += counts[i];
		if (counters < NAMES_SHOWN) {
			st_buf_append_text(&names, counters ? ", " : "");
			st_buf_append(&names, name.bytes, name.size_bytes);
		} else if (counters == NAMES_SHOWN) {
			st_buf_append_text(&names, ", …");
		}
		counters++;
	}
	free(counts);
	if (counters) {
		cells = st_report_fact(report, "counters",
				       st_arena_printf(st_report_arena(report), "%u counter%s",
						       counters, counters == 1 ? "" : "s"));
		cells[ST_SUMMARY_VALUE] = st_report_buf(report, &names);
		cells[ST_SUMMARY_COUNT] = st_cell_u64(total);
	}
	st_buf_fini(&names);
	return ST_OK;
}

static void add_row(struct st_report *report, const struct st_answer *answer, size_t kind)
{
	const uint64_t *values = answer->total.values;
	struct st_cell *cells = st_report_fact(
		report, kinds[kind].section,
		st_arena_printf(st_report_arena(report), "%u %s", answer->root_count,
				answer->root_count == 1 ? kinds[kind].one : kinds[kind].many));

	cells[ST_SUMMARY_VALUE] = names_cell(report, answer);
	cells[ST_SUMMARY_COUNT] = st_cell_u64(values[ST_COUNT]);
	if (is_momentary(kinds[kind].set))
		return;
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(values[ST_WALL_TOTAL]);
	cells[ST_SUMMARY_MEDIAN] = st_cell_u64(values[ST_WALL_MEDIAN]);
	cells[ST_SUMMARY_P95] = st_cell_u64(values[ST_WALL_P95]);
	cells[ST_SUMMARY_P99] = st_cell_u64(values[ST_WALL_P99]);
}

enum st_status st_summary_add_rows(struct st_report *report, const struct st_result *result,
				   const struct st_question *scope, struct st_error *err)
{
	enum st_status status = ST_OK;

	/* Filters of a summary are about tasks. */
	if (scope->filter_count || !st_result_events(result)->count)
		return ST_OK;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !status; i++) {
		struct st_question question = *scope;
		struct st_dataset dataset;
		struct st_answer answer;

		question.groupings[0] = kinds[i].by;
		question.grouping_count = 1;
		question.metrics = ST_SET(ST_COUNT);
		if (!is_momentary(kinds[i].set))
			st_set_add(&question.metrics, ST_WALL_MEDIAN);
		question.limit = 0;
		question.sort[0] = ST_COUNT;
		question.sort_count = 1;
		status = st_dataset_rows_init(&dataset, result, kinds[i].set, err);
		if (status)
			return status;
		status = st_dataset_ask(&dataset, &question, &answer, err);
		if (!status && st_answer_value(&answer.total, ST_COUNT))
			add_row(report, &answer, i);
		if (!status)
			st_answer_fini(&answer);
		st_dataset_rows_fini(&dataset);
	}
	return status ? status : add_counters(report, result, scope, err);
}
