// SPDX-License-Identifier: Apache-2.0
//
// Opening a sound result with the n-th allocation failing, for every n until all succeed: it opens whole
// or says that memory is out. Never is a part that found no memory called damaged.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "result_maker.h"
#include "signature_maker.h"
#include "store/events.h"
#include "store/operators.h"
#include "store/samples.h"

static void expect_whole(const struct st_result *result)
{
	const struct st_quality *quality = st_result_quality(result);
	uint32_t count;

	assert_int_equal(st_result_slices(result)->count, 1000 + 2 * 75);
	assert_int_equal(quality->damaged_chunks, 0);
	assert_int_equal(quality->damaged_bytes, 0);
	assert_int_equal(quality->missing_names, 0);
	assert_int_equal(quality->unfinished, 0);
	assert_int_equal(st_result_events(result)->count, 1001);
	st_result_spans(result, &count);
	assert_int_equal(count, 100 + 100 + 100 + 100);
	st_result_callers(result, &count);
	assert_int_equal(count, 1 + 10);
	st_result_code(result, &count);
	assert_int_equal(count, 1);
	st_result_sync_objects(result, &count);
	assert_int_equal(count, 100);
	assert_int_equal(st_result_samples(result)->count, 400);
	assert_int_equal(st_result_samples(result)->slice[1], 0);
	assert_int_equal(st_result_samples(result)->inherited[201], 0);
	assert_int_equal(st_result_stack_nodes(result)->count, 4);
	assert_int_equal(st_result_sample_quality(result)->stacks_missing, 0);
	assert_int_equal(quality->note_count, 0);
	st_result_python_codes(result, &count);
	assert_int_equal(count, 1);
	st_result_samplers(result, &count);
	assert_int_equal(count, 1);
	st_result_operators(result, &count);
	assert_int_equal(count, 100);
	st_result_signatures(result, &count);
	assert_int_equal(count, 1);
	st_result_memory(result, &count);
	assert_int_equal(count, 100);
	st_result_operator_sources(result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(quality->twins, 50);
}

/* Domain 4, name 1; domain 5 is the one of its twins. */
static void define_operators(struct result_maker *m)
{
	struct made_signature s;
	const uint32_t head[] = {1, 0};
	size_t begin = st_definition_begin(&m->records, ST_DEF_SIGNATURE);

	sig_begin(&s, 4, 1, ST_SCOPE_FUNCTION, 1);
	sig_tensor(&s, 6, 1, (const uint8_t[]){8});
	st_buf_append(&m->records, head, sizeof(head));
	st_buf_append(&m->records, s.bytes, s.size_bytes);
	st_definition_end(&m->records, begin);
	begin = st_definition_begin(&m->records, ST_DEF_OPERATOR_SOURCE);
	st_buf_append(&m->records, head, sizeof(head));
	st_definition_text(&m->records, "torch", 5);
	st_definition_text(&m->records, "why", 3);
	st_definition_end(&m->records, begin);
	m->record_count += 2;
	maker_text(m, ST_DEF_DOMAIN, 4, "torch.operator");
	maker_text(m, ST_DEF_DOMAIN, 5, "PyTorch");
}

/* Operators, every other one with a twin, on a track whose rows lie before those that come first. */
static void add_operators(struct result_maker *m, uint32_t track)
{
	const uint64_t memory[] = {1, 2, 3};

	for (uint64_t i = 0; i < 50; i++) {
		uint64_t time = 20000 + 100 * i;

		st_slice_encoder_operator(&m->slices, time, 1, (int64_t)i);
		st_slice_encoder_begin(&m->slices, time, 4, 1, 0);
		if (i % 2)
			st_slice_encoder_begin(&m->slices, time + 1, 5, 1, 0);
		st_slice_encoder_memory(&m->slices, time + 2, memory);
		st_slice_encoder_end(&m->slices, time + 3, 4);
		if (i % 2)
			st_slice_encoder_end(&m->slices, time + 4, 5);
	}
	maker_chunk(m, 1, track);
}

/* Something of everything: objects, facts, code, spans, sync objects, callers, copies, marks. */
static void define_everything(struct result_maker *m)
{
	static const struct st_stack_node nodes[] = {{0, ST_FRAME_CALL, 0x1000},
						     {1, ST_FRAME_PYTHON, 1 | 2ull << 32},
						     {2, ST_FRAME_EXACT, 0x1800}};
	struct st_event code = {.kind = ST_EVENT_JIT,
				.mask = ST_FIELD_VALUE | ST_FIELD_EXTRA,
				.detail = 13,
				.value = 0x5000,
				.extra = 16};

	maker_text(m, ST_DEF_DOMAIN, 3, "dnnl::primitive::execute");
	maker_object(m, 1, (struct st_object_head){.kind = ST_OBJECT_COUNTER}, "counter", "d");
	maker_code_event(m, 10, &code);
	maker_code_map(m, 0x1000, 0x2000, 0, "/lib/x.so");
	maker_numbers(m, ST_DEF_OBJECT_METADATA, "44448", 1u, 0u, 9u, 0u, (uint64_t)1);
	maker_numbers(m, ST_DEF_FAMILY_MARK, "84", (uint64_t)5, 0u);
	maker_thread(m, 2, 101);
	maker_thread_creator(m, 101, 100);
	maker_sampler(m, ST_RUNG_SIGTRAP, ST_TRIGGER_CPU_CLOCK, 1000000, "");
	maker_python_runtime(m, 0x030b0700);
	maker_python_code(m, 1, 5, "train.py", "step", NULL);
	maker_nodes(m, 1, nodes, 3);
	define_operators(m);
	maker_define(m, 1);
}

/* Two chunks of a track that overlap. */
static void add_samples(struct result_maker *m, uint32_t track)
{
	for (uint64_t turn = 0; turn < 2; turn++) {
		for (uint64_t i = 0; i < 100; i++)
			maker_sample(m, 1 + turn + 20 * i, 5, (uint32_t)(i % 4), 0);
		maker_samples(m, 1, track);
	}
}

static void add_events(struct result_maker *m, uint64_t i)
{
	const uint32_t kinds[] = {ST_EVENT_OVERLAPPED_BEGIN, ST_EVENT_FRAME_BEGIN,
				  ST_EVENT_COUNTER_SET,	     ST_EVENT_COUNTER_ADD,
				  ST_EVENT_SYNC_CREATE,	     ST_EVENT_SYNC_PREPARE,
				  ST_EVENT_SYNC_ACQUIRED,    ST_EVENT_ID_CREATE,
				  ST_EVENT_TASK_ID,	     ST_EVENT_OVERLAPPED_END};
	struct st_event event = {.kind = kinds[i % 10],
				 .mask = ST_FIELD_NAMES | ST_FIELD_ID | ST_FIELD_VALUE |
					 ST_FIELD_DATA,
				 .domain = 1,
				 .name = 2,
				 .id = {1 + i / 10, 1, 1},
				 .value = i / 10,
				 .data = &i,
				 .data_bytes = sizeof(i)};

	if (event.kind == ST_EVENT_COUNTER_SET) {
		event.mask |= ST_FIELD_OBJECT;
		event.object = 1;
	}
	st_slice_encoder_event(&m->slices, 10 * i + 2, &event);
}

static void test_no_memory_is_no_damage(void **state)
{
	const struct st_result_options options = {.rebuild_index = true};
	char *folder = temporary_folder();
	struct result_maker m;
	long n;

	(void)state;
	maker_init(&m);
	maker_usual(&m);
	define_everything(&m);
	maker_calibration(&m, 0, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		uint32_t name = 1 + (uint32_t)(i % 3);

		st_slice_encoder_caller(&m.slices, 10 * i, name, 0x1ff8 + i % 10);
		st_slice_encoder_begin(&m.slices, 10 * i, i % 2 ? 1 : 3, name, 0);
		add_events(&m, i);
		st_slice_encoder_end(&m.slices, 10 * i + 5, i % 2 ? 1 : 3);
	}
	maker_chunk(&m, 1, 1);
	add_operators(&m, 2);
	add_operators(&m, 1);
	add_samples(&m, 1);
	add_samples(&m, 2);
	maker_end(&m);
	maker_write(&m, folder);
	failed = true;
	for (n = 0; failed; n++) {
		struct st_result *result = NULL;
		struct st_error err = {0};
		enum st_status status;

		failed = false;
		fail_after = n;
		status = st_result_open(&result, folder, &options, &err);
		fail_after = -1;
		if (status)
			assert_int_equal(status, ST_ENOMEM);
		else
			expect_whole(result);
		st_result_close(result);
		assert_true(n < 10000);
	}
	assert_true(n > 10);
	maker_fini(&m);
	remove_folder(folder);
	free(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory_is_no_damage)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
