// SPDX-License-Identifier: Apache-2.0
//
// Devices in the Kineto form: calls of runtime and driver among the operators of their thread, kernels, copies and fills
// on a process for each device and a thread for each stream, and an "ac2g" flow from the one to the other.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/device_gaps.h"
#include "analyze/datasets/occupancy.h"
#include "base/json_out.h"
#include "base/search.h"
#include "export/trace/kineto_parts.h"
#include "format/event_kind.h"
#include "store/devices.h"

enum { GPU_SORT_FIRST = 5000000 };

static enum st_category category_of(const struct st_kineto *kineto, uint32_t slice)
{
	uint32_t count;

	return st_result_labels(kineto->result, &count)[kineto->slices->label[slice]].category;
}

static struct st_text name_of(const struct st_kineto *kineto, uint32_t slice)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(kineto->result, &count);

	return st_result_text(kineto->result, labels[kineto->slices->label[slice]].name);
}

static uint32_t device_of(const struct st_kineto *kineto, uint32_t track)
{
	return st_track_device(kineto->result, track).device;
}

bool st_kineto_is_stream(const struct st_kineto *kineto, uint32_t track)
{
	return st_track_is_stream(kineto->result, track);
}

bool st_kineto_is_call(const struct st_kineto *kineto, uint32_t slice)
{
	enum st_category category = category_of(kineto, slice);

	return (st_category_is_call(category) || category == ST_CATEGORY_DEVICE_OVERHEAD) &&
	       st_kineto_has_slice(kineto, slice);
}

static int by_target(const void *a, const void *b)
{
	const struct st_slice_flow *x = a, *y = b;

	return (x->to > y->to) - (x->to < y->to);
}

bool st_kineto_devices_create(struct st_kineto *kineto)
{
	uint32_t count;
	const struct st_slice_flow *flows = st_result_flows(kineto->result, &count);

	kineto->launches = malloc(((size_t)count + 1) * sizeof(*kineto->launches));
	if (!kineto->launches)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (flows[i].kind == ST_FLOW_LAUNCH)
			kineto->launches[kineto->launch_count++] = flows[i];
	/* By what was launched; as they lie in the result they are by the call. */
	if (kineto->launch_count)
		qsort(kineto->launches, kineto->launch_count, sizeof(*kineto->launches), by_target);
	return true;
}

void st_kineto_devices_destroy(struct st_kineto *kineto)
{
	free(kineto->launches);
}

uint32_t st_kineto_launch_of(const struct st_kineto *kineto, uint32_t slice)
{
	uint32_t low = ST_SEARCH(i, 0, kineto->launch_count, kineto->launches[i].to < slice);

	return low < kineto->launch_count && kineto->launches[low].to == slice
		       ? kineto->launches[low].from
		       : ST_NO_ROW;
}

static void begin_event(struct st_kineto *kineto, struct st_json *json, const char *category,
			struct st_text name)
{
	st_buf_append_text(kineto->out, ",\n");
	st_json_init(json, kineto->out);
	st_json_object_begin(json);
	st_json_put_text(json, "ph", "X");
	st_json_put_text(json, "cat", category);
	st_json_put_bytes(json, "name", name.bytes, name.size_bytes);
}

static void add_place(struct st_kineto *kineto, struct st_json *json, const uint32_t pid_tid[2],
		      const int64_t times[2])
{
	st_json_put_u64(json, "pid", pid_tid[0]);
	st_json_put_u64(json, "tid", pid_tid[1]);
	st_json_key(json, "ts");
	st_kineto_add_us(json, st_kineto_time(kineto, times[0]));
	st_json_key(json, "dur");
	st_kineto_add_us(json, times[1] - times[0]);
	st_json_put_object(json, "args");
}

/* That of the operator in which the call was made. */
static void add_external(const struct st_kineto *kineto, struct st_json *json, uint32_t call)
{
	uint32_t row = call == ST_NO_ROW ? ST_NO_ROW : kineto->rows->row_of_slice[call];

	if (row != ST_NO_ROW && kineto->externals[row])
		st_json_put_u64(json, "External id", kineto->externals[row]);
}

static void add_flow(struct st_kineto *kineto, const uint32_t pid_tid[2], int64_t time_ns,
		     uint64_t id, bool is_end)
{
	struct st_json json;

	st_buf_append_text(kineto->out, ",\n");
	st_json_init(&json, kineto->out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "ph", is_end ? "f" : "s");
	st_json_put_u64(&json, "id", id);
	st_json_put_u64(&json, "pid", pid_tid[0]);
	st_json_put_u64(&json, "tid", pid_tid[1]);
	st_json_key(&json, "ts");
	st_kineto_add_us(&json, st_kineto_time(kineto, time_ns));
	st_json_put_text(&json, "cat", "ac2g");
	st_json_put_text(&json, "name", "ac2g");
	if (is_end)
		st_json_put_text(&json, "bp", "e");
	st_json_object_end(&json);
}

/* A number that a call and what it launched share. */
static uint64_t link_of(const struct st_kineto *kineto, uint32_t call)
{
	const struct st_device_item *item = st_result_device_item_of(kineto->result, call);

	return item && item->correlation ? item->correlation : (uint64_t)call + 1;
}

static bool has_launched(const struct st_kineto *kineto, uint32_t call)
{
	uint32_t count;
	const struct st_slice_flow *flows = st_result_flows(kineto->result, &count);
	uint32_t low = ST_SEARCH(i, 0, count, flows[i].from < call);

	for (; low < count && flows[low].from == call; low++)
		if (flows[low].kind == ST_FLOW_LAUNCH)
			return true;
	return false;
}

void st_kineto_write_call(struct st_kineto *kineto, uint32_t slice, const uint32_t pid_tid[2])
{
	const struct st_slices *slices = kineto->slices;
	const struct st_device_item *item = st_result_device_item_of(kineto->result, slice);
	struct st_text name = name_of(kineto, slice);
	bool is_driver = item ? item->flags & ST_DEVICE_DRIVER
			      : st_text_begins(name, "cu") && !st_text_begins(name, "cuda");
	struct st_json json;

	if (category_of(kineto, slice) == ST_CATEGORY_DEVICE_OVERHEAD) {
		st_kineto_write_overhead(kineto, slice, name);
		return;
	}
	if (item && item->flags & ST_DEVICE_MAKERS)
		begin_event(kineto, &json, is_driver ? "xpu_driver" : "xpu_runtime", name);
	else
		begin_event(kineto, &json, is_driver ? "cuda_driver" : "cuda_runtime", name);
	add_place(kineto, &json, pid_tid,
		  (int64_t[]){slices->begin_ns[slice], slices->end_ns[slice]});
	add_external(kineto, &json, slice);
	if (item)
		st_json_put_u64(&json, "cbid", (uint32_t)item->value);
	st_json_put_u64(&json, "correlation", link_of(kineto, slice));
	st_json_object_end(&json);
	st_json_object_end(&json);
	st_kineto_write_wait(kineto, slice);
	if (has_launched(kineto, slice))
		add_flow(kineto, pid_tid, slices->begin_ns[slice], link_of(kineto, slice), false);
}

static void add_number(struct st_json *json, const char *key, double value)
{
	st_json_key(json, key);
	st_json_double(json, value);
}

static void add_kernel_args(const struct st_kineto *kineto, struct st_json *json, uint32_t slice,
			    const struct st_device_item *item)
{
	uint32_t process = kineto->tracks[kineto->slices->track[slice]].process;
	struct st_occupancy full;

	st_json_put_u64(json, "registers per thread", item->registers);
	st_json_put_u64(json, "shared memory",
			(uint64_t)item->shared_static + item->shared_dynamic);
	st_json_put_array(json, "grid");
	for (unsigned int i = 0; i < 3; i++)
		st_json_u64(json, item->grid[i]);
	st_json_array_end(json);
	st_json_put_array(json, "block");
	for (unsigned int i = 0; i < 3; i++)
		st_json_u64(json, item->block[i]);
	st_json_array_end(json);
	if (item->flags & ST_DEVICE_MAKERS ||
	    !st_occupancy_of(st_result_device_about(kineto->result, process, item->device), item,
			     &full))
		return;
	add_number(json, "blocks per SM", full.blocks);
	add_number(json, "warps per SM", full.warps);
	st_json_put_u64(json, "est. achieved occupancy %", (uint64_t)(100 * full.share + 0.5));
}

static void add_item_args(struct st_kineto *kineto, struct st_json *json, uint32_t slice,
			  const struct st_device_item *item)
{
	int64_t ns = kineto->slices->end_ns[slice] - kineto->slices->begin_ns[slice];

	st_json_put_u64(json, "device", item->device);
	st_json_put_u64(json, "context", item->context);
	st_json_put_u64(json, "stream", item->stream);
	st_json_put_u64(json, "correlation", item->correlation);
	if (item->kind == ST_DEVICE_KERNEL) {
		add_kernel_args(kineto, json, slice, item);
	} else {
		st_json_put_u64(json, "bytes", item->value);
		if (ns > 0) {
			st_json_key(json, "memory bandwidth (GB/s)");
			st_json_double(json, (double)item->value / (double)ns);
		}
	}
	if (item->graph_node) {
		st_json_put_u64(json, "graph id", item->graph);
		st_json_put_u64(json, "graph node id", item->graph_node);
	}
}

static const char *category_word(enum st_category category, struct st_text name)
{
	if (category == ST_CATEGORY_COPY)
		return st_text_begins(name, "Memset") ? "gpu_memset" : "gpu_memcpy";
	if (category == ST_CATEGORY_KERNEL || category == ST_CATEGORY_COMMUNICATION)
		return "kernel";
	return NULL;
}

static void write_item(struct st_kineto *kineto, uint32_t slice, const uint32_t pid_tid[2])
{
	const struct st_slices *slices = kineto->slices;
	const struct st_device_item *item = st_result_device_item_of(kineto->result, slice);
	struct st_text name = name_of(kineto, slice);
	const char *category = category_word(category_of(kineto, slice), name);
	uint32_t call = st_kineto_launch_of(kineto, slice);
	struct st_json json;

	if (!category || !st_kineto_has_slice(kineto, slice))
		return;
	begin_event(kineto, &json, category, name);
	add_place(kineto, &json, pid_tid,
		  (int64_t[]){slices->begin_ns[slice], slices->end_ns[slice]});
	add_external(kineto, &json, call);
	if (item) {
		add_item_args(kineto, &json, slice, item);
	} else {
		st_json_put_u64(&json, "device", pid_tid[0]);
		st_json_put_u64(&json, "stream", pid_tid[1]);
		if (call != ST_NO_ROW)
			st_json_put_u64(&json, "correlation", link_of(kineto, call));
	}
	st_json_object_end(&json);
	st_json_object_end(&json);
	if (call != ST_NO_ROW && st_kineto_has_slice(kineto, call))
		add_flow(kineto, pid_tid, slices->begin_ns[slice], link_of(kineto, call), true);
}

enum st_status st_kineto_write_stream(struct st_kineto *kineto, uint32_t track,
				      struct st_error *err)
{
	const struct st_track *about = &kineto->tracks[track];
	const uint32_t pid_tid[2] = {device_of(kineto, track), about->tid};
	enum st_status status = ST_OK;

	for (uint32_t slice = about->row_begin; slice < about->row_end && !status; slice++) {
		kineto->stream.done++;
		write_item(kineto, slice, pid_tid);
		status = st_stream_spill(&kineto->stream, err);
	}
	if (!status && !st_kineto_write_ranges(kineto, track, pid_tid))
		status = st_stream_no_memory(&kineto->stream, err);
	return status;
}

void st_kineto_name_streams(struct st_kineto *kineto, st_kineto_namer *add)
{
	uint64_t named = 0; /* devices, a bit each */

	for (uint32_t track = 0; track < kineto->track_count; track++) {
		uint32_t device;
		char text[64];

		if (!st_kineto_is_stream(kineto, track))
			continue;
		device = device_of(kineto, track);
		if (device < 64 && !(named >> device & 1)) {
			named |= UINT64_C(1) << device;
			snprintf(text, sizeof(text), "GPU %u", device);
			add(kineto, &(struct st_kineto_row_name){"process_labels",
								 device,
								 0,
								 "labels",
								 {text, strlen(text)},
								 0});
			add(kineto, &(struct st_kineto_row_name){"process_sort_index",
								 device,
								 0,
								 "sort_index",
								 {0},
								 GPU_SORT_FIRST + device});
		}
		snprintf(text, sizeof(text), "stream %u ", kineto->tracks[track].tid);
		add(kineto, &(struct st_kineto_row_name){"thread_name",
							 device,
							 kineto->tracks[track].tid,
							 "name",
							 {text, strlen(text)},
							 0});
		add(kineto, &(struct st_kineto_row_name){"thread_sort_index",
							 device,
							 kineto->tracks[track].tid,
							 "sort_index",
							 {0},
							 kineto->tracks[track].tid});
	}
}
