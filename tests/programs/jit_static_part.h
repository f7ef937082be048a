/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for the JIT interface's static part: its structures, and the loading through
 * INTEL_JIT_PROFILER64. Written after the interface's description; shares nothing with the collector.
 */
#ifndef ST_TESTS_JIT_STATIC_PART_H
#define ST_TESTS_JIT_STATIC_PART_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

struct line_number {
	unsigned int offset, line;
};

struct method_load { /* 13, 15 */
	unsigned int method_id;
	char *method_name;
	void *address;
	unsigned int size;
	unsigned int line_count;
	struct line_number *lines;
	unsigned int class_id;
	char *class_file_name;
	char *source_file_name;
	/* What older producers append. */
	void *user_data;
	unsigned int user_data_size;
	int env;
};

struct method_load_v2 { /* 21 */
	unsigned int method_id;
	char *method_name;
	void *address;
	unsigned int size;
	unsigned int line_count;
	struct line_number *lines;
	char *class_file_name;
	char *source_file_name;
	char *module_name;
};

struct method_load_v3 { /* 22 */
	unsigned int method_id;
	char *method_name;
	void *address;
	unsigned int size;
	unsigned int line_count;
	struct line_number *lines;
	char *class_file_name;
	char *source_file_name;
	char *module_name;
	int architecture;
};

struct method_inline_load { /* 16 */
	unsigned int method_id;
	unsigned int parent_method_id;
	char *method_name;
	void *address;
	unsigned int size;
	unsigned int line_count;
	struct line_number *lines;
	char *class_file_name;
	char *source_file_name;
};

struct method_update { /* 17 */
	void *address;
	unsigned int size;
	int type;
	const char *data_format;
};

static unsigned int (*jit_initialize)(void);
static unsigned int (*jit_notify)(unsigned int event, void *data);

/* As the static part does it: both names must be there. */
static inline bool jit_part_load(void)
{
	const char *path = getenv("INTEL_JIT_PROFILER64");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;

	if (!library)
		return false;
	*(void **)&jit_initialize = dlsym(library, "Initialize");
	*(void **)&jit_notify = dlsym(library, "NotifyEvent");
	return jit_initialize && jit_notify;
}

#endif
