/* SPDX-License-Identifier: Apache-2.0
 *
 * Knobs: what each value means, what is refused and how, and the text in which they travel to the
 * collector.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "cli/knobs.h"
#include "request/options.h"
#include "collect/launch/run/collect.h"
#include "collect/launch/run/sampling.h"
#include "collect/launch/run/target_config.h"
#include "format/analysis.h"

enum { KNOBS_MAX = 8 };

static struct st_collect_config config;
static struct st_error err;
static const char *type = "tasks"; /* that is asked for */

/* Reads the knobs of a list that ends with NULL. */
static enum st_status read_knobs(const char *const *values)
{
	struct st_given given[KNOBS_MAX];
	struct st_args args = {.given = given};

	memset(&config, 0, sizeof(config));
	memset(&err, 0, sizeof(err));
	config.analysis = st_analysis_find(type);
	for (; *values; values++)
		given[args.given_count++] = (struct st_given){ST_OPT_KNOB, *values, true};
	return st_knobs_read(&args, &config, &err);
}

#define KNOBS(...)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static void refuse(const char *needle, const char *const *values)
{
	assert_int_equal(read_knobs(values), ST_EUSAGE);
	if (!strstr(err.text, needle))
		fail_msg("'%s' does not say '%s'", err.text, needle);
}

static void expect_text(const char *expected, bool paused, uint64_t resume_at_ns)
{
	struct st_target_config target = {
		.config = &config, .clock = "tsc", .paused = paused, .resume_at_ns = resume_at_ns};
	struct st_buf text;

	st_buf_init(&text, 1 << 16);
	st_target_config_text(&text, &target);
	assert_false(text.failed);
	assert_string_equal((const char *)text.data, expected);
	st_buf_fini(&text);
}

/* Of operators, whatever is collected; and of devices, where they are not left out. */
#define OPERATORS_UNASKED ";operators=2;operator_memory=0;operator_modules=2"
#define UNASKED OPERATORS_UNASKED ";device=1"

static void test_nothing_given(void **state)
{
	(void)state;
	memset(&config, 0, sizeof(config));
	config.analysis = st_analysis_find(type);
	expect_text("clock=tsc;slots=64;paused=0" UNASKED, false, 0);
	/* Not paused: nothing to end. */
	expect_text("clock=tsc;slots=64;paused=0" UNASKED, false, 77);
	expect_text("clock=tsc;slots=64;paused=1;resume_at=77" UNASKED, true, 77);
}

static void test_all_knobs(void **state)
{
	(void)state;
	assert_int_equal(read_knobs(KNOBS("ring-size=256", "itt-groups=structure,counter",
					  "itt-domains=torch,dnnl*,!a b;c=%,\xc3\xa9",
					  "task-lines=true", "offer-itt=false")),
			 ST_OK);
	assert_int_equal(config.ring_kib, 256);
	assert_int_equal(config.itt_groups, 0x1100);
	expect_text("clock=tsc;slots=64;paused=0;ring=256;groups=1100;"
		    "domains=torch,dnnl*,!a%20b%3Bc%3D%25,%C3%A9;task_lines=1;offer_itt=0" UNASKED,
		    false, 0);
}

static void test_groups(void **state)
{
	static const struct {
		const char *value;
		uint32_t bits;
	} cases[] = {
		{"itt-groups=all", 0xffffffff},
		{"itt-groups=none", 0},
		{"itt-groups=none,sync,fsync", 0x30},
		{"itt-groups=!sync,!heap", 0xfffff7ef},
		{"itt-groups=control,thread,mark,jit,model", 0x2 | 0x4 | 0x8 | 0x40 | 0x80},
		{"itt-groups=frame,stitch,heap,suppress,arrays,module",
		 0x200 | 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000},
		{"itt-groups=all,!structure", 0xffffefff},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_knobs(KNOBS(cases[i].value)), ST_OK);
		assert_true(config.has_itt_groups);
		assert_int_equal(config.itt_groups, cases[i].bits);
	}
}

static void test_refused(void **state)
{
	(void)state;
	refuse("'task-lines'", KNOBS("task-line=true"));
	refuse("expected one of 'ring-size', 'itt-domains'", KNOBS("zzzzzzzz=1"));
	refuse("requires 'hotspots'", KNOBS("sampling-mode=sw"));
	refuse("expected true or false", KNOBS("task-lines=yes"));
	refuse("given twice", KNOBS("task-lines=true", "task-lines=true"));
	refuse("'structure'", KNOBS("itt-groups=structures"));
	refuse("expected structure, counter", KNOBS("itt-groups=xyzzy"));
	refuse("empty name or one that is too long", KNOBS("itt-groups=sync,"));
	refuse("empty name or one that is too long", KNOBS("itt-groups=!"));
	refuse("empty name", KNOBS("itt-domains=a,,b"));
	refuse("empty name", KNOBS("itt-domains=!"));
	refuse("not a power of two", KNOBS("ring-size=65"));
	refuse("knob", KNOBS("ring-size"));
}

static void expect_plan(uint64_t asked_ns, uint64_t period_ns, bool has_cycles, const char *note)
{
	struct st_sampling_plan plan;
	uint64_t interval;

	assert_int_equal(st_sampling_interval(&config.sampling, &interval, &err), ST_OK);
	st_sampling_plan(&plan, &config.sampling, has_cycles);
	assert_int_equal(plan.asked_ns, asked_ns);
	assert_int_equal(plan.period_ns, period_ns);
	assert_int_equal(plan.trigger, has_cycles && config.sampling.hardware
					       ? ST_TRIGGER_CYCLES
					       : ST_TRIGGER_CPU_CLOCK);
	assert_int_equal(note == NULL, plan.note[0] == 0);
	if (note)
		assert_non_null(strstr(plan.note, note));
}

static void refuse_interval(const char *needle, const char *const *values)
{
	uint64_t interval;

	assert_int_equal(read_knobs(values), ST_OK);
	assert_int_equal(st_sampling_interval(&config.sampling, &interval, &err), ST_EUSAGE);
	assert_non_null(strstr(err.text, needle));
}

static void test_sampling(void **state)
{
	struct st_sampling_plan plan;
	struct st_target_config target = {.config = &config, .clock = "tsc", .sampling = &plan};
	struct st_buf text;

	(void)state;
	type = "hotspots";
	assert_int_equal(read_knobs(KNOBS("task-lines=false")), ST_OK);
	expect_plan(10000000, 10000000, true, NULL);
	config.sampling.interval_scale = 100;
	expect_plan(1000000000, 1000000000, true, NULL);
	assert_int_equal(read_knobs(KNOBS("sampling-interval=0.1", "sampling-mode=hw")), ST_OK);
	expect_plan(100000, 100000, true, NULL);
	expect_plan(100000, 1000000, false, "every 1 ms instead of 0.1 ms");
	assert_int_equal(read_knobs(KNOBS("sampling-mode=hw")), ST_OK);
	expect_plan(1000000, 1000000, false, "no hardware cycles");
	refuse_interval("between 0.1 and 1000 ms", KNOBS("sampling-interval=0.09"));
	refuse_interval("between 0.1 and 1000 ms", KNOBS("sampling-interval=0"));
	refuse_interval("between 0.01 and 1000 ms",
			KNOBS("sampling-mode=hw", "sampling-interval=1001"));
	refuse("expected sw or hw", KNOBS("sampling-mode=tw"));
	refuse("invalid time", KNOBS("sampling-interval=1h"));
	refuse("from 1 to 4095", KNOBS("stack-depth=0"));
	assert_int_equal(
		read_knobs(KNOBS("sampling-interval=0.5", "enable-stack-collection=false",
				 "stack-depth=100", "stack-size=0", "sample-processes=py*,!a;b",
				 "enable-characterization-insights=true")),
		ST_OK);
	st_sampling_plan(&plan, &config.sampling, false);
	st_buf_init(&text, 1 << 16);
	st_target_config_text(&text, &target);
	assert_string_equal(
		(const char *)text.data,
		"clock=tsc;slots=64;paused=0" OPERATORS_UNASKED ";operator_turns=1,1000000"
		";sample_ns=500000;sample_trigger=cpu_clock;"
		"sample_stacks=0;sample_defer=1;sample_depth=100;sample_processes=py*,!a%3Bb");
	st_buf_fini(&text);
	type = "tasks";
}

static void test_operators(void **state)
{
	(void)state;
	/* Of their own type everything is on; of others what costs little. */
	assert_int_equal(read_knobs(KNOBS("task-lines=false")), ST_OK);
	expect_text("clock=tsc;slots=64;paused=0;task_lines=0;operators=2;operator_memory=0;"
		    "operator_modules=2;device=1",
		    false, 0);
	config.analysis = st_analysis_find("operators");
	expect_text("clock=tsc;slots=64;paused=0;task_lines=0;operators=2;operator_memory=1;"
		    "operator_modules=1;device=1",
		    false, 0);
	assert_int_equal(read_knobs(KNOBS("collect-operators=auto")), ST_OK);
	expect_text("clock=tsc;slots=64;paused=0;operators=2;operator_memory=0;operator_modules=2;"
		    "device=1",
		    false, 0);
	assert_int_equal(read_knobs(KNOBS("operator-shapes=false", "collect-operators=true",
					  "operator-memory=true", "operator-modules=true")),
			 ST_OK);
	expect_text("clock=tsc;slots=64;paused=0;operators=1;operator_memory=1;operator_modules=1;"
		    "device=1",
		    false, 0);
	assert_int_equal(read_knobs(KNOBS("operator-memory=false", "operator-modules=false")),
			 ST_OK);
	config.analysis = st_analysis_find("operators");
	expect_text("clock=tsc;slots=64;paused=0;operators=2;operator_memory=0;operator_modules=0;"
		    "device=1",
		    false, 0);
	refuse("true, false or auto", KNOBS("collect-operators=yes"));
	assert_int_equal(read_knobs(KNOBS("collect-operators=false")), ST_OK);
	expect_text("clock=tsc;slots=64;paused=0;device=1", false, 0);
	refuse("operator-memory has no effect with -knob collect-operators=false",
	       KNOBS("collect-operators=false", "operator-memory=true"));
	assert_int_equal(read_knobs(KNOBS("operator-memory=true")), ST_OK);
	expect_text("clock=tsc;slots=64;paused=0;operators=2;operator_memory=1;operator_modules=2;"
		    "device=1",
		    false, 0);
	type = "operators";
	refuse("leaves 'operators' nothing to record", KNOBS("collect-operators=false"));
	type = "tasks";
}

static void test_long_domains(void **state)
{
	char value[5000] = "itt-domains=";

	(void)state;
	memset(value + strlen(value), 'x', 4096);
	assert_int_equal(read_knobs(KNOBS(value)), ST_OK);
	value[strlen(value)] = 'x';
	refuse("longer than 4096", KNOBS(value));
}

static void test_table_is_sound(void **state)
{
	(void)state;
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		assert_non_null(knob->argument);
		assert_non_null(knob->default_text);
		assert_non_null(knob->help);
		assert_true(knob - st_knobs < 32); /* a bit each */
	}
	for (const struct st_analysis *analysis = st_analyses; analysis->name; analysis++) {
		assert_ptr_equal(st_analysis_find(analysis->name), analysis);
		assert_true(analysis->refusal || (analysis->suffix && analysis->needs[0]));
		assert_int_equal(analysis->purpose & ~analysis->records, 0);
	}
	assert_null(st_analysis_find("nothing"));
	assert_true(st_analysis_is_for("hotspots", ST_RECORDS_SAMPLES));
	assert_false(st_analysis_is_for("tasks", ST_RECORDS_SAMPLES));
	assert_false(st_analysis_is_for("nothing", ST_RECORDS_SAMPLES));
}

static void expect_device(const char *knob, const char *analysis, const char *ending)
{
	struct st_target_config target = {.config = &config, .clock = "tsc"};
	struct st_buf text;
	size_t length;

	assert_int_equal(read_knobs(KNOBS(knob, "collect-operators=false")), ST_OK);
	config.analysis = st_analysis_find(analysis);
	target.cuda_chained = "/a b;c";
	st_buf_init(&text, 1 << 16);
	st_target_config_text(&text, &target);
	assert_false(text.failed);
	length = strlen((const char *)text.data);
	assert_true(length >= strlen(ending));
	assert_string_equal((const char *)text.data + length - strlen(ending), ending);
	st_buf_fini(&text);
}

/* What somebody else has CUDA load goes along, where devices are recorded. */
static void test_devices(void **state)
{
	(void)state;
	expect_device("device=auto", "tasks", ";device=1;device_chained=%2Fa%20b%3Bc");
	expect_device("device=auto", "hotspots", "paused=0");
	expect_device("device=light", "hotspots", ";device=4;device_chained=%2Fa%20b%3Bc");
	expect_device("device=light", "threading",
		      ";device=4;device_chained=%2Fa%20b%3Bc;waits=1000000;wait_stack=100");
	expect_device("device=off", "hotspots", "paused=0");
	expect_device("device=memory", "tasks", ";device=5;device_chained=%2Fa%20b%3Bc");
	expect_device("device=on", "hotspots", ";device=1;device_chained=%2Fa%20b%3Bc");
	expect_device("device=off", "operators", "paused=0");
	expect_device("device=api", "tasks", ";device=2;device_chained=%2Fa%20b%3Bc");
	expect_device("device=graph", "tasks", ";device=3;device_chained=%2Fa%20b%3Bc");
	refuse("expected auto, on, off, light, api, memory or graph", KNOBS("device=yes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_given),  cmocka_unit_test(test_all_knobs),
		cmocka_unit_test(test_groups),	       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_operators),      cmocka_unit_test(test_long_domains),
		cmocka_unit_test(test_table_is_sound), cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
