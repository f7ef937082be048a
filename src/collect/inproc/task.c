/* SPDX-License-Identifier: Apache-2.0
 *
 * Begin and end of tasks. The fast path touches five cache lines (TLS, thread state, control word,
 * shared head, ring) and ends in one release store; everything unusual fails one of its tests and is
 * done by the slow path. hot.limit is 0 while the fast path runs, so that a signal handler on the same
 * thread is turned away, and in a forked child, where it was wiped.
 */
#include "collect/inproc/task.h"

#include "base/rt/clock.h"
#include "collect/inproc/label.h"
#include "collect/inproc/thread.h"

/* Time 0 = now, taken as late as possible: the work of the slow path is not the task's. */
static bool write_begin(struct st_thread *thread, uint64_t time, uint32_t domain,
			const struct st_label *label)
{
	uint64_t flags = label->text_in_ring || label->text ? ST_BEGIN_TEXT : 0;
	uint32_t length = label->text_length;

	if (!st_thread_catch_up(thread))
		return false;
	if (label->text) {
		if (length > thread->ring_bytes / 4)
			length = (uint32_t)thread->ring_bytes / 4;
		if (st_ring_room(thread) < 16 + 16 + (int64_t)length + 8 + 24 + ST_END_BYTES ||
		    !st_ring_put_text(thread, label->text, length))
			return false;
	}
	if (st_ring_room(thread) < 16 + (flags ? 24 : 8) + ST_END_BYTES)
		return false;
	st_ring_put_begin(thread, time, domain, label->name, flags);
	if (label->unknown)
		atomic_fetch_add_explicit(&st_header()->labels_unknown, 1, memory_order_relaxed);
	return true;
}

static void begin_entered(struct st_thread *thread, uint64_t time, const struct itt_domain *domain,
			  struct st_label label)
{
	uint32_t control = atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	uint32_t domain_id = st_domain_of(domain);

	if (control & (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED))
		st_open_skip(thread, false);
	else if (control)
		st_open_pause(thread, domain_id, label.name);
	else if (!write_begin(thread, time, domain_id, &label))
		st_open_skip(thread, true);
	if (!control &&
	    ST_UNLIKELY(atomic_load_explicit(&st_shared.self_paused, memory_order_relaxed) ==
			ST_SELF_PAUSED_AT_START))
		/* strata has ended the pause; children forked from now on must not start in it. */
		atomic_store_explicit(&st_shared.self_paused, ST_SELF_RUNNING,
				      memory_order_relaxed);
	st_thread_set_limit(thread);
}

static __attribute__((noinline)) void begin_slow(const struct itt_domain *domain,
						 struct itt_string_handle *name, uint64_t time)
{
	struct st_thread *thread = st_thread_enter(true);

	if (!thread)
		return;
	begin_entered(thread, time, domain, st_label_of(thread, name));
	st_thread_leave(thread);
}

static void put_unmatched(struct st_thread *thread, uint64_t time, uint32_t domain)
{
	const uint64_t payload = domain;

	atomic_fetch_add_explicit(&thread->ring->unmatched_ends, 1, memory_order_relaxed);
	if (st_thread_catch_up(thread))
		st_ring_put(thread, ST_EXT_UNMATCHED_END, time, &payload, 1);
}

static __attribute__((noinline)) void end_slow(const struct itt_domain *domain, uint64_t time)
{
	struct st_thread *thread = st_thread_enter(false);
	bool recording;

	if (!thread)
		return;
	if (!time)
		time = st_ticks();
	recording = !atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	switch (st_open_end(thread, recording)) {
	case ST_END_WRITE:
		st_ring_put_end(thread, time, st_domain_of(domain));
		break;
	case ST_END_UNMATCHED:
		if (recording)
			put_unmatched(thread, time, st_domain_of(domain));
		break;
	case ST_END_NOTHING:
		break;
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static inline __attribute__((always_inline)) uint64_t ticks_of(enum st_clock clock)
{
	return clock == ST_CLOCK_TSC ? st_clock_tsc() : st_clock_mono_raw_ns();
}

/* Ids that fit the short record, minus 1; everything else (0, shared handles) is larger. */
static inline __attribute__((always_inline)) uint32_t short_id(const int *extra1)
{
	return (uint32_t)__atomic_load_n(extra1, __ATOMIC_ACQUIRE) - 1;
}

static inline __attribute__((always_inline)) void store_word(struct st_hot *hot, uint64_t word,
							     uint64_t now)
{
	uint64_t head = hot->head;

	hot->data[(head / 8) & hot->mask] = word;
	hot->last = now;
	hot->head = head + 8;
	/* Pairs with the drainer's acquire load: words before head. */
	atomic_store_explicit(hot->head_shared, head + 8, memory_order_release);
}

static inline __attribute__((always_inline)) void
begin_fast(const struct itt_domain *domain, struct itt_string_handle *name, enum st_clock clock)
{
	struct st_hot *hot = st_tls;
	uint32_t domain_id, name_id;
	uint64_t limit, now, dt;

	if (ST_UNLIKELY(!hot || !domain || !name))
		goto slow;
	/* First of all, because in a forked child nothing else is there. From here on a handler is turned
	 * away; one that came before has left everything but limit as it will be read below. */
	limit = hot->limit;
	if (ST_UNLIKELY(!limit))
		goto slow;
	hot->limit = 0;
	atomic_signal_fence(memory_order_seq_cst);
	domain_id = short_id(&domain->extra1);
	name_id = short_id(&name->extra1);
	if (ST_UNLIKELY(hot->head + ST_BEGIN_BYTES > limit || domain_id >= ST_WORD_DOMAIN_MAX ||
			name_id >= ST_WORD_NAME_MAX ||
			atomic_load_explicit(hot->control, memory_order_relaxed)))
		goto restore;
	now = ticks_of(clock);
	dt = now - hot->last;
	if (ST_UNLIKELY(dt > ST_WORD_DT_MAX))
		goto restore;
	hot->run++;
	store_word(hot, st_word_slice(ST_WORD_BEGIN, domain_id + 1, name_id + 1, dt), now);
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit - ST_END_BYTES;
	return;
restore:
	hot->limit = limit;
slow:
	begin_slow(domain, name, 0);
}

/* An end of a written begin always has its room and is written even while paused. */
static inline __attribute__((always_inline)) void end_fast(const struct itt_domain *domain,
							   enum st_clock clock)
{
	struct st_hot *hot = st_tls;
	uint64_t limit, now, dt;
	uint32_t domain_id;

	if (ST_UNLIKELY(!hot || !domain))
		goto slow;
	limit = hot->limit;
	if (ST_UNLIKELY(!limit))
		goto slow;
	hot->limit = 0;
	atomic_signal_fence(memory_order_seq_cst);
	domain_id = short_id(&domain->extra1);
	if (ST_UNLIKELY(!hot->run || domain_id >= ST_WORD_DOMAIN_MAX))
		goto restore;
	now = ticks_of(clock);
	dt = now - hot->last;
	if (ST_UNLIKELY(dt > ST_WORD_DT_MAX))
		goto restore;
	hot->run--;
	store_word(hot, st_word_slice(ST_WORD_END, domain_id + 1, 0, dt), now);
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit + ST_END_BYTES;
	return;
restore:
	hot->limit = limit;
slow:
	end_slow(domain, 0);
}

void st_task_begin_tsc(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		       struct itt_string_handle *name)
{
	(void)id, (void)parent;
	begin_fast(domain, name, ST_CLOCK_TSC);
}

void st_task_end_tsc(const struct itt_domain *domain)
{
	end_fast(domain, ST_CLOCK_TSC);
}

void st_task_begin_mono(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			struct itt_string_handle *name)
{
	(void)id, (void)parent;
	begin_fast(domain, name, ST_CLOCK_MONO_RAW);
}

void st_task_end_mono(const struct itt_domain *domain)
{
	end_fast(domain, ST_CLOCK_MONO_RAW);
}

/* No clock domain means our own clock; ticks of a foreign one cannot be placed on our axis yet. */
static uint64_t own_time(void *clock_domain, unsigned long long time)
{
	uint64_t now;

	if (clock_domain || !time)
		return 0;
	now = st_ticks();
	return time < now ? time : now;
}

void st_task_begin_ex(const struct itt_domain *domain, void *clock_domain, unsigned long long time,
		      struct itt_id id, struct itt_id parent, struct itt_string_handle *name)
{
	(void)id, (void)parent;
	begin_slow(domain, name, own_time(clock_domain, time));
}

void st_task_end_ex(const struct itt_domain *domain, void *clock_domain, unsigned long long time)
{
	end_slow(domain, own_time(clock_domain, time));
}

/* Named by the address as text until addresses are resolved. */
void st_task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		      void *fn)
{
	char text[2 + 16] = "0x";
	uintptr_t address = (uintptr_t)fn;
	struct st_thread *thread;
	uint32_t length = 2;
	int shift = 60;

	(void)id, (void)parent;
	while (shift && !(address >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		text[length++] = "0123456789abcdef"[(address >> shift) & 15];
	thread = st_thread_enter(true);
	if (!thread)
		return;
	begin_entered(thread, 0, domain, st_label_of_text(thread, text, length));
	st_thread_leave(thread);
}

/* What the process itself decided lives in two places: the control word, which strata may change, and
 * st_shared, from which a forked child starts. */
static void control(enum st_ring_ext subkind, uint32_t what, bool set)
{
	struct st_thread *thread = st_thread_enter(false);
	_Atomic uint32_t *word;
	uint32_t before;

	if (!thread)
		return;
	word = &st_header()->control;
	if (!set)
		atomic_store_explicit(&st_process->resume_ticks, st_ticks(), memory_order_relaxed);
	before = set ? atomic_fetch_or_explicit(word, what, memory_order_relaxed)
		     : atomic_fetch_and_explicit(word, ~what, memory_order_relaxed);
	if (!(before & what) == set && !(before & ST_CONTROL_STOPPED) && st_thread_identify(thread))
		st_ring_put(thread, subkind, 0, NULL, 0);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_control_pause(void)
{
	control(ST_EXT_PAUSE, ST_CONTROL_PAUSED_SELF, true);
	atomic_store_explicit(&st_shared.self_paused, ST_SELF_PAUSED_BY_CALL, memory_order_relaxed);
}

void st_control_resume(void)
{
	control(ST_EXT_RESUME, ST_CONTROL_PAUSED_SELF, false);
	atomic_store_explicit(&st_shared.self_paused, ST_SELF_RUNNING, memory_order_relaxed);
}

void st_control_detach(void)
{
	control(ST_EXT_DETACH, ST_CONTROL_DETACHED, true);
	atomic_store_explicit(&st_shared.detached, 1, memory_order_relaxed);
}
