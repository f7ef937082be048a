/* SPDX-License-Identifier: Apache-2.0
 *
 * The ITT interface of a real static part, reached through the pointer variables that the library which
 * holds it exports (__itt_NAME_ptr__3_0). Written from the interface facts; no ITT source is needed.
 */
#ifndef ST_TESTS_REAL_ITT_H
#define ST_TESTS_REAL_ITT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef unsigned long long ull;

struct itt_domain {
	volatile int flags;
	const char *nameA;
	void *nameW;
	int extra1;
	void *extra2;
	struct itt_domain *next;
};

struct itt_string {
	const char *strA;
	void *strW;
	int extra1;
	void *extra2;
	struct itt_string *next;
};

struct itt_id {
	ull d1, d2, d3;
};

struct itt_clock_info {
	ull freq, base;
};

struct itt_context {
	int type;
	void *value;
};

struct itt_section {
	const char *name;
	int type;
	size_t flags;
	void *start;
	size_t size, file_offset;
};

struct itt_module {
	unsigned int version;
	struct itt_id id;
	int type;
	const char *name;
	void *buffer;
	size_t size;
	struct itt_section *sections;
	size_t section_count;
};

typedef void (*itt_clock_fn)(struct itt_clock_info *, void *);
/* Opaque to a program. */
typedef void *itt_counter, *itt_heap, *itt_frame, *itt_caller, *itt_clock, *itt_track, *itt_group,
	*itt_histogram;

/* X(returned type, name, parameters): all 156. */
/* clang-format off */
#define REAL_ITT_CREATE(X) \
	X(struct itt_domain *, domain_create, (const char *)) \
	X(struct itt_string *, string_handle_create, (const char *)) \
	X(itt_counter, counter_create, (const char *, const char *)) \
	X(itt_counter, counter_create_typed, (const char *, const char *, int)) \
	X(itt_counter, counter_create_v3, (const struct itt_domain *, const char *, int)) \
	X(itt_histogram, histogram_create, (const struct itt_domain *, const char *, int, int)) \
	X(itt_heap, heap_function_create, (const char *, const char *)) \
	X(int, event_create, (const char *, int)) \
	X(int, mark_create, (const char *)) \
	X(unsigned char, pt_region_create, (const char *)) \
	X(itt_frame, frame_create, (const char *)) \
	X(itt_clock, clock_domain_create, (itt_clock_fn, void *)) \
	X(itt_group, track_group_create, (struct itt_string *, int)) \
	X(itt_track, track_create, (itt_group, struct itt_string *, int)) \
	X(itt_caller, stack_caller_create, (void)) \
	X(void, bind_context_metadata_to_counter, (itt_counter, size_t, struct itt_context *))
#define REAL_ITT_STRUCTURE(X) \
	X(void, task_begin, (const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *)) \
	X(void, task_begin_fn, (const struct itt_domain *, struct itt_id, struct itt_id, void *)) \
	X(void, task_end, (const struct itt_domain *)) \
	X(void, task_begin_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id, struct itt_id, struct itt_string *)) \
	X(void, task_begin_fn_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id, struct itt_id, void *)) \
	X(void, task_end_ex, (const struct itt_domain *, itt_clock, ull)) \
	X(void, task_begin_overlapped, (const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *)) \
	X(void, task_begin_overlapped_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id, struct itt_id, struct itt_string *)) \
	X(void, task_end_overlapped, (const struct itt_domain *, struct itt_id)) \
	X(void, task_end_overlapped_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id)) \
	X(void, task_group, (const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *)) \
	X(void, region_begin, (const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *)) \
	X(void, region_end, (const struct itt_domain *, struct itt_id)) \
	X(void, frame_begin_v3, (const struct itt_domain *, struct itt_id *)) \
	X(void, frame_end_v3, (const struct itt_domain *, struct itt_id *)) \
	X(void, frame_submit_v3, (const struct itt_domain *, struct itt_id *, ull, ull)) \
	X(void, frame_begin, (itt_frame)) \
	X(void, frame_end, (itt_frame)) \
	X(void, marker, (const struct itt_domain *, struct itt_id, struct itt_string *, int)) \
	X(void, marker_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id, struct itt_string *, int)) \
	X(void, id_create, (const struct itt_domain *, struct itt_id)) \
	X(void, id_destroy, (const struct itt_domain *, struct itt_id)) \
	X(void, id_create_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id)) \
	X(void, id_destroy_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id)) \
	X(void, relation_add, (const struct itt_domain *, struct itt_id, int, struct itt_id)) \
	X(void, relation_add_to_current, (const struct itt_domain *, int, struct itt_id)) \
	X(void, relation_add_ex, (const struct itt_domain *, itt_clock, ull, struct itt_id, int, struct itt_id)) \
	X(void, relation_add_to_current_ex, (const struct itt_domain *, itt_clock, ull, int, struct itt_id)) \
	X(void, metadata_add, (const struct itt_domain *, struct itt_id, struct itt_string *, int, size_t, void *)) \
	X(void, metadata_str_add, (const struct itt_domain *, struct itt_id, struct itt_string *, const char *, size_t)) \
	X(void, metadata_add_with_scope, (const struct itt_domain *, int, struct itt_string *, int, size_t, void *)) \
	X(void, metadata_str_add_with_scope, (const struct itt_domain *, int, struct itt_string *, const char *, size_t)) \
	X(void, formatted_metadata_add, (const struct itt_domain *, struct itt_string *, ...)) \
	X(void, formatted_metadata_add_overlapped, (const struct itt_domain *, struct itt_id, struct itt_string *, ...))
#define REAL_ITT_COUNTERS(X) \
	X(void, counter_inc, (itt_counter)) \
	X(void, counter_inc_delta, (itt_counter, ull)) \
	X(void, counter_dec, (itt_counter)) \
	X(void, counter_dec_delta, (itt_counter, ull)) \
	X(void, counter_set_value, (itt_counter, void *)) \
	X(void, counter_set_value_ex, (itt_counter, itt_clock, ull, void *)) \
	X(void, counter_set_value_v3, (itt_counter, void *)) \
	X(void, counter_inc_v3, (const struct itt_domain *, struct itt_string *)) \
	X(void, counter_inc_delta_v3, (const struct itt_domain *, struct itt_string *, ull)) \
	X(void, counter_dec_v3, (const struct itt_domain *, struct itt_string *)) \
	X(void, counter_dec_delta_v3, (const struct itt_domain *, struct itt_string *, ull)) \
	X(void, counter_destroy, (itt_counter)) \
	X(void, histogram_submit, (itt_histogram, size_t, void *, void *)) \
	X(int, event_start, (int)) X(int, event_end, (int)) \
	X(int, mark, (int, const char *)) X(int, mark_off, (int)) \
	X(int, mark_global, (int, const char *)) X(int, mark_global_off, (int))
#define REAL_ITT_CONTROL(X) \
	X(void, pause, (void)) X(void, resume, (void)) \
	X(void, pause_scoped, (int)) X(void, resume_scoped, (int)) \
	X(void, detach, (void)) X(void, enable_attach, (void)) \
	X(void, thread_set_name, (const char *)) X(void, thread_ignore, (void)) \
	X(int, thr_name_set, (const char *, int)) X(void, thr_ignore, (void)) \
	X(ull, get_timestamp, (void)) X(void, clock_domain_reset, (void)) \
	X(void, set_track, (itt_track)) X(void, stack_caller_destroy, (itt_caller)) \
	X(void, stack_callee_enter, (itt_caller)) X(void, stack_callee_leave, (itt_caller)) \
	X(const char *, api_version, (void))
#define REAL_ITT_SYNC(X) \
	X(void, sync_create, (void *, const char *, const char *, int)) \
	X(void, sync_rename, (void *, const char *)) X(void, sync_destroy, (void *)) \
	X(void, sync_prepare, (void *)) X(void, sync_cancel, (void *)) \
	X(void, sync_acquired, (void *)) X(void, sync_releasing, (void *)) \
	X(void, fsync_prepare, (void *)) X(void, fsync_cancel, (void *)) \
	X(void, fsync_acquired, (void *)) X(void, fsync_releasing, (void *)) \
	X(void, sync_set_name, (void *, const char *, const char *, int)) \
	X(int, notify_sync_name, (void *, const char *, int, const char *, int, int)) \
	X(void, notify_sync_prepare, (void *)) X(void, notify_sync_cancel, (void *)) \
	X(void, notify_sync_acquired, (void *)) X(void, notify_sync_releasing, (void *))
#define REAL_ITT_MEMORY(X) \
	X(void, heap_allocate_begin, (itt_heap, size_t, int)) \
	X(void, heap_allocate_end, (itt_heap, void **, size_t, int)) \
	X(void, heap_free_begin, (itt_heap, void *)) X(void, heap_free_end, (itt_heap, void *)) \
	X(void, heap_reallocate_begin, (itt_heap, void *, size_t, int)) \
	X(void, heap_reallocate_end, (itt_heap, void *, void **, size_t, int)) \
	X(void, heap_internal_access_begin, (void)) X(void, heap_internal_access_end, (void)) \
	X(void, heap_record_memory_growth_begin, (void)) X(void, heap_record_memory_growth_end, (void)) \
	X(void, heap_reset_detection, (unsigned int)) X(void, heap_record, (unsigned int)) \
	X(void, module_load, (void *, void *, const char *)) X(void, module_unload, (void *)) \
	X(void, module_load_with_sections, (struct itt_module *)) \
	X(void, module_unload_with_sections, (struct itt_module *)) \
	X(void, suppress_push, (unsigned int)) X(void, suppress_pop, (void)) \
	X(void, suppress_mark_range, (int, unsigned int, void *, size_t)) \
	X(void, suppress_clear_range, (int, unsigned int, void *, size_t)) \
	X(int, av_save, (void *, int, const int *, int, const char *, int)) \
	X(void, memory_read, (void *, size_t)) X(void, memory_write, (void *, size_t)) \
	X(void, memory_update, (void *, size_t)) X(int, state_get, (void)) X(int, state_set, (int)) \
	X(int, obj_mode_set, (int, int)) X(int, thr_mode_set, (int, int))
#define REAL_ITT_MODEL(X) \
	X(void, model_site_begin, (void *, void *, const char *)) X(void, model_site_end, (void *, void *)) \
	X(void, model_task_begin, (void *, void *, const char *)) X(void, model_task_end, (void *, void *)) \
	X(void, model_lock_acquire, (void *)) X(void, model_lock_release, (void *)) \
	X(void, model_record_allocation, (void *, size_t)) X(void, model_record_deallocation, (void *)) \
	X(void, model_induction_uses, (void *, size_t)) X(void, model_reduction_uses, (void *, size_t)) \
	X(void, model_observe_uses, (void *, size_t)) X(void, model_clear_uses, (void *)) \
	X(void, model_site_beginA, (const char *)) X(void, model_site_beginAL, (const char *, size_t)) \
	X(void, model_task_beginA, (const char *)) X(void, model_task_beginAL, (const char *, size_t)) \
	X(void, model_iteration_taskA, (const char *)) \
	X(void, model_iteration_taskAL, (const char *, size_t)) \
	X(void, model_site_end_2, (void)) X(void, model_task_end_2, (void)) \
	X(void, model_lock_acquire_2, (void *)) X(void, model_lock_release_2, (void *)) \
	X(void, model_aggregate_task, (size_t)) \
	X(void, model_disable_push, (int)) X(void, model_disable_pop, (void))
#define REAL_ITT_ALL(X) \
	REAL_ITT_CREATE(X) REAL_ITT_STRUCTURE(X) REAL_ITT_COUNTERS(X) REAL_ITT_CONTROL(X) \
	REAL_ITT_SYNC(X) REAL_ITT_MEMORY(X) REAL_ITT_MODEL(X)
/* clang-format on */

/* Where each pointer variable is. */
struct real_part {
#define REAL_ITT_FIELD(type, name, parameters) type(**name) parameters;
	REAL_ITT_ALL(REAL_ITT_FIELD)
#undef REAL_ITT_FIELD
	int (*get_collection_state)(void);
	int (*init_ittlib)(const char *, int);
	void (*fini_ittlib)(void), (*release_resources)(void);
	void (*mark_pt_region_begin)(unsigned char), (*mark_pt_region_end)(unsigned char);
};

/* A thread that calls, and writes down what it called: one JSON object a line, in the order of the calls,
 * with CLOCK_MONOTONIC_RAW before and after. */
struct caller {
	struct real_part *part;
	FILE *journal;
	unsigned int index; /* of the thread */
	uint64_t next;	    /* values that no other call has */
	uint64_t before;
	struct itt_domain *domain, *other_domain;
	struct itt_string *name[4];
	itt_clock clock;
	itt_counter counter[9];
	itt_histogram histogram;
	itt_heap heap;
	itt_frame frame;
	itt_track track;
	int event, mark;
};

uint64_t real_now(void);
uint64_t real_value(struct caller *self);
struct itt_id real_id(struct caller *self);
void real_say(struct caller *self, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void real_check(struct caller *self, int holds, const char *what);

/* The guards of the public macros: the pointer, or the domain, its flag and the pointer. */
#define CALL(self, fn, args)                                                                       \
	do {                                                                                       \
		(self)->before = real_now();                                                       \
		if (*(self)->part->fn)                                                             \
			(*(self)->part->fn) args;                                                  \
	} while (0)
#define VALUE(self, fn, args)                                                                      \
	((self)->before = real_now(), *(self)->part->fn ? (*(self)->part->fn)args : 0)
#define IN_DOMAIN(self, domain, fn, args)                                                          \
	do {                                                                                       \
		(self)->before = real_now();                                                       \
		if ((domain) && (domain)->flags && *(self)->part->fn)                              \
			(*(self)->part->fn) args;                                                  \
	} while (0)

#define ID_FORMAT "[%llu,%llu,%llu]"
#define ID_VALUES(id) (id).d1, (id).d2, (id).d3

void real_create(struct caller *self);
void real_tasks(struct caller *self);
void real_spans(struct caller *self);
void real_metadata(struct caller *self);
void real_counters(struct caller *self);
void real_marks(struct caller *self);
void real_sync(struct caller *self);
void real_memory(struct caller *self);
void real_modules(struct caller *self);
void real_model(struct caller *self);

#endif
