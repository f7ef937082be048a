/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls as words of the ring, among the records of the thread's operators. A begin and an end are a word each; what is
 * unusual goes to the slow path. Which calls are open on a thread is known here, because an end must only be written
 * for a begin that was, and a function may end unseen (another tool looked at it, it runs on another stack).
 *
 * Threads that were there when recording began are recorded: each first tells the functions that it is in, when it comes
 * by, from the moment of that beginning on, and with the lines they were at then. One that never comes by tells nothing.
 */
#include "collect/inproc/python/python_trace.h"

#include <string.h>
#include <sys/mman.h>

#include "base/rt/syscall.h"
#include "collect/inproc/python/python_calls.h"
#include "collect/inproc/python/python_calls_abi.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/words.h"

enum {
	DEPTH_MAX = 16 << 10,
	FRAMES_MAX = 512,
	THREADS_MORE = 64,     /* that there is room for from the first */
	WAITING_MAX = 1 << 10, /* frames of other threads whose names are kept */
};

struct open_call {
	uintptr_t key;
	uint32_t generation; /* of the place in the rings that has its begin; 0: nobody has */
	uint32_t reserved;
};

/* Of a thread; a fork wipes it. */
struct trace {
	const struct st_hot *owner; /* of the begins */
	uint64_t clock;		    /* another one at every begin and end */
	uint32_t session;	    /* that it has come by in */
	uint32_t number;	    /* of the thread among those that are recorded */
	uint32_t depth, beyond;	    /* open calls; those for which there was no place */
	struct open_call open[DEPTH_MAX];
};

/* A function that another thread was in when recording began. It stays until that thread comes by. */
struct waiting {
	const void *frame;
	uint32_t name;
};

bool st_trace_on;
static uint64_t clocks; /* a thread's begins where no other has been */
static struct waiting waiting[WAITING_MAX] ST_APART;
static uint32_t waiting_count;
static uint32_t session;
static uint64_t start_ticks;
static void **recorded; /* states of threads */
static uint32_t recorded_count, recorded_room;
/* Odd: a session in which the thread is not recorded; see ignored_now. There is little room in a thread's memory. */
static __thread uintptr_t mine __attribute__((tls_model("initial-exec")));

static inline struct trace *own_trace(void)
{
	return mine & 1 ? NULL : (struct trace *)mine;
}

static inline uintptr_t ignored_now(void)
{
	return (uintptr_t)session << 1 | 1;
}

static size_t pages(size_t size_bytes)
{
	return (size_bytes + 4095) & ~(size_t)4095;
}

static size_t trace_bytes(void)
{
	return pages(sizeof(struct trace));
}

static struct st_thread *thread_of(struct st_hot *hot)
{
	return (struct st_thread *)hot;
}

static void put_word(struct st_thread *thread, uint32_t kind, uint32_t name, uint64_t time)
{
	uint64_t dt = st_words_time(&thread->hot, time);

	st_words_put(&thread->hot, st_word_slice(kind, 0, name, dt));
	st_words_publish(&thread->hot);
}

static void lose(struct st_thread *thread, uint32_t count)
{
	thread->lost += count;
	atomic_fetch_add_explicit(&thread->ring->dropped, count, memory_order_relaxed);
}

/* The thread has another place in the rings than the begins are in, or none had one. */
static void know_owner(struct trace *trace, const struct st_hot *hot)
{
	if (ST_LIKELY(trace->owner == hot))
		return;
	for (uint32_t i = 0; i < trace->depth; i++)
		trace->open[i].generation = 0;
	trace->owner = hot;
}

/* The generation of who wrote it; 0: it was not written. */
static __attribute__((noinline)) uint32_t begin_slow(struct trace *trace, uint32_t name,
						     uint64_t time)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_SLICE);
	uint32_t generation = 0;

	if (!thread)
		return 0;
	know_owner(trace, &thread->hot);
	if (atomic_load_explicit(thread->hot.control, memory_order_relaxed)) {
		/* Nothing is recorded now. */
	} else if (!st_thread_tell(thread) || st_ring_room(thread) < 16 + 8 + ST_END_BYTES) {
		lose(thread, 1);
	} else {
		put_word(thread, ST_WORD_CALL, name, time);
		thread->call_count++;
		generation = thread->generation;
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return generation;
}

static inline uint32_t begin_fast(const struct trace *trace, uint32_t name)
{
	struct st_hot *hot = st_tls;
	uint64_t limit = st_words_take_limit(hot), now, dt;

	if (ST_UNLIKELY(!limit))
		return 0;
	st_words_ask_ahead(hot);
	now = st_ticks();
	dt = now - hot->last;
	if (ST_UNLIKELY(trace->owner != hot || hot->head + 8 + ST_END_BYTES > limit ||
			dt > ST_WORD_DT_MAX ||
			atomic_load_explicit(hot->control, memory_order_relaxed))) {
		hot->limit = limit;
		return 0;
	}
	hot->last = now;
	thread_of(hot)->call_count++;
	st_words_record(hot, st_word_slice(ST_WORD_CALL, 0, name, dt));
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit - ST_END_BYTES;
	return thread_of(hot)->generation;
}

static __attribute__((noinline)) void end_slow(struct trace *trace, uint32_t generation,
					       uint64_t now)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	if (trace->owner == &thread->hot && thread->generation == generation &&
	    thread->call_count) {
		/* Its room was kept. */
		thread->call_count--;
		put_word(thread, ST_WORD_RETURN, 0, now);
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static inline void end_top(struct trace *trace, uint64_t now)
{
	uint32_t generation = trace->open[--trace->depth].generation;
	struct st_hot *hot = st_tls;
	uint64_t limit, dt;

	if (ST_UNLIKELY(!generation))
		return;
	limit = st_words_take_limit(hot);
	if (ST_UNLIKELY(!limit))
		goto slow;
	dt = now - hot->last;
	if (ST_UNLIKELY(trace->owner != hot || thread_of(hot)->generation != generation ||
			dt > ST_WORD_DT_MAX)) {
		hot->limit = limit;
		goto slow;
	}
	hot->last = now;
	thread_of(hot)->call_count--;
	st_words_record(hot, st_word_slice(ST_WORD_RETURN, 0, 0, dt));
	atomic_signal_fence(memory_order_seq_cst);
	hot->limit = limit + ST_END_BYTES;
	return;
slow:
	end_slow(trace, generation, now);
}

static void push(struct trace *trace, uintptr_t key, uint32_t generation)
{
	trace->open[trace->depth++] = (struct open_call){.key = key, .generation = generation};
}

static uint32_t name_of(const void *frame, struct py_object *code)
{
	for (uint32_t i = 0; i < waiting_count; i++)
		if (waiting[i].frame == frame)
			return waiting[i].name;
	return st_trace_frame_name(frame, code);
}

/* Calls that were not even tried; while nothing is recorded they are none. */
static __attribute__((noinline)) void lose_some(uint32_t count)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_SLICE);

	if (!thread)
		return;
	if (!atomic_load_explicit(thread->hot.control, memory_order_relaxed))
		lose(thread, count);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

/* The functions that the thread is in, from the outermost, less the innermost ones that begin just now. */
static void push_frames(struct trace *trace, const void *but, uint64_t time)
{
	const void *frames[FRAMES_MAX];
	uint32_t count = 0, beyond = 0;

	for (const void *at = st_trace_frame(); at; at = st_trace_frame_back(at)) {
		if (at == but)
			continue;
		if (count < FRAMES_MAX)
			frames[count++] = at;
		else
			beyond++;
	}
	while (count-- > 0) {
		struct py_object *code = st_trace_frame_code(frames[count]);

		push(trace, (uintptr_t)code, begin_slow(trace, name_of(frames[count], code), time));
	}
	/* Behind them: a loss is told with the time of now, and nothing can begin before it then. */
	if (beyond)
		lose_some(beyond);
}

/* The number of this thread among those that are recorded; none: their count. */
static uint32_t own_number(void)
{
	const void *state = st_calls_python.PyThreadState_Get();
	uint32_t i = 0;

	while (i < recorded_count && recorded[i] != state)
		i++;
	return i;
}

/* Whether the thread has memory for its open calls. Only one that has a place in the rings gets it: who has one is
 * told when the thread ends. */
static bool has_memory(void)
{
	struct st_thread *thread;

	if (own_trace())
		return true;
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return false;
	mine = trace_bytes() <= st_address_share() ? (uintptr_t)st_map_wiped(trace_bytes()) : 0;
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return mine != 0;
}

/* The thread comes by for the first time in this session. `but`: a frame that begins only now. */
static __attribute__((noinline)) struct trace *come_by(const void *but)
{
	struct trace *trace;
	uint32_t number;

	if (mine == ignored_now())
		return NULL;
	number = own_number();
	if (number == recorded_count) {
		st_trace_end_thread();
		mine = ignored_now();
		return NULL;
	}
	if (!has_memory())
		return NULL;
	st_trace_end_all();
	trace = own_trace();
	trace->session = session;
	trace->number = number;
	clocks += UINT64_C(1) << 32;
	trace->clock = clocks;
	push_frames(trace, but, start_ticks);
	return trace;
}

static inline struct trace *trace_of(const void *but)
{
	struct trace *trace = own_trace();

	return ST_LIKELY(trace && trace->session == session) ? trace : come_by(but);
}

/* A call of a thread that is not recorded. */
static __attribute__((noinline)) void leave_out(void)
{
	if (mine != ignored_now())
		lose_some(1);
}

static inline void begin(struct trace *trace, uintptr_t key, uint32_t name)
{
	uint32_t generation;

	trace->clock++;
	if (ST_UNLIKELY(trace->depth == DEPTH_MAX)) {
		trace->beyond++;
		lose_some(1);
		return;
	}
	generation = begin_fast(trace, name);
	if (ST_UNLIKELY(!generation))
		generation = begin_slow(trace, name, 0);
	push(trace, key, generation);
}

static inline void end(uintptr_t key)
{
	uint64_t now = st_ticks();
	/* Where nothing has come by, nothing is open but functions from before. */
	struct trace *trace = trace_of(NULL);
	uint32_t at;

	if (ST_UNLIKELY(!trace))
		return;
	trace->clock++;
	if (ST_UNLIKELY(trace->beyond)) {
		trace->beyond--;
		return;
	}
	at = trace->depth;
	while (ST_UNLIKELY(at && trace->open[at - 1].key != key))
		at--;
	while (at && trace->depth >= at)
		end_top(trace, now);
}

uint64_t st_trace_clock(void)
{
	const struct trace *trace = own_trace();

	return trace && trace->session == session ? trace->clock : 0;
}

void st_trace_call(const void *frame, struct py_object *code)
{
	struct trace *trace = trace_of(frame);

	if (ST_LIKELY(trace))
		begin(trace, (uintptr_t)code, st_trace_frame_name(frame, code));
	else
		leave_out();
}

void st_trace_return(const struct py_object *code)
{
	end((uintptr_t)code);
}

uint32_t st_trace_builtin(const struct py_method *method, struct py_object *self)
{
	struct trace *trace = trace_of(NULL);
	uint32_t flags = 0, name;

	if (ST_UNLIKELY(!trace)) {
		leave_out();
		return 0;
	}
	name = st_trace_builtin_name(trace->number, method, self, &flags);
	begin(trace, (uintptr_t)method, name);
	return flags;
}

void st_trace_builtin_return(const struct py_method *method)
{
	end((uintptr_t)method);
}

void st_trace_end_all(void)
{
	struct trace *trace = own_trace();
	uint64_t now = st_ticks();

	if (!trace)
		return;
	trace->beyond = 0;
	trace->clock++;
	while (trace->depth)
		end_top(trace, now);
}

static void look_at_others(void)
{
	const void *own = st_calls_python.PyThreadState_Get();

	waiting_count = 0;
	for (uint32_t i = 0; i < recorded_count; i++) {
		const void *at = recorded[i] == own ? NULL : st_trace_frame_of(recorded[i]);

		for (; at && waiting_count < WAITING_MAX; at = st_trace_frame_back(at))
			waiting[waiting_count++] = (struct waiting){
				at, st_trace_frame_name(at, st_trace_frame_code(at))};
	}
}

/* Room for as many threads as there are. */
static bool make_room(void)
{
	uint32_t count = st_python_calls_threads(NULL, UINT32_MAX);
	size_t size_bytes = pages((count + THREADS_MORE) * sizeof(*recorded));
	void *more;

	if (count <= recorded_room)
		return true;
	more = size_bytes <= st_address_share() ? st_map_wiped(size_bytes) : NULL;
	if (!more)
		return false;
	if (recorded)
		st_syscall(SYS_munmap, recorded, recorded_room * sizeof(*recorded));
	recorded = more;
	recorded_room = (uint32_t)(size_bytes / sizeof(*recorded));
	return true;
}

void st_trace_start(void)
{
	if (!make_room())
		return;
	recorded_count = st_python_calls_threads(recorded, recorded_room);
	look_at_others();
	session++;
	start_ticks = st_ticks();
	st_trace_on = true;
	trace_of(NULL);
}

void st_trace_stop(void)
{
	struct st_thread *thread;

	if (!st_trace_on)
		return;
	st_trace_on = false;
	st_trace_end_all();
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return;
	if (st_thread_tell(thread))
		st_ring_put(thread, ST_EXT_CALLS_STOP, 0, NULL, 0);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_trace_end_thread(void)
{
	struct trace *trace = own_trace();

	if (!trace)
		return;
	st_trace_end_all();
	mine = 0;
	st_syscall(SYS_munmap, trace, trace_bytes());
}
