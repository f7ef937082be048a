// SPDX-License-Identifier: Apache-2.0
//
// Chunks and their checksum: round trips, every refusal, and every flipped byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "format/chunk.h"
#include "format/crc32c.h"

static void test_crc_known_values(void **state)
{
	(void)state;
	/* The check value of CRC32C and two vectors of RFC 3720, B.4. */
	uint8_t zeros[32] = {0}, ones[32];

	memset(ones, 0xff, sizeof(ones));
	assert_int_equal(st_crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(st_crc32c(0, zeros, 32), 0x8a9136aau);
	assert_int_equal(st_crc32c(0, ones, 32), 0x62a8ab43u);
	assert_int_equal(st_crc32c_table(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(st_crc32c(0, NULL, 0), 0);
}

static void test_crc_instruction_equals_table(void **state)
{
	(void)state;
	uint8_t data[300];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + 11);
	for (size_t from = 0; from < 9; from++) {
		for (size_t size = 0; size + from <= sizeof(data); size += 7)
			assert_int_equal(st_crc32c(99, data + from, size),
					 st_crc32c_table(99, data + from, size));
	}
	/* In pieces or at once is the same. */
	assert_int_equal(st_crc32c(st_crc32c(0, data, 13), data + 13, 287),
			 st_crc32c(0, data, 300));
}

struct fixture {
	struct st_packer *packer;
	struct st_unpacker *unpacker;
	struct st_buf packed, raw;
	struct st_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	st_packer_create(&f->packer, &f->err);
	st_unpacker_create(&f->unpacker, &f->err);
	st_buf_init(&f->packed, 16 << 20);
	st_buf_init(&f->raw, 16 << 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	st_packer_destroy(f->packer);
	st_unpacker_destroy(f->unpacker);
	st_buf_fini(&f->packed);
	st_buf_fini(&f->raw);
	free(f);
	return 0;
}

static struct st_chunk_header pack(struct fixture *f, const void *payload, size_t size)
{
	struct st_chunk_header header = {.type = ST_CHUNK_SLICES,
					 .process = 3,
					 .track = 4,
					 .record_count = 5,
					 .begin_count = 2,
					 .first_time = 100,
					 .last_time = 200,
					 .sequence = 7};

	assert_int_equal(st_packer_append(f->packer, &header, payload, size, &f->packed, &f->err),
			 ST_OK);
	return header;
}

static void check_round_trip(struct fixture *f, const void *payload, size_t size)
{
	struct st_chunk_header wrote, read;

	st_buf_clear(&f->packed);
	wrote = pack(f, payload, size);
	assert_int_equal(f->packed.size_bytes, sizeof(wrote) + wrote.packed_bytes);
	assert_int_equal(st_chunk_check(f->packed.data, f->packed.size_bytes, &read, &f->err),
			 ST_OK);
	assert_memory_equal(&wrote, &read, sizeof(read));
	assert_int_equal(read.process, 3);
	assert_int_equal(read.sequence, 7);
	assert_int_equal(read.last_time, 200);
	assert_int_equal(st_unpacker_read(f->unpacker, &read, f->packed.data + sizeof(read),
					  &f->raw, &f->err),
			 ST_OK);
	assert_int_equal(f->raw.size_bytes, size);
	if (size)
		assert_memory_equal(f->raw.data, payload, size);
}

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	uint8_t noise[4096];
	uint8_t *large = calloc(1, ST_CHUNK_RAW_MAX);
	uint32_t seed = 1;

	for (size_t i = 0; i < sizeof(noise); i++) {
		seed = seed * 1664525u + 1013904223u;
		noise[i] = (uint8_t)(seed >> 24);
	}
	check_round_trip(f, NULL, 0);
	check_round_trip(f, "x", 1);
	check_round_trip(f, noise, sizeof(noise));
	assert_true(((struct st_chunk_header *)(void *)f->packed.data)->flags & ST_CHUNK_PLAIN);
	check_round_trip(f, large, ST_CHUNK_RAW_MAX);
	assert_true(f->packed.size_bytes < 4096);
	free(large);
}

static void test_pack_refuses(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header = {0};
	struct st_buf small;
	char payload[100] = "";

	assert_int_equal(st_packer_append(f->packer, &header, payload, (size_t)ST_CHUNK_RAW_MAX + 1,
					  &f->packed, &f->err),
			 ST_ENOMEM);
	st_buf_init(&small, 100);
	assert_int_equal(st_packer_append(f->packer, &header, payload, 100, &small, &f->err),
			 ST_ENOMEM);
	assert_int_equal(small.size_bytes, 0);
	st_buf_fini(&small);
}

static void test_torn_at_every_byte(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header;

	pack(f, "some payload that is long enough", 32);
	for (size_t size = 0; size < f->packed.size_bytes; size++) {
		assert_int_equal(st_chunk_check(f->packed.data, size, &header, &f->err),
				 ST_ENOTFOUND);
		assert_non_null(strstr(f->err.text, "only"));
	}
}

static void test_every_bit_flipped(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header;

	pack(f, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64);
	for (size_t bit = 0; bit < f->packed.size_bytes * 8; bit++) {
		f->packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(
			st_chunk_check(f->packed.data, f->packed.size_bytes, &header, &f->err),
			ST_OK);
		f->packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void test_versions(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header;

	pack(f, "x", 1);
	f->packed.data[offsetof(struct st_chunk_header, major)] = ST_FORMAT_MAJOR + 1;
	assert_int_equal(st_chunk_check(f->packed.data, f->packed.size_bytes, &header, &f->err),
			 ST_EVERSION);
	assert_non_null(strstr(f->err.text, "2.10"));
	assert_non_null(strstr(f->err.text, "1.10"));
	f->packed.data[offsetof(struct st_chunk_header, major)] = 0;
	assert_int_equal(st_chunk_check(f->packed.data, f->packed.size_bytes, &header, &f->err),
			 ST_ECORRUPT);
}

static void test_unpack_refuses(void **state)
{
	struct fixture *f = *state;
	char text[200];
	struct st_chunk_header header, bad;

	memset(text, 'a', sizeof(text));
	header = pack(f, text, sizeof(text));
	const uint8_t *packed = f->packed.data + sizeof(header);

	assert_false(header.flags & ST_CHUNK_PLAIN);
	bad = header;
	bad.raw_bytes++;
	assert_int_equal(st_unpacker_read(f->unpacker, &bad, packed, &f->raw, &f->err),
			 ST_ECORRUPT);
	bad.raw_bytes = header.raw_bytes - 1;
	assert_int_equal(st_unpacker_read(f->unpacker, &bad, packed, &f->raw, &f->err),
			 ST_ECORRUPT);
	bad.raw_bytes = ST_CHUNK_RAW_MAX + 1;
	assert_int_equal(st_unpacker_read(f->unpacker, &bad, packed, &f->raw, &f->err),
			 ST_ECORRUPT);
	bad = header;
	bad.flags = ST_CHUNK_PLAIN;
	assert_int_equal(st_unpacker_read(f->unpacker, &bad, packed, &f->raw, &f->err),
			 ST_ECORRUPT);
	st_buf_fini(&f->raw);
	st_buf_init(&f->raw, 10);
	assert_int_equal(st_unpacker_read(f->unpacker, &header, packed, &f->raw, &f->err),
			 ST_ENOMEM);
}

static void test_destroy_accepts_null(void **state)
{
	(void)state;
	st_packer_destroy(NULL);
	st_unpacker_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc_known_values),
		cmocka_unit_test(test_crc_instruction_equals_table),
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pack_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torn_at_every_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_bit_flipped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unpack_refuses, setup, teardown),
		cmocka_unit_test(test_destroy_accepts_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
