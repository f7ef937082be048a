/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses Level Zero in a way that is known (tests/e2e/test_ze.py), through the machine's loader and the double
 * of a driver. Prints what the driver has run.
 *
 *   ze_target immediate N      N steps on an immediate list: kernels with and without an event of its own, a copy, a fill
 *   ze_target regular N        a list with a kernel, a copy and a kernel with an event, executed N times, waited for each time
 *   ze_target hasty            the same list executed twice without a wait between
 *   ze_target overtaken        a list of one kernel, executed again while it runs, and twice more when it has run
 *   ze_target paused           the same list, executed before, in and after a pause
 *   ze_target devices          a kernel on each device
 *   ze_target context N        N kernels without an event, and when they have run the end of their context
 *   ze_target answers          wrong calls and events, by their answers
 *   ze_target fork             a step, and a child that does nothing with it
 *   ze_target unfinished       ends while a kernel runs
 *   ze_target killed           a step, then kills itself when all of it is over and was looked at
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <level_zero/ze_api.h>

#include "ze_double.h"
#include "../itt_static_part.h"

enum { DEVICES_MAX = 4, BYTES = 4096 };

static ze_driver_handle_t driver;
static ze_device_handle_t devices[DEVICES_MAX];
static uint32_t device_count = DEVICES_MAX;
static ze_context_handle_t context;
static ze_kernel_handle_t first_kernel, second_kernel;
static void *on_host, *on_device;
static const ze_group_count_t groups = {16, 2, 1};

static void check(ze_result_t result, const char *what)
{
	if (result == ZE_RESULT_SUCCESS)
		return;
	printf("%s: %#x\n", what, result);
	exit(1);
}

static ze_kernel_handle_t make_kernel(ze_module_handle_t module, const char *name)
{
	ze_kernel_desc_t wish = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
	ze_kernel_handle_t kernel;

	check(zeKernelCreate(module, &wish, &kernel), "kernel");
	check(zeKernelSetGroupSize(kernel, 32, 1, 1), "group size");
	return kernel;
}

static void set_up(void)
{
	const ze_context_desc_t wish = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_module_desc_t code = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC};
	const ze_device_mem_alloc_desc_t there = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	const ze_host_mem_alloc_desc_t here = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	ze_module_handle_t module;
	uint32_t count = 1;

	check(zeInit(0), "zeInit");
	check(zeDriverGet(&count, &driver), "driver");
	check(zeDeviceGet(driver, &device_count, devices), "devices");
	check(zeContextCreate(driver, &wish, &context), "context");
	check(zeModuleCreate(context, devices[0], &code, &module, NULL), "module");
	first_kernel = make_kernel(module, "first_kernel");
	second_kernel = make_kernel(module, "_ZTS6second");
	check(zeMemAllocDevice(context, &there, BYTES, 0, devices[0], &on_device), "memory");
	check(zeMemAllocHost(context, &here, BYTES, 0, &on_host), "memory");
}

static ze_event_handle_t make_event(ze_event_pool_flags_t flags)
{
	ze_event_pool_desc_t wish = {
		.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags, .count = 1};
	ze_event_desc_t one = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;

	check(zeEventPoolCreate(context, &wish, 0, NULL, &pool), "pool");
	check(zeEventCreate(pool, &one, &event), "event");
	return event;
}

static ze_command_list_handle_t make_list(int device, int immediate)
{
	ze_command_queue_desc_t at_once = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_list_desc_t later = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_command_list_handle_t list;

	if (immediate)
		check(zeCommandListCreateImmediate(context, devices[device], &at_once, &list),
		      "immediate list");
	else
		check(zeCommandListCreate(context, devices[device], &later, &list), "list");
	return list;
}

static void immediate(long steps)
{
	ze_command_list_handle_t list = make_list(0, 1);
	ze_event_handle_t event = make_event(ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
	const char pattern = 0;

	for (long i = 0; i < steps; i++) {
		check(zeCommandListAppendLaunchKernel(list, first_kernel, &groups, NULL, 0, NULL),
		      "launch");
		check(zeCommandListAppendMemoryCopy(list, on_device, on_host, BYTES, NULL, 0, NULL),
		      "copy");
		check(zeCommandListAppendMemoryFill(list, on_device, &pattern, 1, BYTES / 2, NULL,
						    0, NULL),
		      "fill");
		check(zeCommandListAppendLaunchKernel(list, second_kernel, &groups, event, 0, NULL),
		      "launch");
		check(zeEventHostSynchronize(event, UINT64_MAX), "wait");
		check(zeEventHostReset(event), "reset");
	}
}

static ze_command_queue_handle_t make_queue(void)
{
	ze_command_queue_desc_t wish = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_command_queue_handle_t queue;

	check(zeCommandQueueCreate(context, devices[0], &wish, &queue), "queue");
	return queue;
}

/* The event is never reset: it shows the times of the execution before until there are new ones. */
static void regular(long times, int is_hasty)
{
	ze_command_queue_handle_t queue = make_queue();
	ze_command_list_handle_t list = make_list(0, 0);
	ze_event_handle_t event = make_event(ZE_EVENT_POOL_FLAG_HOST_VISIBLE);

	check(zeCommandListAppendLaunchKernel(list, first_kernel, &groups, NULL, 0, NULL),
	      "launch");
	check(zeCommandListAppendMemoryCopy(list, on_host, on_device, BYTES, NULL, 0, NULL),
	      "copy");
	check(zeCommandListAppendLaunchKernel(list, second_kernel, &groups, event, 0, NULL),
	      "launch");
	check(zeCommandListClose(list), "close");
	for (long i = 0; i < times; i++) {
		check(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL), "execute");
		if (!is_hasty)
			check(zeCommandQueueSynchronize(queue, UINT64_MAX), "wait");
	}
	check(zeCommandQueueSynchronize(queue, UINT64_MAX), "wait");
	check(zeCommandListReset(list), "reset");
	check(zeCommandListDestroy(list), "destroy");
	check(zeEventDestroy(event), "destroy");
}

static ze_command_list_handle_t make_kernel_list(void)
{
	ze_command_list_handle_t list = make_list(0, 0);

	check(zeCommandListAppendLaunchKernel(list, first_kernel, &groups, NULL, 0, NULL),
	      "launch");
	check(zeCommandListClose(list), "close");
	return list;
}

static void execute(ze_command_queue_handle_t queue, ze_command_list_handle_t list, int wait)
{
	check(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL), "execute");
	if (wait)
		check(zeCommandQueueSynchronize(queue, UINT64_MAX), "wait");
}

static void pass_ms(uint64_t ms)
{
	struct timespec now;
	uint64_t begin_ns = 0, now_ns;

	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		begin_ns = begin_ns ? begin_ns : now_ns;
	} while (now_ns - begin_ns < ms * 1000000);
}

/* The second time is asked for while the kernel runs for the first. */
static void overtaken(void)
{
	ze_command_queue_handle_t queue = make_queue();
	ze_command_list_handle_t list = make_kernel_list();

	execute(queue, list, 0);
	pass_ms(20);
	for (int i = 0; i < 3; i++)
		execute(queue, list, 1);
	check(zeCommandListDestroy(list), "destroy");
}

static void paused(void)
{
	ze_command_queue_handle_t queue = make_queue();
	ze_command_list_handle_t list = make_kernel_list();

	itt_part_load();
	execute(queue, list, 1);
	itt_pause();
	execute(queue, list, 1);
	itt_resume();
	execute(queue, list, 1);
	check(zeCommandListDestroy(list), "destroy");
}

static void each_device(void)
{
	for (uint32_t i = 0; i < device_count; i++) {
		ze_command_list_handle_t list = make_list((int)i, 1);
		ze_event_handle_t event = make_event(0);

		check(zeCommandListAppendLaunchKernel(list, first_kernel, &groups, event, 0, NULL),
		      "launch");
		check(zeEventHostSynchronize(event, UINT64_MAX), "wait");
	}
}

static void ends_context(long kernels)
{
	ze_command_list_handle_t list = make_list(0, 1);
	ze_event_handle_t event = make_event(ZE_EVENT_POOL_FLAG_HOST_VISIBLE);

	for (long i = 0; i < kernels; i++)
		check(zeCommandListAppendLaunchKernel(list, first_kernel, &groups, NULL, 0, NULL),
		      "launch");
	check(zeCommandListAppendLaunchKernel(list, second_kernel, &groups, event, 0, NULL),
	      "launch");
	check(zeEventHostSynchronize(event, UINT64_MAX), "wait");
	check(zeCommandListDestroy(list), "destroy");
	check(zeContextDestroy(context), "destroy");
}

static void answers(void)
{
	static const ze_group_count_t none = {0, 0, 0};
	ze_command_list_handle_t list = make_list(0, 1);
	ze_event_handle_t event = make_event(ZE_EVENT_POOL_FLAG_IPC);

	printf("no groups: %#x\n",
	       zeCommandListAppendLaunchKernel(list, first_kernel, &none, NULL, 0, NULL));
	printf("not ready: %#x\n", zeEventQueryStatus(event));
	/* An event that cannot tell times. */
	printf("launch: %#x\n",
	       zeCommandListAppendLaunchKernel(list, first_kernel, &groups, event, 0, NULL));
	printf("wait: %#x\n", zeEventHostSynchronize(event, UINT64_MAX));
	printf("ready: %#x\n", zeEventQueryStatus(event));
}

static void forks(void)
{
	int status = 0;
	pid_t child;

	immediate(1);
	fflush(stdout);
	child = fork();
	if (!child)
		exit(0);
	waitpid(child, &status, 0);
	printf("child: %d\n", status);
}

static void *of_double(const char *name)
{
	void *library = dlopen(getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_NOLOAD);

	return library ? dlsym(library, name) : NULL;
}

static void print_all(void)
{
	ze_double_print *print;

	*(void **)&print = of_double("ze_double_print_all");
	if (print)
		print();
}

/* Somebody has read the times of all four commands, and a while for what is done with them. */
static void killed(void)
{
	struct timespec rest = {.tv_nsec = 1000000}, a_while = {.tv_nsec = 300000000};
	ze_double_count *reads;

	*(void **)&reads = of_double("ze_double_reads");
	immediate(1);
	print_all();
	while (reads() < 4)
		nanosleep(&rest, NULL);
	nanosleep(&a_while, NULL);
	raise(SIGKILL);
}

static void unfinished(void)
{
	ze_command_list_handle_t list = make_list(0, 1);

	check(zeCommandListAppendLaunchKernel(list, first_kernel, &groups, NULL, 0, NULL),
	      "launch");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;

	set_up();
	if (!strcmp(how, "immediate"))
		immediate(count);
	else if (!strcmp(how, "regular"))
		regular(count, 0);
	else if (!strcmp(how, "hasty"))
		regular(2, 1);
	else if (!strcmp(how, "overtaken"))
		overtaken();
	else if (!strcmp(how, "paused"))
		paused();
	else if (!strcmp(how, "devices"))
		each_device();
	else if (!strcmp(how, "context"))
		ends_context(count);
	else if (!strcmp(how, "answers"))
		answers();
	else if (!strcmp(how, "fork"))
		forks();
	else if (!strcmp(how, "killed"))
		killed();
	else if (!strcmp(how, "unfinished"))
		unfinished();
	else
		return 2;
	print_all();
	return 0;
}
