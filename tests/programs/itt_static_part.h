/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for the "static part" of ITT that real programs link: the tables a collector binds, the
 * lists of objects made before it is loaded, and the loading itself through INTEL_LIBITTNOTIFY64.
 * Written for tests from the interface facts; header only, every includer has its own copy, which is
 * how several static parts meet in one process.
 */
#ifndef ST_TESTS_ITT_STATIC_PART_H
#define ST_TESTS_ITT_STATIC_PART_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct itt_domain {
	volatile int flags;
	const char *nameA;
	void *nameW;
	int extra1;
	void *extra2;
	struct itt_domain *next;
};

struct itt_string_handle {
	const char *strA;
	void *strW;
	int extra1;
	void *extra2;
	struct itt_string_handle *next;
};

struct itt_id {
	unsigned long long d1, d2, d3;
};

struct itt_counter {
	const char *nameA;
	void *nameW;
	const char *domainA;
	void *domainW;
	int type;
	long index;
	int extra1;
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

struct itt_api_info {
	const char *name;
	void **func_ptr;
	void *init_func;
	void *null_func;
	int group;
};

struct itt_global {
	unsigned char magic[8];
	unsigned long version_major, version_minor, version_build;
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *lib, *error_handler;
	const char **dll_path_ptr;
	struct itt_api_info *api_list_ptr;
	struct itt_global *next;
	void *thread_list;
	struct itt_domain *domain_list;
	struct itt_string_handle *string_list;
	int state;
	struct itt_counter *counter_list;
	unsigned int ipt_collect_events;
	struct itt_histogram *histogram_list;
	struct itt_counter_metadata *counter_metadata_list;
};

_Static_assert(sizeof(struct itt_global) == 200 || sizeof(void *) != 8, "layout of the interface");

/* X(name, has a static implementation, group) in the order the generations added them: the first 147
 * are the oldest list, then the two histogram functions, the scoped pauses, the counters of 2023 and the
 * formatted metadata. The four fsync twins repeat the sync names, as in the real list. */
/* clang-format off */
#define ITT_API_OLDEST(X)                                                                          \
	X(domain_create, 1, 0x1000) X(string_handle_create, 1, 0x1000)                             \
	X(counter_create, 1, 0x100) X(counter_create_typed, 1, 0x100)                              \
	X(module_load_with_sections, 1, 0x8000) X(module_unload_with_sections, 1, 0x8000)          \
	X(pause, 1, 3) X(resume, 1, 3) X(thread_set_name, 1, 4) X(thread_ignore, 1, 4)             \
	X(thr_name_set, 1, 5) X(thr_ignore, 1, 5) X(enable_attach, 1, -1) X(detach, 0, 3)          \
	X(heap_function_create, 0, 0x800) X(event_create, 0, 9) X(mark_create, 0, 8)               \
	X(pt_region_create, 0, 0x1000) X(frame_create, 0, 0x200)                                   \
	X(clock_domain_create, 0, 0x1000) X(track_group_create, 0, 0x1000)                         \
	X(track_create, 0, 0x1000) X(stack_caller_create, 0, 0x400) X(task_begin, 0, 0x1000)       \
	X(task_begin_fn, 0, 0x1000) X(task_end, 0, 0x1000) X(task_begin_ex, 0, 0x1000)             \
	X(task_begin_fn_ex, 0, 0x1000) X(task_end_ex, 0, 0x1000)                                   \
	X(task_begin_overlapped, 0, 0x1000) X(task_begin_overlapped_ex, 0, 0x1000)                 \
	X(task_end_overlapped, 0, 0x1000) X(task_end_overlapped_ex, 0, 0x1000)                     \
	X(task_group, 0, 0x1000) X(region_begin, 0, 0x1000) X(region_end, 0, 0x1000)               \
	X(frame_begin_v3, 0, 0x1000) X(frame_end_v3, 0, 0x1000) X(frame_submit_v3, 0, 0x1000)      \
	X(frame_begin, 0, 0x200) X(frame_end, 0, 0x200) X(marker, 0, 0x1000)                       \
	X(marker_ex, 0, 0x1000) X(id_create, 0, 0x1000) X(id_destroy, 0, 0x1000)                   \
	X(id_create_ex, 0, 0x1000) X(id_destroy_ex, 0, 0x1000) X(relation_add, 0, 0x1000)          \
	X(relation_add_to_current, 0, 0x1000) X(relation_add_ex, 0, 0x1000)                        \
	X(relation_add_to_current_ex, 0, 0x1000) X(metadata_add, 0, 0x1000)                        \
	X(metadata_str_add, 0, 0x1000) X(metadata_add_with_scope, 0, 0x1000)                       \
	X(metadata_str_add_with_scope, 0, 0x1000) X(counter_inc, 0, 0x100)                         \
	X(counter_inc_delta, 0, 0x100) X(counter_dec, 0, 0x100) X(counter_dec_delta, 0, 0x100)     \
	X(counter_set_value, 0, 0x100) X(counter_set_value_ex, 0, 0x100)                           \
	X(counter_inc_v3, 0, 0x1000) X(counter_inc_delta_v3, 0, 0x1000)                            \
	X(counter_dec_v3, 0, 0x1000) X(counter_dec_delta_v3, 0, 0x1000)                            \
	X(counter_destroy, 0, 0x100) X(event_start, 0, 9) X(event_end, 0, 9) X(mark, 0, 8)         \
	X(mark_off, 0, 8) X(mark_global, 0, 8) X(mark_global_off, 0, 8)                            \
	X(get_timestamp, 0, 0x1000) X(clock_domain_reset, 0, 0x1000) X(set_track, 0, 0x1000)       \
	X(stack_caller_destroy, 0, 0x400) X(stack_callee_enter, 0, 0x400)                          \
	X(stack_callee_leave, 0, 0x400) X(api_version, 0, -2) X(sync_create, 0, 0x30)              \
	X(sync_rename, 0, 0x30) X(sync_destroy, 0, 0x30) X(sync_prepare, 0, 0x10)                  \
	X(sync_cancel, 0, 0x10) X(sync_acquired, 0, 0x10) X(sync_releasing, 0, 0x10)               \
	X(sync_set_name, 0, 0x31) X(notify_sync_name, 0, 0x31) X(notify_sync_prepare, 0, 0x31)     \
	X(notify_sync_cancel, 0, 0x31) X(notify_sync_acquired, 0, 0x31)                            \
	X(notify_sync_releasing, 0, 0x31) X(heap_allocate_begin, 0, 0x800)                         \
	X(heap_allocate_end, 0, 0x800) X(heap_free_begin, 0, 0x800) X(heap_free_end, 0, 0x800)     \
	X(heap_reallocate_begin, 0, 0x800) X(heap_reallocate_end, 0, 0x800)                        \
	X(heap_internal_access_begin, 0, 0x800) X(heap_internal_access_end, 0, 0x800)              \
	X(heap_record_memory_growth_begin, 0, 0x800) X(heap_record_memory_growth_end, 0, 0x800)    \
	X(heap_reset_detection, 0, 0x800) X(heap_record, 0, 0x800) X(module_load, 0, 0x8000)       \
	X(module_unload, 0, 0x8000) X(suppress_push, 0, 0x2000) X(suppress_pop, 0, 0x2000)         \
	X(suppress_mark_range, 0, 0x2000) X(suppress_clear_range, 0, 0x2000)                       \
	X(av_save, 0, 0x4000) X(model_site_begin, 0, 0x80) X(model_site_end, 0, 0x80)              \
	X(model_task_begin, 0, 0x80) X(model_task_end, 0, 0x80) X(model_lock_acquire, 0, 0x80)     \
	X(model_lock_release, 0, 0x80) X(model_record_allocation, 0, 0x80)                         \
	X(model_record_deallocation, 0, 0x80) X(model_induction_uses, 0, 0x80)                     \
	X(model_reduction_uses, 0, 0x80) X(model_observe_uses, 0, 0x80)                            \
	X(model_clear_uses, 0, 0x80) X(model_site_beginA, 0, 0x80) X(model_site_beginAL, 0, 0x80)  \
	X(model_task_beginA, 0, 0x80) X(model_task_beginAL, 0, 0x80)                               \
	X(model_iteration_taskA, 0, 0x80) X(model_iteration_taskAL, 0, 0x80)                       \
	X(model_site_end_2, 0, 0x80) X(model_task_end_2, 0, 0x80)                                  \
	X(model_lock_acquire_2, 0, 0x80) X(model_lock_release_2, 0, 0x80)                          \
	X(model_aggregate_task, 0, 0x80) X(model_disable_push, 0, 0x80)                            \
	X(model_disable_pop, 0, 0x80) X(memory_read, 0, 1) X(memory_write, 0, 1)                   \
	X(memory_update, 0, 1) X(state_get, 0, 1) X(state_set, 0, 1) X(obj_mode_set, 0, 1)         \
	X(thr_mode_set, 0, 1)
#define ITT_API_LATER(X)                                                                           \
	X(histogram_create, 1, 0x1000) X(histogram_submit, 0, 0x1000) X(pause_scoped, 1, 2)        \
	X(resume_scoped, 1, 2) X(counter_create_v3, 1, 0x100) X(counter_set_value_v3, 0, 0x100)    \
	X(bind_context_metadata_to_counter, 1, 0x1000) X(formatted_metadata_add, 0, 0x1000)        \
	X(formatted_metadata_add_overlapped, 0, 0x1000)
#define ITT_API_TWINS(X)                                                                           \
	X(sync_prepare) X(sync_cancel) X(sync_acquired) X(sync_releasing)
/* clang-format on */

#define ITT_INDEX(name, s, group) ITT_I_##name,
enum itt_index {
	ITT_API_OLDEST(ITT_INDEX) ITT_OLDEST_COUNT,
	ITT_LATER_BASE = ITT_OLDEST_COUNT - 1,
	ITT_API_LATER(ITT_INDEX) ITT_NAME_COUNT
};
#undef ITT_INDEX

/* Every pointer starts at this thunk, which the collector must never leave in place. */
static intptr_t itt_thunk(void)
{
	return 0;
}

static void *itt_pointer[ITT_NAME_COUNT];
static void *itt_twin_pointer[4];
static struct itt_api_info itt_api_list[ITT_NAME_COUNT + 4 + 1];
static struct itt_global itt_global;

/* Objects made before the load stand in these lists, as in the real thing. */
static inline struct itt_domain *itt_early_domain(const char *name)
{
	struct itt_domain **at = &itt_global.domain_list;

	for (; *at; at = &(*at)->next)
		if (!strcmp((*at)->nameA, name))
			return *at;
	*at = calloc(1, sizeof(**at));
	(*at)->flags = 1;
	(*at)->nameA = strdup(name);
	return *at;
}

static inline struct itt_string_handle *itt_early_string(const char *name)
{
	struct itt_string_handle **at = &itt_global.string_list;

	for (; *at; at = &(*at)->next)
		if (!strcmp((*at)->strA, name))
			return *at;
	*at = calloc(1, sizeof(**at));
	(*at)->strA = strdup(name);
	return *at;
}

/* As the real one, without clearing what is the collector's: it holds what the heap held before. */
static inline struct itt_counter *itt_early_counter(const char *name, const char *domain, int type)
{
	struct itt_counter **at = &itt_global.counter_list;

	while (*at)
		at = &(*at)->next;
	*at = malloc(sizeof(**at));
	memset(*at, 0xa5, sizeof(**at));
	(*at)->nameA = strdup(name);
	(*at)->domainA = domain ? strdup(domain) : NULL;
	(*at)->type = type;
	(*at)->next = NULL;
	return *at;
}

static inline struct itt_histogram *itt_early_histogram(struct itt_domain *domain, const char *name,
							int x_type, int y_type)
{
	struct itt_histogram **at = &itt_global.histogram_list;

	while (*at)
		at = &(*at)->next;
	*at = calloc(1, sizeof(**at));
	(*at)->domain = domain;
	(*at)->nameA = strdup(name);
	(*at)->x_type = x_type;
	(*at)->y_type = y_type;
	return *at;
}

/* One of text and value, by the type. */
static inline void itt_early_fact(struct itt_counter *counter, int type, const char *text,
				  unsigned long long value)
{
	struct itt_counter_metadata **at = &itt_global.counter_metadata_list;

	while (*at)
		at = &(*at)->next;
	*at = calloc(1, sizeof(**at));
	(*at)->counter = counter;
	(*at)->type = type;
	(*at)->str_valueA = text ? strdup(text) : NULL;
	(*at)->value = value;
}

/* What __itt_release_resources does: the program's early objects are gone, without a word to anybody. */
static inline void itt_part_release(void)
{
#define ITT_FREE_LIST(list, text)                                                                  \
	while (list) {                                                                             \
		void *node = list, *next = (list)->next;                                           \
		free((char *)(uintptr_t)(list)->text);                                             \
		memset(node, 0x5a, sizeof(*(list)));                                               \
		free(node);                                                                        \
		(list) = next;                                                                     \
	}
	ITT_FREE_LIST(itt_global.domain_list, nameA)
	ITT_FREE_LIST(itt_global.string_list, strA)
	ITT_FREE_LIST(itt_global.counter_list, nameA)
	ITT_FREE_LIST(itt_global.histogram_list, nameA)
	ITT_FREE_LIST(itt_global.counter_metadata_list, str_valueA)
#undef ITT_FREE_LIST
}

/* Fills the list as a static part of the given number of entries (147 … 156) has it. */
static inline void itt_part_init(unsigned int entries)
{
	static const struct {
		const char *name;
		int is_static, group;
	} rows[] = {
#define ITT_ROW(name, s, group) {"__itt_" #name, s, group},
		ITT_API_OLDEST(ITT_ROW) ITT_API_LATER(ITT_ROW)
#undef ITT_ROW
	};
	static const char *const twins[] = {
#define ITT_TWIN(name) "__itt_" #name,
		ITT_API_TWINS(ITT_TWIN)
#undef ITT_TWIN
	};
	static const unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
	unsigned int count = 0;

	memcpy(itt_global.magic, magic, sizeof(magic));
	itt_global.version_major = 3;
	itt_global.version_build = entries < 154 ? 20180723 : 20250807;
	for (unsigned int i = 0; i + 4 < entries && i < ITT_NAME_COUNT; i++) {
		itt_pointer[i] = (void *)itt_thunk;
		itt_api_list[count++] = (struct itt_api_info){
			rows[i].name, &itt_pointer[i], (void *)itt_thunk,
			rows[i].is_static ? (void *)itt_thunk : NULL, rows[i].group};
	}
	for (unsigned int i = 0; i < 4; i++) {
		itt_twin_pointer[i] = (void *)itt_thunk;
		itt_api_list[count++] = (struct itt_api_info){twins[i], &itt_twin_pointer[i],
							      (void *)itt_thunk, NULL, 0x20};
	}
	memset(&itt_api_list[count], 0, sizeof(itt_api_list[count]));
	itt_global.api_list_ptr = itt_api_list;
}

/* Loads the collector the variable names; false leaves every pointer on its null function. */
static inline bool itt_part_load(void)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	void (*init)(struct itt_global *, int);

	if (!itt_global.api_list_ptr)
		itt_part_init(156);
	itt_global.lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	*(void **)&init = itt_global.lib ? dlsym(itt_global.lib, "__itt_api_init") : NULL;
	if (!init) {
		for (struct itt_api_info *api = itt_api_list; api->name; api++)
			*api->func_ptr = NULL;
		itt_global.state = path ? 1 : 2;
		return false;
	}
	itt_global.state = 4;
	init(&itt_global, -1);
	itt_global.api_initialized = 1;
	return true;
}

/* The macros' guards, then the call. */
#define ITT_CALL(type, name) ((type)__atomic_load_n(&itt_pointer[ITT_I_##name], __ATOMIC_ACQUIRE))

static inline struct itt_domain *itt_domain_create(const char *name)
{
	struct itt_domain *(*call)(const char *) =
		ITT_CALL(struct itt_domain * (*)(const char *), domain_create);

	return call ? call(name) : NULL;
}

static inline struct itt_string_handle *itt_string_handle_create(const char *name)
{
	struct itt_string_handle *(*call)(const char *) =
		ITT_CALL(struct itt_string_handle * (*)(const char *), string_handle_create);

	return call ? call(name) : NULL;
}

static inline void itt_task_begin(const struct itt_domain *domain, struct itt_string_handle *name)
{
	static const struct itt_id null_id;
	void (*call)(const struct itt_domain *, struct itt_id, struct itt_id,
		     struct itt_string_handle *);

	if (!domain || !domain->flags)
		return;
	call = ITT_CALL(void (*)(const struct itt_domain *, struct itt_id, struct itt_id,
				 struct itt_string_handle *),
			task_begin);
	if (call)
		call(domain, null_id, null_id, name);
}

static inline void itt_task_end(const struct itt_domain *domain)
{
	void (*call)(const struct itt_domain *);

	if (!domain || !domain->flags)
		return;
	call = ITT_CALL(void (*)(const struct itt_domain *), task_end);
	if (call)
		call(domain);
}

#define ITT_VOID_CALL(name)                                                                        \
	static inline void itt_##name(void)                                                        \
	{                                                                                          \
		void (*call)(void) = ITT_CALL(void (*)(void), name);                               \
		if (call)                                                                          \
			call();                                                                    \
	}
ITT_VOID_CALL(pause)
ITT_VOID_CALL(resume)
ITT_VOID_CALL(detach)
ITT_VOID_CALL(thread_ignore)

static inline void itt_thread_set_name(const char *name)
{
	void (*call)(const char *) = ITT_CALL(void (*)(const char *), thread_set_name);

	if (call)
		call(name);
}

#endif
