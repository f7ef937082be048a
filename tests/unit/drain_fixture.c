/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain's fixture (drain_fixture.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drain_fixture.h"
#include "format/chunk.h"

static void on_definitions(void *arg, uint32_t process, uint64_t time, uint32_t record_count,
			   const struct st_buf *payload);

static void on_samples(struct fixture *f, const struct st_chunk_header *header,
		       const struct st_buf *payload)
{
	struct st_sample_decoder decoder;
	struct st_error err = {0};

	assert_int_equal(
		st_sample_decoder_init(&decoder, header, payload->data, payload->size_bytes, &err),
		ST_OK);
	while (f->sample_count < SAMPLES_MAX &&
	       st_sample_decoder_next(&decoder, &f->samples[f->sample_count].record, &err)) {
		/* A node is defined before it is used. */
		assert_true(f->samples[f->sample_count].record.node <= f->node_count);
		f->samples[f->sample_count++].track = header->track;
	}
	assert_int_equal(err.status, ST_OK);
}

static void on_nodes(struct fixture *f, struct st_cursor body)
{
	struct st_node_decoder decoder;
	struct st_stack_node node;
	uint32_t id;

	assert_true(st_node_decoder_init(&decoder, &body));
	while (st_node_decoder_next(&decoder, &id, &node)) {
		assert_int_equal(id, f->node_count + 1);
		assert_true(id < NODES_MAX);
		f->nodes[id] = node;
		f->node_count = id;
	}
	assert_false(decoder.body.failed);
}

/* What only a ring buffer writes. */
static void on_other_chunk(struct fixture *f, const struct st_chunk_header *header,
			   const struct st_buf *payload)
{
	if (header->type == ST_CHUNK_DEFINITIONS) {
		on_definitions(f, header->process, header->first_time, header->record_count,
			       payload);
		f->trace_definition_count += header->record_count;
		return;
	}
	assert_int_equal(header->type, ST_CHUNK_OPEN);
	assert_int_equal(payload->size_bytes, header->record_count * sizeof(*f->open));
	assert_true(f->open_count + header->record_count <= OPEN_MAX);
	memcpy(&f->open[f->open_count], payload->data, payload->size_bytes);
	f->open_count += header->record_count;
}

static void on_calls(struct fixture *f, const struct st_chunk_header *header,
		     const struct st_buf *payload)
{
	struct st_slice_decoder decoder;
	struct st_error err = {0};

	assert_int_equal(
		st_slice_decoder_init(&decoder, header, payload->data, payload->size_bytes, &err),
		ST_OK);
	while (f->call_count < RECORDS_MAX &&
	       st_slice_decoder_next(&decoder, &f->calls[f->call_count].record, &err))
		f->calls[f->call_count++].track = header->track;
	assert_int_equal(err.status, ST_OK);
}

static void on_trace(void *arg, struct st_chunk_header *header, const struct st_buf *payload)
{
	struct fixture *f = arg;
	struct st_slice_decoder decoder;
	struct st_error err = {0};

	assert_int_equal(header->process, PROCESS);
	if (header->type == ST_CHUNK_SAMPLES) {
		on_samples(f, header, payload);
		return;
	}
	if (header->type == ST_CHUNK_CALLS) {
		on_calls(f, header, payload);
		return;
	}
	if (header->type != ST_CHUNK_SLICES) {
		on_other_chunk(f, header, payload);
		return;
	}
	/* The last begin may bring its marks. */
	assert_true(header->record_count <= ST_CHUNK_RECORDS_MAX + 2);
	assert_int_equal(
		st_slice_decoder_init(&decoder, header, payload->data, payload->size_bytes, &err),
		ST_OK);
	while (f->record_count < RECORDS_MAX &&
	       st_slice_decoder_next(&decoder, &f->records[f->record_count].record, &err)) {
		struct seen_record *seen = &f->records[f->record_count++];

		seen->track = header->track;
		if (seen->record.mark == ST_MARK_EVENT && seen->record.value <= BODY_KEPT_BYTES) {
			memcpy(seen->body, seen->record.body, seen->record.value);
			seen->record.body = seen->body;
		}
	}
	assert_int_equal(err.status, ST_OK);
	f->chunk_count++;
}

static void on_definitions(void *arg, uint32_t process, uint64_t time, uint32_t record_count,
			   const struct st_buf *payload)
{
	struct st_cursor cursor = {.at = payload->data, .end = payload->data + payload->size_bytes};
	struct fixture *f = arg;
	enum st_definition_type type;
	struct st_cursor body;
	uint32_t count = 0;

	(void)time;
	assert_int_equal(process, PROCESS);
	for (; st_definition_next(&cursor, &type, &body); count++) {
		struct seen_definition *d =
			&f->definitions[f->definition_count++ % DEFINITIONS_MAX];
		struct st_text text = {0};

		memset(d, 0, sizeof(*d));
		d->type = type;
		d->records_before = f->record_count;
		d->body_bytes = (size_t)(body.end - body.at);
		if (d->body_bytes <= BODY_KEPT_BYTES)
			memcpy(d->body, body.at, d->body_bytes);
		if (type == ST_DEF_STACK_NODES)
			on_nodes(f, body);
		d->id = st_cursor_u32(&body);
		if (type == ST_DEF_LOSS)
			for (int i = 0; i < 8; i++)
				d->fields[i] = st_cursor_u64(&body);
		else if (type == ST_DEF_THREAD)
			d->fields[0] = st_cursor_u32(&body);
		else if (type == ST_DEF_STRING || type == ST_DEF_DOMAIN ||
			 type == ST_DEF_THREAD_NAME)
			text = st_cursor_text(&body);
		d->text_bytes = text.size_bytes;
		if (text.size_bytes && text.size_bytes < sizeof(d->text))
			memcpy(d->text, text.bytes, text.size_bytes);
	}
	assert_int_equal(count, record_count);
}

int drain_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct st_drain_sink sink = {.trace = on_trace, .definitions = on_definitions, .arg = f};
	struct st_error err = {0};

	f->records = calloc(RECORDS_MAX, sizeof(*f->records));
	f->calls = calloc(RECORDS_MAX, sizeof(*f->calls));
	assert_true(fake_segment_create(&f->segment, 2, RING_BYTES));
	f->start = st_clock_mono_raw_ns() - 1000000000u;
	st_drain_shared_init(&f->shared, &sink, ST_CLOCK_MONO_RAW, f->start);
	assert_int_equal(st_drain_create(&f->drain, &f->shared, PROCESS, &err), ST_OK);
	assert_int_equal(st_drain_add_segment(f->drain, f->segment.fd, f->segment.size_bytes, &err),
			 ST_OK);
	*state = f;
	return 0;
}

int drain_teardown(void **state)
{
	struct fixture *f = *state;

	st_drain_destroy(f->drain);
	st_drain_shared_fini(&f->shared);
	fake_segment_destroy(&f->segment);
	free(f->records);
	free(f->calls);
	free(f);
	return 0;
}

void drain_all(struct fixture *f)
{
	st_drain_rest(f->drain, st_clock_mono_raw_ns());
}

const struct seen_definition *find_definition(const struct fixture *f, enum st_definition_type type,
					      uint32_t id)
{
	for (size_t i = f->definition_count; i > 0; i--)
		if (f->definitions[i - 1].type == type && f->definitions[i - 1].id == id)
			return &f->definitions[i - 1];
	return NULL;
}
