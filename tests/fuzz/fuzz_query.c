// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target on SQL: the input is the text of a statement, asked of a small result. Whatever it is, it
// ends with rows or with a sentence, changes nothing, and stays under the cap.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/fake_result.h"
#include "analyze/tables/report.h"
#include "analyze/sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

enum { MEMORY_MAX_BYTES = 4000000, ASKS_MAX = 100 };

static unsigned int asks;

/* A statement may be long; the fuzzer has others to try. */
static bool is_enough(void *arg)
{
	(void)arg;
	return ++asks > ASKS_MAX;
}

static struct st_result *small_result(void)
{
	struct st_result *fake = fake_create();
	uint32_t process = fake_process(fake, "train.py", 4711);
	uint32_t labels[] = {fake_label(fake, "torch", "step_1"),
			     fake_label_bytes(fake, "", "a\0\xff", 3)};

	for (uint32_t track = 0; track < 2; track++) {
		uint32_t outer;

		fake_track(fake, process, track ? "worker" : "", 4711 + track);
		outer = fake_slice(fake, labels[0], 0, 100, ST_NO_ROW);
		for (uint32_t i = 0; i < 8; i++)
			fake_slice(fake, labels[i % 2], i * 10, i * 10 + 7, outer);
	}
	fake->pauses[0] = (struct st_pause_window){ST_NO_ROW, 110, 120};
	fake->pause_count = 1;
	fake_finish(fake);
	return fake;
}

/* Opened once: a statement that changed something would be seen by all that follow. */
static struct st_sql *small_sql(void)
{
	static const struct st_sql_options options = {.memory_bytes = MEMORY_MAX_BYTES,
						      .stopped = is_enough};
	static struct st_result *fake;
	static struct st_sql *sql;

	if (!sql) {
		fake = small_result();
		if (st_sql_open(&sql, fake, &options, NULL))
			abort();
	}
	return sql;
}

static void ask(const char *text)
{
	struct st_error err = {0};
	struct st_report report = {0};

	asks = 0;
	if (st_sql_ask(small_sql(), text, &report, &err) == ST_OK) {
		for (uint32_t i = 0; i < report.column_count; i++)
			if (!report.columns[i].key || !report.columns[i].title)
				abort();
	} else if (!err.status || !err.text[0] || report.memory) {
		abort(); /* refused without a word */
	}
	st_report_fini(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct st_report report = {0};
	char *text = malloc(size_bytes + 1);

	if (!text)
		return 0;
	if (size_bytes)
		memcpy(text, data, size_bytes);
	text[size_bytes] = '\0';
	ask(text);
	free(text);
	asks = 0;
	if (st_sql_ask(small_sql(), "SELECT 1 FROM sqlite_master", &report, NULL) ||
	    report.row_count)
		abort();
	st_report_fini(&report);
	return 0;
}
