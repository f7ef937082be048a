/* SPDX-License-Identifier: Apache-2.0
 *
 * The signal handler: one sample of the thread it interrupts. All signals are blocked while it runs. A sample
 * weighs the CPU time of its thread since the previous one, from which the reader takes away what the handler
 * took, so that sums are right however often a trigger really fires.
 */
#include "collect/inproc/sampler/sampler_state.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/rt/syscall.h"
#include "collect/inproc/python/python_frames.h"
#include "collect/inproc/sampler/sampler_birth.h"
#include "collect/inproc/sampler/sampler_modules.h"
#include "collect/inproc/sampler/sampler_registers.h"
#include "collect/inproc/sampler/sampler_stack.h"
#include "collect/inproc/sampler/sampler_trigger.h"
#include "unwind/rt/walk.h"

enum { UNASKED_MAX = 7, REST_PERIODS = 4 };

#define ST_FRAME_ADDRESS (~(ST_FRAME_WORD_RECOVERED | ST_FRAME_WORD_EXACT))

/* When the latest pause ended; 0: there was none. */
static uint64_t resumed(void)
{
	uint64_t own = atomic_load_explicit(&st_process->resume_ticks, memory_order_relaxed);
	uint64_t by_strata = atomic_load_explicit(&st_header()->resumed, memory_order_relaxed);

	return own > by_strata ? own : by_strata;
}

/* CPU time of a pause belongs to no sample, nor does what a thread used before anybody looked. */
static bool is_nominal(const struct st_inproc_sampler *sampler)
{
	if (sampler->after_pause)
		return true;
	if (sampler->first && (st_sampling->late || st_phase_began_paused()))
		return true;
	return resumed() > sampler->written_time;
}

/* A thread's clock is a question to the kernel. An event that counts CPU time has told the answer, as long as
 * none can have been missed; what that is wrong by is made good with the next question. Events may also come faster than
 * the clock runs: the kernel hands one on when a thread gives way to another one of the process, and it counts what
 * interrupts and the host have taken. A weight cannot be negative, so the clock is asked until it has caught up. */
static uint64_t clock_of(struct st_inproc_sampler *sampler)
{
	uint64_t ticks = st_sampler_settings.period_ticks, cpu_ns;
	uint32_t rung = atomic_load_explicit(&st_sampling->armed, memory_order_relaxed);

	if ((rung == ST_RUNG_SIGTRAP || rung == ST_RUNG_SIGTRAP_USER) && !sampler->by_timer &&
	    sampler->unasked < UNASKED_MAX && ticks && !is_nominal(sampler) &&
	    sampler->out.time - sampler->written_time < ticks + ticks / 2) {
		sampler->unasked++;
		return sampler->cpu_ns + st_sampling->nominal_ns;
	}
	cpu_ns = st_sampler_cpu_ns();
	sampler->unasked = cpu_ns < sampler->cpu_ns + st_sampling->nominal_ns / 2 ? UNASKED_MAX : 0;
	return cpu_ns;
}

void st_sampler_carry(const struct st_inproc_sampler *sampler)
{
	uint64_t cpu_ns;

	if (st_passive() || is_nominal(sampler))
		return;
	cpu_ns = st_sampler_cpu_ns();
	if (cpu_ns > sampler->cpu_ns)
		st_phase_carry(cpu_ns - sampler->cpu_ns);
}

static uint32_t weigh(struct st_inproc_sampler *sampler, uint64_t cpu_ns, uint32_t *flags)
{
	uint64_t weight = cpu_ns > sampler->cpu_ns ? cpu_ns - sampler->cpu_ns : 0;

	/* A timer is set at a thread's start, and not in a pause: whatever it counts is to be seen. */
	if (sampler->first && (sampler->by_timer || !is_nominal(sampler))) {
		*flags |= ST_SAMPLE_WEIGHT_NOMINAL;
		weight = st_phase_first_ns(weight, sampler->by_timer);
		sampler->cpu_ns = cpu_ns - weight;
	} else if (is_nominal(sampler) && weight > st_sampling->nominal_ns) {
		*flags |= ST_SAMPLE_WEIGHT_NOMINAL;
		weight = st_sampling->nominal_ns;
		sampler->cpu_ns = cpu_ns - weight;
	}
	return weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
}

static bool read_code(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	(void)arg;
	return st_sampler_read(address, out, size_bytes);
}

/* Code that nobody has told strata about: just loaded, or made at run time. */
static void report_unknown(const struct st_modules_view *view, struct st_walk *walk)
{
	bool known = true;

	if (walk->flags & ST_SAMPLE_TRUNCATED && walk->missing_pc &&
	    !st_modules_known(view, walk->missing_pc)) {
		walk->flags |= ST_SAMPLE_NO_TABLE;
		return;
	}
	for (uint32_t i = 0; known && i < walk->frame_count; i++)
		known = st_modules_known(view, walk->frames[i] & ST_FRAME_ADDRESS);
}

static uint32_t walk_native(struct st_inproc_sampler *sampler, const struct st_registers *at)
{
	struct st_walk walk = {.pc = at->pc,
			       .sp = at->sp,
			       .fp = at->fp,
			       .bx = at->bx,
			       .context = at->all,
			       .cache = st_sampler_cache(sampler),
			       .read_code = read_code,
			       .frames = st_sampler_native(sampler, sampler->current),
			       .frames_max = st_sampler_settings.depth};
	struct st_modules_view view;
	struct st_stack stack;

	if (!st_stack_of(sampler, at->sp, &stack)) {
		walk.frames[0] = at->pc;
		sampler->native_count[sampler->current] = 1;
		return ST_SAMPLE_TRUNCATED;
	}
	walk.stack_low = stack.low;
	walk.stack_high = stack.high;
	walk.stack = stack.bytes;
	st_modules_acquire(&view);
	walk.modules = view.modules;
	walk.generation = view.generation;
	/* A scan would find callers where a table is only not mapped yet. */
	walk.recover = view.complete;
	st_walk_run(&walk);
	if (walk.flags & (ST_SAMPLE_TRUNCATED | ST_SAMPLE_RECOVERED))
		report_unknown(&view, &walk);
	st_modules_release(&view);
	sampler->native_count[sampler->current] = walk.frame_count;
	return walk.flags;
}

static uint32_t walk_python(struct st_inproc_sampler *sampler, const struct st_registers *at)
{
	bool own = at->sp >= sampler->stack_low && at->sp < sampler->stack_high;
	struct st_python_walk walk = {.ring = &sampler->out,
				      .generation = sampler->out.generation,
				      .thread = st_sampler_python_memory(sampler),
				      .scratch = st_sampler_scratch(sampler),
				      .pc = at->pc,
				      .first_thread = sampler->out.tid == st_sampling->pid,
				      .stack_low = own ? at->sp : 0,
				      .stack_high = own ? sampler->stack_high : 0,
				      .frames = st_sampler_python(sampler, sampler->current),
				      .frames_max = st_sampler_settings.depth};

	st_python_frames_walk(&walk);
	sampler->python_count[sampler->current] = walk.frame_count;
	return walk.flags;
}

static void take(struct st_inproc_sampler *sampler, const void *context)
{
	struct st_registers at = st_registers_of(context);
	uint64_t cpu_ns = clock_of(sampler), took;
	uint32_t now = sampler->current, flags = 0, weight;

	weight = weigh(sampler, cpu_ns, &flags);
	if (st_sampler_settings.stacks) {
		flags |= walk_native(sampler, &at);
		flags |= walk_python(sampler, &at);
	} else {
		st_sampler_native(sampler, now)[0] = at.pc;
		sampler->native_count[now] = 1;
		sampler->python_count[now] = 0;
		flags |= ST_SAMPLE_NO_STACK;
	}
	took = sampler->handler_ticks < UINT32_MAX ? sampler->handler_ticks : UINT32_MAX;
	if (st_sampler_write(sampler, flags, weight | took << 32)) {
		sampler->written_time = sampler->out.time;
		sampler->cpu_ns += weight;
		sampler->handler_ticks = 0;
		sampler->after_pause = false;
		sampler->first = false;
		if (sampler->by_timer)
			st_phase_done(false);
	}
}

static bool is_paused(void)
{
	const struct st_shm_header *header = st_header();

	return header && atomic_load_explicit(&header->control, memory_order_relaxed);
}

/* A thread made by clone without thread-local storage of its own: two would write into one ring. Its stack tells,
 * unless it is part of that of the thread whose storage it has. So the kernel is asked now and then all the same, and always
 * once there was such a thread. */
static bool is_stranger(struct st_inproc_sampler *sampler, const void *context)
{
	uint64_t sp = st_registers_of(context).sp;

	if (sp >= sampler->stack_low && sp < sampler->stack_high && sampler->unasked &&
	    !sampler->crowded)
		return false;
	if (sampler->out.tid == (uint32_t)st_syscall(SYS_gettid, 0))
		return false;
	sampler->crowded = true;
	return true;
}

/* A handler that takes as long as the time between two triggers would leave the program nothing: it would stand still
 * with the stack that takes so long. After two that take half of that, the program has as long to itself. One alone may
 * only have had to wait for a processor, which is also why it is not for ever. */
static void rest(struct st_inproc_sampler *sampler, uint64_t start)
{
	uint64_t most = REST_PERIODS * st_sampler_settings.period_ticks;
	uint64_t end = st_ticks(), took = end - start;
	bool was_long = sampler->is_long;

	sampler->handler_ticks += took;
	sampler->is_long = took > st_sampler_settings.period_ticks / 2;
	if (ST_UNLIKELY(sampler->is_long && was_long))
		sampler->rest_until = end + (took < most ? took : most);
}

static void sample(const void *context, bool by_timer)
{
	uint64_t start = st_ticks();
	struct st_inproc_sampler *sampler;

	if (atomic_load_explicit(&st_process->state, memory_order_relaxed) == ST_PROCESS_OFF ||
	    st_passive())
		return;
	sampler = st_sampler_mine();
	if (!sampler)
		return;
	/* Most of what a sample looks at has left the processor's caches since the previous one. It comes back
	 * while the kernel is asked. */
	if (st_sampler_settings.stacks) {
		st_walk_foresee(st_sampler_cache(sampler));
		st_python_frames_foresee(st_sampler_python_memory(sampler));
	}
	if (ST_UNLIKELY(start < sampler->rest_until) || is_stranger(sampler, context) ||
	    atomic_exchange_explicit(&sampler->busy, true, memory_order_acquire)) {
		st_sampler_count_not_taken();
		return;
	}
	sampler->by_timer = by_timer;
	if (is_paused()) {
		sampler->after_pause = true;
		if (by_timer)
			st_phase_done(true);
	} else {
		st_note_running();
		sampler->out.time = start;
		take(sampler, context);
		rest(sampler, start);
	}
	/* Pairs with the exchange above, of a stranger that nobody knows of yet. */
	atomic_store_explicit(&sampler->busy, false, memory_order_release);
}

/* Where this very code is, as a signal would have found it. */
static __attribute__((noinline)) void walk_here(struct st_inproc_sampler *sampler, uint32_t *flags)
{
	struct st_registers at = st_registers_here();

	*flags |= walk_native(sampler, &at);
	*flags |= walk_python(sampler, &at);
}

/* The frames inside of the function that waits are ours. */
static void leave_out_ours(struct st_inproc_sampler *sampler, uint64_t caller, uint32_t *flags)
{
	uint64_t *frames = st_sampler_native(sampler, sampler->current);
	uint32_t *count = &sampler->native_count[sampler->current], at = 0;

	while (at < *count && (frames[at] & ST_FRAME_ADDRESS) != caller)
		at++;
	if (at == *count) { /* a walk that has not come so far: its caller is known all the same */
		*flags |= ST_SAMPLE_TRUNCATED;
		at = *count - 1;
	}
	*count -= at;
	memmove(frames, frames + at, *count * sizeof(*frames));
	/* The first one counts as an instruction that was being executed: the call. */
	frames[0] = caller - 1;
}

void st_sampler_wait(uint64_t end, uint64_t took, const void *caller)
{
	uint64_t all = ~(uint64_t)0, mask = 0, start = st_ticks();
	struct st_inproc_sampler *sampler;
	uint32_t flags = ST_SAMPLE_WAITING;

	if (!st_sampling || !st_sampler_settings.period_ns || !st_sampler_settings.stacks ||
	    st_passive() || is_paused())
		return;
	sampler = st_sampler_mine();
	/* As in the handler: no signal may come, lest it jumps out of here. */
	if (!sampler || st_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask)))
		return;
	if (atomic_exchange_explicit(&sampler->busy, true, memory_order_acquire)) {
		st_sampler_count_not_taken();
	} else {
		sampler->out.time = end;
		walk_here(sampler, &flags);
		leave_out_ours(sampler, (uint64_t)(uintptr_t)caller, &flags);
		st_sampler_write(sampler, flags, took);
		sampler->handler_ticks += st_ticks() - start;
		atomic_store_explicit(&sampler->busy, false, memory_order_release);
	}
	st_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof(mask));
}

void st_sampler_handler(int signal, siginfo_t *info, void *context)
{
	int saved = errno;

	if (st_birth_handles(signal, info, context)) {
		errno = saved;
		return;
	}
	if (!st_sampler_is_trigger(signal, info)) {
		st_sampler_pass_on(signal, info, context);
	} else {
		if (!st_sampler_settings.empty && st_phase_admits(info))
			sample(context, info->si_code == SI_TIMER);
		st_sampler_restart(signal, context);
	}
	errno = saved;
}
