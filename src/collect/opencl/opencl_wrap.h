/* SPDX-License-Identifier: Apache-2.0
 *
 * The shape of a function in front of another of OpenCL's: it has the same parameters, passes them on, and hands back the
 * same answer.
 */
#ifndef ST_COLLECT_OPENCL_OPENCL_WRAP_H
#define ST_COLLECT_OPENCL_OPENCL_WRAP_H

#include "collect/opencl/opencl.h"

/* At the end of the parameters of all commands. */
#define WAIT_LIST uint32_t wait_count, cl_any *const *waits, cl_any **event
#define WAITED wait_count, waits, out

/* NOLINTBEGIN(bugprone-macro-parentheses): parts of a declaration. */

/* A command whose first parameter is `queue` and whose last is `event`. What follows ARGUMENTS fills struct
 * opencl_command. */
#define COMMAND(NAME, PLACE, PARAMETERS, ARGUMENTS, ...)                                           \
	static int32_t NAME PARAMETERS                                                             \
	{                                                                                          \
		struct opencl_command command = {.place = (PLACE), .queue = queue, __VA_ARGS__};   \
		cl_any **out = opencl_begin(&command, event);                                      \
		int32_t(*next) PARAMETERS;                                                         \
                                                                                                   \
		*(void **)&next = opencl_target[PLACE];                                            \
		return opencl_end(&command, next ARGUMENTS);                                       \
	}

/* A call that gives a device nothing to do. */
#define CALL(NAME, PLACE, PARAMETERS, ARGUMENTS)                                                   \
	static int32_t NAME PARAMETERS                                                             \
	{                                                                                          \
		struct opencl_command command = {.place = (PLACE)};                                \
		int32_t(*next) PARAMETERS;                                                         \
                                                                                                   \
		*(void **)&next = opencl_target[PLACE];                                            \
		opencl_begin(&command, NULL);                                                      \
		return opencl_end(&command, next ARGUMENTS);                                       \
	}

/* The same, about a queue. */
#define QUEUE_CALL(NAME, PLACE)                                                                    \
	static int32_t NAME(cl_any *queue)                                                         \
	{                                                                                          \
		struct opencl_command command = {.place = (PLACE), .queue = queue};                \
		int32_t (*next)(cl_any *);                                                         \
                                                                                                   \
		*(void **)&next = opencl_target[PLACE];                                            \
		opencl_begin(&command, NULL);                                                      \
		return opencl_end(&command, next(queue));                                          \
	}

/* The same, of a function that returns what it made, and an error beside it. */
#define MAKER(NAME, PLACE, PARAMETERS, ARGUMENTS)                                                  \
	static cl_handle NAME PARAMETERS                                                           \
	{                                                                                          \
		struct opencl_command command = {.place = (PLACE)};                                \
		cl_handle(*next) PARAMETERS;                                                       \
		cl_any *made;                                                                      \
                                                                                                   \
		*(void **)&next = opencl_target[PLACE];                                            \
		opencl_begin(&command, NULL);                                                      \
		made = next ARGUMENTS;                                                             \
		opencl_end(&command, made ? CL_SUCCESS : CL_INVALID_VALUE);                        \
		return made;                                                                       \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
