/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread's own stack ends at a place that is known without asking: that of the first thread where the program was
 * entered, those of others at their descriptor, which libc puts at the top of the stack. Whether everything
 * between is there is tried once for each page, with a read that cannot fault; it stays there as long as the
 * thread lives. A stack pointer elsewhere (alternate stack, fibre) may be anywhere and vanish at any time: such
 * stacks are copied.
 */
#include "collect/inproc/sampler/sampler_stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include "base/rt/syscall.h"

enum {
	PAGE = 4096,
	PAGES_PER_READ = 128,
	READS_PER_SAMPLE = 4,
	THREAD_STACK_MAX = 64 << 20,
	MAIN_STACK_MAX = 256 << 20,
};

struct piece {
	void *at;
	size_t size_bytes;
};

static uint64_t main_high, main_limit;

void st_stack_init(char *const *argv)
{
	struct {
		uint64_t soft, hard;
	} limit = {0};
	uint64_t size_bytes = MAIN_STACK_MAX;

	if (!argv)
		return;
	if (!st_syscall(SYS_prlimit64, 0, RLIMIT_STACK, 0, &limit) && limit.soft < size_bytes)
		size_bytes = limit.soft;
	/* The program is entered with nothing but their number below the arguments. */
	main_high = (uint64_t)argv;
	main_limit = main_high > size_bytes ? main_high - size_bytes : 0;
}

/* One byte of each page below `high`; how many pages from there downwards can be read. */
static uint32_t readable_pages(struct st_inproc_sampler *sampler, uint64_t high, uint32_t count)
{
	struct piece *remote = st_sampler_scratch(sampler);
	struct piece local = {remote + PAGES_PER_READ, count};
	long got;

	for (uint32_t i = 0; i < count; i++)
		remote[i] = (struct piece){(void *)(high - (uint64_t)(i + 1) * PAGE), 1};
	got = st_syscall(SYS_process_vm_readv, st_sampling->pid, &local, 1, remote, count, 0);
	return got > 0 ? (uint32_t)got : 0;
}

/* Extends what is known to be readable down to sp; false when it does not get there. */
static bool reach(struct st_inproc_sampler *sampler, uint64_t sp)
{
	uint64_t low = sp & ~(uint64_t)(PAGE - 1);

	for (uint32_t i = 0; i < READS_PER_SAMPLE && low < sampler->stack_low; i++) {
		uint64_t pages = (sampler->stack_low - low) / PAGE;
		uint32_t count = pages < PAGES_PER_READ ? (uint32_t)pages : PAGES_PER_READ;
		uint32_t got = readable_pages(sampler, sampler->stack_low, count);

		sampler->stack_low -= (uint64_t)got * PAGE;
		if (got < count)
			break;
	}
	return low >= sampler->stack_low;
}

static void find_top(struct st_inproc_sampler *sampler, uint64_t sp)
{
	if (sampler->out.tid == st_sampling->pid) {
		sampler->stack_high = main_high;
		sampler->stack_limit = main_limit;
	} else {
		sampler->stack_high = (uint64_t)pthread_self();
		sampler->stack_limit = sampler->stack_high > THREAD_STACK_MAX
					       ? sampler->stack_high - THREAD_STACK_MAX
					       : 0;
	}
	/* A first thread that was forked off by another one of the parent runs on that one's stack. */
	if (sp >= sampler->stack_high || sp < sampler->stack_limit) {
		uint64_t other = (uint64_t)pthread_self();

		if (sp < other && other - sp < THREAD_STACK_MAX) {
			sampler->stack_high = other;
			sampler->stack_limit = other - THREAD_STACK_MAX;
		}
	}
	/* The page of the top itself is looked at, too. */
	sampler->stack_low = (sampler->stack_high + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static bool copy(struct st_inproc_sampler *sampler, uint64_t sp, struct st_stack *out)
{
	struct piece local = {st_sampler_scratch(sampler), ST_SAMPLER_SCRATCH_BYTES};
	struct piece remote = {(void *)sp, ST_SAMPLER_SCRATCH_BYTES};
	long got = st_syscall(SYS_process_vm_readv, st_sampling->pid, &local, 1, &remote, 1, 0);

	if (got <= 0)
		return false;
	*out = (struct st_stack){.low = sp,
				 .high = sp + (uint64_t)got,
				 .bytes = st_sampler_scratch(sampler),
				 .copied = true};
	return true;
}

bool st_stack_of(struct st_inproc_sampler *sampler, uint64_t sp, struct st_stack *out)
{
	if (!sampler->stack_low)
		find_top(sampler, sp);
	if (sp < sampler->stack_high && sp >= sampler->stack_limit && reach(sampler, sp)) {
		*out = (struct st_stack){
			.low = sp, .high = sampler->stack_high, .bytes = (const uint8_t *)sp};
		return true;
	}
	return copy(sampler, sp, out);
}
