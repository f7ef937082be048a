/* SPDX-License-Identifier: Apache-2.0
 *
 * The structures that the ITT static part inside a program and its collector share: plain layouts of
 * the public interface. Only what this collector reads or hands out is here, and of the global only
 * what every generation of the static part has.
 */
#ifndef ST_COLLECT_INPROC_ITT_ABI_H
#define ST_COLLECT_INPROC_ITT_ABI_H

#include <stddef.h>
#include <stdint.h>

struct itt_domain {
	volatile int flags; /* the program's macros skip every call of a domain with flags 0 */
	const char *nameA;
	void *nameW;
	int extra1; /* the collector's: our domain id, 0 = not defined yet */
	void *extra2;
	struct itt_domain *next;
};

struct itt_string_handle {
	const char *strA;
	void *strW;
	int extra1; /* the collector's: our name id, 0 = not defined yet, ST_ID_FAMILY set = shared */
	void *extra2;
	struct itt_string_handle *next;
};

struct itt_id {
	unsigned long long d1, d2, d3;
};

struct itt_api_info {
	const char *name; /* NULL ends the list */
	void **func_ptr;
	void *init_func;
	void *null_func;
	int group;
};

/* The head of the global; the lists behind it are not needed: objects made before the load are taken
 * over one by one, when they are first used. */
struct itt_global {
	unsigned char magic[8];
	unsigned long version_major;
	unsigned long version_minor;
	unsigned long version_build;
	unsigned char private_part[88];
	struct itt_api_info *api_list_ptr;
};

_Static_assert(sizeof(struct itt_domain) == 48, "interface layout");
_Static_assert(sizeof(struct itt_string_handle) == 40, "interface layout");
_Static_assert(sizeof(struct itt_api_info) == 40, "interface layout");
_Static_assert(offsetof(struct itt_global, api_list_ptr) == 120, "interface layout");

#endif
