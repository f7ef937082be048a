/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of an open result have in common: one that is made by hand, and opened.
 */
#ifndef OPEN_FIXTURE_H
#define OPEN_FIXTURE_H

#include "result_maker.h"
#include "store/events.h"

struct fixture {
	struct result_maker m;
	struct st_result *result;
	struct st_error err;
	/* What a test looks at, from fixture_open_whole on. */
	const struct st_events *events;
	const struct st_span *spans;
	const struct st_code *code;
	uint32_t span_count, code_count;
};

/* With what maker_usual defines. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

void fixture_open(struct fixture *f);
/* And nothing of it is damaged. */
void fixture_open_whole(struct fixture *f);

#endif
