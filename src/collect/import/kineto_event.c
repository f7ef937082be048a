// SPDX-License-Identifier: Apache-2.0
//
// One event of a trace of torch.profiler, from JSON to what is kept of it. Kineto's categories say what it is; whatever
// else has a time and a duration is a task in the domain of its category.
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "collect/import/kineto_parts.h"
#include "format/device.h"
#include "format/operator.h"
#include "format/ring_record.h"

static const struct {
	const char *category;
	enum st_kineto_kind kind;
	const char *domain; /* NULL: the category itself */
} kinds[] = {
	{"cpu_op", ST_KINETO_OPERATOR, ST_OPERATOR_DOMAIN},
	{"user_annotation", ST_KINETO_TASK, ST_RANGE_DOMAIN},
	{"python_function", ST_KINETO_CALL, NULL},
	{"cuda_runtime", ST_KINETO_TASK, ST_RUNTIME_DOMAIN},
	{"cuda_driver", ST_KINETO_TASK, ST_RUNTIME_DOMAIN},
	{"xpu_runtime", ST_KINETO_TASK, ST_RUNTIME_DOMAIN},
	{"xpu_driver", ST_KINETO_TASK, ST_RUNTIME_DOMAIN},
	{"privateuse1_runtime", ST_KINETO_TASK, ST_RUNTIME_DOMAIN},
	{"privateuse1_driver", ST_KINETO_TASK, ST_RUNTIME_DOMAIN},
	{"mtia_runtime", ST_KINETO_TASK, ST_RUNTIME_DOMAIN},
	{"kernel", ST_KINETO_DEVICE, ST_KERNEL_DOMAIN},
	{"gpu_memcpy", ST_KINETO_DEVICE, ST_COPY_DOMAIN},
	{"gpu_memset", ST_KINETO_DEVICE, ST_COPY_DOMAIN},
	{"gpu_user_annotation", ST_KINETO_DEVICE, NULL},
	{"cuda_sync", ST_KINETO_DEVICE, NULL},
};

static struct st_text text_of(struct json_object *json, const char *key)
{
	struct json_object *value = st_kineto_member(json, key);

	if (!json_object_is_type(value, json_type_string))
		return (struct st_text){"", 0};
	return (struct st_text){json_object_get_string(value),
				(size_t)json_object_get_string_len(value)};
}

/* Numbers of processes and threads may be texts, and threads' may be wider than those of the system. */
static bool read_id(struct json_object *json, const char *key, uint32_t *out)
{
	struct json_object *value = st_kineto_member(json, key);
	int64_t number;

	if (!json_object_is_type(value, json_type_int))
		return false;
	number = json_object_get_int64(value);
	*out = (uint32_t)number;
	return number >= 0;
}

/* Microseconds to ns. */
static bool read_time(struct json_object *json, const char *key, uint64_t *out)
{
	struct json_object *value = st_kineto_member(json, key);
	double us;

	if (!json_object_is_type(value, json_type_double) &&
	    !json_object_is_type(value, json_type_int))
		return false;
	us = json_object_get_double(value);
	if (!(us >= 0 && us < 9e15))
		return false;
	*out = (uint64_t)llround(us * 1000);
	return true;
}

static void take_name(struct st_kineto_job *kineto, struct json_object *json)
{
	struct st_text text = text_of(st_kineto_member(json, "args"), "name");
	struct st_text what = text_of(json, "name");
	struct st_kineto_name name = {.is_thread = st_text_equals(what, "thread_name")};

	if (!(name.is_thread || st_text_equals(what, "process_name")) || !text.size_bytes ||
	    !read_id(json, "pid", &name.pid) ||
	    (name.is_thread && !read_id(json, "tid", &name.tid)))
		return;
	/* "thread 4711 (python3)" says nothing that its number does not. */
	if (name.is_thread && st_text_begins(text, "thread "))
		return;
	name.text = st_import_text(kineto->out, text.bytes, text.size_bytes);
	if (!ST_VEC_PUSH(kineto->names, kineto->name_count, kineto->name_capacity, name))
		kineto->out->no_memory = true;
}

static void take_memory(struct st_kineto_job *kineto, struct json_object *json,
			struct st_kineto_event *event)
{
	struct json_object *args = st_kineto_member(json, "args");

	if (!st_text_equals(text_of(json, "name"), "[memory]"))
		return; /* marks such as the end of the window */
	if (st_kineto_integer(args, "Device Type", 0) != 0)
		event->signature = ST_MEMORY_PLACE(st_kineto_integer(args, "Device Type", 0),
						   st_kineto_integer(args, "Device Id", 0));
	event->kind = ST_KINETO_MEMORY;
	event->value = st_kineto_integer(args, "Bytes", 0);
	event->link = (uint64_t)st_kineto_integer(args, "Addr", 0);
	event->end = event->begin;
	if (!ST_VEC_PUSH(kineto->events, kineto->count, kineto->capacity, *event))
		kineto->out->no_memory = true;
}

static const char *domain_of(struct st_text category, struct st_text name,
			     enum st_kineto_kind *kind)
{
	*kind = ST_KINETO_TASK;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!st_text_equals(category, kinds[i].category))
			continue;
		*kind = kinds[i].kind;
		if (kinds[i].domain && strcmp(kinds[i].domain, ST_KERNEL_DOMAIN) == 0 &&
		    (st_text_begins(name, "nccl") || st_text_begins(name, "rccl")))
			return ST_COMMUNICATION_DOMAIN;
		return kinds[i].domain;
	}
	return NULL;
}

/* The process and thread of an event of the host, so that what it names has a place. */
static bool place(struct st_kineto_job *kineto, struct st_kineto_event *event,
		  struct json_object *args)
{
	uint32_t process = st_import_process_of(kineto->out, event->pid, event->begin);

	if (process == ST_IMPORT_NONE || st_import_thread_of(kineto->out, event->pid, event->tid,
							     event->begin) == ST_IMPORT_NONE)
		return false;
	if (kineto->host == ST_IMPORT_NONE)
		kineto->host = process;
	if (event->kind == ST_KINETO_OPERATOR || event->is_range)
		event->signature = st_kineto_signature(kineto, process, event, args);
	return !kineto->out->no_memory;
}

/* A range of the host that Kineto repeats on the device: another row, not more of the same. */
static st_string_id name_of(struct st_kineto_job *kineto, struct st_text category,
			    struct st_text name)
{
	if (!st_text_equals(category, "gpu_user_annotation"))
		return st_import_text(kineto->out, name.bytes, name.size_bytes);
	st_buf_clear(&kineto->scratch);
	st_buf_append(&kineto->scratch, name.bytes, name.size_bytes);
	st_buf_append_text(&kineto->scratch, " (on device)");
	kineto->out->no_memory |= kineto->scratch.failed;
	return st_import_text(kineto->out, kineto->scratch.data, kineto->scratch.size_bytes);
}

static void take_slice(struct st_kineto_job *kineto, struct json_object *json,
		       struct st_kineto_event *event)
{
	struct json_object *args = st_kineto_member(json, "args");
	struct st_text category = text_of(json, "cat"), name = text_of(json, "name");
	const char *domain = domain_of(category, name, &event->kind);
	uint64_t duration;

	if (!read_time(json, "dur", &duration) || name.size_bytes > ST_KINETO_NAME_MAX) {
		kineto->out->counts.skipped++;
		return;
	}
	event->end = event->begin + duration;
	event->value = st_kineto_integer(args, "Sequence number", -1);
	if (st_text_begins(name, "autograd::engine::evaluate_function: "))
		event->value = -1;
	event->link = (uint64_t)st_kineto_integer(args, "correlation", 0);
	event->name = name_of(kineto, category, name);
	event->domain = domain ? st_import_text(kineto->out, domain, strlen(domain))
			       : st_import_text(kineto->out, category.bytes, category.size_bytes);
	event->is_range = domain && strcmp(domain, ST_RANGE_DOMAIN) == 0;
	if (event->kind != ST_KINETO_DEVICE && !place(kineto, event, args))
		return;
	if (!ST_VEC_PUSH(kineto->events, kineto->count, kineto->capacity, *event))
		kineto->out->no_memory = true;
}

void st_kineto_take(struct st_kineto_job *kineto, struct json_object *json)
{
	struct st_text phase = text_of(json, "ph");
	struct st_kineto_event event = {.number = kineto->count};

	if (st_text_equals(phase, "M")) {
		take_name(kineto, json);
		return;
	}
	/* Flows are told by the numbers in their slices; what the profiler says of itself has no process. */
	if (st_text_equals(phase, "s") || st_text_equals(phase, "f") ||
	    st_text_equals(phase, "t") || st_text_equals(text_of(json, "cat"), "Trace") ||
	    st_text_equals(text_of(json, "cat"), "overhead"))
		return;
	/* Marks of the whole trace, such as the end of its window, belong to nobody. */
	if (st_text_equals(phase, "i") && st_text_equals(text_of(json, "s"), "g"))
		return;
	bool placed = read_id(json, "pid", &event.pid) && read_id(json, "tid", &event.tid) &&
		      read_time(json, "ts", &event.begin);

	if (placed && st_text_equals(phase, "X"))
		take_slice(kineto, json, &event);
	else if (placed && (st_text_equals(phase, "i") || st_text_equals(phase, "I")))
		take_memory(kineto, json, &event);
	else
		kineto->out->counts.skipped++;
}
