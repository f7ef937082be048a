/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls come to, for each thread and function: how many, how many of them not from inside another call of the same
 * function, time in the function itself and time in all. One clock reading for each begin and end: the last thing
 * of a begin and the first of an end, so that what counting costs is the caller's, as it is with cProfile.
 *
 * Nothing is written at a call. From time to time, and at the ends of threads and of the process, the rows that have
 * changed are told as differences and set to zero; calls that are still open have their time up to then. What finds no
 * room in the ring stays for the next time. All of it is memory that a fork wipes: a child counts for itself.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/intern.h"
#include "collect/inproc/python/python_calls.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/words.h"

enum {
	INDEX_SLOTS = 2 * ST_CALL_FUNCTIONS_MAX,
	KEYS_MAX = INDEX_SLOTS / 4 * 3,
	TEXT_BYTES = 12 << 20,
	FILE_MAX = 4096,
	SCRATCH_BYTES = 1 << 10,
	HEAD_WORDS = 3, /* of a record, with its first word */
	ROW_WORDS = 5,
	ROWS_MAX = 128, /* of a record */
	RECORD_SLACK_BYTES = 64,
};

struct function {
	uint32_t text, line;
	uint16_t file_bytes, name_bytes;
	uint8_t flags;
};

/* A key that was met. Code objects go and leave their addresses to others: `check` tells. */
struct place {
	uintptr_t key;
	uint32_t function, check;
};

struct functions {
	uint32_t count, defined, text_used, key_count;
	struct calls *threads; /* process lock */
	bool ended;	       /* nothing more is told */
	struct place place[INDEX_SLOTS];
	uint32_t by_text[INDEX_SLOTS]; /* functions: code that is made again is the same */
	struct function function[ST_CALL_FUNCTIONS_MAX + 1];
	char text[TEXT_BYTES];
};

/* Of a function on a thread, since it was told. */
struct counter {
	uint64_t calls, primitive, own, total;
	uint32_t open;
	uint32_t changed; /* it is in the list */
};

struct open_call {
	uintptr_t key;
	uint64_t begin;
	uint32_t function;
	bool outermost; /* of this function */
	uint8_t flags;
};

/* Of a thread. Function 0 stands for those that have no place. */
struct calls {
	const _Atomic uint32_t *control;
	uint64_t last;	 /* up to when time is accounted for */
	uint64_t paused; /* ticks in pauses, which do not count */
	uint64_t tell_at;
	uint32_t depth, beyond; /* open calls; those for which the stack was too small */
	uint32_t changed_count, tid;
	bool ready;    /* false in a forked child */
	bool counting; /* not in a pause */
	uint64_t lost; /* calls beyond the stack */
	struct calls *next;
	struct open_call stack[ST_CALL_DEPTH_MAX];
	uint32_t changed[ST_CALL_FUNCTIONS_MAX + 1];
	struct counter counter[ST_CALL_FUNCTIONS_MAX + 1];
};

uint64_t st_python_calls_interval_ticks;
static __thread struct calls *mine __attribute__((tls_model("initial-exec")));
static struct functions *functions;
static bool no_memory; /* for one more thread */

static size_t whole_pages(size_t size_bytes)
{
	return (size_bytes + 4095) & ~(size_t)4095;
}

static inline uint32_t slot_of(uintptr_t key)
{
	uint64_t hash = (uint64_t)key * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32) % INDEX_SLOTS;
}

/* The place of a key, or the free one for it. */
static inline struct place *find(uintptr_t key)
{
	uint32_t slot = slot_of(key);

	while (functions->place[slot].key && functions->place[slot].key != key)
		slot = (slot + 1) % INDEX_SLOTS;
	return &functions->place[slot];
}

static bool has_text(const struct function *function, const struct st_call_text *text)
{
	const char *own = functions->text + function->text;

	return function->line == text->line && function->file_bytes == text->file_bytes &&
	       function->name_bytes == text->name_bytes &&
	       !memcmp(own, text->file, text->file_bytes) &&
	       !memcmp(own + text->file_bytes, text->name, text->name_bytes);
}

/* The function of that name, or 0 and the free slot for it. */
static uint32_t find_text(const struct st_call_text *text, uint32_t **slot)
{
	uint64_t hash = st_text_mix(st_text_hash(text->file, text->file_bytes),
				    st_text_hash(text->name, text->name_bytes) + text->line);
	uint32_t at = (uint32_t)(hash >> 32) % INDEX_SLOTS;

	while (functions->by_text[at] &&
	       !has_text(&functions->function[functions->by_text[at]], text))
		at = (at + 1) % INDEX_SLOTS;
	*slot = &functions->by_text[at];
	return **slot;
}

static bool keep_text(struct function *function, const struct st_call_text *text)
{
	uint32_t file = text->file_bytes, name = text->name_bytes;

	if (functions->text_used + file + name > TEXT_BYTES)
		return false;
	function->text = functions->text_used;
	function->line = text->line;
	function->file_bytes = (uint16_t)file;
	function->name_bytes = (uint16_t)name;
	function->flags = (uint8_t)text->flags;
	memcpy(functions->text + function->text, text->file, file);
	memcpy(functions->text + function->text + file, text->name, name);
	functions->text_used += file + name;
	return true;
}

/* By its name; 0: no place. */
static uint32_t add_function(struct st_call_text *text)
{
	uint32_t *slot, id;

	if (text->file_bytes > FILE_MAX)
		text->file_bytes = FILE_MAX;
	if (text->name_bytes > FILE_MAX)
		text->name_bytes = FILE_MAX;
	id = find_text(text, &slot);
	if (id || functions->count == ST_CALL_FUNCTIONS_MAX ||
	    !keep_text(&functions->function[functions->count + 1], text))
		return id;
	*slot = ++functions->count;
	return *slot;
}

/* A key that is new, or has become another function's. */
static __attribute__((noinline)) uint32_t learn(uintptr_t key, void *object, uint32_t check)
{
	struct st_call_text text = {0};
	char scratch[SCRATCH_BYTES];
	struct place *place;
	uint32_t function;

	st_call_describe(object, &text, scratch, sizeof(scratch));
	function = add_function(&text);
	/* Now: describing may have run code that was called. */
	place = find(key);
	if (!place->key && functions->key_count == KEYS_MAX)
		return 0;
	functions->key_count += !place->key;
	*place = (struct place){key, function, check};
	return function;
}

/* Functions that strata does not know yet, in order: what finds no room comes the next time. With the lock of the
 * process. */
static void define_new(void)
{
	while (functions->defined < functions->count) {
		const struct function *function = &functions->function[functions->defined + 1];
		const uint32_t head[2] = {function->line, function->file_bytes};
		const struct st_part parts[] = {
			{head, sizeof(head)},
			{functions->text + function->text,
			 (uint32_t)function->file_bytes + function->name_bytes},
		};

		if (!st_define_parts(ST_DEFINE_PYTHON_FUNCTION, functions->defined + 1, parts, 2))
			return;
		functions->defined++;
	}
}

static inline void mark_changed(struct calls *calls, uint32_t function)
{
	struct counter *counter = &calls->counter[function];

	if (ST_LIKELY(counter->changed))
		return;
	counter->changed = 1;
	calls->changed[calls->changed_count++] = function;
}

/* The time since the latest event goes to the function that ran; what the thread's clock shows now. */
static inline uint64_t charge(struct calls *calls, uint64_t now)
{
	uint64_t since = now - calls->last;

	if (ST_UNLIKELY(!calls->counting)) {
		calls->paused += since;
	} else if (ST_LIKELY(calls->depth)) {
		uint32_t function = calls->stack[calls->depth - 1].function;

		calls->counter[function].own += since;
		mark_changed(calls, function);
	}
	calls->last = now;
	calls->counting = !atomic_load_explicit(calls->control, memory_order_relaxed);
	return now - calls->paused;
}

/* Calls that are open have had this time, too. */
static void settle_open(struct calls *calls, uint64_t clock)
{
	for (uint32_t i = 0; i < calls->depth; i++) {
		struct open_call *open = &calls->stack[i];

		if (!open->outermost)
			continue;
		calls->counter[open->function].total += clock - open->begin;
		open->begin = clock;
		mark_changed(calls, open->function);
	}
}

/* As many rows as the ring has room for, from the end of the list; how many. */
static uint32_t put_rows(struct st_thread *thread, const struct calls *calls, uint32_t count)
{
	struct st_hot *hot = &thread->hot;
	int64_t room = (st_ring_room(thread) - RECORD_SLACK_BYTES) / 8 - HEAD_WORDS;
	uint32_t rows = count < ROWS_MAX ? count : ROWS_MAX;
	uint64_t dt;

	if (room < (int64_t)rows * ROW_WORDS)
		rows = room < 0 ? 0 : (uint32_t)room / ROW_WORDS;
	if (!rows)
		return 0;
	dt = st_words_time(hot, 0);
	st_words_put(hot, st_word_ext(ST_EXT_PYTHON_CALLS, HEAD_WORDS + rows * ROW_WORDS, dt));
	st_words_put(hot, calls->tid);
	st_words_put(hot, calls->lost);
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t id = calls->changed[count - 1 - i];
		const struct counter *counter = &calls->counter[id];

		st_words_put(hot, id);
		st_words_put(hot, counter->calls);
		st_words_put(hot, counter->primitive);
		st_words_put(hot, counter->own);
		st_words_put(hot, counter->total);
	}
	st_words_publish(hot);
	return rows;
}

/* With the lock of the process. `keep`: it is not ours to change. */
static void tell_rows(struct st_thread *thread, struct calls *calls, bool keep)
{
	uint32_t count = calls->changed_count;

	define_new();
	while (count && count <= ST_CALL_FUNCTIONS_MAX + 1) {
		uint32_t done = put_rows(thread, calls, count);

		if (!done)
			break;
		for (uint32_t i = 0; i < done && !keep; i++) {
			struct counter *counter = &calls->counter[calls->changed[--count]];

			*counter = (struct counter){.open = counter->open};
		}
		if (keep) {
			count -= done;
		} else {
			calls->changed_count = count;
			calls->lost = 0;
		}
	}
}

static bool may_tell(const struct calls *calls)
{
	return !functions->ended && !(atomic_load_explicit(calls->control, memory_order_relaxed) &
				      (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED));
}

static __attribute__((noinline)) void tell(struct calls *calls, uint64_t clock)
{
	struct st_thread *thread;

	calls->tell_at = calls->last + st_python_calls_interval_ticks;
	if (!may_tell(calls))
		return;
	settle_open(calls, clock);
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return;
	if (st_thread_identify(thread) && st_process_lock()) {
		tell_rows(thread, calls, false);
		st_process_unlock();
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_call_tell(void)
{
	if (mine && mine->ready)
		tell(mine, charge(mine, st_ticks()));
}

/* Memory for this thread, and its place in the list. Between enter and leave. */
static struct calls *make(const struct st_thread *thread)
{
	struct calls *calls = mine;
	size_t size = whole_pages(sizeof(*calls));

	if (!functions && sizeof(*functions) <= st_address_share())
		functions = st_map_wiped(whole_pages(sizeof(*functions)));
	if (functions && !calls && size <= st_address_share())
		calls = st_map_wiped(size);
	no_memory = !functions || !calls;
	if (!functions || !calls || functions->ended || !st_process_lock())
		return calls;
	calls->next = functions->threads;
	functions->threads = calls;
	st_process_unlock();
	calls->control = thread->hot.control;
	calls->tid = thread->tid;
	calls->last = st_ticks();
	calls->tell_at = calls->last + st_python_calls_interval_ticks;
	calls->counting = !atomic_load_explicit(calls->control, memory_order_relaxed);
	calls->ready = true;
	return calls;
}

static __attribute__((noinline)) struct calls *prepare(void)
{
	struct st_thread *thread = no_memory ? NULL : st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return NULL;
	mine = make(thread);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return mine && mine->ready ? mine : NULL;
}

uint32_t st_call_begin(uintptr_t key, void *object)
{
	struct calls *calls = mine;
	struct counter *counter;
	uint32_t function, check = st_call_check(object);
	const struct place *place;
	uint64_t clock;
	uint8_t flags;

	if (ST_UNLIKELY(!calls || !calls->ready)) {
		calls = prepare();
		if (!calls)
			return 0;
	}
	place = find(key);
	if (ST_LIKELY(place->key == key && place->check == check))
		function = place->function;
	else
		function = learn(key, object, check);
	flags = functions->function[function].flags;
	clock = charge(calls, st_ticks());
	if (ST_UNLIKELY(calls->depth == ST_CALL_DEPTH_MAX)) {
		calls->beyond++;
		calls->lost++;
		return flags;
	}
	counter = &calls->counter[function];
	if (ST_LIKELY(calls->counting)) {
		counter->calls++;
		counter->primitive += !counter->open;
		mark_changed(calls, function);
	}
	calls->stack[calls->depth++] =
		(struct open_call){key, clock, function, !counter->open, flags};
	counter->open++;
	if (ST_UNLIKELY(calls->last >= calls->tell_at))
		tell(calls, clock);
	return flags;
}

static inline void end_top(struct calls *calls, uint64_t clock)
{
	const struct open_call *open = &calls->stack[--calls->depth];
	struct counter *counter = &calls->counter[open->function];

	counter->open--;
	if (open->outermost)
		counter->total += clock - open->begin;
}

uint32_t st_call_end(uintptr_t key)
{
	struct calls *calls = mine;
	uint32_t at, flags;
	uint64_t clock;

	if (ST_UNLIKELY(!calls || !calls->ready))
		return 0;
	clock = charge(calls, st_ticks());
	if (ST_UNLIKELY(calls->beyond)) {
		calls->beyond--;
		return 0;
	}
	at = calls->depth;
	/* What is open inside of it has ended unseen: it runs on another stack, or another tool looked at it. */
	while (ST_UNLIKELY(at && calls->stack[at - 1].key != key))
		at--;
	if (ST_UNLIKELY(!at))
		return 0;
	flags = calls->stack[at - 1].flags;
	while (calls->depth >= at)
		end_top(calls, clock);
	if (ST_UNLIKELY(calls->last >= calls->tell_at))
		tell(calls, clock);
	return flags;
}

void st_call_end_all(void)
{
	uint64_t clock;

	if (!mine || !mine->ready)
		return;
	clock = charge(mine, st_ticks());
	mine->beyond = 0;
	while (mine->depth)
		end_top(mine, clock);
}

static void unlink_calls(struct calls *calls)
{
	struct calls **at = &functions->threads;

	while (*at && *at != calls)
		at = &(*at)->next;
	if (*at)
		*at = calls->next;
}

void st_python_calls_end_thread(void)
{
	struct calls *calls = mine;

	if (!calls)
		return;
	if (!calls->ready)
		goto unmap;
	st_call_end_all();
	tell(calls, calls->last - calls->paused);
	if (!st_process_lock())
		return;
	unlink_calls(calls);
	st_process_unlock();
unmap:
	mine = NULL;
	st_syscall(SYS_munmap, calls, whole_pages(sizeof(*calls)));
}

/* Other threads run no Python any more, or wait for the lock that the caller holds. */
static void tell_all(bool last)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	if (st_thread_identify(thread) && st_process_lock()) {
		for (struct calls *at = functions->threads; at; at = at->next)
			if (at != mine && may_tell(at))
				tell_rows(thread, at, last);
		functions->ended = last;
		st_process_unlock();
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_call_tell_all(void)
{
	st_call_tell();
	if (functions)
		tell_all(false);
}

void st_python_calls_end_process(void)
{
	if (!functions)
		return;
	st_call_tell();
	tell_all(true);
}
