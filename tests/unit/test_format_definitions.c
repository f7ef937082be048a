// SPDX-License-Identifier: Apache-2.0
//
// Definition records and the cursor that reads them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/definitions.h"

static struct st_cursor cursor_of(const struct st_buf *buf, size_t size_bytes)
{
	return (struct st_cursor){.at = buf->data, .end = buf->data + size_bytes};
}

static void write_two(struct st_buf *buf)
{
	size_t begin = st_definition_begin(buf, ST_DEF_STRING);

	st_buf_append_u32(buf, 7);
	st_definition_text(buf, "a\0b", 3);
	st_definition_end(buf, begin);
	begin = st_definition_begin(buf, ST_DEF_LOSS);
	st_buf_append_u16(buf, 0x1234);
	st_buf_append_u64(buf, 0x1122334455667788ull);
	st_buf_append_u64(buf, UINT64_MAX);
	st_definition_end(buf, begin);
}

static void test_round_trip(void **state)
{
	struct st_buf buf;
	struct st_cursor payload, body;
	enum st_definition_type type;
	struct st_text text;

	(void)state;
	st_buf_init(&buf, 4096);
	write_two(&buf);
	payload = cursor_of(&buf, buf.size_bytes);
	assert_true(st_definition_next(&payload, &type, &body));
	assert_int_equal(type, ST_DEF_STRING);
	assert_int_equal(st_cursor_u32(&body), 7);
	text = st_cursor_text(&body);
	assert_int_equal(text.size_bytes, 3);
	assert_memory_equal(text.bytes, "a\0b", 3);
	assert_false(body.failed);
	/* Reading on past the end fails once and for all, and gives zeros. */
	assert_int_equal(st_cursor_u16(&body), 0);
	assert_true(body.failed);
	assert_int_equal(st_cursor_u64(&body), 0);
	assert_int_equal(st_cursor_text(&body).size_bytes, 0);
	assert_true(st_definition_next(&payload, &type, &body));
	assert_int_equal(type, ST_DEF_LOSS);
	assert_int_equal(st_cursor_u16(&body), 0x1234);
	assert_true(st_cursor_u64(&body) == 0x1122334455667788ull);
	assert_true(st_cursor_u64(&body) == UINT64_MAX);
	assert_false(body.failed);
	assert_false(st_definition_next(&payload, &type, &body));
	assert_false(payload.failed);
	st_buf_fini(&buf);
}

static void test_cut_at_every_byte(void **state)
{
	struct st_buf buf;
	struct st_cursor payload, body;
	enum st_definition_type type;

	(void)state;
	st_buf_init(&buf, 4096);
	write_two(&buf);
	for (size_t size = 0; size < buf.size_bytes; size++) {
		unsigned int count = 0;

		payload = cursor_of(&buf, size);
		while (st_definition_next(&payload, &type, &body))
			count++;
		assert_int_equal(count, size >= 8 + 4 + 4 + 3 ? 1 : 0);
		/* Only a cut between two records goes unnoticed here. */
		assert_int_equal(payload.failed, size != 0 && size != 8 + 4 + 4 + 3);
	}
	st_buf_fini(&buf);
}

static void test_lengths_that_lie(void **state)
{
	struct st_buf buf;
	struct st_cursor body;

	(void)state;
	st_buf_init(&buf, 64);
	st_buf_append_u32(&buf, UINT32_MAX);
	body = cursor_of(&buf, buf.size_bytes);
	assert_int_equal(st_cursor_text(&body).size_bytes, 0);
	assert_true(body.failed);
	st_buf_fini(&buf);
}

static void test_writer_without_room(void **state)
{
	struct st_buf buf;
	size_t begin;

	(void)state;
	st_buf_init(&buf, 10);
	begin = st_definition_begin(&buf, ST_DEF_STRING);
	st_definition_text(&buf, "longer than the room", 20);
	st_definition_end(&buf, begin);
	assert_true(buf.failed);
	assert_true(buf.size_bytes <= 10);
	st_buf_fini(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_lengths_that_lie),
		cmocka_unit_test(test_writer_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
