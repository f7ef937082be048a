/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of Level Zero that is used, without its headers: functions found by name, numbers, and the layouts that all
 * its versions have in common; and what the files of this library share.
 */
#ifndef ST_COLLECT_ZE_ZE_H
#define ST_COLLECT_ZE_ZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/device_record.h"

#pragma GCC visibility push(hidden)

enum {
	ZE_SUCCESS = 0,
	ZE_NOT_READY = 1,
	ZE_UNINITIALIZED = 0x78000001,
	ZE_POOL_HOST_VISIBLE = 1,
	ZE_POOL_IPC = 2, /* of several processes: has no times */
	ZE_POOL_TIMESTAMP = 4,
	ZE_SCOPE_HOST = 4,
	ZE_TYPE_EVENT_POOL = 0x10,
	ZE_TYPE_EVENT = 0x11,
	ZE_TYPE_MEMORY = 0x17,
	ZE_TYPE_DEVICE_1_2 =
		0x20006, /* its timer in ticks a second; of 0x3 in nanoseconds a tick */
	ZE_TYPE_TRACER = 1,
	ZE_PROLOGUE = 0,
	ZE_EPILOGUE = 1,
};

typedef void ze_any; /* what a handle points to */

struct ze_pool_wish {
	uint32_t type;
	const void *next;
	uint32_t flags, count;
};

struct ze_event_wish {
	uint32_t type;
	const void *next;
	uint32_t index, signal, wait;
};

struct ze_tracer_wish {
	uint32_t type;
	const void *next;
	void *argument;
};

struct ze_device_about {
	uint32_t type;
	void *next;
	uint32_t before_timer[15];
	uint64_t timer;
	uint32_t counter_bits, kernel_bits;
	uint8_t uuid[16];
	char name[256];
};
_Static_assert(offsetof(struct ze_device_about, timer) == 80, "as Level Zero has it");
_Static_assert(sizeof(struct ze_device_about) == 368, "as Level Zero has it");

struct ze_memory_about {
	uint32_t type;
	void *next;
	uint32_t kind; /* 0: not known, 1: host, 2: device, 3: shared */
	uint64_t id, page_bytes;
};

struct ze_times { /* ticks of the device: of all of it, and while the kernel's context ran */
	uint64_t begin, end, context_begin, context_end;
};

struct ze_tracer;

/* Every function answers 0 when it has worked. */
extern struct ze_functions {
	int32_t (*tracer_create)(const struct ze_tracer_wish *, struct ze_tracer **);
	int32_t (*tracer_enable)(struct ze_tracer *, uint8_t);
	int32_t (*driver_get)(uint32_t *, ze_any **);
	int32_t (*device_get)(ze_any *, uint32_t *, ze_any **);
	int32_t (*device_about)(ze_any *, struct ze_device_about *);
	int32_t (*device_times)(ze_any *, uint64_t *host, uint64_t *device);
	int32_t (*kernel_name)(ze_any *, size_t *, char *);
	int32_t (*memory_about)(ze_any *context, const void *, struct ze_memory_about *, ze_any **);
	int32_t (*pool_create)(ze_any *context, const struct ze_pool_wish *, uint32_t, ze_any **,
			       ze_any **pool);
	int32_t (*pool_destroy)(ze_any *);
	int32_t (*event_create)(ze_any *pool, const struct ze_event_wish *, ze_any **);
	int32_t (*event_destroy)(ze_any *);
	int32_t (*event_reset)(ze_any *);
	int32_t (*event_status)(ze_any *);
	int32_t (*event_times)(ze_any *, struct ze_times *);
} ze;

/* Held around everything that the files of this library keep. Calls that it makes itself are none of the program's. */
void ze_lock(void);
void ze_unlock(void);
/* Whether the calling thread has it. */
bool ze_is_inside(void);

/* ze.c: whether it has started, whether calls are recorded now, and only those that wait. */
bool ze_is_on(void);
bool ze_records(void);
bool ze_records_waits_only(void);
uint32_t ze_next_correlation(void);
/* NULL: no memory. */
void *ze_map(size_t size_bytes);
void ze_unmap(void *at, size_t size_bytes);

/* ze_calls.c: how functions are seen; false: the loader lets nobody see them. */
bool ze_register(void *library, struct ze_tracer *tracer);
/* Another strata than before, perhaps: names of calls are told again. */
void ze_calls_renew(void);

/* ze_names.c; lock held. */
/* A number of ours for a text, for records that are kept; 0: there are too many. */
uint32_t ze_name(const char *text, size_t length);
/* The collector's number of it, for records that are handed over. */
uint32_t ze_name_id(uint32_t number);
void ze_names_renew(void);
bool ze_names_start(void);
void ze_names_forget(void);

/* ze_devices.c; lock held. */
enum { ZE_DEVICES_MAX = 64 };
/* ZE_DEVICES_MAX: there are too many. */
uint32_t ze_device_number(ze_any *device);
/* In front of a round: the clocks of devices that are used. */
void ze_devices_read_clocks(void);
void ze_device_ticks(uint32_t device, const struct ze_times *times, struct st_device_record *out);
/* How far these may be off, in ticks. */
uint64_t ze_device_slack(uint32_t device);
/* Before, clocks are not read. Devices that are used are told anew. */
void ze_devices_start(void);
void ze_devices_forget(void);

/* ze_events.c; lock held. */
struct ze_event { /* that a command signals */
	ze_any *handle;
	uint32_t context; /* of ours; 0: it is the program's */
};
struct ze_pending {
	struct ze_event event;
	struct st_device_record record;
	uint32_t list; /* regular, that keeps the event: its number from 1; 0: none */
	uint64_t call_begin, call_end;
	struct ze_times last; /* of the execution before, which the event may still show */
};
/* One of ours, for a command of this context; false: there is none. */
bool ze_event_take(ze_any *context, struct ze_event *out);
void ze_event_give_back(const struct ze_event *event);
/* The program's pools are made so that their events tell times; events of others are known here. */
void ze_event_is_timed(ze_any *event, bool is_timed);
bool ze_event_has_times(const ze_any *event);
/* What is to be read when it is over; too many are counted as lost. */
void ze_pending_add(const struct ze_pending *pending);
/* Reads what is over, of one event or of one list (the other 0); what is not is lost if `last`. For threads of the program:
 * without waiting. */
void ze_pending_read(const ze_any *event, uint32_t list, bool last);
/* For the watcher: some of what is over, to be told when the lock is free again. */
enum { ZE_BATCH = 256 };
struct ze_batch {
	struct st_device_record records[ZE_BATCH];
	uint32_t count;
	bool is_all; /* everything has been looked at */
};
void ze_pending_look(struct ze_batch *batch);
/* The program ends: what is not over by now has no end. */
void ze_pending_take(struct ze_batch *batch);
uint32_t ze_pending_count(void);
void ze_context_gone(ze_any *context);
bool ze_events_start(void);
void ze_events_forget(void);

/* ze_lists.c; lock held. */
struct ze_list {
	ze_any *context;
	uint32_t context_number;
	uint16_t device, queue; /* queue: of an immediate one */
	bool is_immediate;
	uint32_t first, last; /* commands, from 1 */
	uint32_t under_way;   /* of all executions */
};
void ze_list_made(ze_any *handle, ze_any *context, ze_any *device, bool is_immediate);
void ze_queue_made(ze_any *handle, ze_any *context, ze_any *device);
struct ze_list *ze_list_of(const ze_any *handle);
/* Of a queue or an immediate list; 0: neither. */
uint32_t ze_queue_number(const ze_any *handle);
/* A command of a regular list, which runs when the list does. */
void ze_list_add(ze_any *handle, const struct ze_event *event,
		 const struct st_device_record *record);
/* In front of and behind an execution. */
void ze_lists_will_run(ze_any *const *handles, uint32_t count);
void ze_lists_run(const ze_any *queue, ze_any *const *handles, uint32_t count,
		  const struct ze_pending *like);
/* The commands of a list are gone. */
void ze_list_emptied(ze_any *handle);
/* So many more of its commands are under way; how many there are then. By its number. */
uint32_t ze_list_count(uint32_t list, int32_t change);
void ze_command_times(uint32_t list, const ze_any *event, const struct ze_times *times);
bool ze_lists_start(void);
void ze_lists_forget(void);

#pragma GCC visibility pop

#endif
