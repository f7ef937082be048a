/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that uses PyTorch when the process ends: behind everything of Python, and before the static objects of
 * PyTorch itself are gone.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static void *torch;

static void at_the_end(void)
{
	int32_t (*make)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t,
			void **);
	int32_t (*copy)(void *, void **);
	const int64_t sizes[] = {6}, strides[] = {1};
	void *tensor = 0, *other = 0;

	*(void **)&make = dlsym(torch, "aoti_torch_empty_strided");
	*(void **)&copy = dlsym(torch, "aoti_torch_clone");
	if (make && copy && !make(1, sizes, strides, 6, 0, 0, &tensor))
		copy(tensor, &other);
}

void use(const char *path)
{
	torch = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (torch)
		atexit(at_the_end);
}
