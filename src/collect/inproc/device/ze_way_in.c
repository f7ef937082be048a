/* SPDX-License-Identifier: Apache-2.0
 *
 * The two functions by which programs that use Level Zero begin, for a library that is found in front of its loader. They
 * go on to the loader's, and when that has worked, st_ze_began() is called. Once in a library: everybody finds them.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "collect/inproc/device/ze_way_in.h"

enum { ZE_SUCCESS = 0, ZE_UNINITIALIZED = 0x78000001 };

__attribute__((visibility("default"))) int zeInit(uint32_t flags);
__attribute__((visibility("default"))) int zeInitDrivers(uint32_t *count, void **drivers,
							 void *wish);

/* A library of the program's may have loaded the loader for itself only. NULL: there is none. */
static void *ze_find(const char *name, void **function)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);

	*function = loader ? dlsym(loader, name) : dlsym(RTLD_NEXT, name);
	return loader;
}

int zeInit(uint32_t flags)
{
	int (*init)(uint32_t);
	void *loader = ze_find("zeInit", (void **)&init);
	int answer = init ? init(flags) : ZE_UNINITIALIZED;

	if (answer == ZE_SUCCESS)
		st_ze_began(loader);
	return answer;
}

int zeInitDrivers(uint32_t *count, void **drivers, void *wish)
{
	int (*init)(uint32_t *, void **, void *);
	void *loader = ze_find("zeInitDrivers", (void **)&init);
	int answer = init ? init(count, drivers, wish) : ZE_UNINITIALIZED;

	if (answer == ZE_SUCCESS)
		st_ze_began(loader);
	return answer;
}
