// SPDX-License-Identifier: Apache-2.0
//
// Records of devices in a ring and on disk: what goes in comes out, at the edges of every field; damage is named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/chunk.h"
#include "format/device.h"

static const struct st_device_record call = {.kind = ST_DEVICE_CALL,
					     .flags = ST_DEVICE_DRIVER,
					     .where = 4711,
					     .domain = 3,
					     .name = 9,
					     .begin = 1000,
					     .end = 1500,
					     .correlation = 77,
					     .value = 211 | 5ull << 32};
static const struct st_device_record kernel = {.kind = ST_DEVICE_KERNEL,
					       .flags = ST_DEVICE_UNFINISHED,
					       .device = UINT16_MAX,
					       .where = UINT32_MAX,
					       .context = UINT32_MAX,
					       .domain = UINT32_MAX,
					       .name = UINT32_MAX,
					       .correlation = UINT32_MAX,
					       .begin = 900,
					       .end = UINT64_MAX,
					       .value = UINT64_MAX,
					       .graph_node = UINT64_MAX,
					       .graph = UINT32_MAX,
					       .grid = {UINT32_MAX, 1, 2},
					       .block = {UINT16_MAX, 1, 2},
					       .registers = UINT16_MAX,
					       .shared_static = UINT32_MAX,
					       .shared_dynamic = UINT32_MAX};
static const struct st_device_record copy = {
	.kind = ST_DEVICE_COPY, .begin = 1, .end = 1, .correlation = 1, .value = 4096};

static void assert_same(const struct st_device_record *a, const struct st_device_record *b)
{
	assert_memory_equal(a, b, sizeof(*a));
}

static void in_a_ring(void **state)
{
	uint64_t words[ST_DEVICE_WORDS];
	struct st_device_record back;
	uint32_t count = st_device_to_words(&call, words);

	(void)state;
	assert_int_equal(count, ST_DEVICE_WORDS_SHORT);
	st_device_from_words(&back, words, count);
	assert_same(&back, &call);
	count = st_device_to_words(&kernel, words);
	assert_int_equal(count, ST_DEVICE_WORDS);
	st_device_from_words(&back, words, count);
	assert_same(&back, &kernel);
}

struct fixture {
	struct st_device_encoder enc;
	struct st_chunk_header header;
	struct st_buf payload;
};

static void encode(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	st_device_encoder_init(&f->enc);
	st_buf_init(&f->payload, ST_CHUNK_RAW_MAX);
	st_device_encoder_add(&f->enc, &call);
	st_device_encoder_add(&f->enc, &kernel);
	st_device_encoder_add(&f->enc, &copy);
	f->header.track = 1;
	assert_true(st_device_encoder_finish(&f->enc, &f->header, &f->payload));
}

static void finish(struct fixture *f)
{
	st_device_encoder_fini(&f->enc);
	st_buf_fini(&f->payload);
}

static void on_disk(void **state)
{
	struct st_error err = {.status = ST_OK};
	struct st_device_decoder dec;
	struct st_device_record back;
	struct fixture f;

	(void)state;
	encode(&f);
	assert_int_equal(f.header.record_count, 3);
	assert_int_equal(f.header.begin_count, 3);
	assert_int_equal(f.header.first_time, 1);
	assert_int_equal(f.header.last_time, UINT64_MAX);
	assert_int_equal(
		st_device_decoder_init(&dec, &f.header, f.payload.data, f.payload.size_bytes, &err),
		ST_OK);
	assert_true(st_device_decoder_next(&dec, &back, &err));
	assert_same(&back, &call);
	assert_true(st_device_decoder_next(&dec, &back, &err));
	assert_same(&back, &kernel);
	assert_true(st_device_decoder_next(&dec, &back, &err));
	assert_same(&back, &copy);
	assert_false(st_device_decoder_next(&dec, &back, &err));
	assert_int_equal(err.status, ST_OK);
	finish(&f);
}

/* An encoder can be filled again; and one that is full says so before it refuses. */
static void until_full(void **state)
{
	struct fixture f;
	uint32_t count = 0;

	(void)state;
	encode(&f);
	st_device_encoder_clear(&f.enc);
	while (!st_device_encoder_is_full(&f.enc)) {
		st_device_encoder_add(&f.enc, &kernel);
		count++;
	}
	st_buf_clear(&f.payload);
	assert_true(st_device_encoder_finish(&f.enc, &f.header, &f.payload));
	assert_int_equal(f.header.record_count, count);
	assert_true(f.payload.size_bytes <= ST_CHUNK_RAW_MAX);
	st_device_encoder_add(&f.enc, &kernel);
	assert_false(st_device_encoder_finish(&f.enc, &f.header, &f.payload));
	finish(&f);
}

/* Cut off anywhere, and with any bit turned over: a record less, or named; never more than there is. */
static void damaged(void **state)
{
	struct st_device_decoder dec;
	struct st_device_record back;
	struct fixture f;

	(void)state;
	encode(&f);
	for (size_t size = 0; size < f.payload.size_bytes; size++) {
		struct st_error err = {.status = ST_OK};
		uint32_t count = 0;

		if (st_device_decoder_init(&dec, &f.header, f.payload.data, size, &err) == ST_OK)
			while (st_device_decoder_next(&dec, &back, &err))
				count++;
		assert_true(count < 3 && err.status == ST_ECORRUPT);
	}
	for (size_t bit = 0; bit < f.payload.size_bytes * 8; bit++) {
		struct st_error err = {.status = ST_OK};
		uint32_t count = 0;

		f.payload.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (st_device_decoder_init(&dec, &f.header, f.payload.data, f.payload.size_bytes,
					   &err) == ST_OK)
			while (st_device_decoder_next(&dec, &back, &err)) {
				assert_true(back.kind && back.kind < ST_DEVICE_KINDS);
				assert_true(back.end >= back.begin);
				count++;
			}
		assert_true(count <= 3);
		f.payload.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_ring),
		cmocka_unit_test(on_disk),
		cmocka_unit_test(until_full),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
