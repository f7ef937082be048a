// SPDX-License-Identifier: Apache-2.0
//
// The protobuf writer byte by byte, and the Perfetto export read back by a decoder of the wire format that
// shares nothing with it: names by their interning ids, pairs of begin and end by a stack per track, as
// every reader makes them.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "export/export.h"
#include "export/protobuf.h"
#include "nasty_result.h"
#include "pf_decode.h"

/* The writer ------------------------------------------------------------------------------------- */

static void test_wire_format(void **state)
{
	static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x12, 0x02, 'h',  'i',  0x1a,
					   0x02, 0x20, 0x00, 0x82, 0x01, 0x00, 0x08, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0x01, 0x12, 0x04, 'a',  0xef, 0xbf, 0xbd};
	struct st_buf out;
	size_t at;

	(void)state;
	st_buf_init(&out, 1 << 20);
	st_pb_u64(&out, 1, 150);
	st_pb_text(&out, 2, "hi", 2);
	at = st_pb_begin(&out, 3);
	st_pb_u64(&out, 4, 0);
	st_pb_end(&out, at);
	st_pb_end(&out, st_pb_begin(&out, 16));
	st_pb_u64(&out, 1, UINT64_MAX);
	st_pb_text(&out, 2, "a\xff", 2);
	assert_int_equal(out.size_bytes, sizeof(expected));
	assert_memory_equal(out.data, expected, sizeof(expected));
	st_buf_fini(&out);
}

static void test_lengths_of_every_width(void **state)
{
	static const size_t sizes[] = {0, 1, 126, 127, 128, 129, 16383, 16384, 2097151, 2097152};
	char *text = malloc(2097152);

	(void)state;
	memset(text, 'x', 2097152);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct st_buf out;
		struct pf_message message;
		struct pf_field outer, inner;
		size_t at;

		st_buf_init(&out, 8 << 20);
		at = st_pb_begin(&out, 60);
		st_pb_text(&out, 2, text, sizes[i]);
		st_pb_end(&out, at);
		st_pb_u64(&out, 3, 7);
		assert_false(out.failed);
		message = (struct pf_message){out.data, out.data + out.size_bytes};
		assert_true(pf_find(message, 60, &outer) && pf_find(outer.bytes, 2, &inner));
		assert_int_equal(inner.value, sizes[i]);
		assert_memory_equal(inner.bytes.at, text, sizes[i]);
		assert_int_equal(pf_number_of(message, 3, 0), 7);
		st_buf_fini(&out);
	}
	free(text);
}

/* Out of room anywhere: the buffer says so, and nothing is written past its end (sanitizers). */
static void test_full_buffers_are_told(void **state)
{
	(void)state;
	for (size_t room = 0; room < 160; room++) {
		struct st_buf out;
		size_t outer, inner;

		st_buf_init(&out, room);
		outer = st_pb_begin(&out, 1);
		inner = st_pb_begin(&out, 2);
		for (int i = 0; i < 50; i++)
			st_pb_u64(&out, 3, 300);
		st_pb_end(&out, inner);
		st_pb_end(&out, outer);
		assert_int_equal(out.failed, room < 2 + 1 + 2 + 1 + 150);
		assert_true(out.size_bytes <= room);
		st_buf_fini(&out);
	}
}

/* The export ------------------------------------------------------------------------------------- */

enum { MAX_TRACKS = 512, MAX_DEPTH = 512, MAX_IID = 8192 };

struct track {
	uint64_t uuid, parent_uuid, pid, tid, last_ns;
	bool is_process, is_thread;
	uint32_t sequence; /* the one that uses it */
	uint32_t open[MAX_DEPTH];
	uint32_t depth;
};

struct trace {
	const struct st_result *fake;
	struct track tracks[MAX_TRACKS];
	uint32_t track_count, apart, packets;
	uint32_t sequence; /* of the packet at hand; everything interned belongs to it */
	struct pf_message names[MAX_IID], categories[MAX_IID], texts[MAX_IID], notes[MAX_IID];
	uint8_t *begun, *ended;
	uint64_t shift_ns;
};

static struct track *track_of(struct trace *trace, uint64_t uuid)
{
	for (uint32_t i = 0; i < trace->track_count; i++) {
		if (trace->tracks[i].uuid == uuid)
			return &trace->tracks[i];
	}
	return NULL;
}

static void take_descriptor(struct trace *trace, struct pf_message message)
{
	struct track *track = &trace->tracks[trace->track_count++];
	struct pf_field inner;

	assert_true(trace->track_count < MAX_TRACKS);
	*track = (struct track){.uuid = pf_number_of(message, 1, 0),
				.parent_uuid = pf_number_of(message, 5, 0),
				.sequence = trace->sequence};
	assert_int_not_equal(track->uuid, 0);
	assert_ptr_equal(track_of(trace, track->uuid), track); /* no other has it */
	track->is_process = pf_find(message, 3, &inner);
	if (track->is_process) {
		assert_int_equal(track->parent_uuid, 0);
		track->pid = pf_number_of(inner.bytes, 1, 0);
		return;
	}
	assert_non_null(track_of(trace, track->parent_uuid)); /* came before */
	track->is_thread = pf_find(message, 4, &inner);
	assert_int_equal(track->is_thread, track_of(trace, track->parent_uuid)->is_process);
	if (track->is_thread) {
		track->pid = pf_number_of(inner.bytes, 1, 0);
		track->tid = pf_number_of(inner.bytes, 2, 0);
		assert_int_equal(track->pid, track_of(trace, track->parent_uuid)->pid);
	}
}

static void take_interned(struct trace *trace, struct pf_message message)
{
	struct pf_field field;

	while (pf_take_field(&message, &field)) {
		uint64_t iid = pf_number_of(field.bytes, 1, 0);
		struct pf_field text;
		struct pf_message *table = field.number == 1	? trace->categories
					   : field.number == 2	? trace->names
					   : field.number == 29 ? trace->texts
								: trace->notes;

		assert_true(field.number <= 3 || field.number == 29);
		assert_true(iid > 0 && iid < MAX_IID);
		assert_null(table[iid].at); /* once per sequence */
		assert_true(pf_find(field.bytes, 2, &text));
		table[iid] = text.bytes;
	}
}

static bool is_text(struct pf_message message, const char *text)
{
	return (size_t)(message.end - message.at) == strlen(text) &&
	       memcmp(message.at, text, strlen(text)) == 0;
}

/* The value of the annotation of that name. */
static bool find_note(const struct trace *trace, struct pf_message event, const char *name,
		      struct pf_field *value)
{
	struct pf_field field, id;

	while (pf_take_field(&event, &field)) {
		if (field.number != 4)
			continue;
		assert_true(pf_find(field.bytes, 1, &id));
		assert_non_null(trace->notes[id.value].at);
		if (is_text(trace->notes[id.value], name))
			return pf_find(field.bytes, 3, value) || pf_find(field.bytes, 6, value) ||
			       pf_find(field.bytes, 17, value);
	}
	return false;
}

static void check_interned(struct pf_message message, struct st_text text)
{
	struct st_buf clean;

	st_buf_init(&clean, 1 << 20);
	st_pb_text(&clean, 1, text.bytes, text.size_bytes);
	pf_check_text((struct pf_message){clean.data, clean.data + clean.size_bytes}, 1, message.at,
		      (size_t)(message.end - message.at));
	st_buf_fini(&clean);
}

static void take_begin(struct trace *trace, struct pf_message event, struct track *track,
		       uint64_t ns)
{
	const struct st_result *fake = trace->fake;
	struct pf_field value;
	uint32_t row;
	const struct st_label *label;

	assert_true(find_note(trace, event, "row", &value));
	row = (uint32_t)value.value;
	assert_true(row < fake->slices.count);
	assert_false(trace->begun[row]++);
	assert_int_equal(ns, (uint64_t)fake->begin_ns[row] + trace->shift_ns);
	label = &fake->labels[fake->label[row]];
	check_interned(trace->names[pf_number_of(event, 10, 0)], fake->texts[label->name]);
	check_interned(trace->categories[pf_number_of(event, 3, 0)], fake->texts[label->domain]);
	assert_true(find_note(trace, event, "domain", &value));
	check_interned(trace->texts[value.value], fake->texts[label->domain]);
	assert_int_equal(find_note(trace, event, "flags", &value), fake->flags[row] != 0);
	if (find_note(trace, event, "parent", &value)) {
		/* Drawn apart from its parent, which it outlives. */
		assert_int_equal(value.value, fake->parent[row]);
		assert_true(fake->end_ns[row] > fake->end_ns[fake->parent[row]]);
		assert_int_equal(track->depth, 0);
		assert_false(track->is_thread);
		trace->apart++;
	} else {
		assert_int_equal(fake->parent[row],
				 track->depth ? track->open[track->depth - 1] : ST_NO_ROW);
	}
	assert_true(track->depth < MAX_DEPTH);
	track->open[track->depth++] = row;
}

static void take_event(struct trace *trace, struct pf_message event, uint64_t ns)
{
	struct track *track = track_of(trace, pf_number_of(event, 11, 0));

	assert_non_null(track);
	assert_int_equal(track->sequence, trace->sequence);
	assert_true(ns >= track->last_ns);
	track->last_ns = ns;
	if (pf_number_of(event, 9, 0) == 1) {
		take_begin(trace, event, track, ns);
	} else {
		uint32_t row;

		assert_int_equal(pf_number_of(event, 9, 0), 2);
		assert_true(track->depth > 0);
		row = track->open[--track->depth];
		assert_int_equal(ns, (uint64_t)trace->fake->end_ns[row] + trace->shift_ns);
		assert_false(trace->ended[row]++);
	}
}

static void take_packet(struct trace *trace, struct pf_message packet)
{
	uint32_t sequence = (uint32_t)pf_number_of(packet, 10, 0);
	uint64_t flags = pf_number_of(packet, 13, 0);
	struct pf_field field;

	assert_int_not_equal(sequence, 0);
	if (flags & 1) {
		memset(trace->names, 0, sizeof(trace->names));
		memset(trace->categories, 0, sizeof(trace->categories));
		memset(trace->texts, 0, sizeof(trace->texts));
		memset(trace->notes, 0, sizeof(trace->notes));
	} else if (sequence != 1) {
		assert_int_equal(sequence, trace->sequence); /* one after the other */
	}
	trace->sequence = sequence;
	trace->packets++;
	if (pf_find(packet, 12, &field))
		take_interned(trace, field.bytes);
	if (pf_find(packet, 60, &field))
		take_descriptor(trace, field.bytes);
	if (pf_find(packet, 11, &field)) {
		assert_int_equal(flags, 2);
		assert_int_not_equal(pf_number_of(packet, 8, UINT64_MAX), UINT64_MAX);
		take_event(trace, field.bytes, pf_number_of(packet, 8, 0));
	}
}

static struct trace *export_and_check(const struct st_result *fake, uint64_t shift_ns)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	const struct st_exporter *exporter = st_exporters;
	struct pf_message all;
	struct pf_field packet;
	struct st_sink *sink;
	struct st_buf out;

	while (exporter->name && strcmp(exporter->name, "perfetto") != 0)
		exporter++;
	assert_non_null(exporter->name);
	st_buf_init(&out, 256 << 20);
	assert_int_equal(st_sink_open_buf(&sink, &out, NULL), ST_OK);
	assert_int_equal(st_export_write(exporter, fake, NULL, sink, NULL), ST_OK);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	trace->fake = fake;
	trace->shift_ns = shift_ns;
	trace->begun = calloc((size_t)fake->slices.count + 1, 1);
	trace->ended = calloc((size_t)fake->slices.count + 1, 1);
	all = (struct pf_message){out.data, out.data + out.size_bytes};
	while (pf_take_field(&all, &packet)) {
		assert_int_equal(packet.number, 1);
		take_packet(trace, packet.bytes);
	}
	for (uint32_t row = 0; row < fake->slices.count; row++)
		assert_true(trace->begun[row] && trace->ended[row]);
	free(trace->begun);
	free(trace->ended);
	st_buf_fini(&out);
	return trace;
}

static void test_nasty_names_and_reused_ids(void **state)
{
	struct st_result *fake = nasty_create();
	struct trace *trace = export_and_check(fake, 0);
	uint32_t processes = 0, threads = 0;

	(void)state;
	for (uint32_t i = 0; i < trace->track_count; i++) {
		assert_int_equal(trace->tracks[i].pid, 77);
		processes += trace->tracks[i].is_process;
		threads += trace->tracks[i].is_thread && trace->tracks[i].tid == 77;
	}
	assert_int_equal(processes, 2);
	assert_int_equal(threads, 2);
	assert_int_equal(trace->track_count, 4);
	assert_int_equal(trace->apart, 0);
	assert_int_equal(trace->packets, 4 + 2 * fake->slices.count);
	free(trace);
	fake_destroy(fake);
}

static void test_empty(void **state)
{
	struct st_result *fake = fake_create();
	struct trace *trace = export_and_check(fake, 0);

	(void)state;
	assert_int_equal(trace->packets, 0);
	free(trace);
	fake_process(fake, "idle", 5);
	trace = export_and_check(fake, 0);
	assert_int_equal(trace->packets, 1);
	free(trace);
	fake_destroy(fake);
}

static void test_no_length_and_touching(void **state)
{
	struct st_result *fake = fake_create();
	struct trace *trace;
	uint32_t outer, inner;

	(void)state;
	fake_process(fake, "p", 5);
	fake_track(fake, 0, "t", 6);
	fake_label(fake, "d", "n");
	/* Everything at one moment, three deep, twice; then one that begins as the last ends. */
	for (int i = 0; i < 2; i++) {
		outer = fake_slice(fake, 0, 5, 5, ST_NO_ROW);
		inner = fake_slice(fake, 0, 5, 5, outer);
		fake_slice(fake, 0, 5, 5, inner);
		fake_slice(fake, 0, 5, 5, outer);
	}
	outer = fake_slice(fake, 0, 5, 9, ST_NO_ROW);
	fake_slice(fake, 0, 5, 9, outer);
	outer = fake_slice(fake, 0, 9, 12, ST_NO_ROW);
	fake_slice(fake, 0, 12, 12, outer);
	fake_finish(fake);
	trace = export_and_check(fake, 0);
	assert_int_equal(trace->apart, 0);
	free(trace);
	fake_destroy(fake);
}

/* A[0,10] with B[5,20] begun inside it, C[12,15] inside B, D after all of them. */
static void test_outliving_its_parent(void **state)
{
	struct st_result *fake = fake_create();
	struct trace *trace;
	uint32_t a, b;

	(void)state;
	fake_process(fake, "p", 5);
	fake_track(fake, 0, "t", 6);
	fake_label(fake, "d", "n");
	a = fake_slice(fake, 0, 0, 10, ST_NO_ROW);
	b = fake_slice(fake, 0, 5, 20, a);
	fake_slice(fake, 0, 12, 15, b);
	fake_slice(fake, 0, 30, 40, ST_NO_ROW);
	fake_finish(fake);
	trace = export_and_check(fake, 0);
	assert_int_equal(trace->apart, 1);
	assert_int_equal(trace->track_count, 3);
	assert_int_equal(trace->tracks[2].parent_uuid, trace->tracks[1].uuid);
	free(trace);
	fake_destroy(fake);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* A thread that ends any of its open tasks, mostly the innermost, on a clock that often stands still. */
static void add_wild_thread(struct st_result *fake, uint32_t *seed, uint32_t steps)
{
	uint32_t open[64], depth = 0;
	int64_t now = -50;

	for (uint32_t i = 0; i < steps || depth; i++) {
		now += next_random(seed) % 3;
		if (depth < 64 && i < steps && next_random(seed) % 2) {
			open[depth] = fake_slice(fake, next_random(seed) % 8, now, now,
						 depth ? open[depth - 1] : ST_NO_ROW);
			depth++;
		} else if (depth) {
			uint32_t at = next_random(seed) % 4 ? depth - 1 : next_random(seed) % depth;

			fake->end_ns[open[at]] = now;
			depth--;
			memmove(&open[at], &open[at + 1], (depth - at) * sizeof(open[0]));
		}
	}
}

/* How far before the start the first task lies: times are told from there on. */
static uint64_t earliest_ns(const struct st_result *fake)
{
	int64_t first = 0;

	for (uint32_t row = 0; row < fake->slices.count; row++)
		first = fake->begin_ns[row] < first ? fake->begin_ns[row] : first;
	assert_true(first < 0);
	return (uint64_t)-first;
}

static void test_any_order_of_ends(void **state)
{
	uint32_t apart = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 40; seed++) {
		struct st_result *fake = fake_create();
		char name[] = "n0";
		struct trace *trace;
		uint32_t random = seed;

		for (int i = 0; i < 8; i++, name[1]++)
			fake_label(fake, i % 2 ? "odd" : "even", name);
		/* Threads of two processes, not in the order of the processes. */
		fake_process(fake, "p", 5);
		fake_process(fake, "q", 6);
		for (uint32_t i = 0; i < 4; i++) {
			fake_track(fake, i % 2, "t", 60 + i);
			add_wild_thread(fake, &random, 400);
		}
		fake_finish(fake);
		trace = export_and_check(fake, earliest_ns(fake));
		apart += trace->apart;
		free(trace);
		fake_destroy(fake);
	}
	assert_true(apart > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire_format),
		cmocka_unit_test(test_lengths_of_every_width),
		cmocka_unit_test(test_full_buffers_are_told),
		cmocka_unit_test(test_nasty_names_and_reused_ids),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_length_and_touching),
		cmocka_unit_test(test_outliving_its_parent),
		cmocka_unit_test(test_any_order_of_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
