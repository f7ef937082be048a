/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a library with a copy of OpenMP of its own, and then another copy, which everybody sees from then on, as Python packages do.
 * Usage: openmp_copies LIBRARY now|lazy early|late, where "early" calls the library before the other copy comes, too.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int call(void *library, const char *name)
{
	int (*function)(void);

	*(void **)&function = dlsym(library, name);
	return function ? function() : -1;
}

int main(int argc, char **argv)
{
	int how = argc > 2 && !strcmp(argv[2], "lazy") ? RTLD_LAZY : RTLD_NOW;
	void *library = argc > 3 ? dlopen(argv[1], how | RTLD_LOCAL) : NULL;

	if (!library) {
		puts(argc > 3 ? dlerror() : "usage: openmp_copies LIBRARY now|lazy early|late");
		return 1;
	}
	if (!strcmp(argv[3], "early"))
		printf("before: %d\n", call(library, "copy_begin"));
	fflush(stdout);
	if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL)) {
		puts(dlerror());
		return 1;
	}
	for (int i = 0; i < 2; i++) {
		printf("after: %d %d\n", call(library, "copy_begin"), call(library, "copy_go_on"));
		fflush(stdout);
		/* Nothing goes, but who remembers functions cannot know that. */
		dlclose(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD));
	}
	return 0;
}
