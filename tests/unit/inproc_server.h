/* SPDX-License-Identifier: Apache-2.0
 *
 * A strata for tests of the collector: runs a scenario in a forked child with the collector loaded,
 * takes the segments of the whole family, and decodes every ring into events, checking the promises of
 * format/ring_record.h on the way (a broken one fails the running cmocka test).
 */
#ifndef ST_TESTS_INPROC_SERVER_H
#define ST_TESTS_INPROC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/event_kind.h"
#include "format/ring_record.h"
#include "format/shm.h"

enum { SERVER_SEGMENTS = 1024, SERVER_ARMS = 256 };

enum event_kind {
	EVENT_BEGIN,
	EVENT_END,
	EVENT_UNMATCHED,
	EVENT_LOST,
	EVENT_PAUSE,
	EVENT_RESUME,
	EVENT_DETACH,
	EVENT_THREAD,
	EVENT_THREAD_END,
	EVENT_RECORD, /* ST_EXT_EVENT */
};

struct object {
	struct st_object_head head;
	const char *name, *second;
	uint32_t defined; /* how often */
};

struct object_fact {
	uint32_t object;
	struct st_object_metadata head;
	const char *text;
};

struct event {
	enum event_kind kind;
	uint32_t process; /* index into server.processes */
	uint32_t tid;
	const char *domain, *name; /* "" when not given */
	uint64_t time, value;
	uint64_t flags;
	bool text;	 /* named by a text in the ring */
	uint64_t caller; /* of a begin */
	/* Of EVENT_RECORD; `value` above is the field VALUE. */
	uint32_t record, mask, detail;
	uint64_t id[3], other[3];
	uint64_t extra, given_time;
	const struct object *object, *clock; /* NULL: none */
	const char *data;		     /* NUL-terminated copy; NULL: none */
	size_t data_bytes;
};

struct words {
	uint64_t *at;
	size_t count, capacity;
};

struct segment {
	struct st_shm_hello hello;
	struct st_shm_header *header;
	uint64_t definitions_tail;
	struct words definitions;
	uint64_t tail[ST_SHM_SLOTS];
	struct words ring[ST_SHM_SLOTS];
	uint64_t handler_tail[ST_SHM_SLOTS];
	struct words handler[ST_SHM_SLOTS];
};

struct process {
	struct st_shm_hello hello;
	struct st_shm_header *header;
	char **strings, **domains;
	uint32_t string_count, domain_count;
	struct object **objects;
	uint32_t object_count;
	struct object_fact facts[64];
	uint32_t fact_count;
	struct process *parent;
	const char *thread_name;
	uint32_t thread_name_tid;
};

struct server {
	char folder[64], path[96];
	const char *config;	      /* STRATA_CONFIG of the child */
	bool frozen;		      /* does not drain before the child is gone */
	bool no_definitions;	      /* does not drain the definitions before that */
	uint32_t control_after_first; /* set in the control word once something was recorded */
	void (*on_hello)(struct segment *segment); /* NULL: nothing */
	void (*on_poll)(struct server *server);	   /* while the child runs; NULL: nothing */
	int listener;
	int status; /* wait status of the child */
	struct segment *segments[SERVER_SEGMENTS];
	uint32_t segment_count;
	struct st_shm_arm arms[SERVER_ARMS]; /* of samplers */
	int triggers[SERVER_ARMS];	     /* their descriptors; -1: none */
	uint32_t arm_count;
	struct process processes[SERVER_SEGMENTS];
	uint32_t process_count;
	struct event *events;
	size_t event_count, event_capacity;
};

/* Runs scenario() in a child until it returns or ends; then everything is decoded. */
void server_run(struct server *server, const char *config, void (*scenario)(void));
/* The same in two steps, with server fields set by the caller between. */
void server_init(struct server *server);
/* Listens on an abstract name instead, which the child finds in STRATA_ABS. */
void server_listen_abstract(struct server *server);
void server_run_prepared(struct server *server, void (*scenario)(void));
void server_fini(struct server *server);

const char *server_library(void);
/* In the scenario: returns when everything recorded so far has been taken. */
void server_wait_drained(void);
/* NULL name: any. */
size_t server_count(const struct server *server, enum event_kind kind, const char *name);
/* The n-th event of the kind, or NULL. */
const struct event *server_event(const struct server *server, enum event_kind kind, size_t n);
/* The n-th event record of this kind, or NULL. */
const struct event *server_record(const struct server *server, enum st_event_kind kind, size_t n);
size_t server_record_count(const struct server *server, enum st_event_kind kind);
/* An object by name, or NULL. */
const struct object *server_object(const struct server *server, enum st_object_kind kind,
				   const char *name);
uint64_t server_events_dropped(const struct server *server);
uint64_t server_events_cut(const struct server *server);
uint64_t server_dropped(const struct server *server);
uint64_t server_unmatched(const struct server *server);

#endif
