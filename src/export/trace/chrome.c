// SPDX-License-Identifier: Apache-2.0
//
// Trace Event Format, as Perfetto, chrome://tracing and HolisticTraceAnalysis read it: one complete
// event ("X") per task, names of processes and threads as metadata, strict JSON, written as a stream.
// Times are microseconds with three decimals, so that no nanosecond is lost. Everything that is no task is
// chrome_events.c's.
//
// Where a pid or tid is not the real one (export/trace/thread_ids.h), that is in the arguments.
#include "export/exporters.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/words.h"
#include "export/trace/chrome_parts.h"

/* PyTorch's operators are what readers of its traces call cpu_op; everything else was put there by the
 * user. */
const char *st_chrome_category(const struct st_label *label)
{
	return label->category == ST_CATEGORY_OPERATOR ? "cpu_op" : "user_annotation";
}

static bool make_heads(struct st_chrome *chrome)
{
	chrome->head_ends = calloc((size_t)chrome->label_count + 1, sizeof(*chrome->head_ends));
	if (!chrome->head_ends)
		return false;
	for (uint32_t i = 0; i < chrome->label_count; i++) {
		struct st_text domain = st_result_text(chrome->result, chrome->labels[i].domain);
		struct st_text name = st_result_text(chrome->result, chrome->labels[i].name);
		struct st_json json;

		st_json_init(&json, &chrome->heads);
		st_json_object_begin(&json);
		st_json_put_text(&json, "ph", "X");
		st_json_put_text(&json, "cat", st_chrome_category(&chrome->labels[i]));
		st_json_put_bytes(&json, "name", name.bytes, name.size_bytes);
		st_json_put_object(&json, "args");
		st_json_put_bytes(&json, "domain", domain.bytes, domain.size_bytes);
		if (!st_utf8_is_valid(name.bytes, name.size_bytes)) {
			chrome->scratch.size_bytes = 0;
			st_text_escape(&chrome->scratch, name);
			st_json_put_bytes(&json, st_arg_words[ST_ARG_NAME_BYTES],
					  chrome->scratch.data, chrome->scratch.size_bytes);
		}
		chrome->head_ends[i] = chrome->heads.size_bytes;
	}
	return !chrome->heads.failed;
}

size_t st_chrome_format_u64(char *to, uint64_t value)
{
	char digits[20];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	for (size_t i = 0; i < count; i++)
		to[i] = digits[count - 1 - i];
	return count;
}

size_t st_chrome_format_us(char *to, int64_t ns)
{
	uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	size_t count = 0;

	if (ns < 0)
		to[count++] = '-';
	count += st_chrome_format_u64(to + count, value / 1000);
	to[count++] = '.';
	to[count++] = (char)('0' + value / 100 % 10);
	to[count++] = (char)('0' + value / 10 % 10);
	to[count++] = (char)('0' + value % 10);
	return count;
}

static size_t put(char *to, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, text, length);
	return length;
}

/* printf for every event would be most of an export's time. */
static void add_event(struct st_chrome *chrome, const struct st_slices *slices, uint32_t row)
{
	uint32_t label = slices->label[row], track = slices->track[row];
	uint32_t process = chrome->tracks[track].process;
	size_t head = label ? chrome->head_ends[label - 1] : 0;
	char line[512];
	size_t n = 0;

	st_buf_append(&chrome->out, ",\n", 2);
	st_buf_append(&chrome->out, chrome->heads.data + head, chrome->head_ends[label] - head);
	n += put(line + n, ",\"row\":");
	n += st_chrome_format_u64(line + n, row);
	if (slices->parent[row] != ST_NO_ROW) {
		n += put(line + n, ",\"parent\":");
		n += st_chrome_format_u64(line + n, slices->parent[row]);
	}
	if (slices->flags[row]) {
		n += put(line + n, ",\"flags\":\"");
		n += put(line + n, st_words_slice_flags(slices->flags[row]));
		n += put(line + n, "\"");
	}
	if (slices->flags[row] & ST_SLICE_CLIPPED) {
		n += put(line + n, ",\"recorded_ns\":");
		n += st_chrome_format_u64(line + n, st_result_wall_ns(chrome->result, row));
	}
	if (chrome->ids.pids[process] != chrome->processes[process].pid) {
		n += put(line + n, ",\"pid\":");
		n += st_chrome_format_u64(line + n, chrome->processes[process].pid);
	}
	if (chrome->ids.tids[track] != chrome->tracks[track].tid) {
		n += put(line + n, ",\"tid\":");
		n += st_chrome_format_u64(line + n, chrome->tracks[track].tid);
	}
	if (chrome->has_more_args) {
		st_buf_append(&chrome->out, line, n);
		st_chrome_slice_args(chrome, row);
		n = 0;
	}
	n += put(line + n, "},\"pid\":");
	n += st_chrome_format_u64(line + n, chrome->ids.pids[process]);
	n += put(line + n, ",\"tid\":");
	n += st_chrome_format_u64(line + n, chrome->ids.tids[track]);
	n += put(line + n, ",\"ts\":");
	n += st_chrome_format_us(line + n, slices->begin_ns[row]);
	n += put(line + n, ",\"dur\":");
	n += st_chrome_format_us(line + n, slices->end_ns[row] - slices->begin_ns[row]);
	n += put(line + n, "}");
	st_buf_append(&chrome->out, line, n);
	if (chrome->ties.flow_count)
		st_chrome_slice_flows(chrome, row);
}

struct metadata {
	const char *kind; /* "process_name" */
	uint32_t pid, tid, real_id;
	struct st_text name;
};

static void add_metadata(struct st_chrome *chrome, const struct metadata *metadata, bool first)
{
	struct st_json json;

	st_buf_append_text(&chrome->out, first ? "\n" : ",\n");
	st_json_init(&json, &chrome->out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "ph", "M");
	st_json_put_text(&json, "name", metadata->kind);
	st_json_put_u64(&json, "pid", metadata->pid);
	st_json_put_u64(&json, "tid", metadata->tid);
	st_json_put_object(&json, "args");
	st_json_put_bytes(&json, "name", metadata->name.bytes, metadata->name.size_bytes);
	st_json_put_u64(&json, "real_id", metadata->real_id);
	st_json_object_end(&json);
	st_json_object_end(&json);
}

static struct st_text name_or(struct st_text name, const char *otherwise)
{
	return name.size_bytes ? name : (struct st_text){otherwise, strlen(otherwise)};
}

static void add_all_metadata(struct st_chrome *chrome)
{
	for (uint32_t i = 0; i < chrome->process_count; i++) {
		const struct st_process *process = &chrome->processes[i];
		struct metadata metadata = {
			"process_name", chrome->ids.pids[i], chrome->ids.pids[i], process->pid,
			name_or(st_result_text(chrome->result, process->name), "process")};

		add_metadata(chrome, &metadata, i == 0);
	}
	for (uint32_t i = 0; i < chrome->track_count; i++) {
		const struct st_track *track = &chrome->tracks[i];
		bool is_main = chrome->processes[track->process].pid == track->tid;
		struct metadata metadata = {"thread_name", chrome->ids.pids[track->process],
					    chrome->ids.tids[i], track->tid,
					    name_or(st_result_text(chrome->result, track->name),
						    is_main ? "main" : "thread")};

		add_metadata(chrome, &metadata, false);
	}
}

enum st_status st_chrome_spill(struct st_chrome *chrome, size_t above, struct st_error *err)
{
	enum st_status status = ST_OK;

	if (chrome->out.failed || chrome->scratch.failed)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	if (chrome->out.size_bytes > above) {
		status = st_sink_write(chrome->sink, chrome->out.data, chrome->out.size_bytes, err);
		st_buf_clear(&chrome->out);
		st_sink_progress(chrome->sink, chrome->done, chrome->total);
	}
	return status;
}

static enum st_status write_trace(struct st_chrome *chrome, struct st_error *err)
{
	const struct st_slices *slices = st_result_slices(chrome->result);
	const struct st_result_info *info = st_result_info(chrome->result);
	enum st_status status = ST_OK;
	struct st_json json;

	/* HolisticTraceAnalysis looks for the rank with a pattern that wants the blank. */
	st_buf_append_text(&chrome->out, "{\"schemaVersion\": 1, \"displayTimeUnit\": \"ns\", "
					 "\"distributedInfo\": {\"rank\": 0, \"world_size\": 1},\n"
					 "\"strata\": ");
	st_json_init(&json, &chrome->out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "version", info->strata_version);
	st_json_put_text(&json, "result", info->name);
	st_json_put_text(&json, "command", info->command);
	st_json_put_text(&json, "started_at", info->started_at);
	st_json_put_u64(&json, "slices_dropped",
			st_result_quality(chrome->result)->loss.slices_dropped);
	if (chrome->counters.count)
		st_chrome_list_counters(chrome, &json);
	st_json_object_end(&json);
	st_buf_append_text(&chrome->out, ",\n\"traceEvents\": [");
	add_all_metadata(chrome);
	for (uint32_t row = 0; row < slices->count && !status; row++, chrome->done++) {
		if (!row || slices->track[row] != slices->track[row - 1])
			st_thing_args_track(&chrome->args, slices->track[row]);
		if (slices->flags[row] & ST_SLICE_TWIN)
			continue; /* the operator is there */
		add_event(chrome, slices, row);
		status = st_chrome_spill(chrome, ST_CHROME_SPILL_BYTES, err);
	}
	if (!status)
		status = st_chrome_write_events(chrome, err);
	if (!status)
		status = st_chrome_write_samples(chrome, &chrome->stacks, err);
	st_buf_append_text(&chrome->out, "\n]}\n");
	return status ? status : st_chrome_spill(chrome, 0, err);
}

static enum st_status prepare(struct st_chrome *chrome, struct st_error *err)
{
	enum st_status status = st_ties_make(&chrome->ties, chrome->result, err);

	if (status)
		return status;
	if (!st_thread_ids_init(&chrome->ids, chrome->result) || !make_heads(chrome) ||
	    !st_thing_args_init(&chrome->args, chrome->result, &chrome->ties) ||
	    !st_places_init(&chrome->places, chrome->result, &chrome->ties))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	chrome->args.write = st_chrome_arg;
	chrome->args.to = chrome;
	chrome->has_more_args = chrome->args.events->count || chrome->args.slice_callers;
	chrome->total = (uint64_t)chrome->args.slices->count + chrome->args.events->count +
			chrome->args.span_count + chrome->stacks.row_count;
	return st_chrome_make_counters(chrome, err);
}

enum st_status st_export_chrome(const struct st_result *result,
				const struct st_export_options *options, struct st_sink *sink,
				struct st_error *err)
{
	struct st_chrome chrome = {.result = result, .sink = sink};
	enum st_status status;

	chrome.processes = st_result_processes(result, &chrome.process_count);
	chrome.tracks = st_result_tracks(result, &chrome.track_count);
	chrome.labels = st_result_labels(result, &chrome.label_count);
	st_buf_init(&chrome.out, SIZE_MAX / 4);
	st_buf_init(&chrome.heads, SIZE_MAX / 4);
	st_buf_init(&chrome.scratch, SIZE_MAX / 4);
	status = st_stacks_init(&chrome.stacks, result, options, err);
	if (!status)
		status = prepare(&chrome, err);
	if (!status)
		status = write_trace(&chrome, err);
	if (chrome.has_counters)
		st_counters_fini(&chrome.counters);
	st_stacks_fini(&chrome.stacks);
	st_places_fini(&chrome.places);
	st_thing_args_fini(&chrome.args);
	st_ties_fini(&chrome.ties);
	st_buf_fini(&chrome.out);
	st_buf_fini(&chrome.heads);
	st_buf_fini(&chrome.scratch);
	free(chrome.head_ends);
	st_thread_ids_fini(&chrome.ids);
	return status;
}
