// SPDX-License-Identifier: Apache-2.0
//
// pprof's profile.proto, gzipped. Samples with the same stack, thread and task are one, with how many they were
// and their CPU time; labels say the thread, the process and the task. A location is a place in the code with all
// functions that were inlined there; addresses are those of the ELF file, so that a mapping begins at 0.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/vec.h"
#include "analyze/stacks/stacks.h"
#include "export/exporters.h"
#include "export/protobuf.h"
#include "export/stream.h"
#include "store/key_table.h"
#include "store/text_table.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_NAME = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	MAPPING_ID = 1,
	MAPPING_LIMIT = 3, /* begins at 0 */
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_INLINES = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
	FUNCTION_LINE = 5,
};

enum { PAGE = 4096 };

struct pprof {
	struct st_stacks stacks;
	struct st_stream stream;
	struct st_buf *out, *scratch;
	struct st_text_table strings;
	struct st_key_table samples; /* leaf, track, task: samples with the same are one */
	uint64_t *sums;		     /* count and CPU time of each of them */
	uint32_t sum_capacity;
	struct st_key_table places; /* ids of locations less one */
	uint32_t *location_of;	    /* by innermost frame of the location; 0: none yet */
	uint8_t *is_used;	    /* by function */
	uint64_t *limits;	    /* by module: end of the addresses in use */
};

static uint64_t string_of(struct pprof *to, struct st_text text)
{
	st_string_id id = 0;

	if (!st_text_table_add(&to->strings, text.bytes, text.size_bytes, &id))
		to->out->failed = true;
	return id;
}

static uint64_t word_of(struct pprof *to, const char *word)
{
	return string_of(to, (struct st_text){word, strlen(word)});
}

static uint64_t scratch_string(struct pprof *to)
{
	return string_of(to, st_stream_text(&to->stream));
}

static const char *kind_of(const struct pprof *to)
{
	return to->stacks.is_of_waits ? "wait" : "cpu";
}

static void add_type(struct pprof *to, uint32_t field, const char *name, const char *unit)
{
	size_t type = st_pb_begin(to->out, field);

	st_pb_u64(to->out, TYPE_NAME, word_of(to, name));
	st_pb_u64(to->out, TYPE_UNIT, word_of(to, unit));
	st_pb_end(to->out, type);
}

static void add_function(struct pprof *to, uint32_t index)
{
	const struct st_named *named = to->stacks.named;
	const struct st_named_function *function = &named->functions[index];
	size_t message;

	to->scratch->size_bytes = 0;
	if (index)
		st_stacks_label_text(&to->stacks, (struct st_stack_label){index, 0, 0},
				     to->scratch);
	else
		st_buf_append_text(to->scratch, "[no frame shown]");
	message = st_pb_begin(to->out, PROFILE_FUNCTION);
	st_pb_u64(to->out, FUNCTION_ID, (uint64_t)index + 1);
	st_pb_u64(to->out, FUNCTION_NAME, scratch_string(to));
	st_pb_u64(to->out, FUNCTION_SYSTEM_NAME,
		  string_of(to, function->mangled.size_bytes ? function->mangled : function->name));
	if (function->source)
		st_pb_u64(to->out, FUNCTION_FILE, string_of(to, named->sources[function->source]));
	if (function->line)
		st_pb_u64(to->out, FUNCTION_LINE, function->line);
	st_pb_end(to->out, message);
	to->is_used[index] = true;
}

/* The frame that called the code of the location, and how many functions are inlined in one there. */
static uint32_t end_of_location(const struct pprof *to, uint32_t frame, uint32_t *lines)
{
	const struct st_named_frame *frames = to->stacks.named->frames;
	uint32_t at = frame;

	/* A sample without a frame has a line that says so. */
	for (*lines = !frame; at && frames[at].node == frames[frame].node; (*lines)++)
		at = st_stacks_caller(&to->stacks, at);
	return at;
}

static void add_location(struct pprof *to, uint32_t frame, uint64_t id, uint32_t lines)
{
	const struct st_named *named = to->stacks.named;
	const struct st_named_frame *at = &named->frames[frame];
	uint32_t module = named->functions[at->function].module;
	bool is_python = named->functions[at->function].kind == ST_FUNCTION_PYTHON;
	size_t message;

	for (uint32_t i = 0, f = frame; i < lines; i++, f = st_stacks_caller(&to->stacks, f))
		if (!to->is_used[named->frames[f].function])
			add_function(to, named->frames[f].function);
	message = st_pb_begin(to->out, PROFILE_LOCATION);
	st_pb_u64(to->out, LOCATION_ID, id);
	if (!is_python) {
		st_pb_u64(to->out, LOCATION_MAPPING, module);
		st_pb_u64(to->out, LOCATION_ADDRESS, at->address);
		if (module && at->address >= to->limits[module])
			to->limits[module] = at->address + 1;
	}
	for (uint32_t i = 0; i < lines; i++, frame = st_stacks_caller(&to->stacks, frame)) {
		size_t line = st_pb_begin(to->out, LOCATION_LINE);

		at = &named->frames[frame];
		st_pb_u64(to->out, LINE_FUNCTION, (uint64_t)at->function + 1);
		if (at->line)
			st_pb_u64(to->out, LINE_LINE, at->line);
		st_pb_end(to->out, line);
	}
	st_pb_end(to->out, message);
}

/* The location of a frame and of those inlined around it; *next is the frame that called it. */
static uint32_t location_of(struct pprof *to, uint32_t frame, uint32_t *next)
{
	const struct st_named_frame *at = &to->stacks.named->frames[frame];
	const struct st_named_function *function = &to->stacks.named->functions[at->function];
	uint32_t lines, known = to->places.count, place;

	*next = end_of_location(to, frame, &lines);
	if (to->location_of[frame])
		return to->location_of[frame];
	place = st_key_table_add(&to->places, (uint64_t)at->function << 32 | function->module,
				 function->kind == ST_FUNCTION_PYTHON ? UINT64_MAX : at->address,
				 (uint64_t)lines << 32 | at->line);
	if (place == ST_ID_NONE) {
		to->out->failed = true;
		return 0;
	}
	if (place == known)
		add_location(to, frame, (uint64_t)place + 1, lines);
	to->location_of[frame] = place + 1;
	return place + 1;
}

/* Keys, units and texts of labels never change: only the text of scratch is looked up. */
static void add_label(struct pprof *to, const char *key, uint64_t text)
{
	size_t label = st_pb_begin(to->out, SAMPLE_LABEL);

	st_pb_u64(to->out, LABEL_KEY, word_of(to, key));
	st_pb_u64(to->out, LABEL_TEXT, text);
	st_pb_end(to->out, label);
}

static void add_labels(struct pprof *to, uint32_t track, uint64_t task)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(to->stacks.result, &count);

	to->scratch->size_bytes = 0;
	st_stacks_thread_text(&to->stacks, track, to->scratch);
	add_label(to, "thread", scratch_string(to));
	to->scratch->size_bytes = 0;
	st_stacks_process_text(&to->stacks, to->stacks.tracks[track].process, to->scratch);
	add_label(to, "process", scratch_string(to));
	if (task >> 1 >= count)
		return;
	add_label(to, "task",
		  string_of(to, st_result_text(to->stacks.result, labels[task >> 1].name)));
	add_label(to, "task_domain",
		  string_of(to, st_result_text(to->stacks.result, labels[task >> 1].domain)));
	/* Of a worker thread: the task of the thread that started it. */
	if (task & 1)
		add_label(to, "task_of", word_of(to, "creator"));
}

static void add_packed(struct st_buf *out, uint64_t value)
{
	while (value >= 0x80) {
		st_buf_append_u8(out, (uint8_t)(value | 0x80));
		value >>= 7;
	}
	st_buf_append_u8(out, (uint8_t)value);
}

/* Locations of the stack are defined before the sample: they may need room of their own in the output. */
static void add_sample(struct pprof *to, uint32_t index, struct st_buf *stack)
{
	const struct st_key *key = &to->samples.keys[index];
	size_t message, packed;

	stack->size_bytes = 0;
	for (uint32_t frame = (uint32_t)key->d[0], next;; frame = next) {
		add_packed(stack, location_of(to, frame, &next));
		if (!next)
			break;
	}
	message = st_pb_begin(to->out, PROFILE_SAMPLE);
	packed = st_pb_begin(to->out, SAMPLE_LOCATION);
	st_buf_append(to->out, stack->data, stack->size_bytes);
	st_pb_end(to->out, packed);
	packed = st_pb_begin(to->out, SAMPLE_VALUE);
	add_packed(to->out, to->sums[2 * (size_t)index]);
	add_packed(to->out, to->sums[2 * (size_t)index + 1]);
	st_pb_end(to->out, packed);
	add_labels(to, (uint32_t)key->d[1], key->d[2]);
	st_pb_end(to->out, message);
	to->out->failed |= stack->failed;
}

static bool sum_samples(struct pprof *to)
{
	for (uint32_t i = 0; i < to->stacks.row_count; i++) {
		uint32_t row = to->stacks.rows[i], known = to->samples.count, index, task;
		bool is_inherited;

		task = st_stacks_task(&to->stacks, row, &is_inherited);
		index = st_key_table_add(&to->samples, st_stacks_leaf(&to->stacks, row),
					 to->stacks.samples->track[row],
					 task == ST_NO_ROW ? UINT64_MAX
							   : (uint64_t)task << 1 | is_inherited);
		if (index == ST_ID_NONE || !ST_VEC_ROOM(to->sums, 2 * index + 1, to->sum_capacity))
			return false;
		if (index == known)
			memset(to->sums + 2 * (size_t)index, 0, 2 * sizeof(*to->sums));
		to->sums[2 * (size_t)index]++;
		to->sums[2 * (size_t)index + 1] += to->stacks.samples->weight_ns[row];
	}
	return true;
}

static void add_mapping(struct pprof *to, uint32_t index)
{
	const struct st_named_module *module = &to->stacks.named->modules[index];
	size_t message = st_pb_begin(to->out, PROFILE_MAPPING);

	st_pb_u64(to->out, MAPPING_ID, index);
	st_pb_u64(to->out, MAPPING_LIMIT, (to->limits[index] + PAGE - 1) / PAGE * PAGE);
	st_pb_u64(to->out, MAPPING_FILE,
		  string_of(to, module->path.size_bytes ? module->path : module->name));
	to->scratch->size_bytes = 0;
	for (size_t i = 0; i < module->build_id.size_bytes; i++)
		st_buf_printf(to->scratch, "%02x", (unsigned char)module->build_id.bytes[i]);
	if (to->scratch->size_bytes)
		st_pb_u64(to->out, MAPPING_BUILD_ID, scratch_string(to));
	/* All that can be named is named: functions, files, lines, inlined ones. */
	for (uint32_t field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES; field++)
		st_pb_u64(to->out, field, 1);
	st_pb_end(to->out, message);
}

/* Readers take the first mapping for the program. */
static void write_mappings(struct pprof *to)
{
	const struct st_named *named = to->stacks.named;
	struct st_text program = {"", 0};
	uint32_t first = 0;

	if (to->stacks.process_count)
		program = st_result_text(to->stacks.result, to->stacks.processes[0].executable);
	for (uint32_t i = 1; i < named->module_count && !first; i++) {
		struct st_text path = named->modules[i].path;

		if (to->limits[i] && path.size_bytes == program.size_bytes &&
		    !memcmp(path.bytes, program.bytes, path.size_bytes))
			first = i;
	}
	if (first)
		add_mapping(to, first);
	for (uint32_t i = 1; i < named->module_count; i++) {
		if (to->limits[i] && i != first)
			add_mapping(to, i);
	}
}

static void add_comment(struct pprof *to, const char *what, uint64_t count)
{
	to->scratch->size_bytes = 0;
	st_buf_append_text(to->scratch, what);
	st_buf_append_count(to->scratch, count);
	st_pb_u64(to->out, PROFILE_COMMENT, scratch_string(to));
}

static void add_facts(struct pprof *to)
{
	const struct st_result_info *info = st_result_info(to->stacks.result);
	uint32_t count;
	const struct st_sampler *samplers = st_result_samplers(to->stacks.result, &count);
	struct tm when = {0};

	if (strptime(info->started_at, "%Y-%m-%dT%H:%M:%S", &when))
		st_pb_i64(to->out, PROFILE_TIME_NS, (int64_t)timegm(&when) * 1000000000);
	st_pb_i64(to->out, PROFILE_DURATION_NS, info->elapsed_ns);
	add_type(to, PROFILE_PERIOD_TYPE, kind_of(to), "nanoseconds");
	st_pb_u64(to->out, PROFILE_PERIOD, count ? samplers[0].period_ns : 0);
	st_pb_u64(to->out, PROFILE_COMMENT, word_of(to, info->command));
	add_comment(to, "stacks truncated: ", to->stacks.truncated);
	add_comment(to,
		    "stacks with recovered frames (likely, not certain): ", to->stacks.recovered);
	add_comment(to, "samples lost: ", st_result_sample_quality(to->stacks.result)->dropped);
	st_pb_u64(to->out, PROFILE_DEFAULT_TYPE, word_of(to, kind_of(to)));
}

static enum st_status write_strings(struct pprof *to, struct st_error *err)
{
	enum st_status status = ST_OK;

	for (uint32_t i = 0; i < to->strings.count && !status; i++) {
		struct st_text text = st_text_table_get(&to->strings, i);

		st_pb_text(to->out, PROFILE_STRING, text.bytes, text.size_bytes);
		status = st_stream_spill(&to->stream, err);
	}
	return status;
}

static enum st_status write_all(struct pprof *to, struct st_error *err)
{
	enum st_status status = ST_OK;
	struct st_buf stack;

	st_buf_init(&stack, SIZE_MAX / 4);
	add_type(to, PROFILE_SAMPLE_TYPE, "samples", "count");
	add_type(to, PROFILE_SAMPLE_TYPE, kind_of(to), "nanoseconds");
	to->stream.total = to->samples.count;
	for (uint32_t i = 0; i < to->samples.count && !status; i++) {
		add_sample(to, i, &stack);
		status = st_stream_spill(&to->stream, err);
		to->stream.done = i;
	}
	st_buf_fini(&stack);
	write_mappings(to);
	add_facts(to);
	return status ? status : write_strings(to, err);
}

static bool prepare(struct pprof *to)
{
	const struct st_named *named = to->stacks.named;

	to->location_of = calloc((size_t)named->frame_count + 1, sizeof(*to->location_of));
	to->is_used = calloc((size_t)named->function_count + 1, 1);
	to->limits = calloc((size_t)named->module_count + 1, sizeof(*to->limits));
	return to->location_of && to->is_used && to->limits && st_text_table_init(&to->strings) &&
	       sum_samples(to);
}

enum st_status st_export_pprof(const struct st_result *result,
			       const struct st_export_options *options, struct st_sink *sink,
			       struct st_error *err)
{
	struct pprof to = {.out = &to.stream.out, .scratch = &to.stream.scratch};
	enum st_status status =
		st_stacks_need(&to.stacks, result, options->question, &options->view, err);

	st_stream_init(&to.stream, sink, "the export");
	if (!status)
		status = st_sink_pack(sink, err);
	if (!status && !prepare(&to))
		status = st_stream_no_memory(&to.stream, err);
	if (!status)
		status = write_all(&to, err);
	st_text_table_fini(&to.strings);
	st_key_table_fini(&to.samples);
	st_key_table_fini(&to.places);
	free(to.sums);
	free(to.location_of);
	free(to.is_used);
	free(to.limits);
	st_stacks_fini(&to.stacks);
	return st_stream_end(&to.stream, status, err);
}
