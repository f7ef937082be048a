// SPDX-License-Identifier: Apache-2.0
//
// What stands around the slices of the Kineto form: what the file says of itself, names of processes and threads,
// memory, and the marks of the profiler's own window.
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/vec.h"
#include "export/trace/chrome_parts.h"
#include "export/trace/kineto_parts.h"
#include "analyze/operators/memory_steps.h"

/* Kineto counts times from the begin of one of these, so that files of one quarter of a year can be laid side by side;
 * so do we. */
enum { BASE_SECONDS = 7889238 };

void st_kineto_add_us(struct st_json *json, int64_t ns)
{
	char text[32];
	size_t size = st_chrome_format_us(text, ns);

	st_json_value(json, text, size);
}

static void add_times(struct st_kineto *kineto)
{
	uint64_t start_ns = st_result_info(kineto->result)->start_wall_ns;
	uint64_t period_ns = BASE_SECONDS * UINT64_C(1000000000);

	kineto->base_ns = start_ns / period_ns * period_ns;
	kineto->shift_ns = (int64_t)(start_ns - kineto->base_ns);
}

/* Sixteen bytes that name the file: those of the result and of the window. */
static void add_trace_id(const struct st_kineto *kineto, struct st_json *json)
{
	const struct st_result_info *info = st_result_info(kineto->result);
	uint64_t begin = (uint64_t)kineto->begin_ns;
	char text[2 * sizeof(info->id) + 1];

	for (size_t i = 0; i < sizeof(info->id); i++) {
		uint8_t byte = (uint8_t)(info->id[i] ^ (i < 8 ? begin >> 8 * i : 0));

		text[2 * i] = "0123456789ABCDEF"[byte >> 4];
		text[2 * i + 1] = "0123456789ABCDEF"[byte & 15];
	}
	st_json_put_bytes(json, "trace_id", text, sizeof(text) - 1);
}

static bool has_fact(const struct st_export_options *options, const char *key)
{
	for (size_t i = 0; i < options->fact_count; i++)
		if (options->facts[i].key.size_bytes == strlen(key) &&
		    memcmp(options->facts[i].key.bytes, key, strlen(key)) == 0)
			return true;
	return false;
}

static void add_facts(struct st_kineto *kineto, struct st_json *json)
{
	static const struct {
		unsigned int part;
		const char *key;
	} switches[] = {{ST_PART_SHAPES, "record_shapes"},
			{ST_PART_MEMORY, "profile_memory"},
			{ST_PART_STACKS, "with_stack"},
			{ST_PART_MODULES, "with_modules"}};
	const struct st_export_options *options = kineto->options;

	if (!has_fact(options, "trace_id"))
		add_trace_id(kineto, json);
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		if (!(kineto->parts & switches[i].part))
			continue;
		st_json_put_u64(json, switches[i].key, 1);
	}
	st_json_put_text(json, "host_name", st_result_info(kineto->result)->host);
	for (size_t i = 0; i < options->fact_count; i++) {
		const struct st_export_fact *fact = &options->facts[i];

		st_json_key_bytes(json, fact->key.bytes, fact->key.size_bytes);
		if (fact->is_json)
			st_json_value(json, fact->value.bytes, fact->value.size_bytes);
		else
			st_json_bytes(json, fact->value.bytes, fact->value.size_bytes);
	}
}

static void add_name(struct st_kineto *kineto, const struct st_kineto_row_name *name)
{
	struct st_json json;

	st_buf_append_text(kineto->out, ",\n");
	st_json_init(&json, kineto->out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "ph", "M");
	st_json_put_text(&json, "name", name->kind);
	st_json_key(&json, "ts");
	st_kineto_add_us(&json, st_kineto_time(kineto, kineto->begin_ns));
	st_json_put_u64(&json, "pid", name->pid);
	st_json_put_u64(&json, "tid", name->tid);
	st_json_put_object(&json, "args");
	st_json_key(&json, name->key);
	if (name->text.bytes)
		st_json_bytes(&json, name->text.bytes, name->text.size_bytes);
	else
		st_json_u64(&json, name->number);
	st_json_object_end(&json);
	st_json_object_end(&json);
}

static void add_process(struct st_kineto *kineto, uint32_t process)
{
	static const struct st_text label = {"CPU", 3}, otherwise = {"process", 7};
	uint32_t pid = kineto->ids.pids[process];
	struct st_text name = st_result_text(kineto->result, kineto->processes[process].name);

	if (!name.size_bytes)
		name = otherwise;
	add_name(kineto, &(struct st_kineto_row_name){"process_name", pid, 0, "name", name, 0});
	add_name(kineto,
		 &(struct st_kineto_row_name){"process_labels", pid, 0, "labels", label, 0});
	add_name(kineto, &(struct st_kineto_row_name){
				 "process_sort_index", pid, 0, "sort_index", {0}, pid});
}

static void add_thread(struct st_kineto *kineto, uint32_t track)
{
	const struct st_track *about = &kineto->tracks[track];
	uint32_t pid = kineto->ids.pids[about->process], tid = kineto->ids.tids[track];
	struct st_text name = st_result_text(kineto->result, about->name);
	struct st_buf *text = st_stream_scratch(&kineto->stream);

	if (!name.size_bytes)
		name = st_result_text(kineto->result, kineto->processes[about->process].name);
	st_buf_printf(text, "thread %u (", about->tid);
	st_buf_append(text, name.bytes, name.size_bytes);
	st_buf_append_u8(text, ')');
	add_name(kineto, &(struct st_kineto_row_name){"thread_name", pid, tid, "name",
						      st_stream_text(&kineto->stream), 0});
	add_name(kineto, &(struct st_kineto_row_name){
				 "thread_sort_index", pid, tid, "sort_index", {0}, tid});
}

/* Threads that have something, each behind its process. */
static void add_names(struct st_kineto *kineto)
{
	for (uint32_t process = 0; process < kineto->process_count; process++) {
		bool is_there = false;

		for (uint32_t i = 0; i < kineto->track_count; i++) {
			if (kineto->tracks[i].process != process || !kineto->numbers[i])
				continue;
			if (!is_there)
				add_process(kineto, process);
			is_there = true;
			add_thread(kineto, i);
		}
	}
	st_kineto_name_streams(kineto, add_name);
}

static void add_text(struct st_kineto *kineto, const char *text)
{
	st_buf_append_text(kineto->out, text);
}

static void add_time(struct st_kineto *kineto, int64_t ns)
{
	char text[32];

	st_buf_append(kineto->out, text, st_chrome_format_us(text, ns));
}

void st_kineto_begin(struct st_kineto *kineto)
{
	struct st_json json;

	add_times(kineto);
	st_json_init(&json, kineto->out);
	st_json_object_begin(&json);
	st_json_put_u64(&json, "schemaVersion", 1);
	st_kineto_add_devices(kineto, &json);
	add_facts(kineto, &json);
	st_json_put_text(&json, "displayTimeUnit", "ms");
	st_json_put_u64(&json, "baseTimeNanoseconds", kineto->base_ns);
	st_json_put_array(&json, "traceEvents");
	add_text(kineto, "\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"ts\":");
	add_time(kineto, st_kineto_time(kineto, kineto->begin_ns));
	add_text(kineto, ",\"pid\":\"Spans\",\"tid\":0,\"args\":{\"sort_index\":536870912}}");
	add_names(kineto);
}

static void add_memory(struct st_kineto *kineto, const struct st_memory_moment *moment,
		       int64_t bytes, int64_t total)
{
	uint32_t process = kineto->tracks[moment->track].process;
	struct st_json json;

	st_buf_append_text(kineto->out, ",\n");
	st_json_init(&json, kineto->out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "ph", "i");
	st_json_put_text(&json, "cat", "cpu_instant_event");
	st_json_put_text(&json, "s", "t");
	st_json_put_text(&json, "name", "[memory]");
	st_json_put_u64(&json, "pid", kineto->ids.pids[process]);
	st_json_put_u64(&json, "tid", kineto->ids.tids[moment->track]);
	st_json_key(&json, "ts");
	st_kineto_add_us(&json, st_kineto_time(kineto, moment->time_ns));
	st_json_put_object(&json, "args");
	st_json_put_u64(&json, "Total Reserved", 0);
	st_json_put_i64(&json, "Total Allocated", total);
	st_json_put_i64(&json, "Bytes", bytes);
	st_json_put_i64(&json, "Device Id", moment->place ? (int64_t)(moment->place >> 8) : -1);
	st_json_put_u64(&json, "Device Type", moment->place & 0xff);
	st_json_put_u64(&json, "Addr", moment->address);
	st_json_put_bool(&json, "finished", false);
	st_json_put_u64(&json, "Ev Idx", kineto->index++);
	st_json_object_end(&json);
	st_json_object_end(&json);
}

static void add_moment(struct st_kineto *kineto, const struct st_memory_moment *moment,
		       int64_t *total)
{
	bool is_in = kineto->wanted[moment->track] && kineto->numbers[moment->track] &&
		     moment->time_ns >= kineto->begin_ns && moment->time_ns <= kineto->end_ns;
	int64_t steps[ST_MEMORY_STEPS_MAX];
	unsigned int count = st_memory_steps(moment, steps);

	for (unsigned int i = 0; i < count; i++) {
		*total = st_memory_sum(*total, steps[i]);
		if (is_in)
			add_memory(kineto, moment, steps[i], *total);
	}
}

/* What each process holds on each device, as far as it was seen. */
struct held {
	uint32_t process, place;
	int64_t bytes;
};

static int64_t *held_on(struct held **all, uint32_t *count, uint32_t *capacity,
			const struct held *key)
{
	for (uint32_t i = 0; i < *count; i++)
		if ((*all)[i].process == key->process && (*all)[i].place == key->place)
			return &(*all)[i].bytes;
	if (!ST_VEC_PUSH(*all, *count, *capacity, *key))
		return NULL;
	return &(*all)[*count - 1].bytes;
}

static enum st_status write_device_memory(struct st_kineto *kineto, struct st_error *err)
{
	uint32_t count, held_count = 0, held_capacity = 0;
	const struct st_memory_moment *moments = st_result_device_memory(kineto->result, &count);
	struct held *held = NULL;
	enum st_status status = ST_OK;

	for (uint32_t i = 0; i < count && !status; i++) {
		const struct held key = {.process = kineto->tracks[moments[i].track].process,
					 .place = moments[i].place};
		int64_t *total = held_on(&held, &held_count, &held_capacity, &key);

		if (total)
			add_moment(kineto, &moments[i], total);
		status = total ? st_stream_spill(&kineto->stream, err)
			       : st_stream_no_memory(&kineto->stream, err);
	}
	free(held);
	return status;
}

enum st_status st_kineto_write_memory(struct st_kineto *kineto, struct st_error *err)
{
	uint32_t count;
	const struct st_memory_moment *moments = st_result_memory(kineto->result, &count);
	int64_t *totals;
	enum st_status status = ST_OK;

	if (!(kineto->parts & ST_PART_MEMORY))
		return ST_OK;
	totals = calloc((size_t)kineto->process_count + 1, sizeof(*totals));
	if (!totals)
		return st_stream_no_memory(&kineto->stream, err);
	for (uint32_t i = 0; i < count && !status; i++) {
		add_moment(kineto, &moments[i], &totals[kineto->tracks[moments[i].track].process]);
		status = st_stream_spill(&kineto->stream, err);
	}
	free(totals);
	return status ? status : write_device_memory(kineto, err);
}

void st_kineto_end(struct st_kineto *kineto)
{
	int64_t begin = st_kineto_time(kineto, kineto->begin_ns);
	int64_t end = st_kineto_time(kineto, kineto->end_ns);
	struct st_json json;

	add_text(kineto, ",\n{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\","
			 "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":");
	add_time(kineto, begin);
	add_text(kineto, ",\"dur\":");
	add_time(kineto, end - begin);
	st_buf_printf(kineto->out, ",\"args\":{\"Op count\":%llu}}",
		      (unsigned long long)kineto->external);
	add_text(kineto,
		 ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\","
		 "\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\",\"ts\":");
	add_time(kineto, begin);
	add_text(kineto,
		 "},\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\","
		 "\"tid\":\"\",\"ts\":");
	add_time(kineto, end);
	add_text(kineto, "}\n],\"traceName\":");
	st_json_init(&json, kineto->out);
	st_json_text(&json, kineto->options->trace_name ? kineto->options->trace_name
							: st_result_info(kineto->result)->name);
	add_text(kineto, "}\n");
}
