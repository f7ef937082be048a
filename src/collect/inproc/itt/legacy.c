/* SPDX-License-Identifier: Apache-2.0
 *
 * Annotations for other tools (Advisor, the old memory and state calls, arrays to be saved): nothing is
 * done about them, they are kept as they came.
 */
#include <string.h>

#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"

enum { RANK_MAX = 64 };

static void call(enum st_event_call what)
{
	st_event(&(struct st_record){.kind = ST_EVENT_CALL, .detail = what});
}

static void call_value(enum st_event_call what, uint64_t value)
{
	st_event(&(struct st_record){
		.kind = ST_EVENT_CALL, .mask = ST_FIELD_VALUE, .detail = what, .value = value});
}

static void call_range(enum st_event_call what, uint64_t value, uint64_t extra)
{
	st_event(&(struct st_record){.kind = ST_EVENT_CALL,
				     .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA,
				     .detail = what,
				     .value = value,
				     .extra = extra});
}

static void call_name(enum st_event_call what, const char *name, size_t length)
{
	const struct st_part part = {name, (uint32_t)length};

	st_event(&(struct st_record){.kind = ST_EVENT_CALL,
				     .mask = name ? ST_FIELD_DATA : 0,
				     .detail = what,
				     .parts = &part,
				     .part_count = 1});
}

static size_t length_of(const char *name)
{
	return name ? strnlen(name, st_event_data_max() + 1) : 0;
}

/* With lengths of their own names may be unterminated. */
static size_t length_within(const char *name, size_t length)
{
	size_t max = st_event_data_max() + 1;

	return name ? strnlen(name, length < max ? length : max) : 0;
}

/* --- Advisor --- */

static void model_begin(enum st_event_call what, const void *site, const void *instance,
			const char *name)
{
	const struct st_part part = {name, (uint32_t)length_of(name)};

	st_event(&(struct st_record){.kind = ST_EVENT_CALL,
				     .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA |
					     (name ? ST_FIELD_DATA : 0),
				     .detail = what,
				     .value = (uintptr_t)site,
				     .extra = (uintptr_t)instance,
				     .parts = &part,
				     .part_count = 1});
}

static void model_site_begin(void *site, void *instance, const char *name)
{
	model_begin(ST_CALL_MODEL_SITE_BEGIN, site, instance, name);
}

static void model_site_end(void *site, void *instance)
{
	call_range(ST_CALL_MODEL_SITE_END, (uintptr_t)site, (uintptr_t)instance);
}

static void model_task_begin(void *task, void *instance, const char *name)
{
	model_begin(ST_CALL_MODEL_TASK_BEGIN, task, instance, name);
}

static void model_task_end(void *task, void *instance)
{
	call_range(ST_CALL_MODEL_TASK_END, (uintptr_t)task, (uintptr_t)instance);
}

static void model_site_end_2(void)
{
	call(ST_CALL_MODEL_SITE_END);
}

static void model_task_end_2(void)
{
	call(ST_CALL_MODEL_TASK_END);
}

#define NAMED(prefix, what)                                                                        \
	static void prefix##A(const char *name)                                                    \
	{                                                                                          \
		call_name(what, name, length_of(name));                                            \
	}                                                                                          \
	static void prefix##AL(const char *name, size_t length)                                    \
	{                                                                                          \
		call_name(what, name, length_within(name, length));                                \
	}
NAMED(model_site_begin, ST_CALL_MODEL_SITE_BEGIN)
NAMED(model_task_begin, ST_CALL_MODEL_TASK_BEGIN)
NAMED(model_iteration_task, ST_CALL_MODEL_ITERATION_TASK)

#define OF_ADDRESS(name, what)                                                                     \
	static void name(void *address)                                                            \
	{                                                                                          \
		call_value(what, (uintptr_t)address);                                              \
	}
OF_ADDRESS(model_lock_acquire, ST_CALL_MODEL_LOCK_ACQUIRE)
OF_ADDRESS(model_lock_release, ST_CALL_MODEL_LOCK_RELEASE)
OF_ADDRESS(model_record_deallocation, ST_CALL_MODEL_RECORD_DEALLOCATION)
OF_ADDRESS(model_clear_uses, ST_CALL_MODEL_CLEAR_USES)

#define OF_RANGE(name, what)                                                                       \
	static void name(void *address, size_t size)                                               \
	{                                                                                          \
		call_range(what, (uintptr_t)address, size);                                        \
	}
OF_RANGE(model_record_allocation, ST_CALL_MODEL_RECORD_ALLOCATION)
OF_RANGE(model_induction_uses, ST_CALL_MODEL_INDUCTION_USES)
OF_RANGE(model_reduction_uses, ST_CALL_MODEL_REDUCTION_USES)
OF_RANGE(model_observe_uses, ST_CALL_MODEL_OBSERVE_USES)
OF_RANGE(memory_read, ST_CALL_MEMORY_READ)
OF_RANGE(memory_write, ST_CALL_MEMORY_WRITE)
OF_RANGE(memory_update, ST_CALL_MEMORY_UPDATE)

static void model_aggregate_task(size_t count)
{
	call_value(ST_CALL_MODEL_AGGREGATE_TASK, count);
}

static void model_disable_push(int what)
{
	call_value(ST_CALL_MODEL_DISABLE_PUSH, (unsigned int)what);
}

static void model_disable_pop(void)
{
	call(ST_CALL_MODEL_DISABLE_POP);
}

/* --- state; the answers are those of a tool that agreed --- */

static int state_get(void)
{
	call(ST_CALL_STATE_GET);
	return 0;
}

static int state_set(int new_state)
{
	call_value(ST_CALL_STATE_SET, (unsigned int)new_state);
	return new_state;
}

static int obj_mode_set(int property, int new_state)
{
	call_range(ST_CALL_OBJ_MODE_SET, (unsigned int)property, (unsigned int)new_state);
	return new_state;
}

static int thr_mode_set(int property, int new_state)
{
	call_range(ST_CALL_THR_MODE_SET, (unsigned int)property, (unsigned int)new_state);
	return new_state;
}

/* The array itself is not saved: that is another tool's business. */
static int av_save(void *data, int rank, const int *dimensions, int type, const char *path,
		   int column_order)
{
	const int32_t head[2] = {type, column_order};
	const struct st_part parts[3] = {
		{head, sizeof(head)},
		{dimensions, dimensions && rank > 0 && rank <= RANK_MAX ? (uint32_t)rank * 4 : 0},
		{path, (uint32_t)length_of(path)},
	};

	st_event(&(struct st_record){.kind = ST_EVENT_CALL,
				     .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_DATA,
				     .detail = ST_CALL_AV_SAVE,
				     .value = (uintptr_t)data,
				     .extra = (unsigned int)rank,
				     .parts = parts,
				     .part_count = 3});
	return 0;
}

static const struct st_binding rows[] = {
	ST_BIND("model_site_begin", model_site_begin),
	ST_BIND("model_site_end", model_site_end),
	ST_BIND("model_task_begin", model_task_begin),
	ST_BIND("model_task_end", model_task_end),
	ST_BIND("model_site_beginA", model_site_beginA),
	ST_BIND("model_site_beginAL", model_site_beginAL),
	ST_BIND("model_task_beginA", model_task_beginA),
	ST_BIND("model_task_beginAL", model_task_beginAL),
	ST_BIND("model_iteration_taskA", model_iteration_taskA),
	ST_BIND("model_iteration_taskAL", model_iteration_taskAL),
	ST_BIND("model_site_end_2", model_site_end_2),
	ST_BIND("model_task_end_2", model_task_end_2),
	ST_BIND("model_lock_acquire", model_lock_acquire),
	ST_BIND("model_lock_acquire_2", model_lock_acquire),
	ST_BIND("model_lock_release", model_lock_release),
	ST_BIND("model_lock_release_2", model_lock_release),
	ST_BIND("model_record_allocation", model_record_allocation),
	ST_BIND("model_record_deallocation", model_record_deallocation),
	ST_BIND("model_induction_uses", model_induction_uses),
	ST_BIND("model_reduction_uses", model_reduction_uses),
	ST_BIND("model_observe_uses", model_observe_uses),
	ST_BIND("model_clear_uses", model_clear_uses),
	ST_BIND("model_aggregate_task", model_aggregate_task),
	ST_BIND("model_disable_push", model_disable_push),
	ST_BIND("model_disable_pop", model_disable_pop),
	ST_BIND("memory_read", memory_read),
	ST_BIND("memory_write", memory_write),
	ST_BIND("memory_update", memory_update),
	ST_BIND("state_get", state_get),
	ST_BIND("state_set", state_set),
	ST_BIND("obj_mode_set", obj_mode_set),
	ST_BIND("thr_mode_set", thr_mode_set),
	ST_BIND("av_save", av_save),
};
const struct st_bindings st_calls_legacy = ST_BINDINGS(rows);
