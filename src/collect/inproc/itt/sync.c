/* SPDX-License-Identifier: Apache-2.0
 *
 * Synchronisation, in three dialects (sync, fsync, the legacy notify_sync); suppression; and the stitching
 * of a thread's work to where it was asked for. All of these come in floods.
 */
#include <stdatomic.h>
#include <string.h>

#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"

enum dialect { SYNC = 0, FSYNC = 1, NOTIFY = 2, DIALECT_SHIFT = 16 };
enum { HAS_TYPE = 1, HAS_NAME = 2 };

static void tell(enum st_event_kind kind, uint32_t detail, const void *address)
{
	st_event(&(struct st_record){.kind = kind,
				     .mask = ST_FIELD_VALUE,
				     .detail = detail,
				     .value = (uintptr_t)address});
}

#define DIALECT(prefix, dialect)                                                                   \
	static void prefix##_prepare(void *address)                                                \
	{                                                                                          \
		tell(ST_EVENT_SYNC_PREPARE, dialect, address);                                     \
	}                                                                                          \
	static void prefix##_cancel(void *address)                                                 \
	{                                                                                          \
		tell(ST_EVENT_SYNC_CANCEL, dialect, address);                                      \
	}                                                                                          \
	static void prefix##_acquired(void *address)                                               \
	{                                                                                          \
		tell(ST_EVENT_SYNC_ACQUIRED, dialect, address);                                    \
	}                                                                                          \
	static void prefix##_releasing(void *address)                                              \
	{                                                                                          \
		tell(ST_EVENT_SYNC_RELEASING, dialect, address);                                   \
	}
DIALECT(sync, SYNC)
DIALECT(fsync, FSYNC)
DIALECT(notify_sync, NOTIFY)

/* A name with its length: 0 bytes at NULL when it was not given. */
struct name {
	const char *text;
	size_t length;
};

static struct name terminated(const char *text)
{
	return (struct name){text, text ? strnlen(text, st_event_data_max() / 2) : 0};
}

static struct name counted(const char *text, int length)
{
	return (struct name){text, text && length > 0 ? strnlen(text, (size_t)length) : 0};
}

static void create(void *address, struct name type, struct name name, uint32_t detail)
{
	const struct st_part parts[3] = {
		{type.text, (uint32_t)type.length}, {"", 1}, {name.text, (uint32_t)name.length}};
	struct st_record record = {.kind = ST_EVENT_SYNC_CREATE,
				   .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_DATA,
				   .detail = detail,
				   .value = (uintptr_t)address,
				   .parts = parts,
				   .part_count = 3};

	record.extra = (type.text ? HAS_TYPE : 0) | (name.text ? HAS_NAME : 0);
	st_event(&record);
}

static uint32_t create_detail(enum dialect dialect, int attribute)
{
	return (uint32_t)dialect << DIALECT_SHIFT | ((uint32_t)attribute & 0xffff);
}

static void sync_create(void *address, const char *type, const char *name, int attribute)
{
	create(address, terminated(type), terminated(name), create_detail(SYNC, attribute));
}

static void sync_set_name(void *address, const char *type, const char *name, int attribute)
{
	create(address, terminated(type), terminated(name), create_detail(NOTIFY, attribute));
}

static int notify_sync_name(void *address, const char *type, int type_length, const char *name,
			    int name_length, int attribute)
{
	create(address, counted(type, type_length), counted(name, name_length),
	       create_detail(NOTIFY, attribute));
	return 0;
}

static void sync_rename(void *address, const char *name)
{
	struct name new_name = terminated(name);
	const struct st_part part = {new_name.text, (uint32_t)new_name.length};

	st_event(&(struct st_record){.kind = ST_EVENT_SYNC_RENAME,
				     .mask = ST_FIELD_VALUE | (name ? ST_FIELD_DATA : 0),
				     .value = (uintptr_t)address,
				     .parts = &part,
				     .part_count = 1});
}

static void sync_destroy(void *address)
{
	tell(ST_EVENT_SYNC_DESTROY, SYNC, address);
}

/* --- suppression --- */

static void suppress_push(unsigned int mask)
{
	st_event(&(struct st_record){.kind = ST_EVENT_SUPPRESS_PUSH, .detail = mask});
}

static void suppress_pop(void)
{
	st_event(&(struct st_record){.kind = ST_EVENT_SUPPRESS_POP});
}

static void suppress_mark_range(int mode, unsigned int mask, void *address, size_t size)
{
	st_event(&(struct st_record){.kind = ST_EVENT_SUPPRESS_RANGE,
				     .mask = ST_FIELD_ID | ST_FIELD_VALUE | ST_FIELD_EXTRA,
				     .detail = mask,
				     .id = {.d1 = (unsigned int)mode},
				     .value = (uintptr_t)address,
				     .extra = size});
}

static void suppress_clear_range(int mode, unsigned int mask, void *address, size_t size)
{
	st_event(&(struct st_record){.kind = ST_EVENT_SUPPRESS_CLEAR,
				     .mask = ST_FIELD_ID | ST_FIELD_VALUE | ST_FIELD_EXTRA,
				     .detail = mask,
				     .id = {.d1 = (unsigned int)mode},
				     .value = (uintptr_t)address,
				     .extra = size});
}

/* --- stitching --- */

/* Unique in the process, and never NULL: LLVM's libomp ends the program if it is. */
static void *stack_caller_create(void)
{
	static _Atomic uint64_t tokens;
	uint64_t token = atomic_fetch_add_explicit(&tokens, 1, memory_order_relaxed) + 1;

	tell(ST_EVENT_CALLER_CREATE, 0, (const void *)(uintptr_t)token);
	return (void *)(uintptr_t)token;
}

static void stack_caller_destroy(void *token)
{
	tell(ST_EVENT_CALLER_DESTROY, 0, token);
}

static void stack_callee_enter(void *token)
{
	tell(ST_EVENT_CALLEE_ENTER, 0, token);
}

static void stack_callee_leave(void *token)
{
	tell(ST_EVENT_CALLEE_LEAVE, 0, token);
}

static const struct st_binding rows[] = {
	ST_BIND("sync_create", sync_create),
	ST_BIND("sync_set_name", sync_set_name),
	ST_BIND("notify_sync_name", notify_sync_name),
	ST_BIND("sync_rename", sync_rename),
	ST_BIND("sync_destroy", sync_destroy),
	ST_BIND("sync_prepare", sync_prepare),
	ST_BIND("sync_cancel", sync_cancel),
	ST_BIND("sync_acquired", sync_acquired),
	ST_BIND("sync_releasing", sync_releasing),
	ST_BIND("fsync_prepare", fsync_prepare),
	ST_BIND("fsync_cancel", fsync_cancel),
	ST_BIND("fsync_acquired", fsync_acquired),
	ST_BIND("fsync_releasing", fsync_releasing),
	ST_BIND("notify_sync_prepare", notify_sync_prepare),
	ST_BIND("notify_sync_cancel", notify_sync_cancel),
	ST_BIND("notify_sync_acquired", notify_sync_acquired),
	ST_BIND("notify_sync_releasing", notify_sync_releasing),
	ST_BIND("suppress_push", suppress_push),
	ST_BIND("suppress_pop", suppress_pop),
	ST_BIND("suppress_mark_range", suppress_mark_range),
	ST_BIND("suppress_clear_range", suppress_clear_range),
	ST_BIND("stack_caller_create", stack_caller_create),
	ST_BIND("stack_caller_destroy", stack_caller_destroy),
	ST_BIND("stack_callee_enter", stack_callee_enter),
	ST_BIND("stack_callee_leave", stack_callee_leave),
};
const struct st_bindings st_calls_sync = ST_BINDINGS(rows);
