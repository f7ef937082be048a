// SPDX-License-Identifier: Apache-2.0
//
// Writes a synthetic result through the real encoder, packer and writer, for benchmarks and tests that
// need a large one at once:
//
//	make_result FOLDER PAIRS THREADS LABELS [EVENTS]
//
// One process. Every thread runs the same pattern: an iteration (label 0, "iteration_N" by number of
// labels) that holds eight operators, each with two primitives inside. What it holds is therefore
// known: PAIRS slices in all, divided evenly among the threads, labels used in turn. With EVENTS every
// iteration also sends that many events, in turn the begin of an overlapped task, its end, a counter's value and
// metadata of the current task; and every begin has a caller.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "base/rt/clock.h"
#include "format/definitions.h"
#include "format/event.h"
#include "format/slices.h"
#include "store/writer.h"

enum {
	TICKS_PER_US = 2600,
	DEFINITIONS_BYTES = 256 << 10,
	PAYLOAD_MAX_BYTES = 4 << 20,
	OPERATORS = 8,
	PRIMITIVES = 2,
	PROCESS = 1,
	DOMAIN = 1,
	PID = 4242,
	EVENT_KINDS = 4,
	EVENTS_MAX = 1000,
};

static const uint64_t start_ticks = 1000000000000ull, start_ns = 400000000000ull;

struct thread {
	struct st_slice_encoder encoder;
	uint64_t ticks, pairs_left;
	uint64_t next_event;
	uint32_t random, step, next_label, track;
};

struct job {
	struct st_store_writer *writer;
	struct st_buf payload;
	struct thread *threads;
	uint32_t thread_count, label_count, event_count;
	uint64_t pairs, last_calibration;
};

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || !value) {
		fprintf(stderr, "make_result: \"%s\" is not a number above 0\n", text);
		exit(2);
	}
	return value;
}

static uint64_t next_gap(struct thread *thread)
{
	thread->random = thread->random * 1664525u + 1013904223u;
	return 26 * (uint64_t)(1 + (thread->random >> 24));
}

static uint64_t to_ns(uint64_t ticks)
{
	return start_ns + (ticks - start_ticks) * 1000 / TICKS_PER_US;
}

static void calibrate(struct job *job, uint64_t ticks)
{
	if (ticks < job->last_calibration + 1000000ull * TICKS_PER_US)
		return;
	job->last_calibration = ticks;
	st_store_writer_calibration(job->writer, ticks, to_ns(ticks), 50);
}

static void flush(struct job *job, uint32_t index)
{
	struct thread *thread = &job->threads[index];
	struct st_chunk_header header = {
		.type = ST_CHUNK_SLICES, .process = PROCESS, .track = index + 1};

	if (!thread->encoder.record_count)
		return;
	st_buf_clear(&job->payload);
	if (!st_slice_encoder_finish(&thread->encoder, &header, &job->payload)) {
		fprintf(stderr, "make_result: a chunk does not fit\n");
		exit(1);
	}
	calibrate(job, header.last_time);
	st_store_writer_trace(job->writer, &header, &job->payload);
	st_slice_encoder_clear(&thread->encoder);
}

static void begin(struct job *job, struct thread *thread)
{
	thread->ticks += next_gap(thread);
	if (job->event_count)
		st_slice_encoder_caller(&thread->encoder, thread->ticks, thread->next_label + 1,
					0x7f0000001000 + 16 * (thread->next_label % 64));
	st_slice_encoder_begin(&thread->encoder, thread->ticks, DOMAIN, thread->next_label + 1, 0);
	thread->next_label = (thread->next_label + 1) % job->label_count;
	thread->pairs_left--;
}

static void end(struct thread *thread)
{
	thread->ticks += next_gap(thread);
	st_slice_encoder_end(&thread->encoder, thread->ticks, DOMAIN);
}

static void run_operator(struct job *job, struct thread *thread)
{
	if (!thread->pairs_left)
		return;
	begin(job, thread);
	for (int i = 0; i < PRIMITIVES && thread->pairs_left; i++) {
		begin(job, thread);
		end(thread);
	}
	end(thread);
}

static void send_event(struct thread *thread)
{
	const uint64_t number = thread->next_event / EVENT_KINDS;
	struct st_event events[EVENT_KINDS] = {
		{.kind = ST_EVENT_OVERLAPPED_BEGIN,
		 .mask = ST_FIELD_NAMES | ST_FIELD_ID,
		 .domain = DOMAIN,
		 .name = 1,
		 .id = {number, thread->track, 1}},
		{.kind = ST_EVENT_OVERLAPPED_END,
		 .mask = ST_FIELD_NAMES | ST_FIELD_ID,
		 .domain = DOMAIN,
		 .id = {number, thread->track, 1}},
		{.kind = ST_EVENT_COUNTER_ADD,
		 .mask = ST_FIELD_NAMES | ST_FIELD_VALUE,
		 .domain = DOMAIN,
		 .name = 1,
		 .value = number},
		{.kind = ST_EVENT_METADATA,
		 .mask = ST_FIELD_NAMES | ST_FIELD_EXTRA | ST_FIELD_DATA,
		 .detail = 1,
		 .domain = DOMAIN,
		 .name = 1,
		 .extra = 1,
		 .data = &number,
		 .data_bytes = sizeof(number)},
	};

	thread->ticks += next_gap(thread);
	st_slice_encoder_event(&thread->encoder, thread->ticks,
			       &events[thread->next_event++ % EVENT_KINDS]);
}

static void run_iteration(struct job *job, struct thread *thread)
{
	begin(job, thread);
	for (int i = 0; i < OPERATORS; i++)
		run_operator(job, thread);
	for (uint32_t i = 0; i < job->event_count; i++)
		send_event(thread);
	end(thread);
}

/* Threads in turn, an iteration each, so that their chunks lie mixed in the file as they really do. */
static void record(struct job *job)
{
	/* A begin may come with its caller. */
	const uint32_t most = 3 * (1 + OPERATORS * (1 + PRIMITIVES)) + job->event_count;
	uint32_t busy = job->thread_count;

	while (busy) {
		busy = 0;
		for (uint32_t i = 0; i < job->thread_count; i++) {
			struct thread *thread = &job->threads[i];

			if (!thread->pairs_left)
				continue;
			run_iteration(job, thread);
			busy++;
			if (thread->encoder.record_count + most > ST_CHUNK_RECORDS_MAX)
				flush(job, i);
		}
	}
	for (uint32_t i = 0; i < job->thread_count; i++) {
		st_slice_encoder_mark(&job->threads[i].encoder, job->threads[i].ticks,
				      ST_MARK_TRACK_END, 1);
		flush(job, i);
	}
}

static void write_definitions(struct job *job, struct st_buf *out, uint32_t *count, bool all)
{
	if (!*count || (!all && out->size_bytes < DEFINITIONS_BYTES))
		return;
	st_store_writer_definitions(job->writer, PROCESS, start_ticks, *count, out);
	st_buf_clear(out);
	*count = 0;
}

static void define_process(struct st_buf *out)
{
	static const char command[] = "python3\0train.py";
	size_t at = st_definition_begin(out, ST_DEF_PROCESS);

	st_buf_append_u32(out, PID);
	st_buf_append_u32(out, 0);
	st_buf_append_u64(out, 1);
	st_buf_append_u32(out, 0);
	st_buf_append_u32(out, ST_PROCESS_DIRECT);
	st_buf_append_u64(out, start_ticks);
	st_definition_text(out, command, sizeof(command) - 1);
	st_definition_text(out, "/usr/bin/python3", strlen("/usr/bin/python3"));
	st_definition_end(out, at);
	at = st_definition_begin(out, ST_DEF_DOMAIN);
	st_buf_append_u32(out, DOMAIN);
	st_definition_text(out, "PyTorch", strlen("PyTorch"));
	st_definition_end(out, at);
}

static void define_names(struct job *job)
{
	struct st_buf out;
	uint32_t count = 2;

	st_buf_init(&out, ST_CHUNK_RAW_MAX);
	define_process(&out);
	for (uint32_t i = 0; i < job->label_count; i++) {
		size_t at = st_definition_begin(&out, ST_DEF_STRING);
		char name[64];
		int length = snprintf(name, sizeof(name), "aten::operator_%" PRIu32, i);

		st_buf_append_u32(&out, i + 1);
		st_definition_text(&out, name, (size_t)length);
		st_definition_end(&out, at);
		count++;
		write_definitions(job, &out, &count, false);
	}
	for (uint32_t i = 0; i < job->thread_count; i++) {
		size_t at = st_definition_begin(&out, ST_DEF_THREAD);

		st_buf_append_u32(&out, i + 1);
		st_buf_append_u32(&out, PID + i);
		st_buf_append_u64(&out, start_ticks);
		st_definition_end(&out, at);
		count++;
		write_definitions(job, &out, &count, false);
	}
	write_definitions(job, &out, &count, true);
	st_buf_fini(&out);
}

static void end_process(struct job *job, uint64_t ticks)
{
	struct st_buf out;
	size_t at;

	st_buf_init(&out, 4096);
	at = st_definition_begin(&out, ST_DEF_PROCESS_END);
	st_buf_append_u64(&out, ticks);
	st_buf_append_u32(&out, ST_END_EXITED);
	st_buf_append_u32(&out, 0);
	st_definition_end(&out, at);
	st_store_writer_definitions(job->writer, PROCESS, ticks, 1, &out);
	st_buf_fini(&out);
}

static void write_json(struct job *job, uint64_t ticks)
{
	struct st_buf out;
	struct st_json json;
	static const char *const texts[][2] = {
		{"schema", "strata.result/1"},
		{"state", "finished"},
		{"type", "tasks"},
		{"command", "python3 train.py"},
		{"source", "ITT tasks"},
		{"started_at", "2026-01-01T00:00:00Z"},
	};

	st_buf_init(&out, 64 << 10);
	st_json_init(&json, &out);
	st_json_object_begin(&json);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		st_json_key(&json, texts[i][0]);
		st_json_text(&json, texts[i][1]);
	}
	st_json_key(&json, "elapsed_ns");
	st_json_u64(&json, to_ns(ticks) - start_ns);
	st_json_key(&json, "wait_status");
	st_json_u64(&json, 0);
	st_json_object_end(&json);
	st_store_writer_result_json(job->writer, &out);
	st_buf_fini(&out);
}

static void run(struct job *job)
{
	uint64_t last = start_ticks;

	define_names(job);
	st_store_writer_calibration(job->writer, start_ticks, start_ns, 50);
	for (uint32_t i = 0; i < job->thread_count; i++) {
		struct thread *thread = &job->threads[i];

		st_slice_encoder_init(&thread->encoder);
		thread->ticks = start_ticks + 1000 * TICKS_PER_US;
		thread->random = i + 1;
		thread->track = i + 1;
		thread->pairs_left = job->pairs / job->thread_count +
				     (i < job->pairs % job->thread_count ? 1 : 0);
	}
	record(job);
	for (uint32_t i = 0; i < job->thread_count; i++) {
		if (job->threads[i].ticks > last)
			last = job->threads[i].ticks;
		st_slice_encoder_fini(&job->threads[i].encoder);
	}
	st_store_writer_calibration(job->writer, last, to_ns(last), 50);
	end_process(job, last);
	write_json(job, last);
}

int main(int argc, char **argv)
{
	struct st_store_options options = {0};
	struct st_error err = {0};
	struct job job = {0};

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: make_result FOLDER PAIRS THREADS LABELS [EVENTS]\n");
		return 2;
	}
	job.pairs = number(argv[2]);
	job.thread_count = (uint32_t)number(argv[3]);
	job.label_count = (uint32_t)number(argv[4]);
	if (argc == 6)
		job.event_count = (uint32_t)number(argv[5]);
	if (job.event_count > EVENTS_MAX) {
		fprintf(stderr, "make_result: at most %d events\n", EVENTS_MAX);
		return 2;
	}
	job.last_calibration = start_ticks;
	job.threads = calloc(job.thread_count, sizeof(*job.threads));
	if (!job.threads)
		return 1;
	st_buf_init(&job.payload, PAYLOAD_MAX_BYTES);
	options.path = argv[1];
	options.head.clock = ST_CLOCK_TSC;
	options.head.start_ticks = start_ticks;
	options.head.start_mono_raw_ns = start_ns;
	options.head.start_wall_ns = 1767225600ull * 1000000000u;
	options.head.ticks_per_second = TICKS_PER_US * 1000000ull;
	if (st_store_writer_create(&job.writer, &options, &err)) {
		fprintf(stderr, "make_result: %s\n", err.text);
		return 1;
	}
	run(&job);
	if (st_store_writer_health(job.writer, &err)) {
		fprintf(stderr, "make_result: %s\n", err.text);
		return 1;
	}
	st_store_writer_close(job.writer);
	st_buf_fini(&job.payload);
	free(job.threads);
	return 0;
}
