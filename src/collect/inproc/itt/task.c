/* SPDX-License-Identifier: Apache-2.0
 *
 * Begin and end of tasks. The fast path touches six cache lines (TLS, thread state, callers, control word,
 * shared head, ring) and ends in one release store; everything unusual fails one of its tests and is
 * done by the slow path. hot.limit is 0 while the fast path runs, so that a signal handler on the same
 * thread is turned away, and in a forked child, where it was wiped.
 */
#include "base/rt/clock.h"
#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/label.h"
#include "collect/inproc/core/object.h"
#include "collect/inproc/python/python_line.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/words.h"

/* A task that begins. */
struct begin {
	const struct itt_domain *domain;
	struct itt_string_handle *name;
	const void *fn; /* it is named by this address, if `by_fn` */
	bool by_fn;
	bool timed;		     /* the program gave the time … */
	bool has_clock;		     /* … of that clock domain, */
	struct st_itt_object *clock; /* NULL: not one of ours */
	uint64_t time;		     /* 0 = now */
	uint64_t caller;
	uint32_t line; /* name id of the Python line, or 0 */
	struct itt_id id, parent;
};

/* Time 0 = now, taken as late as possible: the work of the slow path is not the task's. */
static bool write_begin(struct st_thread *thread, const struct begin *begin, uint32_t domain,
			const struct st_itt_label *label)
{
	uint64_t flags = label->text_in_ring || label->text ? ST_BEGIN_TEXT : 0;
	uint32_t length = label->text_length;

	if (!st_thread_catch_up(thread))
		return false;
	if (label->text && length > thread->ring_bytes / 4)
		length = (uint32_t)thread->ring_bytes / 4;
	if (st_ring_room(thread) < 16 + 16 + 16 + (int64_t)length + 8 + 16 + 24 + ST_END_BYTES)
		return false;
	st_ring_put_caller(thread, label->name, begin->caller);
	if (label->text && !st_ring_put_text(thread, label->text, length))
		return false;
	st_ring_put_begin(thread, begin->time, domain, label->name, flags);
	if (label->unknown)
		atomic_fetch_add_explicit(&st_header()->labels_unknown, 1, memory_order_relaxed);
	return true;
}

/* What else is known of the task that was begun right now. */
static void write_facts(struct st_thread *thread, const struct begin *begin)
{
	struct st_record record = {.ticks = thread->hot.last};

	if (st_id_given(begin->id) || st_id_given(begin->parent)) {
		record.kind = ST_EVENT_TASK_ID;
		st_record_id(&record, begin->id);
		st_record_other(&record, begin->parent);
		st_event_put(thread, &record);
	}
	if (begin->by_fn) {
		record.kind = ST_EVENT_TASK_FN;
		record.mask = ST_FIELD_VALUE;
		record.value = (uintptr_t)begin->fn;
		st_event_put(thread, &record);
	}
	if (begin->line) {
		record.kind = ST_EVENT_TASK_LINE;
		record.mask = ST_FIELD_NAMES;
		record.name_id = begin->line;
		st_event_put(thread, &record);
	}
}

static uint32_t line_name(struct st_thread *thread)
{
	uint32_t length;

	if (!st_python_line(thread->scratch, sizeof(thread->scratch), &length)) {
		if (st_python_unknown())
			atomic_fetch_or_explicit(&st_header()->notices, ST_NOTICE_NO_LINES,
						 memory_order_relaxed);
		return 0;
	}
	return st_name_of_text(thread->scratch, length);
}

/* Its times do not fit into the thread's order: an event, whose end will be one, too. */
static void begin_timed(struct st_thread *thread, const struct begin *begin, uint32_t name)
{
	struct st_record record = {.kind = ST_EVENT_TIMED_BEGIN,
				   .mask = ST_FIELD_NAMES | ST_FIELD_TIME,
				   .domain = begin->domain,
				   .name_id = name,
				   .time = begin->time,
				   .clock = begin->clock,
				   .value = (uintptr_t)begin->fn};
	bool paused = atomic_load_explicit(thread->hot.control, memory_order_relaxed);

	if (begin->clock)
		record.mask |= ST_FIELD_CLOCK;
	if (begin->by_fn)
		record.mask |= ST_FIELD_VALUE;
	st_record_id(&record, begin->id);
	st_record_other(&record, begin->parent);
	if (!st_open_timed(thread)) {
		st_open_skip(thread, true);
	} else if (!st_event_put(thread, &record) && !paused) {
		st_open_end(thread, false);
		st_open_skip(thread, false);
	}
}

/* Whether the given time can be a slice's; foreign ticks that mean nothing to us become now. */
static bool fits_order(struct st_thread *thread, struct begin *begin)
{
	if (!begin->timed)
		return true;
	if (begin->has_clock && !begin->clock) {
		begin->time = 0;
		return true;
	}
	if (begin->clock || !st_thread_tell(thread))
		return false;
	return begin->time >= thread->hot.last && begin->time <= st_ticks();
}

static void begin_entered(struct st_thread *thread, struct begin *begin, struct st_itt_label label)
{
	uint32_t control = atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	uint32_t domain_id = st_domain_of(begin->domain);

	/* Before the time is taken: it may be as long as a short task. */
	if (!control && st_config.task_lines)
		begin->line = line_name(thread);
	if (control & (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED))
		st_open_skip(thread, false);
	else if (begin->timed && (control ? begin->clock != NULL : !fits_order(thread, begin)))
		begin_timed(thread, begin, label.name);
	else if (control)
		st_open_pause(thread, domain_id, label.name, begin->caller);
	else if (write_begin(thread, begin, domain_id, &label))
		write_facts(thread, begin);
	else
		st_open_skip(thread, true);
	if (!control)
		st_note_running();
	st_thread_set_limit(thread);
}

static void begin_slow(struct begin *begin)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_SLICE);

	if (!thread)
		return;
	begin_entered(thread, begin, st_label_of(thread, begin->name));
	st_thread_leave(thread);
}

/* Named by the address as text, until somebody resolves it. */
static void begin_named_by_fn(struct begin *begin)
{
	char text[2 + 16] = "0x";
	uintptr_t address = (uintptr_t)begin->fn;
	struct st_thread *thread = st_thread_enter(ST_LOSS_SLICE);
	uint32_t length = 2;
	int shift = 60;

	if (!thread)
		return;
	while (shift && !(address >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		text[length++] = "0123456789abcdef"[(address >> shift) & 15];
	begin->by_fn = true;
	begin_entered(thread, begin, st_label_of_text(thread, text, length));
	st_thread_leave(thread);
}

static __attribute__((noinline)) void begin_plain(const struct itt_domain *domain,
						  const struct itt_id *ids,
						  struct itt_string_handle *name, uint64_t caller)
{
	struct begin begin = {
		.domain = domain, .name = name, .id = ids[0], .parent = ids[1], .caller = caller};

	begin_slow(&begin);
}

static void put_unmatched(struct st_thread *thread, uint64_t time, uint32_t domain)
{
	const uint64_t payload = domain;

	atomic_fetch_add_explicit(&thread->ring->unmatched_ends, 1, memory_order_relaxed);
	if (st_thread_catch_up(thread))
		st_ring_put(thread, ST_EXT_UNMATCHED_END, time, &payload, 1);
}

/* An end, with the time the program gave, if it did. */
struct end {
	const struct itt_domain *domain;
	bool timed;
	void *clock_domain;
	uint64_t time;
};

static void end_of_timed(struct st_thread *thread, const struct end *end)
{
	struct st_record record = {
		.kind = ST_EVENT_TIMED_END, .mask = ST_FIELD_NAMES, .domain = end->domain};

	if (end->timed)
		st_record_time(&record, end->clock_domain, end->time);
	st_event_put(thread, &record);
}

static void end_entered(struct st_thread *thread, const struct end *end)
{
	bool recording = !atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	uint64_t now = st_ticks(), time = now;

	/* A slice cannot end in the future, nor by ticks of another clock. */
	if (end->timed && !end->clock_domain && end->time && end->time < now)
		time = end->time;
	switch (st_open_end(thread, recording)) {
	case ST_END_WRITE:
		st_ring_put_end(thread, time, st_domain_of(end->domain));
		break;
	case ST_END_UNMATCHED:
		if (recording)
			put_unmatched(thread, time, st_domain_of(end->domain));
		break;
	case ST_END_TIMED:
		end_of_timed(thread, end);
		break;
	case ST_END_NOTHING:
		break;
	}
	st_thread_set_limit(thread);
}

static void end_slow(const struct end *end)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	end_entered(thread, end);
	st_thread_leave(thread);
}

static __attribute__((noinline)) void end_plain(const struct itt_domain *domain)
{
	end_slow(&(struct end){.domain = domain});
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

	*st_words_at(hot, head) = word;
	hot->last = now;
	hot->head = head + 8;
	/* Pairs with the drainer's acquire load: words before head. */
	atomic_store_explicit(hot->head_shared, head + 8, memory_order_release);
}

static inline __attribute__((always_inline)) uint64_t known_caller(const struct st_hot *hot,
								   uint32_t name)
{
	return ((const struct st_thread *)hot)->caller[name % ST_CALLER_SLOTS];
}

/* Ids that are given are written behind the begin: not here. */
static inline __attribute__((always_inline)) bool all_null(const struct itt_id *ids)
{
	return !(ids[0].d1 | ids[0].d2 | ids[0].d3 | ids[1].d1 | ids[1].d2 | ids[1].d3);
}

static inline __attribute__((always_inline)) void begin_fast(const struct itt_domain *domain,
							     const struct itt_id *ids,
							     struct itt_string_handle *name,
							     uint64_t caller, enum st_clock clock)
{
	struct st_hot *hot = st_tls;
	uint32_t domain_id, name_id;
	uint64_t limit, now, dt;

	if (ST_UNLIKELY(!hot || !domain || !name || !all_null(ids)))
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
			name_id >= ST_WORD_NAME_MAX || known_caller(hot, name_id + 1) != caller ||
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
	begin_plain(domain, ids, name, caller);
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
	end_plain(domain);
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

static void task_begin_tsc(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			   struct itt_string_handle *name)
{
	begin_fast(domain, (const struct itt_id[2]){id, parent}, name, CALLER, ST_CLOCK_TSC);
}

static void task_end_tsc(const struct itt_domain *domain)
{
	end_fast(domain, ST_CLOCK_TSC);
}

static void task_begin_mono(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			    struct itt_string_handle *name)
{
	begin_fast(domain, (const struct itt_id[2]){id, parent}, name, CALLER, ST_CLOCK_MONO_RAW);
}

static void task_end_mono(const struct itt_domain *domain)
{
	end_fast(domain, ST_CLOCK_MONO_RAW);
}

/* Bound instead of the two above when every begin is to be given its Python line. */
static void task_begin_line(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			    struct itt_string_handle *name)
{
	begin_plain(domain, (const struct itt_id[2]){id, parent}, name, CALLER);
}

/* The interface has a word for "no time": all ones; 0 is taken for it, too. */
static bool time_given(unsigned long long time)
{
	return time && time != ~0ull;
}

static struct begin begin_at(const struct itt_domain *domain, void *clock_domain,
			     unsigned long long time, struct itt_id id, struct itt_id parent)
{
	bool timed = time_given(time) || clock_domain;

	return (struct begin){.domain = domain,
			      .timed = timed,
			      .has_clock = clock_domain,
			      .clock = st_object_own(clock_domain),
			      .time = timed ? time : 0,
			      .id = id,
			      .parent = parent};
}

static void task_begin_ex(const struct itt_domain *domain, void *clock_domain,
			  unsigned long long time, struct itt_id id, struct itt_id parent,
			  struct itt_string_handle *name)
{
	struct begin begin = begin_at(domain, clock_domain, time, id, parent);

	begin.name = name;
	begin.caller = CALLER;
	begin_slow(&begin);
}

static void task_end_ex(const struct itt_domain *domain, void *clock_domain,
			unsigned long long time)
{
	end_slow(&(struct end){.domain = domain,
			       .timed = time_given(time) || clock_domain,
			       .clock_domain = clock_domain,
			       .time = time});
}

static void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			  void *fn)
{
	struct begin begin = {
		.domain = domain, .fn = fn, .id = id, .parent = parent, .caller = CALLER};

	begin_named_by_fn(&begin);
}

static void task_begin_fn_ex(const struct itt_domain *domain, void *clock_domain,
			     unsigned long long time, struct itt_id id, struct itt_id parent,
			     void *fn)
{
	struct begin begin = begin_at(domain, clock_domain, time, id, parent);

	begin.fn = fn;
	begin.caller = CALLER;
	begin_named_by_fn(&begin);
}

static const struct st_binding rows[] = {
	{"task_begin", (void (*)(void))task_begin_tsc, (void (*)(void))task_begin_mono},
	{"task_end", (void (*)(void))task_end_tsc, (void (*)(void))task_end_mono},
	ST_BIND("task_begin_ex", task_begin_ex),
	ST_BIND("task_end_ex", task_end_ex),
	ST_BIND("task_begin_fn", task_begin_fn),
	ST_BIND("task_begin_fn_ex", task_begin_fn_ex),
};
const struct st_bindings st_calls_task = ST_BINDINGS(rows);

static const struct st_binding line_rows[] = {ST_BIND("task_begin", task_begin_line)};
const struct st_bindings st_calls_task_lines = ST_BINDINGS(line_rows);
