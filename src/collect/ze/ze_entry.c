/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata_ze_entry.so: the way into a program that may record itself (strata.profile), and that no strata has started. The
 * Python package loads it for all libraries that come later, in front of Level Zero's: the two functions by which programs
 * begin are found here first. They go on to the loader's, and when that has worked, libstrata_ze.so gets to know what the
 * program makes from then on. Nothing else is in this library, since everybody would find it; it needs no other.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collect/inproc/device/ze_way_in.h"

/* It lies beside this one. */
void st_ze_began(void *loader)
{
	static const char name[] = "libstrata_ze.so";
	void (*begin)(void *) = NULL;
	char path[PATH_MAX];
	Dl_info self;
	const char *slash;
	void *library;

	if (!loader || !dladdr((void *)st_ze_began, &self))
		return;
	slash = strrchr(self.dli_fname, '/');
	if (!slash || snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname),
			       self.dli_fname, name) >= (int)sizeof(path))
		return;
	library = dlopen(path, RTLD_NOW);
	if (library)
		*(void **)&begin = dlsym(library, "strata_ze_prepare");
	if (begin)
		begin(loader);
}
