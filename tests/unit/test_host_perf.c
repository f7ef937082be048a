// SPDX-License-Identifier: Apache-2.0
//
// Perf events as strata reads them from outside: records taken apart with hostile lengths, and a real
// child that burns, sleeps and starts a thread.
#include <linux/perf_event.h>
#include <pthread.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/host/kernel_side.h"
#include "collect/host/perf_record.h"
#include "collect/host/perf_rings.h"

static const uint64_t register_mask = 1u << 1 | 1u << 6 | 1u << 7 | 1u << 8;

static struct perf_event_attr sampling_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = register_mask,
		.sample_stack_user = 1024,
		.inherit = 1,
		.exclude_kernel = 1,
		.task = 1,
		.context_switch = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};
}

static void a_sample_is_taken_apart(void **state)
{
	struct perf_event_attr attr = sampling_attr();
	uint64_t record[64] = {0};
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE};
	struct st_perf_sample sample;
	size_t n = 1;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD;
	record[n++] = 0x1234;		       /* ip */
	record[n++] = 7u | (uint64_t)9u << 32; /* pid, tid */
	record[n++] = 555;		       /* time */
	record[n++] = 1000;		       /* period */
	record[n++] = 2;		       /* chain */
	record[n++] = (uint64_t)PERF_CONTEXT_KERNEL;
	record[n++] = 0xffffffff81000000;
	record[n++] = PERF_SAMPLE_REGS_ABI_64;
	record[n++] = 101; /* rbx */
	record[n++] = 106; /* rbp */
	record[n++] = 107; /* rsp */
	record[n++] = 108; /* rip */
	record[n++] = 16;  /* stack */
	record[n++] = 0xaaaa;
	record[n++] = 0xbbbb;
	record[n++] = 8;
	header.size = (uint16_t)(n * 8);
	memcpy(record, &header, sizeof(header));

	assert_true(st_perf_sample_parse(&attr, (uint8_t *)record, n * 8, &sample));
	assert_int_equal(sample.pid, 7);
	assert_int_equal(sample.tid, 9);
	assert_int_equal(sample.time, 555);
	assert_int_equal(sample.period, 1000);
	assert_int_equal(sample.chain_count, 2);
	assert_int_equal(st_perf_sample_register(&sample, 1), 101);
	assert_int_equal(st_perf_sample_register(&sample, 8), 108);
	assert_int_equal(st_perf_sample_register(&sample, 3), 0);
	assert_int_equal(sample.stack_bytes, 8);
	for (size_t cut = 0; cut < n * 8; cut++)
		assert_false(st_perf_sample_parse(&attr, (uint8_t *)record, cut, &sample));
	record[5] = UINT64_MAX; /* a chain longer than anything */
	assert_false(st_perf_sample_parse(&attr, (uint8_t *)record, n * 8, &sample));
}

static void burn_ms(int ms)
{
	struct timespec now;

	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static void *burner(void *unused)
{
	burn_ms(200);
	return unused;
}

static void child(int go)
{
	pthread_t thread;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	burn_ms(200);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	if (pthread_create(&thread, NULL, burner, NULL) || pthread_join(thread, NULL))
		_exit(1);
	_exit(0);
}

struct seen {
	struct st_perf_rings *rings;
	uint32_t pid;
	unsigned int of_main, of_others, broken, disorder, waits;
	uint64_t last_time;
};

static void look(void *arg, const struct st_perf_record *record)
{
	struct seen *seen = arg;
	struct st_perf_sample sample;
	struct st_perf_switch news;

	seen->disorder += record->time < seen->last_time;
	seen->last_time = record->time;
	if (record->header->type == PERF_RECORD_SWITCH &&
	    st_perf_switch_parse(record->bytes, record->size_bytes, &news))
		seen->waits += news.out && !news.preempted;
	if (record->header->type != PERF_RECORD_SAMPLE)
		return;
	if (!st_perf_sample_parse(st_perf_rings_attr(seen->rings), record->bytes,
				  record->size_bytes, &sample) ||
	    !sample.stack_bytes || st_perf_sample_register(&sample, 8) != sample.ip)
		seen->broken++;
	else if (sample.tid == seen->pid)
		seen->of_main++;
	else
		seen->of_others++;
}

static void a_child_is_watched(void **state)
{
	struct perf_event_attr attr = sampling_attr();
	struct seen seen = {0};
	struct st_error err;
	int go[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(go[0]);
	seen.pid = (uint32_t)pid;
	/* Room for all of them, however late this test reads. */
	assert_int_equal(st_perf_rings_create(&seen.rings, &attr, 256, &err), ST_OK);
	if (st_perf_rings_add(seen.rings, pid, &err)) {
		print_message("skipped: %s\n", err.text);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		st_perf_rings_destroy(seen.rings);
		skip();
	}
	assert_int_equal(write(go[1], "x", 1), 1);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		st_perf_rings_poll(seen.rings, false, look, &seen);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	st_perf_rings_poll(seen.rings, true, look, &seen);
	assert_int_equal(status, 0);
	assert_int_equal(seen.broken, 0);
	assert_int_equal(seen.disorder, 0);
	assert_int_equal(st_perf_rings_lost(seen.rings), 0);
	/* 200 of each at 1 kHz, but for the few that hit the kernel. */
	assert_in_range(seen.of_main, 150, 215);
	assert_in_range(seen.of_others, 150, 215);
	assert_true(seen.waits >= 1);
	st_perf_rings_destroy(seen.rings);
	close(go[0]);
	close(go[1]);
}

/* Half a second in the kernel, from one call site, then a wait of 50 ms. */
static void kernel_child(int go)
{
	static char bytes[1 << 20];
	struct timespec now;
	int zero = open("/dev/zero", O_RDONLY);
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	do {
		if (read(zero, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
			_exit(1);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec == 0 && now.tv_nsec < 500000000);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	_exit(0);
}

struct waits {
	uint64_t longest_ns, wrong;
	uint32_t tid;
};

static void see_wait(void *arg, const struct st_kernel_wait *wait)
{
	struct waits *waits = arg;

	waits->wrong += wait->tid != waits->tid || wait->end_ns < wait->begin_ns ||
			wait->off_ns > wait->end_ns - wait->begin_ns;
	if (!wait->preempted && wait->off_ns > waits->longest_ns)
		waits->longest_ns = wait->off_ns;
}

static void the_kernel_side_is_watched(void **state)
{
	struct waits waits = {0};
	struct st_kernel_options options = {.period_ns = 1000000,
					    .stacks = true,
					    .switches = true,
					    .waited = see_wait,
					    .arg = &waits};
	const struct st_kernel_state *got;
	struct st_kernel_side *side;
	int go[2], status;

	(void)state;
	assert_int_equal(pipe(go), 0);
	options.pid = fork();
	assert_true(options.pid >= 0);
	if (options.pid == 0)
		kernel_child(go[0]);
	waits.tid = (uint32_t)options.pid;
	assert_int_equal(st_kernel_side_create(&side, &options, NULL), ST_OK);
	got = st_kernel_side_state(side);
	assert_int_equal(write(go[1], "x", 1), 1);
	while (waitpid(options.pid, &status, WNOHANG) == 0) {
		st_kernel_side_poll(side, false);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	st_kernel_side_poll(side, true);
	assert_int_equal(status, 0);
	assert_int_equal(waits.wrong, 0);
	if (got->switches)
		assert_in_range(waits.longest_ns, 50000000, 5000000000);
	if (got->stacks)
		assert_in_range(got->samples, 300, 600);
	else
		assert_true(got->why[0] != '\0');
	assert_int_equal(got->lost, 0);
	st_kernel_side_destroy(side);
	close(go[0]);
	close(go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_taken_apart),
		cmocka_unit_test(a_child_is_watched),
		cmocka_unit_test(the_kernel_side_is_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
