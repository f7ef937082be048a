// SPDX-License-Identifier: Apache-2.0
//
// process_cases CASE: programs whose threads, processes and limits are unlike those of others. Each burns CPU
// under a sampler and prints what it found; the output is the same in every run.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	BURN_MS = 60,
	THREADS = 600,
	BURNERS = 8,
	CLONES = 2,
	CLONE_BYTES = 1 << 20,
	CHUNK_BYTES = 1 << 20
};

static volatile uint64_t sum;
static _Atomic int ready;
static void *first_stack;
static const char *self;

static void burn(uint32_t ms)
{
	struct timespec now;
	uint64_t until = 0, at;

	do {
		for (int i = 0; i < 2000; i++)
			sum += (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		if (!until)
			until = at + ms * 1000000ull;
	} while (at < until);
}

static void nothing(int number)
{
	(void)number;
}

/* A signal that the program handles and has blocked waits; the next program is not to get the trigger's. */
static void waits_for_exec(void)
{
	struct sigaction action = {.sa_handler = nothing};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	if (!getenv("SECOND")) {
		sigaction(SIGTRAP, &action, NULL);
		sigprocmask(SIG_BLOCK, &set, NULL);
		burn(BURN_MS);
		setenv("SECOND", "1", 1);
		execl(self, self, "waits_for_exec", NULL);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	burn(BURN_MS);
	puts("alive");
}

/* The program's own one still waits there. */
static void own_waits_for_exec(void)
{
	struct sigaction action = {.sa_handler = nothing};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	if (!getenv("SECOND")) {
		burn(BURN_MS);
		sigaction(SIGTRAP, &action, NULL);
		sigprocmask(SIG_BLOCK, &set, NULL);
		kill(getpid(), SIGTRAP);
		setenv("SECOND", "1", 1);
		execl(self, self, "own_waits_for_exec", NULL);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	puts("not reached");
}

/* Asked of the kernel: what the library's function says is meant for programs. */
static void *signal_stack(void)
{
	stack_t stack = {.ss_flags = SS_DISABLE};

	syscall(SYS_sigaltstack, NULL, &stack);
	return stack.ss_flags & SS_DISABLE ? NULL : stack.ss_sp;
}

static void *compare(void *arg)
{
	return first_stack && signal_stack() == first_stack ? arg : NULL;
}

/* The child's first thread goes on with the signal stack of the parent's: nobody else may get it. */
static void forked_stacks(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		int same = 0;

		burn(BURN_MS);
		first_stack = signal_stack();
		for (int i = 0; i < THREADS; i++) {
			pthread_t thread;
			void *result = NULL;

			if (pthread_create(&thread, NULL, compare, &same))
				_exit(99);
			pthread_join(thread, &result);
			same += result != NULL;
		}
		_exit(same > 90 ? 90 : same);
	}
	waitpid(pid, &status, 0);
	printf("threads on the first one's signal stack: %d\n",
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static int cloned(void *arg)
{
	(void)arg;
	burn(BURN_MS);
	ready++;
	for (;;)
		pause();
	return 0;
}

/* Threads without thread-local storage of their own: they have the first one's. */
static void run_clones(char *stacks)
{
	const int flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

	for (int i = 1; i <= CLONES; i++)
		if (clone(cloned, stacks + i * CLONE_BYTES, flags, NULL) < 0)
			_exit(99);
	do
		burn(BURN_MS);
	while (ready < CLONES);
	puts("all done");
	fflush(stdout);
	_exit(5);
}

static void clones(void)
{
	char *stacks = mmap(NULL, (size_t)CLONES * CLONE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stacks == MAP_FAILED)
		_exit(99);
	run_clones(stacks);
}

/* Their stacks are parts of the first one's, in the middle of where it was seen before. */
static void clones_inside(void)
{
	char stacks[CLONES * CLONE_BYTES];

	stacks[0] = 0;
	burn(BURN_MS);
	run_clones(stacks);
}

static void *wait_and_burn(void *arg)
{
	ready++;
	while (ready < BURNERS)
		sched_yield();
	burn(BURN_MS);
	return arg;
}

/* All of them are there before the first one burns. */
static void threads(void)
{
	pthread_t all[BURNERS];

	for (int i = 0; i < BURNERS; i++)
		if (pthread_create(&all[i], NULL, wait_and_burn, NULL))
			_exit(99);
	for (int i = 0; i < BURNERS; i++)
		pthread_join(all[i], NULL);
	puts("all burnt");
}

static void *burn_for(void *ms)
{
	burn(*(const uint32_t *)ms);
	return NULL;
}

static void one_after_the_other(uint32_t count, uint32_t ms)
{
	for (uint32_t i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, burn_for, &ms))
			_exit(99);
		pthread_join(thread, NULL);
	}
}

static void thread_after_thread(void)
{
	one_after_the_other(40, 3);
}

/* How much of a limited address space is left to the program. */
static void limited(void)
{
	struct rlimit limit;
	uint64_t got = 0;

	burn(BURN_MS);
	getrlimit(RLIMIT_AS, &limit);
	while (mmap(NULL, CHUNK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		got += CHUNK_BYTES;
	printf("most of it: %d\n", got > limit.rlim_cur / 4 * 3);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"waits_for_exec", waits_for_exec},
	{"own_waits_for_exec", own_waits_for_exec},
	{"forked_stacks", forked_stacks},
	{"clones", clones},
	{"clones_inside", clones_inside},
	{"threads", threads},
	{"thread_after_thread", thread_after_thread},
	{"limited", limited},
};

int main(int argc, char **argv)
{
	self = argv[0];
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			return 0;
		}
	return 2;
}
