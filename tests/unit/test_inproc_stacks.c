/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks that the sampler walks in the target, with tables that the test publishes as strata does: ordinary
 * threads, small stacks, alternate stacks, fibres, deep recursion, and no tables at all.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "inproc_samples.h"
#include "inproc_server.h"
#include "unwind/cache.h"

/* On a busy machine many ticks come late and count for several: a tenth of them says enough. */
enum { SAMPLES_MIN = 20 };
enum { BURN_MS = 200, STACK_BYTES = 64 << 10, RECURSION = 3000 };

static struct server server;
static struct samples samples;
static struct st_unwind_folder *folder;
/* Shared with the child: whether the tables are there. They are awaited where the test publishes any. */
static struct {
	_Atomic bool awaited, published;
} * tables;

static int setup(void **state)
{
	(void)state;
	tables = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tables == MAP_FAILED)
		return 1;
	return st_unwind_cache_open(&folder, getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", NULL);
}

static int teardown(void **state)
{
	(void)state;
	munmap(tables, 4096);
	st_unwind_cache_close(folder);
	samples_free(&samples);
	server_fini(&server);
	return 0;
}

/* One line of /proc/PID/maps that is code of a file. */
static void publish_line(struct st_shm_unwind *to, uint32_t *paths, const char *line)
{
	struct st_unwind_want want = {0};
	struct st_unwind_found found;
	struct st_shm_module *module;
	char path[512], rights[8];
	uint64_t start, end, offset;
	char *at = NULL;
	uint32_t count = atomic_load(&to->count);

	start = strtoull(line, &at, 16);
	end = strtoull(at + 1, &at, 16);
	memcpy(rights, at + 1, 4);
	offset = strtoull(at + 6, &at, 16);
	at = strchr(line, '/');
	if (rights[2] != 'x' || !at)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
	want.path = path;
	want.start = start;
	want.file_offset = offset;
	assert_int_equal(st_unwind_cache_get(folder, &want, &found, NULL), 0);
	module = &to->modules[count];
	*module = (struct st_shm_module){.start = start, .end = end, .bias = found.bias};
	module->path = *paths;
	snprintf(to->paths + *paths, sizeof(to->paths) - *paths, "%s", found.path);
	*paths += (uint32_t)strlen(found.path) + 1;
	atomic_store(&module->state, ST_MODULE_READY);
	atomic_store(&to->count, count + 1);
}

static void publish(struct segment *segment)
{
	struct st_shm_unwind *to =
		(struct st_shm_unwind *)((char *)segment->header + ST_SHM_HEADER_BYTES +
					 ST_SHM_DEFINITIONS_BYTES);
	char name[64], line[1024];
	uint32_t paths = 0;
	FILE *maps;

	if (segment->hello.segment_index)
		return;
	snprintf(name, sizeof(name), "/proc/%u/maps", segment->hello.pid);
	maps = fopen(name, "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		publish_line(to, &paths, line);
	fclose(maps);
	atomic_fetch_add(&to->generation, 1);
	atomic_store(&tables->published, true);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sum;

__attribute__((noinline, aligned(1024))) static void leaf(void)
{
	uint64_t until = cpu_ns() + BURN_MS * 1000000ull;

	while (cpu_ns() < until)
		for (int i = 0; i < 300000; i++)
			sum += (uint64_t)i;
	sum++;
}

__attribute__((noinline, aligned(1024))) static void middle(void)
{
	leaf();
	sum++;
}

__attribute__((noinline, aligned(1024))) static void outer(void)
{
	middle();
	sum++;
}

__attribute__((noinline, aligned(1024))) static uint64_t recurse(uint32_t depth)
{
	if (!depth) {
		leaf();
		return sum;
	}
	return recurse(depth - 1) + sum;
}

/* The first sample says hello; the tables are there when the server has been round once more. */
static void load(void)
{
	uint64_t until;

	if (!itt_part_load())
		_exit(99);
	until = cpu_ns() + 5 * 1000000;
	while (cpu_ns() < until || (tables->awaited && !tables->published))
		sum++;
	server_wait_drained();
}

/* Whether a frame lies in the function: those that are looked for have 1 KiB each. */
static bool is_in(uint64_t frame, void (*function)(void))
{
	uint64_t address = frame & ~(ST_FRAME_WORD_RECOVERED | ST_FRAME_WORD_EXACT);

	return address > (uint64_t)function && address < (uint64_t)function + 1024;
}

static size_t find_frame(const struct sample *sample, size_t from, void (*function)(void))
{
	while (from < sample->native_count && !is_in(sample->native[from], function))
		from++;
	return from;
}

/* leaf, middle and outer one above the other. */
static bool has_chain(const struct sample *sample)
{
	size_t at = find_frame(sample, 0, leaf);

	return at < sample->native_count && at + 2 < sample->native_count &&
	       is_in(sample->native[at + 1], middle) && is_in(sample->native[at + 2], outer);
}

struct verdict {
	size_t in_leaf, chains, complete;
};

static struct verdict judge(void)
{
	struct verdict verdict = {0};

	for (size_t i = 0; i < samples.count; i++) {
		const struct sample *sample = &samples.at[i];

		size_t at = find_frame(sample, 0, leaf);

		/* The vdso has no table here: what called it is found by a scan. */
		if (at == sample->native_count || sample->native[at] & ST_FRAME_WORD_RECOVERED ||
		    (sample->flags & ST_SAMPLE_NO_TABLE && sample->native_count == 1))
			continue;
		verdict.in_leaf++;
		verdict.chains += has_chain(sample);
		verdict.complete += !(sample->flags & ST_SAMPLE_TRUNCATED);
	}
	return verdict;
}

static struct verdict run(const char *config, void (*scenario)(void))
{
	server_init(&server);
	server.config = config;
	server.on_hello = publish;
	atomic_store(&tables->awaited, true);
	server_run_prepared(&server, scenario);
	assert_int_equal(server.status, 0);
	samples_decode(&samples, &server);
	return judge();
}

static void assert_walked(struct verdict verdict, bool complete)
{
	if (verdict.in_leaf <= SAMPLES_MIN)
		fail_msg("%zu samples in leaf of %zu", verdict.in_leaf, samples.count);
	assert_true(verdict.chains * 100 >= verdict.in_leaf * 99);
	if (complete)
		assert_true(verdict.complete * 100 >= verdict.in_leaf * 99);
}

static void plain(void)
{
	load();
	outer();
}

static void test_plain(void **state)
{
	(void)state;
	assert_walked(run("sample_late=1;sample_ns=1000000", plain), true);
	for (size_t i = 1; i < samples.count; i++)
		assert_true(samples.at[i].handler_ticks > 0);
}

static void *thread_main(void *arg)
{
	(void)arg;
	outer();
	return NULL;
}

static void small_stack(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	load();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN));
	if (pthread_create(&thread, &attr, thread_main, NULL))
		_exit(97);
	pthread_join(thread, NULL);
}

static void test_small_stack(void **state)
{
	(void)state;
	assert_walked(run("sample_late=1;sample_ns=1000000", small_stack), true);
}

static void on_signal(int signal)
{
	(void)signal;
	outer();
}

static void alternate_stack(void)
{
	stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	load();
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void test_alternate_stack(void **state)
{
	struct verdict verdict;

	(void)state;
	/* Beyond the signal frame the stack goes on elsewhere. */
	verdict = run("sample_late=1;sample_ns=1000000", alternate_stack);
	assert_walked(verdict, false);
}

static ucontext_t main_context, fibre_context;

static void fibre(void)
{
	outer();
}

static void fibres(void)
{
	load();
	getcontext(&fibre_context);
	fibre_context.uc_stack.ss_sp = malloc(STACK_BYTES);
	fibre_context.uc_stack.ss_size = STACK_BYTES;
	fibre_context.uc_link = &main_context;
	makecontext(&fibre_context, fibre, 0);
	swapcontext(&main_context, &fibre_context);
}

static void test_fibres(void **state)
{
	(void)state;
	assert_walked(run("sample_late=1;sample_ns=1000000", fibres), true);
}

static void deep(void)
{
	load();
	if (recurse(RECURSION) == 1)
		outer();
}

static void test_depth_is_cut(void **state)
{
	size_t cut = 0, in_leaf = 0;

	(void)state;
	run("sample_late=1;sample_ns=1000000;sample_depth=100", deep);
	for (size_t i = 0; i < samples.count; i++) {
		if (find_frame(&samples.at[i], 0, leaf) == samples.at[i].native_count)
			continue;
		in_leaf++;
		cut += (samples.at[i].flags & ST_SAMPLE_DEPTH_CUT) != 0;
		assert_true(samples.at[i].native_count <= 100);
	}
	assert_true(in_leaf > SAMPLES_MIN);
	assert_true(cut * 100 >= in_leaf * 95);
}

static void test_deep(void **state)
{
	size_t whole = 0;

	(void)state;
	run("sample_late=1;sample_ns=1000000;sample_depth=4000", deep);
	for (size_t i = 0; i < samples.count; i++)
		whole += samples.at[i].native_count > RECURSION &&
			 !(samples.at[i].flags & ST_SAMPLE_TRUNCATED);
	assert_true(whole > SAMPLES_MIN);
}

static void test_no_tables(void **state)
{
	struct st_shm_unwind *unwind;

	(void)state;
	server_run(&server, "sample_late=1;sample_ns=1000000", plain);
	samples_decode(&samples, &server);
	assert_true(samples.count > SAMPLES_MIN);
	for (size_t i = 0; i < samples.count; i++)
		assert_true(samples.at[i].flags & ST_SAMPLE_NO_TABLE);
	unwind = (struct st_shm_unwind *)((char *)server.segments[0]->header + ST_SHM_HEADER_BYTES +
					  ST_SHM_DEFINITIONS_BYTES);
	assert_true(atomic_load(&unwind->wanted) > 0);
	assert_true(atomic_load(&unwind->wanted_address) != 0);
}

static void test_no_stacks(void **state)
{
	(void)state;
	run("sample_late=1;sample_ns=1000000;sample_stacks=0", plain);
	assert_true(samples.count > SAMPLES_MIN);
	for (size_t i = 0; i < samples.count; i++) {
		assert_int_equal(samples.at[i].flags & ~(uint32_t)ST_SAMPLE_WEIGHT_NOMINAL,
				 ST_SAMPLE_NO_STACK);
		assert_int_equal(samples.at[i].native_count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_small_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alternate_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fibres, setup, teardown),
		cmocka_unit_test_setup_teardown(test_depth_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_stacks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
