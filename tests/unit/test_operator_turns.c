// SPDX-License-Identifier: Apache-2.0
//
// Operators that were recorded in turns: what those that were not recorded are estimated at, against programs laid out by
// hand whose operators are all known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/datasets/operator_turns.h"
#include "analyze/tables/report.h"
#include "base/buf.h"
#include "fake_result.h"
#include "format/event_kind.h"
#include "format/operator.h"

enum { MS = 1000000, US = 1000, BURST = ST_TURN_WITH | ST_TURN_COMPARED };

static struct st_result *fake;
static struct st_report report;
static bool has_report;

static int setup(void **state)
{
	(void)state;
	fake = fake_create();
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	has_report = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (has_report)
		st_report_fini(&report);
	fake_destroy(fake);
	return 0;
}

/* What begins at a time, and how often the framework had allocated by then. */
static void turn(int64_t at_ns, uint32_t detail, uint64_t progress)
{
	fake_event(fake, (struct st_event_row){.time_ns = at_ns,
					       .kind = ST_EVENT_OPERATOR_TURN,
					       .detail = detail,
					       .value = progress});
}

static uint32_t put(const char *domain, const char *name, int64_t begin_ns, int64_t end_ns)
{
	uint32_t label = ST_NO_ROW;

	for (uint32_t i = 0; i < fake->label_count; i++)
		if (strcmp(fake->texts[fake->labels[i].name].bytes, name) == 0)
			label = i;
	if (label == ST_NO_ROW)
		label = fake_label(fake, domain, name);
	return fake_slice(fake, label, begin_ns, end_ns, ST_NO_ROW);
}

static void operator(const char *name, int64_t begin_ns, int64_t took_ns)
{
	put(ST_OPERATOR_DOMAIN, name, begin_ns, begin_ns + took_ns);
}

static uint64_t figure(const char *name, const char *key)
{
	struct st_error err = {0};
	uint32_t at = UINT32_MAX;

	if (!has_report) {
		fake->processes[0].last_ns = fake->event_rows[fake->events.count - 1].time_ns;
		fake_finish(fake);
		if (st_report_build(fake, "tasks", &(struct st_report_options){0}, &report, &err))
			fail_msg("%s", err.text);
		has_report = true;
	}
	for (uint32_t i = 0; i < report.column_count; i++)
		if (strcmp(report.columns[i].key, key) == 0)
			at = i;
	assert_int_not_equal(at, UINT32_MAX);
	for (uint32_t i = 0; i < report.row_count; i++) {
		struct st_cell text = report.rows[i].cells[0];

		if (text.as.text.size_bytes == strlen(name) &&
		    memcmp(text.as.text.bytes, name, strlen(name)) == 0)
			return report.rows[i].cells[at].as.u64;
	}
	fail_msg("no row %s", name);
	return 0;
}

/* Two bursts that stand for different numbers of operators, which took different times in them. */
static void test_an_average_is_the_total_by_the_count(void **state)
{
	uint64_t count, total_ns, average_ns;

	(void)state;
	turn(0, ST_TURN_WITH | ST_TURN_WHOLE, 0);
	operator("aten::mm", 50 * MS, 20 * MS);
	turn(100 * MS, ST_TURN_WITHOUT, 1000);
	turn(200 * MS, BURST, 2000);
	operator("aten::mm", 250 * MS, 1 * MS);
	turn(300 * MS, ST_TURN_WITHOUT, 3000);
	turn(1300 * MS, BURST, 13000);
	operator("aten::mm", 1350 * MS, 3 * MS);
	turn(1400 * MS, ST_TURN_WITHOUT, 14000);
	turn(1500 * MS, ST_TURN_WITHOUT, 15000);
	count = figure("aten::mm", "count");
	total_ns = figure("aten::mm", "wall_total_ns");
	average_ns = figure("aten::mm", "wall_avg_ns");
	assert_int_equal(count, 15);
	assert_int_equal(average_ns, (total_ns + count / 2) / count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_average_is_the_total_by_the_count, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
