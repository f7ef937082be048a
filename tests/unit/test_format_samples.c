// SPDX-License-Identifier: Apache-2.0
//
// Samples and stack nodes on disk: what goes in comes out, at the edges of every field; damage is named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/chunk.h"
#include "format/samples.h"

struct fixture {
	struct st_sample_encoder enc;
	struct st_chunk_header header;
	struct st_buf payload;
	struct st_sample_decoder dec;
	struct st_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	st_sample_encoder_init(&f->enc);
	st_buf_init(&f->payload, ST_CHUNK_RAW_MAX);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	st_sample_encoder_fini(&f->enc);
	st_buf_fini(&f->payload);
	free(f);
	return 0;
}

static void add(struct fixture *f, uint64_t time, uint64_t weight_ns, uint32_t node, uint32_t flags)
{
	st_sample_encoder_add(&f->enc, &(struct st_sample_record){time, weight_ns, node, flags});
}

static enum st_status open_payload(struct fixture *f)
{
	memset(&f->err, 0, sizeof(f->err));
	return st_sample_decoder_init(&f->dec, &f->header, f->payload.data, f->payload.size_bytes,
				      &f->err);
}

static void finish(struct fixture *f)
{
	st_buf_clear(&f->payload);
	assert_true(st_sample_encoder_finish(&f->enc, &f->header, &f->payload));
	assert_int_equal(open_payload(f), ST_OK);
}

static void expect(struct fixture *f, uint64_t time, uint64_t weight_ns, uint32_t node,
		   uint32_t flags)
{
	struct st_sample_record got;

	assert_true(st_sample_decoder_next(&f->dec, &got, &f->err));
	assert_true(got.time == time);
	assert_true(got.weight_ns == weight_ns);
	assert_int_equal(got.node, node);
	assert_int_equal(got.flags, flags);
}

static void expect_end(struct fixture *f, enum st_status status)
{
	struct st_sample_record got;

	assert_false(st_sample_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(f->err.status, status);
	assert_false(st_sample_decoder_next(&f->dec, &got, &f->err)); /* and stays there */
}

static void test_round_trip_edges(void **state)
{
	struct fixture *f = *state;

	add(f, 1000, 10000000, 5, 0);
	add(f, 1000, 0, UINT32_MAX, ST_SAMPLE_TRUNCATED);
	add(f, UINT64_MAX - 1, UINT64_MAX, 0, UINT32_MAX);
	add(f, 7, 1, 1, ST_SAMPLE_RUNNABLE); /* time never goes back */
	finish(f);
	assert_int_equal(f->header.record_count, 4);
	assert_int_equal(f->header.first_time, 1000);
	assert_true(f->header.last_time == UINT64_MAX - 1);
	expect(f, 1000, 10000000, 5, 0);
	expect(f, 1000, 0, UINT32_MAX, ST_SAMPLE_TRUNCATED);
	expect(f, UINT64_MAX - 1, UINT64_MAX, 0, UINT32_MAX);
	expect(f, UINT64_MAX - 1, 1, 1, ST_SAMPLE_RUNNABLE);
	expect_end(f, ST_OK);
}

/* The bytes that the header file documents, worked out by hand. */
static void test_bytes(void **state)
{
	static const uint8_t want[] = {3, 0, 0,	  0, 2,	   0, 0,   0,	 3, 0, 0,
				       0, 0, 200, 1, 0x0a, 3, 100, 0x80, 2, 0, 2};
	struct fixture *f = *state;

	add(f, 50, 100, 5, 0);
	add(f, 250, 256, 3, 2);
	finish(f);
	assert_int_equal(f->payload.size_bytes, sizeof(want));
	assert_memory_equal(f->payload.data, want, sizeof(want));
}

static void test_empty_and_cleared(void **state)
{
	struct fixture *f = *state;

	finish(f);
	expect_end(f, ST_OK);
	add(f, 5, 1, 9, 3);
	st_sample_encoder_clear(&f->enc);
	add(f, 90, 2, 4, 0);
	finish(f);
	assert_int_equal(f->header.first_time, 90);
	expect(f, 90, 2, 4, 0);
	expect_end(f, ST_OK);
}

static void test_full(void **state)
{
	struct fixture *f = *state;
	uint32_t count = 0;

	for (; !st_sample_encoder_is_full(&f->enc); count++)
		add(f, UINT64_MAX / ST_CHUNK_RECORDS_MAX * count, UINT64_MAX,
		    count & 1 ? UINT32_MAX : 0, UINT32_MAX);
	assert_int_equal(count, ST_CHUNK_RECORDS_MAX);
	finish(f);
	assert_true(f->payload.size_bytes <= ST_CHUNK_RAW_MAX);
	for (uint32_t i = 0; i < count; i++)
		expect(f, UINT64_MAX / ST_CHUNK_RECORDS_MAX * i, UINT64_MAX, i & 1 ? UINT32_MAX : 0,
		       UINT32_MAX);
	expect_end(f, ST_OK);
}

static void test_overfull_says_so(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 2 * ST_CHUNK_RECORDS_MAX; i++)
		add(f, i, 1, 1, 0);
	finish(f);
	add(f, 1, 1, 1, 0);
	st_buf_clear(&f->payload);
	assert_false(st_sample_encoder_finish(&f->enc, &f->header, &f->payload));
}

static void test_every_cut_is_damage(void **state)
{
	struct fixture *f = *state;
	struct st_sample_record got;
	size_t whole;

	add(f, 10, 300, 700, 1);
	add(f, 5000, 400, 20, 512);
	finish(f);
	whole = f->payload.size_bytes;
	for (size_t cut = 0; cut < whole; cut++) {
		uint32_t count = 0;

		f->payload.size_bytes = cut;
		if (open_payload(f))
			continue;
		while (st_sample_decoder_next(&f->dec, &got, &f->err))
			count++;
		assert_true(count < 2);
		assert_int_equal(f->err.status, ST_ECORRUPT);
	}
}

static void test_no_byte_crashes(void **state)
{
	struct fixture *f = *state;
	struct st_sample_record got;

	for (uint32_t i = 0; i < 20; i++)
		add(f, i * i * 1000, i * 100, i * 77 % 13, i);
	finish(f);
	for (size_t at = 0; at < f->payload.size_bytes; at++) {
		uint8_t kept = f->payload.data[at];

		for (unsigned int value = 0; value < 256; value++) {
			f->payload.data[at] = (uint8_t)value;
			if (open_payload(f))
				continue;
			while (st_sample_decoder_next(&f->dec, &got, &f->err))
				;
		}
		f->payload.data[at] = kept;
	}
}

static const struct st_stack_node nodes[] = {
	{0, ST_FRAME_CALL, 0x7fff12345678},
	{7, ST_FRAME_CALL | ST_FRAME_EVAL, 0x7fff12340000},
	{8, ST_FRAME_PYTHON, 3 | 17ull << 32},
	{0, ST_FRAME_KERNEL, 0xffffffff81000000},
	{8, ST_FRAME_EXACT | ST_FRAME_RECOVERED, 0},
	{9, ST_FRAME_PYTHON, UINT32_MAX | (uint64_t)ST_PYTHON_POSITION_NONE << 32},
	{0, ST_FRAME_CALL, UINT64_MAX},
};
enum { NODE_COUNT = sizeof(nodes) / sizeof(nodes[0]), FIRST_ID = 7 };

static void encode_nodes(struct st_buf *out)
{
	struct st_node_encoder enc;
	size_t begin = st_definition_begin(out, ST_DEF_STACK_NODES);

	st_stack_nodes_begin(&enc, out, FIRST_ID);
	for (unsigned int i = 0; i < NODE_COUNT; i++)
		st_stack_nodes_add(&enc, &nodes[i]);
	st_stack_nodes_end(&enc);
	st_definition_end(out, begin);
	assert_false(out->failed);
}

static void test_nodes_round_trip(void **state)
{
	struct fixture *f = *state;
	struct st_cursor payload, body;
	enum st_definition_type type;
	struct st_node_decoder dec;
	struct st_stack_node got;
	uint32_t id;

	encode_nodes(&f->payload);
	payload =
		(struct st_cursor){f->payload.data, f->payload.data + f->payload.size_bytes, false};
	assert_true(st_definition_next(&payload, &type, &body));
	assert_int_equal(type, ST_DEF_STACK_NODES);
	assert_true(st_node_decoder_init(&dec, &body));
	for (unsigned int i = 0; i < NODE_COUNT; i++) {
		assert_true(st_node_decoder_next(&dec, &id, &got));
		assert_int_equal(id, FIRST_ID + i);
		assert_int_equal(got.parent, nodes[i].parent);
		assert_int_equal(got.kind, nodes[i].kind);
		assert_true(got.value == nodes[i].value);
	}
	assert_false(st_node_decoder_next(&dec, &id, &got));
	assert_false(dec.body.failed);
	assert_ptr_equal(dec.body.at, dec.body.end);
}

static bool nodes_are_damaged(const uint8_t *bytes, size_t size_bytes)
{
	struct st_cursor body = {bytes, bytes + size_bytes, false};
	struct st_node_decoder dec;
	struct st_stack_node got;
	uint32_t id;

	if (!st_node_decoder_init(&dec, &body))
		return true;
	while (st_node_decoder_next(&dec, &id, &got))
		assert_true(got.parent < id);
	return dec.body.failed;
}

static void test_damaged_nodes(void **state)
{
	static const uint8_t own_parent[] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
	static const uint8_t before_zero[] = {1, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0};
	static const uint8_t good[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0};
	static const uint8_t no_kind[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 5, 0};
	static const uint8_t id_zero[] = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
	static const uint8_t wraps[] = {9, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 1, 0};
	struct fixture *f = *state;

	assert_false(nodes_are_damaged(good, sizeof(good)));
	assert_true(nodes_are_damaged(own_parent, sizeof(own_parent)));
	assert_true(nodes_are_damaged(before_zero, sizeof(before_zero)));
	assert_true(nodes_are_damaged(no_kind, sizeof(no_kind)));
	assert_true(nodes_are_damaged(id_zero, sizeof(id_zero)));
	assert_true(nodes_are_damaged(wraps, sizeof(wraps)));
	encode_nodes(&f->payload);
	for (size_t cut = 8; cut < f->payload.size_bytes; cut++)
		assert_true(nodes_are_damaged(f->payload.data + 8, cut - 8));
	for (size_t at = 8; at < f->payload.size_bytes; at++) {
		uint8_t kept = f->payload.data[at];

		for (unsigned int value = 0; value < 256; value++) {
			f->payload.data[at] = (uint8_t)value;
			nodes_are_damaged(f->payload.data + 8, f->payload.size_bytes - 8);
		}
		f->payload.data[at] = kept;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_and_cleared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overfull_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_cut_is_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_byte_crashes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nodes_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_nodes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
