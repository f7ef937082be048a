// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target on the reader of results. The first byte chooses what the rest is:
//
//	0  the files as they are: u16 size of definitions.strata, u16 size of result.json, then these two
//	   and the trace. Exercises checksums, tears and the search for the next chunk.
//	1  a list of chunks without frames: u8 kind and file, u8 process, u8 track, u8 begins, u8 records,
//	   u16 payload size, payload. They are framed with good checksums, so that the fuzzer gets at what
//	   lies inside: definitions, slices, clock, pauses.
//	2  the meta block of an index: u8 rows, u8 events, then the block; the samples are a quarter of the
//	   first byte.
//	3  as 1, with u8 events behind the records; u8 number of the trace file comes first, so that files
//	   before it may be gone.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/rt/clock.h"
#include "format/chunk.h"
#include "store/events.h"
#include "store/index/index_meta.h"
#include "store/model/model.h"
#include "store/operators.h"
#include "store/result.h"
#include "store/samples.h"
#include "store/model/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

struct input {
	const uint8_t *at, *end;
};

enum { FILE_MAX_BYTES = 8 << 20 };

static uint8_t take_u8(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint16_t take_u16(struct input *in)
{
	uint8_t low = take_u8(in);

	return (uint16_t)(low | take_u8(in) << 8);
}

static struct st_text take_bytes(struct input *in, size_t size_bytes)
{
	struct st_text text = {.bytes = (const char *)in->at, .size_bytes = size_bytes};

	if (text.size_bytes > (size_t)(in->end - in->at))
		text.size_bytes = (size_t)(in->end - in->at);
	in->at += text.size_bytes;
	return text;
}

/* Everything a report could ask for. What is out of bounds, the sanitizers see. */
static void use_result(const struct st_result *result)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t tracks, labels, processes, count;
	const struct st_label *label = st_result_labels(result, &labels);
	const struct st_track *track = st_result_tracks(result, &tracks);
	volatile uint64_t sink = 0;

	st_result_processes(result, &processes);
	st_result_not_entered(result, &count);
	st_result_pauses(result, &count);
	for (uint32_t i = 0; i < tracks; i++)
		if (track[i].process >= processes || track[i].last_ns < track[i].first_ns)
			abort();
	for (uint32_t i = 0; i < slices->count; i++) {
		uint64_t wall = st_result_wall_ns(result, i);

		if (slices->label[i] >= labels || slices->track[i] >= tracks ||
		    slices->end_ns[i] < slices->begin_ns[i] || slices->begin_ns[i] < 0 ||
		    slices->self_ns[i] > wall ||
		    (slices->parent[i] != ST_NO_ROW && slices->parent[i] >= i))
			abort();
		sink += st_result_text(result, label[slices->label[i]].family).size_bytes + wall;
	}
	for (size_t i = 0; i < st_result_quality(result)->note_count; i++)
		sink += strlen(st_result_quality(result)->notes[i]);
	(void)sink;
}

static void need_row(uint32_t value, uint32_t count)
{
	if (value != ST_NO_ROW && value >= count)
		abort();
}

static void need_item(uint32_t value, uint32_t count)
{
	if (value && value >= count)
		abort();
}

struct counts {
	uint32_t ids, objects, syncs, facts, spans, callers, code, maps, tracks;
};

static void use_spans(const struct st_result *result, const struct counts *counts)
{
	uint32_t rows = st_result_slices(result)->count, events = st_result_events(result)->count;
	uint32_t count;
	const struct st_span *spans = st_result_spans(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct st_span *span = &spans[i];
		bool is_sync = span->kind == ST_SPAN_WAIT || span->kind == ST_SPAN_HOLD;

		if (!span->kind || span->kind >= ST_SPAN_KINDS || span->end_ns < span->begin_ns ||
		    span->event >= events || span->begin_ns < 0 ||
		    (i &&
		     (spans[i - 1].kind > span->kind ||
		      (spans[i - 1].kind == span->kind && spans[i - 1].begin_ns > span->begin_ns))))
			abort();
		need_row(span->begin_track, counts->tracks);
		need_row(span->end_track, counts->tracks);
		need_row(span->slice, rows);
		need_row(span->object, is_sync ? counts->syncs : counts->objects);
		need_item(span->id, counts->ids);
		need_item(span->parent, counts->ids);
		st_result_text(result, span->name);
	}
}

/* The same for everything that is not a slice. */
static void use_events(const struct st_result *result)
{
	const struct st_events *events = st_result_events(result);
	const uint32_t *callers = st_result_slice_callers(result);
	uint32_t rows = st_result_slices(result)->count;
	volatile uint64_t sink = 0;
	struct counts counts;
	const struct st_object *objects = st_result_objects(result, &counts.objects);
	const struct st_code *code = st_result_code(result, &counts.code);

	st_result_tracks(result, &counts.tracks);
	st_result_ids(result, &counts.ids);
	st_result_sync_objects(result, &counts.syncs);
	st_result_object_facts(result, &counts.facts);
	st_result_callers(result, &counts.callers);
	st_result_code_maps(result, &counts.maps);
	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];

		need_row(row->track, counts.tracks);
		need_row(row->slice, rows);
		need_row(row->object, counts.objects);
		need_item(row->id, counts.ids);
		need_item(row->other, counts.ids);
		sink += st_result_blob(result, row->data).size_bytes;
		sink += st_result_text(result, row->name).size_bytes;
		if (row->slice != ST_NO_ROW)
			sink += st_result_slice_event(result, row->slice, row->kind);
	}
	for (uint32_t i = 0; callers && i < rows; i++)
		need_item(callers[i], counts.callers);
	for (uint32_t i = 0; i < counts.objects; i++)
		need_row(objects[i].parent, counts.objects);
	for (uint32_t i = 0; i < counts.code; i++)
		for (uint32_t line = 0; line < 2 * code[i].line_count; line++)
			sink += code[i].lines[line];
	use_spans(result, &counts);
	(void)sink;
}

static void use_nodes(const struct st_result *result, uint32_t processes)
{
	const struct st_stack_nodes *nodes = st_result_stack_nodes(result);
	uint32_t codes, samplers;
	const struct st_python_code *code = st_result_python_codes(result, &codes);
	const struct st_sampler *sampler = st_result_samplers(result, &samplers);
	volatile uint64_t sink = 0;

	for (uint32_t i = 1; i < nodes->count; i++) {
		bool is_python = (nodes->kind[i] & ST_FRAME_KIND_MASK) == ST_FRAME_PYTHON;

		if (nodes->parent[i] >= i || nodes->process[i] >= processes ||
		    (is_python && (uint32_t)nodes->value[i] >= codes))
			abort();
		sink += nodes->line[i];
	}
	for (uint32_t i = 0; i < codes; i++) {
		if (code[i].process >= processes)
			abort();
		sink += st_result_text(result, code[i].file).size_bytes +
			st_result_text(result, code[i].name).size_bytes;
	}
	for (uint32_t i = 0; i < samplers; i++)
		if (sampler[i].process >= processes)
			abort();
	(void)sink;
}

/* Samples of a track lie together by time, and point at what is there. */
static void use_samples(const struct st_result *result)
{
	const struct st_samples *samples = st_result_samples(result);
	uint32_t tracks, processes, rows = st_result_slices(result)->count;
	const struct st_track *track = st_result_tracks(result, &tracks);

	st_result_processes(result, &processes);
	use_nodes(result, processes);
	for (uint32_t t = 0; t < tracks; t++) {
		need_row(st_result_track_creator(result, t), tracks);
		for (uint32_t i = samples->first_of_track[t]; i < samples->first_of_track[t + 1];
		     i++) {
			uint32_t slice = samples->slice[i];

			if (samples->track[i] != t || samples->time_ns[i] < 0 ||
			    samples->node[i] >= st_result_stack_nodes(result)->count ||
			    (i > samples->first_of_track[t] &&
			     samples->time_ns[i] < samples->time_ns[i - 1]) ||
			    (slice != ST_NO_ROW &&
			     (slice < track[t].row_begin || slice >= track[t].row_end ||
			      samples->inherited[i] != ST_NO_ROW)))
				abort();
			need_row(samples->inherited[i], rows);
		}
	}
	if (tracks && samples->first_of_track[tracks] != samples->count)
		abort();
}

/* Operators by row, moments by time; every input of every signature can be read. */
static void use_operators(const struct st_result *result)
{
	uint32_t rows = st_result_slices(result)->count, count, signatures, tracks, processes;
	const struct st_signature *signature = st_result_signatures(result, &signatures);
	const struct st_operator *items = st_result_operators(result, &count);
	const struct st_memory_moment *moments;
	const struct st_operator_source *sources;

	st_result_tracks(result, &tracks);
	st_result_processes(result, &processes);
	for (uint32_t i = 0; i < count; i++) {
		if (items[i].row >= rows || (i && items[i].row <= items[i - 1].row) ||
		    st_result_operator_of(result, items[i].row) != &items[i])
			abort();
		need_row(items[i].signature, signatures);
	}
	moments = st_result_memory(result, &count);
	for (uint32_t i = 0; i < count; i++) {
		if (moments[i].track >= tracks ||
		    (i && moments[i].time_ns < moments[i - 1].time_ns))
			abort();
		need_row(moments[i].row, rows);
	}
	for (uint32_t i = 0; i < signatures; i++) {
		struct st_input_reader reader;
		struct st_input input;
		uint32_t left = signature[i].input_count;

		if (signature[i].process >= processes)
			abort();
		for (st_input_begin(&reader, &signature[i]); st_input_next(&reader, &input); left--)
			left += input.list;
		if (left || reader.at != reader.end)
			abort();
	}
	sources = st_result_operator_sources(result, &count);
	for (uint32_t i = 0; i < count; i++)
		if (sources[i].process >= processes)
			abort();
}

static struct st_source_file file_of(const char *name, struct st_text bytes)
{
	struct st_source_file file = {.exists = true,
				      .data = (const uint8_t *)bytes.bytes,
				      .size_bytes = bytes.size_bytes};

	memcpy(file.name, name, strlen(name));
	return file;
}

static void open_files(struct st_text definitions, struct st_text json, struct st_text trace,
		       uint32_t number)
{
	struct st_source source = {.path = "fuzz", .dir_fd = -1};
	struct st_error err = {0};
	struct st_result *result;

	source.segments = calloc(1, sizeof(*source.segments));
	if (!source.segments)
		return;
	source.segment_count = 1;
	source.segments[0] = file_of("trace.000.strata", trace);
	source.segments[0].number = source.missing_first = number;
	source.definitions = file_of("definitions.strata", definitions);
	source.json = file_of("result.json", json);
	if (st_result_open_source(&result, &source, NULL, &err) == ST_OK) {
		use_result(result);
		use_events(result);
		use_samples(result);
		use_operators(result);
	} else if (!err.status || !err.text[0]) {
		abort(); /* refused without a word */
	}
	st_result_close(result);
}

static void fuzz_files(struct input in)
{
	uint16_t definitions_bytes = take_u16(&in), json_bytes = take_u16(&in);
	struct st_text definitions = take_bytes(&in, definitions_bytes);
	struct st_text json = take_bytes(&in, json_bytes);

	open_files(definitions, json, take_bytes(&in, SIZE_MAX), 0);
}

static void add_head(struct st_packer *packer, struct st_buf *file, uint32_t kind)
{
	struct st_chunk_header header = {.type = ST_CHUNK_FILE, .record_count = 1};
	struct st_file_head head = {
		.file_kind = kind, .clock = ST_CLOCK_TSC, .ticks_per_second = 1000000000};

	st_packer_append(packer, &header, &head, sizeof(head), file, NULL);
}

static void add_chunk(struct st_packer *packer, struct st_buf files[2], struct input *in,
		      bool has_events)
{
	struct st_chunk_header header = {0};
	uint8_t kind = take_u8(in);
	struct st_text payload;

	header.type = kind & 0x7f;
	header.process = take_u8(in);
	header.track = take_u8(in);
	header.begin_count = take_u8(in);
	header.record_count = take_u8(in);
	if (has_events)
		header.event_count = take_u8(in);
	header.last_time = UINT64_MAX >> (header.track & 0x3f);
	payload = take_bytes(in, take_u16(in));
	st_packer_append(packer, &header, payload.bytes, payload.size_bytes, &files[kind >> 7],
			 NULL);
}

static void fuzz_chunks(struct input in, bool has_events)
{
	uint32_t number = has_events ? take_u8(&in) : 0;
	struct st_packer *packer = NULL;
	struct st_buf files[2];

	if (st_packer_create(&packer, NULL))
		return;
	st_buf_init(&files[0], FILE_MAX_BYTES);
	st_buf_init(&files[1], FILE_MAX_BYTES);
	add_head(packer, &files[0], ST_FILE_TRACE);
	add_head(packer, &files[1], ST_FILE_DEFINITIONS);
	while (in.at < in.end)
		add_chunk(packer, files, &in, has_events);
	open_files((struct st_text){(const char *)files[1].data, files[1].size_bytes},
		   (struct st_text){"{}", 2},
		   (struct st_text){(const char *)files[0].data, files[0].size_bytes}, number);
	st_buf_fini(&files[0]);
	st_buf_fini(&files[1]);
	st_packer_destroy(packer);
}

/* Sections of any content behind columns without rows, then the block. */
static void fuzz_meta(struct input in)
{
	static _Alignas(64) uint8_t sections[ST_SECTIONS_MAX][256];
	struct st_index_meta meta;
	struct st_model model;
	struct st_index index = {0};

	for (unsigned int i = 0; i < ST_SECTIONS_MAX; i++) {
		size_t bytes = take_u8(&in), left = (size_t)(in.end - in.at);

		bytes = bytes < left ? bytes : left;
		memcpy(sections[i], in.at, bytes);
		in.at += bytes;
		index.sections[i] = (struct st_index_block){sections[i], bytes};
	}
	index.meta = in.at;
	index.meta_bytes = (size_t)(in.end - in.at);
	if (st_model_init(&model) && st_index_meta_read(&meta, &model, &index))
		st_index_meta_fini(&meta);
	st_model_fini(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct input in = {.at = data, .end = data + size_bytes};
	uint8_t first = take_u8(&in);

	switch (first % 4) {
	case 0:
		fuzz_files(in);
		break;
	case 1:
		fuzz_chunks(in, false);
		break;
	case 2:
		fuzz_meta(in);
		break;
	default:
		fuzz_chunks(in, true);
	}
	return 0;
}
