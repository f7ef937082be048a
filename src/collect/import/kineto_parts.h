/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of torch.profiler in pieces: an event as it is read (kineto_event.c), the signature of an operator
 * (kineto_inputs.c), and the rows that events become (kineto_rows.c).
 */
#ifndef ST_COLLECT_IMPORT_KINETO_PARTS_H
#define ST_COLLECT_IMPORT_KINETO_PARTS_H

#include <json-c/json.h>

#include "collect/import/out.h"

/* Of the name of an event; one with a longer name is skipped. What is made of a name fits into the scratch buffer. */
enum { ST_KINETO_NAME_MAX = 1 << 20, ST_KINETO_SCRATCH_MAX = ST_KINETO_NAME_MAX + 64 };

enum st_kineto_kind {
	ST_KINETO_OPERATOR,
	ST_KINETO_TASK,	  /* a range, a call of a runtime, whatever else the host does */
	ST_KINETO_CALL,	  /* of a Python function */
	ST_KINETO_DEVICE, /* a kernel, a copy, a range of a device */
	ST_KINETO_MEMORY, /* a block that was allocated or freed */
};

/* One event, or what of it is kept. */
struct st_kineto_event {
	uint64_t begin, end; /* ns of the trace's clock */
	int64_t value;	     /* sequence number or -1; bytes of memory */
	uint64_t
		link; /* correlation of a launch and what it launched; 0: none. Address of memory. */
	uint32_t pid; /* of the host; of a device its number */
	uint32_t tid; /* thread, stream */
	enum st_kineto_kind kind;
	bool is_range; /* that the program marks: among the operators, though none */
	st_string_id name, domain;
	uint32_t signature; /* of memory: ST_MEMORY_PLACE */
	uint32_t number;    /* in the file */
};

/* What the file calls a process or a thread; it may stand before or after their events. */
struct st_kineto_name {
	uint32_t pid, tid;
	bool is_thread;
	st_string_id text;
};

struct st_kineto_job {
	struct st_import_out *out;
	struct st_kineto_event *events;
	uint32_t count, capacity;
	struct st_kineto_name *names;
	uint32_t name_count, name_capacity;
	struct json_tokener *tokener;
	uint32_t host; /* process of the first event of the host, or ST_IMPORT_NONE */
	st_string_id framework;
	struct st_buf scratch;
};

/* Takes one parsed event; what means nothing here is counted. */
void st_kineto_take(struct st_kineto_job *kineto, struct json_object *json);
/* The signature of an operator or a range among those of its process; 0: no memory. */
uint32_t st_kineto_signature(struct st_kineto_job *kineto, uint32_t process,
			     const struct st_kineto_event *event, struct json_object *args);
/* Members of an object; NULL, and the value that is given, when there is none. */
struct json_object *st_kineto_member(struct json_object *json, const char *key);
int64_t st_kineto_integer(struct json_object *json, const char *key, int64_t otherwise);
/* Makes tracks of all events. */
void st_kineto_rows(struct st_kineto_job *kineto);

#endif
