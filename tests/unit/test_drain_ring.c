/* SPDX-License-Identifier: Apache-2.0
 *
 * What the drain writes at the beginning of every new file of a ring buffer: open slices, as the reader
 * would know them had it read all files before, and definitions that stood in those files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/launch/drain/drain_state.h"
#include "drain_fixture.h"
#include "format/ring_record.h"

static int setup(void **state)
{
	drain_setup(state);
	((struct fixture *)*state)->shared.ring_buffer = true;
	return 0;
}

static void begin(struct fixture *f, uint32_t slot, uint32_t domain, uint32_t name)
{
	uint64_t word = st_word_slice(ST_WORD_BEGIN, domain, name, 10);

	fake_segment_push(&f->segment, slot, &word, 1);
}

static void end(struct fixture *f, uint32_t slot, uint32_t domain)
{
	uint64_t word = st_word_slice(ST_WORD_END, domain, 0, 10);

	fake_segment_push(&f->segment, slot, &word, 1);
}

static void begin_text(struct fixture *f, uint32_t family, const char *text)
{
	uint64_t words[2048] = {0};
	size_t size = strlen(text), count = (size + 7) / 8;

	words[0] = st_word_ext(ST_EXT_TEXT, (uint32_t)(2 + count), 1);
	words[1] = size;
	memcpy(words + 2, text, size);
	words[2 + count] = st_word_ext(ST_EXT_BEGIN, 3, 1);
	words[3 + count] = 1 | (uint64_t)family << 32;
	words[4 + count] = ST_BEGIN_TEXT;
	fake_segment_push(&f->segment, 0, words, 5 + count);
}

static void new_file(struct fixture *f)
{
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	f->open_count = f->definition_count = f->trace_definition_count = 0;
	st_drain_after_file(f->drain);
}

static void test_open_slices(void **state)
{
	struct fixture *f = *state;

	fake_segment_own(&f->segment, 0, 10, f->start);
	begin(f, 0, 1, 5);
	begin(f, 0, 2, 6);
	begin(f, 0, 1, 7);
	begin(f, 0, 1, 8);
	end(f, 0, 2); /* the innermost of its domain: 6 */
	end(f, 0, 3); /* none of its domain: the innermost: 8 */
	fake_segment_own(&f->segment, 1, 11, f->start);
	begin(f, 1, 4, 9);
	new_file(f);
	assert_int_equal(f->open_count, 3);
	assert_int_equal(f->open[0].track, 1);
	assert_int_equal(f->open[0].domain, 1);
	assert_int_equal(f->open[0].name, 5);
	assert_int_equal(f->open[0].begin, f->start + 10);
	assert_int_equal(f->open[1].name, 7);
	assert_int_equal(f->open[1].begin, f->start + 30);
	assert_int_equal(f->open[2].track, 2);
	assert_int_equal(f->open[2].name, 9);
	/* Everything that came before is handed on: nothing of it comes into the new file. */
	assert_int_equal(f->record_count, 7);
	end(f, 0, 1);
	end(f, 0, 1);
	end(f, 0, 1); /* nothing open: harmless */
	end(f, 1, 4);
	new_file(f);
	assert_int_equal(f->open_count, 0);
}

static void test_threads_are_defined_again(void **state)
{
	struct fixture *f = *state;
	uint64_t bye = st_word_ext(ST_EXT_THREAD_END, 1, 1);

	fake_segment_own(&f->segment, 0, 10, f->start + 5);
	fake_segment_own(&f->segment, 1, 11, f->start + 5);
	begin(f, 0, 1, 1);
	begin(f, 1, 1, 1);
	fake_segment_push(&f->segment, 1, &bye, 1);
	new_file(f);
	assert_int_equal(find_definition(f, ST_DEF_THREAD, 1)->fields[0], 10);
	assert_null(find_definition(f, ST_DEF_THREAD, 2)); /* ended */
	assert_int_equal(f->trace_definition_count, f->definition_count);
	assert_int_equal(f->open_count, 1); /* the ended thread has nothing open */
	assert_int_equal(f->open[0].track, 1);
}

/* A label that travels in records is defined in every file that uses it, and nowhere else. */
static void test_labels_are_defined_in_each_file(void **state)
{
	struct fixture *f = *state;
	uint32_t id;

	fake_segment_own(&f->segment, 0, 10, f->start);
	begin_text(f, 3, "step 1");
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	id = f->records[0].record.name;
	assert_true(id >= 1u << 20);
	assert_string_equal(find_definition(f, ST_DEF_STRING, id)->text, "step 1");
	assert_int_equal(f->trace_definition_count, f->definition_count);
	new_file(f);
	assert_int_equal(f->open[0].name, id);
	assert_string_equal(find_definition(f, ST_DEF_STRING, id)->text, "step 1");
	end(f, 0, 1);
	begin_text(f, 3, "step 1"); /* was in the table: must be defined again */
	new_file(f);
	id = f->open[0].name;
	assert_string_equal(find_definition(f, ST_DEF_STRING, id)->text, "step 1");
}

/* The text of an open slice is kept up to 4,096 bytes. */
static void test_long_labels_become_their_family(void **state)
{
	struct fixture *f = *state;
	static char text[4098];

	memset(text, 'x', sizeof(text) - 1);
	fake_segment_own(&f->segment, 0, 10, f->start);
	begin_text(f, 3, text);
	text[4096] = '\0';
	begin_text(f, 3, text);
	new_file(f);
	assert_int_equal(f->open_count, 2);
	assert_int_equal(f->open[0].name, 3);
	assert_int_equal(find_definition(f, ST_DEF_STRING, f->open[1].name)->text_bytes, 4096);
}

/* A thread's texts together are bounded: 128 KiB; those that end make room. */
static void test_texts_are_bounded(void **state)
{
	struct fixture *f = *state;
	static char text[4097];
	uint32_t texts = 0;

	memset(text, 'x', sizeof(text) - 1);
	fake_segment_own(&f->segment, 0, 10, f->start);
	for (int i = 0; i < 40; i++) {
		begin_text(f, 3, text);
		st_drain_cycle(f->drain, 1, NULL);
	}
	for (int i = 0; i < 20; i++)
		end(f, 0, 1);
	for (int i = 0; i < 20; i++) {
		st_drain_cycle(f->drain, 1, NULL);
		begin_text(f, 3, text);
	}
	new_file(f);
	assert_int_equal(f->open_count, 40);
	for (size_t i = 0; i < f->open_count; i++)
		texts += f->open[i].name != 3;
	assert_int_equal(texts, 32);
}

static void test_depth_is_bounded(void **state)
{
	struct fixture *f = *state;
	const uint32_t depth = 5000, kept = 4096;

	fake_segment_own(&f->segment, 0, 10, f->start);
	for (uint32_t i = 0; i < depth; i++) {
		begin(f, 0, 1, 1 + i);
		if (i % 256 == 0)
			st_drain_cycle(f->drain, 1, NULL);
	}
	new_file(f);
	assert_int_equal(f->open_count, kept);
	assert_int_equal(st_drain_counts(f->drain)->open_unknown, depth - kept);
	for (uint32_t i = 0; i < depth - 1; i++) {
		end(f, 0, 1);
		if (i % 256 == 0)
			st_drain_cycle(f->drain, 1, NULL);
	}
	new_file(f);
	assert_int_equal(f->open_count, 1);
	assert_int_equal(f->open[0].name, 1);
}

/* Losses were told in a file that may be gone: they are told again. */
static void test_losses_are_told_again(void **state)
{
	struct fixture *f = *state;

	fake_segment_own(&f->segment, 0, 10, f->start);
	st_drain_cycle(f->drain, 1, NULL);
	atomic_store(&fake_segment_slot(&f->segment, 0)->ring[0].dropped, 5);
	st_drain_write_loss(f->drain);
	for (int i = 0; i < 2; i++) {
		new_file(f);
		assert_int_equal(find_definition(f, ST_DEF_LOSS, 1)->fields[0], 5);
		assert_int_equal(find_definition(f, ST_DEF_LOSS, 0)->fields[0], 5);
		assert_int_equal(f->trace_definition_count, f->definition_count);
	}
}

/* A thread's name is in every file while the thread lives. */
static void test_names_pass_with_the_files(void **state)
{
	struct fixture *f = *state;
	uint32_t self = (uint32_t)getpid(), gone = self + 1000;

	fake_segment_define(&f->segment, ST_DEFINE_THREAD_NAME, self, "stays", 5);
	fake_segment_define(&f->segment, ST_DEFINE_THREAD_NAME, gone, "goes", 4);
	fake_segment_own(&f->segment, 0, self, f->start + 5);
	fake_segment_own(&f->segment, 1, gone, f->start + 5);
	begin(f, 0, 1, 1);
	begin(f, 1, 1, 1);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	assert_string_equal(find_definition(f, ST_DEF_THREAD_NAME, gone)->text, "goes");
	assert_int_equal(f->trace_definition_count, f->definition_count);
	new_file(f);
	assert_string_equal(find_definition(f, ST_DEF_THREAD_NAME, self)->text, "stays");
	assert_string_equal(find_definition(f, ST_DEF_THREAD_NAME, gone)->text, "goes");
	for (int i = 0; i < 3; i++)
		st_drain_reap_threads(f->drain, (int)self);
	new_file(f);
	assert_string_equal(find_definition(f, ST_DEF_THREAD_NAME, self)->text, "stays");
	assert_null(find_definition(f, ST_DEF_THREAD_NAME, gone));
}

/* Threads come and go for days; the tracks of a window are few. */
static void test_tracks_do_not_run_out(void **state)
{
	struct fixture *f = *state;

	f->drain->counts.tracks = ST_TRACKS_MAX;
	fake_segment_own(&f->segment, 0, 10, f->start);
	begin(f, 0, 1, 5);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_before_file(f->drain);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
	assert_int_equal(f->records[0].track, ST_TRACKS_MAX + 1);
	assert_int_equal(find_definition(f, ST_DEF_THREAD, ST_TRACKS_MAX + 1)->fields[0], 10);
	f->drain->counts.tracks = UINT32_MAX;
	fake_segment_own(&f->segment, 0, 11, f->start);
	st_drain_cycle(f->drain, 2, NULL);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open_slices, setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_threads_are_defined_again, setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_labels_are_defined_in_each_file, setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_long_labels_become_their_family, setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_texts_are_bounded, setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_depth_is_bounded, setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_losses_are_told_again, setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_names_pass_with_the_files, setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_tracks_do_not_run_out, setup, drain_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
