// SPDX-License-Identifier: Apache-2.0
//
// Every report through every writer, with names that are hard to write down.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/report_rows.h"
#include "analyze/datasets/quality.h"
#include "analyze/tables/report.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "export/export.h"
#include "export/report/show.h"
#include "nasty_result.h"

enum format { TEXT, CSV, JSON };

static unsigned int text_width; /* of the text that render() makes; 0: unlimited */

static char *render(const struct st_result *fake, const char *name,
		    const struct st_report_options *options, enum format format)
{
	static const struct st_report_options none = {.bin_count = 0};
	struct st_text_style style = {.width = text_width};
	struct st_report report;
	struct st_sink *sink;
	struct st_buf out;
	enum st_status status = ST_OK;

	assert_int_equal(st_report_build(fake, name, options ? options : &none, &report, NULL),
			 ST_OK);
	st_buf_init(&out, 256 << 20);
	assert_int_equal(st_sink_open_buf(&sink, &out, NULL), ST_OK);
	if (format == TEXT)
		status = st_report_write_text(&report, fake, &style, sink, NULL);
	else if (format == CSV)
		status = st_report_write_csv(&report, fake, ',', sink, NULL);
	else
		status = st_report_write_json(&report, fake, sink, NULL);
	assert_int_equal(status, ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	assert_true(st_buf_append_u8(&out, 0));
	st_report_fini(&report);
	return (char *)out.data;
}

static struct json_object *parse(const char *text, int depth)
{
	struct json_tokener *tokener = json_tokener_new_ex(depth);
	struct json_object *object;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
	if (!object)
		print_error("%s\n", json_tokener_error_desc(json_tokener_get_error(tokener)));
	assert_non_null(object);
	json_tokener_free(tokener);
	return object;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		print_error("no key %s\n", key);
	assert_non_null(value);
	return value;
}

static const char *text_member(struct json_object *object, const char *key)
{
	return json_object_get_string(member(object, key));
}

static int64_t number_member(struct json_object *object, const char *key)
{
	return json_object_get_int64(member(object, key));
}

/* The result at hand has no samples: reports that show nothing else are empty. */
/* Has no rows here: of samples, of which there are none, or of waits in the C library. */
static bool is_of_samples(const struct st_report_kind *kind)
{
	/* And of devices. */
	if (kind->rows == &st_kernels_report || kind->rows == &st_gaps_report)
		return true;
	return strcmp(kind->name, "critical-path") == 0 ||
	       (kind->accepts & ST_ACCEPTS_VIEW && strcmp(kind->name, "top-down") != 0 &&
		strcmp(kind->name, "summary") != 0);
}

static void test_every_report_is_strict_json(void **state)
{
	struct st_result *fake = nasty_create();

	(void)state;
	nasty_events(fake);
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++) {
		char *text = render(fake, kind->name, NULL, JSON);
		struct json_object *report = parse(text, 64);
		struct json_object *quality = member(report, "quality");

		assert_string_equal(text_member(report, "schema"), "strata.report/1");
		assert_string_equal(text_member(report, "report"), kind->name);
		assert_string_equal(text_member(report, "result"), "r000ta");
		assert_true(json_object_array_length(member(report, "rows")) > 0 ||
			    is_of_samples(kind));
		assert_true(json_object_array_length(member(report, "columns")) > 0);
		member(report, "totals");
		assert_int_equal(number_member(quality, "slices_dropped"), 1);
		assert_int_equal(number_member(quality, "unmatched_ends"), 14);
		assert_int_equal(number_member(quality, "spans_unfinished"), 17);
		assert_int_equal(number_member(quality, "times_estimated"), 1);
		assert_int_equal(number_member(quality, "objects_unknown"), 2);
		assert_int_equal(number_member(quality, "copies"), 20);
		assert_int_equal(json_object_array_length(member(quality, "notes")), 2);
		json_object_put(report);
		free(text);
	}
	fake_destroy(fake);
}

/* Names come back from JSON as they were, cleaned to UTF-8 and nothing else. */
static void test_names_survive_json(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_TASK}, .grouping_count = 1}};
	char *text = render(fake, "tasks", &options, JSON);
	struct json_object *report = parse(text, 64), *rows = member(report, "rows");

	(void)state;
	assert_int_equal(json_object_array_length(rows), fake->slices.count);
	for (size_t i = 0; i < fake->slices.count; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		uint32_t slice = (uint32_t)number_member(row, "row");
		struct st_text name = fake->texts[fake->labels[fake->label[slice]].name];
		struct json_object *task = member(row, "task");
		struct st_buf clean;

		st_buf_init(&clean, 1 << 20);
		st_utf8_append_clean(&clean, name.bytes, name.size_bytes);
		assert_int_equal(json_object_get_string_len(task), clean.size_bytes);
		if (clean.size_bytes)
			assert_memory_equal(json_object_get_string(task), clean.data,
					    clean.size_bytes);
		assert_int_equal(number_member(row, "start_ns"), fake->begin_ns[slice]);
		assert_int_equal(number_member(row, "wall_total_ns"),
				 fake->end_ns[slice] - fake->begin_ns[slice]);
		if (fake->parent[slice] != ST_NO_ROW)
			assert_int_equal(number_member(row, "parent"), fake->parent[slice]);
		else
			assert_false(json_object_object_get_ex(row, "parent", NULL));
		st_buf_fini(&clean);
	}
	json_object_put(report);
	free(text);
	fake_destroy(fake);
}

/* Counts records and fields after RFC 4180, strictly. */
static void check_csv(const char *at, size_t *records, size_t *fields)
{
	size_t in_record = 0;

	*records = *fields = 0;
	while (*at) {
		if (*at == '"') {
			for (at++; *at != '"' || at[1] == '"'; at++) {
				assert_int_not_equal(*at, 0);
				at += *at == '"';
			}
			at++;
		} else {
			while (*at && *at != ',' && *at != '\r') {
				assert_int_not_equal(*at, '"');
				assert_int_not_equal(*at, '\n');
				at++;
			}
		}
		in_record++;
		if (*at == ',') {
			at++;
			if (*at != '\r')
				continue;
			in_record++; /* an empty last field */
		}
		assert_memory_equal(at, "\r\n", 2);
		at += 2;
		if (*records == 0)
			*fields = in_record;
		assert_int_equal(in_record, *fields);
		in_record = 0;
		++*records;
	}
}

static void test_every_report_is_csv(void **state)
{
	struct st_result *fake = nasty_create();
	size_t records, fields;

	(void)state;
	nasty_events(fake);
	/* A NUL byte inside a name would end the text for this test's parser only. */
	fake->texts[fake->labels[5].name].size_bytes = 3;
	fake->texts[fake->labels[5].family].size_bytes = 3;
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++) {
		char *text = render(fake, kind->name, NULL, CSV);

		check_csv(text, &records, &fields);
		assert_true(records > 1 || is_of_samples(kind));
		assert_true(fields > 3);
		free(text);
	}
	fake_destroy(fake);
}

static void test_csv_of_nested_groupings_repeats_keys(void **state)
{
	struct st_result *fake = fake_create();
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_PROCESS, ST_BY_TASK_TYPE},
			     .grouping_count = 2,
			     .metrics = ST_SET(ST_COUNT, ST_WALL_TOTAL)}};
	char *text;

	(void)state;
	fake_label(fake, "D", "a");
	fake_label(fake, "D", "b,c");
	fake_process(fake, "p", 5);
	fake_track(fake, 0, "", 5);
	fake_slice(fake, 0, 0, 70, ST_NO_ROW);
	fake_slice(fake, 1, 70, 100, ST_NO_ROW);
	fake_finish(fake);
	text = render(fake, "tasks", &options, CSV);
	assert_string_equal(text, "process,task_type,count,wall_total_ns\r\n"
				  "p (5),a,1,70\r\n"
				  "p (5),\"b,c\",1,30\r\n");
	free(text);
	fake_destroy(fake);
}

static bool is_clean_text(const char *text)
{
	struct st_buf clean;
	bool same;

	for (const char *at = text; *at; at++) {
		if (((unsigned char)*at < 0x20 && *at != '\n') || *at == 0x7f)
			return false;
	}
	st_buf_init(&clean, 256 << 20);
	st_utf8_append_clean(&clean, text, strlen(text));
	same = clean.size_bytes == strlen(text) && memcmp(clean.data, text, clean.size_bytes) == 0;
	st_buf_fini(&clean);
	return same;
}

static void test_text_cannot_disturb_a_terminal(void **state)
{
	struct st_result *fake = nasty_create();

	(void)state;
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++) {
		char *text = render(fake, kind->name, NULL, TEXT);

		assert_true(strlen(text) > 0);
		assert_true(is_clean_text(text));
		if (strcmp(kind->name, "tasks") == 0)
			assert_non_null(strstr(text, "[no name]"));
		free(text);
	}
	fake_destroy(fake);
}

static void check_screen(char *text)
{
	unsigned int lines = 0;

	for (char *line = text, *end; *line; line = end + 1) {
		unsigned int columns = 0;

		end = strchr(line, '\n');
		assert_non_null(end);
		/* Bytes that continue a character take no column; emoji take two, and are rare. */
		for (char *at = line; at < end; at++)
			columns += ((unsigned char)*at & 0xc0) != 0x80;
		if (columns > 100)
			print_error("%.*s\n", (int)(end - line), line);
		assert_true(columns <= 100);
		lines++;
	}
	if (lines > 40)
		fprintf(stderr, "%s", text);
	assert_true(lines <= 40);
}

/* Joins lines that were broken at the margin. */
static void unwrap(char *text)
{
	char *to = text;

	for (char *at = text; *at; at++) {
		if (strncmp(at, "\n        ", 9) == 0) {
			*to++ = ' ';
			at += 8;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

/* The fullest summary there can be still fits on one screen, and says everything that was lost. */
static void test_summary_fits_and_tells_every_loss(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_quality_item items[ST_QUALITY_ITEMS];
	unsigned int flaws = 0;
	char *text, *quality;

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		char name[32];

		snprintf(name, sizeof(name), "aten::operator%c", (char)('a' + i % 26));
		fake_label(fake, "PyTorch", name);
	}
	fake_label(fake, "PyTorch", "step_1");
	for (uint32_t i = 0; i < 20; i++) {
		fake_process(fake, "worker", 500 + i);
		fake->processes[fake->process_count - 1].end = ST_END_LEFT_RUNNING;
		fake_track(fake, fake->process_count - 1, "", 500 + i);
		for (uint32_t j = 0; j < 10; j++) {
			uint32_t at = 100000 * j;
			uint32_t step =
				fake_slice(fake, fake->label_count - 1, at, at + 90000, ST_NO_ROW);

			for (uint32_t k = 0; k < 30; k++)
				fake_slice(fake, 10 + k, at + 100 * k, at + 100 * k + 90, step);
		}
	}
	nasty_events(fake);
	text = render(fake, "summary", NULL, TEXT);
	check_screen(text);
	unwrap(text);
	quality = render(fake, "quality", NULL, TEXT);
	st_quality_items(fake, items);
	for (unsigned int i = 0; i < ST_QUALITY_ITEMS; i++) {
		char words[200];
		/* Two are counted from the events themselves: estimated times, events of others. */
		unsigned int expected = i == 17 ? 1 : i == 18 ? 2 : i + 1;
		size_t noun = strcspn(items[i].words, " ");

		/* Behind these: samples, of which there are none. */
		if (i >= 20) {
			assert_int_equal(items[i].value, 0);
			continue;
		}
		assert_int_equal(items[i].value, expected);
		/* Of one: "1 task", "1 time". */
		snprintf(words, sizeof(words), "%u %.*s%s", expected, (int)(noun - (expected == 1)),
			 items[i].words, items[i].words + noun);
		/* What is no flaw is told by report quality alone. */
		if (!strstr(text, words) != !st_quality_is_flaw(&items[i]))
			fprintf(stderr, "missing: %s in\n%s", words, text);
		assert_int_equal(!strstr(text, words), !st_quality_is_flaw(&items[i]));
		assert_non_null(strstr(quality, items[i].words));
		flaws += st_quality_is_flaw(&items[i]);
	}
	assert_int_equal(flaws, 18); /* all but times that were converted, and copies */
	assert_null(strstr(text, "data quality: good"));
	assert_non_null(strstr(text, "STEP    200 steps   mean 90.0 us   p50 90.0 us"));
	assert_non_null(strstr(text, "FRAMES  1 of 1 domain   total 200 ns"));
	assert_non_null(strstr(text, "OVERLAP 2 of 1 type"));
	assert_non_null(strstr(text, "COUNTER 2 of 1 counter   coun\\nter"));
	assert_non_null(strstr(text, "WAITS   1 of 1 object"));
	assert_non_null(strstr(text, "NOT RECORDED"));
	assert_non_null(strstr(text, "LEFT RUNNING"));
	assert_non_null(strstr(text, "lost 21"));
	assert_non_null(strstr(text, "strata report top-down -r r000ta"));
	free(quality);
	free(text);
	fake_destroy(fake);
}

static void test_empty_result_says_why(void **state)
{
	struct st_result *fake = fake_create();
	char *text = render(fake, "summary", NULL, TEXT);

	(void)state;
	check_screen(text);
	assert_non_null(strstr(text, "No tasks were recorded"));
	assert_non_null(strstr(text, "collect-operators=false"));
	assert_null(strstr(text, "TASKS"));
	assert_null(strstr(text, "THREADS"));
	assert_non_null(strstr(text, "\ndata quality: good "));
	free(text);
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++) {
		for (int format = TEXT; format <= JSON; format++) {
			text = render(fake, kind->name, NULL, (enum format)format);
			assert_true(strlen(text) > 0);
			if (format == JSON)
				json_object_put(parse(text, 64));
			free(text);
		}
	}
	fake_destroy(fake);
}

/* Tasks nest as deep as a program likes: no writer may use recursion or a fixed depth. */
static void test_deep_stacks(void **state)
{
	enum { DEPTH = 5000 };
	struct st_result *fake = fake_create();
	struct json_object *report, *rows;
	char *text;
	int depth = 0;

	(void)state;
	fake_label(fake, "D", "f");
	fake_process(fake, "p", 1);
	fake_track(fake, 0, "", 1);
	for (uint32_t i = 0; i < DEPTH; i++)
		fake_slice(fake, 0, i, 2 * DEPTH - i, i ? i - 1 : ST_NO_ROW);
	fake_finish(fake);
	text = render(fake, "top-down", NULL, JSON);
	report = parse(text, 3 * DEPTH);
	for (rows = member(report, "rows"); json_object_array_length(rows); depth++) {
		struct json_object *row = json_object_array_get_idx(rows, 0);

		assert_int_equal(number_member(row, "depth"), depth);
		assert_int_equal(number_member(row, "wall_total_ns"), 2 * (DEPTH - depth));
		rows = member(row, "children");
	}
	assert_int_equal(depth, DEPTH);
	json_object_put(report);
	free(text);
	text = render(fake, "top-down", NULL, TEXT);
	assert_true(is_clean_text(text));
	free(text);
	text = render(fake, "top-down", NULL, CSV);
	assert_non_null(strstr(text, "f,4999,1,2,2"));
	free(text);
	fake_destroy(fake);
}

static void check_shown(const char *expected, struct st_buf *out)
{
	st_buf_append_u8(out, 0);
	assert_string_equal((char *)out->data, expected);
	st_buf_clear(out);
}

static void test_values_for_people(void **state)
{
	struct st_buf out;

	(void)state;
	st_buf_init(&out, 1 << 20);
	st_show_duration(&out, 999);
	check_shown("999 ns", &out);
	st_show_duration(&out, 1500);
	check_shown("1.50 us", &out);
	st_show_duration(&out, 999960);
	check_shown("1.00 ms", &out);
	st_show_duration(&out, 601200000);
	check_shown("601.2 ms", &out);
	st_show_duration(&out, 192400000000);
	check_shown("192.4 s", &out);
	st_show_bytes(&out, 38000000);
	check_shown("38.0 MB", &out);
	st_buf_append_count(&out, 1234567);
	check_shown("1,234,567", &out);
	st_show_percent(&out, 0.0001);
	check_shown("<0.1 %", &out);
	assert_int_equal(st_show_text(&out, (struct st_text){"abcdef", 6}, 4), 4);
	check_shown("abc…", &out);
	assert_int_equal(st_show_text(&out, (struct st_text){"abcd", 4}, 4), 4);
	check_shown("abcd", &out);
	assert_int_equal(st_show_text(&out, (struct st_text){"a\nb", 3}, 0), 4);
	check_shown("a\\nb", &out);
	assert_int_equal(st_show_text(&out, (struct st_text){"\xf0\x9f\x94\xa5", 4}, 0), 2);
	check_shown("\xf0\x9f\x94\xa5", &out);
	st_buf_fini(&out);
}

static void test_width_cuts_names_only(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_report_options options = {
		.question = {.metrics = ST_SET(ST_COUNT, ST_WALL_TOTAL)}};
	struct st_text_style style = {.width = 60};
	struct st_report report;
	struct st_sink *sink;
	struct st_buf out;

	(void)state;
	assert_int_equal(st_report_build(fake, "tasks", &options, &report, NULL), ST_OK);
	st_buf_init(&out, 1 << 20);
	assert_int_equal(st_sink_open_buf(&sink, &out, NULL), ST_OK);
	assert_int_equal(st_report_write_text(&report, fake, &style, sink, NULL), ST_OK);
	st_sink_close(sink, true, NULL);
	st_buf_append_u8(&out, 0);
	for (char *line = (char *)out.data; !strstr(line, "note") || *line != '\n';) {
		char *end = strchr(line, '\n');
		unsigned int columns = 0;

		for (char *at = line; at < end; at++)
			columns += ((unsigned char)*at & 0xc0) != 0x80;
		assert_true(columns <= 60);
		line = end + 1;
	}
	st_buf_fini(&out);
	st_report_fini(&report);
	fake_destroy(fake);
}

/* Every line but the commands, which are there to be copied, keeps to the width. */
static void test_summary_keeps_to_the_width(void **state)
{
	struct st_result *fake = nasty_create();

	(void)state;
	fake->quality.loss.slices_dropped = 377527;
	for (unsigned int width = 60; width <= 120; width++) {
		char *text;

		text_width = width;
		text = render(fake, "summary", NULL, TEXT);
		text_width = 0;
		assert_non_null(strstr(text, "377,527 tasks dropped"));
		for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
			unsigned int columns = 0;

			*end = '\0';
			for (char *at = line; *at; at++)
				columns += ((unsigned char)*at & 0xc0) != 0x80;
			if (columns > (width < 100 ? width : 100) && !strstr(line, " -r "))
				fail_msg("%u columns of %u: %s", columns, width, line);
		}
		free(text);
	}
	fake_destroy(fake);
}

static void test_commands_keep_the_programs_name(void **state)
{
	static const char text[] = "/a/very/long/path/to/some/virtual/environment/bin/python -c x";
	struct st_text command = {text, strlen(text)};
	struct st_buf out;

	(void)state;
	st_buf_init(&out, 1000);
	assert_int_equal(st_show_command(&out, command, 0), strlen(text));
	check_shown(text, &out);
	st_show_command(&out, command, 30);
	check_shown("python -c x", &out);
	st_show_command(&out, command, 8);
	check_shown("python …", &out);
	st_buf_fini(&out);
}

static void test_narrow_tables_name_what_they_leave_out(void **state)
{
	struct st_result *fake = nasty_create();
	char *text;

	(void)state;
	text_width = 80;
	text = render(fake, "tasks", NULL, TEXT);
	text_width = 0;
	assert_null(strstr(text, "Maximum  "));
	assert_non_null(strstr(text, "Worker Copies: not shown"));
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		assert_true(end - line <= 100); /* bytes: some are no columns */
	free(text);
	text = render(fake, "tasks", NULL, TEXT);
	assert_null(strstr(text, "not shown; use -report-width"));
	free(text);
	fake_destroy(fake);
}

static void test_next_commands_can_be_copied(void **state)
{
	struct st_result *fake = nasty_create();
	char *text;

	(void)state;
	fake->info.path = "it's a result";
	text = render(fake, "summary", NULL, TEXT);
	/* Alone on their lines: a pasted line is one command. */
	assert_non_null(strstr(text, "next    strata report top-down -r 'it'\\''s a result'\n"
				     "        strata report timeline -r 'it'\\''s a result'\n"));
	free(text);
	fake_destroy(fake);
}

static void test_options_without_effect_are_refused(void **state)
{
	static const struct st_filter filter = {ST_BY_PROCESS, false, "*"};
	static const struct {
		const char *report, *option;
		struct st_report_options options;
	} cases[] = {
		{"summary", "-group-by", {.question = {.grouping_count = 1}}},
		{"summary", "-sort-asc", {.question = {.sort_count = 1, .sort_ascending = true}}},
		{"timeline", "-sort-desc", {.question = {.sort_count = 1}}},
		{"tasks", "-report-knob bin-count", {.bin_count = 2}},
		{"info", "-limit", {.question = {.limit = 1}}},
		{"info", "-time-filter", {.question = {.has_time_range = true, .time_end_ns = 1}}},
		{"info", "-filter", {.question = {.filters = &filter, .filter_count = 1}}},
	};
	struct st_result *fake = nasty_create();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct st_report report;
		struct st_error err;

		assert_int_equal(
			st_report_build(fake, cases[i].report, &cases[i].options, &report, &err),
			ST_EUSAGE);
		assert_non_null(strstr(err.text, cases[i].report));
		assert_non_null(strstr(err.text, cases[i].option));
	}
	fake_destroy(fake);
}

static void test_summary_says_what_it_is_of(void **state)
{
	static const struct st_filter filter = {ST_BY_TASK_DOMAIN, true, "no such domain"};
	struct st_report_options options = {.question = {.filters = &filter,
							 .filter_count = 1,
							 .has_time_range = true,
							 .time_begin_ns = 1000,
							 .time_end_ns = 5000}};
	struct st_result *fake = nasty_create();
	char *text = render(fake, "summary", &options, TEXT);

	(void)state;
	assert_non_null(strstr(text, "only    task-domain!=no such domain, from 0.000001 s"));
	assert_null(strstr(text, "STEP"));
	free(text);
	options.question.time_begin_ns = INT64_MAX / 4;
	options.question.time_end_ns = INT64_MAX / 2;
	text = render(fake, "summary", &options, TEXT);
	assert_non_null(strstr(text, "No tasks match."));
	assert_null(strstr(text, "TASKS"));
	free(text);
	fake_destroy(fake);
}

static void test_unknown_report_offers_near_names(void **state)
{
	struct st_result *fake = fake_create();
	struct st_report_options options = {.bin_count = 0};
	struct st_report report;
	struct st_error err;

	(void)state;
	assert_int_equal(st_report_build(fake, "summaryx", &options, &report, &err), ST_EUSAGE);
	assert_non_null(strstr(err.text, "did you mean summary"));
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_report_is_strict_json),
		cmocka_unit_test(test_names_survive_json),
		cmocka_unit_test(test_every_report_is_csv),
		cmocka_unit_test(test_csv_of_nested_groupings_repeats_keys),
		cmocka_unit_test(test_text_cannot_disturb_a_terminal),
		cmocka_unit_test(test_summary_fits_and_tells_every_loss),
		cmocka_unit_test(test_empty_result_says_why),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_values_for_people),
		cmocka_unit_test(test_width_cuts_names_only),
		cmocka_unit_test(test_summary_keeps_to_the_width),
		cmocka_unit_test(test_commands_keep_the_programs_name),
		cmocka_unit_test(test_narrow_tables_name_what_they_leave_out),
		cmocka_unit_test(test_next_commands_can_be_copied),
		cmocka_unit_test(test_options_without_effect_are_refused),
		cmocka_unit_test(test_summary_says_what_it_is_of),
		cmocka_unit_test(test_unknown_report_offers_near_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
