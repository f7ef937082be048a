/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples out of handler rings: stacks restored from what changed, Python frames put among native ones, one
 * tree of nodes, and nothing believed that cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/launch/drain/stack_tree.h"
#include "drain_fixture.h"
#include "format/ring_record.h"

enum { TID = 4711, EVAL = 0x500000, EVAL_END = 0x501000, WORDS_MAX = 64 };

static void push(struct fixture *f, uint32_t slot, const uint64_t *words, size_t count)
{
	fake_segment_push_handler(&f->segment, slot, words, count);
}

static void own(struct fixture *f, uint32_t slot, uint64_t owner)
{
	uint64_t words[4] = {st_word_ext(ST_EXT_TIME, 2, 0), f->start + 100,
			     st_word_ext(ST_EXT_THREAD, 2, 0), owner};

	atomic_store(&fake_segment_slot(&f->segment, slot)->state, ST_SLOT_OWNED);
	atomic_store(&fake_segment_slot(&f->segment, slot)->tid, (uint32_t)owner);
	push(f, slot, words, 4);
}

struct stack {
	uint32_t flags;
	uint64_t native[8], python[8]; /* new ones, ending with 0 */
	uint32_t native_kept, python_kept;
	uint32_t took; /* ticks in the handler; 0: the usual 77 */
};

static void sample(struct fixture *f, uint32_t slot, const struct stack *stack)
{
	struct st_sample_counts counts = {.native_kept = stack->native_kept,
					  .python_kept = stack->python_kept};
	uint64_t words[WORDS_MAX];
	uint32_t at = 3;

	while (stack->native[counts.native_new])
		words[at++] = stack->native[counts.native_new++];
	while (stack->python[counts.python_new])
		words[at++] = stack->python[counts.python_new++];
	words[0] = st_word_ext(ST_EXT_SAMPLE, at, 10);
	words[1] = st_word_sample(stack->flags, &counts);
	words[2] = 1000000 | (uint64_t)(stack->took ? stack->took : 77) << 32;
	push(f, slot, words, at);
}

/* The frames of a sample, outermost first; returns their number. */
static uint32_t frames_of(const struct fixture *f, size_t index, uint64_t *values, uint8_t *kinds)
{
	uint32_t count = 0, node;

	for (node = f->samples[index].record.node; node; node = f->nodes[node].parent)
		count++;
	node = f->samples[index].record.node;
	for (uint32_t i = count; i > 0; i--, node = f->nodes[node].parent) {
		values[i - 1] = f->nodes[node].value;
		kinds[i - 1] = f->nodes[node].kind;
	}
	return count;
}

static void expect_frames(const struct fixture *f, size_t index, const uint64_t *expected,
			  uint32_t count)
{
	uint64_t values[WORDS_MAX];
	uint8_t kinds[WORDS_MAX];

	assert_int_equal(frames_of(f, index, values, kinds), count);
	assert_memory_equal(values, expected, count * sizeof(*expected));
}

static void test_stacks_are_restored(void **state)
{
	struct fixture *f = *state;
	const struct st_drain_counts *counts;

	own(f, 0, TID);
	sample(f, 0, &(struct stack){.native = {0x11, 0x22, 0x33, 0x44}});
	sample(f, 0, &(struct stack){.native = {0x12}, .native_kept = 3});
	sample(f, 0, &(struct stack){.native_kept = 4});
	sample(f, 0,
	       &(struct stack){
		       .native = {0x55, 0x66}, .native_kept = 1, .flags = ST_SAMPLE_RECOVERED});
	drain_all(f);
	assert_int_equal(f->sample_count, 4);
	expect_frames(f, 0, (uint64_t[]){0x44, 0x33, 0x22, 0x11}, 4);
	expect_frames(f, 1, (uint64_t[]){0x44, 0x33, 0x22, 0x12}, 4);
	assert_int_equal(f->samples[1].record.node, f->samples[2].record.node);
	expect_frames(f, 3, (uint64_t[]){0x44, 0x66, 0x55}, 3);
	assert_int_equal(f->samples[3].record.flags, ST_SAMPLE_RECOVERED);
	assert_int_equal(f->node_count, 7);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(f->samples[i].record.weight_ns, 1000000);
		assert_int_equal(f->samples[i].record.time, f->start + 100 + 10 * (i + 1));
	}
	counts = st_drain_counts(f->drain);
	assert_int_equal(counts->samples, 4);
	assert_int_equal(counts->handler_ticks, 4 * 77);
	assert_int_equal(counts->suspect, 0);
}

/* On a busy machine every third handler loses its processor for milliseconds: it costs what the others do. */
static void test_time_off_the_processor_is_no_cost(void **state)
{
	struct fixture *f = *state;
	const struct st_drain_counts *counts;

	own(f, 0, TID);
	for (uint32_t i = 0; i < 90; i++)
		sample(f, 0,
		       &(struct stack){.native = {0x11, 0x22}, .took = i % 3 == 1 ? 9000000 : 0});
	drain_all(f);
	counts = st_drain_counts(f->drain);
	assert_int_equal(counts->samples, 90);
	assert_int_equal(counts->handler_ticks, 90 * 77);
}

/* The thread tells both rings who it is; all it records lies on one track. */
static void test_one_track_for_both_rings(void **state)
{
	struct fixture *f = *state;
	uint64_t owner = TID | (uint64_t)3 << 32;
	uint64_t words[5] = {st_word_ext(ST_EXT_TIME, 2, 0), f->start + 50,
			     st_word_ext(ST_EXT_THREAD, 2, 0), owner,
			     st_word_slice(ST_WORD_BEGIN, 1, 1, 5)};

	fake_segment_push(&f->segment, 0, words, 5);
	own(f, 0, owner);
	sample(f, 0, &(struct stack){.native = {0x11}});
	own(f, 0, (TID + 1) | (uint64_t)4 << 32);
	sample(f, 0, &(struct stack){.native = {0x11}});
	drain_all(f);
	assert_int_equal(f->sample_count, 2);
	assert_int_equal(f->record_count, 1);
	assert_int_equal(f->samples[0].track, f->records[0].track);
	assert_int_not_equal(f->samples[1].track, f->samples[0].track);
	assert_int_equal(f->samples[1].record.node, f->samples[0].record.node);
	assert_int_equal(find_definition(f, ST_DEF_THREAD, f->samples[1].track)->fields[0],
			 TID + 1);
}

static void test_python_frames_are_merged(void **state)
{
	struct fixture *f = *state;
	uint64_t runtime[6] = {
		st_word_ext(ST_EXT_PYTHON_RUNTIME, 6, 0), 0x030b0700, EVAL, EVAL_END, 0, 0};
	uint64_t code[7] = {st_word_ext(ST_EXT_PYTHON_CODE, 7, 0), 9 | (uint64_t)5 << 32,
			    4 | (uint64_t)3 << 32, 2 | (uint64_t)ST_PYTHON_CODE_TABLE_CUT << 32};
	uint64_t values[WORDS_MAX];
	uint8_t kinds[WORDS_MAX];
	const struct seen_definition *d;

	memcpy(&code[4], "a.py", 4);
	memcpy(&code[5], "fib", 3);
	memcpy(&code[6], "\x01\x02", 2);
	own(f, 0, TID);
	push(f, 0, runtime, 6);
	push(f, 0, code, 7);
	sample(f, 0,
	       &(struct stack){.native = {0x11, EVAL + 8, 0x33},
			       .python = {st_word_python_frame(9, 4, ST_PYTHON_FRAME_ENTRY)}});
	push(f, 0, runtime, 6); /* the next thread says it again: not defined twice */
	drain_all(f);
	assert_int_equal(frames_of(f, 0, values, kinds), 4);
	assert_int_equal(kinds[1], ST_FRAME_CALL | ST_FRAME_EVAL);
	assert_int_equal(kinds[2], ST_FRAME_PYTHON);
	assert_int_equal(values[2], 9 | (uint64_t)4 << 32);
	assert_int_equal(kinds[3], ST_FRAME_EXACT);
	d = find_definition(f, ST_DEF_PYTHON_CODE, 9);
	assert_non_null(d);
	assert_memory_equal(d->body + 4, "\5\0\0\0\1\0\0\0\4\0\0\0a.py\3\0\0\0fib\2\0\0\0\1\2", 29);
	assert_non_null(find_definition(f, ST_DEF_PYTHON_RUNTIME, 0x030b0700));
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
}

/* Words that cannot be: counted, and the drain goes on with the next round. */
static void test_garbage(void **state)
{
	static const uint64_t broken[][5] = {
		{0, 0, 0, 0, 0},
		{1, 2, 3, 4, 5},
	};
	struct st_sample_counts counts = {.native_new = 4000, .native_kept = 4000};
	uint64_t long_sample[3] = {st_word_ext(ST_EXT_SAMPLE, 3, 0), 0, 0};
	uint64_t long_code[4] = {st_word_ext(ST_EXT_PYTHON_CODE, 4, 0), 1, UINT64_MAX, UINT64_MAX};
	uint64_t too_long = st_word_ext(ST_EXT_SAMPLE, 0xffff, 0);
	struct fixture *f = *state;

	own(f, 0, TID);
	sample(f, 0, &(struct stack){.native = {0x11, 0x22}});
	push(f, 0, broken[0], 5);
	drain_all(f);
	push(f, 0, broken[1], 5);
	drain_all(f);
	long_sample[1] = st_word_sample(0, &counts);
	push(f, 0, long_sample, 3);
	drain_all(f);
	push(f, 0, long_code, 4);
	drain_all(f);
	push(f, 0, &too_long, 1);
	drain_all(f);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 5);
	/* What was kept is not known any more: the stack is cut, and says so. */
	sample(f, 0, &(struct stack){.native = {0x33}, .native_kept = 1});
	drain_all(f);
	assert_int_equal(f->sample_count, 2);
	expect_frames(f, 1, (uint64_t[]){0x33}, 1);
	assert_int_equal(f->samples[1].record.flags, ST_SAMPLE_TRUNCATED);
	/* An impossible position. */
	atomic_store(&fake_segment_slot(&f->segment, 0)->ring[ST_RING_HANDLER].head, 1u << 30);
	drain_all(f);
	sample(f, 0, &(struct stack){.native = {0x44}});
	drain_all(f);
	assert_int_equal(f->sample_count, 3);
}

/* Every byte of a ring at random, many times. */
static void test_noise(void **state)
{
	struct fixture *f = *state;
	uint64_t words[64], seed = 1;

	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < 64; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			words[i] = seed ^ seed >> 29;
			if (i % 8 == 0)
				words[i] = st_word_ext((enum st_ring_ext)(words[i] % 36),
						       (uint32_t)(words[i] >> 20) % 9, 1);
		}
		push(f, round & 1, words, 64);
		st_drain_cycle(f->drain, (uint64_t)round, NULL);
		f->sample_count = 0;
	}
	assert_true(st_drain_counts(f->drain)->suspect > 100);
}

static void test_losses(void **state)
{
	struct fixture *f = *state;
	struct st_shm_ring *ring = &fake_segment_slot(&f->segment, 0)->ring[ST_RING_HANDLER];
	const struct seen_definition *d = NULL;
	struct st_shm_unwind *unwind;
	uint64_t fields[8];

	own(f, 0, TID);
	sample(f, 0, &(struct stack){.native = {0x11}, .flags = ST_SAMPLE_NO_TABLE});
	atomic_store(&ring->dropped, 12);
	unwind = (struct st_shm_unwind *)(f->segment.map + ST_SHM_HEADER_BYTES +
					  ST_SHM_DEFINITIONS_BYTES);
	atomic_store(&unwind->not_taken, 3);
	drain_all(f);
	for (size_t i = 0; i < f->definition_count; i++)
		if (f->definitions[i].type == ST_DEF_SAMPLER_LOSS)
			d = &f->definitions[i];
	assert_non_null(d);
	memcpy(fields, d->body, sizeof(fields));
	assert_int_equal(fields[0], 12);
	assert_int_equal(fields[1], 3);
	assert_int_equal(fields[2], 77);
	assert_int_equal(fields[4], 1);
}

static void test_tree_is_bounded(void **state)
{
	struct st_stack_tree tree = {.limit = 3000};
	uint32_t parent = 0;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		parent = st_stack_tree_get(&tree, i % 7 ? parent : 0, ST_FRAME_CALL, i);
		assert_int_equal(parent, i + 1);
	}
	assert_int_equal(st_stack_tree_get(&tree, 5, ST_FRAME_CALL, 1), 0);
	assert_int_equal(tree.refused, 1);
	parent = 0;
	for (uint32_t i = 0; i < 3000; i++) {
		parent = st_stack_tree_get(&tree, i % 7 ? parent : 0, ST_FRAME_CALL, i);
		assert_int_equal(parent, i + 1);
	}
	st_stack_tree_fini(&tree);
}

/* A tree that is forgotten has given its ids away for good, and its memory back if it needs little now. */
static void test_tree_forgets(void **state)
{
	struct st_stack_tree tree = {.limit = 40000};
	uint32_t parent = 0, capacity;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		parent = st_stack_tree_get(&tree, parent, ST_FRAME_CALL, 0x10 + i);
	assert_int_equal(parent, 3);
	st_stack_tree_forget(&tree);
	parent = st_stack_tree_get(&tree, 0, ST_FRAME_CALL, 0x10);
	assert_int_equal(parent, 4);
	assert_int_equal(st_stack_tree_get(&tree, 0, ST_FRAME_CALL, 0x10), 4);
	assert_int_equal(st_stack_tree_get(&tree, 4, ST_FRAME_CALL, 0x11), 5);
	assert_int_equal(st_stack_tree_node(&tree, 5)->parent, 4);
	assert_int_equal(st_stack_tree_node(&tree, 5)->value, 0x11);
	for (uint32_t i = 0; i < 39998; i++)
		assert_int_equal(st_stack_tree_get(&tree, 5, ST_FRAME_CALL, i), 6 + i);
	assert_int_equal(st_stack_tree_get(&tree, 4, ST_FRAME_CALL, 0x99), 0);
	st_stack_tree_forget(&tree);
	capacity = tree.capacity; /* may be needed again */
	assert_int_equal(st_stack_tree_get(&tree, 0, ST_FRAME_CALL, 0x10), 40004);
	st_stack_tree_forget(&tree);
	assert_int_equal(st_stack_tree_get(&tree, 0, ST_FRAME_CALL, 0x10), 40005);
	assert_true(tree.capacity < capacity / 8);
	assert_int_equal(tree.refused, 1);
	st_stack_tree_fini(&tree);
}

/* 32 bits of ids: a tree never runs out of them in the middle. */
static void test_tree_begins_again_at_one(void **state)
{
	struct st_stack_tree tree = {.base = UINT32_MAX - 101, .limit = 100};

	(void)state;
	for (uint32_t i = 1; i <= 100; i++)
		assert_int_equal(st_stack_tree_get(&tree, 0, ST_FRAME_CALL, i),
				 UINT32_MAX - 101 + i);
	assert_int_equal(st_stack_tree_get(&tree, 0, ST_FRAME_CALL, 101), 0);
	st_stack_tree_forget(&tree);
	assert_int_equal(st_stack_tree_get(&tree, 0, ST_FRAME_CALL, 7), 1);
	st_stack_tree_fini(&tree);
}

static void new_file(struct fixture *f)
{
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	f->definition_count = f->trace_definition_count = 0;
	st_drain_after_file(f->drain);
}

/* Every file of a ring buffer has the nodes of its own samples, and no other. */
static void test_nodes_pass_with_the_files(void **state)
{
	struct fixture *f = *state;

	f->shared.ring_buffer = true;
	own(f, 0, TID);
	sample(f, 0, &(struct stack){.native = {0x11, 0x22, 0x33}});
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	assert_int_equal(f->node_count, 3);
	assert_int_equal(f->trace_definition_count, f->definition_count);
	new_file(f);
	assert_int_equal(f->node_count, 3); /* nothing is told that nobody uses */
	sample(f, 0, &(struct stack){.native_kept = 3});
	sample(f, 0, &(struct stack){.native = {0x12}, .native_kept = 2});
	new_file(f);
	new_file(f);
	assert_int_equal(f->sample_count, 3);
	assert_int_equal(f->node_count, 7);
	assert_int_equal(f->samples[1].record.node, 6);
	assert_int_equal(f->nodes[4].parent, 0);
	expect_frames(f, 0, (uint64_t[]){0x33, 0x22, 0x11}, 3);
	expect_frames(f, 1, (uint64_t[]){0x33, 0x22, 0x11}, 3);
	expect_frames(f, 2, (uint64_t[]){0x33, 0x22, 0x12}, 3);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
}

/* Of a program that is watched from outside too, and its threads are defined in each file. */
static void test_outside_passes_with_the_files(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames[] = {0x11, 0x22};
	struct st_drain_outside one = {.tid = TID,
				       .ticks = f->start + 50,
				       .weight_ns = 1000,
				       .native = frames,
				       .native_count = 2};

	f->shared.ring_buffer = true;
	st_drain_take_outside(f->drain, &one);
	new_file(f);
	assert_int_equal(f->sample_count, 1);
	assert_int_equal(find_definition(f, ST_DEF_THREAD, f->samples[0].track)->fields[0], TID);
	one.ticks += 10;
	st_drain_take_outside(f->drain, &one);
	new_file(f);
	assert_int_equal(f->sample_count, 2);
	assert_int_equal(f->samples[1].track, f->samples[0].track);
	assert_int_equal(f->node_count, 4);
	expect_frames(f, 1, (uint64_t[]){0x22, 0x11}, 2);
}

static void describe(struct fixture *f, uint32_t id, const char *name)
{
	uint64_t code[7] = {st_word_ext(ST_EXT_PYTHON_CODE, 7, 0), id | (uint64_t)5 << 32,
			    4 | (uint64_t)strlen(name) << 32, 2};

	memcpy(&code[4], "a.py", 4);
	memcpy(&code[5], name, strlen(name));
	memcpy(&code[6], "\x01\x02", 2);
	push(f, 0, code, 7);
}

static void tell_runtime(struct fixture *f)
{
	uint64_t runtime[6] = {
		st_word_ext(ST_EXT_PYTHON_RUNTIME, 6, 0), 0x030b0700, EVAL, EVAL_END, 0, 0};

	push(f, 0, runtime, 6);
}

static void python_sample(struct fixture *f, uint32_t id)
{
	sample(f, 0,
	       &(struct stack){.native = {EVAL + 8, 0x33},
			       .python = {st_word_python_frame(id, 4, ST_PYTHON_FRAME_ENTRY)}});
}

/* The target describes a function once; every file that has it in a stack has its name. */
static void test_codes_pass_with_the_files(void **state)
{
	struct fixture *f = *state;
	const struct seen_definition *d;

	f->shared.ring_buffer = true;
	own(f, 0, TID);
	tell_runtime(f);
	describe(f, 9, "fib");
	describe(f, 10, "fob");
	python_sample(f, 9);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	assert_non_null(find_definition(f, ST_DEF_PYTHON_CODE, 9));
	assert_non_null(find_definition(f, ST_DEF_PYTHON_CODE, 10));
	assert_int_equal(f->definition_count - f->trace_definition_count, 1); /* the runtime */
	new_file(f);
	sample(f, 0, &(struct stack){.native = {0x11}});
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	assert_null(find_definition(f, ST_DEF_PYTHON_CODE, 9));
	new_file(f);
	python_sample(f, 10);
	python_sample(f, 9);
	python_sample(f, 10);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	d = find_definition(f, ST_DEF_PYTHON_CODE, 9);
	assert_non_null(d);
	assert_memory_equal(d->body + 4, "\5\0\0\0\0\0\0\0\4\0\0\0a.py\3\0\0\0fib\2\0\0\0\1\2", 29);
	assert_non_null(find_definition(f, ST_DEF_PYTHON_CODE, 10));
	assert_int_equal(f->trace_definition_count, f->definition_count);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
}

/* Code that is made for ever: what was met last is known, the rest is forgotten. */
static void test_codes_are_bounded(void **state)
{
	struct fixture *f = *state;
	const uint32_t codes = 100000, at_once = 32;

	f->shared.ring_buffer = true;
	own(f, 0, TID);
	tell_runtime(f);
	for (uint32_t id = 1; id <= codes; id++) {
		describe(f, id, "made");
		if (id % at_once == 0)
			new_file(f);
	}
	new_file(f);
	python_sample(f, 1);
	python_sample(f, codes - at_once * 50);
	python_sample(f, codes);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
	assert_null(find_definition(f, ST_DEF_PYTHON_CODE, 1));
	assert_non_null(find_definition(f, ST_DEF_PYTHON_CODE, codes - at_once * 50));
	assert_non_null(find_definition(f, ST_DEF_PYTHON_CODE, codes));
}

/* Who created a thread is forgotten when it has gone: there may be many more to come. */
static void test_creators_of_gone_threads(void **state)
{
	struct fixture *f = *state;
	uint32_t self = (uint32_t)getpid(), gone = self + 1000;

	st_drain_thread_created(f->drain, self, 77, f->start);
	for (uint32_t i = 0; i < 5000; i++)
		st_drain_thread_created(f->drain, gone + i, 77, f->start);
	st_drain_reap_threads(f->drain, (int)self);
	own(f, 0, gone | (uint64_t)1 << 32); /* its samples came late */
	sample(f, 0, &(struct stack){.native = {0x11}});
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_reap_threads(f->drain, (int)self);
	own(f, 1, self | (uint64_t)1 << 32);
	sample(f, 1, &(struct stack){.native = {0x11}});
	own(f, 1, (gone + 1) | (uint64_t)2 << 32);
	sample(f, 1, &(struct stack){.native = {0x11}});
	drain_all(f);
	assert_non_null(find_definition(f, ST_DEF_THREAD_CREATOR, self));
	assert_non_null(find_definition(f, ST_DEF_THREAD_CREATOR, gone));
	assert_null(find_definition(f, ST_DEF_THREAD_CREATOR, gone + 1));
}

static size_t count_losses(const struct fixture *f)
{
	size_t count = 0;

	for (size_t i = 0; i < f->definition_count; i++)
		count += f->definitions[i].type == ST_DEF_SAMPLER_LOSS;
	return count;
}

/* Figures that change every second go with the files as well; only the last ones stay. */
static void test_losses_pass_with_the_files(void **state)
{
	struct fixture *f = *state;

	f->shared.ring_buffer = true;
	own(f, 0, TID);
	for (int i = 0; i < 5; i++) {
		sample(f, 0, &(struct stack){.native = {0x11}});
		new_file(f);
		assert_int_equal(count_losses(f), 1); /* the new file tells them at once */
		assert_int_equal(f->trace_definition_count, f->definition_count);
	}
	f->definition_count = f->trace_definition_count = 0;
	drain_all(f);
	assert_int_equal(count_losses(f), 1);
	assert_int_equal(f->definition_count - f->trace_definition_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, drain_setup, drain_teardown)
		TEST(test_stacks_are_restored),
		TEST(test_time_off_the_processor_is_no_cost),
		TEST(test_one_track_for_both_rings),
		TEST(test_python_frames_are_merged),
		TEST(test_garbage),
		TEST(test_noise),
		TEST(test_losses),
		TEST(test_nodes_pass_with_the_files),
		TEST(test_outside_passes_with_the_files),
		TEST(test_losses_pass_with_the_files),
		TEST(test_codes_pass_with_the_files),
		TEST(test_codes_are_bounded),
		TEST(test_creators_of_gone_threads),
		cmocka_unit_test(test_tree_is_bounded),
		cmocka_unit_test(test_tree_forgets),
		cmocka_unit_test(test_tree_begins_again_at_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
