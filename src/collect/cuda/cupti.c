/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding CUPTI. PyTorch has it as a dependency, so that the one that is mapped is the one to use: two of them in a process
 * fight for the driver's one interface. Else one that lies beside the runtime, or that the loader knows.
 */
#include "collect/cuda/cupti.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static const char library_name[] = "libcupti.so";

struct search {
	const char *prefix;
	char path[PATH_BYTES];
};

static int visit(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct search *search = closure;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	if (!slash || strncmp(slash + 1, search->prefix, strlen(search->prefix)) != 0 ||
	    strlen(info->dlpi_name) >= sizeof(search->path))
		return 0;
	memcpy(search->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 1;
}

static void *open_mapped(void)
{
	struct search search = {.prefix = library_name};

	if (!dl_iterate_phdr(visit, &search))
		return NULL;
	return dlopen(search.path, RTLD_NOW);
}

static void *open_beside_runtime(void)
{
	struct search search = {.prefix = "libcudart.so"};
	char path[PATH_BYTES];
	const char *slash;

	if (!dl_iterate_phdr(visit, &search))
		return NULL;
	slash = strrchr(search.path, '/');
	if (snprintf(path, sizeof(path), "%.*s/%s.%s", (int)(slash - search.path), search.path,
		     library_name, slash + 1 + strlen("libcudart.so.")) >= (int)sizeof(path))
		return NULL;
	return dlopen(path, RTLD_NOW);
}

static void *open_known(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW);
	return library;
}

bool cupti_find(struct cupti *out)
{
	const struct {
		void **function;
		const char *name;
		bool is_optional;
	} functions[] = {
		{(void **)&out->register_callbacks, "cuptiActivityRegisterCallbacks", false},
		{(void **)&out->register_clock, "cuptiActivityRegisterTimestampCallback", false},
		{(void **)&out->enable, "cuptiActivityEnable", false},
		{(void **)&out->disable, "cuptiActivityDisable", false},
		{(void **)&out->flush, "cuptiActivityFlushAll", false},
		{(void **)&out->next, "cuptiActivityGetNextRecord", false},
		{(void **)&out->thread_ids, "cuptiSetThreadIdType", false},
		{(void **)&out->call_name, "cuptiGetCallbackName", false},
		{(void **)&out->dropped, "cuptiActivityGetNumDroppedRecords", false},
		{(void **)&out->enable_runtime_call, "cuptiActivityEnableRuntimeApi", true},
		{(void **)&out->enable_driver_call, "cuptiActivityEnableDriverApi", true},
	};

	memset(out, 0, sizeof(*out));
	out->library = open_mapped();
	if (!out->library)
		out->library = open_beside_runtime();
	if (!out->library)
		out->library = open_known();
	if (!out->library)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(out->library, functions[i].name);
		if (!*functions[i].function && !functions[i].is_optional)
			return false;
	}
	return true;
}
