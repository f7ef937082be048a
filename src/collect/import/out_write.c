// SPDX-License-Identifier: Apache-2.0
//
// An import as a result folder (collect/import/out.h): times are nanoseconds of the recorder's clock, and time 0 is
// the first sample or slice.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "base/rt/clock.h"
#include "collect/import/out.h"
#include "format/chunk.h"
#include "format/event.h"
#include "format/shm.h"
#include "store/writer.h"

enum {
	JSON_MAX_BYTES = 4 << 20,
	RECORDS_FLUSH_BYTES = 1 << 20,
	SYMBOL_BYTES = 16,
	JIT_METHOD_LOADED = 13,
	GAP_MAX = 4,	      /* nominal intervals that a thread may have run without a sample */
	DELTAS_MAX = 1 << 20, /* as many are looked at for the usual one */
};
static const uint64_t symbols_begin = 1ull << 44;

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_running(const struct st_sample_record *sample)
{
	return !(sample->flags & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE));
}

/* The time from one sample of a thread to its next, as it is most of the time. */
static uint64_t usual_delta(const struct st_import_out *out)
{
	uint64_t *deltas = malloc((size_t)DELTAS_MAX * sizeof(*deltas)), usual = 0;
	uint32_t count = 0;

	for (uint32_t t = 0; deltas && t < out->thread_count; t++) {
		const struct st_import_thread *thread = &out->threads[t];

		for (uint32_t i = 1; i < thread->sample_count && count < DELTAS_MAX; i++)
			if (thread->samples[i].time > thread->samples[i - 1].time)
				deltas[count++] =
					thread->samples[i].time - thread->samples[i - 1].time;
	}
	if (count) {
		qsort(deltas, count, sizeof(*deltas), by_value);
		usual = deltas[count / 2];
	}
	free(deltas);
	return usual;
}

static void weigh_thread(struct st_import_thread *thread, uint64_t nominal_ns)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < thread->sample_count; i++) {
		struct st_sample_record *sample = &thread->samples[i];
		uint64_t delta = sample->time - last;

		if (!is_running(sample))
			continue;
		if (!sample->weight_ns) {
			sample->weight_ns =
				last && delta && delta <= GAP_MAX * nominal_ns ? delta : nominal_ns;
			sample->flags |= ST_SAMPLE_WEIGHT_NOMINAL;
		}
		last = sample->time;
	}
}

void st_import_weigh(struct st_import_out *out)
{
	uint64_t nominal_ns = out->nominal_ns ? out->nominal_ns : usual_delta(out);

	if (!nominal_ns)
		nominal_ns = 1000000; /* a single sample of who knows what */
	if (!out->nominal_ns)
		out->nominal_ns = nominal_ns;
	for (uint32_t i = 0; i < out->thread_count; i++)
		weigh_thread(&out->threads[i], nominal_ns);
}

static void flush(struct st_import_sink *w)
{
	if (w->record_count)
		st_store_writer_definitions(w->writer, w->process_id, w->first, w->record_count,
					    &w->records);
	w->out->no_memory |= w->records.failed;
	st_buf_clear(&w->records);
	w->record_count = 0;
}

size_t st_import_define(struct st_import_sink *w, enum st_definition_type type)
{
	if (w->records.size_bytes >= RECORDS_FLUSH_BYTES)
		flush(w);
	w->record_count++;
	return st_definition_begin(&w->records, type);
}

void st_import_put_text(struct st_import_sink *w, st_string_id id)
{
	struct st_text text = st_text_table_get(&w->out->texts, id);

	st_definition_text(&w->records, text.bytes, text.size_bytes);
}

static uint32_t parent_id(const struct st_import_out *out, uint32_t process)
{
	uint32_t at = out->processes[process].parent;

	for (unsigned int i = 0; i < 4096 && at != ST_IMPORT_NONE; i++) {
		if (out->processes[at].id)
			return out->processes[at].id;
		at = out->processes[at].parent;
	}
	return 0;
}

/* The program itself: the mapping that has the name of the process, else the first. */
static st_string_id executable_of(const struct st_import_out *out,
				  const struct st_import_process *process)
{
	struct st_text name = st_text_table_get(&out->texts, process->name);

	for (uint32_t i = 0; i < process->history_count; i++) {
		struct st_text path = st_text_table_get(&out->texts, process->history[i].path);
		const char *base = memrchr(path.bytes, '/', path.size_bytes);
		size_t left = base ? (size_t)(path.bytes + path.size_bytes - base - 1) : 0;

		if (left && name.size_bytes && left >= name.size_bytes &&
		    memcmp(base + 1, name.bytes, name.size_bytes) == 0)
			return process->history[i].path;
	}
	return process->history_count ? process->history[0].path : 0;
}

static void write_process(struct st_import_sink *w, uint32_t index)
{
	const struct st_import_process *process = &w->out->processes[index];
	uint32_t parent = parent_id(w->out, index);
	size_t at = st_import_define(w, ST_DEF_PROCESS);

	st_buf_append_u32(&w->records, process->pid);
	st_buf_append_u32(&w->records, parent);
	st_buf_append_u64(&w->records, 0);
	st_buf_append_u32(&w->records, process->incarnation);
	st_buf_append_u32(&w->records, (parent ? 0u : (uint32_t)ST_PROCESS_DIRECT) |
					       (process->was_forked ? ST_PROCESS_FORKED : 0));
	st_buf_append_u64(&w->records, process->first > w->first ? process->first : w->first);
	st_import_put_text(w, process->name);
	st_import_put_text(w, executable_of(w->out, process));
	st_definition_end(&w->records, at);
	at = st_import_define(w, ST_DEF_PROCESS_END);
	st_buf_append_u64(&w->records, process->has_end ? process->end : w->last);
	st_buf_append_u32(&w->records, !process->has_end       ? ST_END_LEFT_RUNNING
				       : process->ends_by_exec ? ST_END_EXEC
							       : ST_END_GONE);
	st_buf_append_u32(&w->records, 0);
	st_definition_end(&w->records, at);
	if (!process->sample_count)
		return;
	at = st_import_define(w, ST_DEF_SAMPLER);
	st_buf_append_u32(&w->records, ST_RUNG_IMPORTED);
	st_buf_append_u32(&w->records, w->out->trigger);
	st_buf_append_u32(&w->records, 0);
	st_buf_append_u32(&w->records, 0);
	st_buf_append_u64(&w->records, w->out->nominal_ns);
	st_buf_append_u64(&w->records, w->first);
	st_import_put_text(w, w->out->event);
	st_definition_end(&w->records, at);
}

static void write_maps(struct st_import_sink *w, const struct st_import_process *process)
{
	for (uint32_t i = 0; i < process->history_count; i++) {
		const struct st_import_map *map = &process->history[i];
		size_t at = st_import_define(w, ST_DEF_CODE_MAP);

		st_buf_append_u64(&w->records, map->start);
		st_buf_append_u64(&w->records, map->end);
		st_buf_append_u64(&w->records, map->offset);
		st_buf_append_u64(&w->records, map->time > w->first ? map->time : w->first);
		st_import_put_text(w, map->path);
		st_import_put_text(w, map->build_id);
		st_definition_end(&w->records, at);
	}
	for (uint32_t i = 0; i < process->creator_count; i++) {
		size_t at = st_import_define(w, ST_DEF_THREAD_CREATOR);

		st_buf_append_u32(&w->records, process->creators[i].tid);
		st_buf_append_u32(&w->records, process->creators[i].creator_tid);
		st_buf_append_u64(&w->records, process->creators[i].time > w->first
						       ? process->creators[i].time
						       : w->first);
		st_definition_end(&w->records, at);
	}
}

/* Names that came without code stand at made-up addresses, as methods of the JIT interface do. */
static void write_symbols(struct st_import_sink *w, const struct st_import_process *process)
{
	struct st_buf data, body;

	st_buf_init(&data, ST_CHUNK_RAW_MAX);
	st_buf_init(&body, ST_CHUNK_RAW_MAX);
	for (uint32_t i = 0; i < process->symbol_count; i++) {
		const struct st_import_symbol *symbol = &process->symbols[i];
		struct st_text name = st_text_table_get(&w->out->texts, symbol->name);
		struct st_text module = st_text_table_get(&w->out->texts, symbol->module);
		struct st_event event = {.kind = ST_EVENT_JIT,
					 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_ID |
						 ST_FIELD_DATA,
					 .detail = JIT_METHOD_LOADED,
					 .value = symbols_begin + (uint64_t)i * SYMBOL_BYTES,
					 .extra = SYMBOL_BYTES,
					 .id = {i + 1, 0, 0}};
		size_t at;

		st_buf_clear(&data);
		st_buf_clear(&body);
		st_definition_text(&data, name.bytes, name.size_bytes);
		st_definition_text(&data, "", 0);
		st_definition_text(&data, "", 0);
		st_definition_text(&data, module.bytes, module.size_bytes);
		st_buf_append_u32(&data, 0);
		event.data = data.data;
		event.data_bytes = (uint32_t)data.size_bytes;
		st_event_encode(&event, &body);
		at = st_import_define(w, ST_DEF_CODE_EVENT);
		st_buf_append_u64(&w->records, w->first);
		st_buf_append_u32(&w->records, process->pid);
		st_definition_text(&w->records, body.data, body.size_bytes);
		st_definition_end(&w->records, at);
	}
	w->out->no_memory |= data.failed || body.failed;
	st_buf_fini(&data);
	st_buf_fini(&body);
}

static void write_nodes(struct st_import_sink *w, const struct st_import_process *process)
{
	uint32_t node = 0;

	while (node < process->nodes.count) {
		size_t at = st_import_define(w, ST_DEF_STACK_NODES);
		struct st_node_encoder encoder;

		st_stack_nodes_begin(&encoder, &w->records, node + 1);
		for (; node < process->nodes.count && w->records.size_bytes < RECORDS_FLUSH_BYTES;
		     node++) {
			const uint64_t *key = process->nodes.keys[node].d;
			const struct st_stack_node raw = {.parent = (uint32_t)key[0],
							  .kind = (uint8_t)key[1],
							  .value = key[2]};

			st_stack_nodes_add(&encoder, &raw);
		}
		st_stack_nodes_end(&encoder);
		st_definition_end(&w->records, at);
		flush(w);
	}
}

static void write_thread_definition(struct st_import_sink *w, const struct st_import_thread *thread)
{
	size_t at = st_import_define(w, ST_DEF_THREAD);

	st_buf_append_u32(&w->records, thread->track);
	st_buf_append_u32(&w->records, thread->tid);
	st_buf_append_u64(&w->records, thread->first > w->first ? thread->first : w->first);
	st_buf_append_u32(&w->records, (uint32_t)thread->kind);
	st_import_put_text(w, thread->kind == ST_TRACK_THREAD ? 0 : thread->name);
	st_definition_end(&w->records, at);
	if (!thread->name || thread->kind != ST_TRACK_THREAD)
		return;
	at = st_import_define(w, ST_DEF_THREAD_NAME);
	st_buf_append_u32(&w->records, thread->tid);
	st_import_put_text(w, thread->name);
	st_definition_end(&w->records, at);
}

static void write_samples(struct st_import_sink *w, const struct st_import_thread *thread)
{
	struct st_sample_encoder encoder;
	struct st_buf payload;

	st_sample_encoder_init(&encoder);
	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	for (uint32_t i = 0; i < thread->sample_count; i++) {
		st_sample_encoder_add(&encoder, &thread->samples[i]);
		if (st_sample_encoder_is_full(&encoder) || i + 1 == thread->sample_count) {
			struct st_chunk_header header = {
				.type = ST_CHUNK_SAMPLES,
				.process = w->out->processes[thread->process].id,
				.track = thread->track};

			st_buf_clear(&payload);
			if (st_sample_encoder_finish(&encoder, &header, &payload))
				st_store_writer_trace(w->writer, &header, &payload);
			else
				w->out->no_memory = true;
			st_sample_encoder_clear(&encoder);
		}
	}
	st_sample_encoder_fini(&encoder);
	st_buf_fini(&payload);
}

static void write_loss(struct st_import_sink *w)
{
	const uint64_t lost = w->out->counts.lost;
	size_t at = st_import_define(w, ST_DEF_SAMPLER_LOSS);

	st_buf_append_u64(&w->records, lost);
	for (unsigned int i = 0; i < 7; i++)
		st_buf_append_u64(&w->records, 0);
	st_definition_end(&w->records, at);
}

static void write_note(struct st_import_sink *w, const char *what, uint64_t count)
{
	char text[160];
	size_t at;

	if (!count)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " %s", count, what);
	at = st_import_define(w, ST_DEF_NOTE);
	st_buf_append_u32(&w->records, 1);
	st_buf_append_u64(&w->records, w->first);
	st_definition_text(&w->records, text, strlen(text));
	st_definition_end(&w->records, at);
}

static void write_all(struct st_import_sink *w)
{
	struct st_import_out *out = w->out;
	uint32_t ids = 0;

	for (uint32_t i = 0; i < out->process_count; i++)
		if (out->processes[i].sample_count || out->processes[i].slice_count)
			out->processes[i].id = ++ids;
	for (uint32_t i = 0; i < out->process_count && !out->no_memory; i++) {
		if (!out->processes[i].id)
			continue;
		w->process_id = out->processes[i].id;
		write_process(w, i);
		if (w->process_id == 1) {
			/* The recorder does not say whose records it lost. */
			if (out->counts.samples)
				write_loss(w);
			write_note(w, "samples of idle CPUs were skipped", out->counts.idle);
			write_note(w, "samples of other events were skipped", out->counts.other);
			write_note(w, "records were lost by perf while recording",
				   out->counts.lost);
			write_note(
				w,
				"lines or records of the file were not recognized and were skipped",
				out->counts.skipped);
			write_note(w,
				   "calls of Python functions end after the call around them and "
				   "were cut",
				   out->counts.clipped);
			write_note(w, "list of events ends inside of an event: the file is cut off",
				   out->counts.torn);
		}
		write_maps(w, &out->processes[i]);
		write_symbols(w, &out->processes[i]);
		st_import_write_names(w, &out->processes[i]);
		write_nodes(w, &out->processes[i]);
		for (uint32_t t = 0; t < out->thread_count; t++)
			if (out->threads[t].process == i)
				write_thread_definition(w, &out->threads[t]);
		flush(w);
	}
	for (uint32_t t = 0; t < out->thread_count && !out->no_memory; t++) {
		if (out->threads[t].sample_count)
			write_samples(w, &out->threads[t]);
		if (out->threads[t].op_count)
			st_import_write_ops(w, &out->threads[t]);
	}
}

static void json_id(struct st_json *json, const char *key, const struct st_import_out *out,
		    st_string_id id)
{
	struct st_text text = st_text_table_get(&out->texts, id);

	st_json_put_bytes(json, key, text.bytes, text.size_bytes);
}

static void json_started(struct st_json *json, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	char date[64] = "", text[80];
	struct tm utc;

	if (!wall_ns || !gmtime_r(&seconds, &utc))
		return;
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned int)(wall_ns / 1000000u % 1000u));
	st_json_put_text(json, "started_at", text);
}

static void write_json(struct st_import_sink *w, const struct st_import_options *options,
		       uint64_t wall_ns)
{
	const struct st_import_out *out = w->out;
	struct st_text format = st_text_table_get(&out->texts, out->format);
	struct st_text event = st_text_table_get(&out->texts, out->event);
	struct st_json json;
	char source[256];
	struct st_buf text;

	st_buf_init(&text, JSON_MAX_BYTES);
	st_json_init(&json, &text);
	st_json_object_begin(&json);
	st_json_put_text(&json, "schema", "strata.result/1");
	st_json_put_text(&json, "state", "finished");
	st_json_put_text(&json, "type", out->type);
	json_id(&json, "command", out, out->command);
	st_json_put_text(&json, "collect_command", options->command);
	json_started(&json, wall_ns);
	st_json_put_u64(&json, "elapsed_ns", w->last - w->first);
	st_json_put_u64(&json, "collected_ns", w->last - w->first);
	if (out->counts.samples)
		snprintf(source, sizeof(source), "%.100s, event %.100s", format.bytes,
			 event.size_bytes ? event.bytes : "unknown");
	else
		snprintf(source, sizeof(source), "%.100s", format.bytes);
	st_json_put_text(&json, "source", source);
	st_json_put_text(&json, "imported_from", options->path);
	json_id(&json, "host", out, out->host);
	json_id(&json, "os", out, out->os);
	json_id(&json, "cpu", out, out->cpu);
	if (out->cpu_count)
		st_json_put_u64(&json, "cpu_count", out->cpu_count);
	st_json_put_text(&json, "clock", out->clock);
	st_json_put_text(&json, "strata_version", options->version);
	st_json_put_u64(&json, "size_bytes", st_store_writer_bytes(w->writer));
	st_json_object_end(&json);
	st_buf_append_text(&text, "\n");
	st_store_writer_result_json(w->writer, &text);
	st_buf_fini(&text);
}

static void widen(struct st_import_sink *w, uint64_t first, uint64_t last)
{
	if (first < w->first)
		w->first = first;
	if (last > w->last)
		w->last = last;
}

/* First and last time of any sample or slice; false: there is none. */
static bool find_times(struct st_import_sink *w)
{
	w->first = UINT64_MAX;
	for (uint32_t i = 0; i < w->out->thread_count; i++) {
		const struct st_import_thread *thread = &w->out->threads[i];

		if (thread->sample_count)
			widen(w, thread->samples[0].time,
			      thread->samples[thread->sample_count - 1].time);
		if (thread->op_count)
			widen(w, thread->ops[0].time, thread->ops[thread->op_count - 1].time);
		if (thread->sample_count || thread->op_count)
			w->out->counts.threads++;
	}
	for (uint32_t i = 0; i < w->out->process_count; i++) {
		const struct st_import_process *process = &w->out->processes[i];

		w->out->counts.processes += process->sample_count || process->slice_count;
		w->out->counts.slices += process->slice_count;
	}
	return w->first != UINT64_MAX;
}

/* What stands for the first sample began before it. */
static void move_start(struct st_import_sink *w)
{
	uint64_t before = w->out->counts.samples ? w->out->nominal_ns : 0;

	w->first = w->first > before ? w->first - before : 0;
}

static void count_samples(struct st_import_out *out)
{
	for (uint32_t t = 0; t < out->thread_count; t++) {
		const struct st_import_thread *thread = &out->threads[t];

		for (uint32_t i = 0; i < thread->sample_count; i++) {
			if (!is_running(&thread->samples[i]))
				continue;
			out->counts.samples++;
			out->counts.cpu_ns += thread->samples[i].weight_ns;
		}
	}
}

enum st_status st_import_write(struct st_import_out *out, const struct st_import_options *options,
			       const char *folder, struct st_error *err)
{
	struct st_store_options store = {.path = folder};
	struct st_import_sink w = {.out = out};
	enum st_status status;
	uint64_t wall_ns;

	if (!find_times(&w))
		return st_error_set(err, ST_ENOTFOUND, 0, "%s contains no samples", options->path);
	count_samples(out);
	move_start(&w);
	if (!folder)
		return ST_OK;
	wall_ns = out->captured_ns > w.last - w.first ? out->captured_ns - (w.last - w.first) : 0;
	if (out->wall_base_ns)
		wall_ns = out->wall_base_ns + w.first;
	store.head = (struct st_file_head){.clock = ST_CLOCK_MONO_RAW,
					   .start_ticks = w.first,
					   .start_mono_raw_ns = w.first,
					   .start_wall_ns = wall_ns,
					   .ticks_per_second = 1000000000};
	status = st_store_writer_create(&w.writer, &store, err);
	if (status)
		return status;
	st_buf_init(&w.records, ST_CHUNK_RAW_MAX);
	write_all(&w);
	st_buf_fini(&w.records);
	status = st_store_writer_health(w.writer, err);
	if (!status && out->no_memory)
		status = st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", options->path);
	if (status) {
		st_store_writer_discard(w.writer);
		return status;
	}
	write_json(&w, options, wall_ns);
	st_store_writer_finish(w.writer);
	status = st_store_writer_health(w.writer, err);
	if (status)
		st_store_writer_discard(w.writer);
	else
		st_store_writer_close(w.writer);
	return status;
}
