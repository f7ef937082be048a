// SPDX-License-Identifier: Apache-2.0
//
// Samples of an open result: columns, joins with slices, what is inherited from the creator of a thread, the
// forest of stacks, counts, damage. Expected values are worked out by hand from what each test writes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rt/clock.h"
#include "format/chunk.h"
#include "result_maker.h"
#include "store/samples.h"

struct fixture {
	struct result_maker m;
	struct st_result *result;
	struct st_error err;
	const struct st_samples *samples;
	const struct st_stack_nodes *nodes;
};

/* One process, one thread, three nodes: 1 main, 2 main -> work, 3 main -> work -> leaf. */
static int setup(void **state)
{
	static const struct st_stack_node three[] = {{0, ST_FRAME_CALL, 0x1000},
						     {1, ST_FRAME_CALL, 0x2000},
						     {2, ST_FRAME_EXACT, 0x3000}};
	struct fixture *f = calloc(1, sizeof(*f));

	maker_init(&f->m);
	maker_usual(&f->m);
	maker_nodes(&f->m, 1, three, 3);
	maker_define(&f->m, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	st_result_close(f->result);
	maker_fini(&f->m);
	free(f);
	return 0;
}

static void open_as(struct fixture *f, uint32_t number)
{
	assert_int_equal(maker_open_as(&f->m, number, &f->result, &f->err), ST_OK);
	f->samples = st_result_samples(f->result);
	f->nodes = st_result_stack_nodes(f->result);
}

static void open_result(struct fixture *f)
{
	open_as(f, 0);
}

static void begin(struct fixture *f, uint64_t time, uint32_t name)
{
	st_slice_encoder_begin(&f->m.slices, time, 1, name, 0);
}

static void end(struct fixture *f, uint64_t time)
{
	st_slice_encoder_end(&f->m.slices, time, 1);
}

static void test_columns(void **state)
{
	struct fixture *f = *state;
	const struct st_sample_quality *quality;

	maker_thread(&f->m, 2, 101);
	maker_define(&f->m, 1);
	maker_sample(&f->m, 500, 10, 3, ST_SAMPLE_TRUNCATED);
	maker_sample(&f->m, 700, 20, 0, ST_SAMPLE_NO_STACK | ST_SAMPLE_WEIGHT_NOMINAL);
	maker_samples(&f->m, 1, 2);
	maker_sample(&f->m, 600, 40, 2, ST_SAMPLE_WAITING);
	maker_sample(&f->m, 650, 80, 1, ST_SAMPLE_RECOVERED | ST_SAMPLE_DEPTH_CUT);
	maker_samples(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->samples->count, 4);
	assert_int_equal(f->samples->first_of_track[0], 0);
	assert_int_equal(f->samples->first_of_track[1], 2);
	assert_int_equal(f->samples->first_of_track[2], 4);
	assert_int_equal(f->samples->time_ns[0], 600);
	assert_int_equal(f->samples->weight_ns[0], 40);
	assert_int_equal(f->samples->flags[0], ST_SAMPLE_WAITING);
	assert_int_equal(f->samples->time_ns[2], 500);
	assert_int_equal(f->samples->node[2], 3);
	assert_int_equal(f->samples->track[2], 1);
	assert_int_equal(f->samples->slice[2], ST_NO_ROW);
	assert_int_equal(f->samples->inherited[2], ST_NO_ROW);
	assert_int_equal(f->samples->node[3], 0);
	quality = st_result_sample_quality(f->result);
	assert_int_equal(quality->samples, 3);
	assert_int_equal(quality->cpu_ns, 110);
	assert_int_equal(quality->truncated, 1);
	assert_int_equal(quality->recovered, 1);
	assert_int_equal(quality->depth_cut, 1);
	assert_int_equal(quality->nominal, 1);
	assert_int_equal(quality->stacks_missing, 0);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 0);
}

/* A sample at the tick of a begin lies inside, at that of an end outside. */
static void test_join_at_equal_times(void **state)
{
	static const struct {
		uint64_t time;
		uint32_t slice;
	} want[] = {{9, ST_NO_ROW}, {10, 0}, {19, 0}, {20, 1}, {29, 1}, {30, 2},
		    {39, 2},	    {40, 0}, {49, 0}, {50, 3}, {59, 3}, {60, ST_NO_ROW}};
	enum { COUNT = sizeof(want) / sizeof(want[0]) };
	struct fixture *f = *state;

	for (unsigned int i = 0; i < COUNT; i++)
		maker_sample(&f->m, want[i].time, 1, 1, 0);
	maker_samples(&f->m, 1, 1); /* before the slices */
	begin(f, 10, 1);	    /* 0 */
	begin(f, 20, 2);	    /* 1, in 0 */
	end(f, 30);
	begin(f, 30, 3); /* 2, in 0, right behind 1 */
	end(f, 40);
	end(f, 50);
	begin(f, 50, 1); /* 3 */
	end(f, 60);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	for (unsigned int i = 0; i < COUNT; i++)
		assert_int_equal(f->samples->slice[i], want[i].slice);
}

/* Several ticks are one nanosecond, and still the order of the ticks counts. */
static void test_join_within_a_nanosecond(void **state)
{
	struct fixture *f = *state;

	maker_fini(&f->m);
	maker_init_empty(&f->m);
	f->m.head.clock = ST_CLOCK_TSC;
	f->m.head.ticks_per_second = 10000000000; /* ten ticks a nanosecond */
	maker_heads(&f->m);
	maker_usual(&f->m);
	maker_calibration(&f->m, 0, 0);
	maker_calibration(&f->m, 10000000, 1000000);
	begin(f, 1002, 1);
	end(f, 1004);
	begin(f, 1006, 2);
	end(f, 1008);
	maker_chunk(&f->m, 1, 1);
	for (uint64_t ticks = 1001; ticks < 1009; ticks++)
		maker_sample(&f->m, ticks, 1, 0, 0);
	maker_samples(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->samples->count, 8);
	for (unsigned int i = 0; i < 8; i++) {
		uint32_t want = i == 1 || i == 2 ? 0 : i == 5 || i == 6 ? 1 : ST_NO_ROW;

		assert_int_equal(f->samples->time_ns[i], 100);
		assert_int_equal(f->samples->slice[i], want);
	}
}

/* Slices that never end hold the samples behind the last record; an end mark of the thread ends them. */
static void test_join_behind_the_last_record(void **state)
{
	struct fixture *f = *state;

	begin(f, 10, 1);
	maker_chunk(&f->m, 1, 1);
	maker_sample(&f->m, 500, 1, 1, 0);
	maker_samples(&f->m, 1, 1);
	maker_thread(&f->m, 2, 102);
	maker_define(&f->m, 1);
	begin(f, 10, 1);
	st_slice_encoder_mark(&f->m.slices, 20, ST_MARK_TRACK_END, 1);
	maker_chunk(&f->m, 1, 2);
	maker_sample(&f->m, 15, 1, 1, 0);
	maker_sample(&f->m, 500, 1, 1, 0);
	maker_samples(&f->m, 1, 2);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->samples->slice[0], 0);
	assert_int_equal(f->samples->slice[1], 1);
	assert_int_equal(f->samples->slice[2], ST_NO_ROW);
}

static void test_overlapping_chunks_are_sorted(void **state)
{
	struct fixture *f = *state;

	begin(f, 25, 1);
	end(f, 45);
	maker_chunk(&f->m, 1, 1);
	maker_sample(&f->m, 10, 1, 1, 0);
	maker_sample(&f->m, 30, 3, 2, 0);
	maker_sample(&f->m, 50, 5, 3, 0);
	maker_samples(&f->m, 1, 1);
	maker_sample(&f->m, 20, 2, 0, ST_SAMPLE_WAITING);
	maker_sample(&f->m, 30, 4, 1, ST_SAMPLE_RUNNABLE);
	maker_samples(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(f->samples->weight_ns[i], i + 1);
	assert_int_equal(f->samples->slice[1], ST_NO_ROW);
	assert_int_equal(f->samples->slice[2], 0);
	assert_int_equal(f->samples->slice[3], 0);
	assert_int_equal(f->samples->flags[3], ST_SAMPLE_RUNNABLE);
	assert_int_equal(f->samples->node[2], 2);
	assert_int_equal(f->samples->slice[4], ST_NO_ROW);
}

/* Main (tid 100) has slices 10-20 and 30-40 with a child 32-36; 101 was created by it, 102 by a thread that
 * was never seen and that 101 created. 101 has a slice of its own from 33 to 34. */
static void test_inherited(void **state)
{
	static const uint64_t times[] = {5, 10, 19, 20, 31, 33, 35, 36, 39, 40};
	static const uint32_t want_101[] = {ST_NO_ROW, 0, 0, ST_NO_ROW, 1,
					    ST_NO_ROW, 2, 1, 1,		ST_NO_ROW};
	/* 102 gets what 101 has, and else what main has. */
	static const uint32_t want_102[] = {ST_NO_ROW, 0, 0, ST_NO_ROW, 1, 3, 2, 1, 1, ST_NO_ROW};
	enum { COUNT = sizeof(times) / sizeof(times[0]) };
	struct fixture *f = *state;

	maker_thread(&f->m, 2, 101);
	maker_thread(&f->m, 3, 102);
	maker_thread_creator(&f->m, 102, 555);
	maker_thread_creator(&f->m, 555, 101);
	maker_thread_creator(&f->m, 101, 100);
	maker_define(&f->m, 1);
	for (uint32_t track = 2; track < 4; track++) {
		for (unsigned int i = 0; i < COUNT; i++)
			maker_sample(&f->m, times[i], 1, 1, 0);
		maker_samples(&f->m, 1, track);
	}
	begin(f, 10, 1);
	end(f, 20);
	begin(f, 30, 1);
	begin(f, 32, 2);
	end(f, 36);
	end(f, 40);
	maker_chunk(&f->m, 1, 1);
	begin(f, 33, 3);
	end(f, 34);
	maker_chunk(&f->m, 1, 2);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(st_result_track_creator(f->result, 0), ST_NO_ROW);
	assert_int_equal(st_result_track_creator(f->result, 1), 0);
	assert_int_equal(st_result_track_creator(f->result, 2), 1);
	for (unsigned int i = 0; i < COUNT; i++) {
		assert_int_equal(f->samples->slice[i], times[i] == 33 ? 3 : ST_NO_ROW);
		assert_int_equal(f->samples->inherited[i], want_101[i]);
		assert_int_equal(f->samples->slice[COUNT + i], ST_NO_ROW);
		assert_int_equal(f->samples->inherited[COUNT + i], want_102[i]);
	}
}

/* A tid used twice: each of its threads belongs to the one that created it then. */
static void test_tids_used_again(void **state)
{
	struct fixture *f = *state;

	maker_numbers(&f->m, ST_DEF_THREAD, "448", 2u, 200u, (uint64_t)50);
	maker_numbers(&f->m, ST_DEF_THREAD, "448", 3u, 300u, (uint64_t)10);
	maker_numbers(&f->m, ST_DEF_THREAD, "448", 4u, 300u, (uint64_t)1000);
	maker_numbers(&f->m, ST_DEF_THREAD_CREATOR, "448", 300u, 100u, (uint64_t)9);
	maker_numbers(&f->m, ST_DEF_THREAD_CREATOR, "448", 300u, 200u, (uint64_t)990);
	maker_define(&f->m, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(st_result_track_creator(f->result, 2), 0);
	assert_int_equal(st_result_track_creator(f->result, 3), 1);
}

/* A circle of creators, and a thread that created itself, must not hang. */
static void test_creators_in_a_circle(void **state)
{
	struct fixture *f = *state;

	maker_thread(&f->m, 2, 101);
	maker_thread_creator(&f->m, 100, 101);
	maker_thread_creator(&f->m, 101, 100);
	maker_thread_creator(&f->m, 555, 555);
	maker_define(&f->m, 1);
	maker_sample(&f->m, 10, 1, 1, 0);
	maker_samples(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->samples->inherited[0], ST_NO_ROW);
}

/* Nodes of two processes told in turns are one forest in which each lies together. */
static void test_forest(void **state)
{
	static const struct st_stack_node child[] = {{0, ST_FRAME_CALL, 0x77},
						     {1, ST_FRAME_EXACT, 0x88}};
	static const struct st_stack_node more[] = {{3, ST_FRAME_KERNEL, UINT64_MAX},
						    {1, ST_FRAME_CALL | ST_FRAME_RECOVERED, 0x9}};
	struct fixture *f = *state;

	maker_process(&f->m, 300, 1, ST_PROCESS_FORKED, 0);
	maker_thread(&f->m, 1, 300);
	maker_nodes(&f->m, 1, child, 2);
	maker_define(&f->m, 2);
	maker_nodes(&f->m, 4, more, 2);
	maker_define(&f->m, 1);
	maker_sample(&f->m, 10, 1, 2, 0);
	maker_samples(&f->m, 2, 1);
	maker_sample(&f->m, 10, 1, 4, 0);
	maker_samples(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->nodes->count, 8);
	assert_int_equal(f->nodes->parent[1], 0);
	assert_int_equal(f->nodes->parent[4], 3);
	assert_int_equal(f->nodes->kind[4], ST_FRAME_KERNEL);
	assert_true(f->nodes->value[4] == UINT64_MAX);
	assert_int_equal(f->nodes->parent[5], 1);
	assert_int_equal(f->nodes->kind[5], ST_FRAME_CALL | ST_FRAME_RECOVERED);
	assert_int_equal(f->nodes->process[5], 0);
	assert_int_equal(f->nodes->process[6], 1);
	assert_int_equal(f->nodes->parent[7], 6);
	assert_int_equal(f->nodes->value[7], 0x88);
	assert_int_equal(f->samples->node[0], 4);
	assert_int_equal(f->samples->node[1], 7);
}

static void test_python_codes(void **state)
{
	static const struct st_stack_node frames[] = {{3, ST_FRAME_PYTHON, 7 | 2ull << 32},
						      {4, ST_FRAME_PYTHON, 9 | 4ull << 32}};
	static const struct st_stack_node child[] = {{0, ST_FRAME_PYTHON, 7 | 6ull << 32}};
	struct fixture *f = *state;
	const struct st_python_code *codes;
	uint32_t count, code;

	maker_python_code(&f->m, 7, 12, "/app/train.py", "Trainer.step", NULL);
	maker_nodes(&f->m, 4, frames, 2);
	maker_define(&f->m, 1);
	maker_process(&f->m, 300, 1, ST_PROCESS_FORKED, 0);
	maker_numbers(&f->m, ST_DEF_INHERIT, "4444", 1u, 0u, 0u, 0u);
	maker_nodes(&f->m, 1, child, 1);
	maker_define(&f->m, 2);
	maker_end(&f->m);
	open_result(f);
	codes = st_result_python_codes(f->result, &count);
	code = (uint32_t)f->nodes->value[4];
	assert_true(code < count);
	assert_int_equal(f->nodes->value[4] >> 32, 2);
	assert_int_equal(codes[code].first_line, 12);
	assert_string_equal(st_result_text(f->result, codes[code].file).bytes, "/app/train.py");
	assert_string_equal(st_result_text(f->result, codes[code].name).bytes, "Trainer.step");
	code = (uint32_t)f->nodes->value[5];
	assert_string_equal(st_result_text(f->result, codes[code].name).bytes,
			    "[Python code 9 not recorded]");
	assert_true(has_note(f->result, "1 Python functions have no recorded name"));
	/* The forked one knows the codes of its parent. */
	code = (uint32_t)f->nodes->value[6];
	assert_int_equal(codes[code].process, 1);
	assert_string_equal(st_result_text(f->result, codes[code].name).bytes, "Trainer.step");
}

/* Pairs of steps in bytes and in lines, as CPython up to 3.9 has them: line 13 from byte 0 on, 14 from 2, 16 from 6.
 * A forked process knows the version, too. */
static void test_python_lines(void **state)
{
	static const struct st_stack_node frames[] = {{3, ST_FRAME_PYTHON, 7 | 4ull << 32},
						      {3, ST_FRAME_PYTHON, 7 | 6ull << 32}};
	static const struct st_stack_node child[] = {{0, ST_FRAME_PYTHON, 7 | 0ull << 32}};
	const struct st_text table = {"\x00\x01\x02\x01\x04\x02", 6};
	struct fixture *f = *state;

	maker_python_runtime(&f->m, 0x03081200);
	maker_python_code(&f->m, 7, 12, "/app/train.py", "step", &table);
	maker_nodes(&f->m, 4, frames, 2);
	maker_define(&f->m, 1);
	maker_process(&f->m, 300, 1, ST_PROCESS_FORKED, 0);
	maker_numbers(&f->m, ST_DEF_INHERIT, "4444", 1u, 0u, 0u, 0u);
	maker_nodes(&f->m, 1, child, 1);
	maker_define(&f->m, 2);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->nodes->line[3], 0);
	assert_int_equal(f->nodes->line[4], 14);
	assert_int_equal(f->nodes->line[5], 16);
	assert_int_equal(f->nodes->line[6], 13);
}

static void test_missing_nodes_are_told(void **state)
{
	/* Nodes 4 to 9 are not there: 10 hangs in the air, and 11 on it. */
	static const struct st_stack_node late[] = {
		{5, ST_FRAME_CALL, 0x10}, {10, ST_FRAME_CALL, 0x11}, {3, ST_FRAME_CALL, 0x12}};
	struct fixture *f = *state;

	maker_nodes(&f->m, 10, late, 3);
	maker_define(&f->m, 1);
	maker_sample(&f->m, 10, 1, 11, 0);
	maker_sample(&f->m, 11, 1, 12, 0);
	maker_sample(&f->m, 12, 1, 6, ST_SAMPLE_RECOVERED);
	maker_sample(&f->m, 13, 1, UINT32_MAX, 0);
	maker_samples(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->nodes->count, 7);
	assert_int_equal(f->nodes->parent[4], 0);
	assert_int_equal(f->nodes->parent[5], 4);
	assert_int_equal(f->nodes->parent[6], 3);
	assert_int_equal(f->samples->node[0], 5);
	assert_int_equal(f->samples->flags[0], ST_SAMPLE_TRUNCATED);
	assert_int_equal(f->samples->node[1], 6);
	assert_int_equal(f->samples->flags[1], 0);
	assert_int_equal(f->samples->node[2], 0);
	assert_int_equal(f->samples->flags[2], ST_SAMPLE_TRUNCATED | ST_SAMPLE_RECOVERED);
	assert_int_equal(f->samples->node[3], 0);
	assert_int_equal(st_result_sample_quality(f->result)->stacks_missing, 3);
	assert_true(has_note(f->result, "2 stack nodes lost their callers"));
	assert_true(has_note(f->result, "the stacks of 3 samples"));
}

static void test_nodes_told_twice(void **state)
{
	static const struct st_stack_node again[] = {{1, ST_FRAME_CALL, 0x666},
						     {3, ST_FRAME_CALL, 0x4000}};
	struct fixture *f = *state;

	maker_nodes(&f->m, 3, again, 2);
	maker_define(&f->m, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->nodes->count, 5);
	assert_int_equal(f->nodes->value[3], 0x3000);
	assert_int_equal(f->nodes->value[4], 0x4000);
	assert_true(has_note(f->result, "1 stack nodes are defined twice"));
}

static void test_samplers(void **state)
{
	struct fixture *f = *state;
	const struct st_sampler *samplers;
	uint32_t count;

	maker_sampler(&f->m, ST_RUNG_NONE, 0, 0, "first");
	maker_sampler(&f->m, ST_RUNG_SETSIG, ST_TRIGGER_CPU_CLOCK, 1000000, "seccomp");
	maker_numbers(&f->m, ST_DEF_SAMPLER_LOSS, "88888888", (uint64_t)1, (uint64_t)2, (uint64_t)3,
		      (uint64_t)4, (uint64_t)5, (uint64_t)6, (uint64_t)7, (uint64_t)8);
	maker_numbers(&f->m, ST_DEF_SAMPLER_LOSS, "88888888", (uint64_t)11, (uint64_t)12,
		      (uint64_t)13, (uint64_t)14, (uint64_t)15, (uint64_t)16, (uint64_t)17,
		      (uint64_t)18);
	maker_numbers(&f->m, ST_DEF_LOSS, "4888888888", 1u, (uint64_t)0, (uint64_t)0, (uint64_t)0,
		      (uint64_t)0, (uint64_t)0, (uint64_t)0, (uint64_t)0, (uint64_t)0, (uint64_t)9);
	maker_define(&f->m, 1);
	maker_end(&f->m);
	open_result(f);
	samplers = st_result_samplers(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(samplers[0].rung, ST_RUNG_SETSIG);
	assert_int_equal(samplers[0].trigger, ST_TRIGGER_CPU_CLOCK);
	assert_int_equal(samplers[0].period_ns, 1000000);
	assert_string_equal(st_result_text(f->result, samplers[0].why).bytes, "seccomp");
	assert_int_equal(samplers[0].dropped, 11);
	assert_int_equal(samplers[0].handler_ns, 13);
	assert_int_equal(samplers[0].nodes_refused, 14);
	assert_int_equal(samplers[0].before_tables, 15);
	assert_int_equal(samplers[0].build_ns, 16);
	assert_int_equal(samplers[0].tables_built, 17);
	assert_int_equal(samplers[0].tables_cached, 18);
	assert_int_equal(st_result_sample_quality(f->result)->dropped, 11);
	assert_int_equal(st_result_sample_quality(f->result)->not_taken, 12);
	assert_int_equal(st_result_quality(f->result)->loss.samples_dropped, 9);
}

/* The files before are gone: samples at the beginning lie in the slices that were open then. */
static void test_ring_window(void **state)
{
	const struct st_open_record open = {.track = 1, .domain = 1, .name = 2, .begin = 5};
	struct fixture *f = *state;

	maker_raw_chunk(&f->m,
			(struct st_chunk_header){.type = ST_CHUNK_OPEN,
						 .process = 1,
						 .record_count = 1,
						 .first_time = 1000,
						 .last_time = 1000},
			&open, sizeof(open));
	maker_sample(&f->m, 1010, 1, 1, 0);
	maker_sample(&f->m, 1030, 1, 1, 0);
	maker_samples(&f->m, 1, 1);
	end(f, 1020);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
	f->m.json =
		"{\"schema\": \"strata.result/1\", \"state\": \"finished\", \"ring_buffer_s\": 1}";
	open_as(f, 3);
	assert_int_equal(f->samples->slice[0], 0);
	assert_string_equal(label_name(f->result, 0), "b");
	assert_int_equal(f->samples->slice[1], ST_NO_ROW);
}

static void test_ring_of_samples_only(void **state)
{
	struct fixture *f = *state;

	maker_fini(&f->m);
	maker_init_empty(&f->m);
	f->m.head.flags = ST_FILE_RING_BUFFER;
	maker_heads(&f->m);
	maker_usual(&f->m);
	maker_sample(&f->m, 1010, 1, 0, 0);
	maker_samples(&f->m, 1, 1);
	maker_end(&f->m);
	open_as(f, 2);
	assert_int_equal(st_result_info(f->result)->kept_from_ns, 1010);
}

/* Nodes of a ring buffer stand in its trace files. Those of earlier files are gone and their ids with them, up to
 * the last ids there are; behind these they begin again. No damage, and no memory for what is not there. */
static void test_ring_of_sparse_nodes(void **state)
{
	static const uint32_t first[] = {4000000000u, UINT32_MAX - 3, 1};
	struct fixture *f = *state;

	maker_fini(&f->m);
	maker_init_empty(&f->m);
	f->m.head.flags = ST_FILE_RING_BUFFER;
	maker_heads(&f->m);
	maker_usual(&f->m);
	for (uint32_t i = 0; i < 3; i++) {
		const struct st_stack_node two[] = {{0, ST_FRAME_CALL, 0x1000},
						    {first[i], ST_FRAME_EXACT, 0x2000 + i}};

		maker_nodes(&f->m, first[i], two, 2);
		maker_raw_chunk(&f->m,
				(struct st_chunk_header){.type = ST_CHUNK_DEFINITIONS,
							 .process = 1,
							 .record_count = f->m.record_count},
				f->m.records.data, f->m.records.size_bytes);
		st_buf_clear(&f->m.records);
		f->m.record_count = 0;
		maker_sample(&f->m, 1010 + i, 1, first[i] + 1, 0);
		maker_samples(&f->m, 1, 1);
	}
	maker_end(&f->m);
	open_as(f, 7);
	assert_int_equal(f->nodes->count, 7);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t node = f->samples->node[i];

		assert_int_equal(f->nodes->value[node], 0x2000 + i);
		assert_int_equal(f->nodes->value[f->nodes->parent[node]], 0x1000);
		assert_int_equal(f->nodes->parent[f->nodes->parent[node]], 0);
		assert_int_equal(f->samples->flags[i], 0);
	}
	assert_int_equal(st_result_sample_quality(f->result)->stacks_missing, 0);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 0);
	assert_false(has_note(f->result, "stack"));
}

static void test_damaged_chunk_keeps_what_comes_before(void **state)
{
	struct st_chunk_header header = {.type = ST_CHUNK_SAMPLES, .process = 1, .track = 1};
	struct fixture *f = *state;
	struct st_buf payload;

	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	for (uint64_t i = 0; i < 10; i++)
		maker_sample(&f->m, 100 + i, 1, 1, 0);
	assert_true(st_sample_encoder_finish(&f->m.samples, &header, &payload));
	st_sample_encoder_clear(&f->m.samples);
	payload.data[12 + 10 + 6] = 0x13; /* a node goes below 0 */
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	header.record_count = 1000; /* more than its bytes can hold */
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	st_buf_fini(&payload);
	maker_sample(&f->m, 200, 7, 2, 0);
	maker_samples(&f->m, 1, 1);
	begin(f, 104, 1);
	end(f, 106);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->samples->count, 7);
	assert_int_equal(f->samples->slice[3], ST_NO_ROW);
	assert_int_equal(f->samples->slice[4], 0);
	assert_int_equal(f->samples->slice[5], 0);
	assert_int_equal(f->samples->time_ns[6], 200);
	assert_int_equal(f->samples->weight_ns[6], 7);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 2);
	assert_true(has_note(f->result, "a stack is damaged"));
	assert_true(has_note(f->result, "its counts are impossible"));
}

static void test_torn_and_running(void **state)
{
	struct fixture *f = *state;

	maker_sample(&f->m, 10, 1, 1, 0);
	maker_samples(&f->m, 1, 1);
	maker_sample(&f->m, 20, 1, 1, 0);
	maker_samples(&f->m, 1, 1);
	f->m.trace.size_bytes -= 3;
	open_result(f);
	assert_int_equal(f->samples->count, 1);
	assert_true(has_note(f->result, "truncated"));
}

/* An index that is kept gives the same as one that was just built. */
static void test_kept_index(void **state)
{
	struct fixture *f = *state;
	char *folder = temporary_folder();
	uint32_t slices[4], inherited[4];

	maker_thread(&f->m, 2, 101);
	maker_thread_creator(&f->m, 101, 100);
	maker_define(&f->m, 1);
	begin(f, 10, 1);
	end(f, 30);
	maker_chunk(&f->m, 1, 1);
	for (uint32_t track = 1; track < 3; track++) {
		maker_sample(&f->m, 20, 1, 2, 0);
		maker_sample(&f->m, 30, 1, 77, 0);
		maker_samples(&f->m, 1, track);
	}
	maker_end(&f->m);
	maker_write(&f->m, folder);
	for (int turn = 0; turn < 2; turn++) {
		st_result_close(f->result);
		assert_int_equal(st_result_open(&f->result, folder, NULL, &f->err), ST_OK);
		f->samples = st_result_samples(f->result);
		assert_int_equal(f->samples->count, 4);
		assert_int_equal(st_result_track_creator(f->result, 1), 0);
		assert_int_equal(st_result_sample_quality(f->result)->stacks_missing, 2);
		if (turn) {
			assert_memory_equal(f->samples->slice, slices, sizeof(slices));
			assert_memory_equal(f->samples->inherited, inherited, sizeof(inherited));
		}
		memcpy(slices, f->samples->slice, sizeof(slices));
		memcpy(inherited, f->samples->inherited, sizeof(inherited));
	}
	assert_int_equal(slices[0], 0);
	assert_int_equal(inherited[0], ST_NO_ROW);
	assert_int_equal(slices[2], ST_NO_ROW);
	assert_int_equal(inherited[2], 0);
	assert_int_equal(inherited[3], ST_NO_ROW);
	remove_folder(folder);
	free(folder);
}

static void test_nothing_sampled(void **state)
{
	struct fixture *f = *state;
	uint32_t count = 1;

	maker_fini(&f->m);
	maker_init(&f->m);
	maker_usual(&f->m);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->samples->count, 0);
	assert_int_equal(f->nodes->count, 1);
	st_result_samplers(f->result, &count);
	assert_int_equal(count, 0);
	st_result_python_codes(f->result, &count);
	assert_int_equal(count, 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_columns),
		ROW(test_join_at_equal_times),
		ROW(test_join_within_a_nanosecond),
		ROW(test_join_behind_the_last_record),
		ROW(test_overlapping_chunks_are_sorted),
		ROW(test_inherited),
		ROW(test_tids_used_again),
		ROW(test_creators_in_a_circle),
		ROW(test_forest),
		ROW(test_python_codes),
		ROW(test_python_lines),
		ROW(test_missing_nodes_are_told),
		ROW(test_nodes_told_twice),
		ROW(test_samplers),
		ROW(test_ring_window),
		ROW(test_ring_of_samples_only),
		ROW(test_ring_of_sparse_nodes),
		ROW(test_damaged_chunk_keeps_what_comes_before),
		ROW(test_torn_and_running),
		ROW(test_kept_index),
		ROW(test_nothing_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
