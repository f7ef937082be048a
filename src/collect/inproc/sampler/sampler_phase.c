/* SPDX-License-Identifier: Apache-2.0
 *
 * The first intervals of a thread. An event first fires after a whole interval of CPU time: threads and processes that
 * end before would never be sampled, however many there are. So a new thread gets a timer besides, whose first expiry lies
 * anywhere in the interval: each moment of each thread is as likely to be sampled as any other. What threads leave without
 * a sample at their end is carried to the next first sample of a thread, so that sums are right. A process can carry
 * nothing to others: its own first sample stands for a whole interval, though it may have run for less of it. The
 * thread's own event takes over when it has shown to live longer, and when there is one: it may come from strata, late.
 *
 * A timer of CPU time is looked at on the tick of the scheduler only, so the interval is a multiple of the tick; the tick
 * itself is the chance within it. Where threads are so short that a timer for each would cost more than they do,
 * some get one and stand for the others.
 */
#include "collect/inproc/sampler/sampler_trigger.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/rt/syscall.h"
#include "collect/inproc/sampler/sampler_state.h"

enum {
	NOTIFY_THREAD_ID = 4,
	CPU_CLOCK_OF_THREAD = 3,
	TICK_USUAL_NS = 4000000,
	SAMPLES_BY_TIMER = 4,	      /* the fifth interval is the event's */
	THREAD_FOR_TIMER_NS = 400000, /* of this CPU time a timer costs a hundredth */
	PASSED_OVER_MAX = 64,
	USUAL_SHIFT = 3, /* what a thread counts for in the usual CPU time: an eighth */
};

enum state {
	BY_EVENT = 0,
	BY_TIMER,
	PASSED_OVER, /* in its first interval, for which another thread stands */
	AFTER_PASSED_OVER,
};

/* struct sigevent as the kernel reads it. */
struct event {
	union sigval value;
	int signal;
	int notify;
	int tid;
	int padding[11];
};

static __thread struct {
	int timer; /* valid in BY_TIMER */
	uint8_t state;
	uint8_t left;	 /* samples; 0: without end */
	uint8_t threads; /* for which this one stands */
	bool began_paused : 1;
	bool has_event : 1; /* one of its signals has come */
} phase __attribute__((tls_model("initial-exec")));

/* Phases of successive threads keep as far apart as they can: fewer samples do for a sum. */
static _Atomic uint64_t sequence;

static uint64_t tick_ns(void)
{
	static _Atomic uint64_t known;
	uint64_t tick = atomic_load_explicit(&known, memory_order_relaxed);
	struct timespec resolution = {0};

	if (tick)
		return tick;
	if (!st_syscall(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &resolution))
		tick = (uint64_t)resolution.tv_nsec;
	if (!tick)
		tick = TICK_USUAL_NS;
	atomic_store_explicit(&known, tick, memory_order_relaxed);
	return tick;
}

/* An event that comes more often than the tick sees all but the shortest threads by itself. */
static bool is_faster_than_tick(void)
{
	return st_sampling->nominal_ns < tick_ns();
}

static uint64_t interval_ns(void)
{
	uint64_t tick = tick_ns();

	return (st_sampling->nominal_ns + tick - 1) / tick * tick;
}

/* For how many threads one that gets a timer stands. */
static uint32_t threads_for_timer(void)
{
	uint32_t usual = atomic_load_explicit(&st_sampling->thread_ns, memory_order_relaxed);

	if (!usual || usual >= THREAD_FOR_TIMER_NS)
		return 1;
	return THREAD_FOR_TIMER_NS / usual < PASSED_OVER_MAX ? THREAD_FOR_TIMER_NS / usual
							     : PASSED_OVER_MAX;
}

static uint64_t scramble(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static long create_timer(int signal, uint64_t first_ns, int *timer)
{
	struct event event = {.value.sival_ptr = &st_sampler_settings,
			      .signal = signal,
			      .notify = NOTIFY_THREAD_ID,
			      .tid = (int)st_syscall(SYS_gettid, 0)};
	struct itimerspec spec = {.it_interval = time_of(interval_ns()),
				  .it_value = time_of(first_ns)};
	int id = 0;
	long result = st_syscall(SYS_timer_create, CPU_CLOCK_OF_THREAD, &event, &id);

	if (result)
		return result;
	*timer = id;
	result = st_syscall(SYS_timer_settime, id, 0, &spec, 0);
	if (result)
		st_syscall(SYS_timer_delete, id);
	return result;
}

static long start_timer(int signal, uint64_t first_ns)
{
	long result;

	/* Before its first signal can come. */
	phase.state = BY_TIMER;
	result = create_timer(signal, first_ns, &phase.timer);
	if (result)
		phase.state = BY_EVENT;
	return result;
}

static bool is_paused(void)
{
	const struct st_shm_header *header = st_header();

	return header ? atomic_load_explicit(&header->control, memory_order_relaxed) != 0
		      : st_starts_paused();
}

void st_phase_note_pause(void)
{
	phase.began_paused = is_paused();
}

bool st_phase_began_paused(void)
{
	return phase.began_paused;
}

/* Timers are the process's: nobody but the thread's end takes them away. */
static bool may_have_timer(void)
{
	return st_config.key_valid || st_sampling->pid == (uint32_t)st_syscall(SYS_gettid, 0);
}

/* By turns, one of the ticks in the interval; the first tick after an expiry is the one that sees it. */
static uint64_t first_by_chance(uint64_t at)
{
	uint64_t tick = tick_ns(), first = ((at >> 32) * (interval_ns() / tick) >> 32) * tick;

	return first ? first : 1;
}

static uint64_t next_in_sequence(void)
{
	return atomic_fetch_add_explicit(&sequence, 0x9e3779b97f4a7c15u, memory_order_relaxed);
}

bool st_phase_can_wait(void)
{
	return !is_faster_than_tick() && !is_paused();
}

long st_phase_wait(int signal, int *timer)
{
	return create_timer(signal, first_by_chance(next_in_sequence()), timer);
}

long st_phase_begin(uint32_t rung, uint64_t first_ns)
{
	bool all = rung == ST_RUNG_THREAD_TIMER;
	uint64_t at;
	uint32_t threads = all ? 1 : threads_for_timer();
	long result;

	if (rung != ST_RUNG_THREAD_TIMER && rung != ST_RUNG_SIGTRAP && rung != ST_RUNG_SIGTRAP_USER)
		return 0;
	if (all ? !st_config.key_valid : !may_have_timer() || is_paused())
		return -EAGAIN;
	at = next_in_sequence();
	if (threads > 1 && scramble(at) % threads) {
		phase.state = is_faster_than_tick() ? BY_EVENT : PASSED_OVER;
		return 0;
	}
	phase.threads = (uint8_t)threads;
	phase.left = all ? 0 : SAMPLES_BY_TIMER;
	result = start_timer(all ? SIGPROF : SIGTRAP, first_ns ? first_ns : first_by_chance(at));
	if (!result && st_config.key_valid)
		pthread_setspecific(st_config.key, &phase);
	return result;
}

/* Forked children begin at the same point of the sequence, and processes at its beginning. */
void st_phase_forget(void)
{
	atomic_store_explicit(&sequence, st_ticks() * 0x9e3779b97f4a7c15u, memory_order_relaxed);
	phase.state = BY_EVENT;
	phase.has_event = false;
}

static void end_timer(void)
{
	phase.state = BY_EVENT;
	if (!st_passive())
		st_syscall(SYS_timer_delete, phase.timer);
}

bool st_phase_admits(const siginfo_t *info)
{
	if (info->si_code == SI_TIMER && phase.state == BY_TIMER && phase.left &&
	    is_faster_than_tick() && st_sampler_has_samples())
		end_timer();
	if (info->si_code == SI_TIMER)
		return phase.state == BY_TIMER;
	phase.has_event = true;
	if (phase.state == BY_TIMER)
		return is_faster_than_tick();
	if (phase.state != PASSED_OVER)
		return true;
	if (st_passive() || st_sampler_cpu_ns() < interval_ns())
		return false;
	phase.state = AFTER_PASSED_OVER;
	return true;
}

uint64_t st_phase_before_ns(void)
{
	return phase.state == AFTER_PASSED_OVER ? interval_ns() : 0;
}

void st_phase_carry(uint64_t cpu_ns)
{
	if (!is_paused())
		atomic_fetch_add_explicit(&st_sampling->carried_ns, cpu_ns, memory_order_relaxed);
}

uint64_t st_phase_first_ns(uint64_t own_ns, bool by_timer)
{
	uint64_t weight;

	if (st_sampling->tid == (uint32_t)st_syscall(SYS_gettid, 0))
		return by_timer ? interval_ns() : own_ns;
	weight = own_ns * (by_timer ? phase.threads : 1) +
		 atomic_exchange_explicit(&st_sampling->carried_ns, 0, memory_order_relaxed);
	if (weight > UINT32_MAX) {
		st_phase_carry(weight - UINT32_MAX);
		weight = UINT32_MAX;
	}
	return weight;
}

void st_phase_done(bool paused)
{
	if (phase.state != BY_TIMER || !phase.left)
		return;
	if (!paused && phase.left > 1)
		phase.left--;
	else if (paused || phase.has_event || !st_sampler_settings.own)
		end_timer();
}

static void learn_usual(uint64_t cpu_ns)
{
	uint32_t usual = atomic_load_explicit(&st_sampling->thread_ns, memory_order_relaxed);
	int64_t more;

	if (cpu_ns > UINT32_MAX >> 1)
		cpu_ns = UINT32_MAX >> 1;
	more = (int64_t)cpu_ns - (int64_t)usual;
	usual = usual ? (uint32_t)((int64_t)usual + more / (1 << USUAL_SHIFT)) : (uint32_t)cpu_ns;
	atomic_store_explicit(&st_sampling->thread_ns, usual ? usual : 1, memory_order_relaxed);
}

void st_phase_end(void)
{
	uint64_t cpu_ns;

	if (phase.state != BY_TIMER || !st_sampling || !st_sampling->pid || st_passive())
		return;
	end_timer();
	cpu_ns = st_sampler_cpu_ns();
	learn_usual(cpu_ns);
	if (!st_sampler_has_samples())
		st_phase_carry(cpu_ns * phase.threads);
}
