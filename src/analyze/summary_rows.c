// SPDX-License-Identifier: Apache-2.0
//
// The lines of the summary about everything that is no nested task: one for each kind that there is.
#include "analyze/report_summary.h"

#include "analyze/dataset_rows.h"
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
	{"counters", ST_ROWS_SAMPLES, ST_BY_COUNTER, "counter", "counters"},
	{"markers", ST_ROWS_MARKERS, ST_BY_MARKER, "name", "names"},
};

/* The names of the largest groups: "a, b, c …". */
static struct st_cell names_cell(struct st_report *report, const struct st_answer *answer)
{
	struct st_buf names;
	char *bytes;
	size_t size;

	st_buf_init(&names, 1 << 20);
	for (uint32_t i = 0; i < answer->root_count && i < NAMES_SHOWN; i++) {
		struct st_text text = answer->rows[answer->root_first + i].text;

		st_buf_append_text(&names, i ? ", " : "");
		st_buf_append(&names, text.bytes, text.size_bytes);
	}
	if (answer->root_count > NAMES_SHOWN)
		st_buf_append_text(&names, ", …");
	if (names.failed)
		st_report_arena(report)->failed = true;
	size = names.size_bytes;
	bytes = st_arena_copy(st_report_arena(report), names.data, size);
	st_buf_fini(&names);
	return st_cell_bytes((struct st_text){bytes ? bytes : "", bytes ? size : 0});
}

static bool is_momentary(enum st_row_set set)
{
	return set == ST_ROWS_SAMPLES || set == ST_ROWS_MARKERS;
}

static void add_row(struct st_report *report, const struct st_answer *answer, size_t kind)
{
	const uint64_t *values = answer->total.values;
	struct st_cell *cells = st_report_add(report, 0);

	cells[ST_SUMMARY_SECTION] = st_cell_text(kinds[kind].section);
	cells[ST_SUMMARY_NAME] = st_cell_text(
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
		question.metrics = ST_BIT(ST_COUNT);
		if (!is_momentary(kinds[i].set))
			question.metrics |= ST_BIT(ST_WALL_MEDIAN);
		question.limit = 0;
		question.sort[0] = ST_COUNT;
		question.sort_count = 1;
		status = st_dataset_rows_init(&dataset, result, kinds[i].set, err);
		if (status)
			return status;
		status = st_dataset_ask(&dataset, &question, &answer, err);
		if (!status && answer.total.values[ST_COUNT])
			add_row(report, &answer, i);
		if (!status)
			st_answer_fini(&answer);
		st_dataset_rows_fini(&dataset);
	}
	return status;
}
