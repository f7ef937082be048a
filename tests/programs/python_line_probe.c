/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's reader of Python frames as a library that ctypes can call, so that every version of
 * CPython can say for itself where the call was made.
 */
#include <stdint.h>
#include <stdio.h>

#include "collect/inproc/python/python_line.h"
#include "collect/inproc/core/state.h"

struct st_shared st_shared; /* the collector's; here nothing is ever passive */

__attribute__((visibility("default"))) int probe_line(char *text, unsigned int capacity,
						      void (*then)(void));
__attribute__((visibility("default"))) int probe_unknown(void);
__attribute__((visibility("default"))) void *probe_on_thread(void *text);

/* `then` is called from the same place, so that Python can look at the frame that stands here now. */
int probe_line(char *text, unsigned int capacity, void (*then)(void))
{
	uint32_t length = 0;
	int found = st_python_line(text, capacity, &length) ? (int)length : -1;

	if (then)
		then();
	return found;
}

int probe_unknown(void)
{
	return st_python_unknown();
}

/* As the start routine of a thread that Python does not know: "-1" when there is no line. */
void *probe_on_thread(void *text)
{
	char line[256];

	snprintf(text, 8, "%d", probe_line(line, sizeof(line), NULL));
	return NULL;
}

__attribute__((constructor)) static void probe_init(void)
{
	st_python_line_init();
}
