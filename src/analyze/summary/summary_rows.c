// SPDX-License-Identifier: Apache-2.0
//
// The lines of the summary about everything except nested tasks: one for each kind present.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/samples/sample_waits.h"
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

/* "a, b, c, …" */
static void add_name(struct st_buf *names, uint32_t number, struct st_text name)
{
	if (number > NAMES_SHOWN)
		return;
	st_buf_append_text(names, number ? ", " : "");
	if (number < NAMES_SHOWN)
		st_buf_append(names, name.bytes, name.size_bytes);
	else
		st_buf_append_text(names, "…");
}

/* "2 domains", and the names of the largest of them. */
static struct st_cell *add_kind(const struct st_summary *summary, const char *section,
				const char *how_many, struct st_buf *names)
{
	struct st_cell *cells = st_report_fact(summary->report, section, how_many);

	cells[ST_SUMMARY_VALUE] = st_report_buf(summary->report, names);
	return cells;
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
static enum st_status add_counters(const struct st_summary *summary)
{
	const struct st_events *events = st_result_events(summary->result);
	uint32_t object_count, counters = 0;
	const struct st_object *objects = st_result_objects(summary->result, &object_count);
	uint64_t *counts = calloc((size_t)object_count + 1, sizeof(*counts)), total = 0;
	struct st_buf names;

	if (!counts)
		return st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the summary");
	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];

		if ((row->kind == ST_EVENT_COUNTER_ADD || row->kind == ST_EVENT_COUNTER_SET) &&
		    row->object < object_count && is_in_range(summary->scope, row->time_ns))
			counts[row->object]++;
	}
	st_buf_init(&names, 1 << 20);
	for (uint32_t i = 0; i < object_count; i++) {
		if (objects[i].kind != ST_OBJECT_COUNTER || !counts[i])
			continue;
		total += counts[i];
		add_name(&names, counters++, st_result_text(summary->result, objects[i].name));
	}
	free(counts);
	if (counters)
		add_kind(summary, "counters",
			 st_arena_printf(st_report_arena(summary->report), "%u counter%s", counters,
					 counters == 1 ? "" : "s"),
			 &names)[ST_SUMMARY_COUNT] = st_cell_u64(total);
	st_buf_fini(&names);
	return ST_OK;
}

static void add_row(const struct st_summary *summary, const struct st_answer *answer, size_t kind)
{
	const char *how_many =
		st_arena_printf(st_report_arena(summary->report), "%u %s", answer->root_count,
				answer->root_count == 1 ? kinds[kind].one : kinds[kind].many);
	struct st_cell *cells;
	struct st_buf names;

	st_buf_init(&names, 1 << 20);
	for (uint32_t i = 0; i < answer->root_count; i++)
		add_name(&names, i, answer->rows[answer->root_first + i].text);
	cells = add_kind(summary, kinds[kind].section, how_many, &names);
	st_summary_values(cells, &answer->total, ST_SUMMARY_COUNT, ST_SUMMARY_COUNT);
	if (is_momentary(kinds[kind].set))
		return;
	st_summary_values(cells, &answer->total, ST_SUMMARY_TOTAL, ST_SUMMARY_TOTAL);
	st_summary_values(cells, &answer->total, ST_SUMMARY_MEDIAN, ST_SUMMARY_P99);
}

enum st_status st_summary_add_rows(const struct st_summary *summary)
{
	enum st_status status = ST_OK;

	if (!st_result_events(summary->result)->count)
		return ST_OK;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !status; i++) {
		struct st_question question = st_summary_question(summary, kinds[i].by, ST_COUNT);
		struct st_dataset dataset;
		struct st_answer answer;

		question.metrics = ST_SET(ST_COUNT);
		if (!is_momentary(kinds[i].set))
			st_set_add(&question.metrics, ST_WALL_MEDIAN);
		/* Recorded ones have sections of their own. */
		if (kinds[i].set == ST_ROWS_SYNC && st_sample_has_waits(summary->result))
			continue;
		question.limit = 0;
		status =
			st_dataset_rows_init(&dataset, summary->result, kinds[i].set, summary->err);
		if (status)
			return status;
		status = st_dataset_ask(&dataset, &question, &answer, summary->err);
		if (!status && st_answer_value(&answer.total, ST_COUNT))
			add_row(summary, &answer, i);
		if (!status)
			st_answer_fini(&answer);
		st_dataset_rows_fini(&dataset);
	}
	return status ? status : add_counters(summary);
}
