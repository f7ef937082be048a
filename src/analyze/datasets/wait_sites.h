/* SPDX-License-Identifier: Apache-2.0
 *
 * Where threads waited, by the stacks of their waits: the line of Python that waited rather than that of threading.py or
 * queue.py in which it blocks, what it called there, and whether a worker of a pool only waited for work.
 */
#ifndef ST_ANALYZE_DATASETS_WAIT_SITES_H
#define ST_ANALYZE_DATASETS_WAIT_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "store/events.h"

struct st_named;

/* By frame of the names. */
struct st_wait_sites {
	const struct st_result *result;
	const struct st_named *named; /* NULL: there are no stacks */
	struct st_named *own_named;
	uint32_t *
		python; /* the Python frame that waited: the nearest one that is not of a library to wait with; 0: none */
	uint32_t *
		called; /* what that one called: the outermost frame of such a library inside it; 0: none */
	uint8_t *flags;
};

/* named: may be NULL, then they are opened where the result has waits with stacks. */
enum st_status st_wait_sites_init(struct st_wait_sites *out, const struct st_result *result,
				  const struct st_named *named, struct st_error *err);
void st_wait_sites_fini(struct st_wait_sites *sites);

/* The sample that has the stack of a wait, or ST_NO_ROW. */
uint32_t st_wait_sample(const struct st_result *result, const struct st_span *span);
/* The innermost frame of a sample, or 0. */
uint32_t st_wait_frame(const struct st_wait_sites *sites, uint32_t sample);
/* Whether who waits there is a worker of a pool without work: no frame is of the program. */
bool st_wait_is_idle(const struct st_wait_sites *sites, uint32_t sample);
/* Whether the innermost frames are those of a lock of Python. */
bool st_wait_is_python_lock(const struct st_wait_sites *sites, uint32_t frame);
/* The Python frame that waits in a frame, or the worker that waits for work there; 0: none. */
uint32_t st_wait_python(const struct st_wait_sites *sites, uint32_t frame);
/* "train.py:88", without the folder; "" where no Python frame is known. */
struct st_text st_wait_line(const struct st_wait_sites *sites, uint32_t frame,
			    struct st_arena *arena);
/* "Queue.get (train.py:88)": what a lock is that Python makes for one wait; "" where it is none. */
struct st_text st_wait_call(const struct st_wait_sites *sites, uint32_t frame,
			    struct st_arena *arena);

#endif
