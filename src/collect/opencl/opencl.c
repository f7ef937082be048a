/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata_opencl.so: a layer that OpenCL's loader puts between a program and the drivers, named in OPENCL_LAYERS. Every
 * function goes on to what is below; those that make queues and give them work are seen on the way. Nothing starts before
 * the program makes a queue: many programs only look which devices there are.
 */
#include "collect/opencl/opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "collect/devices/watcher.h"
#include "collect/inproc/device/device.h"

#define ST_EXPORT __attribute__((visibility("default")))

ST_EXPORT int32_t clGetLayerInfo(uint32_t what, size_t size_bytes, void *out, size_t *needed);
ST_EXPORT int32_t clInitLayer(uint32_t count, void *const *target, uint32_t *count_out,
			      void *const **layer);

/* Numbers of calls: CUDA's begin at 1, and a process may use both. */
enum { FIRST_CORRELATION = 1 << 30, CORRELATIONS = 1 << 30 };

void *opencl_target[CL_PLACES];
static void *table[CL_PLACES];
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int mode; /* enum st_device_mode, before is_on */
static atomic_bool is_on;
static atomic_uint correlation;

static struct opencl_text call_names[CL_PLACES] = {
#define NAME(OURS, AT, TEXT) [AT] = {.text = (TEXT)},
	CL_CALLS(NAME)
#undef NAME
};

static void paused(void)
{
}

static void resumed(void)
{
}

/* OpenCL does not live on in a child. One that has made no queue may use it from the beginning. */
static void forked(void)
{
	atomic_store_explicit(&is_on, false, memory_order_relaxed);
	pthread_mutex_init(&start_lock, NULL);
	st_watcher_forked();
	opencl_events_forget();
	opencl_queues_forget();
	for (unsigned int i = 0; i < CL_PLACES; i++)
		atomic_store_explicit(&call_names[i].id, 0, memory_order_relaxed);
}

void opencl_start(void)
{
	static const struct st_device_hooks hooks = {
		.paused = paused, .resumed = resumed, .forked = forked};

	pthread_mutex_lock(&start_lock);
	if (!atomic_load_explicit(&is_on, memory_order_relaxed) &&
	    (mode = strata_device_start(&hooks)) != ST_DEVICE_OFF) {
		opencl_events_start();
		st_watcher_start(&(struct st_watcher_options){.name = "strata-opencl",
							      .round = opencl_events_round,
							      .finish = opencl_events_finish});
		atomic_store_explicit(&is_on, true, memory_order_release);
	}
	pthread_mutex_unlock(&start_lock);
}

bool opencl_records(void)
{
	return atomic_load_explicit(&is_on, memory_order_acquire) && !st_watcher_is_over() &&
	       strata_device_state() == ST_DEVICE_RECORDING;
}

uint32_t opencl_text(struct opencl_text *text)
{
	uint32_t id = atomic_load_explicit(&text->id, memory_order_relaxed);

	if (!id) {
		id = strata_device_name(text->text, strlen(text->text));
		atomic_store_explicit(&text->id, id, memory_order_relaxed);
	}
	return id;
}

cl_any **opencl_begin(struct opencl_command *command, cl_any **event)
{
	command->is_recorded = opencl_records();
	command->theirs = event;
	if (!command->is_recorded)
		return event;
	command->begin = strata_device_ticks();
	if (event || !command->kind || !opencl_queue_of(command->queue))
		return event;
	return &command->own;
}

static uint32_t clamped(size_t value, uint32_t most)
{
	return value < most ? (uint32_t)value : most;
}

/* Groups and their size, where the program says it: else the grid is of single work items. */
static void take_sizes(const struct opencl_command *command, struct st_device_record *record)
{
	for (unsigned int i = 0; i < 3; i++) {
		size_t global = i < command->dimensions ? command->global[i] : 1;
		size_t local = i < command->dimensions && command->local ? command->local[i] : 1;

		record->grid[i] =
			clamped(local ? (global + local - 1) / local : global, UINT32_MAX);
		record->block[i] = (uint16_t)clamped(local, UINT16_MAX);
	}
}

/* The event that tells the times of the command, to be released by us; NULL: there is none. */
static cl_any *event_of(const struct opencl_command *command)
{
	int32_t (*retain)(cl_any *);

	if (command->own || !command->theirs || !*command->theirs)
		return command->own;
	*(void **)&retain = opencl_target[CL_RETAIN_EVENT];
	return retain(*command->theirs) == CL_SUCCESS ? *command->theirs : NULL;
}

static void await(const struct opencl_command *command, struct opencl_pending *pending)
{
	const struct opencl_queue *queue = opencl_queue_of(command->queue);
	struct st_device_record *record = &pending->record;

	pending->event = queue ? event_of(command) : NULL;
	if (!pending->event)
		return;
	record->kind = (uint8_t)command->kind;
	record->flags = ST_DEVICE_OPENCL;
	record->device = queue->device;
	record->where = queue->number;
	record->context = queue->context;
	record->name =
		command->name ? opencl_text(command->name) : opencl_kernel_name(command->kernel);
	record->value = command->bytes;
	if (command->kind == ST_DEVICE_KERNEL)
		take_sizes(command, record);
	opencl_events_add(pending);
}

static void put(struct st_device_record *record)
{
	if (strata_device_put(record, 0) == ST_DEVICE_FULL)
		strata_device_lost(1);
}

static bool is_wait(const struct opencl_command *command)
{
	return command->place == CL_FINISH || command->place == CL_WAIT_FOR_EVENTS;
}

/* What the call has waited for. */
static void tell_wait(const struct opencl_command *command, const struct st_device_record *call)
{
	const struct opencl_queue *queue =
		command->place == CL_FINISH ? opencl_queue_of(command->queue) : NULL;
	struct st_device_record wait = {
		.kind = ST_DEVICE_WAIT,
		.flags = ST_DEVICE_OPENCL,
		.where = queue ? queue->number : ST_DEVICE_NO_STREAM,
		.context = queue ? queue->context : 0,
		.device = queue ? queue->device : 0,
		.begin = call->begin,
		.end = call->end,
		.correlation = call->correlation,
		.value = command->place == CL_FINISH ? ST_WAIT_STREAM : ST_WAIT_EVENT,
	};

	put(&wait);
}

int32_t opencl_end(struct opencl_command *command, int32_t answer)
{
	struct opencl_pending pending = {.call_begin = command->begin};
	struct st_device_record call = {
		.kind = ST_DEVICE_CALL,
		.flags = ST_DEVICE_OPENCL,
		.begin = command->begin,
		.value = command->place | (uint64_t)(uint32_t)answer << 32,
	};

	if (!command->is_recorded)
		return answer;
	call.end = pending.call_end = strata_device_ticks();
	call.correlation = pending.record.correlation =
		FIRST_CORRELATION +
		atomic_fetch_add_explicit(&correlation, 1, memory_order_relaxed) % CORRELATIONS;
	if (answer == CL_SUCCESS && command->kind)
		await(command, &pending);
	if (mode == ST_DEVICE_LIGHT && !is_wait(command))
		return answer;
	call.name = opencl_text(&call_names[command->place]);
	put(&call);
	if (is_wait(command))
		tell_wait(command, &call);
	return answer;
}

int32_t clGetLayerInfo(uint32_t what, size_t size_bytes, void *out, size_t *needed)
{
	static const char name[] = "strata";
	static const uint32_t version = CL_LAYER_API_VERSION_100;
	const void *value = what == CL_LAYER_NAME ? (const void *)name : &version;
	size_t bytes = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (out && size_bytes < bytes)
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, value, bytes);
	if (needed)
		*needed = bytes;
	return CL_SUCCESS;
}

static void replace(const struct opencl_wrapper *wrappers, uint32_t count)
{
	for (; wrappers->function; wrappers++)
		if (wrappers->place < count && table[wrappers->place])
			table[wrappers->place] = wrappers->function;
}

/* A program may close the loader while commands are under way: what our thread calls must still be there. */
static void keep_loader(void)
{
	Dl_info about;

	if (dladdr(opencl_target[CL_RELEASE_EVENT], &about) && about.dli_fname)
		dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int32_t clInitLayer(uint32_t count, void *const *target, uint32_t *count_out, void *const **layer)
{
	if (!target || !count_out || !layer || count <= CL_RELEASE_EVENT || count > CL_PLACES)
		return CL_INVALID_VALUE;
	memcpy(opencl_target, target, count * sizeof(*target));
	memcpy(table, target, count * sizeof(*target));
	if (strata_device_state() != ST_DEVICE_SILENT) {
		keep_loader();
		replace(opencl_queue_wrappers, count);
		replace(opencl_wrappers, count);
		replace(opencl_copy_wrappers, count);
	}
	*count_out = count;
	*layer = table;
	return CL_SUCCESS;
}
