/* SPDX-License-Identifier: Apache-2.0
 *
 * Unwind tables for a process: this test maps itself, asks the helper thread and reads what is published.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/launch/drain/drain_maps.h"
#include "collect/launch/drain/tables.h"
#include "drain_fixture.h"
#include "format/event_kind.h"
#include "format/ring_record.h"
#include "unwind/cache.h"
#include "unwind/rt/table.h"

static const struct st_shm_unwind *area(const struct fixture *f)
{
	return (const struct st_shm_unwind *)(f->segment.map + ST_SHM_HEADER_BYTES +
					      ST_SHM_DEFINITIONS_BYTES);
}

/* The last entry that holds the address, as the walker in the target would find it. */
static const struct st_shm_module *find(const struct fixture *f, uint64_t address)
{
	const struct st_shm_module *found = NULL;

	for (uint32_t i = 0; i < area(f)->count; i++) {
		const struct st_shm_module *module = &area(f)->modules[i];

		if (address >= module->start && address < module->end &&
		    module->state != ST_MODULE_GONE)
			found = module;
	}
	return found;
}

static void take_answers(struct fixture *f)
{
	const struct timespec rest = {.tv_nsec = 1000000};
	struct st_table_answer answer;

	for (int i = 0; st_tables_waiting(f->shared.tables) && i < 20000; i++) {
		while (st_tables_next(f->shared.tables, &answer))
			st_drain_table_answer(f->drain, &answer);
		nanosleep(&rest, NULL);
	}
	assert_int_equal(st_tables_waiting(f->shared.tables), 0);
}

static int setup(void **state)
{
	char folder[] = "/tmp/strata-test-XXXXXX";
	struct st_error err = {0};
	struct fixture *f;

	assert_non_null(mkdtemp(folder));
	setenv("STRATA_CACHE_DIR", folder, 1);
	drain_setup(state);
	f = *state;
	assert_int_equal(st_tables_create(&f->shared.tables, &err), ST_OK);
	f->shared.vdso_bytes = st_code_maps_own_vdso();
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct st_unwind_tables *tables = f->shared.tables;

	drain_teardown(state);
	st_tables_destroy(tables);
	return 0;
}

static void test_tables_are_published(void **state)
{
	struct fixture *f = *state;
	const struct st_shm_module *module;
	const struct st_unwind_table *table;
	uint32_t before;

	st_drain_ask_for_maps(f->drain);
	st_drain_cycle(f->drain, 1, NULL);
	assert_true(st_drain_wants_maps(f->drain));
	st_drain_read_maps(f->drain, getpid());
	module = find(f, (uint64_t)(uintptr_t)test_tables_are_published);
	assert_non_null(module);
	assert_int_equal(module->state, ST_MODULE_PENDING);
	take_answers(f);
	module = find(f, (uint64_t)(uintptr_t)test_tables_are_published);
	assert_int_equal(module->state, ST_MODULE_READY);
	table = st_unwind_map(area(f)->paths + module->path);
	assert_non_null(table);
	st_unwind_unmap(table);
	module = find(f, (uint64_t)(uintptr_t)malloc);
	assert_int_equal(module->state, ST_MODULE_READY);
	assert_true(st_drain_counts(f->drain)->tables_built > 1);
	assert_true(st_drain_counts(f->drain)->build_ns > 0);
	/* The kernel tells of a mapping over ours: it is gone, and the same file is known at once. */
	before = area(f)->count;
	st_drain_mapped(f->drain, getpid(),
			&(struct st_new_mapping){.start = module->start,
						 .end = module->start + 4096,
						 .mono_raw_ns = UINT64_MAX,
						 .path = "//anon"});
	assert_null(find(f, (uint64_t)(uintptr_t)malloc));
	assert_int_equal(area(f)->count, before);
}

enum { JIT_PAGES = 8, PAGE = 4096, JIT_LOAD = 13 };

static const uint64_t round_ns = 20000000; /* long enough for a batch of code */

/* push rbp; sub rsp, 64; nop; add rsp, 64; pop rbp; ret */
static const uint8_t kernel[] = {0x55, 0x48, 0x83, 0xec, 0x40, 0x90,
				 0x48, 0x83, 0xc4, 0x40, 0x5d, 0xc3};

static void tell_code(struct fixture *f, const uint8_t *code, uint64_t size_bytes)
{
	const uint64_t words[] = {st_word_ext(ST_EXT_EVENT, 7, 1),
				  st_word_event(ST_EVENT_JIT,
						ST_FIELD_ID | ST_FIELD_VALUE | ST_FIELD_EXTRA,
						JIT_LOAD),
				  5,
				  0,
				  0,
				  (uint64_t)(uintptr_t)code,
				  size_bytes};

	fake_segment_push(&f->segment, 0, words, 7);
}

static void make_code_tables(struct fixture *f, uint64_t *now_ns)
{
	st_drain_cycle(f->drain, *now_ns, NULL);
	*now_ns += round_ns;
	st_drain_cycle(f->drain, *now_ns, NULL);
	if (st_drain_wants_code(f->drain))
		st_drain_read_code(f->drain, getpid());
	take_answers(f);
}

/* The rule for an address, as the walker in the target would find it. */
static bool rule_at(const struct fixture *f, const uint8_t *address, struct st_unwind_rule *out)
{
	const struct st_shm_module *module = find(f, (uint64_t)(uintptr_t)address);
	const struct st_unwind_table *table =
		module ? st_unwind_map(area(f)->paths + module->path) : NULL;
	const struct st_unwind_rule *rule =
		table ? st_unwind_table_rule(table, (uint64_t)(uintptr_t)address - module->bias)
		      : NULL;

	if (rule)
		*out = *rule;
	st_unwind_unmap(table);
	return rule;
}

static void map_this_program(struct fixture *f, uint64_t start)
{
	char path[512] = "";
	struct stat about;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(stat(path, &about), 0);
	st_drain_mapped(f->drain, getpid(),
			&(struct st_new_mapping){.start = start,
						 .end = start + PAGE,
						 .mono_raw_ns = UINT64_MAX,
						 .inode = about.st_ino,
						 .path = path});
}

static void test_jit_code(void **state)
{
	struct fixture *f = *state;
	uint8_t *code = mmap(NULL, JIT_PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct st_unwind_rule rule;
	uint64_t now_ns = 1;
	uint32_t before;

	assert_true(code != MAP_FAILED);
	for (int i = 0; i < JIT_PAGES; i++)
		memcpy(code + i * PAGE, kernel, sizeof(kernel));
	st_drain_ask_for_maps(f->drain);
	st_drain_cycle(f->drain, now_ns, NULL);
	st_drain_read_maps(f->drain, getpid());
	take_answers(f);
	fake_segment_own(&f->segment, 0, 77, f->start);
	before = area(f)->count;
	tell_code(f, code, sizeof(kernel));
	tell_code(f, code + 2 * PAGE, sizeof(kernel));
	make_code_tables(f, &now_ns);
	/* Both in one table, and nothing is said of what lies between. */
	assert_int_equal(area(f)->count, before + 1);
	assert_true(rule_at(f, code + 5, &rule));
	assert_int_equal(rule.cfa, ST_CFA_REGISTER);
	assert_int_equal(rule.cfa_register, ST_REGISTER_SP);
	assert_int_equal(rule.cfa_offset, 64 + 16);
	assert_true(rule_at(f, code + 2 * PAGE, &rule));
	assert_int_equal(rule.cfa_offset, 8);
	assert_false(rule_at(f, code + PAGE, &rule));
	/* One more in between, one that is no memory, and one too big. */
	tell_code(f, code + PAGE, sizeof(kernel));
	tell_code(f, code + (JIT_PAGES - 1) * PAGE, 2 * PAGE);
	tell_code(f, code + 6 * PAGE, 1ull << 40);
	tell_code(f, (const uint8_t *)UINT64_MAX - 3, 2);
	make_code_tables(f, &now_ns);
	for (int i = 0; i < 3; i++)
		assert_true(rule_at(f, code + i * PAGE + 5, &rule));
	assert_int_equal(rule.cfa_offset, 64 + 16);
	/* A file in the middle: the target drops the table that it lies over, both parts come again around it. */
	map_this_program(f, (uint64_t)(uintptr_t)code + PAGE);
	make_code_tables(f, &now_ns);
	assert_true(rule_at(f, code + 5, &rule));
	assert_int_equal(rule.cfa_offset, 64 + 16);
	assert_true(find(f, (uint64_t)(uintptr_t)code)->end <= (uint64_t)(uintptr_t)code + PAGE);
	assert_true(rule_at(f, code + 2 * PAGE + 5, &rule));
	assert_true(find(f, (uint64_t)(uintptr_t)code + 2 * PAGE)->start >=
		    (uint64_t)(uintptr_t)code + 2 * PAGE);
	munmap(code, JIT_PAGES * PAGE);
}

/* The area is the target's to spoil; we do not believe what stands in it. */
static void test_spoilt_area(void **state)
{
	struct fixture *f = *state;

	st_drain_ask_for_maps(f->drain);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_read_maps(f->drain, getpid());
	memset((void *)area(f), 0xff, sizeof(struct st_shm_unwind));
	take_answers(f);
	st_drain_cycle(f->drain, 2, NULL);
	st_drain_read_maps(f->drain, getpid());
	take_answers(f);
	assert_true(area(f)->count < ST_SHM_MODULES_MAX);
	assert_int_equal(find_definition(f, ST_DEF_THREAD_CREATOR, 5) == NULL, true);
}

static void test_creators(void **state)
{
	struct fixture *f = *state;
	const struct seen_definition *d;

	for (uint32_t tid = 1; tid <= 200000; tid++) /* most of them are forgotten again */
		st_drain_thread_created(f->drain, tid, tid + 7, f->start);
	fake_segment_own(&f->segment, 0, 200000, f->start + 1);
	fake_segment_own(&f->segment, 1, 1, f->start + 1);
	drain_all(f);
	d = find_definition(f, ST_DEF_THREAD_CREATOR, 200000);
	assert_non_null(d);
	assert_int_equal(*(const uint32_t *)(d->body + 4), 200007);
	assert_null(find_definition(f, ST_DEF_THREAD_CREATOR, 1));
	/* Told after the thread has begun to record. */
	st_drain_thread_created(f->drain, 1, 9, f->start);
	drain_all(f);
	assert_non_null(find_definition(f, ST_DEF_THREAD_CREATOR, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tables_are_published, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jit_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spoilt_area, setup, teardown),
		cmocka_unit_test_setup_teardown(test_creators, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
