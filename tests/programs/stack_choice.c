// SPDX-License-Identifier: Apache-2.0
//
// stack_choice CASE: on which stack handlers run, in threads with and without an alternate one; what they have room for; and what is
// there again when they are done. The output is the same in every run. As a library (-DLIBRARY) it sets a handler before
// anything that is preloaded has been initialised.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	ROOM_BYTES = 200000,
	ALTERNATE_BYTES = 512 << 10,
	BURN_MS = 40,
	ROUNDS = 10,
	RESTORER = 0x04000000 /* libc's own */
};

int early_seen(void);

static const char *stack_of(const void *address)
{
	uintptr_t at = (uintptr_t)address, low;
	pthread_attr_t attributes;
	size_t size_bytes;
	void *start;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &start, &size_bytes);
	pthread_attr_destroy(&attributes);
	low = (uintptr_t)start;
	return at >= low && at - low < size_bytes ? "own" : "other";
}

/* Needs more than any stack that is not the program's has. */
static __attribute__((noinline)) void use_room(void)
{
	volatile char room[ROOM_BYTES];

	for (size_t i = 0; i < sizeof(room); i += 512)
		room[i] = 1;
}

#ifdef LIBRARY

static volatile int seen;

static void on_early(int number)
{
	(void)number;
	use_room();
	seen += !strcmp(stack_of(&number), "own");
}

__attribute__((constructor)) static void begin(void)
{
	const struct sigaction action = {.sa_handler = on_early, .sa_flags = SA_ONSTACK};

	sigaction(SIGHUP, &action, NULL);
}

int early_seen(void)
{
	return seen;
}

#else

static volatile uint64_t sum;
static sigjmp_buf back_here;

static void burn(uint32_t ms)
{
	struct timespec now;
	uint64_t until = 0, at;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		if (!until)
			until = at + ms * 1000000ull;
		for (int i = 0; i < 2000; i++)
			sum += (uint64_t)i;
	} while (at < until);
}

static void say_stack(int number, siginfo_t *info, void *context)
{
	printf("%s: %s stack, sent %d, context %d\n", sigabbrev_np(number), stack_of(&number),
	       info->si_pid == getpid(), context != NULL);
}

static void with_room(int number)
{
	stack_t now;

	sigaltstack(NULL, &now);
	printf("%s: %s stack, alternate %d\n", sigabbrev_np(number), stack_of(&number),
	       !(now.ss_flags & SS_DISABLE));
	if (!strcmp(stack_of(&number), "own"))
		use_room();
	burn(3);
}

static void inner(int number)
{
	printf("%s inside: %s stack\n", sigabbrev_np(number), stack_of(&number));
}

static void outer(int number)
{
	raise(SIGUSR2);
	with_room(number);
	raise(SIGUSR2);
}

static void jump(int number)
{
	use_room();
	siglongjmp(back_here, number);
}

static void set(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, back;

	sigaction(number, &action, NULL);
	sigaction(number, NULL, &back);
	if (back.sa_handler != handler || (back.sa_flags & ~RESTORER) != flags)
		printf("%s: not read back\n", sigabbrev_np(number));
}

static void handlers(void)
{
	struct sigaction action = {.sa_sigaction = say_stack, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	set(SIGUSR1, with_room, SA_ONSTACK);
	set(SIGUSR2, inner, SA_ONSTACK);
	set(SIGTRAP, inner, 0);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		raise(SIGUSR1);
		burn(2);
	}
	raise(SIGALRM);
	raise(SIGTRAP);
	set(SIGTRAP, with_room, SA_ONSTACK);
	raise(SIGTRAP);
	set(SIGTRAP, inner, 0);
	set(SIGUSR1, outer, SA_ONSTACK);
	raise(SIGUSR1);
	set(SIGUSR1, jump, SA_ONSTACK);
	for (volatile int i = 0; i < ROUNDS; i++)
		if (!sigsetjmp(back_here, 1))
			raise(SIGUSR1);
	set(SIGUSR1, with_room, SA_ONSTACK | (int)SA_RESETHAND);
	raise(SIGUSR1);
	printf("signal gives the old ones: %d %d\n", signal(SIGUSR1, SIG_DFL) == SIG_DFL,
	       signal(SIGUSR2, SIG_DFL) == inner);
}

static double numbers[4];
static volatile int interruptions;

static void spoil(int number)
{
	volatile double other = 7.25;

	(void)number;
	for (int i = 0; i < 100; i++)
		other = other * 1.5 - other;
	interruptions++;
}

/* Registers of floating point, at whatever instruction the signal comes. */
static void keeps_numbers(void)
{
	const struct itimerspec often = {{0, 200000}, {0, 200000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	double a = 1, b = 2, c = 3, d = 4;
	timer_t timer;

	set(SIGUSR1, spoil, SA_ONSTACK | SA_RESTART);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &often, NULL);
	while (interruptions < 200)
		for (int i = 0; i < 1000; i++) {
			a += 1;
			b += 2;
			c += 3;
			d += 4;
		}
	timer_delete(timer);
	numbers[0] = a;
	numbers[1] = (b - 2) / 2 + 1;
	numbers[2] = (c - 3) / 3 + 1;
	numbers[3] = (d - 4) / 4 + 1;
	printf("kept: %d %d %d\n", numbers[1] == numbers[0], numbers[2] == numbers[0],
	       numbers[3] == numbers[0]);
}

static void *with_alternate(void *name)
{
	stack_t stack = {.ss_sp = malloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES};
	const stack_t none = {.ss_flags = SS_DISABLE};

	printf("-- %s, with an alternate stack\n", (char *)name);
	sigaltstack(&stack, NULL);
	handlers();
	sigaltstack(&none, NULL);
	free(stack.ss_sp);
	return NULL;
}

static void *without(void *name)
{
	printf("-- %s, without an alternate stack\n", (char *)name);
	handlers();
	return NULL;
}

static void in_thread(void *(*body)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, body, "thread");
	pthread_join(thread, NULL);
}

static void choices(void)
{
	without("main");
	in_thread(without);
	in_thread(with_alternate);
	in_thread(without); /* now that another one has had one */
	with_alternate("main");
	without("main");
	keeps_numbers();
	raise(SIGHUP);
	printf("the first handler of all: %d\n", early_seen());
}

static void on_overflow(int number)
{
	static const char text[] = "handled\n";

	(void)number;
	_exit(write(1, text, sizeof(text) - 1) != sizeof(text) - 1);
}

static __attribute__((noinline)) uint64_t without_end(uint64_t depth)
{
	volatile char page[1024];

	page[0] = (char)depth;
	return without_end(depth + 1) + (uint64_t)page[0];
}

static void *overflow_in(void *flags)
{
	burn(BURN_MS);
	fflush(stdout);
	set(SIGSEGV, on_overflow, *(const int *)flags);
	return (void *)(uintptr_t)without_end(0);
}

/* There is nowhere to handle it: the end. */
static void overflow(int flags)
{
	pthread_t thread;

	pthread_create(&thread, NULL, overflow_in, &flags);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (argc > 1 && !strcmp(argv[1], "overflow"))
		overflow(SA_ONSTACK);
	else if (argc > 1 && !strcmp(argv[1], "overflow_again"))
		overflow(SA_ONSTACK | SA_NODEFER);
	else
		choices();
	return 0;
}

#endif
