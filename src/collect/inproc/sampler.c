/* SPDX-License-Identifier: Apache-2.0
 *
 * The signal handler: one sample of the thread it interrupts. All signals are blocked while it runs. A sample
 * weighs the CPU time of its thread since the previous one, less what this handler took, so that sums
 * are right however often a trigger really fires.
 */
#include "collect/inproc/sampler_state.h"

#include <errno.h>
#include <time.h>

#include "base/rt/syscall.h"
#include "collect/inproc/sampler_registers.h"

static uint64_t thread_cpu_ns(void)
{
	struct timespec now = {0};

	st_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* When the latest pause ended; 0: there was none. */
static uint64_t resumed(void)
{
	uint64_t own = atomic_load_explicit(&st_process->resume_ticks, memory_order_relaxed);
	uint64_t by_strata = atomic_load_explicit(&st_header()->resumed, memory_order_relaxed);

	return own > by_strata ? own : by_strata;
}

/* CPU time of a pause belongs to no sample, nor does what a thread used before anybody looked. */
static bool is_nominal(const struct st_sampler *sampler)
{
	if (sampler->after_pause)
		return true;
	if (sampler->first && st_sampling->late)
		return true;
	return resumed() > sampler->written_time;
}

static uint32_t weigh(struct st_sampler *sampler, uint64_t cpu_ns, uint32_t *flags)
{
	uint64_t weight = cpu_ns > sampler->cpu_ns ? cpu_ns - sampler->cpu_ns : 0;

	if (is_nominal(sampler) && weight > st_sampling->nominal_ns) {
		*flags |= ST_SAMPLE_WEIGHT_NOMINAL;
		weight = st_sampling->nominal_ns;
		sampler->cpu_ns = cpu_ns - weight;
	}
	return weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
}

static void take(struct st_sampler *sampler, const void *context)
{
	struct st_registers at = st_registers_of(context);
	uint64_t cpu_ns = thread_cpu_ns();
	uint32_t now = sampler->current, flags = 0, weight;

	weight = weigh(sampler, cpu_ns, &flags);
	st_sampler_native(sampler, now)[0] = at.pc;
	sampler->native_count[now] = 1;
	sampler->python_count[now] = 0;
	flags |= ST_SAMPLE_NO_STACK;
	if (st_sampler_write(sampler, flags, weight)) {
		sampler->cpu_ns += weight;
		sampler->after_pause = false;
		sampler->first = false;
	}
	sampler->cpu_ns += thread_cpu_ns() - cpu_ns;
}

static bool is_paused(void)
{
	const struct st_shm_header *header = st_header();

	return header && atomic_load_explicit(&header->control, memory_order_relaxed);
}

static void sample(const void *context)
{
	uint64_t start = st_ticks();
	struct st_sampler *sampler;

	if (atomic_load_explicit(&st_process->state, memory_order_relaxed) == ST_PROCESS_OFF ||
	    st_passive())
		return;
	sampler = st_sampler_mine();
	if (!sampler)
		return;
	if (is_paused()) {
		sampler->after_pause = true;
		return;
	}
	st_note_running();
	sampler->time = start;
	take(sampler, context);
	sampler->handler_ticks = st_ticks() - start;
}

void st_sampler_handler(int signal, siginfo_t *info, void *context)
{
	int saved = errno;

	if (!st_sampler_is_trigger(signal, info))
		st_sampler_pass_on(signal, info, context);
	else if (!st_sampler_settings.empty)
		sample(context);
	errno = saved;
}
