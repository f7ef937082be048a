/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler in the target, against a strata of the test's own: what arrives by message and in the
 * handler rings, weights against the program's own CPU clock, threads, forks, pauses, full rings.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "inproc_samples.h"
#include "inproc_server.h"

#define AT_1KHZ "sample_late=1;sample_ns=1000000"

/* On a busy machine many ticks come late and count for several: a tenth of them says enough, weights tell the rest. */
enum { BURN_MS = 150, SAMPLES_MIN = BURN_MS / 10 };

static struct server server;
static struct samples samples;
/* What the scenarios, which run in another process, have to say. */
static struct {
	uint64_t cpu_ns[4];
	uint32_t tid[4];
	atomic_bool full; /* said to them: the ring dropped something */
} * truth;

static int setup(void **state)
{
	(void)state;
	truth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return truth == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	munmap(truth, 4096);
	samples_free(&samples);
	server_fini(&server);
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void load(void)
{
	if (!itt_part_load())
		_exit(99);
}

__attribute__((noinline)) static void burn(uint32_t ms)
{
	uint64_t until = cpu_ns() + ms * 1000000ull;
	volatile uint64_t sum = 0;

	while (cpu_ns() < until)
		for (int i = 0; i < 20000; i++)
			sum += (uint64_t)i;
}

static void burn_measured(int which)
{
	uint64_t before = cpu_ns();

	burn(BURN_MS);
	truth->cpu_ns[which] = cpu_ns() - before;
	truth->tid[which] = (uint32_t)gettid();
}

static void one_thread(void)
{
	load();
	burn_measured(0);
}

/* Within percent, and what ran behind the last tick: as long as the longest time between two of them. */
static void assert_near(uint64_t value, uint64_t expected, uint64_t percent)
{
	uint64_t difference = value > expected ? value - expected : expected - value, longest = 0;

	for (size_t i = 0; i < samples.count; i++)
		if (samples.at[i].weight_ns > longest)
			longest = samples.at[i].weight_ns;
	if (difference > expected * percent / 100 + longest)
		fail_msg("%llu instead of %llu", (unsigned long long)value,
			 (unsigned long long)expected);
}

static void run(const char *config, void (*scenario)(void))
{
	server_run(&server, config, scenario);
	samples_decode(&samples, &server);
}

static void test_one_thread(void **state)
{
	(void)state;
	run(AT_1KHZ, one_thread);
	assert_int_equal(server.arm_count, 1);
	assert_int_equal(server.arms[0].rung, ST_RUNG_SIGTRAP);
	assert_int_equal(server.arms[0].trigger, ST_TRIGGER_CPU_CLOCK);
	assert_int_equal(server.arms[0].period_ns, 1000000);
	assert_int_equal(server.arms[0].errors[ST_RUNG_SIGTRAP], 0);
	assert_true(server.triggers[0] >= 0);
	assert_int_equal(samples.threads, 1);
	assert_true(samples.count > SAMPLES_MIN && samples.count < BURN_MS * 2);
	/* The rest is the end of the process and the last part of a period. */
	assert_near(samples_weight_ns(&samples, 0, 0), truth->cpu_ns[0], 5);
	for (size_t i = 0; i < samples.count; i++)
		assert_int_equal(samples.at[i].tid, truth->tid[0]);
}

static void test_none(void **state)
{
	(void)state;
	run("sample_late=1;sample_ns=0", one_thread);
	assert_int_equal(server.arm_count, 0);
	assert_int_equal(server.segment_count, 0);
}

static uint64_t weight_of(uint32_t tid)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < samples.count; i++)
		if (samples.at[i].tid == tid)
			sum += samples.at[i].weight_ns;
	return sum;
}

static void check_rung(const char *config, uint32_t rung, uint64_t percent)
{
	run(config, one_thread);
	assert_int_equal(server.arm_count, 1);
	assert_int_equal(server.arms[0].rung, rung);
	assert_int_equal(server.triggers[0] >= 0, rung <= ST_RUNG_SETSIG);
	assert_int_equal(server.arms[0].trigger,
			 rung <= ST_RUNG_SETSIG ? ST_TRIGGER_CPU_CLOCK : ST_TRIGGER_CPU_TIME);
	assert_true(samples.count > 3);
	assert_near(samples_weight_ns(&samples, 0, 0), truth->cpu_ns[0], percent);
}

static void test_user_mode(void **state)
{
	(void)state;
	check_rung(AT_1KHZ ";sample_rung=2", ST_RUNG_SIGTRAP_USER, 5);
}

static void test_signal_per_thread(void **state)
{
	(void)state;
	check_rung(AT_1KHZ ";sample_rung=3", ST_RUNG_SETSIG, 5);
}

/* These come with the kernel's tick, if it meets the thread at all: what runs behind the last one is missing, and
 * that is much on a busy machine. */
static void test_thread_timer(void **state)
{
	(void)state;
	check_rung(AT_1KHZ ";sample_rung=4", ST_RUNG_THREAD_TIMER, 60);
}

static void test_process_timer(void **state)
{
	(void)state;
	check_rung(AT_1KHZ ";sample_rung=5", ST_RUNG_PROCESS_TIMER, 60);
}

/* As containers do. */
static void without_events(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0))
		_exit(95);
	one_thread();
}

static void test_refused(void **state)
{
	(void)state;
	run(AT_1KHZ, without_events);
	assert_int_equal(server.arm_count, 1);
	assert_int_equal(server.arms[0].rung, ST_RUNG_THREAD_TIMER);
	for (int i = ST_RUNG_SIGTRAP; i <= ST_RUNG_SETSIG; i++)
		assert_int_equal(server.arms[0].errors[i], EPERM);
	assert_int_equal(server.arms[0].errors[ST_RUNG_THREAD_TIMER], 0);
	assert_true(samples.count > 3);
}

static void foreign_handler(void)
{
	signal(SIGTRAP, (void (*)(int))_exit);
	one_thread();
}

static void test_foreign_handler(void **state)
{
	(void)state;
	run(AT_1KHZ, foreign_handler);
	assert_int_equal(server.arms[0].rung, ST_RUNG_SETSIG);
	assert_true(server.arms[0].flags & ST_ARM_FOREIGN_HANDLER);
	assert_int_equal(server.arms[0].errors[ST_RUNG_SIGTRAP], EBUSY);
	assert_true(samples.count > SAMPLES_MIN);
}

static void test_empty(void **state)
{
	(void)state;
	run(AT_1KHZ ";sample_empty=1", one_thread);
	assert_int_equal(server.arms[0].rung, ST_RUNG_SIGTRAP);
	assert_int_equal(samples.count, 0);
}

static void child_by_clone(void)
{
	int status;
	pid_t pid;

	load();
	burn_measured(0);
	pid = _Fork();
	if (!pid) {
		struct itt_domain *domain = itt_domain_create("d");

		itt_task_begin(domain, itt_string_handle_create("t"));
		burn_measured(1);
		itt_task_end(domain);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(98);
}

static void test_fork_without_handlers(void **state)
{
	(void)state;
	run(AT_1KHZ, child_by_clone);
	assert_int_equal(server.arm_count, 2);
	assert_near(weight_of(truth->tid[1]), truth->cpu_ns[1], 8);
}

static void test_no_counters(void **state)
{
	(void)state;
	run(AT_1KHZ ";sample_ns=100000;sample_trigger=cycles", one_thread);
	/* Either there are counters, or it is said that there are none and the rate is lowered. */
	if (server.arms[0].trigger == ST_TRIGGER_CYCLES)
		skip();
	assert_true(server.arms[0].flags & ST_ARM_NO_CYCLES);
	assert_int_equal(server.arms[0].period_ns, 1000000);
	assert_true(samples.count > SAMPLES_MIN && samples.count < BURN_MS * 2);
}

static void test_not_preloaded(void **state)
{
	(void)state;
	run("sample_ns=1000000", one_thread);
	assert_int_equal(server.arm_count, 1);
	assert_int_equal(server.arms[0].rung, ST_RUNG_NONE);
	assert_int_equal(server.arms[0].flags, ST_ARM_NOT_PRELOADED);
	assert_int_equal(samples.count, 0);
}

static void *burn_thread(void *arg)
{
	burn_measured(*(int *)arg);
	return NULL;
}

static void two_threads(void)
{
	int which[2] = {1, 2};
	pthread_t threads[2];

	load();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, burn_thread, &which[i]);
	burn_measured(0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void test_threads_are_inherited(void **state)
{
	(void)state;
	run(AT_1KHZ, two_threads);
	assert_int_equal(server.arm_count, 1);
	assert_int_equal(samples.threads, 3);
	assert_int_equal(samples.ends, 2);
	for (int i = 0; i < 3; i++)
		assert_near(weight_of(truth->tid[i]), truth->cpu_ns[i], 5);
}

static void forked(void)
{
	int status;
	pid_t pid;

	load();
	burn_measured(0);
	pid = fork();
	if (!pid) {
		burn_measured(1);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(98);
}

static void test_fork_arms_again(void **state)
{
	(void)state;
	run(AT_1KHZ, forked);
	assert_int_equal(server.arm_count, 2);
	assert_int_equal(server.arms[1].pid, truth->tid[1]);
	assert_int_equal(server.process_count, 2);
	for (int i = 0; i < 2; i++)
		assert_near(weight_of(truth->tid[i]), truth->cpu_ns[i], 5);
}

static void paused_part(void)
{
	load();
	burn_measured(0);
	itt_pause();
	burn(BURN_MS);
	itt_resume();
	burn_measured(1);
}

static void test_pause(void **state)
{
	(void)state;
	run(AT_1KHZ, paused_part);
	assert_near(samples_weight_ns(&samples, 0, 0), truth->cpu_ns[0] + truth->cpu_ns[1], 5);
}

static struct st_shm_slot *first_slot(struct server *from)
{
	return (struct st_shm_slot *)(from->segments[0]->header + 1);
}

static void look_for_full_ring(struct server *from)
{
	if (from->segment_count && atomic_load(&first_slot(from)->ring[ST_RING_HANDLER].dropped))
		atomic_store(&truth->full, true);
}

/* How long it takes depends on the machine: ticks come late where others run. */
static void until_full(void)
{
	load();
	for (int i = 0; i < 200 && !atomic_load(&truth->full); i++)
		burn(BURN_MS);
}

static void test_full_ring(void **state)
{
	(void)state;
	server_init(&server);
	server.config = "sample_late=1;sample_ns=20000";
	server.frozen = true;
	server.on_poll = look_for_full_ring;
	server_run_prepared(&server, until_full);
	assert_int_equal(server.status, 0);
	samples_decode(&samples, &server);
	assert_true(atomic_load(&first_slot(&server)->ring[ST_RING_HANDLER].dropped) > 0);
	assert_int_equal(atomic_load(&first_slot(&server)->ring[ST_RING_SLICE].dropped), 0);
	/* What fitted is whole. */
	assert_true(samples.count > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_user_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal_per_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thread_timer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_timer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_handler, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_without_handlers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_preloaded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads_are_inherited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_arms_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_ring, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
