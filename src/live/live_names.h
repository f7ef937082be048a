/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the frames of a running program, found while it runs. What was named once is remembered.
 */
#ifndef ST_LIVE_LIVE_NAMES_H
#define ST_LIVE_LIVE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/host/outside.h"
#include "collect/launch/drain/merge.h"
#include "format/definitions.h"

struct st_live_names;

struct st_live_frame {
	struct st_text function;
	struct st_text module; /* last part of the binary's path; of Python frames: empty */
	struct st_text path;   /* of the binary */
	struct st_text source; /* path, where it is known */
	uint32_t line;	       /* 0: not known */
	uint32_t key;	       /* the same for the same function */
	bool python, kernel;
	bool interpreter; /* part of CPython itself */
};

/* NULL: no memory. lines: native frames get source lines as well, which takes longer. */
struct st_live_names *st_live_names_create(pid_t pid, bool lines);
void st_live_names_destroy(struct st_live_names *names);
/* A file that the program has mapped for execution, and a Python function. */
void st_live_names_map(struct st_live_names *names, const struct st_outside_map *map);
void st_live_names_code(struct st_live_names *names, const struct st_outside_code *code);
/* The interpreter, by an address in it. */
void st_live_names_python(struct st_live_names *names, uint32_t version, uint64_t address);
/* Notes the frames; st_live_names_find() then names all that were noted. */
void st_live_names_want(struct st_live_names *names, const struct st_merged_frame *frames,
			uint32_t count);
void st_live_names_find(struct st_live_names *names);
/* What a thread with this stack is for, by the library that it begins in; NULL: not known. */
const char *st_live_names_pool(struct st_live_names *names, const struct st_merged_frame *frames,
			       uint32_t count);
/* The texts stay until the next st_live_names_find(). */
void st_live_names_frame(struct st_live_names *names, const struct st_merged_frame *frame,
			 struct st_live_frame *out);

#endif
