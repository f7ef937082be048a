/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples a running program from outside (-target-pid): the kernel copies registers and the top of the
 * stack at each sample, strata walks the copy with the same unwind tables as everywhere. Nothing enters the
 * program. Python frames are read a moment later out of its memory and may not belong to the same instant.
 */
#ifndef ST_COLLECT_HOST_OUTSIDE_H
#define ST_COLLECT_HOST_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct st_outside;

struct st_outside_sample {
	uint32_t tid;
	uint64_t mono_raw_ns;
	uint64_t weight_ns;
	uint32_t flags;		/* enum st_sample_flag */
	const uint64_t *native; /* words of format/sample_record.h, innermost first */
	uint32_t native_count;
	const uint64_t *python; /* the same */
	uint32_t python_count;
	const uint64_t *kernel; /* addresses, innermost first */
	uint32_t kernel_count;
	uint64_t eval[4]; /* as struct st_merge_input */
};

struct st_outside_map { /* a file, or nothing, that is mapped for execution */
	uint64_t start, end, file_offset;
	uint64_t mono_raw_ns; /* when it was first seen */
	const char *path;     /* "" without a file */
	const uint8_t *build_id;
	uint32_t build_id_bytes;
};

struct st_outside_code { /* a Python function */
	uint32_t id, first_line, flags;
	const char *file, *name;
	uint32_t file_bytes, name_bytes;
	const uint8_t *table;
	uint32_t table_bytes;
};

struct st_outside_options {
	pid_t pid;
	uint64_t period_ns;
	uint32_t depth;	      /* frames */
	uint32_t stack_bytes; /* copied with each sample; 0: 32 KiB */
	bool no_stacks;
	bool inner_tids; /* threads have the numbers of their own pid namespace, not those of ours */
	void (*sample)(void *arg, const struct st_outside_sample *sample);
	void (*map)(void *arg, const struct st_outside_map *map);
	void (*code)(void *arg, const struct st_outside_code *code);
	/* A thread of the program was created, or ended (creator 0). */
	void (*thread)(void *arg, uint32_t tid, uint32_t creator, uint64_t mono_raw_ns);
	void *arg;
};

struct st_outside_state {
	bool kernel;	/* samples in the kernel, and its frames */
	bool python;	/* there is a CPython whose frames can be read */
	char note[200]; /* what is missing and how to get it; "" when nothing is */
	uint32_t python_version;
	uint64_t lost; /* samples the kernel had no room for */
	uint64_t python_read,
		python_late; /* samples whose Python frames were read in time, or not */
	uint64_t tables_built, tables_cached, build_ns;
};

/* Builds what is needed to walk stacks first; the program is not stopped. ST_EUNSUPPORTED with what to do when
 * the kernel refuses. */
enum st_status st_outside_create(struct st_outside **out, const struct st_outside_options *options,
				 struct st_error *err);
void st_outside_destroy(struct st_outside *outside);
void st_outside_enable(struct st_outside *outside, bool on);
/* Hands on what happened since the last call; all: everything there is. */
void st_outside_poll(struct st_outside *outside, bool all);
const struct st_outside_state *st_outside_state(const struct st_outside *outside);

#endif
