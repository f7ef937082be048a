// SPDX-License-Identifier: Apache-2.0
//
// Waits where no wrapper stands: in a system call of the program's own, as libgomp's, and inside the C library, for what another
// process writes. Prints for each its kind, the thread, and how long the call took by its own clock.
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { HELD_MS = 1500 };

static _Atomic unsigned int held;
static cnd_t taken;
static mtx_t state;
static int is_taken;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void rest(void)
{
	struct timespec wanted = {HELD_MS / 1000, HELD_MS % 1000 * 1000000L};

	nanosleep(&wanted, NULL);
}

/* Not by libc's syscall(), which is known. */
static void futex(long operation, long value)
{
	long result;

	__asm__ volatile("xor %%r10d, %%r10d\n\tsyscall"
			 : "=a"(result)
			 : "a"(SYS_futex), "D"(&held), "S"(operation), "d"(value)
			 : "rcx", "r10", "r11", "memory");
	(void)result;
}

static int hold(void *unused)
{
	(void)unused;
	atomic_store(&held, 1);
	mtx_lock(&state);
	is_taken = 1;
	cnd_signal(&taken);
	mtx_unlock(&state);
	rest();
	atomic_store(&held, 0);
	futex(FUTEX_WAKE, 1);
	return 0;
}

static __attribute__((noinline)) void want_mutex(void)
{
	long long begin = now_ns();

	while (atomic_load(&held))
		futex(FUTEX_WAIT, 1);
	printf("Futex\t%ld\t%lld\n", syscall(SYS_gettid), now_ns() - begin);
}

static __attribute__((noinline)) void want_line(FILE *lines)
{
	char line[16];
	long long begin = now_ns();

	if (fscanf(lines, "%15s", line) != 1) /* NOLINT(cert-err34-c) */
		exit(1);
	printf("Read\t%ld\t%lld\n", syscall(SYS_gettid), now_ns() - begin);
}

int main(void)
{
	thrd_t thread;
	FILE *lines;
	int ends[2];

	mtx_init(&state, mtx_plain);
	cnd_init(&taken);
	if (thrd_create(&thread, hold, NULL) != thrd_success)
		return 1;
	mtx_lock(&state);
	while (!is_taken)
		cnd_wait(&taken, &state);
	mtx_unlock(&state);
	want_mutex();
	thrd_join(thread, NULL);
	if (pipe(ends) != 0)
		return 1;
	if (fork() == 0) {
		rest();
		_exit(write(ends[1], "line\n", 5) != 5);
	}
	lines = fdopen(ends[0], "r");
	if (!lines)
		return 1;
	want_line(lines);
	return 0;
}
