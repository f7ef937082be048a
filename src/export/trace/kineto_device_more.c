// SPDX-License-Identifier: Apache-2.0
//
// What Kineto's form has of devices beside what ran on them: what they are, what calls waited for ("cuda_sync"), what the
// driver took for itself ("overhead"), and the ranges of the program once more, over what was launched in them
// ("gpu_user_annotation").
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/device_gaps.h"
#include "base/json_out.h"
#include "base/vec.h"
#include "export/trace/kineto_parts.h"
#include "store/devices.h"

void st_kineto_add_devices(struct st_kineto *kineto, struct st_json *json)
{
	uint32_t count;
	const struct st_device_about *abouts = st_result_device_abouts(kineto->result, &count);

	st_json_put_array(json, "deviceProperties");
	for (uint32_t i = 0; i < count; i++) {
		const struct st_device_about *about = &abouts[i];
		struct st_text name = st_result_text(kineto->result, about->name);

		st_json_object_begin(json);
		st_json_put_u64(json, "id", about->device);
		st_json_put_bytes(json, "name", name.bytes, name.size_bytes);
		st_json_put_u64(json, "totalGlobalMem", about->memory_bytes);
		st_json_put_u64(json, "computeMajor", about->version >> 8);
		st_json_put_u64(json, "computeMinor", about->version & 255);
		st_json_put_u64(json, "maxThreadsPerMultiprocessor", about->threads);
		st_json_put_u64(json, "regsPerBlock", about->block_registers);
		st_json_put_u64(json, "warpSize", about->warp);
		st_json_put_u64(json, "sharedMemPerBlock", about->block_shared_bytes);
		st_json_put_u64(json, "numSms", about->processors);
		st_json_put_u64(json, "regsPerMultiprocessor", about->registers);
		st_json_put_u64(json, "sharedMemPerMultiprocessor", about->shared_bytes);
		st_json_object_end(json);
	}
	st_json_array_end(json);
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

static void add_times(struct st_kineto *kineto, struct st_json *json, int64_t begin_ns,
		      int64_t end_ns)
{
	st_json_key(json, "ts");
	st_kineto_add_us(json, st_kineto_time(kineto, begin_ns));
	st_json_key(json, "dur");
	st_kineto_add_us(json, end_ns - begin_ns);
}

/* The device that a context is of: that of a stream of it. */
static uint32_t device_of_context(const struct st_kineto *kineto, uint32_t process,
				  uint32_t context)
{
	for (uint32_t i = 0; i < kineto->track_count; i++) {
		const struct st_device_item *item;

		if (kineto->tracks[i].process != process || !st_kineto_is_stream(kineto, i))
			continue;
		item = st_result_device_item_of(kineto->result, kineto->tracks[i].row_begin);
		if (item && item->context == context)
			return item->device;
	}
	return 0;
}

void st_kineto_write_wait(struct st_kineto *kineto, uint32_t slice)
{
	static const char *const words[ST_WAITS] = {"", "Event Sync", "Stream Wait Event",
						    "Stream Sync", "Context Sync"};
	const struct st_slices *slices = kineto->slices;
	const struct st_device_item *item = st_result_device_item_of(kineto->result, slice);
	uint32_t process = kineto->tracks[slices->track[slice]].process;
	struct st_json json;
	int64_t stream;
	uint32_t device;
	const char *word;

	/* Kineto has these of CUDA. */
	if (!item || item->flags & ST_DEVICE_MAKERS || !item->waits_for ||
	    item->waits_for >= ST_WAITS)
		return;
	word = words[item->waits_for];
	stream = item->stream == ST_DEVICE_NO_STREAM ? -1 : (int64_t)item->stream;
	device = device_of_context(kineto, process, item->context);
	begin_event(kineto, &json, "cuda_sync", (struct st_text){word, strlen(word)});
	st_json_put_u64(&json, "pid", device);
	st_json_put_i64(&json, "tid", stream);
	add_times(kineto, &json, slices->begin_ns[slice], slices->end_ns[slice]);
	st_json_put_object(&json, "args");
	st_json_put_text(&json, "cuda_sync_kind", word);
	if (item->waits_for == ST_WAIT_EVENT || item->waits_for == ST_WAIT_STREAM_EVENT) {
		/* Which stream recorded the event is not known. */
		st_json_put_i64(&json, "wait_on_stream", -1);
		st_json_put_i64(&json, "wait_on_cuda_event_record_corr_id", -1);
		st_json_put_u64(&json, "wait_on_cuda_event_id", item->graph);
	}
	st_json_put_i64(&json, "stream", stream);
	st_json_put_u64(&json, "correlation", item->correlation);
	st_json_put_u64(&json, "device", device);
	st_json_put_u64(&json, "context", item->context);
	st_json_object_end(&json);
	st_json_object_end(&json);
}

void st_kineto_write_overhead(struct st_kineto *kineto, uint32_t slice, struct st_text name)
{
	struct st_json json;

	begin_event(kineto, &json, "overhead", name);
	st_json_put_i64(&json, "pid", -1);
	st_json_put_u64(&json, "tid", 0);
	add_times(kineto, &json, kineto->slices->begin_ns[slice], kineto->slices->end_ns[slice]);
	st_json_object_end(&json);
}

/* Something that was launched in a range. */
struct launched {
	uint32_t range; /* slice */
	int64_t begin_ns, end_ns;
};

static int by_range(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;

	return (x->range > y->range) - (x->range < y->range);
}

static uint32_t external_of(const struct st_kineto *kineto, uint32_t slice)
{
	uint32_t row = kineto->rows->row_of_slice[slice];

	return row == ST_NO_ROW ? 0 : kineto->externals[row];
}

static bool add_ranges(const struct st_kineto *kineto, uint32_t slice, struct launched **found,
		       uint32_t counts[2])
{
	uint32_t label_count, at = st_kineto_launch_of(kineto, slice);
	const struct st_label *labels = st_result_labels(kineto->result, &label_count);

	for (; at != ST_NO_ROW; at = kineto->slices->parent[at]) {
		const struct launched one = {at, kineto->slices->begin_ns[slice],
					     kineto->slices->end_ns[slice]};

		if (st_category_is_range(labels[kineto->slices->label[at]].category) &&
		    external_of(kineto, at) && !ST_VEC_PUSH(*found, counts[0], counts[1], one))
			return false;
	}
	return true;
}

static void write_range(struct st_kineto *kineto, const struct launched *one,
			const uint32_t pid_tid[2])
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(kineto->result, &count);
	struct st_text name =
		st_result_text(kineto->result, labels[kineto->slices->label[one->range]].name);
	struct st_json json;

	begin_event(kineto, &json, "gpu_user_annotation", name);
	st_json_put_u64(&json, "pid", pid_tid[0]);
	st_json_put_u64(&json, "tid", pid_tid[1]);
	/* A little longer, so that it is around them. */
	add_times(kineto, &json, one->begin_ns - 1, one->end_ns + 1);
	st_json_put_object(&json, "args");
	st_json_put_u64(&json, "External id", external_of(kineto, one->range));
	st_json_object_end(&json);
	st_json_object_end(&json);
}

bool st_kineto_write_ranges(struct st_kineto *kineto, uint32_t track, const uint32_t pid_tid[2])
{
	const struct st_track *about = &kineto->tracks[track];
	struct launched *found = NULL;
	uint32_t counts[2] = {0, 0};
	bool done = true;

	for (uint32_t slice = about->row_begin; slice < about->row_end && done; slice++)
		if (st_kineto_has_slice(kineto, slice))
			done = add_ranges(kineto, slice, &found, counts);
	if (counts[0])
		qsort(found, counts[0], sizeof(*found), by_range);
	for (uint32_t i = 0; i < counts[0] && done; i++) {
		struct launched one = found[i];

		for (; i + 1 < counts[0] && found[i + 1].range == one.range; i++) {
			if (found[i + 1].begin_ns < one.begin_ns)
				one.begin_ns = found[i + 1].begin_ns;
			if (found[i + 1].end_ns > one.end_ns)
				one.end_ns = found[i + 1].end_ns;
		}
		write_range(kineto, &one, pid_tid);
	}
	free(found);
	return done;
}
