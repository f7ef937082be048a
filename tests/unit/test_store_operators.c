// SPDX-License-Identifier: Apache-2.0
//
// Operators of an open result: which slices they are, what they were called with, the memory that slices took, and
// what damage leaves of all that. Expected values are worked out by hand from what each test writes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "open_fixture.h"
#include "signature_maker.h"
#include "store/operators.h"
#include "store/samples.h"

static void define(struct fixture *f, uint32_t id, const struct made_signature *s)
{
	uint8_t body[2 * ST_SIGNATURE_BYTES_MAX + 8] = {0};
	size_t begin = st_definition_begin(&f->m.records, ST_DEF_SIGNATURE);

	memcpy(body, &id, sizeof(id));
	memcpy(body + 8, s->bytes, s->size_bytes);
	st_buf_append(&f->m.records, body, 8 + s->size_bytes);
	st_definition_end(&f->m.records, begin);
	f->m.record_count++;
}

/* Signature 1: a of domain 1, a float of 8 × 3 and a number; 2: b of domain 2, two tensors in a list. */
static int setup(void **state)
{
	struct fixture *f;
	struct made_signature s;

	fixture_setup(state);
	f = *state;
	maker_text(&f->m, ST_DEF_DOMAIN, 2, "torch.operator");
	sig_begin(&s, 2, 1, ST_SCOPE_FUNCTION, 2);
	sig_tensor(&s, 6, 2, (const uint8_t[]){8, 3});
	sig_u8(&s, ST_INPUT_SCALAR);
	define(f, 1, &s);
	sig_begin(&s, 2, 2, ST_SCOPE_BACKWARD, 4);
	sig_u8(&s, ST_INPUT_INTEGER);
	sig_u8(&s, 3); /* -2 */
	sig_u8(&s, ST_INPUT_INTEGER_LIST);
	sig_u8(&s, 2);
	sig_u8(&s, 0);
	sig_u8(&s, 22);
	sig_u8(&s, 26);
	sig_list(&s, 2);
	sig_tensor(&s, 5, 1, (const uint8_t[]){7});
	sig_u8(&s, ST_INPUT_UNDEFINED);
	sig_u8(&s, ST_INPUT_OTHER);
	define(f, 2, &s);
	maker_define(&f->m, 1);
	return 0;
}

static void begin(struct fixture *f, uint64_t time, uint32_t signature, int64_t sequence)
{
	st_slice_encoder_operator(&f->m.slices, time, signature, sequence);
	st_slice_encoder_begin(&f->m.slices, time, 2, signature, 0);
}

static void end(struct fixture *f, uint64_t time)
{
	st_slice_encoder_end(&f->m.slices, time, 2);
}

static void memory(struct fixture *f, uint64_t time, uint64_t allocated, uint64_t freed,
		   uint64_t peak)
{
	const uint64_t bytes[] = {allocated, freed, peak};

	st_slice_encoder_memory(&f->m.slices, time, bytes);
}

static void test_operators(void **state)
{
	struct fixture *f = *state;
	const struct st_operator *items;
	const struct st_signature *signatures;
	uint32_t count;

	st_slice_encoder_begin(&f->m.slices, 5, 1, 1, 0); /* row 0, no operator */
	begin(f, 10, 2, 70);				  /* row 1 */
	begin(f, 20, 1, 12);				  /* row 2 */
	end(f, 30);
	end(f, 40);
	begin(f, 50, 1, -1); /* row 3 */
	end(f, 60);
	st_slice_encoder_end(&f->m.slices, 70, 1);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	assert_int_equal(st_result_slices(f->result)->count, 4);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 3);
	assert_int_equal(items[0].row, 1);
	assert_int_equal(items[0].signature, 1);
	assert_int_equal(items[0].sequence, 70);
	assert_int_equal(items[1].row, 2);
	assert_int_equal(items[1].signature, 0);
	assert_int_equal(items[1].sequence, 12);
	assert_int_equal(items[2].sequence, ST_NO_SEQUENCE);
	assert_null(st_result_operator_of(f->result, 0));
	assert_ptr_equal(st_result_operator_of(f->result, 1), &items[0]);
	assert_ptr_equal(st_result_operator_of(f->result, 3), &items[2]);
	assert_null(st_result_operator_of(f->result, 4));
	signatures = st_result_signatures(f->result, &count);
	assert_int_equal(count, 2);
	assert_string_equal(st_result_text(f->result, signatures[1].name).bytes, "b");
	assert_string_equal(st_result_text(f->result, signatures[1].domain).bytes,
			    "torch.operator");
	assert_int_equal(signatures[1].scope, ST_SCOPE_BACKWARD);
	assert_int_equal(signatures[1].flags, ST_SIGNATURE_INPUTS);
	assert_string_equal(label_name(f->result, 1), "b");
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 0);
}

static void test_inputs(void **state)
{
	struct fixture *f = *state;
	struct st_input_reader reader;
	const struct st_signature *signatures;
	struct st_input input;
	uint32_t count;

	fixture_open(f);
	signatures = st_result_signatures(f->result, &count);
	assert_int_equal(signatures[0].input_count, 2);
	st_input_begin(&reader, &signatures[0]);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.kind, ST_INPUT_TENSOR);
	assert_int_equal(input.dtype, 6);
	assert_int_equal(input.dimension_count, 2);
	assert_int_equal(input.sizes[0], 8);
	assert_int_equal(input.sizes[1], 3);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.kind, ST_INPUT_SCALAR);
	assert_false(st_input_next(&reader, &input));
	st_input_begin(&reader, &signatures[1]);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.kind, ST_INPUT_INTEGER);
	assert_int_equal(input.integer_count, 1);
	assert_int_equal(input.dimension_count, 0);
	assert_true(input.sizes[0] == -2);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.kind, ST_INPUT_INTEGER_LIST);
	assert_int_equal(input.integer_count, 2);
	assert_int_equal(input.sizes[1], 13);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.kind, ST_INPUT_TENSOR_LIST);
	assert_int_equal(input.list, 2);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.sizes[0], 7);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.kind, ST_INPUT_UNDEFINED);
	assert_int_equal(input.dimension_count, 0);
	assert_true(st_input_next(&reader, &input));
	assert_int_equal(input.kind, ST_INPUT_OTHER);
	assert_false(st_input_next(&reader, &input));
}

/* Each block is a moment of its own, also of one time. */
static void test_blocks(void **state)
{
	struct fixture *f = *state;
	const struct st_memory_moment *moments;
	const struct st_operator *items;
	uint32_t count;

	begin(f, 10, 1, -1);
	st_slice_encoder_block(&f->m.slices, 15, 0x7f0000001040, 100);
	st_slice_encoder_block(&f->m.slices, 15, 0x1000, 8);
	st_slice_encoder_block(&f->m.slices, 16, 0x7f0000001040, -100);
	end(f, 20);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	moments = st_result_memory(f->result, &count);
	assert_int_equal(count, 3);
	assert_true(moments[0].address == 0x7f0000001040 && moments[0].allocated == 100);
	assert_true(moments[1].address == 0x1000 && moments[1].allocated == 8);
	assert_true(moments[2].address == 0x7f0000001040 && moments[2].freed == 100);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 1);
	assert_true(items[0].allocated == 108 && items[0].freed == 100);
}

/* Blocks on devices are told apart, from each other and from those of the CPU. */
static void test_device_blocks(void **state)
{
	struct fixture *f = *state;
	const struct st_memory_moment *moments;
	const struct st_operator *items;
	const uint32_t cuda = ST_MEMORY_PLACE(1, 0), other = ST_MEMORY_PLACE(12, 3);
	uint32_t count;

	begin(f, 10, 1, -1);
	st_slice_encoder_device_block(&f->m.slices, 15, cuda, 0x1000, 512);
	st_slice_encoder_block(&f->m.slices, 15, 0x1000, 8);
	st_slice_encoder_device_block(&f->m.slices, 16, other, 0x2000, 1024);
	end(f, 20);
	st_slice_encoder_device_block(&f->m.slices, 25, cuda, 0x1000, -512);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	moments = st_result_device_memory(f->result, &count);
	assert_int_equal(count, 3);
	assert_true(moments[0].place == cuda && moments[0].allocated == 512);
	assert_true(moments[0].address == 0x1000 && moments[0].row == 0);
	assert_true(moments[1].place == other && moments[1].allocated == 1024);
	assert_true(moments[2].place == cuda && moments[2].freed == 512);
	assert_true(moments[2].address == 0x1000 && moments[2].row == ST_NO_ROW);
	moments = st_result_memory(f->result, &count);
	assert_int_equal(count, 1);
	assert_true(moments[0].place == 0 && moments[0].allocated == 8);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(items[0].allocated, 8);
}

/* Memory belongs to what is open; slices that are no operators are there for their memory only. */
static void test_memory(void **state)
{
	struct fixture *f = *state;
	const struct st_memory_moment *moments;
	const struct st_operator *items;
	uint32_t count;

	memory(f, 2, 64, 0, 0);				  /* nothing open */
	st_slice_encoder_begin(&f->m.slices, 5, 1, 1, 0); /* row 0 */
	begin(f, 10, 1, -1);				  /* row 1 */
	memory(f, 19, 100, 30, 80);
	begin(f, 20, 2, -1); /* row 2 */
	end(f, 30);
	memory(f, 39, 0, 5, 0);
	end(f, 40);
	memory(f, 69, 7, 0, 0);
	st_slice_encoder_end(&f->m.slices, 70, 1);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 3);
	assert_int_equal(items[0].row, 0);
	assert_int_equal(items[0].signature, ST_NO_ROW);
	assert_int_equal(items[0].sequence, ST_NO_SEQUENCE);
	assert_int_equal(items[0].allocated, 7);
	assert_int_equal(items[1].allocated, 100);
	assert_int_equal(items[1].freed, 35);
	assert_int_equal(items[2].allocated, 0);
	moments = st_result_memory(f->result, &count);
	assert_int_equal(count, 4);
	assert_int_equal(moments[0].time_ns, 2);
	assert_int_equal(moments[0].row, ST_NO_ROW);
	assert_int_equal(moments[0].allocated, 64);
	assert_int_equal(moments[1].row, 1);
	assert_int_equal(moments[1].time_ns, 19);
	assert_int_equal(moments[1].allocated, 100);
	assert_int_equal(moments[1].freed, 30);
	assert_int_equal(moments[1].peak, 80);
	assert_int_equal(moments[2].freed, 5);
	assert_int_equal(moments[3].row, 0);
}

/* Chunks of two threads come as they come: rows and times are in order for all that. */
static void test_two_threads(void **state)
{
	struct fixture *f = *state;
	const struct st_memory_moment *moments;
	const struct st_operator *items;
	uint32_t count;

	maker_thread(&f->m, 2, 101);
	maker_define(&f->m, 1);
	begin(f, 100, 1, 1);
	memory(f, 150, 1, 0, 0);
	end(f, 200);
	maker_chunk(&f->m, 1, 2);
	begin(f, 10, 2, 2);
	memory(f, 15, 2, 0, 0);
	end(f, 20);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(items[0].row, 0);
	assert_int_equal(items[0].sequence, 2);
	assert_int_equal(items[0].allocated, 2);
	assert_int_equal(items[1].row, 1);
	assert_int_equal(items[1].sequence, 1);
	moments = st_result_memory(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(moments[0].time_ns, 15);
	assert_int_equal(moments[0].track, 0);
	assert_int_equal(moments[1].time_ns, 150);
	assert_int_equal(moments[1].track, 1);
}

/* What nobody defines is still an operator that took its time. */
static void test_missing_signature(void **state)
{
	struct fixture *f = *state;
	const struct st_operator *items;
	uint32_t count;

	st_slice_encoder_operator(&f->m.slices, 10, 9, 4);
	st_slice_encoder_begin(&f->m.slices, 10, 2, 1, 0);
	end(f, 20);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(items[0].signature, ST_NO_ROW);
	assert_int_equal(items[0].sequence, 4);
	assert_true(has_note(f->result, "are not in the definitions"));
}

static void test_damaged_signature(void **state)
{
	struct fixture *f = *state;
	struct made_signature s;
	uint32_t count;

	sig_begin(&s, 2, 1, ST_SCOPE_FUNCTION, 3);
	sig_u8(&s, ST_INPUT_TENSOR); /* cut off */
	define(f, 3, &s);
	maker_define(&f->m, 1);
	fixture_open(f);
	st_result_signatures(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 1);
}

/* A forked child uses the ids of its ancestor until it defines them itself. */
static void test_forked_child(void **state)
{
	struct fixture *f = *state;
	const struct st_operator *items;
	struct made_signature s;
	uint32_t count;

	maker_process(&f->m, 200, 1, ST_PROCESS_FORKED, 0);
	maker_numbers(&f->m, ST_DEF_INHERIT, "4444", 1u, 3u, 2u, 0u);
	sig_begin(&s, 2, 3, ST_SCOPE_USER, 0);
	define(f, 2, &s);
	maker_define(&f->m, 2);
	begin(f, 10, 1, -1);
	end(f, 20);
	begin(f, 30, 2, -1);
	end(f, 40);
	maker_chunk(&f->m, 2, 1);
	fixture_open(f);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(items[0].signature, 0);
	assert_int_equal(items[1].signature, 2);
	assert_int_equal(st_result_signatures(f->result, &count)[2].scope, ST_SCOPE_USER);
	assert_int_equal(st_result_signatures(f->result, &count)[2].process, 1);
}

/* Operators have the stack that was told before them; calls of modules, and one that nobody defines, have none. */
static void test_stacks(void **state)
{
	struct fixture *f = *state;
	const struct st_stack_node nodes[] = {{0, ST_FRAME_PYTHON, 1 | 5ull << 32},
					      {1, ST_FRAME_PYTHON, 1 | 9ull << 32}};
	static const uint32_t told[] = {2, 1, 99, 2, 0};
	const struct st_stack_nodes *tree;
	const struct st_operator *items;
	struct made_signature s;
	uint32_t count;

	maker_python_runtime(&f->m, 0x030b07f0);
	maker_python_code(&f->m, 1, 10, "a.py", "f", NULL);
	maker_nodes(&f->m, 1, nodes, 2);
	sig_begin(&s, 2, 1, ST_SCOPE_MODULE, 0);
	define(f, 3, &s);
	maker_define(&f->m, 1);
	for (uint64_t i = 0; i < 5; i++) {
		st_slice_encoder_stack(&f->m.slices, 10 * i + 10, told[i]);
		begin(f, 10 * i + 10, i == 3 ? 3 : 1, -1);
		end(f, 10 * i + 15);
	}
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	items = st_result_operators(f->result, &count);
	tree = st_result_stack_nodes(f->result);
	assert_int_equal(count, 5);
	assert_int_equal(tree->value[items[0].stack] >> 32, 9);
	assert_int_equal(tree->parent[items[0].stack], items[1].stack);
	assert_int_equal(tree->value[items[1].stack] >> 32, 5);
	assert_int_equal(items[2].stack, 0);
	assert_int_equal(items[3].stack, 0);
	assert_int_equal(items[4].stack, 0);
}

static void test_source(void **state)
{
	struct fixture *f = *state;
	const struct st_operator_source *sources;
	uint32_t count;

	for (uint32_t level = ST_OPERATORS_NAMES; level >= ST_OPERATORS_IN_PLACE; level--) {
		size_t at = st_definition_begin(&f->m.records, ST_DEF_OPERATOR_SOURCE);

		st_buf_append_u32(&f->m.records, level);
		st_buf_append_u32(&f->m.records, ST_OPERATORS_UNTESTED);
		st_definition_text(&f->m.records, "torch 3.0", 9);
		st_definition_text(&f->m.records, "why", level == ST_OPERATORS_IN_PLACE ? 0 : 3);
		st_definition_end(&f->m.records, at);
		f->m.record_count++;
	}
	maker_define(&f->m, 1);
	fixture_open(f);
	sources = st_result_operator_sources(f->result, &count);
	assert_int_equal(count, 1);
	assert_int_equal(sources[0].process, 0);
	assert_int_equal(sources[0].level, ST_OPERATORS_IN_PLACE);
	assert_int_equal(sources[0].flags, ST_OPERATORS_UNTESTED);
	assert_string_equal(st_result_text(f->result, sources[0].framework).bytes, "torch 3.0");
	assert_int_equal(sources[0].why, 0);
}

/* A slice that was open when the files before were dropped is still that operator. */
static void test_open_operator(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header = {
		.type = ST_CHUNK_OPEN, .process = 1, .record_count = 1, .first_time = 50};
	const struct st_open_record open = {
		.track = 1, .domain = 2, .name = 2, .signature = 2, .begin = 10};
	const struct st_operator *items;
	uint32_t count;

	maker_raw_chunk(&f->m, header, &open, sizeof(open));
	begin(f, 60, 1, -1);
	end(f, 70);
	end(f, 80);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
	assert_int_equal(maker_open_as(&f->m, 3, &f->result, &f->err), ST_OK);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(items[0].row, 0);
	assert_int_equal(items[0].signature, 1);
	assert_int_equal(items[1].signature, 0);
}

/* Read from index.strata as it was built. */
static void test_index_from_disk(void **state)
{
	struct fixture *f = *state;
	char *folder = temporary_folder();
	struct st_result_options again = {.rebuild_index = true};
	uint32_t count;

	begin(f, 10, 1, 3);
	memory(f, 15, 11, 0, 0);
	end(f, 20);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
	maker_write(&f->m, folder);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			st_result_open(&f->result, folder, i == 2 ? &again : NULL, &f->err), ST_OK);
		assert_int_equal(st_result_operators(f->result, &count)[0].sequence, 3);
		assert_int_equal(count, 1);
		assert_int_equal(st_result_memory(f->result, &count)[0].allocated, 11);
		assert_int_equal(count, 1);
		st_result_close(f->result);
		f->result = NULL;
	}
	remove_folder(folder);
	free(folder);
}

/* Each operator a second time as an ITT task, name for name; who watches is called in the same order at begin and
 * end. Rows: operator a 0, its twin 1, operator b 2, its twin 3, an ITT task of another name 4. */
static void add_twins(struct fixture *f)
{
	maker_text(&f->m, ST_DEF_DOMAIN, 3, "PyTorch");
	maker_define(&f->m, 1);
	maker_sample(&f->m, 105, 1, 0, 0);
	maker_sample(&f->m, 115, 1, 0, 0);
	maker_sample(&f->m, 135, 1, 0, 0);
	maker_samples(&f->m, 1, 1);
	begin(f, 100, 1, -1);
	st_slice_encoder_begin(&f->m.slices, 102, 3, 1, 0);
	memory(f, 109, 50, 0, 0); /* the twin is innermost */
	begin(f, 110, 2, -1);
	st_slice_encoder_begin(&f->m.slices, 112, 3, 2, 0);
	st_slice_encoder_begin(&f->m.slices, 130, 3, 3, 0);
	st_slice_encoder_end(&f->m.slices, 140, 3);
	end(f, 150);
	st_slice_encoder_end(&f->m.slices, 152, 3);
	memory(f, 159, 0, 20, 0);
	end(f, 160);
	st_slice_encoder_end(&f->m.slices, 162, 3);
	maker_chunk(&f->m, 1, 1);
}

static void test_twins(void **state)
{
	static const uint32_t parents[] = {ST_NO_ROW, 0, 0, 2, 2};
	static const uint16_t depths[] = {0, 1, 1, 2, 2};
	static const int64_t ends[] = {160, 160, 150, 150, 140};
	static const uint64_t selves[] = {60 - 40, 0, 40 - 10, 0, 10};
	struct fixture *f = *state;
	const struct st_slices *slices;
	const struct st_operator *items;
	const struct st_samples *samples;
	uint32_t count;

	add_twins(f);
	fixture_open(f);
	slices = st_result_slices(f->result);
	assert_int_equal(slices->count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(slices->flags[i], i % 2 ? ST_SLICE_TWIN : 0);
		assert_int_equal(slices->parent[i], parents[i]);
		assert_int_equal(slices->depth[i], depths[i]);
		assert_int_equal(slices->end_ns[i], ends[i]);
		assert_int_equal(slices->self_ns[i], selves[i]);
	}
	assert_int_equal(st_result_quality(f->result)->twins, 2);
	assert_int_equal(st_result_quality(f->result)->mismatched, 0);
	items = st_result_operators(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(items[0].row, 0);
	assert_int_equal(items[0].allocated, 50);
	assert_int_equal(items[0].freed, 20);
	assert_int_equal(items[1].allocated, 0);
	assert_int_equal(st_result_memory(f->result, &count)[0].row, 0);
	assert_int_equal(st_result_memory(f->result, &count)[1].row, 0);
	samples = st_result_samples(f->result);
	assert_int_equal(samples->slice[0], 0);
	assert_int_equal(samples->slice[1], 2);
	assert_int_equal(samples->slice[2], 4);
}

/* The task around its operator, and an operator that calls one of its own name. */
static void test_twins_around(void **state)
{
	static const uint32_t parents[] = {ST_NO_ROW, ST_NO_ROW, 1, 1};
	struct fixture *f = *state;
	const struct st_slices *slices;

	maker_text(&f->m, ST_DEF_DOMAIN, 3, "PyTorch");
	maker_define(&f->m, 1);
	st_slice_encoder_begin(&f->m.slices, 100, 3, 1, 0); /* row 0 */
	begin(f, 102, 1, -1);				    /* row 1 */
	st_slice_encoder_begin(&f->m.slices, 110, 3, 1, 0); /* row 2 */
	begin(f, 112, 1, -1);				    /* row 3 */
	st_slice_encoder_end(&f->m.slices, 120, 3);
	end(f, 122);
	st_slice_encoder_end(&f->m.slices, 130, 3);
	end(f, 132);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	slices = st_result_slices(f->result);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(slices->flags[i], i % 2 ? 0 : ST_SLICE_TWIN);
		assert_int_equal(slices->parent[i], parents[i]);
	}
	assert_int_equal(slices->self_ns[1], 30 - 10);
	assert_int_equal(slices->self_ns[3], 10);
	assert_int_equal(slices->end_ns[0], 132);
	assert_int_equal(slices->end_ns[2], 122);
	assert_int_equal(st_result_quality(f->result)->mismatched, 0);
}

/* Tasks of that domain without operators are what they always were. */
static void test_tasks_without_operators(void **state)
{
	struct fixture *f = *state;

	maker_text(&f->m, ST_DEF_DOMAIN, 3, "PyTorch");
	maker_define(&f->m, 1);
	st_slice_encoder_begin(&f->m.slices, 100, 3, 1, 0);
	st_slice_encoder_begin(&f->m.slices, 110, 3, 1, 0);
	st_slice_encoder_end(&f->m.slices, 120, 3);
	st_slice_encoder_end(&f->m.slices, 130, 3);
	maker_chunk(&f->m, 1, 1);
	fixture_open(f);
	assert_int_equal(st_result_slices(f->result)->flags[0], 0);
	assert_int_equal(st_result_slices(f->result)->parent[1], 0);
	assert_int_equal(st_result_quality(f->result)->twins, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_operators, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_inputs, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_device_blocks, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_blocks, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_two_threads, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_missing_signature, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_damaged_signature, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_forked_child, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_stacks, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_source, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_open_operator, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_index_from_disk, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_twins, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_twins_around, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_tasks_without_operators, setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
