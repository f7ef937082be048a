// SPDX-License-Identifier: Apache-2.0
//
// Opening a sound result with the n-th allocation failing, for every n until all succeed: it opens whole
// or says that memory is out. Never is a part that found no memory called damaged.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "result_maker.h"

static void expect_whole(const struct st_result *result)
{
	const struct st_quality *quality = st_result_quality(result);

	assert_int_equal(st_result_slices(result)->count, 1000);
	assert_int_equal(quality->damaged_chunks, 0);
	assert_int_equal(quality->damaged_bytes, 0);
	assert_int_equal(quality->missing_names, 0);
	assert_int_equal(quality->unfinished, 0);
}

static void test_no_memory_is_no_damage(void **state)
{
	const struct st_result_options options = {.rebuild_index = true};
	char *folder = temporary_folder();
	struct result_maker m;
	long n;

	(void)state;
	maker_init(&m);
	maker_usual(&m);
	maker_calibration(&m, 0, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		st_slice_encoder_begin(&m.slices, 10 * i, 1, 1 + (uint32_t)(i % 3), 0);
		st_slice_encoder_end(&m.slices, 10 * i + 5, 1);
	}
	maker_chunk(&m, 1, 1);
	maker_end(&m);
	maker_write(&m, folder);
	failed = true;
	for (n = 0; failed; n++) {
		struct st_result *result = NULL;
		struct st_error err = {0};
		enum st_status status;

		failed = false;
		fail_after = n;
		status = st_result_open(&result, folder, &options, &err);
		fail_after = -1;
		if (status)
			assert_int_equal(status, ST_ENOMEM);
		else
			expect_whole(result);
		st_result_close(result);
		assert_true(n < 10000);
	}
	assert_true(n > 10);
	maker_fini(&m);
	remove_folder(folder);
	free(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory_is_no_damage)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
