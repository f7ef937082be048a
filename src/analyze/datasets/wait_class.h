/* SPDX-License-Identifier: Apache-2.0
 *
 * The class of each wait (format/wait_kind.h), by its kind and by its stack: whether it keeps a thread from its work, or a worker
 * waits for work. A wait without a stack, because it was short or is not over, is what the other waits of the thread
 * for the same object are.
 */
#ifndef ST_ANALYZE_DATASETS_WAIT_CLASS_H
#define ST_ANALYZE_DATASETS_WAIT_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/wait_kind.h"

struct st_wait_sites;

struct st_wait_classes {
	uint8_t *
		of_span; /* enum st_wait_class, by span; ST_WAITS_SYNC where the program tells of the wait */
};

/* False: no memory. */
bool st_wait_classes_make(struct st_wait_classes *out, const struct st_wait_sites *sites);
void st_wait_classes_fini(struct st_wait_classes *classes);

#endif
