/* SPDX-License-Identifier: Apache-2.0
 *
 * Python frames of another process, read while it runs: what is read may change underneath, so every pointer is
 * tested, a walk that breaks off says so, and no sample claims to be exact.
 */
#ifndef ST_COLLECT_HOST_OUTSIDE_PYTHON_H
#define ST_COLLECT_HOST_OUTSIDE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/host/outside.h"

struct st_outside_python;

/* NULL: there is no CPython in the process (yet), or none whose frames are known; *version tells which. */
struct st_outside_python *st_outside_python_create(pid_t pid, const struct st_outside_options *told,
						   uint32_t *version);
void st_outside_python_destroy(struct st_outside_python *python);
/* Start and end of the evaluation function; of its cold part: 0. */
void st_outside_python_eval(const struct st_outside_python *python, uint64_t eval[4]);
/* The frames of a thread, innermost first, as words of format/sample_record.h; new code is told first. *flags:
 * ST_SAMPLE_PYTHON_CUT. */
uint32_t st_outside_python_walk(struct st_outside_python *python, uint32_t tid, uint64_t *frames,
				uint32_t frames_max, uint32_t *flags);
/* The thread that holds the GIL; 0: nobody does. */
uint32_t st_outside_python_holder(struct st_outside_python *python);

/* outside_objects.c: tells the names that Python's threads have, but those of the main thread and of threads that are
 * not Python's. */
void st_outside_python_names(struct st_outside_python *python,
			     void (*each)(void *arg, uint32_t tid, const char *name,
					  uint32_t name_bytes),
			     void *arg);
/* What a process of multiprocessing is called ("DataLoader worker 0", "Process-1"); its size, 0: it is none. */
uint32_t st_outside_python_process_name(const struct st_outside_python *python, char *out,
					uint32_t out_bytes);

#endif
