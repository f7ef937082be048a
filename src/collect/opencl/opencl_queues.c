/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues, their devices, and names of kernels. Commands tell their times only in queues that were made for it, so all
 * are; to the program they are as it has made them: neither what it asks about a queue nor what it may ask of an event
 * changes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "collect/devices/handles.h"
#include "collect/inproc/device/device.h"
#include "collect/opencl/opencl.h"

enum {
	QUEUES_MAX = 4096,
	DEVICES_MAX = 64,
	PROPERTIES_MAX = 15, /* with the zero behind the last pair */
	NAME_BYTES = 4096,
};

/* Held while a queue is made, never while a command is. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opencl_queue queues[QUEUES_MAX];
static uint32_t queue_count, context_count;
static struct {
	cl_any *handle;
	bool is_told;
} devices[DEVICES_MAX];
static uint32_t device_count;
static struct st_handles known_queues, known_contexts, known_kernels;

static int32_t ask(unsigned int place, cl_any *object, uint32_t what, void *out, size_t size_bytes)
{
	int32_t (*about)(cl_any *, uint32_t, size_t, void *, size_t *);

	*(void **)&about = opencl_target[place];
	return about ? about(object, what, size_bytes, out, NULL) : CL_INVALID_VALUE;
}

const struct opencl_queue *opencl_queue_of(const cl_any *queue)
{
	uint32_t at = st_handles_get(&known_queues, queue);

	return at ? &queues[at - 1] : NULL;
}

static struct opencl_queue *entry_of(const cl_any *queue)
{
	uint32_t at = st_handles_get(&known_queues, queue);

	return at ? &queues[at - 1] : NULL;
}

/* Lock held. */
static uint32_t context_number(cl_any *context)
{
	uint32_t number = st_handles_get(&known_contexts, context);

	if (!number) {
		number = ++context_count;
		st_handles_set(&known_contexts, context, number);
	}
	return number;
}

/* Lock held. The place of a device among those that are known; DEVICES_MAX: it is not. */
static uint32_t place_of(const cl_any *device)
{
	for (uint32_t i = 0; i < device_count; i++)
		if (devices[i].handle == device)
			return i;
	return DEVICES_MAX;
}

static void add_device(cl_any *device)
{
	if (device_count < DEVICES_MAX && place_of(device) == DEVICES_MAX)
		devices[device_count++].handle = device;
}

/* A part of a device is the program's to release. Its clock is read later than that, and drivers read it when they let go of
 * events of its commands, so it stays. */
static void add_part(cl_any *device)
{
	int32_t (*retain)(cl_any *);

	*(void **)&retain = opencl_target[CL_RETAIN_DEVICE];
	if (device_count < DEVICES_MAX && retain && retain(device) == CL_SUCCESS)
		add_device(device);
}

/* Lock held. Devices are numbered as their platform lists them, platforms as the program comes to use them: others are
 * not asked, because that would start their drivers. */
static uint32_t device_number(cl_any *device)
{
	int32_t (*list)(cl_any *, uint64_t, uint32_t, cl_any **, uint32_t *);
	cl_any *platform = NULL, *all[DEVICES_MAX];
	uint32_t count = 0;

	if (place_of(device) != DEVICES_MAX)
		return place_of(device);
	*(void **)&list = opencl_target[CL_DEVICE_IDS];
	if (ask(CL_DEVICE_INFO, device, CL_DEVICE_PLATFORM, &platform, sizeof(platform)) ==
		    CL_SUCCESS &&
	    list(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, all, &count) == CL_SUCCESS)
		for (uint32_t i = 0; i < count && i < DEVICES_MAX; i++)
			add_device(all[i]);
	/* A part of one has its number behind them. */
	if (place_of(device) == DEVICES_MAX)
		add_part(device);
	return place_of(device);
}

/* Lock held. */
static void tell_device(uint32_t number)
{
	char name[256] = "";

	if (devices[number].is_told)
		return;
	if (ask(CL_DEVICE_INFO, devices[number].handle, CL_DEVICE_NAME, name, sizeof(name)) !=
	    CL_SUCCESS)
		return;
	name[sizeof(name) - 1] = '\0';
	devices[number].is_told = strata_device_about((uint16_t)number, ST_DEVICE_OPENCL, name,
						      strnlen(name, sizeof(name)));
	opencl_events_device((uint16_t)number, devices[number].handle);
}

/* What the program has asked for; the list with the zero at its end, or NULL. */
struct wish {
	cl_any *context, *device;
	uint64_t flags;
	const uint64_t *list;
};

/* Without the zero; PROPERTIES_MAX: too long for us. */
static uint32_t list_length(const uint64_t *list)
{
	uint32_t length = 0;

	while (list && list[length]) {
		length += 2;
		if (length >= PROPERTIES_MAX)
			return PROPERTIES_MAX;
	}
	return length;
}

/* Lock held. */
static void fill_in(struct opencl_queue *queue, const struct wish *wish, uint32_t device)
{
	queue->device = (uint16_t)device;
	queue->context = context_number(wish->context);
	queue->own_context = wish->context;
	atomic_store_explicit(&queue->asked, wish->flags & CL_QUEUE_PROFILING_ENABLE,
			      memory_order_relaxed);
	queue->has_properties = wish->list != NULL;
	queue->property_count = 0;
	if (!wish->list)
		return;
	queue->property_count = (uint16_t)(list_length(wish->list) + 1);
	memcpy(queue->properties, wish->list, (queue->property_count - 1u) * sizeof(*wish->list));
	queue->properties[queue->property_count - 1] = 0;
}

/* A queue in the place of one that is gone, of the same device and context, keeps its number: some programs make one for
 * every request. */
static void add_queue(cl_any *handle, const struct wish *wish)
{
	struct opencl_queue *queue;
	uint32_t device;

	pthread_mutex_lock(&lock);
	device = device_number(wish->device);
	queue = entry_of(handle);
	if (device != DEVICES_MAX &&
	    !(queue && queue->device == device && queue->own_context == wish->context)) {
		queue = queue_count < QUEUES_MAX ? &queues[queue_count] : NULL;
		if (queue) {
			queue->number = (uint16_t)++queue_count;
			fill_in(queue, wish, device);
			st_handles_set(&known_queues, handle, queue_count);
		}
	} else if (queue) {
		fill_in(queue, wish, device);
	}
	if (queue)
		tell_device(queue->device);
	pthread_mutex_unlock(&lock);
}

static cl_any *create_queue(cl_any *context, cl_any *device, uint64_t flags, int32_t *error)
{
	cl_any *(*create)(cl_any *, cl_any *, uint64_t, int32_t *);
	cl_any *queue;

	*(void **)&create = opencl_target[CL_CREATE_QUEUE];
	opencl_start();
	queue = create(context, device, flags | CL_QUEUE_PROFILING_ENABLE, error);
	if (!queue)
		return create(context, device, flags, error);
	add_queue(queue, &(struct wish){.context = context, .device = device, .flags = flags});
	return queue;
}

typedef cl_any *create_with(cl_any *context, cl_any *device, const uint64_t *list, int32_t *error);

static cl_any *create_profiled(create_with *create, const struct wish *wish, int32_t *error)
{
	uint64_t list[PROPERTIES_MAX + 2];
	uint32_t length = list_length(wish->list);
	bool has_flags = false;

	if (length == PROPERTIES_MAX)
		return NULL;
	for (uint32_t i = 0; i < length; i += 2) {
		list[i] = wish->list[i];
		list[i + 1] = wish->list[i + 1];
		if (list[i] == CL_QUEUE_PROPERTIES) {
			list[i + 1] |= CL_QUEUE_PROFILING_ENABLE;
			has_flags = true;
		}
	}
	if (!has_flags) {
		list[length++] = CL_QUEUE_PROPERTIES;
		list[length++] = CL_QUEUE_PROFILING_ENABLE;
	}
	list[length] = 0;
	return create(wish->context, wish->device, list, error);
}

static cl_any *create_with_list(create_with *create, struct wish *wish, int32_t *error)
{
	cl_any *queue;

	opencl_start();
	for (uint32_t i = 0; i + 1 < list_length(wish->list); i += 2)
		if (wish->list[i] == CL_QUEUE_PROPERTIES)
			wish->flags = wish->list[i + 1];
	/* A queue on the device is filled by kernels. */
	queue = wish->flags & CL_QUEUE_ON_DEVICE ? NULL : create_profiled(create, wish, error);
	if (!queue)
		return create(wish->context, wish->device, wish->list, error);
	add_queue(queue, wish);
	return queue;
}

static cl_any *create_queue_with(cl_any *context, cl_any *device, const uint64_t *list,
				 int32_t *error)
{
	struct wish wish = {.context = context, .device = device, .list = list};
	create_with *create;

	*(void **)&create = opencl_target[CL_CREATE_QUEUE_WITH];
	return create_with_list(create, &wish, error);
}

/* The same as an extension of older versions, one for all platforms. */
static _Atomic(create_with *) create_khr;

static cl_any *create_queue_khr(cl_any *context, cl_any *device, const uint64_t *list,
				int32_t *error)
{
	struct wish wish = {.context = context, .device = device, .list = list};

	return create_with_list(atomic_load_explicit(&create_khr, memory_order_acquire), &wish,
				error);
}

static void *instead_of(const char *name, void *theirs)
{
	create_with *known = NULL, *found;

	if (!theirs || !name || strcmp(name, "clCreateCommandQueueWithPropertiesKHR") != 0)
		return theirs;
	*(void **)&found = theirs;
	if (!atomic_compare_exchange_strong(&create_khr, &known, found) && known != found)
		return theirs; /* another platform's */
	return (void *)create_queue_khr;
}

static void *extension(const char *name)
{
	void *(*find)(const char *);

	*(void **)&find = opencl_target[CL_EXTENSION];
	return instead_of(name, find(name));
}

static void *extension_of_platform(cl_any *platform, const char *name)
{
	void *(*find)(cl_any *, const char *);

	*(void **)&find = opencl_target[CL_EXTENSION_OF_PLATFORM];
	return instead_of(name, find(platform, name));
}

static int32_t answer_with(const void *value, size_t value_bytes, size_t size_bytes, void *out,
			   size_t *needed)
{
	if (out && size_bytes < value_bytes)
		return CL_INVALID_VALUE;
	if (out && value_bytes)
		memcpy(out, value, value_bytes);
	if (needed)
		*needed = value_bytes;
	return CL_SUCCESS;
}

static int32_t queue_info(cl_any *handle, uint32_t what, size_t size_bytes, void *out,
			  size_t *needed)
{
	int32_t (*about)(cl_any *, uint32_t, size_t, void *, size_t *);
	const struct opencl_queue *queue = opencl_queue_of(handle);
	int32_t answer;
	uint64_t flags;

	*(void **)&about = opencl_target[CL_QUEUE_INFO];
	answer = about(handle, what, size_bytes, out, needed);
	if (!queue || answer != CL_SUCCESS)
		return answer;
	if (what == CL_QUEUE_PROPERTIES && out && size_bytes >= sizeof(flags) &&
	    !atomic_load_explicit(&queue->asked, memory_order_relaxed)) {
		memcpy(&flags, out, sizeof(flags));
		flags &= ~(uint64_t)CL_QUEUE_PROFILING_ENABLE;
		memcpy(out, &flags, sizeof(flags));
	}
	if (what == CL_QUEUE_PROPERTIES_ARRAY)
		return answer_with(queue->properties,
				   queue->property_count * sizeof(queue->properties[0]), size_bytes,
				   out, needed);
	return answer;
}

static int32_t set_queue_property(cl_any *handle, uint64_t flags, uint32_t on, uint64_t *before)
{
	int32_t (*set)(cl_any *, uint64_t, uint32_t, uint64_t *);
	struct opencl_queue *queue = entry_of(handle);
	int32_t answer;

	*(void **)&set = opencl_target[CL_SET_QUEUE_PROPERTY];
	answer = set(handle, flags, on, before);
	if (queue && answer == CL_SUCCESS && flags & CL_QUEUE_PROFILING_ENABLE)
		atomic_store_explicit(&queue->asked, on != 0, memory_order_relaxed);
	return answer;
}

/* Where the program has not asked for times there are none. */
static int32_t event_profiling(cl_any *event, uint32_t what, size_t size_bytes, void *out,
			       size_t *needed)
{
	int32_t (*about)(cl_any *, uint32_t, size_t, void *, size_t *);
	const struct opencl_queue *queue = NULL;
	cl_any *handle = NULL;

	*(void **)&about = opencl_target[CL_EVENT_PROFILING];
	if (event && ask(CL_EVENT_INFO, event, CL_EVENT_COMMAND_QUEUE, &handle, sizeof(handle)) ==
			     CL_SUCCESS)
		queue = handle ? opencl_queue_of(handle) : NULL;
	if (queue && !atomic_load_explicit(&queue->asked, memory_order_relaxed))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return about(event, what, size_bytes, out, needed);
}

static uint32_t name_kernel(cl_any *kernel)
{
	char name[NAME_BYTES];
	uint32_t id;

	if (ask(CL_KERNEL_INFO, kernel, CL_KERNEL_FUNCTION_NAME, name, sizeof(name)) != CL_SUCCESS)
		return 0;
	id = strata_device_name(name, strnlen(name, sizeof(name)));
	if (id)
		st_handles_set(&known_kernels, kernel, id);
	return id;
}

uint32_t opencl_kernel_name(cl_any *kernel)
{
	uint32_t id = st_handles_get(&known_kernels, kernel);

	return id ? id : name_kernel(kernel);
}

/* A new kernel may have the address of an old one: it is named anew when it is first used. */
static void forget_kernel(cl_any *kernel)
{
	if (st_handles_get(&known_kernels, kernel))
		st_handles_set(&known_kernels, kernel, 0);
}

static cl_any *create_kernel(cl_any *program, const char *name, int32_t *error)
{
	cl_any *(*create)(cl_any *, const char *, int32_t *);
	cl_any *kernel;

	*(void **)&create = opencl_target[CL_CREATE_KERNEL];
	kernel = create(program, name, error);
	forget_kernel(kernel);
	return kernel;
}

static int32_t create_kernels(cl_any *program, uint32_t room, cl_any **kernels, uint32_t *count)
{
	int32_t (*create)(cl_any *, uint32_t, cl_any **, uint32_t *);
	uint32_t made = 0;
	int32_t answer;

	*(void **)&create = opencl_target[CL_CREATE_KERNELS];
	answer = create(program, room, kernels, &made);
	for (uint32_t i = 0; answer == CL_SUCCESS && kernels && i < made && i < room; i++)
		forget_kernel(kernels[i]);
	if (count && answer == CL_SUCCESS)
		*count = made;
	return answer;
}

static cl_any *clone_kernel(cl_any *from, int32_t *error)
{
	cl_any *(*clone)(cl_any *, int32_t *);
	cl_any *kernel;

	*(void **)&clone = opencl_target[CL_CLONE_KERNEL];
	kernel = clone(from, error);
	forget_kernel(kernel);
	return kernel;
}

void opencl_queues_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	st_handles_clear(&known_queues);
	st_handles_clear(&known_contexts);
	st_handles_clear(&known_kernels);
	queue_count = context_count = device_count = 0;
	memset(devices, 0, sizeof(devices));
}

const struct opencl_wrapper opencl_queue_wrappers[] = {
	{CL_CREATE_QUEUE, (void *)create_queue},
	{CL_CREATE_QUEUE_WITH, (void *)create_queue_with},
	{CL_QUEUE_INFO, (void *)queue_info},
	{CL_SET_QUEUE_PROPERTY, (void *)set_queue_property},
	{CL_EVENT_PROFILING, (void *)event_profiling},
	{CL_EXTENSION, (void *)extension},
	{CL_EXTENSION_OF_PLATFORM, (void *)extension_of_platform},
	{CL_CREATE_KERNEL, (void *)create_kernel},
	{CL_CREATE_KERNELS, (void *)create_kernels},
	{CL_CLONE_KERNEL, (void *)clone_kernel},
	{0, NULL},
};
