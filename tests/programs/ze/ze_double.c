/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver of Level Zero for two devices that are not there, loaded by the real loader (ZE_ENABLE_ALT_DRIVERS). Commands
 * take the time that their names say, one after the other on each queue; what ran when is known to the nanosecond.
 * Devices count 52 ns a tick, and kernels tell 32 bits of it.
 *
 * ZE_DOUBLE, a list of words: wrap (the counter comes around 30 ms after the start), late (events are signalled 100 ms
 * after the end), long (commands take 100 ms), slow (four seconds).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include "ze_double.h"

enum {
	DEVICES = 2,
	LOG_MAX = 65536,
	COMMANDS_MAX = 64,
	NEXT_MAX = 16,
	TICK_RATE = 19200000, /* 52.08 ns */
	KERNEL_NS = 300000,
	COPY_NS = 100000,
	FILL_NS = 50000,
	LATE_NS = 100000000,
	WRAP_NS = 30000000,
	KERNEL_BITS = 32,
};
static const uint64_t slow_ns = 4000000000, long_ns = 100000000;
#define EXPORT __attribute__((visibility("default")))

/* What is signalled, and what still shows until then. */
struct state {
	uint64_t begin, end; /* ticks */
	uint64_t set_ns;     /* 0: never */
};
struct event {
	struct state shown, next[NEXT_MAX];
	uint32_t next_count;
};
struct kernel {
	char name[64];
};
struct command {
	char name[64];
	uint64_t ns;
	size_t bytes;
	struct event *event;
};
struct list {
	int device;
	bool is_immediate;
	struct command commands[COMMANDS_MAX];
	uint32_t count;
	uint64_t until_ns; /* of an immediate one */
};
struct queue {
	int device;
	uint64_t until_ns;
};

static struct {
	char name[64];
	int device;
	uint64_t begin_ns, end_ns;
	size_t bytes;
} log_[LOG_MAX];
static unsigned int log_count, reads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int handles[DEVICES + 1]; /* the driver, and its devices */
static uint64_t zero_ns;

static bool is_asked(const char *word)
{
	const char *words = getenv("ZE_DOUBLE");

	return words && strstr(words, word);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Two devices, two counters: the second is a second ahead. */
static uint64_t ticks_at(int device, uint64_t ns)
{
	uint64_t since = ns - zero_ns;
	uint64_t ticks =
		since / 1000000000u * TICK_RATE + since % 1000000000u * TICK_RATE / 1000000000u;

	ticks += (uint64_t)device * TICK_RATE;
	if (is_asked("wrap"))
		ticks += (UINT64_C(1) << KERNEL_BITS) -
			 (uint64_t)WRAP_NS * TICK_RATE / 1000000000u - (uint64_t)device * TICK_RATE;
	return ticks;
}

static int device_of(ze_device_handle_t device)
{
	return (int)((int *)(void *)device - handles) - 1;
}

static ze_result_t init(ze_init_flags_t flags)
{
	(void)flags;
	if (!zero_ns)
		zero_ns = now_ns();
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_get(uint32_t *count, ze_driver_handle_t *drivers)
{
	if (*count && drivers)
		drivers[0] = (ze_driver_handle_t)(void *)&handles[0];
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_version(ze_driver_handle_t driver, ze_api_version_t *version)
{
	(void)driver;
	*version = ZE_API_VERSION_1_3;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t driver, uint32_t *count,
			      ze_device_handle_t *devices)
{
	(void)driver;
	for (uint32_t i = 0; devices && i < DEVICES && i < *count; i++)
		devices[i] = (ze_device_handle_t)(void *)&handles[i + 1];
	if (!*count || *count > DEVICES)
		*count = DEVICES;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_properties(ze_device_handle_t device, ze_device_properties_t *out)
{
	out->type = ZE_DEVICE_TYPE_GPU;
	out->timerResolution =
		out->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? TICK_RATE : 52;
	out->timestampValidBits = 64;
	out->kernelTimestampValidBits = KERNEL_BITS;
	snprintf(out->name, sizeof(out->name), "Double GPU %d", device_of(device));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t device_times(ze_device_handle_t device, uint64_t *host, uint64_t *there)
{
	*host = now_ns();
	*there = ticks_at(device_of(device), *host);
	return ZE_RESULT_SUCCESS;
}

static void *make(size_t bytes)
{
	void *made = calloc(1, bytes);

	if (!made)
		abort();
	return made;
}

static ze_result_t context_create(ze_driver_handle_t driver, const ze_context_desc_t *wish,
				  ze_context_handle_t *out)
{
	(void)driver;
	(void)wish;
	*out = make(8);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t context_destroy(ze_context_handle_t context)
{
	free((void *)context);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_create(ze_context_handle_t context, ze_device_handle_t device,
				const ze_command_queue_desc_t *wish, ze_command_queue_handle_t *out)
{
	struct queue *queue = make(sizeof(*queue));

	(void)context;
	(void)wish;
	queue->device = device_of(device);
	*out = (void *)queue;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_destroy(ze_command_queue_handle_t queue)
{
	free((void *)queue);
	return ZE_RESULT_SUCCESS;
}

/* Lock held: what is to come takes the place of what is shown when its time has come. */
static struct event *look_at(struct event *event)
{
	while (event->next_count && now_ns() >= event->next[0].set_ns) {
		event->shown = event->next[0];
		memmove(event->next, event->next + 1, --event->next_count * sizeof(struct state));
	}
	return event;
}

/* Lock held. */
static void run(const struct command *command, int device, uint64_t *until_ns)
{
	uint64_t begin_ns = now_ns(), end_ns;

	if (begin_ns < *until_ns)
		begin_ns = *until_ns;
	end_ns = begin_ns + (is_asked("slow") ? slow_ns : is_asked("long") ? long_ns : command->ns);
	*until_ns = end_ns;
	if (log_count < LOG_MAX) {
		memcpy(log_[log_count].name, command->name, sizeof(command->name));
		log_[log_count].device = device;
		log_[log_count].begin_ns = begin_ns;
		log_[log_count].end_ns = end_ns;
		log_[log_count++].bytes = command->bytes;
	}
	if (command->event) {
		const uint64_t mask = (UINT64_C(1) << KERNEL_BITS) - 1;

		if (look_at(command->event)->next_count == NEXT_MAX)
			abort();
		command->event->next[command->event->next_count++] =
			(struct state){.begin = ticks_at(device, begin_ns) & mask,
				       .end = ticks_at(device, end_ns) & mask,
				       .set_ns = end_ns + (is_asked("late") ? LATE_NS : 0)};
	}
}

static void sleep_until(uint64_t ns)
{
	uint64_t now = now_ns();

	while (now < ns) {
		struct timespec rest = {.tv_sec = (time_t)((ns - now) / 1000000000u),
					.tv_nsec = (long)((ns - now) % 1000000000u)};

		nanosleep(&rest, NULL);
		now = now_ns();
	}
}

static ze_result_t queue_execute(ze_command_queue_handle_t handle, uint32_t count,
				 ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	struct queue *queue = (void *)handle;

	(void)fence;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count; i++) {
		const struct list *list = (const void *)lists[i];

		for (uint32_t j = 0; j < list->count; j++)
			run(&list->commands[j], queue->device, &queue->until_ns);
	}
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_wait(ze_command_queue_handle_t queue, uint64_t timeout)
{
	(void)timeout;
	sleep_until(((struct queue *)(void *)queue)->until_ns);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_create(ze_context_handle_t context, ze_device_handle_t device,
			       const ze_command_list_desc_t *wish, ze_command_list_handle_t *out)
{
	struct list *list = make(sizeof(*list));

	(void)context;
	(void)wish;
	list->device = device_of(device);
	*out = (void *)list;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_immediate(ze_context_handle_t context, ze_device_handle_t device,
				  const ze_command_queue_desc_t *wish,
				  ze_command_list_handle_t *out)
{
	(void)wish;
	list_create(context, device, NULL, out);
	((struct list *)(void *)*out)->is_immediate = true;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_close(ze_command_list_handle_t list)
{
	(void)list;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_reset(ze_command_list_handle_t list)
{
	((struct list *)(void *)list)->count = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_destroy(ze_command_list_handle_t list)
{
	free((void *)list);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append(ze_command_list_handle_t handle, const struct command *command)
{
	struct list *list = (void *)handle;

	pthread_mutex_lock(&lock);
	if (list->is_immediate)
		run(command, list->device, &list->until_ns);
	else if (list->count < COMMANDS_MAX)
		list->commands[list->count++] = *command;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
				 const ze_group_count_t *groups, ze_event_handle_t event,
				 uint32_t count, ze_event_handle_t *waits)
{
	struct command command = {.ns = KERNEL_NS, .event = (void *)event};

	(void)count;
	(void)waits;
	if (!groups->groupCountX)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	memcpy(command.name, ((struct kernel *)(void *)kernel)->name, sizeof(command.name));
	return append(list, &command);
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *to, const void *from,
			       size_t bytes, ze_event_handle_t event, uint32_t count,
			       ze_event_handle_t *waits)
{
	struct command command = {
		.name = "copy", .ns = COPY_NS, .bytes = bytes, .event = (void *)event};

	(void)to;
	(void)from;
	(void)count;
	(void)waits;
	return append(list, &command);
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *at, const void *pattern,
			       size_t pattern_bytes, size_t bytes, ze_event_handle_t event,
			       uint32_t count, ze_event_handle_t *waits)
{
	struct command command = {
		.name = "fill", .ns = FILL_NS, .bytes = bytes, .event = (void *)event};

	(void)at;
	(void)pattern;
	(void)pattern_bytes;
	(void)count;
	(void)waits;
	return append(list, &command);
}

static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *wish,
			       uint32_t count, ze_device_handle_t *devices,
			       ze_event_pool_handle_t *out)
{
	ze_event_pool_desc_t *pool = make(sizeof(*pool));

	(void)context;
	(void)count;
	(void)devices;
	*pool = *wish;
	*out = (void *)pool;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool)
{
	free((void *)pool);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *wish,
				ze_event_handle_t *out)
{
	(void)pool;
	(void)wish;
	*out = make(sizeof(struct event));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_destroy(ze_event_handle_t event)
{
	free((void *)event);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_reset(ze_event_handle_t event)
{
	pthread_mutex_lock(&lock);
	look_at((void *)event)->shown.set_ns = 0;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_status(ze_event_handle_t event)
{
	bool is_set;

	pthread_mutex_lock(&lock);
	is_set = look_at((void *)event)->shown.set_ns != 0;
	pthread_mutex_unlock(&lock);
	return is_set ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t event_wait(ze_event_handle_t handle, uint64_t timeout)
{
	struct event *event = (void *)handle;
	uint64_t last_ns;

	(void)timeout;
	pthread_mutex_lock(&lock);
	last_ns = event->next_count ? event->next[event->next_count - 1].set_ns : 0;
	pthread_mutex_unlock(&lock);
	sleep_until(last_ns);
	return event_status(handle);
}

static ze_result_t event_times(ze_event_handle_t handle, ze_kernel_timestamp_result_t *out)
{
	struct event *event;

	pthread_mutex_lock(&lock);
	event = look_at((void *)handle);
	reads++;
	out->global.kernelStart = out->context.kernelStart = event->shown.begin;
	out->global.kernelEnd = out->context.kernelEnd = event->shown.end;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *wish,
				 ze_kernel_handle_t *out)
{
	struct kernel *kernel = make(sizeof(*kernel));

	(void)module;
	snprintf(kernel->name, sizeof(kernel->name), "%s", wish->pKernelName);
	*out = (void *)kernel;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t kernel)
{
	free((void *)kernel);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_name(ze_kernel_handle_t handle, size_t *bytes, char *name)
{
	const struct kernel *kernel = (const void *)handle;

	if (name)
		snprintf(name, *bytes, "%s", kernel->name);
	*bytes = strlen(kernel->name) + 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_group(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
	(void)kernel;
	(void)x;
	(void)y;
	(void)z;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device,
				 const ze_module_desc_t *wish, ze_module_handle_t *out,
				 ze_module_build_log_handle_t *told)
{
	(void)context;
	(void)device;
	(void)wish;
	(void)told;
	*out = make(8);
	return ZE_RESULT_SUCCESS;
}

/* The kind of memory is written in front of it. */
static void *allocate(size_t bytes, uint64_t kind)
{
	uint64_t *at = make(bytes + 16);

	at[0] = kind;
	return at + 2;
}

static ze_result_t memory_device(ze_context_handle_t context,
				 const ze_device_mem_alloc_desc_t *wish, size_t bytes,
				 size_t alignment, ze_device_handle_t device, void **out)
{
	(void)context;
	(void)wish;
	(void)alignment;
	(void)device;
	*out = allocate(bytes, ZE_MEMORY_TYPE_DEVICE);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t memory_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *wish,
			       size_t bytes, size_t alignment, void **out)
{
	(void)context;
	(void)wish;
	(void)alignment;
	*out = allocate(bytes, ZE_MEMORY_TYPE_HOST);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t memory_about(ze_context_handle_t context, const void *at,
				ze_memory_allocation_properties_t *out, ze_device_handle_t *device)
{
	(void)context;
	out->type = (ze_memory_type_t)((const uint64_t *)at)[-2];
	if (device)
		*device = NULL;
	return ZE_RESULT_SUCCESS;
}

EXPORT void ze_double_print_all(void);
EXPORT unsigned int ze_double_reads(void);

unsigned int ze_double_reads(void)
{
	unsigned int now;

	pthread_mutex_lock(&lock);
	now = reads;
	pthread_mutex_unlock(&lock);
	return now;
}

void ze_double_print_all(void)
{
	for (unsigned int i = 0; i < log_count; i++)
		printf("%s|%d|%llu|%llu|%zu\n", log_[i].name, log_[i].device,
		       (unsigned long long)log_[i].begin_ns, (unsigned long long)log_[i].end_ns,
		       log_[i].bytes);
	fflush(stdout);
}

/* Tables of functions, as the loader asks for them. */
EXPORT ze_result_t zeGetGlobalProcAddrTable(ze_api_version_t version, ze_global_dditable_t *table)
{
	(void)version;
	table->pfnInit = init;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetDriverProcAddrTable(ze_api_version_t version, ze_driver_dditable_t *table)
{
	(void)version;
	table->pfnGet = driver_get;
	table->pfnGetApiVersion = driver_version;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetDeviceProcAddrTable(ze_api_version_t version, ze_device_dditable_t *table)
{
	(void)version;
	table->pfnGet = device_get;
	table->pfnGetProperties = device_properties;
	table->pfnGetGlobalTimestamps = device_times;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetContextProcAddrTable(ze_api_version_t version, ze_context_dditable_t *table)
{
	(void)version;
	table->pfnCreate = context_create;
	table->pfnDestroy = context_destroy;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetCommandQueueProcAddrTable(ze_api_version_t version,
						  ze_command_queue_dditable_t *table)
{
	(void)version;
	table->pfnCreate = queue_create;
	table->pfnDestroy = queue_destroy;
	table->pfnExecuteCommandLists = queue_execute;
	table->pfnSynchronize = queue_wait;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetCommandListProcAddrTable(ze_api_version_t version,
						 ze_command_list_dditable_t *table)
{
	(void)version;
	table->pfnCreate = list_create;
	table->pfnCreateImmediate = list_immediate;
	table->pfnClose = list_close;
	table->pfnReset = list_reset;
	table->pfnDestroy = list_destroy;
	table->pfnAppendLaunchKernel = append_kernel;
	table->pfnAppendMemoryCopy = append_copy;
	table->pfnAppendMemoryFill = append_fill;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetEventProcAddrTable(ze_api_version_t version, ze_event_dditable_t *table)
{
	(void)version;
	table->pfnCreate = event_create;
	table->pfnDestroy = event_destroy;
	table->pfnHostReset = event_reset;
	table->pfnHostSynchronize = event_wait;
	table->pfnQueryStatus = event_status;
	table->pfnQueryKernelTimestamp = event_times;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetEventPoolProcAddrTable(ze_api_version_t version,
					       ze_event_pool_dditable_t *table)
{
	(void)version;
	table->pfnCreate = pool_create;
	table->pfnDestroy = pool_destroy;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetKernelProcAddrTable(ze_api_version_t version, ze_kernel_dditable_t *table)
{
	(void)version;
	table->pfnCreate = kernel_create;
	table->pfnDestroy = kernel_destroy;
	table->pfnGetName = kernel_name;
	table->pfnSetGroupSize = kernel_group;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetModuleProcAddrTable(ze_api_version_t version, ze_module_dditable_t *table)
{
	(void)version;
	table->pfnCreate = module_create;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetMemProcAddrTable(ze_api_version_t version, ze_mem_dditable_t *table)
{
	(void)version;
	table->pfnAllocDevice = memory_device;
	table->pfnAllocHost = memory_host;
	table->pfnGetAllocProperties = memory_about;
	return ZE_RESULT_SUCCESS;
}

/* Nothing is in them, but without them the loader takes no driver. */
#define EMPTY(NAME, TABLE)                                                                         \
	EXPORT ze_result_t NAME(ze_api_version_t version, TABLE *table);                           \
	ze_result_t NAME(ze_api_version_t version, TABLE *table)                                   \
	{                                                                                          \
		(void)version;                                                                     \
		(void)table;                                                                       \
		return ZE_RESULT_SUCCESS;                                                          \
	}

EMPTY(zeGetFenceProcAddrTable, ze_fence_dditable_t)
EMPTY(zeGetImageProcAddrTable, ze_image_dditable_t)
EMPTY(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
EMPTY(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t)
EMPTY(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)
EMPTY(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t)
EMPTY(zesGetDeviceProcAddrTable, void)
EMPTY(zesGetDiagnosticsProcAddrTable, void)
EMPTY(zesGetDriverProcAddrTable, void)
EMPTY(zesGetEngineProcAddrTable, void)
EMPTY(zesGetFabricPortProcAddrTable, void)
EMPTY(zesGetFanProcAddrTable, void)
EMPTY(zesGetFirmwareProcAddrTable, void)
EMPTY(zesGetFrequencyProcAddrTable, void)
EMPTY(zesGetLedProcAddrTable, void)
EMPTY(zesGetMemoryProcAddrTable, void)
EMPTY(zesGetPerformanceFactorProcAddrTable, void)
EMPTY(zesGetPowerProcAddrTable, void)
EMPTY(zesGetPsuProcAddrTable, void)
EMPTY(zesGetRasProcAddrTable, void)
EMPTY(zesGetSchedulerProcAddrTable, void)
EMPTY(zesGetStandbyProcAddrTable, void)
EMPTY(zesGetTemperatureProcAddrTable, void)
EMPTY(zetGetCommandListProcAddrTable, void)
EMPTY(zetGetContextProcAddrTable, void)
EMPTY(zetGetDebugProcAddrTable, void)
EMPTY(zetGetDeviceProcAddrTable, void)
EMPTY(zetGetKernelProcAddrTable, void)
EMPTY(zetGetMetricGroupProcAddrTable, void)
EMPTY(zetGetMetricProcAddrTable, void)
EMPTY(zetGetMetricQueryPoolProcAddrTable, void)
EMPTY(zetGetMetricQueryProcAddrTable, void)
EMPTY(zetGetMetricStreamerProcAddrTable, void)
EMPTY(zetGetModuleProcAddrTable, void)
EMPTY(zetGetTracerExpProcAddrTable, void)
