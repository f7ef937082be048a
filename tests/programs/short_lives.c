/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time in threads and processes that end before a sampling interval of 10 ms is over, and in a thread that
 * creates them. Says how much there was, by the kernel's count.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Two that the compiler cannot make one of. */
#define BURN(name, step)                                                                           \
	__attribute__((noinline)) static void name(uint32_t us)                                    \
	{                                                                                          \
		uint64_t end = cpu_ns() + us * 1000ull;                                            \
                                                                                                   \
		while (cpu_ns() < end)                                                             \
			for (int i = 0; i < 20000; i++)                                            \
				sink += (uint64_t)i * step;                                        \
	}
BURN(heavy_part, 3)
BURN(light_part, 5)

static volatile uint32_t part_us[2] = {3000, 1000};

static void *nothing(void *arg)
{
	return arg;
}

static void *request(void *arg)
{
	heavy_part(part_us[0]);
	light_part(part_us[1]);
	return arg;
}

static void run_thread(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL))
		_exit(99);
	pthread_join(thread, NULL);
}

/* The first thread sleeps until it has ended: nobody else can do anything for it. */
static void *last_for_long(void *arg)
{
	heavy_part(400000);
	return arg;
}

static void run_command(void)
{
	char *const argv[] = {"/bin/true", NULL};
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
		_exit(99);
	waitpid(pid, NULL, 0);
}

static _Atomic int bare_tid;

/* It has the thread-local storage of the first thread, and uses nothing of it. */
static int work_bare(void *arg)
{
	(void)arg;
	heavy_part(400000);
	return 0;
}

/* A thread that libc knows nothing of. The first one sleeps, and has used next to nothing until then. */
static void run_bare(void)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	int tid;

	atomic_store(&bare_tid, -1);
	if (clone(work_bare, stack + sizeof(stack),
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		  NULL, &bare_tid, NULL, &bare_tid) < 0)
		_exit(99);
	while ((tid = atomic_load(&bare_tid)))
		syscall(SYS_futex, &bare_tid, FUTEX_WAIT, tid, NULL, NULL, 0);
}

/* All on one CPU: the kernel goes from the creator straight to what it has created. */
static void stay_on_one_cpu(void)
{
	cpu_set_t allowed, one;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed)) {
			CPU_SET(i, &one);
			break;
		}
	sched_setaffinity(0, sizeof(one), &one);
}

static double used_s(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (!strcmp(mode, "rounds"))
		stay_on_one_cpu();
	for (long i = 0; i < count; i++) {
		if (!strcmp(mode, "rounds")) {
			heavy_part(2000);
			run_thread(nothing);
		} else if (!strcmp(mode, "requests")) {
			run_thread(request);
		} else if (!strcmp(mode, "threads") || !strcmp(mode, "veteran")) {
			run_thread(nothing);
		} else if (!strcmp(mode, "bare")) {
			run_bare();
		} else if (!strcmp(mode, "commands")) {
			run_command();
		} else if (!strcmp(mode, "processes")) {
			if (!fork()) {
				request(NULL);
				_exit(0);
			}
			wait(NULL);
		} else {
			return 2;
		}
	}
	/* After so many short ones, one that nobody expects to last. */
	if (!strcmp(mode, "veteran"))
		run_thread(last_for_long);
	printf("%.6f\n", used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN));
	return 0;
}
