/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of JIT-compiled code that programs write into files: perf maps (perf-PID.map) and jitdumps
 * (jit-PID.dump), in the result folder or still where the program left them.
 */
#ifndef ST_RESOLVE_DYNAMIC_H
#define ST_RESOLVE_DYNAMIC_H

#include "resolve/sites.h"

struct st_jit_work;
struct st_dynamic;

/* Borrows from result. Files are read when a process first asks. NULL: no memory. */
struct st_dynamic *st_dynamic_create(const struct st_result *result);
void st_dynamic_destroy(struct st_dynamic *dynamic);
/* The site of an address, with its name. 0: no file tells, or no memory. */
uint32_t st_dynamic_site(struct st_dynamic *dynamic, struct st_jit_work *work, uint32_t process,
			 uint64_t address);

#endif
