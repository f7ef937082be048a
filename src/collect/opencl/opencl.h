/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of OpenCL that is used, without its headers: numbers, places in the table of functions that the loader hands
 * over (the same since 1.0: new ones are appended), and what the files of this library share.
 */
#ifndef ST_COLLECT_OPENCL_OPENCL_H
#define ST_COLLECT_OPENCL_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/device_record.h"

#pragma GCC visibility push(hidden)

enum {
	CL_SUCCESS = 0,
	CL_PROFILING_INFO_NOT_AVAILABLE = -7,
	CL_INVALID_VALUE = -30,
	CL_COMPLETE = 0,
	CL_QUEUE_PROFILING_ENABLE = 2,
	CL_QUEUE_ON_DEVICE = 4,
	CL_DEVICE_NAME = 0x102b,
	CL_DEVICE_PLATFORM = 0x1031,
	CL_QUEUE_CONTEXT = 0x1090,
	CL_QUEUE_DEVICE = 0x1091,
	CL_QUEUE_PROPERTIES = 0x1093,
	CL_QUEUE_PROPERTIES_ARRAY = 0x1098,
	CL_MEM_SIZE = 0x1102,
	CL_IMAGE_ELEMENT_SIZE = 0x1111,
	CL_KERNEL_FUNCTION_NAME = 0x1190,
	CL_EVENT_COMMAND_QUEUE = 0x11d0,
	CL_EVENT_STATUS = 0x11d3,
	CL_PROFILING_QUEUED = 0x1280,
	CL_PROFILING_START = 0x1282,
	CL_PROFILING_END = 0x1283,
	CL_LAYER_API_VERSION = 0x4240,
	CL_LAYER_NAME = 0x4241,
	CL_LAYER_API_VERSION_100 = 100,
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xffffffff)

/* Places in the table: X(ours, place, OpenCL's name). */
#define CL_CALLS(X)                                                                                \
	X(CREATE_QUEUE, 9, "clCreateCommandQueue")                                                 \
	X(QUEUE_INFO, 12, "clGetCommandQueueInfo")                                                 \
	X(SET_QUEUE_PROPERTY, 13, "clSetCommandQueueProperty")                                     \
	X(CREATE_BUFFER, 14, "clCreateBuffer")                                                     \
	X(BUILD_PROGRAM, 30, "clBuildProgram")                                                     \
	X(CREATE_KERNEL, 34, "clCreateKernel")                                                     \
	X(CREATE_KERNELS, 35, "clCreateKernelsInProgram")                                          \
	X(WAIT_FOR_EVENTS, 41, "clWaitForEvents")                                                  \
	X(EVENT_PROFILING, 45, "clGetEventProfilingInfo")                                          \
	X(FLUSH, 46, "clFlush")                                                                    \
	X(FINISH, 47, "clFinish")                                                                  \
	X(READ_BUFFER, 48, "clEnqueueReadBuffer")                                                  \
	X(WRITE_BUFFER, 49, "clEnqueueWriteBuffer")                                                \
	X(COPY_BUFFER, 50, "clEnqueueCopyBuffer")                                                  \
	X(READ_IMAGE, 51, "clEnqueueReadImage")                                                    \
	X(WRITE_IMAGE, 52, "clEnqueueWriteImage")                                                  \
	X(COPY_IMAGE, 53, "clEnqueueCopyImage")                                                    \
	X(IMAGE_TO_BUFFER, 54, "clEnqueueCopyImageToBuffer")                                       \
	X(BUFFER_TO_IMAGE, 55, "clEnqueueCopyBufferToImage")                                       \
	X(MAP_BUFFER, 56, "clEnqueueMapBuffer")                                                    \
	X(MAP_IMAGE, 57, "clEnqueueMapImage")                                                      \
	X(UNMAP, 58, "clEnqueueUnmapMemObject")                                                    \
	X(KERNEL, 59, "clEnqueueNDRangeKernel")                                                    \
	X(TASK, 60, "clEnqueueTask")                                                               \
	X(NATIVE_KERNEL, 61, "clEnqueueNativeKernel")                                              \
	X(EXTENSION, 65, "clGetExtensionFunctionAddress")                                          \
	X(READ_RECT, 86, "clEnqueueReadBufferRect")                                                \
	X(WRITE_RECT, 87, "clEnqueueWriteBufferRect")                                              \
	X(COPY_RECT, 88, "clEnqueueCopyBufferRect")                                                \
	X(COMPILE_PROGRAM, 98, "clCompileProgram")                                                 \
	X(LINK_PROGRAM, 99, "clLinkProgram")                                                       \
	X(FILL_BUFFER, 102, "clEnqueueFillBuffer")                                                 \
	X(FILL_IMAGE, 103, "clEnqueueFillImage")                                                   \
	X(MIGRATE, 104, "clEnqueueMigrateMemObjects")                                              \
	X(EXTENSION_OF_PLATFORM, 107, "clGetExtensionFunctionAddressForPlatform")                  \
	X(CREATE_QUEUE_WITH, 123, "clCreateCommandQueueWithProperties")                            \
	X(SVM_ALLOC, 126, "clSVMAlloc")                                                            \
	X(SVM_COPY, 129, "clEnqueueSVMMemcpy")                                                     \
	X(SVM_FILL, 130, "clEnqueueSVMMemFill")                                                    \
	X(SVM_MAP, 131, "clEnqueueSVMMap")                                                         \
	X(SVM_UNMAP, 132, "clEnqueueSVMUnmap")                                                     \
	X(CLONE_KERNEL, 137, "clCloneKernel")                                                      \
	X(SVM_MIGRATE, 139, "clEnqueueSVMMigrateMem")

enum {
#define PLACE(OURS, AT, NAME) CL_##OURS = (AT),
	CL_CALLS(PLACE)
#undef PLACE
	/* Called, not replaced. */
	CL_DEVICE_IDS = 2,
	CL_DEVICE_INFO = 3,
	CL_MEM_INFO = 20,
	CL_IMAGE_INFO = 21,
	CL_KERNEL_INFO = 39,
	CL_EVENT_INFO = 42,
	CL_RETAIN_EVENT = 43,
	CL_RELEASE_EVENT = 44,
	CL_RETAIN_DEVICE = 94,
	CL_TIMERS = 140,
	CL_PLACES = 256, /* as many as a loader may have */
};

typedef void cl_any; /* what a handle points to */
typedef cl_any *cl_handle;

/* What the loader has below this layer. */
extern void *opencl_target[CL_PLACES];

/* A name that records carry often. */
struct opencl_text {
	const char *text;
	_Atomic uint32_t id;
};
uint32_t opencl_text(struct opencl_text *text);

/* opencl_queues.c */
struct opencl_queue {
	uint16_t device;
	uint16_t number; /* from 1, of all queues of the process */
	uint32_t context;
	_Atomic bool asked; /* the program itself wants profiling */
	uint16_t property_count;
	bool has_properties; /* given as a list: as the program has it */
	uint64_t properties[15];
	cl_any *own_context;
};
/* NULL: not one of ours. */
const struct opencl_queue *opencl_queue_of(const cl_any *queue);
extern const struct opencl_wrapper {
	unsigned int place;
	void *function;
} opencl_queue_wrappers[], opencl_wrappers[], opencl_copy_wrappers[]; /* end with NULL */
/* The kernel's name, by its handle. */
uint32_t opencl_kernel_name(cl_any *kernel);
void opencl_queues_forget(void);

/* opencl_events.c */
struct opencl_pending {
	cl_any *event; /* ours to release */
	uint64_t call_begin, call_end;
	struct st_device_record record;
};
/* Takes the event, also where there is no room (counted). */
void opencl_events_add(const struct opencl_pending *pending);
bool opencl_events_round(void);
void opencl_events_finish(void);
void opencl_events_forget(void);
void opencl_events_start(void);
/* The device's clock can be read: by numbers of opencl_queues.c, which keeps it. */
void opencl_events_device(uint16_t number, cl_any *device);

/* opencl.c: whether calls are recorded now. */
bool opencl_records(void);
/* Of a queue that is being made: starts, the first time. */
void opencl_start(void);

/* A call that is under way. */
struct opencl_command {
	unsigned int place;
	cl_any *queue;
	struct opencl_text *name; /* of what it lets a device do; NULL: nothing, or a kernel */
	cl_any *kernel;
	uint64_t bytes;
	unsigned int kind; /* enum st_device_kind; 0: only a call */
	uint32_t dimensions;
	const size_t *global, *local;
	/* Set by opencl_begin. */
	bool is_recorded;
	uint64_t begin;
	cl_any *own, **theirs;
};
/* Where the function is to put its event. */
cl_any **opencl_begin(struct opencl_command *command, cl_any **event);
/* Hands the function's answer on. */
int32_t opencl_end(struct opencl_command *command, int32_t answer);

#pragma GCC visibility pop

#endif
