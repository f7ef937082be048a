/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels, and calls that wait, compile or allocate.
 */
#include "collect/opencl/opencl_wrap.h"

/* clang-format off */
COMMAND(kernel_range, CL_KERNEL,
	(cl_any *queue, cl_any *kernel, uint32_t dimensions, const size_t *offset, const size_t *global,
	 const size_t *local, WAIT_LIST),
	(queue, kernel, dimensions, offset, global, local, WAITED),
	.kind = ST_DEVICE_KERNEL, .kernel = kernel, .dimensions = global ? dimensions : 0, .global = global,
	.local = local)

COMMAND(kernel_task, CL_TASK, (cl_any *queue, cl_any *kernel, WAIT_LIST), (queue, kernel, WAITED),
	.kind = ST_DEVICE_KERNEL, .kernel = kernel)

static struct opencl_text native_name = {.text = "[native kernel]"};

COMMAND(kernel_native, CL_NATIVE_KERNEL,
	(cl_any *queue, void *function, void *arguments, size_t arguments_bytes, uint32_t count, cl_any *const *memory,
	 const void **places, WAIT_LIST),
	(queue, function, arguments, arguments_bytes, count, memory, places, WAITED),
	.kind = ST_DEVICE_KERNEL, .name = &native_name)

QUEUE_CALL(flush, CL_FLUSH)
QUEUE_CALL(finish, CL_FINISH)
CALL(wait_for_events, CL_WAIT_FOR_EVENTS, (uint32_t count, cl_any *const *events), (count, events))
CALL(build_program, CL_BUILD_PROGRAM,
     (cl_any *program, uint32_t count, cl_any *const *devices, const char *options, void *notify, void *argument),
     (program, count, devices, options, notify, argument))
CALL(compile_program, CL_COMPILE_PROGRAM,
     (cl_any *program, uint32_t count, cl_any *const *devices, const char *options, uint32_t header_count,
      cl_any *const *headers, const char **names, void *notify, void *argument),
     (program, count, devices, options, header_count, headers, names, notify, argument))

MAKER(link_program, CL_LINK_PROGRAM,
      (cl_any *context, uint32_t count, cl_any *const *devices, const char *options, uint32_t program_count,
       cl_any *const *programs, void *notify, void *argument, int32_t *error),
      (context, count, devices, options, program_count, programs, notify, argument, error))
MAKER(create_buffer, CL_CREATE_BUFFER,
      (cl_any *context, uint64_t flags, size_t size_bytes, void *from, int32_t *error),
      (context, flags, size_bytes, from, error))
MAKER(svm_alloc, CL_SVM_ALLOC, (cl_any *context, uint64_t flags, size_t size_bytes, uint32_t alignment),
      (context, flags, size_bytes, alignment))
/* clang-format on */

const struct opencl_wrapper opencl_wrappers[] = {
	{CL_KERNEL, (void *)kernel_range},
	{CL_TASK, (void *)kernel_task},
	{CL_NATIVE_KERNEL, (void *)kernel_native},
	{CL_FLUSH, (void *)flush},
	{CL_FINISH, (void *)finish},
	{CL_WAIT_FOR_EVENTS, (void *)wait_for_events},
	{CL_BUILD_PROGRAM, (void *)build_program},
	{CL_COMPILE_PROGRAM, (void *)compile_program},
	{CL_LINK_PROGRAM, (void *)link_program},
	{CL_CREATE_BUFFER, (void *)create_buffer},
	{CL_SVM_ALLOC, (void *)svm_alloc},
	{0, NULL},
};
