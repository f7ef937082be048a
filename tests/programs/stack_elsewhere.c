/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that points the stack pointer at data while it computes, as kernels made at run time do: whatever is
 * pushed then lands in the data. Runs in the first thread, in a new one, and in one that has set and taken away
 * an alternate stack; prints how many bytes were overwritten and fails if there are any.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DATA_BYTES = 64 << 10, FILL = 0x5a, ALTERNATE_BYTES = 64 << 10 };

static void spin_on(uint8_t *top)
{
#if defined(__x86_64__)
	/* About 3 ms; r12 is kept by whatever interrupts. */
	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %0, %%rsp\n\t"
			 "mov $3000000, %%rcx\n"
			 "1:\n\t"
			 "dec %%rcx\n\t"
			 "jnz 1b\n\t"
			 "mov %%r12, %%rsp"
			 :
			 : "r"(top)
			 : "r12", "rcx", "cc", "memory");
#else
	(void)top;
#endif
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t compute(void)
{
	uint8_t *data = malloc(DATA_BYTES);
	double end = cpu_seconds() + 0.3;
	size_t changed = 0;

	memset(data, FILL, DATA_BYTES);
	while (cpu_seconds() < end)
		spin_on(data + DATA_BYTES - 256);
	for (size_t i = 0; i < DATA_BYTES; i++)
		changed += data[i] != FILL;
	free(data);
	return changed;
}

static void *in_thread(void *changed)
{
	*(size_t *)changed = compute();
	return NULL;
}

/* What the program sees of alternate stacks is what it did itself. */
static void *with_own_stack(void *changed)
{
	stack_t mine = {.ss_sp = malloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES};
	stack_t none = {.ss_flags = SS_DISABLE}, seen;

	if (sigaltstack(NULL, &seen) || !(seen.ss_flags & SS_DISABLE))
		exit(2);
	if (sigaltstack(&mine, &seen) || !(seen.ss_flags & SS_DISABLE))
		exit(3);
	if (sigaltstack(&none, &seen) || seen.ss_sp != mine.ss_sp)
		exit(4);
	if (sigaltstack(NULL, &seen) || !(seen.ss_flags & SS_DISABLE))
		exit(5);
	free(mine.ss_sp);
	*(size_t *)changed = compute();
	return NULL;
}

int main(void)
{
	void *(*const kinds[])(void *) = {in_thread, with_own_stack};
	size_t total = compute();

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t changed = 0;
		pthread_t thread;

		if (pthread_create(&thread, NULL, kinds[i], &changed))
			return 6;
		pthread_join(thread, NULL);
		total += changed;
	}
	printf("%zu\n", total);
	return total != 0;
}
