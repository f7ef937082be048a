/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators through the drain: a begin finds the domain and name of its signature, memory keeps its place, a forked
 * child goes on with what its ancestor defined, and nothing hostile is believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drain_fixture.h"
#include "format/ring_record.h"
#include "signature_maker.h"

static uint64_t suspects(const struct fixture *f)
{
	return st_drain_counts(f->drain)->suspect;
}

/* Domain 3, that name, one tensor 8 × 3. */
static void define(struct fixture *f, uint32_t id, uint32_t name)
{
	struct made_signature s;

	sig_begin(&s, 3, name, ST_SCOPE_FUNCTION, 1);
	sig_tensor(&s, 6, 2, (const uint8_t[]){8, 3});
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, id, s.bytes, s.size_bytes);
}

static void begin(struct fixture *f, uint32_t id, uint32_t sequence_plus_1)
{
	const uint64_t words[] = {st_word_ext(ST_EXT_OPERATOR, 2, 10),
				  id | (uint64_t)sequence_plus_1 << 32};

	fake_segment_push(&f->segment, 0, words, 2);
}

/* Without a sequence number: one word. */
static void begin_short(struct fixture *f, uint32_t id)
{
	uint64_t word = st_word_slice(ST_WORD_OPERATOR, 0, id, 10);

	fake_segment_push(&f->segment, 0, &word, 1);
}

static void end(struct fixture *f)
{
	uint64_t word = st_word_slice(ST_WORD_END, 3, 0, 10);

	fake_segment_push(&f->segment, 0, &word, 1);
}

static void memory(struct fixture *f, uint64_t address, int64_t bytes)
{
	const uint64_t words[] = {st_word_ext(ST_EXT_MEMORY, 3, 1), address, (uint64_t)bytes};

	fake_segment_push(&f->segment, 0, words, 3);
}

static void test_operator_has_its_name_and_sequence(void **state)
{
	struct fixture *f = *state;
	const struct seen_definition *d;
	const struct st_slice_record *records[4];
	size_t count = 0;

	define(f, 1, 7);
	define(f, 2, 9);
	fake_segment_own(&f->segment, 0, 1, f->start);
	begin(f, 2, 0);
	begin(f, 1, 1001);
	end(f);
	end(f);
	drain_all(f);
	for (size_t i = 0; i < f->record_count; i++)
		if (f->records[i].record.op != ST_SLICE_MARK && count < 4)
			records[count++] = &f->records[i].record;
	assert_int_equal(count, 4);
	assert_int_equal(records[0]->op, ST_SLICE_BEGIN);
	assert_int_equal(records[0]->domain, 3);
	assert_int_equal(records[0]->name, 9);
	assert_int_equal(records[0]->signature, 2);
	assert_int_equal(records[0]->sequence, -1);
	assert_int_equal(records[0]->time, f->start + 10);
	assert_int_equal(records[1]->name, 7);
	assert_int_equal(records[1]->signature, 1);
	assert_int_equal(records[1]->sequence, 1000);
	assert_int_equal(records[1]->time, f->start + 20);
	assert_int_equal(records[2]->op, ST_SLICE_END);
	d = find_definition(f, ST_DEF_SIGNATURE, 2);
	assert_non_null(d);
	assert_int_equal(d->body_bytes, 8 + 12 + 5);
	assert_int_equal(d->body[8], 3);  /* domain */
	assert_int_equal(d->body[12], 9); /* name */
	assert_int_equal(d->records_before, 0);
	assert_int_equal(st_drain_counts(f->drain)->operators, 2);
	assert_int_equal(st_drain_counts(f->drain)->begins, 2);
	assert_int_equal(suspects(f), 0);
}

/* The same as the longer record without a number, and no more is believed. */
static void test_short_operators(void **state)
{
	struct fixture *f = *state;
	const struct st_slice_record *records[4];
	size_t count = 0;

	define(f, 1, 7);
	define(f, 3, 9);
	fake_segment_own(&f->segment, 0, 1, f->start);
	begin_short(f, 0);
	begin_short(f, 2);
	begin_short(f, ST_WORD_NAME_MAX);
	begin_short(f, 3);
	begin(f, 1, 0);
	end(f);
	end(f);
	drain_all(f);
	for (size_t i = 0; i < f->record_count; i++)
		if (f->records[i].record.op != ST_SLICE_MARK && count < 4)
			records[count++] = &f->records[i].record;
	assert_int_equal(count, 4);
	assert_int_equal(records[0]->op, ST_SLICE_BEGIN);
	assert_int_equal(records[0]->domain, 3);
	assert_int_equal(records[0]->name, 9);
	assert_int_equal(records[0]->signature, 3);
	assert_int_equal(records[0]->sequence, -1);
	assert_int_equal(records[0]->time, f->start + 40);
	assert_int_equal(records[1]->signature, 1);
	assert_int_equal(records[1]->sequence, -1);
	assert_int_equal(st_drain_counts(f->drain)->operators, 2);
	assert_int_equal(suspects(f), 3);
}

static void test_memory_keeps_its_place(void **state)
{
	static const struct {
		enum st_slice_mark mark;
		uint64_t value, address;
	} want[] = {{ST_MARK_ALLOCATED, 100, 0x7f0000001040},
		    {ST_MARK_ALLOCATED, 8, 0x1000},
		    {ST_MARK_FREED, 100, 0x7f0000001040}};
	struct fixture *f = *state;

	define(f, 1, 7);
	fake_segment_own(&f->segment, 0, 1, f->start);
	begin(f, 1, 0); /* the signature's mark, the begin */
	memory(f, 0x7f0000001040, 100);
	memory(f, 0x1000, 8);
	memory(f, 0x7f0000001040, -100);
	end(f);
	drain_all(f);
	assert_int_equal(f->record_count, 2 + 2 * 3 + 1);
	for (size_t i = 0; i < 3; i++) {
		const struct st_slice_record *record = &f->records[3 + 2 * i].record;

		assert_int_equal(f->records[2 + 2 * i].record.mark, ST_MARK_BLOCK);
		assert_int_equal(record->mark, want[i].mark);
		assert_int_equal(record->value, want[i].value);
		assert_int_equal(record->address, want[i].address);
		assert_int_equal(record->time, f->start + 11 + i);
	}
	assert_int_equal(f->records[8].record.op, ST_SLICE_END);
	assert_int_equal(suspects(f), 0);
}

/* A third word says which device a block lies on; one that cannot be is counted. */
static void test_device_memory(void **state)
{
	struct fixture *f = *state;
	const uint64_t on_device[] = {st_word_ext(ST_EXT_MEMORY, 4, 1), 0x1000, 512,
				      ST_MEMORY_PLACE(1, 2)};
	const uint64_t nowhere[] = {st_word_ext(ST_EXT_MEMORY, 4, 1), 0x1000, 512,
				    ST_MEMORY_PLACE_MAX + 1};
	const struct st_slice_record *record;

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, on_device, 4);
	fake_segment_push(&f->segment, 0, nowhere, 4);
	drain_all(f);
	assert_int_equal(suspects(f), 1);
	assert_int_equal(f->record_count, 3);
	assert_int_equal(f->records[0].record.mark, ST_MARK_DEVICE);
	assert_int_equal(f->records[1].record.mark, ST_MARK_BLOCK);
	record = &f->records[2].record;
	assert_int_equal(record->mark, ST_MARK_DEVICE_ALLOCATED);
	assert_int_equal(record->value, 512);
	assert_int_equal(record->address, 0x1000);
	assert_int_equal(record->place, ST_MEMORY_PLACE(1, 2));
}

/* Each is counted and left out; what follows is taken. */
static void test_operators_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	uint64_t clipped[] = {st_word_ext(ST_EXT_OPERATOR, 3, 1), 1, ST_BEGIN_CLIPPED};
	uint64_t flags[] = {st_word_ext(ST_EXT_OPERATOR, 3, 1), 1, 64};

	define(f, 1, 7);
	define(f, 5, 7); /* 2 to 4 are not defined */
	fake_segment_own(&f->segment, 0, 1, f->start);
	begin(f, 0, 0);
	begin(f, 2, 0);
	begin(f, 6, 0);
	begin(f, UINT32_MAX, 0);
	memory(f, 64, INT64_MAX);
	memory(f, 64, INT64_MIN);
	memory(f, 64, 0);
	fake_segment_push(&f->segment, 0, flags, 3);
	fake_segment_push(&f->segment, 0, clipped, 3);
	begin(f, 5, 0);
	drain_all(f);
	assert_int_equal(suspects(f), 8);
	assert_int_equal(f->record_count, 4);
	assert_int_equal(f->records[1].record.signature, 1);
	assert_int_equal(f->records[1].record.flags, ST_BEGIN_CLIPPED);
	assert_int_equal(f->records[3].record.signature, 5);
}

/* Too short to be one: where the next record begins is not known. */
static void test_short_records(void **state)
{
	struct fixture *f = *state;
	uint64_t short_word = st_word_ext(ST_EXT_OPERATOR, 1, 1);
	uint64_t memory_words[] = {st_word_ext(ST_EXT_MEMORY, 2, 1), 1};

	define(f, 1, 7);
	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, &short_word, 1);
	st_drain_cycle(f->drain, 1, NULL);
	assert_int_equal(suspects(f), 1);
	fake_segment_push(&f->segment, 0, memory_words, 2);
	st_drain_cycle(f->drain, 1, NULL);
	assert_int_equal(suspects(f), 2);
	begin(f, 1, 0);
	drain_all(f);
	assert_int_equal(st_drain_counts(f->drain)->operators, 1);
}

static void test_signatures_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	struct made_signature s;
	uint64_t expected = 0;

	define(f, 0, 7);
	define(f, ST_SHM_SIGNATURES_MAX + 1, 7);
	define(f, 1, 1u << 20); /* a name of ours */
	expected += 3;
	sig_begin(&s, 5000, 7, ST_SCOPE_FUNCTION, 0); /* domain */
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	sig_begin(&s, 3, 7, ST_SCOPE_FUNCTION, 1); /* an input too few */
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, 11);
	sig_begin(&s, 3, 7, ST_SCOPE_FUNCTION, 0);
	sig_u8(&s, ST_INPUT_OTHER); /* one too many */
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	expected += 4;
	sig_begin(&s, 3, 7, ST_SCOPE_FUNCTION, 1);
	sig_tensor(&s, 6, 65, s.bytes); /* dimensions */
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	sig_begin(&s, 3, 7, ST_SCOPE_FUNCTION, 1);
	sig_u8(&s, 9); /* kind of input */
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	sig_begin(&s, 3, 7, ST_SCOPE_FUNCTION, 1);
	sig_list(&s, 1);
	sig_list(&s, 0); /* a list in a list */
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	sig_begin(&s, 3, 7, ST_SCOPE_FUNCTION, 1);
	sig_list(&s, 2048);
	while (s.size_bytes < ST_SIGNATURE_BYTES_MAX + 15)
		sig_u8(&s, ST_INPUT_UNDEFINED); /* too long */
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	sig_begin(&s, 3, 7, ST_SCOPE_FUNCTION, 1);
	sig_u8(&s, ST_INPUT_INTEGER_LIST);
	sig_u8(&s, 65); /* numbers */
	sig_u8(&s, 0);
	while (s.size_bytes < 12 + 3 + 65)
		sig_u8(&s, 2);
	fake_segment_define(&f->segment, ST_DEFINE_SIGNATURE, 1, s.bytes, s.size_bytes);
	expected += 5;
	fake_segment_own(&f->segment, 0, 1, f->start);
	begin(f, 1, 0);
	drain_all(f);
	assert_int_equal(suspects(f), expected + 1);
	assert_null(find_definition(f, ST_DEF_SIGNATURE, 1));
	assert_int_equal(f->record_count, 0);
}

static void stack(struct fixture *f, uint32_t fresh, uint32_t kept, const uint64_t *frames)
{
	uint64_t words[10] = {st_word_ext(ST_EXT_STACK, 2 + fresh, 1),
			      fresh | (uint64_t)kept << 16};

	memcpy(words + 2, frames, fresh * sizeof(*frames));
	fake_segment_push(&f->segment, 0, words, 2 + fresh);
}

static uint32_t stack_of(const struct fixture *f, size_t begin_index)
{
	for (size_t i = 0; i < f->record_count; i++)
		if (f->records[i].record.op == ST_SLICE_BEGIN && begin_index-- == 0)
			return f->records[i].record.stack;
	return UINT32_MAX;
}

/* A stack counts until the next; frames that stay are not told again; the same stack is the same node. */
static void test_stacks(void **state)
{
	static const uint64_t one[] = {2 | 7ull << 32, 1 | 5ull << 32}, two[] = {3 | 9ull << 32};
	struct fixture *f = *state;
	uint32_t nodes[5];

	define(f, 1, 7);
	fake_segment_own(&f->segment, 0, 1, f->start);
	begin(f, 1, 0);
	end(f);
	stack(f, 2, 0, one);
	begin(f, 1, 0);
	end(f);
	begin(f, 1, 0);
	end(f);
	stack(f, 1, 1, two);
	begin(f, 1, 0);
	end(f);
	stack(f, 1, 1, one);
	begin(f, 1, 0);
	end(f);
	drain_all(f);
	assert_int_equal(suspects(f), 0);
	for (size_t i = 0; i < 5; i++)
		nodes[i] = stack_of(f, i);
	assert_int_equal(nodes[0], 0);
	assert_int_equal(nodes[1], nodes[2]);
	assert_int_equal(nodes[1], nodes[4]);
	assert_int_not_equal(nodes[3], nodes[1]);
	assert_int_equal(f->nodes[nodes[1]].kind, ST_FRAME_PYTHON);
	assert_int_equal(f->nodes[nodes[1]].value, one[0]);
	assert_int_equal(f->nodes[nodes[3]].value, two[0]);
	assert_int_equal(f->nodes[nodes[3]].parent, f->nodes[nodes[1]].parent);
	assert_int_equal(f->nodes[f->nodes[nodes[1]].parent].value, one[1]);
}

/* More kept than there is, and fewer words than it says: the stack is not known then. */
static void test_hostile_stacks(void **state)
{
	static const uint64_t one[] = {2 | 7ull << 32};
	struct fixture *f = *state;
	uint64_t words[3] = {st_word_ext(ST_EXT_STACK, 3, 1), 9, 1};

	define(f, 1, 7);
	fake_segment_own(&f->segment, 0, 1, f->start);
	stack(f, 1, 5, one);
	begin(f, 1, 0);
	end(f);
	stack(f, 1, 0, one);
	fake_segment_push(&f->segment, 0, words, 3);
	begin(f, 1, 0);
	end(f);
	drain_all(f);
	assert_int_equal(suspects(f), 2);
	assert_int_equal(stack_of(f, 0), 0);
	assert_int_equal(stack_of(f, 1), 0);
}

static void test_source(void **state)
{
	struct fixture *f = *state;
	static const char text[] = "torch 2.13.0\0no shapes";
	const struct seen_definition *d;
	struct st_cursor body;
	struct st_text part;

	fake_segment_define(&f->segment, ST_DEFINE_OPERATOR_SOURCE,
			    ST_OPERATORS_NAMES | ST_OPERATORS_UNTESTED << 8, text,
			    sizeof(text) - 1);
	fake_segment_define(&f->segment, ST_DEFINE_OPERATOR_SOURCE, 5, text, sizeof(text) - 1);
	fake_segment_define(&f->segment, ST_DEFINE_OPERATOR_SOURCE, 1, "no NUL", 6);
	fake_segment_define(&f->segment, ST_DEFINE_OPERATOR_SOURCE, 1, "", 0);
	drain_all(f);
	assert_int_equal(suspects(f), 3);
	d = find_definition(f, ST_DEF_OPERATOR_SOURCE, ST_OPERATORS_NAMES);
	assert_non_null(d);
	body = (struct st_cursor){.at = d->body, .end = d->body + d->body_bytes};
	assert_int_equal(st_cursor_u32(&body), ST_OPERATORS_NAMES);
	assert_int_equal(st_cursor_u32(&body), ST_OPERATORS_UNTESTED);
	part = st_cursor_text(&body);
	assert_int_equal(part.size_bytes, 12);
	assert_memory_equal(part.bytes, "torch 2.13.0", 12);
	part = st_cursor_text(&body);
	assert_int_equal(part.size_bytes, 9);
	assert_memory_equal(part.bytes, "no shapes", 9);
	assert_true(body.at == body.end && !body.failed);
	assert_int_equal(st_drain_counts(f->drain)->operator_level, ST_OPERATORS_NAMES);
	assert_string_equal(st_drain_counts(f->drain)->framework, "torch 2.13.0");
}

/* What a program says of its framework may end on a terminal. */
static void test_framework_is_printable(void **state)
{
	struct fixture *f = *state;
	char text[100];

	memset(text, 'x', sizeof(text));
	text[0] = '\033';
	text[1] = (char)0xff;
	text[99] = '\0';
	fake_segment_define(&f->segment, ST_DEFINE_OPERATOR_SOURCE, 1, text, sizeof(text));
	drain_all(f);
	assert_int_equal(strlen(st_drain_counts(f->drain)->framework), ST_FRAMEWORK_BYTES - 1);
	assert_memory_equal(st_drain_counts(f->drain)->framework, "??xxx", 5);
}

/* The ids of the ancestor, also when it is gone; what the child defines itself is its own. */
static void test_child_goes_on_with_signatures(void **state)
{
	struct fixture *f = *state, *child;
	struct st_known_signatures kept;
	void *child_state;

	define(f, 1, 7);
	define(f, 2, 8);
	drain_all(f);
	drain_setup(&child_state);
	child = child_state;
	st_drain_give_signatures(f->drain, &kept);
	assert_int_equal(st_drain_signatures(f->drain)->count, 0);
	assert_true(st_drain_inherit_signatures(child->drain, &kept));
	free(kept.entries);
	define(child, 2, 9);
	fake_segment_own(&child->segment, 0, 1, child->start);
	begin(child, 1, 0);
	begin(child, 2, 0);
	begin(child, 3, 0);
	drain_all(child);
	assert_int_equal(suspects(child), 1);
	assert_int_equal(child->records[1].record.name, 7);
	assert_int_equal(child->records[3].record.name, 9);
	drain_teardown(&child_state);
}

/* Of a ring buffer: signatures stay in the definitions, and an operator that is open keeps its own. */
static void test_ring_buffer(void **state)
{
	struct fixture *f = *state;

	f->shared.ring_buffer = true;
	define(f, 1, 7);
	fake_segment_own(&f->segment, 0, 1, f->start);
	begin(f, 1, 0);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	assert_non_null(find_definition(f, ST_DEF_SIGNATURE, 1));
	assert_int_equal(f->definition_count - f->trace_definition_count, 1);
	st_drain_after_file(f->drain);
	assert_int_equal(f->open_count, 1);
	assert_int_equal(f->open[0].domain, 3);
	assert_int_equal(f->open[0].name, 7);
	assert_int_equal(f->open[0].signature, 1);
	end(f);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	f->open_count = 0;
	st_drain_after_file(f->drain);
	assert_int_equal(f->open_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_operator_has_its_name_and_sequence,
						drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_short_operators, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_memory_keeps_its_place, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_device_memory, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_operators_that_cannot_be, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_short_records, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_signatures_that_cannot_be, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_stacks, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_hostile_stacks, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_source, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_framework_is_printable, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_child_goes_on_with_signatures, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_ring_buffer, drain_setup, drain_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
