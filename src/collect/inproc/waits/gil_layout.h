/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision whether Python's interpreter lock is looked at. Pure: it is tested for interpreters that are not here.
 */
#ifndef ST_COLLECT_INPROC_WAITS_GIL_LAYOUT_H
#define ST_COLLECT_INPROC_WAITS_GIL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Where the lock is in the run time; or the main interpreter's pointer, and the lock's pointer in that. */
struct st_gil_layout {
	uint32_t minor, lock, interpreter, pointer;
};

#pragma GCC visibility push(hidden)

/* `version` as PY_VERSION_HEX. NULL: waits for it are not known as such, and *notice says why. */
const struct st_gil_layout *st_gil_layout(uint32_t version, bool free_threaded, uint32_t *notice);

#pragma GCC visibility pop

#endif
