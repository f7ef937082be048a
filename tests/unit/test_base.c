// SPDX-License-Identifier: Apache-2.0
//
// base/: the error text, the bounded buffer, arrays, hash tables, and the JSON writer on input that must not get
// through.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json_check.h"
#include "base/json_out.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "fail_alloc.h"

static void error_text_carries_the_reason(void **state)
{
	struct st_error err;

	(void)state;
	assert_int_equal(st_error_set(&err, ST_EIO, ENOSPC, "%s: cannot write", "x"), ST_EIO);
	assert_string_equal(err.text, "x: cannot write: No space left on device");
	assert_int_equal(err.code, ENOSPC);
	assert_int_equal(st_error_set(NULL, ST_EUSAGE, 0, "ignored"), ST_EUSAGE);
}

static void error_text_is_cut_not_overrun(void **state)
{
	struct st_error err;
	char longer[2000];

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	st_error_set(&err, ST_EIO, EIO, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void buffer_keeps_its_maximum(void **state)
{
	struct st_buf buf;

	(void)state;
	st_buf_init(&buf, 10);
	assert_true(st_buf_append(&buf, "12345678", 8));
	assert_false(st_buf_append(&buf, "abc", 3));
	assert_true(buf.failed);
	assert_int_equal(buf.size_bytes, 8);
	assert_false(st_buf_append(&buf, "a", 1)); /* failure sticks until cleared */
	st_buf_clear(&buf);
	assert_true(st_buf_append(&buf, "0123456789", 10));
	assert_false(st_buf_append_u8(&buf, 0));
	st_buf_fini(&buf);
	st_buf_fini(NULL);
}

static void buffer_numbers_are_little_endian(void **state)
{
	static const uint8_t expected[] = {0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0xff,
					   0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88};
	struct st_buf buf;

	(void)state;
	st_buf_init(&buf, 100);
	st_buf_append_u16(&buf, 0x1234);
	st_buf_append_u32(&buf, 0x12345678);
	st_buf_append_u64(&buf, 0x8899aabbccddeeffull);
	assert_int_equal(buf.size_bytes, sizeof(expected));
	assert_memory_equal(buf.data, expected, sizeof(expected));
	st_buf_fini(&buf);
}

static void json_nests_and_separates(void **state)
{
	struct st_buf buf;
	struct st_json json;

	(void)state;
	st_buf_init(&buf, 1000);
	st_json_init(&json, &buf);
	st_json_object_begin(&json);
	st_json_key(&json, "a");
	st_json_array_begin(&json);
	st_json_u64(&json, UINT64_MAX);
	st_json_i64(&json, INT64_MIN);
	st_json_object_begin(&json);
	st_json_object_end(&json);
	st_json_double(&json, NAN);
	st_json_double(&json, INFINITY);
	st_json_array_end(&json);
	st_json_key(&json, "b");
	st_json_bool(&json, true);
	st_json_key(&json, "c");
	st_json_null(&json);
	st_json_object_end(&json);
	st_buf_append_u8(&buf, 0);
	assert_string_equal((char *)buf.data,
			    "{\"a\":[18446744073709551615,-9223372036854775808,{},null,null],"
			    "\"b\":true,\"c\":null}");
	st_buf_fini(&buf);
}

/* Every two-byte text, and some longer broken ones, must come out as JSON that a strict parser takes. */
static void json_text_always_parses(void **state)
{
	static const char *const broken[] = {
		"\xed\xa0\x80", "\xf4\x90\x80\x80",	"\xc0\xaf",	  "\xe2\x82",
		"\xf0\x9f\x98", "\xf8\x88\x80\x80\x80", "a\"b\\c\n\t\x01"};
	struct json_tokener *parser = json_tokener_new_ex(4);
	struct st_buf buf;
	struct st_json json;

	(void)state;
	json_tokener_set_flags(parser, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	st_buf_init(&buf, 1000);
	for (unsigned int i = 0; i < 65536 + sizeof(broken) / sizeof(broken[0]); i++) {
		uint8_t two[2] = {(uint8_t)(i >> 8), (uint8_t)i};
		struct json_object *value;

		st_buf_clear(&buf);
		st_json_init(&json, &buf);
		if (i < 65536)
			st_json_bytes(&json, two, 2);
		else
			st_json_text(&json, broken[i - 65536]);
		value = json_tokener_parse_ex(parser, (char *)buf.data, (int)buf.size_bytes);
		if (!value || json_tokener_get_parse_end(parser) != buf.size_bytes)
			fail_msg("text %u does not parse", i);
		json_object_put(value);
		json_tokener_reset(parser);
	}
	json_tokener_free(parser);
	st_buf_fini(&buf);
}

static void clean_text_keeps_good_bytes(void **state)
{
	static const char bad[] = "ok \xf0\x9f\x98\x80 \xff end\xe2\x82";
	static const char good[] = "ok \xf0\x9f\x98\x80 \xef\xbf\xbd end\xef\xbf\xbd\xef\xbf\xbd";
	struct st_buf buf;

	(void)state;
	st_buf_init(&buf, 1000);
	st_utf8_append_clean(&buf, bad, sizeof(bad) - 1);
	assert_int_equal(buf.size_bytes, sizeof(good) - 1);
	assert_memory_equal(buf.data, good, sizeof(good) - 1);
	st_buf_fini(&buf);
}

static void test_json_check(void **state)
{
	static const char *const good[] = {
		"0",	       "-0.5e+10",
		"\"\"",	       "\"\\u00e9\\n\"",
		"[]",	       "{}",
		"true",	       " [1, 2] ",
		"[[],{},[1]]", "{\"a\":{\"b\":[null]},\"c\":false}",
	};
	static const char *const bad[] = {
		"",	     "01",	    "1.",	  "+1",	   "NaN",     "nul",	"\"",
		"\"\\x\"",   "\"\\u12g4\"", "[1,]",	  "[1 2]", "{\"a\"}", "{a:1}",	"[",
		"]",	     "[1]]",	    "{\"a\":1,}", "1 2",   "'a'",     "\"\t\"", "\"\xff\"",
		"{\"a\":1]", "Infinity",    "-",	  "1e",
	};
	/* The innermost brackets are closed at once. */
	char deep[2 * (ST_JSON_CHECK_DEPTH + 1)], deeper[2 * (ST_JSON_CHECK_DEPTH + 2)];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!st_json_is_value(good[i], strlen(good[i])))
			fail_msg("%s is JSON", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (st_json_is_value(bad[i], strlen(bad[i])))
			fail_msg("%s is no JSON", bad[i]);
	assert_false(st_json_is_value("1\0", 2));
	memset(deep, '[', sizeof(deep));
	memset(deep + ST_JSON_CHECK_DEPTH + 1, ']', ST_JSON_CHECK_DEPTH + 1);
	assert_true(st_json_is_value(deep, sizeof(deep)));
	memset(deeper, '[', sizeof(deeper));
	memset(deeper + ST_JSON_CHECK_DEPTH + 2, ']', ST_JSON_CHECK_DEPTH + 2);
	assert_false(st_json_is_value(deeper, sizeof(deeper)));
}

static void arrays_grow_and_keep_what_they_hold(void **state)
{
	struct {
		struct st_pair *items;
		uint32_t count, capacity;
	} list = {0};
	uint64_t *sparse = NULL;
	uint32_t sparse_capacity = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(ST_VEC_PUSH(list.items, list.count, list.capacity,
					(struct st_pair){i, i + 1}));
	assert_int_equal(list.count, 1000);
	assert_int_equal(list.capacity, 1024);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(list.items[i].a == i && list.items[i].b == i + 1);
	assert_true(ST_VEC_ROOM_ZERO(sparse, 5u, sparse_capacity));
	memset(sparse, 0xff, sparse_capacity * sizeof(*sparse));
	assert_true(ST_VEC_ROOM_ZERO(sparse, 5000u, sparse_capacity));
	assert_int_equal(sparse_capacity, 8192);
	for (uint32_t i = 16; i < sparse_capacity; i++)
		assert_int_equal(sparse[i], 0);
	assert_true(sparse[15] == UINT64_MAX);
	free(list.items);
	free(sparse);
}

static void arrays_fail_without_harm(void **state)
{
	char first[4] = "abc", *items = first;
	uint32_t count = 4, capacity = 4;

	(void)state;
	/* More than a count can say, more than a size can say, more than there is. */
	assert_false(st_vec_grow(&items, UINT32_MAX, &capacity, 1, false));
	assert_false(st_vec_grow(&items, 4, &capacity, SIZE_MAX / 4, false));
	fail_after = 0;
	assert_false(ST_VEC_PUSH(items, count, capacity, 'd'));
	fail_after = -1;
	assert_true(items == first && count == 4 && capacity == 4);
}

static bool is_number(const void *entries, uint32_t number, const void *key)
{
	return ((const uint32_t *)entries)[number] == *(const uint32_t *)key;
}

/* With few hashes nearly every entry collides with others. */
static void maps_tell_entries_of_one_hash_apart(void **state)
{
	uint32_t entries[500];
	struct st_map map = {0};

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 500; i++) {
			entries[i] = i * 3;
			assert_int_equal(st_map_find(&map, i % 5, is_number, entries, &entries[i]),
					 ST_ID_NONE);
			assert_true(st_map_add(&map, i % 5, i));
		}
		for (uint32_t i = 0; i < 500; i++)
			assert_int_equal(st_map_find(&map, i % 5, is_number, entries, &entries[i]),
					 i);
		assert_int_equal(map.count, 500);
		st_map_clear(&map);
		assert_int_equal(map.count, 0);
	}
	st_map_fini(&map);
	assert_null(map.slots);
}

static void pairs_are_numbered_in_order(void **state)
{
	struct st_pair_map map = {0};

	(void)state;
	for (uint32_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 20000; i++)
			assert_int_equal(st_pair_map_add(&map, i % 100, i << 40), i);
	assert_int_equal(map.count, 20000);
	assert_true(map.pairs[150].a == 50 && map.pairs[150].b == 150ull << 40);
	assert_false(map.failed);
	st_pair_map_clear(&map);
	assert_int_equal(st_pair_map_add(&map, 7, 7), 0);
	assert_int_equal(map.count, 1);
	st_pair_map_fini(&map);
}

static void ids_have_values(void **state)
{
	struct st_id_map map = {0};

	(void)state;
	assert_int_equal(st_id_map_get(&map, 0), ST_ID_NONE);
	for (uint32_t i = 0; i < 50000; i++)
		assert_true(st_id_map_put(&map, st_id_pair(i % 7, i), i));
	assert_true(st_id_map_put(&map, st_id_pair(0, 0), 99));
	assert_int_equal(map.count, 50000);
	assert_int_equal(st_id_map_get(&map, 0), 99);
	for (uint32_t i = 1; i < 50000; i++) {
		assert_int_equal(st_id_map_get(&map, st_id_pair(i % 7, i)), i);
		assert_int_equal(st_id_map_get(&map, st_id_pair(i % 7 + 1, i)), ST_ID_NONE);
	}
	st_id_map_clear(&map);
	assert_int_equal(st_id_map_get(&map, 0), ST_ID_NONE);
	fail_after = 0; /* as many go in again without new memory */
	for (uint32_t i = 0; i < 50000; i++)
		assert_true(st_id_map_put(&map, i, i));
	fail_after = -1;
	st_id_map_fini(&map);
	st_id_map_fini(NULL);
}

/* Whichever allocation fails, what was put in before is still there and the map can go on. */
static void maps_survive_a_lack_of_memory(void **state)
{
	(void)state;
	for (long after = 0; after < 6; after++) {
		struct st_id_map ids = {0};
		struct st_pair_map pairs = {0};
		uint32_t put = 0;

		fail_after = after;
		while (put < 200 && st_id_map_put(&ids, put, put + 1))
			put++;
		fail_after = -1;
		assert_int_equal(ids.count, put);
		for (uint32_t i = 0; i < put; i++)
			assert_int_equal(st_id_map_get(&ids, i), i + 1);
		assert_int_equal(st_id_map_get(&ids, put), ST_ID_NONE);
		assert_true(st_id_map_put(&ids, put, 7));
		st_id_map_fini(&ids);

		fail_after = after;
		for (put = 0; put < 200 && !pairs.failed; put++)
			st_pair_map_add(&pairs, put, 1);
		fail_after = -1;
		put = pairs.count;
		assert_int_equal(st_pair_map_add(&pairs, put, 1), put);
		assert_int_equal(st_pair_map_add(&pairs, 0, 1), 0);
		st_pair_map_fini(&pairs);
	}
}

static void search_finds_the_first_that_is_not_before(void **state)
{
	static const int items[] = {1, 3, 3, 3, 7};

	(void)state;
	for (uint32_t count = 0; count <= 5; count++)
		for (int wanted = 0; wanted < 9; wanted++) {
			uint32_t at = 0;

			while (at < count && items[at] < wanted)
				at++;
			assert_int_equal(ST_SEARCH(i, 0, count, items[i] < wanted), at);
		}
	assert_int_equal(ST_SEARCH(i, 2, 4, items[i] < 2), 2);
	assert_int_equal(ST_SEARCH(i, 2, 4, items[i] < 9), 4);
}

static void hashes_of_bytes_see_every_byte(void **state)
{
	char text[24] = "the name of a function";

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++) {
		uint32_t before = st_hash_bytes(text, sizeof(text));

		assert_int_not_equal(st_hash_bytes(text, i), before);
		text[i]++;
		assert_int_not_equal(st_hash_bytes(text, sizeof(text)), before);
		text[i]--;
	}
	assert_int_equal(st_hash_bytes(NULL, 0), st_hash_bytes(text, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_check),
		cmocka_unit_test(error_text_carries_the_reason),
		cmocka_unit_test(error_text_is_cut_not_overrun),
		cmocka_unit_test(buffer_keeps_its_maximum),
		cmocka_unit_test(buffer_numbers_are_little_endian),
		cmocka_unit_test(json_nests_and_separates),
		cmocka_unit_test(json_text_always_parses),
		cmocka_unit_test(clean_text_keeps_good_bytes),
		cmocka_unit_test(arrays_grow_and_keep_what_they_hold),
		cmocka_unit_test(arrays_fail_without_harm),
		cmocka_unit_test(maps_tell_entries_of_one_hash_apart),
		cmocka_unit_test(pairs_are_numbered_in_order),
		cmocka_unit_test(ids_have_values),
		cmocka_unit_test(maps_survive_a_lack_of_memory),
		cmocka_unit_test(search_finds_the_first_that_is_not_before),
		cmocka_unit_test(hashes_of_bytes_see_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
