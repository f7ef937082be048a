/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of memory by one call, some of which cannot be read: every other one is there, at its place. By both
 * system calls, because a sandbox may forbid the first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/inproc/python/python_batch.h"

enum { PAGE = 4096, PIECE = 40, PIECES = 9 };

static struct st_python_batch batch;

/* Two pages, of which the second one is gone. */
static uint8_t *half_gone(void)
{
	uint8_t *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	for (uint32_t i = 0; i < PAGE; i++)
		pages[i] = (uint8_t)(i * 7 + 1);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	return pages;
}

static void check(bool by_read)
{
	uint8_t to[PIECES * PIECE], untouched[PIECES * PIECE];
	uint8_t *pages = half_gone();
	const uint8_t *places[PIECES];
	const uint64_t from[PIECES] = {
		(uint64_t)(uintptr_t)pages,
		16, /* nothing is there */
		(uint64_t)(uintptr_t)pages + 100,
		(uint64_t)(uintptr_t)pages + PAGE - 8, /* its end cannot be read */
		(uint64_t)(uintptr_t)pages + 333,
		(uint64_t)(uintptr_t)pages + PAGE,
		~0ull << 12, /* not of a program */
		(uint64_t)(uintptr_t)pages + PAGE - PIECE,
		(uint64_t)(uintptr_t)pages + 5,
	};
	const bool readable[PIECES] = {true, false, true, false, true, false, false, true, true};

	memset(to, 0xee, sizeof(to));
	memset(untouched, 0xee, sizeof(untouched));
	batch = (struct st_python_batch){.pid = (uint32_t)getpid(), .by_read = by_read, .to = to};
	for (uint32_t i = 0; i < PIECES; i++)
		places[i] = st_batch_add(&batch, from[i], PIECE);
	st_batch_read(&batch);
	assert_false(batch.refused);
	assert_int_equal(batch.by_read, by_read);
	for (uint32_t i = 0; i < PIECES; i++) {
		assert_ptr_equal(places[i], to + i * PIECE);
		assert_int_equal(batch.ok[i], readable[i]);
		if (readable[i])
			assert_memory_equal(places[i], (const void *)(uintptr_t)from[i], PIECE);
	}
	assert_memory_equal(places[1], untouched, PIECE);
	assert_memory_equal(places[6], untouched, PIECE);
	assert_int_equal(munmap(pages, 2 * PAGE), 0);
}

static void test_pieces(void **state)
{
	(void)state;
	check(false);
	check(true);
}

/* So many that cannot be read: the rest is given up, and none of it is called read. */
static void test_gives_up(void **state)
{
	uint8_t to[(ST_BATCH_TRIES + 1) * 8], value[8] = {1, 2, 3};

	(void)state;
	batch = (struct st_python_batch){.pid = (uint32_t)getpid(), .to = to};
	for (uint32_t i = 0; i < ST_BATCH_TRIES; i++)
		st_batch_add(&batch, 16, 8);
	st_batch_add(&batch, (uint64_t)(uintptr_t)value, 8);
	st_batch_read(&batch);
	for (uint32_t i = 0; i <= ST_BATCH_TRIES; i++)
		assert_false(batch.ok[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
