// SPDX-License-Identifier: Apache-2.0
#include "open_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	maker_init(&f->m);
	maker_usual(&f->m);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	st_result_close(f->result);
	maker_fini(&f->m);
	free(f);
	return 0;
}

void fixture_open(struct fixture *f)
{
	maker_end(&f->m);
	assert_int_equal(maker_open(&f->m, &f->result, &f->err), ST_OK);
}

void fixture_open_whole(struct fixture *f)
{
	fixture_open(f);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 0);
	f->events = st_result_events(f->result);
	f->spans = st_result_spans(f->result, &f->span_count);
	f->code = st_result_code(f->result, &f->code_count);
}
