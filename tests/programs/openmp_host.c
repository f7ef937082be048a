/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a library that uses OpenMP, calls it and unloads it, several times. In between somebody else takes the place where the
 * library of OpenMP was, so that it comes again elsewhere.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ROUNDS = 3, PLACE_BYTES = 256 << 10 };

int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < ROUNDS; i++) {
		void *library = dlopen(argv[1], RTLD_NOW), *openmp, *function;
		int (*count)(void);
		Dl_info info;

		if (!library) {
			puts(dlerror());
			return 1;
		}
		*(void **)&count = dlsym(library, "plug_count");
		printf("round %d: %d\n", i, count ? count() : -1);
		fflush(stdout);
		openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
		function = openmp ? dlsym(openmp, "GOMP_parallel") : NULL;
		if (!function || !dladdr(function, &info))
			return 2;
		dlclose(openmp);
		dlclose(library);
		if (dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD))
			continue; /* it stays: there are threads of it */
		if (mmap(info.dli_fbase, PLACE_BYTES, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
			return 3;
	}
	return 0;
}
