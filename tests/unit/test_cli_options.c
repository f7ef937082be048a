/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of the command line: spellings, shortened names, where the program begins, values, and
 * one clear sentence for each way to get it wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/quote.h"
#include "request/command.h"
#include "cli/console.h"
#include "request/options.h"
#include "request/values.h"

/* A command line of its own memory, so that a sanitizer sees reads past any argument. */
struct line {
	int argc;
	char **argv;
	struct st_args args;
	struct st_error err;
};

static void line_init(struct line *line, const char *const *words)
{
	memset(line, 0, sizeof(*line));
	while (words[line->argc])
		line->argc++;
	line->argv = calloc((size_t)line->argc + 1, sizeof(*line->argv));
	assert_non_null(line->argv);
	for (int i = 0; i < line->argc; i++)
		line->argv[i] = strdup(words[i]);
}

static void line_fini(struct line *line)
{
	st_args_fini(&line->args);
	for (int i = 0; i < line->argc; i++)
		free(line->argv[i]);
	free(line->argv);
}

/* Finds the command and parses; 0 when both went well. */
static enum st_status line_parse(struct line *line, unsigned int *command)
{
	enum st_status status = st_args_find_command(line->argc, line->argv, command, &line->err);

	return status ? status
		      : st_args_parse(&line->args, *command, line->argc, line->argv, &line->err);
}

#define WORDS(...)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		"strata", __VA_ARGS__, NULL                                                        \
	}

static void parse_ok(struct line *line, unsigned int expected, const char *const *words)
{
	unsigned int command = 0;

	line_init(line, words);
	if (line_parse(line, &command))
		fail_msg("'%s …' was refused: %s", words[1], line->err.text);
	assert_int_equal(command, expected);
}

static void expect_error(const char *needle, const char *const *words)
{
	struct line line;
	unsigned int command = 0;

	line_init(&line, words);
	assert_int_equal(line_parse(&line, &command), ST_EUSAGE);
	if (!strstr(line.err.text, needle))
		fail_msg("expected '%s' in '%s'", needle, line.err.text);
	assert_null(strchr(line.err.text, '\n'));
	line_fini(&line);
}

static void test_unknown_option_points_to_help(void **state)
{
	(void)state;
	expect_error("(strata help report)", WORDS("report", "summary", "-zzz"));
	expect_error("(strata help)", WORDS("-zzz"));
}

static void test_both_forms(void **state)
{
	(void)state;
	static const char *const forms[][8] = {
		{"strata", "-collect", "tasks", "prog", NULL},
		{"strata", "--collect", "tasks", "prog", NULL},
		{"strata", "-collect=tasks", "prog", NULL},
		{"strata", "--collect=tasks", "--", "prog", NULL},
		{"strata", "-c", "tasks", "prog", NULL},
		{"strata", "-coll", "tasks", "prog", NULL},
		{"strata", "-q", "-r", "x", "-collect", "tasks", "prog", NULL},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct line line;

		parse_ok(&line, ST_IN_COLLECT, forms[i]);
		assert_string_equal(st_args_value(&line.args, ST_OPT_COLLECT), "tasks");
		assert_int_equal(line.args.target_count, 1);
		assert_string_equal(line.args.target[0], "prog");
		assert_null(line.args.target[1]);
		line_fini(&line);
	}
}

static void test_word_form(void **state)
{
	(void)state;
	struct line line;

	parse_ok(&line, ST_IN_COLLECT,
		 WORDS("collect", "-r", "out", "tasks", "-quiet", "prog", "-r", "mine"));
	assert_int_equal(line.args.word_count, 1);
	assert_string_equal(line.args.words[0], "tasks");
	assert_string_equal(st_args_value(&line.args, ST_OPT_RESULT_DIR), "out");
	assert_true(st_args_flag(&line.args, ST_OPT_QUIET, false));
	assert_int_equal(line.args.target_count, 3);
	assert_string_equal(line.args.target[2], "mine");
	line_fini(&line);
}

static void test_target_keeps_its_arguments(void **state)
{
	(void)state;
	struct line line;

	parse_ok(&line, ST_IN_COLLECT,
		 WORDS("-collect", "tasks", "--", "-weird", "--", "-quiet", "-unknown", ""));
	assert_int_equal(line.args.target_count, 5);
	assert_string_equal(line.args.target[0], "-weird");
	assert_string_equal(line.args.target[1], "--");
	assert_string_equal(line.args.target[4], "");
	assert_false(st_args_has(&line.args, ST_OPT_QUIET));
	line_fini(&line);

	parse_ok(&line, ST_IN_COLLECT, WORDS("-collect", "tasks", "-", "x"));
	assert_string_equal(line.args.target[0], "-");
	line_fini(&line);

	parse_ok(&line, ST_IN_COLLECT, WORDS("-collect", "tasks", "--"));
	assert_null(line.args.target);
	line_fini(&line);
}

static void test_shortened_names(void **state)
{
	(void)state;
	static const char *const spellings[] = {"-result-dir", "--result-dir", "-res-dir", "-r-d",
						"-re-d",       "-result",      "-r"};

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		struct line line;

		parse_ok(&line, ST_IN_COLLECT,
			 WORDS("-collect", "tasks", spellings[i], "out", "prog"));
		assert_string_equal(st_args_value(&line.args, ST_OPT_RESULT_DIR), "out");
		line_fini(&line);
	}
	expect_error("is ambiguous", WORDS("collect", "tasks", "-re", "x", "prog"));
	expect_error("unknown option '-result-dir-x'",
		     WORDS("collect", "tasks", "-result-dir-x", "y", "p"));
	expect_error("unknown option '-r--d'", WORDS("collect", "tasks", "-r--d", "y", "p"));
	expect_error("unknown option '-result-'", WORDS("collect", "tasks", "-result-", "y", "p"));
	expect_error("unknown option '-Quiet'", WORDS("collect", "tasks", "-Quiet", "p"));
}

static void test_flags(void **state)
{
	(void)state;
	struct line line;

	parse_ok(&line, ST_IN_COLLECT,
		 WORDS("collect", "tasks", "-no-summary", "-follow-child", "p"));
	assert_false(st_args_flag(&line.args, ST_OPT_SUMMARY, true));
	assert_true(st_args_flag(&line.args, ST_OPT_FOLLOW_CHILD, false));
	line_fini(&line);
	parse_ok(&line, ST_IN_COLLECT,
		 WORDS("collect", "tasks", "-no-sum", "-summary", "-quiet=false", "p"));
	assert_true(st_args_flag(&line.args, ST_OPT_SUMMARY, false));
	assert_false(st_args_flag(&line.args, ST_OPT_QUIET, true));
	line_fini(&line);
	expect_error("takes no value, true or false",
		     WORDS("collect", "tasks", "-quiet=maybe", "p"));
	expect_error("unknown option '-no-quiet'", WORDS("collect", "tasks", "-no-quiet", "p"));
}

static void test_values(void **state)
{
	(void)state;
	struct line line;

	parse_ok(&line, ST_IN_REPORT,
		 WORDS("report", "tasks", "-filter", "a=b=c", "-filter=x!=y", "-limit=-3"));
	assert_string_equal(st_args_value(&line.args, ST_OPT_FILTER), "x!=y");
	assert_string_equal(st_args_value(&line.args, ST_OPT_LIMIT), "-3");
	line_fini(&line);
	parse_ok(&line, ST_IN_EXPORT, WORDS("-export", "chrome", "-o", "-"));
	assert_string_equal(st_args_value(&line.args, ST_OPT_OUTPUT), "-");
	line_fini(&line);
	parse_ok(&line, ST_IN_QUERY, WORDS("-query", "SELECT 1", "-memory-limit=5", "r000ta"));
	assert_string_equal(st_args_value(&line.args, ST_OPT_QUERY), "SELECT 1");
	assert_string_equal(st_args_value(&line.args, ST_OPT_MEMORY_LIMIT), "5");
	assert_string_equal(line.args.words[0], "r000ta");
	line_fini(&line);
	parse_ok(&line, ST_IN_QUERY, WORDS("query", "--schema"));
	assert_true(st_args_flag(&line.args, ST_OPT_SCHEMA, false));
	line_fini(&line);
	parse_ok(&line, ST_IN_COLLECT, WORDS("collect", "tasks", "-duration", "-5", "p"));
	assert_string_equal(st_args_value(&line.args, ST_OPT_DURATION), "-5");
	line_fini(&line);

	expect_error("-duration requires a value", WORDS("collect", "tasks", "-duration"));
	expect_error("-duration requires a value", WORDS("collect", "tasks", "-duration="));
	expect_error("-duration requires a value", WORDS("collect", "tasks", "-d", "-quiet", "p"));
	expect_error("-duration requires a value", WORDS("collect", "tasks", "-d", "--", "p"));
	expect_error("-result-dir given twice",
		     WORDS("collect", "tasks", "-r", "a", "-result-dir=b", "p"));
	expect_error("-collect requires a value", WORDS("-collect"));
}

static void test_errors_offer_near_names(void **state)
{
	(void)state;
	expect_error("'duration'", WORDS("collect", "tasks", "-durration", "5", "p"));
	expect_error("'collect'", WORDS("colect", "tasks", "p"));
	expect_error("'report'", WORDS("reprot"));
	expect_error("'-group-by' is an option of 'report', not of 'collect'",
		     WORDS("collect", "tasks", "-group-by", "x", "p"));
	expect_error("not available in this version", WORDS("collect", "tasks", "-cpu-mask", "1"));
	expect_error("not available in this version", WORDS("archive"));
	expect_error("two commands given", WORDS("-collect", "tasks", "-report", "summary"));
	expect_error("no command given", WORDS("-quiet"));
	expect_error("no command given", (const char *const[]){"strata", NULL});
	expect_error("no command given", (const char *const[]){NULL});
}

static void test_nasty_input(void **state)
{
	(void)state;
	char *huge = malloc(70000);

	assert_non_null(huge);
	memset(huge, 'a', 69999);
	huge[69999] = '\0';
	huge[0] = '-';
	expect_error("unknown option", WORDS("collect", "tasks", huge, "p"));
	expect_error("unknown command", WORDS(huge + 1));
	expect_error("unknown option", WORDS("-=", "x"));
	expect_error("unknown option", WORDS("collect", "tasks", "--=x", "p"));
	expect_error("unknown option", WORDS("collect", "tasks", "---", "p"));
	expect_error("unknown option", WORDS("collect", "tasks", "-5", "p"));
	expect_error("unknown option", WORDS("collect", "tasks", "-\xff\xfe", "p"));
	expect_error("unknown command", WORDS(""));
	expect_error("unknown option", WORDS("collect", "tasks", "-%s%n%n", "p"));
	free(huge);
}

static void test_help_anywhere(void **state)
{
	(void)state;
	struct line line;

	parse_ok(&line, ST_IN_HELP, WORDS("-help", "collect"));
	assert_string_equal(line.args.words[0], "collect");
	line_fini(&line);
	parse_ok(&line, ST_IN_COLLECT, WORDS("collect", "-h"));
	assert_true(st_args_has(&line.args, ST_OPT_HELP));
	line_fini(&line);
	parse_ok(&line, ST_IN_VERSION, WORDS("-V"));
	line_fini(&line);
}

static void test_seconds(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double seconds;
	} good[] = {{"10", 10},	    {"1.5", 1.5},  {".25", 0.25}, {"0", 0},
		    {"500ms", 0.5}, {"2min", 120}, {"3s", 3}};
	static const char *const bad[] = {"",	  "-5",	  "+5",	 " 5",	"5 ",	"abc",
					  "5x",	  "0x10", "inf", "nan", "1e99", "5,5",
					  "1..2", "ms",	  ".",	 "1e",	"--5",	"5s5"};
	struct st_error err;
	double seconds;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(st_value_seconds("duration", good[i].text, &seconds, &err), ST_OK);
		assert_true(seconds > good[i].seconds - 1e-9 && seconds < good[i].seconds + 1e-9);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (st_value_seconds("duration", bad[i], &seconds, &err) != ST_EUSAGE)
			fail_msg("'%s' was taken for a time", bad[i]);
		assert_non_null(strstr(err.text, "-duration: invalid time '"));
		assert_non_null(strstr(err.text, "expected seconds"));
	}
}

static void test_sizes_counts_ranges(void **state)
{
	(void)state;
	struct st_error err;
	uint64_t number;
	int64_t begin;
	int64_t end;

	assert_int_equal(st_value_megabytes("data-limit", "5000", &number, &err), ST_OK);
	assert_int_equal(number, 5000000000u);
	assert_int_equal(st_value_megabytes("data-limit", "0.5", &number, &err), ST_OK);
	assert_int_equal(number, 500000);
	assert_int_equal(st_value_megabytes("data-limit", "2GB", &number, &err), ST_OK);
	assert_int_equal(number, 2000000000u);
	assert_int_equal(st_value_megabytes("data-limit", "0.0000001", &number, &err), ST_OK);
	assert_int_equal(number, 1);
	assert_int_equal(st_value_megabytes("data-limit", "-1", &number, &err), ST_EUSAGE);
	assert_non_null(strstr(err.text, "megabytes"));
	assert_int_equal(st_value_megabytes("data-limit", "99999999999999999999", &number, &err),
			 ST_EUSAGE);

	assert_int_equal(
		st_value_count("limit", "18446744073709551615", 1, UINT64_MAX, &number, &err),
		ST_OK);
	assert_int_equal(
		st_value_count("limit", "18446744073709551616", 1, UINT64_MAX, &number, &err),
		ST_EUSAGE);
	assert_int_equal(st_value_count("limit", "0", 1, UINT64_MAX, &number, &err), ST_EUSAGE);
	assert_int_equal(st_value_count("limit", "-1", 0, 9, &number, &err), ST_EUSAGE);
	assert_int_equal(st_value_count("limit", "", 0, 9, &number, &err), ST_EUSAGE);
	assert_int_equal(st_value_count("limit", "7.5", 0, 9, &number, &err), ST_EUSAGE);

	assert_int_equal(st_value_time_range("time-filter", "2.5:5", &begin, &end, &err), ST_OK);
	assert_int_equal(begin, 2500000000);
	assert_int_equal(end, 5000000000);
	assert_int_equal(st_value_time_range("time-filter", ":1", &begin, &end, &err), ST_OK);
	assert_int_equal(begin, 0);
	assert_int_equal(st_value_time_range("time-filter", "1:", &begin, &end, &err), ST_OK);
	assert_int_equal(st_value_time_range("time-filter", "5:2", &begin, &end, &err), ST_EUSAGE);
	assert_int_equal(st_value_time_range("time-filter", "5", &begin, &end, &err), ST_EUSAGE);
	assert_int_equal(st_value_time_range("time-filter", "1:2:3", &begin, &end, &err),
			 ST_EUSAGE);
	assert_int_equal(st_value_time_range("time-filter", "-1:2", &begin, &end, &err), ST_EUSAGE);
}

static void test_quoting(void **state)
{
	(void)state;
	char *const argv[] = {"plain", "two words", "it's", "", "$x", "a=b/c.py"};
	struct st_buf out;

	st_buf_init(&out, 4096);
	st_quote_command(&out, 6, argv);
	st_buf_append_u8(&out, '\0');
	assert_string_equal((const char *)out.data,
			    "plain 'two words' 'it'\\''s' '' '$x' a=b/c.py");
	st_buf_fini(&out);
}

/* Every row of the table can be reached by its full name, and no letter is taken twice. */
static void test_table_is_sound(void **state)
{
	(void)state;
	for (enum st_option_id a = 0; a < ST_OPTIONS; a++) {
		const struct st_option *option = st_option_at(a);

		assert_non_null(option->name);
		assert_non_null(option->help);
		assert_true(option->commands != 0);
		for (enum st_option_id b = 0; b < a; b++) {
			assert_string_not_equal(option->name, st_option_at(b)->name);
			assert_true(!option->letter || option->letter != st_option_at(b)->letter);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_option_points_to_help),
		cmocka_unit_test(test_both_forms),
		cmocka_unit_test(test_word_form),
		cmocka_unit_test(test_target_keeps_its_arguments),
		cmocka_unit_test(test_shortened_names),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_errors_offer_near_names),
		cmocka_unit_test(test_nasty_input),
		cmocka_unit_test(test_help_anywhere),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_sizes_counts_ranges),
		cmocka_unit_test(test_quoting),
		cmocka_unit_test(test_table_is_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
