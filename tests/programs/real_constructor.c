/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks a real static part for the state of the collection while this library is being loaded, as OpenVINO
 * does: the collector comes in under the loader's lock. REAL_PART names the library with the static part.
 */
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((visibility("default"))) extern int real_state;
int real_state = -1;

__attribute__((constructor)) static void ask(void)
{
	const char *path = getenv("REAL_PART");
	void *handle = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*state)(void);

	*(void **)&state = handle ? dlsym(handle, "__itt_get_collection_state") : NULL;
	if (state)
		real_state = state();
}
