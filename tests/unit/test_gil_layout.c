/* SPDX-License-Identifier: Apache-2.0
 *
 * Of which interpreters the lock is looked at, and what is said of the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/inproc/waits/gil_layout.h"
#include "format/shm.h"

static uint32_t version(uint32_t minor)
{
	return 3u << 24 | minor << 16 | 4 << 8 | 0xf0;
}

static void test_known_versions(void **state)
{
	uint32_t notice;

	(void)state;
	for (uint32_t minor = 8; minor <= 13; minor++) {
		const struct st_gil_layout *found = st_gil_layout(version(minor), false, &notice);

		assert_non_null(found);
		assert_int_equal(found->minor, minor);
		assert_int_equal(notice, 0);
		/* In the run time, or by two pointers. */
		assert_true(!found->lock == (found->interpreter && found->pointer));
	}
}

static void test_unknown_versions_are_said(void **state)
{
	static const uint32_t unknown[] = {7, 14, 15};
	uint32_t notice;

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_null(st_gil_layout(version(unknown[i]), false, &notice));
		assert_int_equal(notice, ST_NOTICE_NO_GIL);
	}
}

/* Also where the layout of the same version with the lock is known. */
static void test_no_lock_in_free_threaded_builds(void **state)
{
	uint32_t notice;

	(void)state;
	for (uint32_t minor = 13; minor <= 14; minor++) {
		assert_null(st_gil_layout(version(minor), true, &notice));
		assert_int_equal(notice, ST_NOTICE_FREE_THREADED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_versions),
		cmocka_unit_test(test_unknown_versions_are_said),
		cmocka_unit_test(test_no_lock_in_free_threaded_builds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
