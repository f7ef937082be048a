/* SPDX-License-Identifier: Apache-2.0
 *
 * The structures that the ITT static part inside a program and its collector share: plain layouts of
 * the public interface. Only what this collector reads or hands out is here, and of the global only
 * what every generation of the static part has.
 */
#ifndef ST_COLLECT_INPROC_CORE_ITT_ABI_H
#define ST_COLLECT_INPROC_CORE_ITT_ABI_H

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

struct itt_counter {
	const char *nameA;
	void *nameW;
	const char *domainA;
	void *domainW;
	int type;
	long index;
	int extra1; /* not cleared by the static part: heap garbage in counters made before the load */
	void *extra2;
	struct itt_counter *next;
};

struct itt_histogram {
	const struct itt_domain *domain;
	const char *nameA;
	void *nameW;
	int x_type, y_type;
	int extra1;
	void *extra2;
	struct itt_histogram *next;
};

struct itt_counter_metadata {
	struct itt_counter *counter;
	int type;
	const char *str_valueA;
	void *str_valueW;
	unsigned long long value;
	int extra1;
	void *extra2;
	struct itt_counter_metadata *next;
};

struct itt_context_metadata {
	int type;
	void *value;
};

struct itt_clock_info {
	unsigned long long clock_freq, clock_base;
};

typedef void (*itt_clock_fn)(struct itt_clock_info *info, void *data);

struct itt_clock_domain {
	struct itt_clock_info info;
	itt_clock_fn fn;
	void *fn_data;
	int extra1;
	void *extra2;
	struct itt_clock_domain *next;
};

struct itt_track_group {
	struct itt_string_handle *name;
	struct itt_track *track;
	int tgtype;
	int extra1;
	void *extra2;
	struct itt_track_group *next;
};

struct itt_track {
	struct itt_string_handle *name;
	struct itt_track_group *group;
	int ttype;
	int extra1;
	void *extra2;
	struct itt_track *next;
};

struct itt_section {
	const char *name;
	int type;
	size_t flags;
	void *start_addr;
	size_t size;
	size_t file_offset;
};

struct itt_module {
	unsigned int version;
	struct itt_id module_id;
	int module_type;
	const char *module_name;
	void *module_buffer;
	size_t module_size;
	struct itt_section *section_array;
	size_t section_number;
};

enum itt_type {
	ITT_TYPE_UNKNOWN = 0,
	ITT_TYPE_U64 = 1,
	ITT_TYPE_S64 = 2,
	ITT_TYPE_U32 = 3,
	ITT_TYPE_S32 = 4,
	ITT_TYPE_U16 = 5,
	ITT_TYPE_S16 = 6,
	ITT_TYPE_FLOAT = 7,
	ITT_TYPE_DOUBLE = 8,
};

enum { ITT_CONTEXT_TEXT_LAST = 8, ITT_CONTEXT_LAST = 17 };

enum itt_group {
	ITT_GROUP_LEGACY = 1,
	ITT_GROUP_CONTROL = 2,
	ITT_GROUP_THREAD = 4,
	ITT_GROUP_MARK = 8,
	ITT_GROUP_SYNC = 0x10,
	ITT_GROUP_FSYNC = 0x20,
	ITT_GROUP_JIT = 0x40,
	ITT_GROUP_MODEL = 0x80,
	ITT_GROUP_COUNTER = 0x100,
	ITT_GROUP_FRAME = 0x200,
	ITT_GROUP_STITCH = 0x400,
	ITT_GROUP_HEAP = 0x800,
	ITT_GROUP_STRUCTURE = 0x1000,
	ITT_GROUP_SUPPRESS = 0x2000,
	ITT_GROUP_ARRAYS = 0x4000,
	ITT_GROUP_MODULE = 0x8000,
};

/* Every generation of the static part has the fields up to string_list; what stands behind them depends
 * on its age, which only the names in its list of functions tell. */
struct itt_global {
	unsigned char magic[8];
	unsigned long version_major;
	unsigned long version_minor;
	unsigned long version_build;
	unsigned char private_part[88];
	struct itt_api_info *api_list_ptr;
	struct itt_global *next;
	void *thread_list;
	struct itt_domain *domain_list;
	struct itt_string_handle *string_list;
	int state;
	struct itt_counter *counter_list;
	unsigned int ipt_collect_events;
	struct itt_histogram *histogram_list;		    /* with __itt_histogram_create */
	struct itt_counter_metadata *counter_metadata_list; /* with __itt_bind_context_… */
};

_Static_assert(sizeof(struct itt_domain) == 48, "interface layout");
_Static_assert(sizeof(struct itt_string_handle) == 40, "interface layout");
_Static_assert(sizeof(struct itt_api_info) == 40, "interface layout");
_Static_assert(sizeof(struct itt_counter) == 72, "interface layout");
_Static_assert(sizeof(struct itt_histogram) == 56, "interface layout");
_Static_assert(sizeof(struct itt_counter_metadata) == 64, "interface layout");
_Static_assert(sizeof(struct itt_clock_domain) == 56, "interface layout");
_Static_assert(sizeof(struct itt_track_group) == 40, "interface layout");
_Static_assert(sizeof(struct itt_track) == 40, "interface layout");
_Static_assert(sizeof(struct itt_section) == 48, "interface layout");
_Static_assert(sizeof(struct itt_module) == 80, "interface layout");
_Static_assert(offsetof(struct itt_global, api_list_ptr) == 120, "interface layout");
_Static_assert(offsetof(struct itt_global, domain_list) == 144, "interface layout");
_Static_assert(offsetof(struct itt_global, counter_metadata_list) == 192, "interface layout");

#endif
