/* SPDX-License-Identifier: Apache-2.0
 *
 * The JIT profiling interface: its structures, and the one door through which libstrata_jit.so hands
 * over what it gets. That library is apart because the interface's two names, Initialize and NotifyEvent,
 * would replace functions of the program in a preloaded library.
 */
#ifndef ST_COLLECT_INPROC_ITT_JIT_H
#define ST_COLLECT_INPROC_ITT_JIT_H

#include <stddef.h>
#include <stdint.h>

/* Event numbers of the interface; 0 is ours: is anybody recording? */
enum st_jit_event {
	ST_JIT_ASK = 0,
	ST_JIT_SHUTDOWN = 2,
	ST_JIT_LOAD = 13,
	ST_JIT_UNLOAD = 14,
	ST_JIT_UPDATE = 15,
	ST_JIT_INLINE_LOAD = 16,
	ST_JIT_UPDATE_V2 = 17,
	ST_JIT_LOAD_V2 = 21,
	ST_JIT_LOAD_V3 = 22,
};

struct jit_line {
	uint32_t offset; /* where the line's code ends */
	uint32_t line;
};

/* What all loads begin with; older producers append further fields to a plain load. */
struct jit_head {
	uint32_t method;
	uint32_t parent; /* of an inline load; else padding */
	const char *name;
	const void *address;
	uint32_t size_bytes;
	uint32_t line_count;
	const struct jit_line *lines;
};

struct jit_load { /* 13, 15 */
	struct jit_head head;
	uint32_t class_id; /* obsolete */
	const char *class_file, *source_file;
};

struct jit_load_v2 { /* 21; of 22 the architecture follows */
	struct jit_head head;
	const char *class_file, *source_file, *module;
};

struct jit_load_v3 {
	struct jit_load_v2 v2;
	int32_t architecture;
};

struct jit_inline_load { /* 16 */
	struct jit_head head;
	const char *class_file, *source_file;
};

struct jit_update { /* 17 */
	const void *address;
	uint32_t size_bytes;
	int32_t type;
	const char *data_format;
};

_Static_assert(sizeof(struct jit_load) == 64, "interface layout");
_Static_assert(sizeof(struct jit_load_v2) == 64, "interface layout");
_Static_assert(sizeof(struct jit_load_v3) == 72, "interface layout");
_Static_assert(sizeof(struct jit_inline_load) == 56, "interface layout");
_Static_assert(sizeof(struct jit_update) == 24, "interface layout");
_Static_assert(offsetof(struct jit_load, class_file) == 48, "interface layout");

/* Exported. 1: understood (or, of ST_JIT_ASK, recording), else 0. */
unsigned int strata_jit_notify(unsigned int event, const void *data);

#endif
