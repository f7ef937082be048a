/* SPDX-License-Identifier: Apache-2.0
 *
 * The way into programs that use Level Zero: the two functions by which they begin. There is no variable by which its
 * loader could be told of us, and to preload a further library would cost every process. They go on to the loader's, and
 * when that has worked, the library for Level Zero (collect/ze) is loaded, where strata has named it.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/core/state.h"
#include "collect/inproc/device/device.h"
#include "collect/inproc/device/ze_way_in.h"

void st_ze_began(void *loader)
{
	const char *path = st_device_ze_library();
	void (*start)(void *);
	void *library;

	if (!loader || !path || !st_config.active || st_passive())
		return;
	library = dlopen(path, RTLD_NOW);
	*(void **)&start = library ? dlsym(library, "strata_ze_start") : NULL;
	if (start)
		start(loader);
}
