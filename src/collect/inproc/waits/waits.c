/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits as they are told by the library of waits. Before a thread blocks, the wait is noted in its slot, where strata finds it
 * should the process be killed; when it has ended it becomes one record. Waits too short for that, those that are not long where
 * there are many, and all of them while the ring is half full, are only added up by object, so that time and number are right
 * whatever happens. The marks against
 * interruption are those of tasks: hot.limit 0 while the thread's state is in use.
 */
#include "collect/inproc/waits/waits.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/words.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/python/python_line.h"
#include "collect/inproc/sampler/sampler.h"
#include "collect/inproc/waits/gil.h"
#include "collect/inproc/waits/objects.h"
#include "collect/inproc/waits/regions.h"
#include "collect/inproc/waits/seam.h"

#define ST_EXPORT __attribute__((visibility("default")))

enum {
	SHORT_PARTS =
		500, /* of a ms: 2 us. Such a wait took longer to begin and to end than to wait */
	IO_PARTS = 125, /* 8 us: a file in memory is read, an empty pipe is waited for */
	SUM_MS = 10,
	LONG_PARTS = 10,   /* 100 us: longer ones always have a record */
	TOLD_MAX = 32,	   /* others of a thread that have one, in a window of time */
	WAKES_MAX = 96,	   /* as many as may belong to them */
	RECORD_BYTES = 64, /* one of ours, with a time in front of it */
};

struct st_waits_settings st_waits_settings;
static uint64_t stack_us;

bool st_waits_enter_to_write(struct st_waits_entered *in)
{
	in->limit = 0;
	in->thread = st_thread_enter(ST_LOSS_EVENT);
	return in->thread;
}

/* For who writes nothing into the ring: in a thread that is known, with no more than two stores. `in_wait`: whether the thread is
 * expected to be in a wait; one that is not is a case for the slow path. */
bool st_waits_enter(struct st_waits_entered *in, bool in_wait)
{
	struct st_hot *hot = st_tls;
	struct st_thread *thread = (struct st_thread *)hot;

	in->limit = st_words_take_limit(hot);
	if (ST_UNLIKELY(!in->limit))
		return st_waits_enter_to_write(in);
	in->thread = thread;
	if (ST_LIKELY(thread->identified &&
		      in_wait == (atomic_load_explicit(&thread->slot->wait.begin,
						       memory_order_relaxed) != 0)))
		return true;
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = in->limit;
	return st_waits_enter_to_write(in);
}

void st_waits_leave(const struct st_waits_entered *in)
{
	if (in->limit) {
		atomic_signal_fence(memory_order_seq_cst);
		in->thread->hot.limit = in->limit;
		return;
	}
	st_thread_set_limit(in->thread);
	st_thread_leave(in->thread);
}

bool st_waits_paused(const struct st_thread *thread)
{
	return atomic_load_explicit(thread->hot.control, memory_order_relaxed);
}

/* Waits give way while tasks still have room. */
bool st_waits_room(const struct st_thread *thread, uint64_t records)
{
	uint64_t tail = atomic_load_explicit(&thread->ring->tail, memory_order_relaxed);

	return thread->hot.head + records * RECORD_BYTES - tail <= thread->ring_bytes / 2;
}

bool st_waits_put(struct st_thread *thread, enum st_event_kind kind, uint32_t detail,
		  uint64_t object, uint64_t extra, uint64_t ticks)
{
	return st_event_put(thread, &(struct st_record){.kind = kind,
							.mask = ST_FIELD_VALUE | ST_FIELD_EXTRA,
							.detail = detail,
							.value = object,
							.extra = extra,
							.ticks = ticks});
}

uint64_t st_waits_sum_records(const struct st_wait_sum *sum)
{
	return 1 + sum->count / ST_WAIT_COUNT_MAX;
}

void st_waits_put_sum(struct st_thread *thread, enum st_event_kind kind, struct st_wait_sum *sum)
{
	while (sum->count &&
	       st_waits_put(thread, kind, st_wait_sum_detail(sum->kind, sum->outcome, sum->count),
			    sum->object, sum->ticks, 0)) {
		sum->count -= st_wait_sum_part(sum->count);
		sum->ticks = 0;
	}
}

/* Tells what was added up; nothing, as long as there is no room. */
static void tell_sums(struct st_thread *thread)
{
	struct st_wait_sums *sums = &thread->waits;
	uint64_t records = 0;

	for (uint32_t i = 0; i < sums->count; i++)
		records += st_waits_sum_records(&sums->sum[i]);
	if (!records || !st_waits_room(thread, records))
		return;
	for (uint32_t i = 0; i < sums->count; i++)
		st_waits_put_sum(thread, ST_EVENT_WAIT_SUM, &sums->sum[i]);
	sums->count = 0;
	atomic_store_explicit(&thread->slot->wait.short_count, 0, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->wait.short_ticks, 0, memory_order_relaxed);
}

static struct st_wait_sum *find_sum(struct st_wait_sums *sums, const struct st_open_wait *wait,
				    enum st_wait_outcome outcome)
{
	for (uint32_t i = 0; i < sums->count; i++)
		if (sums->sum[i].object == wait->object && sums->sum[i].kind == wait->kind &&
		    sums->sum[i].outcome == outcome)
			return &sums->sum[i];
	return NULL;
}

static struct st_wait_sum *sum_of(struct st_wait_sums *sums, const struct st_open_wait *wait,
				  enum st_wait_outcome outcome)
{
	struct st_wait_sum *sum = find_sum(sums, wait, outcome);

	if (sum)
		return sum;
	if (sums->count == ST_WAIT_SUMS) { /* the last one is of all that found no place */
		sum = &sums->sum[ST_WAIT_SUMS - 1];
		sum->kind = 0;
		sum->outcome = 0;
		sum->object = 0;
		return sum;
	}
	sum = &sums->sum[sums->count++];
	*sum = (struct st_wait_sum){
		.object = wait->object, .kind = (uint16_t)wait->kind, .outcome = (uint16_t)outcome};
	return sum;
}

void st_waits_add_up(struct st_thread *thread, const struct st_open_wait *wait,
		     enum st_wait_outcome outcome, uint64_t end)
{
	struct st_wait_sums *sums = &thread->waits;
	struct st_shm_wait *shared = &thread->slot->wait;
	uint64_t took = end > wait->begin ? end - wait->begin : 0;
	struct st_wait_sum *sum;

	if (!sums->count)
		sums->since = end;
	sum = sum_of(sums, wait, outcome);
	sum->count++;
	sum->ticks += took;
	atomic_store_explicit(&shared->short_count,
			      atomic_load_explicit(&shared->short_count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_store_explicit(&shared->short_ticks,
			      atomic_load_explicit(&shared->short_ticks, memory_order_relaxed) +
				      took,
			      memory_order_relaxed);
}

uint64_t st_waits_least(uint32_t kind)
{
	return st_wait_class_of(kind) == ST_WAITS_IO ? st_waits_settings.io
						     : st_waits_settings.least;
}

static bool is_long(uint64_t took)
{
	return took >= st_waits_settings.long_enough;
}

/* Whether the thread has told so many lately that this one is only added up, with those for the same object
 * that ended alike. */
static bool is_one_of_many(struct st_wait_sums *sums, const struct st_open_wait *wait,
			   enum st_wait_outcome outcome, uint64_t end)
{
	return sums->told >= TOLD_MAX && !is_long(end - wait->begin) &&
	       sums->told_window == end >> st_waits_settings.window &&
	       (sums->count < ST_WAIT_SUMS || find_sum(sums, wait, outcome));
}

static void count_told(struct st_wait_sums *sums, uint64_t end)
{
	if (sums->told_window != end >> st_waits_settings.window) {
		sums->told_window = end >> st_waits_settings.window;
		sums->told = 0;
	}
	sums->told++;
}

static bool is_due(const struct st_thread *thread, uint64_t now)
{
	return thread->waits.count && now - thread->waits.since > st_waits_settings.sum;
}

/* A thread without storage of its own, as that between vfork and exec, writes nothing into another's ring. */
bool st_waits_stranger(const struct st_thread *thread)
{
	return !st_passive() && thread->tid != (uint32_t)st_syscall(SYS_gettid, 0);
}

static bool put_wait(struct st_thread *thread, const struct st_open_wait *wait,
		     enum st_wait_outcome outcome, uint64_t end)
{
	return st_waits_room(thread, 1) &&
	       st_waits_put(thread, ST_EVENT_WAIT, wait->kind | (uint32_t)outcome << ST_WAIT_SHIFT,
			    wait->object, end - wait->begin, end);
}

/* The wait that stands in the slot, which is no more: its end is a guess. Not of an owner who has never waited. */
static void give_up(struct st_thread *thread, enum st_wait_outcome outcome, uint64_t now)
{
	struct st_shm_wait *shared = &thread->slot->wait;
	struct st_open_wait left = {
		.begin = atomic_load_explicit(&shared->begin, memory_order_relaxed),
		.object = atomic_load_explicit(&shared->object, memory_order_relaxed),
		.kind = atomic_load_explicit(&shared->kind, memory_order_relaxed)};

	atomic_store_explicit(&shared->begin, 0, memory_order_relaxed);
	thread->waits.takes_gil = false;
	if (!left.begin || !thread->waits.frame || st_waits_paused(thread) ||
	    st_waits_stranger(thread))
		return;
	if (!put_wait(thread, &left, outcome, now))
		st_waits_add_up(thread, &left, outcome, now);
}

/* Whether the frame of the open wait, further up than the caller's, is still that of a wait. On the same stack there may be anything
 * else by now; on another one, of a fibre, there may be no memory any more. So the kernel is asked to compare: to requeue nobody at a
 * futex says no more than whether its word is the expected one, and does not wait. */
static bool frame_is_there(const struct st_thread *thread)
{
	uintptr_t frame = thread->waits.frame;
	uint64_t begin = atomic_load_explicit(&thread->slot->wait.begin, memory_order_relaxed);

	/* Without a frame: waits of OpenMP's, and one for Python's lock, which goes on between the calls. */
	if (frame == UINTPTR_MAX || thread->waits.takes_gil || st_passive())
		return true;
	return !st_syscall(SYS_futex, frame + offsetof(struct st_open_wait, begin),
			   FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 0, frame, (uint32_t)begin);
}

/* A handler on an alternate stack, which may lie above that of the wait that it interrupts. */
static bool is_on_another_stack(uintptr_t frame)
{
	stack_t now = {0};

	return !st_passive() && !st_syscall(SYS_sigaltstack, 0, &now) &&
	       now.ss_flags & SS_ONSTACK && frame - (uintptr_t)now.ss_sp >= now.ss_size;
}

/* A wait whose frame has gone was left by longjmp, an exception or cancellation; one further out goes on below this one. */
static bool begin_inside(struct st_thread *thread, const struct st_open_wait *wait)
{
	uintptr_t frame = thread->waits.frame;

	if (!atomic_load_explicit(&thread->slot->wait.begin, memory_order_relaxed))
		return false;
	if ((uintptr_t)wait < frame ? frame_is_there(thread) : is_on_another_stack(frame))
		return true;
	give_up(thread, ST_WAIT_ABANDONED, st_ticks());
	return false;
}

ST_EXPORT bool strata_wait_begin(struct st_open_wait *wait)
{
	struct st_shm_wait *shared;
	struct st_waits_entered in;
	bool inside;

	wait->begin = 0;
	if (!st_waits_settings.per_ms)
		return false;
	if (st_wait_has_address(wait->kind) && ST_UNLIKELY(st_wait_maker_is_untold(wait->object)))
		st_wait_tell_maker(wait->object);
	if (!st_waits_enter(&in, false))
		return false;
	if (wait->beside)
		st_gil_recognize(wait);
	shared = &in.thread->slot->wait;
	if (wait->kind == ST_WAIT_GIL && in.thread->waits.takes_gil) { /* the same one goes on */
		wait->begin = atomic_load_explicit(&shared->begin, memory_order_relaxed);
		st_waits_leave(&in);
		return true;
	}
	inside = begin_inside(in.thread, wait);
	if (!inside) {
		/* Who waits for ever has told nothing else. */
		if (!in.thread->identified && !st_waits_paused(in.thread))
			st_thread_tell(in.thread);
		wait->begin = st_ticks();
		in.thread->waits.frame = (uintptr_t)wait;
		in.thread->waits.was_paused = st_waits_paused(in.thread);
		atomic_store_explicit(&shared->object, wait->object, memory_order_relaxed);
		atomic_store_explicit(&shared->kind, wait->kind, memory_order_relaxed);
		atomic_store_explicit(&shared->begin, wait->begin, memory_order_release);
	}
	st_waits_leave(&in);
	return !inside;
}

static void tell_due_sums(uint64_t now)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	if (is_due(thread, now))
		tell_sums(thread);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

/* Whether the calling thread writes nothing of the wait into its ring. Its state is only looked at: nobody else writes it. */
static bool is_added_up(const struct st_open_wait *wait, enum st_wait_outcome outcome, uint64_t end,
			uint64_t took)
{
	struct st_hot *hot = st_tls;

	return took < st_waits_least(wait->kind) ||
	       (hot && hot->data &&
		is_one_of_many(&((struct st_thread *)hot)->waits, wait, outcome, end));
}

/* Whether it was told; the wait has been taken out of the slot. */
bool st_waits_record(struct st_thread *thread, const struct st_open_wait *wait,
		     enum st_wait_outcome outcome, uint64_t end)
{
	bool many = is_one_of_many(&thread->waits, wait, outcome, end);

	if (!many && st_waits_stranger(thread))
		return false;
	if (!many && put_wait(thread, wait, outcome, end)) {
		if (!is_long(end - wait->begin))
			count_told(&thread->waits, end);
		return true;
	}
	st_waits_add_up(thread, wait, outcome, end);
	return false;
}

ST_EXPORT void strata_wait_end(struct st_open_wait *wait, enum st_wait_outcome outcome)
{
	uint64_t end, took;
	bool told = false, due = false, wanted;
	int saved = errno;
	struct st_waits_entered in;

	if (!wait->begin)
		return;
	end = st_ticks();
	took = end > wait->begin ? end - wait->begin : 0;
	if (is_added_up(wait, outcome, end, took) ? st_waits_enter(&in, true)
						  : st_waits_enter_to_write(&in)) {
		struct st_shm_wait *shared = &in.thread->slot->wait;

		/* Somebody may have taken it for left behind. */
		if (wait->kind == ST_WAIT_GIL && wait->beside == ST_GIL_TAKES) {
			in.thread->waits.takes_gil =
				atomic_load_explicit(&shared->begin, memory_order_relaxed) ==
				wait->begin;
		} else if (atomic_load_explicit(&shared->begin, memory_order_relaxed) ==
			   wait->begin) {
			atomic_store_explicit(&shared->begin, 0, memory_order_relaxed);
			wanted = !in.thread->waits.was_paused || !st_waits_paused(in.thread);
			if (wanted && took < st_waits_least(wait->kind))
				st_waits_add_up(in.thread, wait, outcome, end);
			else if (wanted)
				told = st_waits_record(in.thread, wait, outcome, end);
		}
		due = is_due(in.thread, end);
		st_waits_leave(&in);
	}
	if (ST_UNLIKELY(due))
		tell_due_sums(end);
	if (told && took >= st_waits_settings.stack) {
		st_sampler_wait(end, took, wait->caller);
		if (st_wait_has_descriptor(wait->kind) && wait->object)
			st_wait_name_descriptor(wait);
	}
	wait->begin = 0;
	errno = saved;
}

/* By object: who last told that it lets others go on, as a number made of both. */
enum { WAKERS = 1024, WAKER_SHIFT = 54 };
static _Atomic uint64_t wakers[WAKERS];

/* Where there are many, one that changes nothing is left out: the thread was the last to wake anybody at this object, just
 * now, so that a long wait has the same waker without it. */
static bool is_left_out(struct st_thread *thread, uint64_t object, uint64_t now)
{
	struct st_wait_sums *sums = &thread->waits;
	uint64_t hash = object * 0x9e3779b97f4a7c15u, mine = hash ^ (uintptr_t)thread;
	_Atomic uint64_t *waker = &wakers[hash >> WAKER_SHIFT];
	struct st_woken *woken = &sums->last_woken[hash >> WAKER_SHIFT & (ST_WOKEN - 1)];

	if (sums->woke_window != now >> st_waits_settings.window) {
		sums->woke_window = now >> st_waits_settings.window;
		sums->woke = 0;
	}
	if (sums->woke >= WAKES_MAX && woken->object == object &&
	    now - woken->ticks < st_waits_settings.long_enough &&
	    atomic_load_explicit(waker, memory_order_relaxed) == mine)
		return true;
	sums->woke++;
	*woken = (struct st_woken){.object = object, .ticks = now};
	/* Relaxed: who sees another's too late tells one that is not needed, or at the same moment as the other. */
	atomic_store_explicit(waker, mine, memory_order_relaxed);
	return false;
}

/* Of a thread that is known and has nothing else to tell: three words. */
static bool wake_fast(uint32_t kind, uint64_t object, uint64_t ticks)
{
	enum { WORDS = 3 };
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot), now, dt;

	if (ST_UNLIKELY(!limit))
		return false;
	now = ticks ? ticks : st_ticks();
	dt = now > hot->last ? now - hot->last : 0;
	if (ST_UNLIKELY(hot->head + WORDS * 8 > limit || dt > ST_WORD_DT_MAX ||
			st_waits_paused((struct st_thread *)hot) ||
			!st_waits_room((struct st_thread *)hot, 1))) {
		atomic_signal_fence(memory_order_seq_cst);
		hot->limit = limit;
		return false;
	}
	if (!is_left_out((struct st_thread *)hot, object, now)) {
		hot->last += dt;
		st_words_put(hot, st_word_ext(ST_EXT_EVENT, WORDS, dt));
		st_words_put(hot, st_word_event(ST_EVENT_WAKE, ST_FIELD_VALUE, kind));
		st_words_put(hot, object);
		st_words_publish(hot);
	}
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit;
	return true;
}

ST_EXPORT void strata_wait_wake(uint32_t kind, uint64_t object, uint64_t ticks)
{
	int saved = errno;
	struct st_waits_entered in;

	if (!st_waits_settings.per_ms || wake_fast(kind, object, ticks) ||
	    !st_waits_enter_to_write(&in))
		return;
	if (st_waits_paused(in.thread) || !st_waits_room(in.thread, 1))
		atomic_fetch_add_explicit(&in.thread->ring->events_dropped,
					  !st_waits_paused(in.thread), memory_order_relaxed);
	else
		st_event_put(in.thread, &(struct st_record){.kind = ST_EVENT_WAKE,
							    .mask = ST_FIELD_VALUE,
							    .detail = kind,
							    .value = object,
							    .ticks = ticks});
	st_waits_leave(&in);
	errno = saved;
}

/* A thread that may have lost the clock has no ring, either (core/sandbox.c). */
ST_EXPORT uint64_t strata_wait_ticks(void)
{
	const struct st_hot *hot = st_tls;

	return st_waits_settings.per_ms && (!st_passive() || (hot && hot->data)) ? st_ticks() : 0;
}

ST_EXPORT void strata_wait_locked_up(int option, unsigned long second)
{
	st_sandbox_prepare(option, second);
}

static void set_times(uint64_t per_ms)
{
	st_waits_settings.least = per_ms / SHORT_PARTS;
	st_waits_settings.io = per_ms / IO_PARTS;
	st_waits_settings.long_enough = per_ms / LONG_PARTS;
	st_waits_settings.sum = per_ms * SUM_MS;
	while (1ull << st_waits_settings.window < st_waits_settings.sum)
		st_waits_settings.window++;
	st_waits_settings.per_ms = per_ms;
}

static void configure(const char *text)
{
	if (!strncmp(text, "waits=", 6))
		set_times(st_config_number(text + 6));
	else if (!strncmp(text, "wait_stack=", 11))
		stack_us = st_config_number(text + 11);
}

static void start(const struct st_entered_program *program)
{
	(void)program;
	if (st_waits_settings.per_ms) {
		st_gil_find();
		if (!st_config.task_lines)
			st_python_line_init();
	}
	st_waits_settings.stack = st_waits_settings.per_ms * stack_us / 1000;
}

/* The next owner of the slot is not to find anything of this one's. */
static void retire(struct st_thread *thread)
{
	if (!st_waits_settings.per_ms)
		return;
	st_region_retire(thread);
	/* Who ends in a wait was cancelled in it. */
	give_up(thread, ST_WAIT_CANCELLED, st_ticks());
	tell_sums(thread);
	st_gil_retire(thread);
	if (thread->waits.count)
		atomic_fetch_add_explicit(&thread->ring->events_dropped, thread->waits.count,
					  memory_order_relaxed);
	thread->waits.count = 0;
	atomic_store_explicit(&thread->slot->wait.short_count, 0, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->wait.short_ticks, 0, memory_order_relaxed);
}

const struct st_inproc_backend st_backend_waits = {.name = "waits",
						   .configure = configure,
						   .start = start,
						   .hello = st_gil_hello,
						   .thread_retire = retire};
