/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses OpenCL in a way that is known (tests/e2e/test_opencl.py), as any program would: it opens the loader
 * and knows nothing of layers. Prints what it did, and what OpenCL itself says of it, a line each.
 *
 *   opencl_target plain N        N steps on a queue with profiling: "NAME BEGIN_NS END_NS BYTES" of each command
 *   opencl_target silent N       the same on a queue without, and without events
 *   opencl_target devices        one step on each device of the platform: "device I NAME"
 *   opencl_target answers        what it may ask about queues and events, and wrong calls: the answers
 *   opencl_target threads        two threads, a queue each
 *   opencl_target fork           a step, and a child that does nothing with OpenCL
 *   opencl_target forked         a child that makes a step, of a process that does nothing with OpenCL
 *   opencl_target unfinished     ends while a command waits for what never comes
 *   opencl_target killed         kills itself when what it has done was handed over
 *   opencl_target paused         pauses in the middle
 *   opencl_target detached N     detaches behind a step, while a command waits for what never comes, until its event has N references
 *   opencl_target many N         N tiny kernels as fast as it can
 *   opencl_target parts          a step on a part of a device, which is released then, and steps on the whole for a while
 *   opencl_target more           commands that the steps do not have, one each
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../itt_static_part.h"

enum {
	ELEMENTS = 1 << 18,
	BYTES = ELEMENTS * 4,
	PROFILING = 2,
	QUEUE_PROPERTIES = 0x1093,
	QUEUE_PROPERTIES_ARRAY = 0x1098,
	EVENT_REFERENCES = 0x11d2,
	START = 0x1282,
	END = 0x1283,
	COMMANDS_MAX = 4096,
	DEVICES_MAX = 8,
};

typedef void *handle;

#define FUNCTIONS(X)                                                                               \
	X(int, clGetPlatformIDs, (uint32_t, handle *, uint32_t *))                                 \
	X(int, clGetDeviceIDs, (handle, uint64_t, uint32_t, handle *, uint32_t *))                 \
	X(int, clGetDeviceInfo, (handle, uint32_t, size_t, void *, size_t *))                      \
	X(handle, clCreateContext,                                                                 \
	  (const void *, uint32_t, const handle *, void *, void *, int *))                         \
	X(handle, clCreateCommandQueue, (handle, handle, uint64_t, int *))                         \
	X(handle, clCreateCommandQueueWithProperties, (handle, handle, const uint64_t *, int *))   \
	X(int, clGetCommandQueueInfo, (handle, uint32_t, size_t, void *, size_t *))                \
	X(int, clReleaseCommandQueue, (handle))                                                    \
	X(int, clReleaseContext, (handle))                                                         \
	X(int, clCreateSubDevices, (handle, const intptr_t *, uint32_t, handle *, uint32_t *))     \
	X(int, clReleaseDevice, (handle))                                                          \
	X(handle, clCreateBuffer, (handle, uint64_t, size_t, void *, int *))                       \
	X(handle, clCreateProgramWithSource,                                                       \
	  (handle, uint32_t, const char **, const size_t *, int *))                                \
	X(int, clBuildProgram, (handle, uint32_t, const handle *, const char *, void *, void *))   \
	X(handle, clCreateKernel, (handle, const char *, int *))                                   \
	X(int, clSetKernelArg, (handle, uint32_t, size_t, const void *))                           \
	X(int, clFinish, (handle))                                                                 \
	X(int, clFlush, (handle))                                                                  \
	X(int, clWaitForEvents, (uint32_t, const handle *))                                        \
	X(int, clGetEventProfilingInfo, (handle, uint32_t, size_t, void *, size_t *))              \
	X(int, clGetEventInfo, (handle, uint32_t, size_t, void *, size_t *))                       \
	X(int, clReleaseEvent, (handle))                                                           \
	X(handle, clCreateUserEvent, (handle, int *))                                              \
	X(int, clEnqueueNDRangeKernel,                                                             \
	  (handle, handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,     \
	   const handle *, handle *))                                                              \
	X(int, clEnqueueWriteBuffer,                                                               \
	  (handle, handle, uint32_t, size_t, size_t, const void *, uint32_t, const handle *,       \
	   handle *))                                                                              \
	X(int, clEnqueueReadBuffer,                                                                \
	  (handle, handle, uint32_t, size_t, size_t, void *, uint32_t, const handle *, handle *))  \
	X(int, clEnqueueCopyBuffer,                                                                \
	  (handle, handle, handle, size_t, size_t, size_t, uint32_t, const handle *, handle *))    \
	X(int, clEnqueueFillBuffer,                                                                \
	  (handle, handle, const void *, size_t, size_t, size_t, uint32_t, const handle *,         \
	   handle *))                                                                              \
	X(handle, clEnqueueMapBuffer,                                                              \
	  (handle, handle, uint32_t, uint64_t, size_t, size_t, uint32_t, const handle *, handle *, \
	   int *))                                                                                 \
	X(int, clEnqueueUnmapMemObject,                                                            \
	  (handle, handle, void *, uint32_t, const handle *, handle *))                            \
	X(int, clEnqueueReadBufferRect,                                                            \
	  (handle, handle, uint32_t, const size_t *, const size_t *, const size_t *, size_t,       \
	   size_t, size_t, size_t, void *, uint32_t, const handle *, handle *))                    \
	X(int, clEnqueueMigrateMemObjects,                                                         \
	  (handle, uint32_t, const handle *, uint64_t, uint32_t, const handle *, handle *))        \
	X(void *, clSVMAlloc, (handle, uint64_t, size_t, uint32_t))                                \
	X(int, clEnqueueSVMMemcpy,                                                                 \
	  (handle, uint32_t, void *, const void *, size_t, uint32_t, const handle *, handle *))    \
	X(int, clEnqueueSVMMemFill,                                                                \
	  (handle, void *, const void *, size_t, size_t, uint32_t, const handle *, handle *))

#define DECLARE(RETURNS, NAME, PARAMETERS) static RETURNS(*NAME) PARAMETERS;
FUNCTIONS(DECLARE)
#undef DECLARE

static const char source[] = "kernel void add_one(global int *a) { a[get_global_id(0)] += 1; }\n"
			     "kernel void grind(global int *a)\n"
			     "{\n"
			     "	uint x = get_global_id(0);\n"
			     "	for (int i = 0; i < 64; i++) x = x * 1664525u + 1013904223u;\n"
			     "	a[get_global_id(0)] ^= x;\n"
			     "}\n";

struct place {
	handle device, context, queue, buffer, other, add_one, grind;
	int *host;
};

static handle platform, devices[DEVICES_MAX];
static uint32_t device_count;

struct command {
	const char *name;
	handle event;
	size_t bytes;
};
static struct command commands[COMMANDS_MAX];
static unsigned int command_count;

static void check(int error, const char *what)
{
	if (!error)
		return;
	printf("%s: %d\n", what, error);
	exit(1);
}

static void open_loader(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);

	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
#define FIND(RETURNS, NAME, PARAMETERS) *(void **)&NAME = dlsym(library, #NAME);
	FUNCTIONS(FIND)
#undef FIND
	check(clGetPlatformIDs(1, &platform, NULL), "platforms");
	check(clGetDeviceIDs(platform, 0xffffffff, DEVICES_MAX, devices, &device_count), "devices");
}

static struct place set_up(handle device, uint64_t properties)
{
	const char *text = source;
	struct place place = {.device = device};
	handle program;
	int error;

	place.context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	check(error, "context");
	place.queue = clCreateCommandQueue(place.context, device, properties, &error);
	check(error, "queue");
	place.buffer = clCreateBuffer(place.context, 1, BYTES, NULL, &error);
	check(error, "buffer");
	place.other = clCreateBuffer(place.context, 1, BYTES, NULL, &error);
	check(error, "buffer");
	program = clCreateProgramWithSource(place.context, 1, &text, NULL, &error);
	check(error, "program");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
	place.add_one = clCreateKernel(program, "add_one", &error);
	check(error, "kernel");
	place.grind = clCreateKernel(program, "grind", &error);
	check(error, "kernel");
	check(clSetKernelArg(place.add_one, 0, sizeof(handle), &place.buffer), "argument");
	check(clSetKernelArg(place.grind, 0, sizeof(handle), &place.buffer), "argument");
	place.host = calloc(1, BYTES);
	return place;
}

/* NULL: the command is to have no event. */
static handle *note(const char *name, size_t bytes, int with_events)
{
	struct command *command;

	if (!with_events || command_count == COMMANDS_MAX)
		return NULL;
	command = &commands[command_count++];
	command->name = name;
	command->bytes = bytes;
	return &command->event;
}

static void step(const struct place *at, int events)
{
	const size_t global = ELEMENTS, local = 64;
	const int zero = 0;
	void *mapped;
	int error;

	check(clEnqueueWriteBuffer(at->queue, at->buffer, 0, 0, BYTES, at->host, 0, NULL,
				   note("Memcpy HtoD (Host -> Device)", BYTES, events)),
	      "write");
	for (int i = 0; i < 2; i++)
		check(clEnqueueNDRangeKernel(at->queue, at->add_one, 1, NULL, &global, &local, 0,
					     NULL, note("add_one", 0, events)),
		      "add_one");
	check(clEnqueueNDRangeKernel(at->queue, at->grind, 1, NULL, &global, NULL, 0, NULL,
				     note("grind", 0, events)),
	      "grind");
	check(clEnqueueCopyBuffer(at->queue, at->buffer, at->other, 0, 0, BYTES, 0, NULL,
				  note("Memcpy DtoD (Device -> Device)", BYTES, events)),
	      "copy");
	check(clEnqueueFillBuffer(at->queue, at->other, &zero, sizeof(zero), 0, BYTES / 2, 0, NULL,
				  note("Memset (Device)", BYTES / 2, events)),
	      "fill");
	mapped = clEnqueueMapBuffer(at->queue, at->other, 1, 1, 0, BYTES / 4, 0, NULL,
				    note("Memcpy DtoH (map)", BYTES / 4, events), &error);
	check(error, "map");
	check(clEnqueueUnmapMemObject(at->queue, at->other, mapped, 0, NULL,
				      note("Memcpy HtoD (unmap)", 0, events)),
	      "unmap");
	check(clEnqueueReadBuffer(at->queue, at->buffer, 1, 0, BYTES, at->host, 0, NULL,
				  note("Memcpy DtoH (Device -> Host)", BYTES, events)),
	      "read");
	check(clFinish(at->queue), "finish");
}

static void print_commands(void)
{
	for (unsigned int i = 0; i < command_count; i++) {
		uint64_t begin = 0, end = 0;

		check(clGetEventProfilingInfo(commands[i].event, START, 8, &begin, NULL), "start");
		check(clGetEventProfilingInfo(commands[i].event, END, 8, &end, NULL), "end");
		check(clReleaseEvent(commands[i].event), "release");
		printf("%s|%llu|%llu|%zu\n", commands[i].name, (unsigned long long)begin,
		       (unsigned long long)end, commands[i].bytes);
	}
}

static void run_devices(void)
{
	for (uint32_t i = 0; i < device_count; i++) {
		struct place place = set_up(devices[i], 0);
		char name[256] = "";

		clGetDeviceInfo(devices[i], 0x102b, sizeof(name), name, NULL);
		printf("device %u %s\n", i, name);
		step(&place, 0);
	}
}

static void print_queue(const char *what, handle queue)
{
	uint64_t flags = 99, list[8] = {99};
	size_t bytes = 99;
	int error = clGetCommandQueueInfo(queue, QUEUE_PROPERTIES, sizeof(flags), &flags, &bytes);

	printf("%s: %d flags %llu of %zu bytes\n", what, error, (unsigned long long)flags, bytes);
	bytes = 99;
	error = clGetCommandQueueInfo(queue, QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &bytes);
	printf("%s: %d list of %zu bytes, %llu\n", what, error, error ? 0 : bytes,
	       bytes >= 8 && !error ? (unsigned long long)list[0] : 0);
	error = clGetCommandQueueInfo(queue, QUEUE_PROPERTIES, 1, &flags, NULL);
	printf("%s: %d for too small a place\n", what, error);
}

static void run_answers(void)
{
	static const uint64_t empty[] = {0}, ordered[] = {QUEUE_PROPERTIES, 1, 0},
			      timed[] = {QUEUE_PROPERTIES, PROFILING, 0},
			      wrong[] = {QUEUE_PROPERTIES, 1 << 20, 0}, nonsense[] = {77, 1, 0};
	static const uint64_t *const lists[] = {NULL, empty, ordered, timed, wrong, nonsense};
	struct place place = set_up(devices[0], 0);
	handle event = NULL;
	uint64_t ns = 0;
	int error;

	print_queue("plain", place.queue);
	for (unsigned int i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		handle queue = clCreateCommandQueueWithProperties(place.context, devices[0],
								  lists[i], &error);

		printf("list %u: %d %s\n", i, error, queue ? "made" : "refused");
		if (queue)
			print_queue("listed", queue);
	}
	printf("no context: %p", clCreateCommandQueue(NULL, devices[0], 0, &error));
	printf(" %d\n", error);
	check(clEnqueueWriteBuffer(place.queue, place.buffer, 1, 0, 64, place.host, 0, NULL,
				   &event),
	      "write");
	error = clGetEventProfilingInfo(event, START, sizeof(ns), &ns, NULL);
	printf("times that were not asked for: %d\n", error);
	printf("release: %d\n", clReleaseEvent(event));
	event = (handle)1;
	error = clEnqueueWriteBuffer(place.queue, place.buffer, 1, BYTES, 64, place.host, 0, NULL,
				     &event);
	printf("behind the end: %d\n", error);
	error = clEnqueueNDRangeKernel(place.queue, place.add_one, 0, NULL, NULL, NULL, 0, NULL,
				       NULL);
	printf("no dimension: %d\n", error);
	error = clEnqueueReadBuffer(NULL, place.buffer, 1, 0, 64, place.host, 0, NULL, NULL);
	printf("no queue: %d\n", error);
	printf("no map: %p", clEnqueueMapBuffer(place.queue, place.buffer, 1, 1, BYTES, 1, 0, NULL,
						NULL, &error));
	printf(" %d\n", error);
	printf("wait for nothing: %d\n", clWaitForEvents(0, NULL));
	printf("finish: %d\n", clFinish(place.queue));
}

static void run_more(void)
{
	static const size_t zero[3] = {0}, region[3] = {64, 2, 2};
	struct place place = set_up(devices[0], 0);
	const char pattern = 1;
	char *first = clSVMAlloc(place.context, 1, 4096, 0),
	     *second = clSVMAlloc(place.context, 1, 4096, 0);

	check(clEnqueueReadBufferRect(place.queue, place.buffer, 1, zero, zero, region, 0, 0, 0, 0,
				      place.host, 0, NULL, NULL),
	      "rect");
	check(clEnqueueMigrateMemObjects(place.queue, 1, &place.buffer, 0, 0, NULL, NULL),
	      "migrate");
	check(!first || !second, "SVM");
	check(clEnqueueSVMMemFill(place.queue, first, &pattern, 1, 4096, 0, NULL, NULL),
	      "SVM fill");
	check(clEnqueueSVMMemcpy(place.queue, 1, second, first, 4096, 0, NULL, NULL), "SVM copy");
	check(clFlush(place.queue), "flush");
	check(clFinish(place.queue), "finish");
	printf("%d\n", second[4095]);
}

static void run_many(long count)
{
	struct place place = set_up(devices[0], 0);
	const size_t global = 64, local = 64;

	for (long i = 0; i < count; i++) {
		check(clEnqueueNDRangeKernel(place.queue, place.add_one, 1, NULL, &global, &local,
					     0, NULL, NULL),
		      "kernel");
		if (i % 1000 == 999)
			check(clFinish(place.queue), "finish");
	}
	check(clFinish(place.queue), "finish");
	printf("%ld kernels\n", count);
}

static void *one_thread(void *arg)
{
	struct place place = set_up(devices[0], 0);

	(void)arg;
	step(&place, 0);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, one_thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void run_fork(int child_works)
{
	pid_t child;
	int status = 0;

	if (!child_works) {
		struct place place = set_up(devices[0], 0);

		step(&place, 0);
	}
	fflush(stdout);
	child = fork();
	if (!child) {
		if (child_works) {
			struct place place;

			open_loader();
			place = set_up(devices[0], 0);
			step(&place, 0);
		}
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child: %d\n", status);
}

/* Ends with a kernel that waits for an event nobody sets. */
static void run_unfinished(void)
{
	struct place place = set_up(devices[0], 0);
	const size_t global = 64;
	handle never = clCreateUserEvent(place.context, NULL);

	step(&place, 0);
	check(clEnqueueNDRangeKernel(place.queue, place.grind, 1, NULL, &global, NULL, 1, &never,
				     NULL),
	      "kernel");
	printf("ends\n");
	fflush(stdout);
	exit(0);
}

static void rest_ms(long ms)
{
	struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&rest, NULL);
}

/* Whoever else has a command's event has let it go by then. */
static void run_killed(void)
{
	struct place place = set_up(devices[0], 0);
	const int zero = 0;

	step(&place, 1);
	/* PoCL itself keeps the last one of each buffer. */
	for (int i = 0; i < 3; i++)
		check(clEnqueueFillBuffer(place.queue, i ? place.buffer : place.other, &zero,
					  sizeof(zero), 0, 64, 0, NULL, NULL),
		      "fill");
	check(clFinish(place.queue), "finish");
	for (unsigned int i = 0; i < command_count; i++) {
		uint32_t references = 2;

		while (references > 1) {
			rest_ms(1);
			check(clGetEventInfo(commands[i].event, EVENT_REFERENCES, 4, &references,
					     NULL),
			      "references");
		}
	}
	raise(SIGKILL);
}

static void run_paused(void)
{
	struct place place = set_up(devices[0], 0);

	itt_part_load();
	step(&place, 0);
	itt_pause();
	step(&place, 0);
	itt_resume();
	step(&place, 0);
}

/* The clocks of devices are read once a second. */
static void run_parts(void)
{
	enum { EQUALLY = 0x1086, WHILE_NS = 1300000000 };
	static const intptr_t how[] = {EQUALLY, 1, 0};
	struct timespec begin, now;
	struct place place;
	handle parts[DEVICES_MAX];
	uint32_t count = 0;
	int steps = 0;

	if (clCreateSubDevices(devices[0], how, DEVICES_MAX, parts, &count)) {
		printf("no parts\n");
		return;
	}
	place = set_up(parts[0], 0);
	step(&place, 0);
	check(clReleaseCommandQueue(place.queue), "queue");
	check(clReleaseContext(place.context), "context");
	for (uint32_t i = 0; i < count; i++)
		check(clReleaseDevice(parts[i]), "part");
	place = set_up(devices[0], 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		step(&place, 0);
		steps++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < WHILE_NS);
	printf("%d steps\n", steps);
}

/* N of 0: says how many there are. */
static void run_detached(long wanted)
{
	struct place place = set_up(devices[0], 0);
	const size_t global = 64;
	handle never = clCreateUserEvent(place.context, NULL), event;
	uint32_t references = 0;

	itt_part_load();
	check(clEnqueueNDRangeKernel(place.queue, place.grind, 1, NULL, &global, NULL, 1, &never,
				     &event),
	      "kernel");
	place.queue = clCreateCommandQueue(place.context, place.device, 0, NULL);
	step(&place, 0);
	itt_detach();
	for (int tries = 0; tries < 30000 && (!tries || references != (uint32_t)wanted); tries++) {
		check(clGetEventInfo(event, EVENT_REFERENCES, 4, &references, NULL), "references");
		if (!wanted)
			break;
		rest_ms(1);
	}
	printf("%u references\n", references);
	fflush(stdout);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;

	if (!strcmp(how, "forked")) {
		run_fork(1);
		return 0;
	}
	open_loader();
	if (!strcmp(how, "plain") || !strcmp(how, "silent")) {
		int events = !strcmp(how, "plain");
		struct place place = set_up(devices[0], events ? PROFILING : 0);

		for (long i = 0; i < count; i++)
			step(&place, events);
		print_commands();
	} else if (!strcmp(how, "devices")) {
		run_devices();
	} else if (!strcmp(how, "answers")) {
		run_answers();
	} else if (!strcmp(how, "threads")) {
		run_threads();
	} else if (!strcmp(how, "fork")) {
		run_fork(0);
	} else if (!strcmp(how, "unfinished")) {
		run_unfinished();
	} else if (!strcmp(how, "killed")) {
		run_killed();
	} else if (!strcmp(how, "paused")) {
		run_paused();
	} else if (!strcmp(how, "detached")) {
		run_detached(count);
	} else if (!strcmp(how, "many")) {
		run_many(count);
	} else if (!strcmp(how, "parts")) {
		run_parts();
	} else if (!strcmp(how, "more")) {
		run_more();
	} else {
		return 2;
	}
	return 0;
}
