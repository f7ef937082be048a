// SPDX-License-Identifier: Apache-2.0
//
// The question engine against figures counted by hand and by brute force on random trees: recursion,
// several tracks, pauses, filters, time ranges, limits and orders.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/tables/report.h"
#include "analyze/engine/question.h"
#include "fake_result.h"

#define ALL_METRICS st_set_range(0, ST_WALL_METRICS)

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % limit;
}

/* A random tree on the newest track; returns its end. */
static int64_t grow(struct st_result *fake, int64_t begin, uint32_t parent, int depth)
{
	uint32_t row = fake_slice(fake, random_below(fake->label_count), begin, begin, parent);
	uint32_t children = depth ? random_below(4) : 0;
	int64_t at = begin + random_below(50);

	for (uint32_t i = 0; i < children; i++)
		at = grow(fake, at, row, depth - 1) + random_below(20);
	fake->end_ns[row] = at + random_below(30);
	return fake->end_ns[row];
}

static struct st_result *random_result(void)
{
	static const char *const names[] = {"a", "b", "iteration_0", "iteration_1", "iteration_12"};
	struct st_result *fake = fake_create();

	for (size_t i = 0; i < 5; i++)
		fake_label(fake, i < 2 ? "D1" : "D2", names[i]);
	fake_label(fake, "D2", "a"); /* the same type in two domains */
	for (uint32_t process = 0; process < 2; process++) {
		fake_process(fake, process ? "worker" : "main.py", 100 + process);
		for (uint32_t i = 0; i < 3; i++) {
			int64_t at = random_below(100);

			fake_track(fake, process, i ? "w" : "", 100 + process + 10 * i);
			for (uint32_t j = 0; j < 20; j++)
				at = grow(fake, at, ST_NO_ROW, 5) + random_below(40);
		}
	}
	/* One pause of process 0 in the middle; slices that touch it are flagged. */
	fake->pauses[0] = (struct st_pause_window){0, 1000, 1150};
	fake->pause_count = 1;
	for (uint32_t row = 0; row < fake->slices.count; row++) {
		if (fake->tracks[fake->track[row]].process == 0 && fake->begin_ns[row] < 1150 &&
		    fake->end_ns[row] > 1000)
			fake->flags[row] = ST_SLICE_CLIPPED;
		/* Some of the outermost ones are no calls of their own. */
		if (fake->parent[row] == ST_NO_ROW && row % 3 == 0)
			fake->flags[row] |= ST_SLICE_COPY;
	}
	fake_finish(fake);
	return fake;
}

struct expected {
	uint64_t values[ST_WALL_METRICS];
	uint64_t *durations;
};

static uint64_t part(const struct st_result *fake, uint32_t row, int64_t begin, int64_t end)
{
	uint64_t wall = 0;

	/* Nanosecond by nanosecond: slow, but nobody can doubt it. */
	for (int64_t t = begin; t < end; t++) {
		bool paused = false;

		for (uint32_t i = 0; i < fake->pause_count && (fake->flags[row] & ST_SLICE_CLIPPED);
		     i++)
			paused |=
				fake->pauses[i].process == fake->tracks[fake->track[row]].process &&
				t >= fake->pauses[i].begin_ns && t < fake->pauses[i].end_ns;
		wall += !paused;
	}
	return wall;
}

typedef bool (*member_fn)(const struct st_result *fake, uint32_t row, const void *arg);

struct window {
	int64_t begin, end;
};

static bool clip(const struct st_result *fake, uint32_t row, struct window range,
		 struct window *out)
{
	int64_t begin = fake->begin_ns[row], end = fake->end_ns[row];

	if (begin == end ? begin < range.begin || begin >= range.end
			 : begin >= range.end || end <= range.begin)
		return false;
	out->begin = begin > range.begin ? begin : range.begin;
	out->end = end < range.end ? end : range.end;
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t nearest_rank(const uint64_t *sorted, uint64_t count, unsigned int p)
{
	uint64_t rank = (count * p + 99) / 100;

	return sorted[rank ? rank - 1 : 0];
}

/* Every figure of the rows for which member says yes, the slow way. */
static void brute_force(const struct st_result *fake, struct window range, member_fn member,
			const void *arg, uint64_t *values)
{
	uint64_t *durations = calloc(fake->slices.count + 1, sizeof(*durations));
	uint64_t count = 0, sum = 0;
	uint32_t last_track = UINT32_MAX; /* fakes add rows track by track */
	double square = 0.0;

	memset(values, 0, ST_WALL_METRICS * sizeof(*values));
	for (uint32_t row = 0; row < fake->slices.count; row++) {
		struct window mine, theirs;
		uint64_t wall, self;
		bool nested = false;

		if (!member(fake, row, arg) || !clip(fake, row, range, &mine))
			continue;
		values[ST_THREADS] += fake->track[row] != last_track;
		last_track = fake->track[row];
		if (fake->flags[row] & ST_SLICE_COPY) {
			values[ST_COPIES]++;
			continue;
		}
		wall = self = part(fake, row, mine.begin, mine.end);
		for (uint32_t child = row + 1; child < fake->slices.count; child++) {
			if (fake->parent[child] == row && clip(fake, child, range, &theirs))
				self -= part(fake, child, theirs.begin, theirs.end);
		}
		for (uint32_t up = fake->parent[row]; up != ST_NO_ROW; up = fake->parent[up])
			nested |= member(fake, up, arg) && !(fake->flags[up] & ST_SLICE_COPY);
		durations[count++] = wall;
		sum += wall;
		values[ST_WALL_SELF] += self;
		values[ST_WALL_TOTAL] += nested ? 0 : wall;
	}
	qsort(durations, count, sizeof(*durations), compare);
	values[ST_COUNT] = count;
	if (count) {
		values[ST_WALL_MIN] = durations[0];
		values[ST_WALL_MAX] = durations[count - 1];
		values[ST_WALL_AVG] = (sum + count / 2) / count;
		values[ST_WALL_MEDIAN] = nearest_rank(durations, count, 50);
		values[ST_WALL_P95] = nearest_rank(durations, count, 95);
		values[ST_WALL_P99] = nearest_rank(durations, count, 99);
		for (uint64_t i = 0; i < count; i++) {
			double off = (double)durations[i] - (double)sum / (double)count;

			square += off * off;
		}
		values[ST_WALL_STDDEV] = (uint64_t)(sqrt(square / (double)count) + 0.5);
	}
	free(durations);
}

static void check_values(const uint64_t *got, const uint64_t *expected)
{
	for (unsigned int i = 0; i < ST_WALL_METRICS; i++) {
		if (got[i] != expected[i])
			print_error("%s: got %llu, expected %llu\n",
				    st_metric_info((enum st_metric)i)->key,
				    (unsigned long long)got[i], (unsigned long long)expected[i]);
		assert_int_equal(got[i], expected[i]);
	}
}

static bool text_is(struct st_text text, const char *expected)
{
	return text.size_bytes == strlen(expected) &&
	       memcmp(text.bytes, expected, text.size_bytes) == 0;
}

/* Member functions: what a group at the deepest level consists of. */
struct group {
	const struct st_answer_row *outer, *inner;
};

static bool in_key(const struct st_result *fake, uint32_t row, const struct st_answer_row *key)
{
	const struct st_label *label = &fake->labels[fake->label[row]];
	const struct st_track *track = &fake->tracks[fake->track[row]];
	const struct st_process *process = &fake->processes[track->process];
	st_string_id id = label->name;
	char text[64];

	if (!key)
		return true;
	switch (key->grouping) {
	case ST_BY_PROCESS:
		snprintf(text, sizeof(text), "%s (%u)", fake->texts[process->name].bytes,
			 process->pid);
		return text_is(key->text, text);
	case ST_BY_THREAD:
		snprintf(text, sizeof(text), "%s (%u)",
			 track->name		      ? fake->texts[track->name].bytes
			 : track->tid == process->pid ? "main"
						      : "thread",
			 track->tid);
		return text_is(key->text, text);
	case ST_BY_CATEGORY: /* the random names are all plain tasks */
		return text_is(key->text, "task");
	case ST_BY_TASK_DOMAIN:
		id = label->domain;
		break;
	case ST_BY_TASK_FAMILY:
		id = label->family;
		break;
	default:
		break;
	}
	return text_is(key->text, fake->texts[id].bytes);
}

static bool in_group(const struct st_result *fake, uint32_t row, const void *arg)
{
	const struct group *group = arg;

	return in_key(fake, row, group->outer) && in_key(fake, row, group->inner);
}

static const struct window everything = {INT64_MIN / 2, INT64_MAX / 2};

static void check_two_levels(struct st_result *fake, enum st_grouping outer, enum st_grouping inner,
			     const struct window *range)
{
	struct st_question question = {
		.groupings = {outer, inner}, .grouping_count = 2, .metrics = ALL_METRICS};
	struct window window = range ? *range : everything;
	struct st_answer answer;
	uint64_t expected[ST_WALL_METRICS];

	if (range) {
		question.has_time_range = true;
		question.time_begin_ns = range->begin;
		question.time_end_ns = range->end;
	}
	if (outer == inner) {
		assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_EUSAGE);
		return;
	}
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	brute_force(fake, window, in_group, &(struct group){NULL, NULL}, expected);
	check_values(answer.total.values, expected);
	for (uint32_t i = 0; i < answer.root_count; i++) {
		const struct st_answer_row *row = &answer.rows[answer.root_first + i];
		uint64_t count = 0;

		brute_force(fake, window, in_group, &(struct group){row, NULL}, expected);
		check_values(row->values, expected);
		for (uint32_t j = 0; j < row->child_count; j++) {
			const struct st_answer_row *child = &answer.rows[row->first_child + j];

			brute_force(fake, window, in_group, &(struct group){row, child}, expected);
			check_values(child->values, expected);
			count += st_answer_value(child, ST_COUNT);
			if (j)
				assert_true(st_answer_value(&child[-1], ST_WALL_TOTAL) >=
					    st_answer_value(child, ST_WALL_TOTAL));
		}
		assert_int_equal(count, st_answer_value(row, ST_COUNT));
	}
	st_answer_fini(&answer);
}

static void test_all_pairs_of_groupings(void **state)
{
	struct st_result *fake = random_result();
	struct window range = {900, 1400};

	(void)state;
	for (int outer = 0; outer <= ST_BY_TASK_FAMILY; outer++) {
		for (int inner = 0; inner <= ST_BY_TASK_FAMILY; inner++) {
			check_two_levels(fake, (enum st_grouping)outer, (enum st_grouping)inner,
					 NULL);
			check_two_levels(fake, (enum st_grouping)outer, (enum st_grouping)inner,
					 &range);
		}
	}
	fake_destroy(fake);
}

static bool filter_member(const struct st_result *fake, uint32_t row, const void *arg)
{
	const char *name = fake->texts[fake->labels[fake->label[row]].name].bytes;
	uint32_t pid = fake->processes[fake->tracks[fake->track[row]].process].pid;

	(void)arg;
	return strncmp(name, "iteration_1", 11) == 0 && strcmp(name, "iteration_12") && pid == 101;
}

static void test_filters_of_one_grouping_are_alternatives(void **state)
{
	struct st_result *fake = random_result();
	struct st_filter filters[] = {{ST_BY_TASK_TYPE, false, "iteration_1*"},
				      {ST_BY_TASK_TYPE, true, "*2"},
				      {ST_BY_PROCESS, false, "worker"},
				      {ST_BY_PROCESS, false, "nobody"}};
	struct st_question question = {
		.filters = filters, .filter_count = 4, .metrics = ALL_METRICS};
	struct st_answer answer;
	uint64_t expected[ST_WALL_METRICS];

	(void)state;
	brute_force(fake, everything, filter_member, NULL, expected);
	assert_true(expected[ST_COUNT] > 0);
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	check_values(answer.total.values, expected);
	assert_int_equal(answer.row_count, 0);
	st_answer_fini(&answer);
	/* By pid and by full text it is the same process. */
	filters[2].pattern = "101";
	filters[3].pattern = "worker (101)";
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	check_values(answer.total.values, expected);
	st_answer_fini(&answer);
	fake_destroy(fake);
}

static uint64_t count_with(const struct st_result *fake, enum st_grouping grouping,
			   const char *pattern, bool negate)
{
	struct st_filter filter = {grouping, negate, pattern};
	struct st_question question = {
		.filters = &filter, .filter_count = 1, .metrics = ALL_METRICS};
	struct st_answer answer;
	uint64_t count;

	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	count = st_answer_value(&answer.total, ST_COUNT);
	st_answer_fini(&answer);
	return count;
}

static void test_a_filter_names_a_text_a_pattern_or_a_row(void **state)
{
	struct st_result *fake = fake_create();
	uint32_t star = fake_label(fake, "d", "iteration_*"),
		 one = fake_label(fake, "d", "iteration_1");

	(void)state;
	fake_track(fake, fake_process(fake, "python", 100), "", 100);
	fake_slice(fake, star, 0, 10, ST_NO_ROW);
	fake_slice(fake, one, 20, 30, ST_NO_ROW);
	fake_slice(fake, one, 40, 50, ST_NO_ROW);
	fake_finish(fake);
	/* The exact text matches, and as a pattern it matches the others too. */
	assert_int_equal(count_with(fake, ST_BY_TASK_TYPE, "iteration_*", false), 3);
	assert_int_equal(count_with(fake, ST_BY_TASK_TYPE, "iteration_\\*", false), 1);
	assert_int_equal(count_with(fake, ST_BY_TASK, "iteration_1", false), 2);
	assert_int_equal(count_with(fake, ST_BY_TASK, "#2", false), 1);
	assert_int_equal(count_with(fake, ST_BY_TASK, "#2", true), 2);
	assert_int_equal(count_with(fake, ST_BY_TASK, "#9", false), 0);
	assert_int_equal(count_with(fake, ST_BY_THREAD, "main", false), 3);
	fake_destroy(fake);
}

/* A slice is in the others row when its type is none of the first two. */
static bool in_others(const struct st_result *fake, uint32_t row, const void *arg)
{
	const struct st_answer *answer = arg;

	return !in_key(fake, row, &answer->rows[0]) && !in_key(fake, row, &answer->rows[1]);
}

static void test_limit_sums_the_rest_exactly(void **state)
{
	struct st_result *fake = random_result();
	struct st_question question = {.groupings = {ST_BY_TASK_TYPE, ST_BY_THREAD},
				       .grouping_count = 2,
				       .metrics = ALL_METRICS,
				       .limit = 2,
				       .sort = {ST_WALL_P95, ST_COUNT},
				       .sort_count = 2};
	struct st_answer answer;
	uint64_t expected[ST_WALL_METRICS];

	(void)state;
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	assert_int_equal(answer.root_count, 3);
	assert_true(st_answer_value(&answer.rows[0], ST_WALL_P95) >=
		    st_answer_value(&answer.rows[1], ST_WALL_P95));
	assert_true(answer.rows[2].is_others);
	assert_true(text_is(answer.rows[2].text, "[Others]"));
	assert_int_equal(answer.rows[2].child_count, 0);
	assert_int_equal(answer.rows[0].child_count, 3);
	brute_force(fake, everything, in_others, &answer, expected);
	check_values(answer.rows[2].values, expected);
	for (uint32_t i = 0; i < 2; i++) {
		brute_force(fake, everything, in_group, &(struct group){&answer.rows[i], NULL},
			    expected);
		check_values(answer.rows[i].values, expected);
	}
	st_answer_fini(&answer);
	fake_destroy(fake);
}

static bool not_among(const struct st_result *fake, uint32_t row, const void *arg)
{
	const struct st_answer *answer = arg;

	(void)fake;
	for (uint32_t i = 0; i < answer->root_count; i++) {
		if (answer->rows[i].slice == row)
			return false;
	}
	return true;
}

static void test_instances_sorted_and_limited(void **state)
{
	struct st_result *fake = random_result();
	struct st_question question = {.groupings = {ST_BY_TASK},
				       .grouping_count = 1,
				       .metrics = ALL_METRICS,
				       .limit = 7,
				       .sort = {ST_WALL_SELF},
				       .sort_count = 1};
	struct st_answer answer;
	uint64_t expected[ST_WALL_METRICS];

	(void)state;
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	assert_int_equal(answer.root_count, 8);
	for (uint32_t i = 0; i < 7; i++) {
		uint32_t slice = answer.rows[i].slice;

		assert_int_equal(st_answer_value(&answer.rows[i], ST_WALL_SELF),
				 fake->self_ns[slice]);
		if (i)
			assert_true(fake->self_ns[answer.rows[i - 1].slice] >=
				    fake->self_ns[slice]);
	}
	brute_force(fake, everything, not_among, &answer, expected);
	check_values(answer.rows[7].values, expected);
	for (uint32_t i = 0; i < fake->slices.count; i++) {
		if (not_among(fake, i, &answer))
			assert_true(fake->self_ns[i] <= fake->self_ns[answer.rows[6].slice]);
	}
	st_answer_fini(&answer);

	question.limit = 0;
	question.sort_count = 0;
	question.groupings[0] = ST_BY_PROCESS;
	question.groupings[1] = ST_BY_TASK;
	question.grouping_count = 2;
	/* Every row is shown, those that are not counted too. */
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	assert_int_equal(answer.row_count, fake->slices.count + 2);
	for (uint32_t i = 1; i < answer.rows[0].child_count; i++) {
		const struct st_answer_row *row = &answer.rows[answer.rows[0].first_child + i];

		assert_true(fake->begin_ns[row[-1].slice] <= fake->begin_ns[row->slice]);
	}
	st_answer_fini(&answer);
	fake_destroy(fake);
}

/* Path of types from the root to the row, as one text; copies are no part of a path. */
static void path_of(const struct st_result *fake, uint32_t row, char *out, size_t capacity)
{
	if (fake->parent[row] != ST_NO_ROW)
		path_of(fake, fake->parent[row], out, capacity);
	else
		out[0] = '\0';
	if (fake->flags[row] & ST_SLICE_COPY)
		return;
	snprintf(out + strlen(out), capacity - strlen(out), "/%s",
		 fake->texts[fake->labels[fake->label[row]].name].bytes);
}

static bool on_path(const struct st_result *fake, uint32_t row, const void *arg)
{
	char path[256];

	path_of(fake, row, path, sizeof(path));
	return !(fake->flags[row] & ST_SLICE_COPY) && strcmp(path, arg) == 0;
}

static uint64_t check_stack(const struct st_result *fake, const struct st_answer *answer,
			    const struct st_answer_row *row, const char *above)
{
	uint64_t expected[ST_WALL_METRICS], count = st_answer_value(row, ST_COUNT);
	char path[256];

	snprintf(path, sizeof(path), "%s/%.*s", above, (int)row->text.size_bytes, row->text.bytes);
	brute_force(fake, everything, on_path, path, expected);
	check_values(row->values, expected);
	for (uint32_t i = 0; i < row->child_count; i++)
		count += check_stack(fake, answer, &answer->rows[row->first_child + i], path);
	return count;
}

static void test_task_stack_tree(void **state)
{
	struct st_result *fake = random_result();
	struct st_question question = {
		.groupings = {ST_BY_TASK_STACK}, .grouping_count = 1, .metrics = ALL_METRICS};
	struct st_answer answer;
	uint64_t expected[ST_WALL_METRICS], count = 0;

	(void)state;
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	brute_force(fake, everything, in_group, &(struct group){NULL, NULL}, expected);
	check_values(answer.total.values, expected);
	for (uint32_t i = 0; i < answer.root_count; i++)
		count += check_stack(fake, &answer, &answer.rows[i], "");
	assert_true(expected[ST_COPIES] > 0);
	assert_int_equal(count + expected[ST_COPIES], fake->slices.count);
	st_answer_fini(&answer);
	fake_destroy(fake);
}

static void test_overlap_without_nesting_counts_once(void **state)
{
	struct st_result *fake = fake_create();
	struct st_question question = {
		.groupings = {ST_BY_THREAD}, .grouping_count = 1, .metrics = ALL_METRICS};
	struct st_answer answer;
	uint32_t first;

	(void)state;
	fake_label(fake, "X", "x");
	fake_label(fake, "Y", "y");
	fake_process(fake, "p", 1);
	fake_track(fake, 0, "", 1);
	first = fake_slice(fake, 0, 0, 100, ST_NO_ROW);
	fake_slice(fake, 1, 50, 150, first); /* ends behind its parent */
	fake_finish(fake);
	assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
	assert_int_equal(st_answer_value(&answer.rows[0], ST_WALL_TOTAL), 150);
	assert_int_equal(st_answer_value(&answer.total, ST_WALL_TOTAL), 150);
	st_answer_fini(&answer);
	fake_destroy(fake);
}

static void test_wrong_questions_are_refused(void **state)
{
	struct st_result *fake = random_result();
	struct st_question question = {.groupings = {ST_BY_TASK, ST_BY_THREAD},
				       .grouping_count = 2};
	struct st_answer answer;
	struct st_error err;
	enum st_grouping grouping;
	enum st_metric metric;

	(void)state;
	assert_int_equal(st_question_ask(fake, &question, &answer, &err), ST_EUSAGE);
	question = (struct st_question){.has_time_range = true, .time_begin_ns = 5};
	assert_int_equal(st_question_ask(fake, &question, &answer, &err), ST_EUSAGE);
	assert_int_equal(st_grouping_parse("task-typ", 8, st_set_range(0, 32), &grouping, &err),
			 ST_EUSAGE);
	assert_non_null(strstr(err.text, "did you mean task-type"));
	assert_int_equal(st_grouping_parse("zzz", 3, ST_SET(ST_BY_FRAME), &grouping, &err),
			 ST_EUSAGE);
	assert_string_equal(err.text, "no such grouping: zzz; available: frame");
	assert_int_equal(
		st_grouping_parse("Task Family", 11, (struct st_set){{0}}, &grouping, &err), ST_OK);
	assert_int_equal(grouping, ST_BY_TASK_FAMILY);
	assert_int_equal(st_metric_parse("wall_p95_ns", 11, &metric, &err), ST_OK);
	assert_int_equal(metric, ST_WALL_P95);
	assert_int_equal(st_metric_parse("Average Task Time", 17, &metric, &err), ST_OK);
	assert_int_equal(metric, ST_WALL_AVG);
	assert_int_equal(st_metric_parse("zzz", 3, &metric, &err), ST_EUSAGE);
	fake_destroy(fake);
}

static void test_empty_result_has_a_total_of_zero(void **state)
{
	struct st_result *fake = fake_create();
	struct st_answer answer;

	(void)state;
	for (int i = 0; i <= ST_BY_STEP; i++) {
		struct st_question question = {.groupings = {(enum st_grouping)i},
					       .grouping_count = 1,
					       .metrics = ALL_METRICS,
					       .limit = 3};

		assert_int_equal(st_question_ask(fake, &question, &answer, NULL), ST_OK);
		assert_int_equal(answer.row_count, 0);
		assert_int_equal(st_answer_value(&answer.total, ST_WALL_MIN), 0);
		st_answer_fini(&answer);
	}
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pairs_of_groupings),
		cmocka_unit_test(test_filters_of_one_grouping_are_alternatives),
		cmocka_unit_test(test_a_filter_names_a_text_a_pattern_or_a_row),
		cmocka_unit_test(test_limit_sums_the_rest_exactly),
		cmocka_unit_test(test_instances_sorted_and_limited),
		cmocka_unit_test(test_task_stack_tree),
		cmocka_unit_test(test_overlap_without_nesting_counts_once),
		cmocka_unit_test(test_wrong_questions_are_refused),
		cmocka_unit_test(test_empty_result_has_a_total_of_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
