// SPDX-License-Identifier: Apache-2.0
//
// Waits that a signal's handler leaves, or does not. The first thread jumps out of pause() and then sleeps deeper in its stack
// than that was. Another one has a handler on an alternate stack, above its own, that writes to a pipe while the thread goes on
// waiting for a condition. Prints how long both waited by their own clocks.
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS = 50, SLEEP_US = 2000, LATER_US = 100000, STACK_BYTES = 1 << 20 };

static sigjmp_buf back_here;
static int pipe_ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool is_set;

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* By the kernel's word, and by system calls that nobody stands before: those of the test must not be waits. */
static void until_it_waits(pid_t tid)
{
	char path[64], text[256];
	long got;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	do {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		got = syscall(SYS_read, fd, text, sizeof(text) - 1);
		close(fd);
		text[got > 0 ? got : 0] = '\0';
	} while (got > 0 && !strstr(text, ") S"));
}

static void *send_alarm(void *tid)
{
	until_it_waits(*(const pid_t *)tid);
	kill(getpid(), SIGALRM);
	return NULL;
}

static void jump(int number)
{
	siglongjmp(back_here, number);
}

/* Where the wait was that has been left, there is something else now. */
static __attribute__((noinline)) void sleep_deep(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 1;
	usleep(SLEEP_US);
	room[0] = 2;
}

static void leave_a_wait(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	sigset_t alarms;
	pthread_t sender;
	volatile uint64_t begin;

	signal(SIGALRM, jump);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* not the other one's */
	pthread_create(&sender, NULL, send_alarm, &tid);
	if (!sigsetjmp(back_here, 1)) {
		pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
		pause();
	}
	/* No wait in between that is not deeper. */
	begin = clock_ns();
	for (int i = 0; i < SLEEPS; i++)
		sleep_deep();
	printf("slept %lu\n", (unsigned long)(clock_ns() - begin));
	pthread_join(sender, NULL);
}

static void tell(int number)
{
	(void)number;
	if (write(pipe_ends[1], "x", 1) != 1)
		abort();
}

static pid_t waiting;

static void *wait_for_condition(void *alternate)
{
	const stack_t stack = {.ss_sp = alternate, .ss_size = STACK_BYTES};
	uint64_t begin;

	sigaltstack(&stack, NULL);
	pthread_mutex_lock(&mutex);
	__atomic_store_n(&waiting, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	begin = clock_ns();
	while (!is_set)
		pthread_cond_wait(&condition, &mutex);
	printf("waited %lu\n", (unsigned long)(clock_ns() - begin));
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void go_on_waiting(void)
{
	const struct sigaction action = {.sa_handler = tell, .sa_flags = SA_ONSTACK | SA_RESTART};
	char *memory = mmap(NULL, (size_t)2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     byte;
	pthread_attr_t attributes;
	pthread_t thread;
	pid_t tid;

	if (memory == MAP_FAILED || pipe(pipe_ends))
		abort();
	sigaction(SIGUSR1, &action, NULL);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory, STACK_BYTES);
	pthread_create(&thread, &attributes, wait_for_condition, memory + STACK_BYTES);
	do
		tid = __atomic_load_n(&waiting, __ATOMIC_ACQUIRE);
	while (!tid);
	pthread_mutex_lock(&mutex); /* it has that until it waits */
	pthread_mutex_unlock(&mutex);
	until_it_waits(tid);
	pthread_kill(thread, SIGUSR1);
	if (read(pipe_ends[0], &byte, 1) != 1)
		abort();
	usleep(LATER_US);
	pthread_mutex_lock(&mutex);
	is_set = true;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

int main(void)
{
	leave_a_wait();
	go_on_waiting();
	return 0;
}
