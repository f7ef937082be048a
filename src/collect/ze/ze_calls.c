/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of Level Zero, seen before and after they run. The tracing layer hands over pointers to a call's arguments,
 * which may be changed: a command without an event gets one of ours, pools of events are made so that they tell times.
 * Calls that are made here are not handed over again, but for those of our own thread, which are let pass.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "collect/devices/handles.h"
#include "collect/inproc/device/device.h"
#include "collect/ze/ze.h"

enum {
	KERNELS_MAX = 8192,
	NAME_BYTES = 4096,
	MEMORY_KINDS = 4,
	NO_SIGNAL = 0, /* place of a signal event; the first is a list's */
};

/* What is to be done about a function. */
enum what {
	JUST_A_CALL,
	WAITING, /* for a device */
	LAUNCHING,
	COPYING,
	FILLING,
	MAKING_LIST,
	MAKING_IMMEDIATE,
	EMPTYING_LIST,
	MAKING_QUEUE,
	EXECUTING,
	MAKING_POOL,
	MAKING_EVENT,
	LOSING_EVENT, /* its times are gone then */
	MAKING_KERNEL,
	SIZING_KERNEL,
	LOSING_CONTEXT,
};

/* X(number, name without "ze", what, place of the signal event) */
#define FUNCTIONS(X)                                                                               \
	X(0, CommandListAppendLaunchKernel, LAUNCHING, 3)                                          \
	X(1, CommandListAppendLaunchCooperativeKernel, LAUNCHING, 3)                               \
	X(2, CommandListAppendLaunchKernelIndirect, LAUNCHING, 3)                                  \
	X(3, CommandListAppendLaunchMultipleKernelsIndirect, LAUNCHING, 5)                         \
	X(4, CommandListAppendMemoryCopy, COPYING, 4)                                              \
	X(5, CommandListAppendMemoryCopyRegion, COPYING, 9)                                        \
	X(6, CommandListAppendMemoryCopyFromContext, COPYING, 5)                                   \
	X(7, CommandListAppendMemoryFill, FILLING, 5)                                              \
	X(8, CommandListAppendImageCopy, COPYING, 3)                                               \
	X(9, CommandListAppendImageCopyRegion, COPYING, 5)                                         \
	X(10, CommandListAppendImageCopyToMemory, COPYING, 4)                                      \
	X(11, CommandListAppendImageCopyFromMemory, COPYING, 4)                                    \
	X(12, CommandListAppendBarrier, JUST_A_CALL, NO_SIGNAL)                                    \
	X(13, CommandListCreate, MAKING_LIST, NO_SIGNAL)                                           \
	X(14, CommandListCreateImmediate, MAKING_IMMEDIATE, NO_SIGNAL)                             \
	X(15, CommandListReset, EMPTYING_LIST, NO_SIGNAL)                                          \
	X(16, CommandListDestroy, EMPTYING_LIST, NO_SIGNAL)                                        \
	X(17, CommandQueueCreate, MAKING_QUEUE, NO_SIGNAL)                                         \
	X(18, CommandQueueExecuteCommandLists, EXECUTING, NO_SIGNAL)                               \
	X(19, CommandQueueSynchronize, WAITING, NO_SIGNAL)                                         \
	X(20, CommandListHostSynchronize, WAITING, NO_SIGNAL)                                      \
	X(21, EventHostSynchronize, WAITING, NO_SIGNAL)                                            \
	X(22, FenceHostSynchronize, WAITING, NO_SIGNAL)                                            \
	X(23, EventPoolCreate, MAKING_POOL, NO_SIGNAL)                                             \
	X(24, EventCreate, MAKING_EVENT, NO_SIGNAL)                                                \
	X(25, EventDestroy, LOSING_EVENT, NO_SIGNAL)                                               \
	X(26, EventHostReset, LOSING_EVENT, NO_SIGNAL)                                             \
	X(27, KernelCreate, MAKING_KERNEL, NO_SIGNAL)                                              \
	X(28, KernelSetGroupSize, SIZING_KERNEL, NO_SIGNAL)                                        \
	X(29, ContextDestroy, LOSING_CONTEXT, NO_SIGNAL)                                           \
	X(30, ModuleCreate, JUST_A_CALL, NO_SIGNAL)                                                \
	X(31, MemAllocDevice, JUST_A_CALL, NO_SIGNAL)                                              \
	X(32, MemAllocHost, JUST_A_CALL, NO_SIGNAL)                                                \
	X(33, MemAllocShared, JUST_A_CALL, NO_SIGNAL)                                              \
	X(34, MemFree, JUST_A_CALL, NO_SIGNAL)

static const struct function {
	const char *name;
	enum what what;
	unsigned int signal;
} functions[] = {
#define ROW(NUMBER, NAME, WHAT, SIGNAL) [NUMBER] = {"ze" #NAME, (WHAT), (SIGNAL)},
	FUNCTIONS(ROW)
#undef ROW
};
enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

static _Atomic uint32_t name_ids[FUNCTION_COUNT];

/* Of kernels; lock held. */
static struct kernel {
	uint32_t name;
	uint16_t group[3];
} kernels[KERNELS_MAX];
static uint32_t kernel_count;
static struct st_handles known_kernels;

/* Between before and after, of this thread: calls are not nested. */
static __thread struct call {
	uint64_t begin;
	bool is_recorded;
	struct ze_event event;
	struct ze_pool_wish pool;
	bool is_timed;
} call;

static ze_any *handle_at(void *const *arguments, unsigned int at)
{
	return *(ze_any *const *)arguments[at];
}

/* What a function has made: an argument that points to where the handle was put. */
static ze_any *made_at(void *const *arguments, unsigned int at)
{
	ze_any *const *place = *(ze_any *const *const *)arguments[at];

	return place ? *place : NULL;
}

/* The collector's number of a function's name. */
static uint32_t name_of(const struct function *function)
{
	_Atomic uint32_t *id = &name_ids[function - functions];
	uint32_t found = atomic_load_explicit(id, memory_order_relaxed);

	if (!found) {
		found = strata_device_name(function->name, strlen(function->name));
		atomic_store_explicit(id, found, memory_order_relaxed);
	}
	return found;
}

void ze_calls_renew(void)
{
	for (unsigned int i = 0; i < FUNCTION_COUNT; i++)
		atomic_store_explicit(&name_ids[i], 0, memory_order_relaxed);
}

static uint32_t name(const char *text)
{
	return ze_name(text, strlen(text));
}

static struct kernel *kernel_of(ze_any *handle)
{
	uint32_t at = st_handles_get(&known_kernels, handle);

	if (!at && kernel_count < KERNELS_MAX &&
	    st_handles_set(&known_kernels, handle, kernel_count + 1)) {
		at = ++kernel_count;
		memset(&kernels[at - 1], 0, sizeof(kernels[at - 1]));
	}
	return at ? &kernels[at - 1] : NULL;
}

static uint32_t name_kernel(ze_any *handle)
{
	char name[NAME_BYTES];
	size_t bytes = sizeof(name);

	if (ze.kernel_name(handle, &bytes, name) != ZE_SUCCESS)
		return 0;
	name[sizeof(name) - 1] = '\0';
	return ze_name(name, strnlen(name, bytes));
}

static void take_launch(const struct function *function, void *const *arguments,
			struct st_device_record *record)
{
	bool has_one = function->signal == 3;
	const uint32_t *groups = has_one ? *(const uint32_t *const *)arguments[2] : NULL;
	struct kernel *kernel = has_one ? kernel_of(handle_at(arguments, 1)) : NULL;

	record->kind = ST_DEVICE_KERNEL;
	if (!has_one) {
		record->name = name("[several kernels]");
		return;
	}
	if (kernel && !kernel->name)
		kernel->name = name_kernel(handle_at(arguments, 1));
	record->name = kernel ? kernel->name : name_kernel(handle_at(arguments, 1));
	/* An indirect launch has them in the device's memory. */
	for (unsigned int i = 0; i < 3; i++) {
		bool is_told = groups && !strstr(function->name, "Indirect");

		record->grid[i] = is_told ? groups[i] : 0;
		record->block[i] = kernel ? kernel->group[i] : 0;
	}
}

static uint32_t memory_kind(ze_any *context, const void *at)
{
	struct ze_memory_about about = {.type = ZE_TYPE_MEMORY};
	ze_any *device = NULL;

	if (ze.memory_about(context, at, &about, &device) != ZE_SUCCESS ||
	    about.kind >= MEMORY_KINDS)
		return 0;
	return about.kind;
}

/* Named as torch's profiler names CUDA's. */
static uint32_t name_copy(uint32_t from, uint32_t to)
{
	static const char letters[MEMORY_KINDS] = {'H', 'H', 'D', 'S'};
	static const char *const words[MEMORY_KINDS] = {"Pageable", "Host", "Device", "Shared"};
	char text[64];

	snprintf(text, sizeof(text), "Memcpy %cto%c (%s -> %s)", letters[from], letters[to],
		 words[from], words[to]);
	return name(text);
}

static uint64_t region_bytes(const uint32_t *region)
{
	enum { WIDTH = 3, HEIGHT, DEPTH };

	if (!region)
		return 0;
	return (uint64_t)region[WIDTH] * (region[HEIGHT] ? region[HEIGHT] : 1) *
	       (region[DEPTH] ? region[DEPTH] : 1);
}

/* Lock held. */
static void take_copy(const struct function *function, void *const *arguments,
		      const struct ze_list *list, struct st_device_record *record)
{
	unsigned int source = 0;

	record->kind = ST_DEVICE_COPY;
	if (strstr(function->name, "MemoryCopyRegion")) {
		record->value = region_bytes(*(const uint32_t *const *)arguments[2]);
		source = 5;
	} else if (strstr(function->name, "FromContext")) {
		record->value = *(const size_t *)arguments[4];
		source = 3;
	} else if (strstr(function->name, "MemoryCopy")) {
		record->value = *(const size_t *)arguments[3];
		source = 2;
	}
	if (source)
		record->name = name_copy(memory_kind(list->context, handle_at(arguments, source)),
					 memory_kind(list->context, handle_at(arguments, 1)));
	else
		record->name = name("Memcpy (image)");
}

static void take_fill(void *const *arguments, struct st_device_record *record)
{
	record->kind = ST_DEVICE_FILL;
	record->value = *(const size_t *)arguments[4];
	record->name = name("Memset (Device)");
}

/* The command gets an event that tells its times. */
static void attach(const struct function *function, void *const *arguments)
{
	ze_any **signal = arguments[function->signal];
	const struct ze_list *list;

	ze_lock();
	list = ze_list_of(handle_at(arguments, 0));
	if (!list || (list->is_immediate && !call.is_recorded)) {
		if (!list && call.is_recorded)
			strata_device_lost(1); /* it was made before we came, or is one too many */
		ze_unlock();
		return;
	}
	if (*signal && ze_event_has_times(*signal)) {
		ze_pending_read(*signal, 0, list->is_immediate);
		call.event = (struct ze_event){.handle = *signal};
	} else if (!*signal && ze_event_take(list->context, &call.event)) {
		*signal = call.event.handle;
	} else if (call.is_recorded) {
		strata_device_lost(1);
	}
	ze_unlock();
}

static void append(const struct function *function, void *const *arguments, uint32_t number,
		   uint64_t end)
{
	ze_any *handle = handle_at(arguments, 0);
	struct ze_pending pending = {
		.event = call.event, .call_begin = call.begin, .call_end = end};
	struct st_device_record *record = &pending.record;
	const struct ze_list *list;

	ze_lock();
	list = ze_list_of(handle);
	record->flags = ST_DEVICE_ZE;
	record->device = list->device;
	record->where = list->queue;
	record->context = list->context_number;
	record->correlation = number;
	if (function->what == LAUNCHING)
		take_launch(function, arguments, record);
	else if (function->what == COPYING)
		take_copy(function, arguments, list, record);
	else
		take_fill(arguments, record);
	if (list->is_immediate)
		ze_pending_add(&pending);
	else
		ze_list_add(handle, &call.event, record);
	ze_unlock();
}

static void will_execute(void *const *arguments)
{
	ze_lock();
	ze_lists_will_run(*(ze_any *const *const *)arguments[2], *(const uint32_t *)arguments[1]);
	ze_unlock();
}

static void executed(void *const *arguments, uint32_t number, uint64_t end)
{
	const struct ze_pending like = {
		.call_begin = call.begin, .call_end = end, .record = {.correlation = number}};

	ze_lock();
	ze_lists_run(handle_at(arguments, 0), *(ze_any *const *const *)arguments[2],
		     *(const uint32_t *)arguments[1], &like);
	ze_unlock();
}

/* The program's own events tell times too, where that is possible. */
static void change_pool(void *const *arguments)
{
	const struct ze_pool_wish **wish = arguments[1];

	call.is_timed = false;
	if (!*wish || (*wish)->next || (*wish)->flags & ZE_POOL_IPC)
		return;
	call.pool = **wish;
	call.pool.flags |= ZE_POOL_HOST_VISIBLE | ZE_POOL_TIMESTAMP;
	*wish = &call.pool;
	call.is_timed = true;
}

static void before(const struct function *function, void *const *arguments)
{
	call = (struct call){.is_recorded = ze_records()};
	switch (function->what) {
	case LAUNCHING:
	case COPYING:
	case FILLING:
		attach(function, arguments);
		break;
	case EXECUTING:
		will_execute(arguments);
		break;
	case MAKING_POOL:
		change_pool(arguments);
		break;
	case EMPTYING_LIST:
		ze_lock();
		ze_list_emptied(handle_at(arguments, 0));
		ze_unlock();
		break;
	case LOSING_EVENT:
		ze_lock();
		ze_pending_read(handle_at(arguments, 0), 0, true);
		ze_unlock();
		break;
	case LOSING_CONTEXT:
		ze_lock();
		ze_context_gone(handle_at(arguments, 0));
		ze_unlock();
		break;
	default:
		break;
	}
	call.begin = strata_device_ticks();
}

/* Pools that tell no times, by their handles; lock held. */
static struct st_handles untimed_pools;

/* Of functions that have worked. */
static void note_made(const struct function *function, void *const *arguments)
{
	struct kernel *kernel;

	ze_lock();
	switch (function->what) {
	case MAKING_LIST:
	case MAKING_IMMEDIATE:
		ze_list_made(made_at(arguments, 3), handle_at(arguments, 0),
			     handle_at(arguments, 1), function->what == MAKING_IMMEDIATE);
		break;
	case MAKING_QUEUE:
		ze_queue_made(made_at(arguments, 3), handle_at(arguments, 0),
			      handle_at(arguments, 1));
		break;
	case MAKING_POOL:
		if (!call.is_timed || st_handles_get(&untimed_pools, made_at(arguments, 4)))
			st_handles_set(&untimed_pools, made_at(arguments, 4), !call.is_timed);
		break;
	case MAKING_EVENT:
		ze_event_is_timed(made_at(arguments, 2),
				  !st_handles_get(&untimed_pools, handle_at(arguments, 0)));
		break;
	case MAKING_KERNEL:
		kernel = kernel_of(made_at(arguments, 2));
		if (kernel)
			memset(kernel, 0, sizeof(*kernel));
		break;
	case SIZING_KERNEL:
		kernel = kernel_of(handle_at(arguments, 0));
		for (unsigned int i = 0; kernel && i < 3; i++)
			kernel->group[i] = (uint16_t) * (const uint32_t *)arguments[i + 1];
		break;
	default:
		break;
	}
	ze_unlock();
}

/* Calls whose time says something. */
static bool is_told(enum what what)
{
	switch (what) {
	case WAITING:
		return true;
	case JUST_A_CALL:
	case LAUNCHING:
	case COPYING:
	case FILLING:
	case EXECUTING:
		return !ze_records_waits_only();
	default:
		return false;
	}
}

static void put(struct st_device_record *record)
{
	if (strata_device_put(record, 0) == ST_DEVICE_FULL)
		strata_device_lost(1);
}

/* What the call has waited for: a queue, or else an event or a fence. */
static void tell_wait(void *const *arguments, const struct st_device_record *call_record)
{
	struct st_device_record wait = *call_record;

	ze_lock();
	wait.where = ze_queue_number(handle_at(arguments, 0));
	ze_unlock();
	wait.kind = ST_DEVICE_WAIT;
	wait.value = wait.where ? ST_WAIT_STREAM : ST_WAIT_EVENT;
	wait.where = wait.where ? wait.where : ST_DEVICE_NO_STREAM;
	wait.name = 0;
	put(&wait);
}

static void after(const struct function *function, void *const *arguments, int32_t answer)
{
	uint64_t end = strata_device_ticks();
	uint32_t number = ze_next_correlation();
	struct st_device_record record = {
		.kind = ST_DEVICE_CALL,
		.flags = ST_DEVICE_ZE | ST_DEVICE_DRIVER,
		.begin = call.begin,
		.end = end,
		.correlation = number,
		.value = (uint64_t)(uint32_t)answer << 32 | (uint32_t)(function - functions),
	};

	if (call.event.handle && answer == ZE_SUCCESS) {
		append(function, arguments, number, end);
	} else if (call.event.handle) {
		ze_lock();
		ze_event_give_back(&call.event);
		ze_unlock();
	} else if (function->what == EXECUTING && answer == ZE_SUCCESS && call.is_recorded) {
		executed(arguments, number, end);
	} else if (answer == ZE_SUCCESS && function->what >= MAKING_LIST) {
		note_made(function, arguments);
	}
	if (!call.is_recorded || !is_told(function->what))
		return;
	record.name = name_of(function);
	put(&record);
	if (function->what == WAITING)
		tell_wait(arguments, &record);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): parts of a declaration. */
#define ENTRIES(NUMBER, NAME, WHAT, SIGNAL)                                                        \
	static void before_##NAME(void **arguments, int32_t answer, void *argument, void **slot)   \
	{                                                                                          \
		(void)answer;                                                                      \
		(void)argument;                                                                    \
		(void)slot;                                                                        \
		if (!ze_is_inside() && ze_is_on())                                                 \
			before(&functions[NUMBER], arguments);                                     \
	}                                                                                          \
	static void after_##NAME(void **arguments, int32_t answer, void *argument, void **slot)    \
	{                                                                                          \
		(void)argument;                                                                    \
		(void)slot;                                                                        \
		if (!ze_is_inside() && ze_is_on() && call.begin)                                   \
			after(&functions[NUMBER], arguments, answer);                              \
		call.begin = 0;                                                                    \
	}
FUNCTIONS(ENTRIES)
/* NOLINTEND(bugprone-macro-parentheses) */

bool ze_register(void *library, struct ze_tracer *tracer)
{
	typedef void entry(void **arguments, int32_t answer, void *argument, void **slot);
	static const struct {
		entry *before, *after;
	} entries[] = {
#define ENTRY(NUMBER, NAME, WHAT, SIGNAL) [NUMBER] = {before_##NAME, after_##NAME},
		FUNCTIONS(ENTRY)
#undef ENTRY
	};
	unsigned int found = 0;

	for (unsigned int i = 0; i < FUNCTION_COUNT; i++) {
		int32_t (*add)(struct ze_tracer *, int32_t when, entry *);
		char name[128];

		snprintf(name, sizeof(name), "zelTracer%sRegisterCallback", functions[i].name + 2);
		*(void **)&add = dlsym(library, name);
		/* Older loaders have not all functions. */
		if (add && add(tracer, ZE_PROLOGUE, entries[i].before) == ZE_SUCCESS &&
		    add(tracer, ZE_EPILOGUE, entries[i].after) == ZE_SUCCESS)
			found++;
	}
	return found > 0;
}
