/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with a static part of its own. Its constructor records, as some libraries do.
 */
#include "itt_static_part.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void part_task(const char *name);
EXPORT void part_fini(void);

static struct itt_domain *domain;

__attribute__((constructor)) static void at_load(void)
{
	domain = itt_early_domain("part");
	if (!itt_part_load())
		return;
	part_task("in a constructor");
}

EXPORT void part_task(const char *name)
{
	itt_task_begin(domain, itt_string_handle_create(name));
	itt_task_end(domain);
}

/* The static part's own end: null functions everywhere. */
EXPORT void part_fini(void)
{
	void (*fini)(struct itt_global *);

	*(void **)&fini = dlsym(itt_global.lib, "__itt_api_fini");
	fini(&itt_global);
	for (struct itt_api_info *api = itt_api_list; api->name; api++)
		*api->func_ptr = api->null_func;
}
