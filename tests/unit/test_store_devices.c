// SPDX-License-Identifier: Apache-2.0
//
// Records of devices in the index: calls among the slices of their thread, however late they come; streams as tracks; flows
// from the one to the other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/definitions.h"
#include "format/device.h"
#include "format/event_kind.h"
#include "format/slices.h"
#include "result_maker.h"
#include "store/devices.h"
#include "store/samples.h"

enum { RUNTIME = 2, KERNEL = 3, THREAD = 1, STREAM = 2 };

static void name_things(struct result_maker *m)
{
	maker_usual(m);
	maker_text(m, ST_DEF_DOMAIN, RUNTIME, ST_RUNTIME_DOMAIN);
	maker_text(m, ST_DEF_DOMAIN, KERNEL, ST_KERNEL_DOMAIN);
	maker_text(m, ST_DEF_STRING, 4, "cudaLaunchKernel");
	maker_text(m, ST_DEF_STRING, 5, "kernel");
	maker_define(m, 1);
}

static void add(struct st_device_encoder *enc, uint32_t kind, uint64_t begin, uint64_t end,
		uint32_t correlation)
{
	const struct st_device_record record = {
		.kind = (uint8_t)kind,
		.where = kind == ST_DEVICE_CALL ? 100 : 7,
		.domain = kind == ST_DEVICE_CALL ? RUNTIME : KERNEL,
		.name = kind == ST_DEVICE_CALL ? 4 : 5,
		.begin = begin,
		.end = end,
		.correlation = correlation,
		.registers = 32,
	};

	st_device_encoder_add(enc, &record);
}

static void put(struct result_maker *m, struct st_device_encoder *enc, uint32_t track)
{
	struct st_chunk_header header = {.type = ST_CHUNK_DEVICE, .process = 1, .track = track};
	struct st_buf payload;

	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	assert_true(st_device_encoder_finish(enc, &header, &payload));
	maker_raw_chunk(m, header, payload.data, payload.size_bytes);
	st_buf_fini(&payload);
	st_device_encoder_clear(enc);
}

/* a 10-50 { call 20-30 }, call 60-70 { call 62-65 }, b 80-90 { call 85-95 }. */
static void make_thread(struct result_maker *m)
{
	st_slice_encoder_begin(&m->slices, 10, 1, 1, 0);
	st_slice_encoder_end(&m->slices, 50, 1);
	maker_chunk(m, 1, THREAD);
	st_slice_encoder_begin(&m->slices, 80, 1, 2, 0);
	st_slice_encoder_end(&m->slices, 90, 1);
	maker_chunk(m, 1, THREAD);
}

static void make_calls(struct result_maker *m, struct st_device_encoder *enc)
{
	add(enc, ST_DEVICE_CALL, 85, 95, 13);
	add(enc, ST_DEVICE_CALL, 62, 65, 12);
	put(m, enc, THREAD);
	add(enc, ST_DEVICE_CALL, 20, 30, 10);
	add(enc, ST_DEVICE_CALL, 60, 70, 11);
	put(m, enc, THREAD);
}

static void calls_find_their_place(void **state)
{
	static const struct {
		const char *name;
		int64_t begin_ns, end_ns;
		uint32_t parent;
		uint64_t self_ns;
	} wanted[] = {
		{"a", 10, 50, ST_NO_ROW, 30},
		{"cudaLaunchKernel", 20, 30, 0, 10},
		{"cudaLaunchKernel", 60, 70, ST_NO_ROW, 7},
		{"cudaLaunchKernel", 62, 65, 2, 3},
		{"b", 80, 90, ST_NO_ROW, 5},
		{"cudaLaunchKernel", 85, 95, 4, 10},
	};
	struct st_device_encoder enc;
	struct result_maker m;
	struct st_result *result;
	const struct st_slices *slices;

	(void)state;
	maker_init(&m);
	st_device_encoder_init(&enc);
	name_things(&m);
	make_thread(&m);
	make_calls(&m, &enc);
	maker_end(&m);
	assert_int_equal(maker_open(&m, &result, NULL), ST_OK);
	slices = st_result_slices(result);
	assert_int_equal(slices->count, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_string_equal(label_name(result, i), wanted[i].name);
		assert_int_equal(slices->begin_ns[i], wanted[i].begin_ns);
		assert_int_equal(slices->end_ns[i], wanted[i].end_ns);
		assert_int_equal(slices->parent[i], wanted[i].parent);
		assert_int_equal(slices->self_ns[i], wanted[i].self_ns);
	}
	st_result_close(result);
	st_device_encoder_fini(&enc);
	maker_fini(&m);
}

/* Nodes of a graph may run at once: the second is drawn below, and lies in nothing. */
static void streams_and_flows(void **state)
{
	struct st_device_encoder enc;
	struct result_maker m;
	struct st_result *result;
	const struct st_slices *slices;
	const struct st_slice_flow *flows;
	const struct st_device_item *items;
	uint32_t count;

	(void)state;
	maker_init(&m);
	st_device_encoder_init(&enc);
	name_things(&m);
	make_thread(&m);
	add(&enc, ST_DEVICE_KERNEL, 45, 55, 10);
	add(&enc, ST_DEVICE_KERNEL, 40, 50, 10);
	add(&enc, ST_DEVICE_KERNEL, 19, 22, 11); /* its clock is off: it began before its launch */
	put(&m, &enc, STREAM);
	make_calls(&m, &enc);
	maker_end(&m);
	assert_int_equal(maker_open(&m, &result, NULL), ST_OK);
	slices = st_result_slices(result);
	assert_int_equal(slices->count, 9);
	assert_int_equal(slices->begin_ns[6], 19);
	assert_int_equal(slices->begin_ns[7], 40);
	for (uint32_t i = 6; i < 9; i++) {
		assert_int_equal(slices->parent[i], ST_NO_ROW);
		assert_int_equal(slices->depth[i], i == 8);
	}
	flows = st_result_flows(result, &count);
	assert_int_equal(count, 3);
	assert_int_equal(flows[0].from, 1);
	assert_int_equal(flows[0].to, 7);
	assert_int_equal(flows[1].to, 8);
	assert_int_equal(flows[2].from, 2);
	assert_int_equal(flows[2].to, 6);
	assert_int_equal(flows[2].kind, ST_FLOW_LAUNCH);
	items = st_result_device_items(result, &count);
	assert_int_equal(count, 7);
	assert_int_equal(items[4].row, 6);
	assert_int_equal(items[4].kind, ST_DEVICE_KERNEL);
	assert_int_equal(items[4].registers, 32);
	assert_null(st_result_device_item_of(result, 0));
	assert_ptr_equal(st_result_device_item_of(result, 6), &items[4]);
	st_result_close(result);
	st_device_encoder_fini(&enc);
	maker_fini(&m);
}

/* A sample in a call belongs to it, one behind its end to what is around it. */
static void samples_join_calls(void **state)
{
	struct st_device_encoder enc;
	struct result_maker m;
	struct st_result *result;
	const struct st_samples *samples;
	static const uint32_t wanted[] = {0, 1, 0, ST_NO_ROW};

	(void)state;
	maker_init(&m);
	st_device_encoder_init(&enc);
	name_things(&m);
	maker_sample(&m, 15, 1, 0, 0);
	maker_sample(&m, 25, 1, 0, 0);
	maker_sample(&m, 35, 1, 0, 0);
	maker_sample(&m, 55, 1, 0, 0);
	maker_samples(&m, 1, THREAD);
	make_thread(&m);
	make_calls(&m, &enc);
	maker_end(&m);
	assert_int_equal(maker_open(&m, &result, NULL), ST_OK);
	samples = st_result_samples(result);
	assert_int_equal(samples->count, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(samples->slice[i], wanted[i]);
	st_result_close(result);
	st_device_encoder_fini(&enc);
	maker_fini(&m);
}

/* No collector writes calls and kernels into one track. Whoever does gets a row for each, no more. */
static void kinds_in_one_track(void **state)
{
	struct st_device_encoder enc;
	struct result_maker m;
	struct st_result *result;

	(void)state;
	maker_init(&m);
	st_device_encoder_init(&enc);
	name_things(&m);
	make_thread(&m);
	for (uint32_t i = 0; i < 10; i++)
		add(&enc, i % 2 ? ST_DEVICE_CALL : ST_DEVICE_KERNEL, 10 + 5 * i, 14 + 7 * i, i);
	put(&m, &enc, THREAD);
	maker_end(&m);
	assert_int_equal(maker_open(&m, &result, NULL), ST_OK);
	assert_int_equal(st_result_slices(result)->count, 12);
	for (uint32_t i = 0; i < 12; i++)
		assert_true(st_result_slices(result)->end_ns[i] > 0);
	st_result_close(result);
	st_device_encoder_fini(&enc);
	maker_fini(&m);
}

static void damage_is_noted(void **state)
{
	struct st_device_encoder enc;
	struct result_maker m;
	struct st_result *result;
	struct st_chunk_header header = {.type = ST_CHUNK_DEVICE, .process = 1, .track = STREAM};
	struct st_buf payload;

	(void)state;
	maker_init(&m);
	st_device_encoder_init(&enc);
	name_things(&m);
	make_thread(&m);
	add(&enc, ST_DEVICE_KERNEL, 45, 55, 10);
	add(&enc, ST_DEVICE_KERNEL, 56, 57, 10);
	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	assert_true(st_device_encoder_finish(&enc, &header, &payload));
	maker_raw_chunk(&m, header, payload.data, payload.size_bytes - 1);
	maker_end(&m);
	assert_int_equal(maker_open(&m, &result, NULL), ST_OK);
	assert_int_equal(st_result_slices(result)->count,
			 3); /* what came before the damage stays */
	assert_true(has_note(result, "device chunk: a record is damaged"));
	st_result_close(result);
	st_buf_fini(&payload);
	st_device_encoder_fini(&enc);
	maker_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_find_their_place), cmocka_unit_test(streams_and_flows),
		cmocka_unit_test(samples_join_calls),	  cmocka_unit_test(kinds_in_one_track),
		cmocka_unit_test(damage_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
