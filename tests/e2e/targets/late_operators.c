/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that uses PyTorch when the process ends, behind everything of Python.
 */
#include <dlfcn.h>
#include <stdint.h>

static void *torch;

void use(const char *path)
{
	torch = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

__attribute__((destructor)) static void at_the_end(void)
{
	int32_t (*make)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t,
			void **);
	const int64_t sizes[] = {6}, strides[] = {1};
	void *tensor = 0;

	if (!torch)
		return;
	*(void **)&make = dlsym(torch, "aoti_torch_empty_strided");
	if (make)
		make(1, sizes, strides, 6, 0, 0, &tensor);
}
