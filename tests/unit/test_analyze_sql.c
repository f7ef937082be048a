// SPDX-License-Identifier: Apache-2.0
//
// SQL over a result: push-down against a full scan on random results, what is refused, the cap on
// memory, stopping, the words of errors, and the form of answers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/tables/report.h"
#include "analyze/reports/report_rows.h"
#include "analyze/sql/sql.h"
#include "analyze/sql/sql_parts.h"
#include "base/buf.h"
#include "fake_named.h"
#include "nasty_result.h"

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % limit);
}

/* Slices of random length at random places; parents are whatever is open, flags are random. */
static void random_track(struct st_result *fake, uint32_t labels)
{
	uint32_t open = ST_NO_ROW;
	int64_t now = random_below(50);

	for (uint32_t i = 0, count = random_below(300); i < count; i++) {
		int64_t end = now + random_below(100);
		uint32_t row;

		while (open != ST_NO_ROW && fake->end_ns[open] <= now)
			open = fake->parent[open];
		if (open != ST_NO_ROW && end > fake->end_ns[open])
			end = fake->end_ns[open];
		row = fake_slice(fake, random_below(labels), now, end, open);
		fake->flags[row] = (uint16_t)random_below(8);
		open = row;
		now += random_below(12);
	}
}

static struct st_result *random_result(uint64_t number)
{
	struct st_result *fake = fake_create();
	uint32_t labels, processes;

	seed = number;
	processes = 1 + random_below(3);
	for (uint32_t i = 0; i < processes; i++)
		fake_process(fake, i ? "worker" : "train.py", 100 + random_below(2));
	labels = 1 + random_below(12);
	for (uint32_t i = 0; i < labels; i++) {
		char name[32];

		snprintf(name, sizeof(name), "step_%u", random_below(6));
		fake_label(fake, i % 2 ? "other" : "torch", name);
	}
	for (uint32_t i = 0, count = random_below(6); i < count; i++) {
		fake_track(fake, random_below(processes), i % 2 ? "" : "named",
			   100 + random_below(4));
		random_track(fake, labels);
	}
	fake_finish(fake);
	return fake;
}

static struct st_sql *open_sql(const struct st_result *fake, const struct st_sql_options *options)
{
	struct st_error err = {0};
	struct st_sql *sql;

	if (st_sql_open(&sql, fake, options, &err))
		fail_msg("%s", err.text);
	return sql;
}

static void ask_ok(struct st_sql *sql, const char *text, struct st_report *out)
{
	struct st_error err = {0};

	if (st_sql_ask(sql, text, out, &err))
		fail_msg("%s: %s", text, err.text);
}

static void expect_error(struct st_sql *sql, const char *text, enum st_status status,
			 const char *needle)
{
	struct st_report report;
	struct st_error err = {0};

	assert_int_equal(st_sql_ask(sql, text, &report, &err), status);
	assert_int_equal(err.status, status);
	if (!strstr(err.text, needle))
		fail_msg("%s: expected '%s' in '%s'", text, needle, err.text);
	assert_null(report.memory);
}

static int64_t number_of(struct st_sql *sql, const char *text)
{
	struct st_report report;
	int64_t value;

	ask_ok(sql, text, &report);
	assert_int_equal(report.row_count, 1);
	assert_int_equal(report.rows[0].cells[0].kind, ST_CELL_I64);
	value = report.rows[0].cells[0].as.i64;
	st_report_fini(&report);
	return value;
}

static const char *const pushed[] = {
	"start_ns", "end_ns",  "row",	     "rowid", "track",	   "tid",	  "thread",
	"pid",	    "process", "process_id", "label", "task_type", "task_domain", "task_family",
};
enum { PUSHED = sizeof(pushed) / sizeof(pushed[0]) };

static void random_value(const char *column, char *out, size_t size)
{
	static const char *const texts[] = {
		"'step_1'",	 "'step_3'",	     "'torch'",	     "'other'",	 "'step_*'",
		"'named (101)'", "'train.py (100)'", "'main (100)'", "'STEP_1'", "'1'"};
	static const char *const odd[] = {"NULL",
					  "'5'",
					  "1e300",
					  "-1e300",
					  "''",
					  "x'31'",
					  "9223372036854775807",
					  "-9223372036854775807 - 1",
					  "1e999",
					  "4294967295",
					  "4294967296"};
	bool is_text = strncmp(column, "task", 4) == 0 || strcmp(column, "thread") == 0 ||
		       strcmp(column, "process") == 0;

	if (random_below(12) == 0)
		snprintf(out, size, "%s", odd[random_below(sizeof(odd) / sizeof(odd[0]))]);
	else if (is_text)
		snprintf(out, size, "%s", texts[random_below(sizeof(texts) / sizeof(texts[0]))]);
	else if (strcmp(column, "tid") == 0 || strcmp(column, "pid") == 0)
		snprintf(out, size, "%u", 99 + random_below(5));
	else if (random_below(4) == 0)
		snprintf(out, size, "%u.%u", random_below(900), random_below(10));
	else
		snprintf(out, size, "%u", random_below(strstr(column, "_ns") ? 900 : 8));
}

static void random_condition(char *out, size_t size)
{
	static const char *const compares[] = {"=", "<", "<=", ">", ">=", "<>", "IS", "IN"};
	size_t used = 0;

	for (uint32_t i = 0, count = 1 + random_below(4); i < count; i++) {
		const char *column = pushed[random_below(PUSHED)];
		const char *compare = compares[random_below(8)];
		const char *joint = !i ? "" : random_below(5) ? " AND " : " OR ";
		const char *collate = random_below(8) ? "" : " COLLATE NOCASE";
		char value[64], second[64], list[200];

		random_value(column, value, sizeof(value));
		random_value(column, second, sizeof(second));
		snprintf(list, sizeof(list), "(%s, %s)", value, second);
		if (strcmp(compare, "IN") == 0)
			collate = "";
		used += (size_t)snprintf(out + used, size - used, "%s%s %s %s%s", joint, column,
					 compare, strcmp(compare, "IN") == 0 ? list : value,
					 collate);
		assert_true(used < size);
	}
}

static void assert_same(const struct st_report *a, const struct st_report *b, const char *what)
{
	if (a->row_count != b->row_count)
		fail_msg("%s: %u rows, not %u", what, a->row_count, b->row_count);
	for (uint32_t i = 0; i < a->row_count; i++)
		if (a->rows[i].cells[0].as.i64 != b->rows[i].cells[0].as.i64)
			fail_msg("%s: row %u differs", what, i);
}

static void test_push_down_gives_the_same_rows(void **state)
{
	uint64_t non_empty = 0;

	(void)state;
	for (uint64_t number = 1; number <= 60; number++) {
		struct st_result *fake = random_result(number);
		struct st_sql *sql = open_sql(fake, NULL);

		for (int i = 0; i < 60; i++) {
			char condition[800], text[1000];
			struct st_report a, b;

			random_condition(condition, sizeof(condition));
			snprintf(text, sizeof(text),
				 "SELECT row FROM slices WHERE %s ORDER BY +row", condition);
			ask_ok(sql, text, &a);
			/* A copy of the table knows nothing of push-down. */
			snprintf(text, sizeof(text),
				 "WITH copy AS MATERIALIZED (SELECT *, row AS rowid FROM slices) "
				 "SELECT row FROM copy WHERE %s ORDER BY +row",
				 condition);
			ask_ok(sql, text, &b);
			assert_same(&a, &b, condition);
			non_empty += a.row_count > 0;
			st_report_fini(&a);
			st_report_fini(&b);
		}
		st_sql_close(sql);
		fake_destroy(fake);
	}
	assert_true(non_empty > 500);
}

/* Two threads, 1000 tasks of 10 ns each, one type of ten is "rare". */
static struct st_result *even_result(void)
{
	struct st_result *fake = fake_create();
	uint32_t process = fake_process(fake, "train.py", 4711);
	uint32_t often = fake_label(fake, "torch", "often");
	uint32_t rare = fake_label(fake, "torch", "rare");

	for (uint32_t track = 0; track < 2; track++) {
		fake_track(fake, process, "", 4711 + track);
		for (uint32_t i = 0; i < 1000; i++)
			fake_slice(fake, i % 10 ? often : rare, i * 10, i * 10 + 10, ST_NO_ROW);
	}
	fake_finish(fake);
	return fake;
}

static uint64_t rows_for(struct st_sql *sql, const char *text, int64_t expected)
{
	uint64_t before = st_sql_rows_read(sql);

	assert_int_equal(number_of(sql, text), expected);
	return st_sql_rows_read(sql) - before;
}

static void test_push_down_reads_less(void **state)
{
	struct st_result *fake = even_result();
	struct st_sql *sql = open_sql(fake, NULL);

	(void)state;
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices", 2000), 2000);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE start_ns >= 9900", 20),
			 20);
	assert_int_equal(
		rows_for(sql, "SELECT count(*) FROM slices WHERE start_ns BETWEEN 100 AND 190", 20),
		20);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE end_ns <= 100", 20), 22);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE tid = 4712", 1000), 1000);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE pid = 1", 0), 0);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE row = 1500", 1), 1);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE rowid IN (3, 4)", 2), 2);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE row >= 1999", 1), 1);
	assert_int_equal(rows_for(sql, "SELECT count(*) FROM slices WHERE start_ns > NULL", 0), 0);
	assert_int_equal(rows_for(sql,
				  "SELECT count(*) FROM slices WHERE thread = 'main (4711)' AND "
				  "task_type = 'rare' AND start_ns < 100",
				  1),
			 11);
	/* A parent is looked up, not searched for. */
	assert_true(rows_for(sql,
			     "SELECT count(p.row) FROM slices s LEFT JOIN slices p ON p.row = "
			     "s.parent",
			     0) <= 2000);
	st_sql_close(sql);
	fake_destroy(fake);
}

static void test_only_reading(void **state)
{
	static const char *const refused[] = {
		"CREATE TABLE t(a)",
		"CREATE TEMP TABLE t(a)",
		"CREATE VIRTUAL TABLE t USING slices",
		"CREATE VIRTUAL TABLE t USING fts5(a)",
		"CREATE VIEW v AS SELECT 1",
		"INSERT INTO slices VALUES (1)",
		"DELETE FROM slices",
		"UPDATE slices SET row = 1",
		"DROP TABLE slices",
		"ATTACH ':memory:' AS other",
		"DETACH main",
		"PRAGMA user_version",
		"PRAGMA temp_store = FILE",
		"PRAGMA hard_heap_limit = 0",
		"SELECT * FROM pragma_user_version",
		"SELECT load_extension('x')",
		"SELECT fts3_tokenizer('simple')",
		"BEGIN",
		"SAVEPOINT a",
		"VACUUM",
		"VACUUM INTO 'file'",
		"ANALYZE",
		"REINDEX",
		"WITH a AS (SELECT 1) DELETE FROM slices",
		"EXPLAIN DELETE FROM slices",
	};
	struct st_result *fake = even_result();
	struct st_sql *sql = open_sql(fake, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct st_report report;
		struct st_error err = {0};

		if (st_sql_ask(sql, refused[i], &report, &err) != ST_EUSAGE || !err.text[0])
			fail_msg("%s was not refused: %s", refused[i], err.text);
	}
	assert_int_equal(number_of(sql, "SELECT count(*) FROM sqlite_master"), 0);
	assert_int_equal(number_of(sql,
				   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
				   "n WHERE i < 9) SELECT sum(i) FROM n"),
			 45);
	st_sql_close(sql);
	fake_destroy(fake);
}

static void test_errors_name_the_place(void **state)
{
	struct st_result *fake = even_result();
	struct st_sql *sql = open_sql(fake, NULL);
	char *longest;

	(void)state;
	expect_error(sql, "SELECT * FROM slics", ST_EUSAGE,
		     "line 1, column 15: no such table: slics; did you mean 'slices'?");
	expect_error(sql, "SELECT * FROM main.slics", ST_EUSAGE, "did you mean 'slices'?");
	expect_error(sql, "SELECT 1 FROM qqqq", ST_EUSAGE, "available: slices, threads");
	expect_error(sql, "SELECT\n s.wal_ns FROM slices s", ST_EUSAGE, "line 2, column 2: ");
	expect_error(sql, "SELECT wal_ns FROM slices", ST_EUSAGE, "did you mean 'wall_ns'");
	expect_error(sql, "SELECT zzzzzzzzzz FROM slices", ST_EUSAGE, "--schema");
	expect_error(sql, "SELECT 'ü', zzz FROM slices", ST_EUSAGE, "line 1, column 13");
	expect_error(sql, "SELECT * FROM slices WHERE task_type = \"rare\"", ST_EUSAGE,
		     "single quotes");
	expect_error(sql, "SELEC 1", ST_EUSAGE, "line 1, column 1: near \"SELEC\"");
	expect_error(sql, "SELECT 1 FROM", ST_EUSAGE, "incomplete input");
	expect_error(sql, "SELECT unheard(1)", ST_EUSAGE, "no such function: unheard");
	expect_error(sql, "SELECT abs(-9223372036854775807 - 1)", ST_EUSAGE, "overflow");
	expect_error(sql, "", ST_EUSAGE, "no statement");
	expect_error(sql, " ; -- nothing", ST_EUSAGE, "no statement");
	expect_error(sql, "SELECT 1; SELECT 2", ST_EUSAGE, "one statement");
	expect_error(sql, "SELECT 1; nonsense", ST_EUSAGE, "one statement");
	expect_error(sql, "SELECT ?", ST_EUSAGE, "parameter (?)");
	expect_error(sql, "SELECT :a", ST_EUSAGE, "parameter (:a)");
	assert_int_equal(number_of(sql, "SELECT 1; -- and that is all\n ; "), 1);
	longest = malloc((2 << 20) + 1);
	assert_non_null(longest);
	memset(longest, ' ', 2 << 20);
	longest[2 << 20] = '\0';
	expect_error(sql, longest, ST_EUSAGE, "longer than");
	free(longest);
	st_sql_close(sql);
	fake_destroy(fake);
}

static void test_memory_cap(void **state)
{
	struct st_sql_options options = {.memory_bytes = 8000000};
	struct st_result *fake = even_result();
	struct st_sql *sql = open_sql(fake, &options);

	(void)state;
	/* In SQLite: a sort. In the answer: rows. In both: a long text. */
	expect_error(sql,
		     "SELECT count(*) FROM (SELECT DISTINCT a.row * 10000 + b.row FROM slices a, "
		     "slices b)",
		     ST_ENOMEM, "more than 8 MB");
	expect_error(sql, "SELECT a.row, b.row FROM slices a, slices b", ST_ENOMEM,
		     "-memory-limit");
	expect_error(sql, "SELECT hex(zeroblob(6000000))", ST_ENOMEM, "more than 8 MB");
	/* The connection goes on after that. */
	assert_int_equal(number_of(sql, "SELECT count(*) FROM slices"), 2000);
	st_sql_close(sql);
	fake_destroy(fake);
}

static bool stop_at_third(void *arg)
{
	return ++*(int *)arg >= 3;
}

static void test_stopping(void **state)
{
	int asked = 0;
	struct st_sql_options options = {.stopped = stop_at_third, .stopped_arg = &asked};
	struct st_result *fake = even_result();
	struct st_sql *sql = open_sql(fake, &options);

	(void)state;
	expect_error(sql, "SELECT count(*) FROM slices a, slices b, slices c", ST_EIO, "stopped");
	assert_int_equal(asked, 3);
	st_sql_close(sql);
	fake_destroy(fake);
}

static void test_columns_and_cells(void **state)
{
	struct st_result *fake = even_result();
	struct st_sql *sql = open_sql(fake, NULL);
	struct st_report report;

	(void)state;
	ask_ok(sql,
	       "SELECT 1 AS a_ns, 2 AS a_ns, 'x' || char(0) || 'y' AS children, NULL AS n, 2.5 AS "
	       "r_ratio, x'00fF' AS b, 7 AS size_bytes, '' AS \"\", 1 AS \"a\nb\"",
	       &report);
	assert_string_equal(report.name, "query");
	assert_true(report.as_asked);
	assert_int_equal(report.column_count, 9);
	assert_string_equal(report.columns[0].key, "a_ns");
	assert_string_equal(report.columns[0].unit, "ns");
	assert_string_equal(report.columns[1].key, "a_2_ns");
	assert_string_equal(report.columns[1].unit, "ns");
	assert_string_equal(report.columns[2].key, "children_2");
	assert_true(report.columns[2].is_key);
	assert_int_equal(report.rows[0].cells[2].as.text.size_bytes, 3);
	assert_memory_equal(report.rows[0].cells[2].as.text.bytes, "x\0y", 3);
	assert_int_equal(report.rows[0].cells[3].kind, ST_CELL_NONE);
	assert_string_equal(report.columns[4].unit, "ratio");
	assert_string_equal(report.rows[0].cells[5].as.text.bytes, "00ff");
	assert_string_equal(report.columns[6].unit, "bytes");
	assert_string_equal(report.columns[7].title, "?");
	assert_string_equal(report.columns[8].title, "a b");
	st_report_fini(&report);
	ask_ok(sql, "SELECT row FROM slices WHERE 0", &report);
	assert_int_equal(report.row_count, 0);
	st_report_fini(&report);
	st_sql_close(sql);
	fake_destroy(fake);
}

static void add_samples(struct st_result *fake)
{
	uint32_t code = fake_python_code(fake, 0, "/app/train.py", "step", 3);
	uint32_t node = fake_node(fake, 0, ST_FRAME_CALL, 0x1000);

	node = fake_python_node(fake, node, code, 7);
	fake_node(fake, node, ST_FRAME_KERNEL, UINT64_MAX);
	fake_sampler(fake, 0, 10000000);
	fake_sample(fake, 5, 10, node, ST_SAMPLE_TRUNCATED);
	fake_finish(fake);
}

/* Slice 0 is an operator of a tensor, a number and a list of two; slice 1 only took memory. */
static void add_operators(struct st_result *fake)
{
	static const uint8_t inputs[] = {ST_INPUT_TENSOR,
					 6,
					 2,
					 16,
					 6,
					 ST_INPUT_SCALAR,
					 ST_INPUT_TENSOR_LIST,
					 2,
					 0,
					 ST_INPUT_TENSOR,
					 5,
					 0,
					 ST_INPUT_UNDEFINED,
					 ST_INPUT_OTHER};

	fake->signatures[0] = (struct st_signature){.scope = ST_SCOPE_BACKWARD,
						    .flags = ST_SIGNATURE_INPUTS,
						    .input_count = 4,
						    .inputs = inputs,
						    .inputs_bytes = sizeof(inputs)};
	fake->signature_count = fake->operator_source_count = 1;
	fake->operators[0] = (struct st_operator){0, 0, 17, 100, 40, 3, 0};
	fake->operators[1] = (struct st_operator){1, ST_NO_ROW, ST_NO_SEQUENCE, 0, 8, 0, 0};
	fake->operator_count = 2;
	fake->moments[0] = (struct st_memory_moment){5, 0, 0, 100, 40, 90, 0x40, 0, 0};
	fake->moments[1] = (struct st_memory_moment){6, 0, ST_NO_ROW, 0, 8, 0, 0, 0, 0};
	fake->moment_count = 2;
	fake->device_moments[fake->device_moment_count++] = fake->moments[0];
	fake->operator_sources[0] = (struct st_operator_source){
		0, ST_OPERATORS_NAMES, ST_OPERATORS_UNTESTED, fake_text(fake, "torch 2.13"), 0};
}

static void test_operators(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_sql *sql;

	(void)state;
	add_operators(fake);
	sql = open_sql(fake, NULL);
	assert_int_equal(number_of(sql,
				   "SELECT count(*) FROM operators WHERE row = 0 AND scope = "
				   "'backward' AND sequence = 17 AND allocated = 100 AND freed "
				   "= 40 AND inputs_cut = 0 AND stack = 3"),
			 1);
	assert_int_equal(number_of(sql, "SELECT shapes = '[[8, 3], [], [[], []], []]' AND dtypes = "
					"'[\"float\", \"Scalar\", [\"c10::Half\", \"\"], \"\"]' "
					"FROM operators WHERE row = 0"),
			 1);
	assert_int_equal(number_of(sql,
				   "SELECT count(*) FROM operators WHERE row >= 1 AND scope IS "
				   "NULL AND shapes IS NULL AND sequence IS NULL AND freed = 8"),
			 1);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM operators JOIN slices USING (row) "
					"WHERE name = task_type"),
			 2);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM operators WHERE row = 2"), 0);
	assert_int_equal(number_of(sql, "SELECT sum(row) FROM operators WHERE row <= 1"), 1);
	assert_int_equal(number_of(sql, "SELECT sum(allocated) - sum(freed) FROM memory"), 52);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM memory WHERE slice IS NULL"), 1);
	assert_int_equal(number_of(sql,
				   "SELECT count(*) FROM operator_sources WHERE framework = "
				   "'torch 2.13' AND level = 'names' AND untested AND why IS NULL"),
			 1);
	st_sql_close(sql);
	fake_destroy(fake);
}

/* Every cell of every table can be had, also of a result with nothing in it. */
static void add_kernels(struct st_result *fake)
{
	fake->tracks[fake_track(fake, 0, "device 0 stream 7", 7)].kind = ST_TRACK_DEVICE_STREAM;
	fake_slice(fake, fake_label(fake, "device.kernel", "kernel"), 100, 200, ST_NO_ROW);
	fake_slice(fake, fake->label_count - 1, 300, 400, ST_NO_ROW);
	fake_finish(fake);
}

static void test_every_table(void **state)
{
	static const char *const notes[] = {"torn"};

	(void)state;
	for (int filled = 0; filled < 2; filled++) {
		struct st_result *fake = filled ? nasty_create() : fake_create();
		struct st_sql *sql;
		struct st_report report;

		if (filled) {
			nasty_events(fake);
			add_samples(fake);
			add_operators(fake);
			add_kernels(fake);
			fake->pauses[0] = (struct st_pause_window){ST_NO_ROW, 1, 2};
			fake->pauses[1] = (struct st_pause_window){0, 5, 6};
			fake->pause_count = 2;
			fake->quality.notes = notes;
			fake->quality.note_count = 1;
		}
		sql = open_sql(fake, NULL);
		for (size_t i = 0; i < ST_TABLES; i++) {
			char text[100];

			snprintf(text, sizeof(text), "SELECT * FROM %s", st_all_tables[i]->name);
			ask_ok(sql, text, &report);
			if (filled && !report.row_count)
				print_error("%s is empty\n", st_all_tables[i]->name);
			/* Paths are only followed where waits in the C library were recorded. */
			assert_true(report.row_count > 0 || !filled ||
				    strcmp(st_all_tables[i]->name, "critical_path") == 0);
			st_report_fini(&report);
		}
		if (filled) {
			assert_int_equal(
				number_of(sql, "SELECT count(*) FROM threads t JOIN processes p ON "
					       "p.process_id = t.process_id AND p.pid = t.pid"),
				fake->track_count);
			assert_int_equal(number_of(sql,
						   "SELECT count(*) FROM slices s JOIN labels l "
						   "USING (label, task_type, task_family)"),
					 fake->slices.count);
			assert_int_equal(number_of(sql,
						   "SELECT count(*) FROM threads WHERE track = "
						   "99 OR track = -1 OR track = NULL"),
					 0);
		}
		st_sql_close(sql);
		fake_destroy(fake);
	}
}

/* Samples, their stacks and functions, joined by row numbers. */
static void test_samples(void **state)
{
	struct st_result *fake = fake_create();
	struct fake_named *names = fake_named_create(fake);
	struct st_sql_options options = {.named = &names->named};
	uint32_t top, run, spin, step, inlined;
	struct st_sql *sql;

	(void)state;
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "main", 100);
	run = fake_function(names, ST_FUNCTION_NATIVE, "prog", "run", "/src/run.c");
	spin = fake_function(names, ST_FUNCTION_NATIVE, "libgomp.so.1", "spin", "");
	step = fake_function(names, ST_FUNCTION_PYTHON, "train.py", "step", "/app/train.py");
	inlined = fake_function(names, ST_FUNCTION_NATIVE, "prog", "inlined", "/src/run.h");
	fake_slice(fake, fake_label(fake, "d", "task"), 0, 100, ST_NO_ROW);
	top = fake_call(names, 0, step, 12);
	top = fake_call(names, top, run, 5);
	fake_inlined(names, inlined, 9);
	fake_sample(fake, 10, 70, top, ST_SAMPLE_RECOVERED);
	fake_sample(fake, 20, 30, top, 0);
	fake_sample(fake, 150, 1000, top, ST_SAMPLE_WAITING);
	fake_track(fake, 0, "worker", 101);
	fake->creators[1] = 0;
	fake_sample(fake, 30, 5, fake_call(names, 0, spin, 1), ST_SAMPLE_HOLDS_GIL);
	fake_finish(fake);
	sql = open_sql(fake, &options);
	assert_int_equal(number_of(sql, "SELECT sum(weight_ns) FROM samples s JOIN stack_nodes n "
					"USING (node) JOIN functions f USING (function) "
					"WHERE f.name = 'inlined' AND state = 'running'"),
			 100);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM samples WHERE recovered"), 1);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM samples WHERE holds_gil"), 1);
	assert_int_equal(number_of(sql, "SELECT weight_ns FROM samples WHERE slice IS NULL AND "
					"inherited = 0 AND track = 1 AND tid = 101"),
			 5);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM samples WHERE track = 0"), 3);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM samples WHERE track = 9"), 0);
	assert_int_equal(number_of(sql, "SELECT creator FROM threads WHERE samples = 1"), 0);
	/* From the innermost frame outwards: inlined, run, step. */
	assert_int_equal(
		number_of(sql,
			  "WITH RECURSIVE up(frame, depth) AS (SELECT n.frame, 1 FROM "
			  "samples s JOIN stack_nodes n USING (node) WHERE sample = 0 UNION ALL "
			  "SELECT f.parent, depth + 1 FROM up JOIN stack_frames f USING (frame) "
			  "WHERE f.parent) SELECT depth FROM up JOIN stack_frames USING (frame) "
			  "JOIN functions fn USING (function) WHERE fn.name = 'step' AND "
			  "fn.kind = 'python' AND fn.module = 'train.py'"),
		3);
	assert_int_equal(number_of(sql, "SELECT line FROM stack_frames WHERE inlined"), 9);
	st_sql_close(sql);
	fake_named_destroy(names);
	fake_destroy(fake);
}

/* A table of a set of rows has the columns of its report, in a row between its name and its places. */
static void test_row_tables_follow_their_reports(void **state)
{
	(void)state;
	for (size_t i = 0; i < ST_ROW_SETS; i++) {
		const struct st_table *table = &st_row_tables[i];
		int column = 3;

		assert_int_equal(table->set, i);
		assert_int_equal(st_table_find(table, "wall_ns"), 2);
		for (int j = 0; j < column; j++)
			assert_null(table->columns[j].title);
		while (table->columns[column].title)
			column++;
		assert_string_equal(table->columns[column].key, "track");
		for (; column < table->column_count; column++)
			assert_null(table->columns[column].title);
		assert_int_equal(st_sql_column_count(table), table->column_count);
	}
}

/* What the program told of a slice, and values that are not what a table of slices has. */
static void test_cells_of_events(void **state)
{
	struct st_result *fake = nasty_create();
	struct st_sql *sql;

	(void)state;
	nasty_events(fake);
	fake->flags[2] |= ST_SLICE_COPY;
	sql = open_sql(fake, NULL);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM slices WHERE itt_id = '1:2:3' AND "
					"parent_id = '1:2:3' AND row = 0"),
			 1);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM slices WHERE itt_id IS NOT NULL"), 1);
	assert_int_equal(number_of(sql, "SELECT row FROM slices WHERE caller IS NOT NULL"), 0);
	assert_int_equal(number_of(sql, "SELECT row FROM slices WHERE copy"), 2);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM slices WHERE python_line = "
					"(SELECT name FROM events WHERE kind = 'task_line')"),
			 1);
	assert_int_equal(number_of(sql, "SELECT json_array_length(value) FROM metadata WHERE type "
					"= 'double'"),
			 2);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM histograms WHERE CAST(x AS REAL) = "
					"0.5 AND CAST(y AS REAL) = -2"),
			 1);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM events"), fake->events.count);
	assert_int_equal(number_of(sql, "SELECT json_extract(lines, '$[1][1]') FROM code"), 3);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM counter_values v JOIN counters c ON "
					"c.counter = v.counter_row AND c.name = v.name"),
			 2);
	st_sql_close(sql);
	fake_destroy(fake);
}

static struct st_result *many_events(void)
{
	struct st_result *fake = random_result(7);

	for (uint32_t track = 0; track < fake->track_count; track++)
		for (uint32_t i = 0; i < 20; i++)
			fake_event(fake, (struct st_event_row){.time_ns = random_below(100),
							       .track = track,
							       .slice = ST_NO_ROW,
							       .object = ST_NO_ROW,
							       .kind = ST_EVENT_MARKER});
	for (uint32_t kind = 1; kind < ST_SPAN_KINDS; kind++)
		for (uint32_t i = 0; i < 20; i++)
			fake_span(fake, (struct st_span){.begin_ns = 10 * i,
							 .end_ns = 10 * i + 5,
							 .kind = kind,
							 .slice = ST_NO_ROW});
	fake_finish(fake);
	return fake;
}

/* The same rows with and without help from the order of the rows ("+column" is without), and fewer read. */
static void test_events_and_spans_are_narrowed(void **state)
{
	static const char *const conditions[][2] = {
		{"FROM events WHERE track = 1", "FROM events WHERE +track = 1"},
		{"FROM events WHERE track = 99", "FROM events WHERE +track = 99"},
		{"FROM events WHERE track = 0 AND start_ns > 50",
		 "FROM events WHERE +track = 0 AND start_ns > 50"},
		{"FROM spans WHERE kind = 'frame'", "FROM spans WHERE +kind = 'frame'"},
		{"FROM spans WHERE kind = 'no such'", "FROM spans WHERE +kind = 'no such'"},
		{"FROM spans WHERE start_ns >= 100 AND kind = 'wait' AND start_ns < 150",
		 "FROM spans WHERE +start_ns >= 100 AND +kind = 'wait' AND +start_ns < 150"},
		{"FROM spans WHERE start_ns = 110", "FROM spans WHERE +start_ns = 110"},
		{"FROM spans WHERE kind = 'hold' AND start_ns > 12.5",
		 "FROM spans WHERE +kind = 'hold' AND +start_ns > 12.5"},
		{"FROM spans WHERE kind IN ('hold', 'mark') AND start_ns <= 20",
		 "FROM spans WHERE +kind IN ('hold', 'mark') AND +start_ns <= 20"},
	};
	struct st_result *fake = many_events();
	struct st_sql *sql = open_sql(fake, NULL);
	uint64_t before;

	(void)state;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		char quick[200], slow[200];

		snprintf(quick, sizeof(quick), "SELECT coalesce(sum(row * row + 1), 0) %s",
			 conditions[i][0]);
		snprintf(slow, sizeof(slow), "SELECT coalesce(sum(row * row + 1), 0) %s",
			 conditions[i][1]);
		assert_int_equal(number_of(sql, quick), number_of(sql, slow));
	}
	before = st_sql_rows_read(sql);
	assert_int_equal(number_of(sql, "SELECT count(*) FROM spans WHERE kind = 'wait' AND "
					"start_ns BETWEEN 100 AND 140"),
			 5);
	assert_int_equal(st_sql_rows_read(sql) - before, 5);
	st_sql_close(sql);
	fake_destroy(fake);
}

static void test_schema(void **state)
{
	struct st_buf text;

	(void)state;
	st_buf_init(&text, 1 << 20);
	assert_true(st_sql_schema(&text));
	assert_true(st_buf_append_u8(&text, '\0'));
	assert_non_null(strstr((char *)text.data, "slices: "));
	assert_non_null(strstr((char *)text.data, "  task_family "));
	st_buf_fini(&text);
	st_buf_init(&text, 100);
	assert_false(st_sql_schema(&text));
	st_buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_down_gives_the_same_rows),
		cmocka_unit_test(test_push_down_reads_less),
		cmocka_unit_test(test_only_reading),
		cmocka_unit_test(test_errors_name_the_place),
		cmocka_unit_test(test_memory_cap),
		cmocka_unit_test(test_stopping),
		cmocka_unit_test(test_columns_and_cells),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_every_table),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_row_tables_follow_their_reports),
		cmocka_unit_test(test_cells_of_events),
		cmocka_unit_test(test_events_and_spans_are_narrowed),
		cmocka_unit_test(test_schema),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
