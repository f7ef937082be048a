/* SPDX-License-Identifier: Apache-2.0
 *
 * Where CPython has its interpreter lock, by version; and what to say where that is not known, or there is none.
 */
#include "collect/inproc/waits/gil_layout.h"

#include <stddef.h>

#include "format/shm.h"

static const struct st_gil_layout layouts[] = {
	{8, 1152, 0, 0}, {9, 352, 0, 0},   {10, 352, 0, 0},
	{11, 360, 0, 0}, {12, 0, 48, 384}, {13, 0, 640, 16},
};

const struct st_gil_layout *st_gil_layout(uint32_t version, bool free_threaded, uint32_t *notice)
{
	*notice = 0;
	if (free_threaded) {
		*notice = ST_NOTICE_FREE_THREADED;
		return NULL;
	}
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (version >> 16 == (3u << 8 | layouts[i].minor))
			return &layouts[i];
	*notice = ST_NOTICE_NO_GIL;
	return NULL;
}
