/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that are bound into programs, in tables: one per file of calls. Two functions a row, one
 * for each clock, so that no record of a task has to ask which clock it is.
 */
#ifndef ST_COLLECT_INPROC_ITT_BIND_H
#define ST_COLLECT_INPROC_ITT_BIND_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

struct st_binding {
	const char *name; /* without "__itt_" */
	void (*tsc)(void);
	void (*mono_raw)(void);
};

struct st_inproc_backend;

struct st_bindings {
	const struct st_binding *rows;
	size_t count;
};

#define ST_BIND(name, function)                                                                    \
	{                                                                                          \
		name, (void (*)(void))(function), (void (*)(void))(function)                       \
	}
#define ST_BINDINGS(table)                                                                         \
	{                                                                                          \
		table, sizeof(table) / sizeof((table)[0])                                          \
	}

extern const struct st_bindings st_calls_task, st_calls_task_lines, st_calls_control,
	st_calls_structure, st_calls_metadata, st_calls_counter, st_calls_mark, st_calls_clock,
	st_calls_sync, st_calls_heap, st_calls_module, st_calls_legacy;
/* Bound even when nobody listens: programs rely on what these return. */
extern const struct st_bindings st_calls_counter_create;

extern const struct st_inproc_backend st_backend_itt;

#pragma GCC visibility pop

#endif
