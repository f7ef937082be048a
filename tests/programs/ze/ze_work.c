/* SPDX-License-Identifier: Apache-2.0
 *
 * Work for devices of Level Zero, to be called by programs in Python (tests/e2e/targets/on_xpu.py): kernels on an immediate
 * list of each device, and a regular list with a kernel and a copy, through the machine's loader and the double of a driver.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <level_zero/ze_api.h>

enum { DEVICES_MAX = 4, BYTES = 4096 };

#pragma GCC visibility push(default)
/* How many devices there are. */
uint32_t ze_work_start(void);
void ze_work_launch(uint32_t device);
/* Executes the regular list, which was made and closed at the start, and waits for it. */
void ze_work_run_list(void);
/* Until all that was launched has run. */
void ze_work_wait(void);
#pragma GCC visibility pop

static struct {
	ze_command_list_handle_t list;
	ze_event_handle_t event; /* of the last that was launched */
	int is_busy;
} queues[DEVICES_MAX];
static uint32_t device_count = DEVICES_MAX;
static ze_kernel_handle_t kernel;
static ze_command_list_handle_t regular;
static ze_command_queue_handle_t regular_queue;

static void check(ze_result_t result, const char *what)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	printf("%s: %#x\n", what, result);
	exit(1);
}

static void start_queue(ze_context_handle_t context, ze_device_handle_t device, uint32_t at)
{
	const ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	const ze_event_pool_desc_t events = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					     .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
					     .count = 1};
	const ze_event_desc_t event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
	ze_event_pool_handle_t pool;

	check(zeCommandListCreateImmediate(context, device, &queue, &queues[at].list), "list");
	check(zeEventPoolCreate(context, &events, 0, NULL, &pool), "pool");
	check(zeEventCreate(pool, &event, &queues[at].event), "event");
}

static void make_regular(ze_context_handle_t context, ze_device_handle_t device)
{
	const ze_command_list_desc_t later = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	const ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	const ze_device_mem_alloc_desc_t there = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	const ze_host_mem_alloc_desc_t here = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	static const ze_group_count_t groups = {4, 1, 1};
	void *on_device, *on_host;

	check(zeMemAllocDevice(context, &there, BYTES, 0, device, &on_device), "memory");
	check(zeMemAllocHost(context, &here, BYTES, 0, &on_host), "memory");
	check(zeCommandListCreate(context, device, &later, &regular), "list");
	check(zeCommandQueueCreate(context, device, &queue, &regular_queue), "queue");
	check(zeCommandListAppendLaunchKernel(regular, kernel, &groups, NULL, 0, NULL), "launch");
	check(zeCommandListAppendMemoryCopy(regular, on_host, on_device, BYTES, NULL, 0, NULL),
	      "copy");
	check(zeCommandListClose(regular), "close");
}

void ze_work_run_list(void)
{
	check(zeCommandQueueExecuteCommandLists(regular_queue, 1, &regular, NULL), "execute");
	check(zeCommandQueueSynchronize(regular_queue, UINT64_MAX), "wait");
}

uint32_t ze_work_start(void)
{
	const ze_context_desc_t wish = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_module_desc_t code = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC};
	const ze_kernel_desc_t name = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
				       .pKernelName = "first_kernel"};
	ze_device_handle_t devices[DEVICES_MAX];
	ze_driver_handle_t driver;
	ze_context_handle_t context;
	ze_module_handle_t module;
	uint32_t count = 1;

	check(zeInit(0), "zeInit");
	check(zeDriverGet(&count, &driver), "driver");
	check(zeDeviceGet(driver, &device_count, devices), "devices");
	check(zeContextCreate(driver, &wish, &context), "context");
	check(zeModuleCreate(context, devices[0], &code, &module, NULL), "module");
	check(zeKernelCreate(module, &name, &kernel), "kernel");
	check(zeKernelSetGroupSize(kernel, 32, 1, 1), "group size");
	for (uint32_t i = 0; i < device_count; i++)
		start_queue(context, devices[i], i);
	make_regular(context, devices[0]);
	return device_count;
}

static void wait_for(uint32_t device)
{
	if (!queues[device].is_busy)
		return;
	check(zeEventHostSynchronize(queues[device].event, UINT64_MAX), "wait");
	check(zeEventHostReset(queues[device].event), "reset");
	queues[device].is_busy = 0;
}

void ze_work_launch(uint32_t device)
{
	static const ze_group_count_t groups = {16, 2, 1};

	wait_for(device);
	check(zeCommandListAppendLaunchKernel(queues[device].list, kernel, &groups,
					      queues[device].event, 0, NULL),
	      "launch");
	queues[device].is_busy = 1;
}

void ze_work_wait(void)
{
	for (uint32_t i = 0; i < device_count; i++)
		wait_for(i);
}
