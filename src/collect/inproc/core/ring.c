/* SPDX-License-Identifier: Apache-2.0
 *
 * What the slow paths write into a thread's ring, and the stack of open slices that keeps ends in
 * balance with begins through full rings and pauses. The fast path in task.c writes the same words.
 */
#include "collect/inproc/core/thread.h"

#include <string.h>

#include "collect/inproc/core/label.h"
#include "collect/inproc/core/words.h"

int64_t st_ring_room(const struct st_thread *thread)
{
	/* Pairs with the drainer's release store: what it has read may be overwritten. */
	uint64_t tail = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
	uint64_t open = thread->written_below + thread->hot.run + thread->call_count;
	uint64_t kept = open * ST_END_BYTES + ST_SLACK_BYTES;

	return (int64_t)(tail + thread->ring_bytes - thread->hot.head - kept);
}

static void put_record(struct st_hot *hot, enum st_ring_ext subkind, uint64_t time,
		       const uint64_t *payload, uint32_t count)
{
	uint64_t dt = st_words_time(hot, time);

	st_words_put(hot, st_word_ext(subkind, count + 1, dt));
	for (uint32_t i = 0; i < count; i++)
		st_words_put(hot, payload[i]);
	st_words_publish(hot);
}

bool st_ring_put(struct st_thread *thread, enum st_ring_ext subkind, uint64_t time,
		 const uint64_t *payload, uint32_t count)
{
	/* These few may use the slack. */
	if (st_ring_room(thread) + ST_SLACK_BYTES < 24 + (int64_t)count * 8)
		return false;
	put_record(&thread->hot, subkind, time, payload, count);
	return true;
}

bool st_ring_put_text(struct st_thread *thread, const char *text, uint32_t length)
{
	struct st_hot *hot = &thread->hot;
	uint32_t words = 2 + (length + 7) / 8;
	uint64_t dt;

	if (st_ring_room(thread) < 16 + (int64_t)words * 8)
		return false;
	dt = st_words_time(hot, 0);
	st_words_put(hot, st_word_ext(ST_EXT_TEXT, words, dt));
	st_words_put(hot, length);
	for (uint32_t done = 0; done < length; done += 8) {
		uint64_t word = 0;

		memcpy(&word, text + done, length - done < 8 ? length - done : 8);
		st_words_put(hot, word);
	}
	st_words_publish(hot);
	return true;
}

void st_ring_put_caller(struct st_thread *thread, uint32_t name, uint64_t caller)
{
	uint64_t *slot = &thread->caller[name % ST_CALLER_SLOTS];

	if (*slot == caller)
		return;
	*slot = caller;
	/* No time of its own: the begin that follows may be given an earlier one than now. */
	put_record(&thread->hot, ST_EXT_CALLER, thread->hot.last, &caller, 1);
}

void st_ring_put_begin(struct st_thread *thread, uint64_t time, uint32_t domain, uint32_t name,
		       uint64_t flags)
{
	const uint64_t payload[2] = {domain | (uint64_t)name << 32, flags};
	uint64_t dt;

	if (flags || domain > ST_WORD_DOMAIN_MAX || name > ST_WORD_NAME_MAX) {
		put_record(&thread->hot, ST_EXT_BEGIN, time, payload, 2);
	} else {
		dt = st_words_time(&thread->hot, time);
		st_words_put(&thread->hot, st_word_slice(ST_WORD_BEGIN, domain, name, dt));
		st_words_publish(&thread->hot);
	}
	thread->hot.run++;
}

static struct st_open *top(struct st_thread *thread)
{
	return thread->open_count ? &thread->open[thread->open_count - 1] : NULL;
}

static void pop_run(struct st_thread *thread)
{
	while (thread->open_count && top(thread)->kind == ST_OPEN_WRITTEN) {
		thread->hot.run += top(thread)->count;
		thread->written_below -= top(thread)->count;
		thread->open_count--;
	}
}

bool st_open_all_written(const struct st_thread *thread)
{
	for (uint32_t i = 0; i < thread->open_count; i++)
		if (thread->open[i].kind != ST_OPEN_WRITTEN)
			return false;
	return thread->hot.run || thread->written_below;
}

void st_ring_put_end_below(struct st_thread *thread, uint64_t time, uint32_t domain, uint32_t left)
{
	const uint64_t payload = domain | (uint64_t)left << 32;

	put_record(&thread->hot, ST_EXT_END, time, &payload, 1);
	if (!thread->hot.run)
		pop_run(thread);
	thread->hot.run--;
}

void st_ring_put_end(struct st_thread *thread, uint64_t time, uint32_t domain)
{
	const uint64_t payload = domain;
	uint64_t dt;

	if (domain > ST_WORD_DOMAIN_MAX) {
		put_record(&thread->hot, ST_EXT_END, time, &payload, 1);
	} else {
		dt = st_words_time(&thread->hot, time);
		st_words_put(&thread->hot, st_word_slice(ST_WORD_END, domain, 0, dt));
		st_words_publish(&thread->hot);
	}
	thread->hot.run--;
}

/* So many alternations that the stack could overflow: nothing more is written until they unwind. */
static bool stack_exhausted(struct st_thread *thread)
{
	return thread->open_count >= ST_OPEN_MAX - ST_OPEN_SPARE && !thread->hot.run &&
	       top(thread)->kind == ST_OPEN_SKIPPED;
}

void st_thread_set_limit(struct st_thread *thread)
{
	int64_t room = st_ring_room(thread);

	if (!thread->identified || thread->lost || thread->paused_count || thread->name_pending ||
	    stack_exhausted(thread) || room < ST_BEGIN_BYTES)
		thread->hot.limit = 1;
	else
		thread->hot.limit = thread->hot.head + (uint64_t)room;
}

static void push_run(struct st_thread *thread)
{
	if (!thread->hot.run)
		return;
	thread->open[thread->open_count++] =
		(struct st_open){.kind = ST_OPEN_WRITTEN, .count = thread->hot.run};
	thread->written_below += thread->hot.run;
	thread->hot.run = 0;
}

void st_open_skip(struct st_thread *thread, bool lost)
{
	if (lost) {
		thread->lost++;
		atomic_fetch_add_explicit(&thread->ring->dropped, 1, memory_order_relaxed);
	}
	push_run(thread);
	if (top(thread) && top(thread)->kind == ST_OPEN_SKIPPED)
		top(thread)->count++;
	else
		thread->open[thread->open_count++] =
			(struct st_open){.kind = ST_OPEN_SKIPPED, .count = 1};
}

void st_open_pause(struct st_thread *thread, uint32_t domain, uint32_t name, uint64_t caller)
{
	if (thread->open_count + 2 > ST_OPEN_MAX - ST_OPEN_SPARE) {
		st_open_skip(thread, false);
		return;
	}
	push_run(thread);
	thread->open[thread->open_count++] = (struct st_open){
		.kind = ST_OPEN_PAUSED, .count = domain, .name = name, .caller = caller};
	thread->paused_count++;
	thread->paused_ticks = st_ticks();
}

/* The slices that were begun while paused and are still open now become visible, from the resume on. */
static void publish_paused(struct st_thread *thread)
{
	uint64_t time = atomic_load_explicit(&st_process->resume_ticks, memory_order_relaxed);
	uint64_t by_strata, now = st_ticks();
	uint32_t at = thread->open_count;

	/* Pairs with st_drain_control: the time was stored before the pause was taken away. */
	atomic_thread_fence(memory_order_acquire);
	by_strata = atomic_load_explicit(&st_header()->resumed, memory_order_relaxed);
	if (time < by_strata)
		time = by_strata; /* a pause of either kind lasts until the later of the two */
	if (time < thread->paused_ticks || time > now)
		time = now;
	for (uint32_t left = thread->paused_count; left;)
		left -= thread->open[--at].kind == ST_OPEN_PAUSED;
	for (; at < thread->open_count; at++) {
		struct st_open *open = &thread->open[at];

		if (open->kind != ST_OPEN_PAUSED)
			continue;
		if (st_ring_room(thread) < 16 + 16 + 24 + ST_END_BYTES) {
			thread->lost++;
			atomic_fetch_add_explicit(&thread->ring->dropped, 1, memory_order_relaxed);
			*open = (struct st_open){.kind = ST_OPEN_SKIPPED, .count = 1};
			continue;
		}
		st_ring_put_caller(thread, open->name, open->caller);
		st_ring_put_begin(thread, time, open->count, open->name, ST_BEGIN_CLIPPED);
		thread->hot.run--;
		thread->written_below++;
		*open = (struct st_open){.kind = ST_OPEN_WRITTEN, .count = 1};
	}
	thread->paused_count = 0;
	pop_run(thread);
}

bool st_thread_identify(struct st_thread *thread)
{
	uint64_t now = st_ticks(), payload = thread->tid | (uint64_t)thread->generation << 32;
	struct st_hot *hot = &thread->hot;

	if (thread->identified)
		return true;
	if (st_ring_room(thread) < 32)
		return false;
	st_words_put(hot, st_word_ext(ST_EXT_TIME, 2, 0));
	st_words_put(hot, now);
	hot->last = now;
	st_words_put(hot, st_word_ext(ST_EXT_THREAD, 2, 0));
	st_words_put(hot, payload);
	st_words_publish(hot);
	thread->identified = true;
	return true;
}

bool st_thread_tell(struct st_thread *thread)
{
	if (!st_thread_identify(thread))
		return false;
	if (thread->lost) {
		if (st_ring_room(thread) < 32 + ST_BEGIN_BYTES)
			return false;
		st_ring_put(thread, ST_EXT_LOST, 0, &thread->lost, 1);
		thread->lost = 0;
	}
	if (thread->paused_count)
		publish_paused(thread);
	if (thread->name_pending)
		st_label_retry_name(thread);
	return true;
}

bool st_thread_catch_up(struct st_thread *thread)
{
	return st_thread_tell(thread) && !stack_exhausted(thread);
}

bool st_open_timed(struct st_thread *thread)
{
	if (thread->open_count + 2 > ST_OPEN_MAX - ST_OPEN_SPARE)
		return false;
	push_run(thread);
	if (top(thread) && top(thread)->kind == ST_OPEN_TIMED)
		top(thread)->count++;
	else
		thread->open[thread->open_count++] =
			(struct st_open){.kind = ST_OPEN_TIMED, .count = 1};
	return true;
}

bool st_open_top_skipped(const struct st_thread *thread)
{
	return !thread->hot.run && thread->open_count &&
	       thread->open[thread->open_count - 1].kind == ST_OPEN_SKIPPED;
}

enum st_open_end st_open_end(struct st_thread *thread, bool recording)
{
	struct st_open *open;
	uint32_t kind;

	if (!thread->hot.run)
		pop_run(thread);
	open = top(thread);
	if (!thread->hot.run && open && open->kind == ST_OPEN_PAUSED && recording) {
		st_thread_catch_up(thread);
		open = top(thread);
	}
	if (thread->hot.run)
		return ST_END_WRITE;
	if (!open)
		return ST_END_UNMATCHED;
	kind = open->kind;
	if (kind == ST_OPEN_PAUSED)
		thread->paused_count--;
	if (kind == ST_OPEN_PAUSED || !--open->count)
		thread->open_count--;
	return kind == ST_OPEN_TIMED ? ST_END_TIMED : ST_END_NOTHING;
}
