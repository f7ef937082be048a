/* SPDX-License-Identifier: Apache-2.0
 *
 * Unlike the sampler's signal handler, whoever calls an operator has its frames in order: they are the thread's own,
 * nobody changes them while it is here, with or without the interpreter's lock, and they keep their code objects alive.
 * So they are read by loads. A stack that is the same as that of the operator before costs a comparison of all frames.
 * Where calls are recorded and none began or ended since, only the innermost one is compared, and inside of the operator
 * whose stack it was nothing at all: its caller waits, and Python that is called from there is told first. Unless a
 * debugger's function runs: CPython tells nobody of calls then.
 *
 * The interpreter that ends takes the states of other threads away while they may still be computing: before it does, we
 * are told by atexit, and read no more frames but the main thread's.
 */
#include "collect/inproc/torch/torch_stack.h"

#include <dlfcn.h>
#include <string.h>

#include "base/rt/syscall.h"
#include "collect/inproc/python/python_abi.h"
#include "collect/inproc/python/python_codes.h"
#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/python/python_trace.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/core/words.h"
#include "format/sample_record.h"

enum {
	FRAMES_MAX = 256,
	KNOWN_MAX = 512,
	STEPS_MAX = 3 * FRAMES_MAX, /* some are not shown */
	WAIT_YIELDS = 1000,
	RUNTIME_WORDS = 5,
};

struct frame {
	uint64_t code, place;
};

/* A code object that this thread has met. */
struct known {
	uint64_t code, table, name;
	uint32_t id;
};

/* Of a slot; a fork wipes it. */
struct st_torch_stack {
	uint32_t generation; /* of the owner that has told `frame`; 0: nobody */
	uint64_t clock;	     /* of its calls then (python_trace.h); 0: they do not tell all */
	uintptr_t key;	     /* of the operator whose stack it was; 0: of something else */
	uint32_t key_count;  /* of the thread before it began */
	const void *thread_state;
	uint32_t count, flags;
	bool runtime_told;
	bool is_main;
	struct frame frame[FRAMES_MAX]; /* as told, innermost first */
	struct frame now[FRAMES_MAX];
	struct known known[KNOWN_MAX];
	uint8_t scratch[ST_PYTHON_DESCRIPTION_BYTES];
};

static enum { NOT_YET, READY, REFUSED } state;
static struct st_python_runtime runtime;
static _Atomic uint32_t ending;	 /* the interpreter: states of threads may go */
static _Atomic uint32_t walkers; /* threads but the main one that read frames now */

static uint64_t load64(uint64_t at)
{
	uint64_t value;

	memcpy(&value, (const void *)(uintptr_t)at, sizeof(value));
	return value;
}

static int32_t load32(uint64_t at)
{
	int32_t value;

	memcpy(&value, (const void *)(uintptr_t)at, sizeof(value));
	return value;
}

static uint64_t first_frame(void)
{
	const struct st_python_layout *layout = &runtime.layout;
	uint64_t thread_state = (uint64_t)(uintptr_t)runtime.this_thread_state(), at;

	if (!thread_state)
		return 0;
	at = load64(thread_state + layout->state_frame);
	return at && layout->c_frame != ST_PYTHON_ABSENT ? load64(at + layout->c_frame) : at;
}

/* What stands for a frame in the walk: false, it is none that is shown. */
static inline bool read_frame(uint64_t at, struct frame *out)
{
	const struct st_python_layout *layout = &runtime.layout;

	if (layout->frame_owner == ST_PYTHON_ABSENT) {
		out->code = load64(at + layout->frame_code);
		out->place = (uint64_t)(int64_t)load32(at + layout->frame_place);
		return (int64_t)out->place >= 0;
	}
	if (*(const uint8_t *)(uintptr_t)(at + layout->frame_owner) >= ST_PYTHON_OWNER_SHIM)
		return false;
	out->code = load64(at + layout->frame_code) & ~(uint64_t)layout->code_tag;
	out->place = load64(at + layout->frame_place);
	return true;
}

/* Whether no call began or ended since the frames were told. */
static inline bool is_still(const struct st_torch_stack *stack)
{
	return st_trace_on && stack->clock && stack->clock == st_trace_clock();
}

/* Then only the innermost may be somewhere else. */
static bool is_unmoved(const struct st_torch_stack *stack)
{
	uint64_t at;
	struct frame now;

	if (!is_still(stack) || !stack->count ||
	    !st_python_calls_follows(runtime.this_thread_state()))
		return false;
	at = first_frame();
	return at && read_frame(at, &now) && now.code == stack->frame[0].code &&
	       now.place == stack->frame[0].place;
}

/* The frames of what begins with this key are those that were told. */
static void stand(struct st_torch_stack *stack, const struct st_hot *hot, uintptr_t key)
{
	stack->thread_state = runtime.this_thread_state();
	stack->clock = st_python_calls_follows(stack->thread_state) ? st_trace_clock() : 0;
	stack->key_count = hot->key_count;
	stack->key = key;
}

/* Whether the operator whose stack it was is open, and nobody was told to leave out calls since. A thread's state may
 * go before the thread does, the main one's only after `ending`. */
static inline bool is_inside(const struct st_torch_stack *stack, const struct st_thread *thread)
{
	return thread->hot.key_count > stack->key_count && stack->key &&
	       thread->key[stack->key_count + 1] == stack->key && is_still(stack) &&
	       !atomic_load_explicit(&ending, memory_order_relaxed) &&
	       st_python_calls_follows(stack->is_main ? stack->thread_state
						      : runtime.this_thread_state());
}

/* Whether the frames are those that were told; what is not goes to `now`. */
static bool walk(struct st_torch_stack *stack, uint32_t *count, bool *cut)
{
	bool same = true;
	uint32_t steps = 0;
	uint64_t at = first_frame();

	*count = 0;
	for (; at && steps < STEPS_MAX && *count < FRAMES_MAX;
	     at = load64(at + runtime.layout.frame_back), steps++) {
		struct frame *now = &stack->now[*count];

		if (!read_frame(at, now))
			continue;
		same = same && *count < stack->count && now->code == stack->frame[*count].code &&
		       now->place == stack->frame[*count].place;
		++*count;
	}
	*cut = at != 0;
	return same && *count == stack->count;
}

static bool put(void *to, enum st_ring_ext subkind, const struct st_part *parts,
		uint32_t part_count)
{
	struct st_thread *thread = to;
	struct st_hot *hot = &thread->hot;
	uint64_t words = 1, dt;

	for (uint32_t i = 0; i < part_count; i++)
		words += ((uint64_t)parts[i].size_bytes + 7) / 8;
	/* Not the last of the ring: what was to be told so carefully should find room, too. */
	if (words > UINT16_MAX || st_ring_room(thread) < (int64_t)(words * 8 + 64))
		return false;
	dt = st_words_time(hot, 0);
	st_words_put(hot, st_word_ext(subkind, (uint32_t)words, dt));
	for (uint32_t i = 0; i < part_count; i++) {
		struct st_part_reader reader = {&parts[i], &parts[i + 1], 0};

		for (uint32_t done = 0; done < parts[i].size_bytes; done += 8)
			st_words_put(hot, st_part_word(&reader));
	}
	st_words_publish(hot);
	return true;
}

static bool tell_runtime(struct st_thread *thread, struct st_torch_stack *stack)
{
	const uint64_t words[RUNTIME_WORDS] = {runtime.version, runtime.eval_start,
					       runtime.eval_end, 0, 0};

	if (!stack->runtime_told)
		stack->runtime_told = put(thread, ST_EXT_PYTHON_RUNTIME,
					  &(struct st_part){words, sizeof(words)}, 1);
	return stack->runtime_told;
}

/* A code that the thread has not met; 0: it is none, or there is no room to describe it. */
static uint32_t learn_code(struct st_thread *thread, struct st_torch_stack *stack, uint64_t code)
{
	struct st_python_code_seen seen = {
		.runtime = &runtime, .address = code, .bytes = (const uint8_t *)(uintptr_t)code};
	struct st_python_code_sink sink = {put, thread};
	uint64_t fingerprint = st_python_code_fingerprint(&seen);
	struct st_python_content content;
	uint32_t id, described;
	bool define;

	if (!fingerprint)
		return 0;
	if (!st_python_code_has_number(&runtime)) {
		st_python_content_find(&seen, &content);
		fingerprint = st_python_content_mix(&content, fingerprint, NULL);
	}
	id = st_python_code_id(fingerprint, &define);
	if (!define)
		return id;
	described = st_python_code_describe(&sink, &seen, id, stack->scratch);
	st_python_code_described(fingerprint, described ? described : id, described != 0);
	return described;
}

static uint32_t code_id(struct st_thread *thread, struct st_torch_stack *stack, uint64_t code)
{
	const struct st_python_layout *layout = &runtime.layout;
	uint64_t table = load64(code + layout->code_table);
	uint64_t name = load64(code + layout->code_name);
	struct known *known =
		&stack->known[((code >> 4) * 0x9e3779b97f4a7c15ull >> 40) % KNOWN_MAX];

	if (known->code == code && known->table == table && known->name == name)
		return known->id;
	known->id = learn_code(thread, stack, code);
	known->code = known->id ? code : 0;
	known->table = table;
	known->name = name;
	return known->id;
}

static uint64_t word_of(struct st_thread *thread, struct st_torch_stack *stack,
			const struct frame *frame)
{
	uint64_t place = frame->place;

	if (runtime.layout.frame_owner != ST_PYTHON_ABSENT)
		place = (place - frame->code - runtime.layout.code_begin) / 2;
	if (place >= ST_PYTHON_POSITION_NONE)
		place = ST_PYTHON_POSITION_NONE;
	return st_word_python_frame(code_id(thread, stack, frame->code), (uint32_t)place, 0);
}

/* Frames that both have, from the outermost. */
static uint32_t kept(const struct st_torch_stack *stack, uint32_t count, uint32_t generation)
{
	uint32_t most = count < stack->count ? count : stack->count, same = 0;

	if (stack->generation != generation)
		return 0;
	while (same < most) {
		const struct frame *now = &stack->now[count - 1 - same];
		const struct frame *before = &stack->frame[stack->count - 1 - same];

		if (now->code != before->code || now->place != before->place)
			break;
		same++;
	}
	return same;
}

/* Without frames: they are not known. Such a record finds room wherever a begin does. */
static void tell_nothing(struct st_thread *thread, struct st_torch_stack *stack)
{
	const uint64_t head = (uint64_t)ST_SAMPLE_PYTHON_CUT << 32;

	stack->count = stack->generation = 0;
	st_ring_put(thread, ST_EXT_STACK, 0, &head, 1);
}

static void tell(struct st_thread *thread, struct st_torch_stack *stack, uint32_t count, bool cut,
		 uintptr_t key)
{
	uint64_t words[FRAMES_MAX + 1];
	uint32_t same = cut ? 0 : kept(stack, count, thread->generation), fresh = count - same;

	if (!st_thread_tell(thread) || !tell_runtime(thread, stack)) {
		tell_nothing(thread, stack);
		return;
	}
	words[0] = fresh | (uint64_t)same << 16 | (uint64_t)(cut ? ST_SAMPLE_PYTHON_CUT : 0) << 32;
	for (uint32_t i = 0; i < fresh; i++)
		words[i + 1] = word_of(thread, stack, &stack->now[i]);
	if (!put(thread, ST_EXT_STACK, &(struct st_part){words, 8 * (fresh + 1)}, 1)) {
		tell_nothing(thread, stack);
		return;
	}
	memcpy(stack->frame, stack->now, count * sizeof(*stack->now));
	stack->count = count;
	stack->generation = thread->generation;
	stand(stack, &thread->hot, key);
}

static struct st_torch_stack *make(struct st_thread *thread)
{
	size_t size = (sizeof(struct st_torch_stack) + 4095) & ~(size_t)4095;

	if (!thread->stack && size <= st_address_share())
		thread->stack = st_map_wiped(size);
	if (thread->stack && thread->stack->generation != thread->generation) {
		thread->stack->is_main = (long)thread->tid == st_syscall(SYS_getpid, 0);
		thread->stack->runtime_told = false;
	}
	return thread->stack;
}

static bool enter_walk(const struct st_torch_stack *stack)
{
	if (stack->is_main)
		return true;
	/* Either the one that ends the interpreter sees this, or we see that it does. */
	atomic_fetch_add_explicit(&walkers, 1, memory_order_seq_cst);
	if (!atomic_load_explicit(&ending, memory_order_seq_cst))
		return true;
	atomic_fetch_sub_explicit(&walkers, 1, memory_order_release);
	return false;
}

static void leave_walk(const struct st_torch_stack *stack)
{
	if (!stack->is_main)
		atomic_fetch_sub_explicit(&walkers, 1, memory_order_release);
}

static __attribute__((noinline)) void tell_slowly(uintptr_t key)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	struct st_torch_stack *stack;
	uint32_t count;
	bool cut;

	if (!thread)
		return;
	if (thread->stack)
		thread->stack->clock = 0;
	stack = atomic_load_explicit(thread->hot.control, memory_order_relaxed) ? NULL
										: make(thread);
	if (stack && st_torch_config.stacks && enter_walk(stack)) {
		if (!walk(stack, &count, &cut) || stack->generation != thread->generation)
			tell(thread, stack, count, cut, key);
		else
			stand(stack, &thread->hot, key);
		leave_walk(stack);
	} else if (thread->stack && thread->stack->generation) {
		/* Also while nothing is recorded: it may be when the begin that follows is written. */
		tell_nothing(thread, thread->stack);
	}
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_torch_stack_tell(uintptr_t key)
{
	struct st_hot *hot = st_tls;
	struct st_torch_stack *stack;
	struct st_thread *thread;
	uint32_t count;
	bool cut, same;

	if (ST_UNLIKELY(state != READY))
		return;
	/* They are not wanted any more: what was told last is not the stack of what comes. */
	if (ST_UNLIKELY(!st_torch_config.stacks)) {
		stack = hot && hot->data ? ((struct st_thread *)hot)->stack : NULL;
		if (stack && stack->generation)
			tell_slowly(key);
		return;
	}
	thread = (struct st_thread *)hot;
	stack = ST_LIKELY(hot && hot->data && hot->limit) ? thread->stack : NULL;
	if (ST_LIKELY(stack && stack->generation == thread->generation &&
		      !atomic_load_explicit(hot->control, memory_order_relaxed))) {
		if (is_inside(stack, thread))
			return;
		if (ST_LIKELY(enter_walk(stack))) {
			same = is_unmoved(stack) || walk(stack, &count, &cut);
			if (same)
				stand(stack, hot, key);
			leave_walk(stack);
			if (ST_LIKELY(same))
				return;
		}
	}
	tell_slowly(key);
}

/* Called by atexit. */
static struct py_object *end_walks(struct py_object *self, struct py_object *args)
{
	static struct py_object *(*build)(const char *, ...);

	(void)self, (void)args;
	atomic_store_explicit(&ending, 1, memory_order_seq_cst);
	for (int i = 0; i < WAIT_YIELDS && atomic_load_explicit(&walkers, memory_order_acquire);
	     i++)
		st_syscall(SYS_sched_yield, 0);
	*(void **)&build = dlsym(RTLD_DEFAULT, "Py_BuildValue");
	return build ? build("") : NULL;
}

static struct py_method end_method = {"strata", end_walks, PY_NOARGS, NULL};

static bool register_end(void)
{
	struct py_object *(*import)(const char *);
	struct py_object *(*make_function)(struct py_method *, struct py_object *,
					   struct py_object *);
	struct py_object *(*call)(struct py_object *, const char *, const char *, ...);
	void (*drop)(struct py_object *);
	void (*clear)(void);
	struct py_object *module, *function, *result;

	*(void **)&import = dlsym(RTLD_DEFAULT, "PyImport_ImportModule");
	*(void **)&make_function = dlsym(RTLD_DEFAULT, "PyCFunction_NewEx");
	*(void **)&call = dlsym(RTLD_DEFAULT, "PyObject_CallMethod");
	*(void **)&drop = dlsym(RTLD_DEFAULT, "Py_DecRef");
	*(void **)&clear = dlsym(RTLD_DEFAULT, "PyErr_Clear");
	if (!import || !make_function || !call || !drop || !clear)
		return false;
	module = import("atexit");
	function = module ? make_function(&end_method, NULL, NULL) : NULL;
	result = function ? call(module, "register", "O", function) : NULL;
	if (module)
		drop(module);
	if (function)
		drop(function);
	if (result)
		drop(result);
	else
		clear();
	return result != NULL;
}

void st_torch_stack_look(void)
{
	if (ST_LIKELY(state != NOT_YET) || !st_torch_installed())
		return;
	state = REFUSED; /* for whoever comes by while Python code runs */
	if (st_python_runtime_find(&runtime) && runtime.known && !runtime.free_threaded &&
	    st_python_codes_init() && register_end())
		state = READY;
	else
		st_notice(ST_NOTICE_NO_STACKS);
}
