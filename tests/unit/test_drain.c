/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain against hand-made segments: what honest records become, and that dishonest ones are
 * counted and never believed.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drain_fixture.h"
#include "format/ring_record.h"

static void test_pairs_and_names(void **state)
{
	struct fixture *f = *state;
	uint64_t words[] = {st_word_slice(ST_WORD_BEGIN, 1, 2, 100),
			    st_word_slice(ST_WORD_END, 1, 0, 50)};
	const struct seen_definition *d;

	fake_segment_define(&f->segment, ST_DEFINE_DOMAIN, 1, "PyTorch", 7);
	fake_segment_define(&f->segment, ST_DEFINE_STRING, 2, "aten::linear", 12);
	fake_segment_own(&f->segment, 0, 4711, f->start + 1000);
	fake_segment_push(&f->segment, 0, words, 2);
	drain_all(f);
	assert_int_equal(f->record_count, 2);
	assert_int_equal(f->records[0].record.op, ST_SLICE_BEGIN);
	assert_int_equal(f->records[0].record.domain, 1);
	assert_int_equal(f->records[0].record.name, 2);
	assert_int_equal(f->records[0].record.time, f->start + 1100);
	assert_int_equal(f->records[1].record.op, ST_SLICE_END);
	assert_int_equal(f->records[1].record.time, f->start + 1150);
	d = find_definition(f, ST_DEF_STRING, 2);
	assert_non_null(d);
	assert_string_equal(d->text, "aten::linear");
	assert_int_equal(d->records_before, 0); /* on disk before its use */
	d = find_definition(f, ST_DEF_THREAD, f->records[0].track);
	assert_non_null(d);
	assert_int_equal(d->fields[0], 4711);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
	assert_int_equal(st_drain_counts(f->drain)->begins, 1);
}

static void test_records_wrap_round_the_ring(void **state)
{
	struct fixture *f = *state;
	uint64_t pair[2] = {st_word_slice(ST_WORD_BEGIN, 1, 1, 10),
			    st_word_slice(ST_WORD_END, 1, 0, 10)};
	const size_t rounds = 3000;

	fake_segment_own(&f->segment, 0, 1, f->start);
	for (size_t i = 0; i < rounds; i++) {
		fake_segment_push(&f->segment, 0, pair, 2);
		if (i % 200 == 0)
			st_drain_cycle(f->drain, st_clock_mono_raw_ns(), NULL);
	}
	drain_all(f);
	assert_int_equal(f->record_count, 2 * rounds);
	assert_int_equal(f->records[2 * rounds - 1].record.time, f->start + 20 * rounds);
	assert_int_equal(atomic_load(&fake_segment_slot(&f->segment, 0)->ring[0].tail),
			 atomic_load(&fake_segment_slot(&f->segment, 0)->ring[0].head));
}

static void test_chunks_are_handed_on_when_old(void **state)
{
	struct fixture *f = *state;
	uint64_t word = st_word_slice(ST_WORD_BEGIN, 1, 1, 1), now = 1000000000000u;

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, &word, 1);
	st_drain_cycle(f->drain, now, NULL);
	st_drain_cycle(f->drain, now + 249000000u, NULL);
	assert_int_equal(f->chunk_count, 0);
	st_drain_cycle(f->drain, now + 250000000u, NULL);
	assert_int_equal(f->chunk_count, 1);
}

static void test_a_slot_changes_its_owner(void **state)
{
	struct fixture *f = *state;
	uint64_t first[] = {st_word_slice(ST_WORD_BEGIN, 1, 1, 5),
			    st_word_slice(ST_WORD_END, 1, 0, 5),
			    st_word_ext(ST_EXT_THREAD_END, 1, 5)};
	uint64_t second = st_word_slice(ST_WORD_BEGIN, 1, 1, 5);

	fake_segment_own(&f->segment, 0, 10, f->start);
	fake_segment_push(&f->segment, 0, first, 3);
	fake_segment_own(&f->segment, 0, 11, f->start + 100);
	fake_segment_push(&f->segment, 0, &second, 1);
	drain_all(f);
	assert_int_equal(f->record_count, 4);
	assert_int_equal(f->records[2].record.mark, ST_MARK_TRACK_END);
	assert_int_equal(f->records[2].record.value, 1);
	assert_int_not_equal(f->records[0].track, f->records[3].track);
	assert_int_equal(find_definition(f, ST_DEF_THREAD, f->records[3].track)->fields[0], 11);
}

static void test_labels_in_records(void **state)
{
	struct fixture *f = *state;
	uint64_t words[] = {st_word_ext(ST_EXT_TEXT, 3, 1),
			    5,
			    0,
			    st_word_ext(ST_EXT_BEGIN, 3, 1),
			    200u | 9ull << 32,
			    ST_BEGIN_TEXT,
			    st_word_ext(ST_EXT_END, 2, 1),
			    200,
			    st_word_ext(ST_EXT_BEGIN, 3, 1),
			    200u | 9ull << 32,
			    ST_BEGIN_CLIPPED};
	uint32_t id;

	memcpy(&words[2], "hello", 5);
	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	fake_segment_push(&f->segment, 0, words, 6);
	drain_all(f);
	assert_int_equal(f->record_count, 4);
	id = f->records[0].record.name;
	assert_true(id >= 1u << 20);
	assert_string_equal(find_definition(f, ST_DEF_STRING, id)->text, "hello");
	assert_int_equal(f->records[0].record.domain, 200);
	assert_int_equal(f->records[2].record.name, 9);
	assert_int_equal(f->records[2].record.flags, ST_BEGIN_CLIPPED);
	assert_int_equal(f->records[3].record.name, id); /* the same text, the same id */
}

/* Slices that cross: the end says how many of its domain stay open. */
static void test_end_below_others(void **state)
{
	struct fixture *f = *state;
	const uint64_t words[] = {st_word_slice(ST_WORD_BEGIN, 1, 1, 1),
				  st_word_slice(ST_WORD_BEGIN, 1, 2, 1),
				  st_word_ext(ST_EXT_END, 2, 1), 1u | 1ull << 32,
				  st_word_slice(ST_WORD_END, 1, 0, 1)};

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	drain_all(f);
	assert_int_equal(f->record_count, 5);
	assert_int_equal(f->records[2].record.op, ST_SLICE_MARK);
	assert_int_equal(f->records[2].record.mark, ST_MARK_LEAVES_OPEN);
	assert_int_equal(f->records[2].record.value, 1);
	for (size_t i = 3; i < 5; i++) {
		assert_int_equal(f->records[i].record.op, ST_SLICE_END);
		assert_int_equal(f->records[i].record.domain, 1);
	}
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
}

static void test_marks(void **state)
{
	struct fixture *f = *state;
	uint64_t words[] = {
		st_word_ext(ST_EXT_PAUSE, 1, 1),	 st_word_ext(ST_EXT_RESUME, 1, 1),
		st_word_ext(ST_EXT_UNMATCHED_END, 2, 1), 3,
		st_word_ext(ST_EXT_LOST, 2, 1),		 42,
		st_word_ext(ST_EXT_DETACH, 1, 1)};
	const enum st_slice_mark marks[] = {ST_MARK_PAUSE, ST_MARK_RESUME, ST_MARK_UNMATCHED_END,
					    ST_MARK_LOST, ST_MARK_DETACH};

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	drain_all(f);
	assert_int_equal(f->record_count, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(f->records[i].record.mark, marks[i]);
	assert_int_equal(f->records[3].record.value, 42);
	assert_int_equal(st_drain_counts(f->drain)->resumes, 1);
}

static void test_loss_is_defined_per_track_and_process(void **state)
{
	struct fixture *f = *state;
	const struct seen_definition *d;

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_own(&f->segment, 1, 2, f->start);
	st_drain_cycle(f->drain, 1, NULL);
	atomic_store(&fake_segment_slot(&f->segment, 0)->ring[0].dropped, 5);
	atomic_store(&fake_segment_slot(&f->segment, 1)->ring[0].dropped, 2);
	atomic_store(&fake_segment_slot(&f->segment, 1)->ring[0].unmatched_ends, 3);
	atomic_store(&fake_segment_header(&f->segment)->lost_no_slot, 4);
	drain_all(f);
	d = find_definition(f, ST_DEF_LOSS, 0);
	assert_non_null(d);
	assert_int_equal(d->fields[0], 7);
	assert_int_equal(d->fields[1], 3);
	assert_int_equal(d->fields[2], 4);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 1)->fields[0], 5);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 2)->fields[0], 2);
}

static void test_impossible_positions(void **state)
{
	struct fixture *f = *state;
	struct st_shm_ring *ring = &fake_segment_slot(&f->segment, 0)->ring[0];
	const uint64_t heads[] = {RING_BYTES + 8, 3, UINT64_MAX, 1ull << 63};
	char first[64];
	uint64_t tail;

	fake_segment_own(&f->segment, 0, 1, f->start);
	drain_all(f);
	tail = atomic_load(&ring->tail);
	for (size_t i = 0; i < 4; i++) {
		uint64_t before = st_drain_counts(f->drain)->suspect;

		atomic_store(&ring->head, atomic_load(&ring->tail) + heads[i]);
		st_drain_cycle(f->drain, 1, NULL);
		assert_true(st_drain_counts(f->drain)->suspect > before);
	}
	/* Told of the first one only. */
	snprintf(first, sizeof(first), "from %" PRIu64 " to %" PRIu64, tail, tail + heads[0]);
	assert_non_null(strstr(st_drain_counts(f->drain)->refused_first, first));
	/* An honest position after that is read again. */
	atomic_store(&ring->head, atomic_load(&ring->tail));
	uint64_t word = st_word_slice(ST_WORD_BEGIN, 1, 1, 0);
	fake_segment_push(&f->segment, 0, &word, 1);
	drain_all(f);
	assert_int_equal(f->record_count, 1);
}

/* Calls of Python functions lie among the records of the thread, and come in chunks of their own. */
static void test_calls(void **state)
{
	struct fixture *f = *state;
	const uint64_t words[] = {
		st_word_slice(ST_WORD_CALL, 0, 7, 5),	st_word_slice(ST_WORD_BEGIN, 1, 1, 5),
		st_word_slice(ST_WORD_CALL, 0, 8, 5),	st_word_slice(ST_WORD_END, 1, 0, 5),
		st_word_slice(ST_WORD_RETURN, 0, 0, 5), st_word_slice(ST_WORD_RETURN, 0, 0, 5),
		st_word_ext(ST_EXT_CALLS_STOP, 1, 5),
	};
	const struct {
		enum st_slice_op op;
		uint32_t name;
		uint64_t time;
	} calls[] = {{ST_SLICE_BEGIN, 7, 5},
		     {ST_SLICE_BEGIN, 8, 15},
		     {ST_SLICE_END, 0, 25},
		     {ST_SLICE_END, 0, 30},
		     {ST_SLICE_MARK, 0, 35}};

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	drain_all(f);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 0);
	assert_int_equal(f->record_count, 2);
	assert_int_equal(f->call_count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(f->calls[i].record.op, calls[i].op);
		assert_int_equal(f->calls[i].track, f->records[0].track);
		assert_int_equal(f->calls[i].record.time, f->start + calls[i].time);
		if (calls[i].op == ST_SLICE_BEGIN)
			assert_int_equal(f->calls[i].record.name, calls[i].name);
	}
	assert_int_equal(f->calls[4].record.mark, ST_MARK_CALLS_STOP);
}

static void test_impossible_words(void **state)
{
	struct fixture *f = *state;
	const uint64_t bad[] = {0,
				5,
				st_word_ext(ST_EXT_TEXT, 4000, 0),
				st_word_ext(ST_EXT_THREAD, 0, 0),
				st_word_ext((enum st_ring_ext)200, 1, 0),
				st_word_slice(ST_WORD_BEGIN, 127, 1, 0)};

	fake_segment_own(&f->segment, 0, 1, f->start);
	for (size_t i = 0; i < sizeof(bad) / 8; i++) {
		uint64_t before = st_drain_counts(f->drain)->suspect;

		fake_segment_push(&f->segment, 0, &bad[i], 1);
		st_drain_cycle(f->drain, 1, NULL);
		assert_int_equal(st_drain_counts(f->drain)->suspect, before + 1);
	}
	drain_all(f);
	assert_int_equal(f->record_count, 0);
}

static void test_times_stay_in_bounds(void **state)
{
	struct fixture *f = *state;
	uint64_t words[] = {st_word_slice(ST_WORD_BEGIN, 1, 1, ST_WORD_DT_MAX),
			    st_word_ext(ST_EXT_TIME, 2, 0),
			    5, /* long before the collection */
			    st_word_slice(ST_WORD_END, 1, 0, 0),
			    st_word_ext(ST_EXT_TIME, 2, 0),
			    UINT64_MAX,
			    st_word_slice(ST_WORD_BEGIN, 1, 1, 0)};
	uint64_t now;

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	drain_all(f);
	now = st_clock_mono_raw_ns();
	assert_int_equal(f->record_count, 3);
	for (size_t i = 0; i < f->record_count; i++) {
		assert_true(f->records[i].record.time <= now);
		assert_true(f->records[i].record.time >= f->start);
		assert_true(i == 0 || f->records[i].record.time >= f->records[i - 1].record.time);
	}
	assert_true(st_drain_counts(f->drain)->suspect >= 2);
}

static void test_bad_definitions(void **state)
{
	struct fixture *f = *state;
	struct st_shm_ring *ring = &fake_segment_header(&f->segment)->definitions;
	uint64_t *words = (uint64_t *)(f->segment.map + ST_SHM_HEADER_BYTES);

	fake_segment_define(&f->segment, ST_DEFINE_STRING, 1u << 20, "id of ours", 10);
	fake_segment_define(&f->segment, ST_DEFINE_DOMAIN, 5000, "too many", 8);
	fake_segment_define(&f->segment, ST_DEFINE_STRING, 1, "good", 4);
	st_drain_definitions(f->drain);
	assert_int_equal(f->definition_count, 1);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 2);
	words[atomic_load(&ring->head) / 8] = st_word_definition(ST_DEFINE_STRING, 3, 2);
	words[atomic_load(&ring->head) / 8 + 1] = 9; /* longer than its record */
	atomic_store(&ring->head, atomic_load(&ring->head) + 24);
	st_drain_definitions(f->drain);
	assert_int_equal(f->definition_count, 1);
	assert_int_equal(st_drain_counts(f->drain)->suspect, 3);
}

static void test_vanished_threads(void **state)
{
	struct fixture *f = *state;
	uint64_t word = st_word_slice(ST_WORD_BEGIN, 1, 1, 1);
	/* No such thread: above the highest pid there can be. */
	const uint32_t nobody = 1u << 30;

	fake_segment_own(&f->segment, 0, nobody, f->start);
	fake_segment_push(&f->segment, 0, &word, 1);
	fake_segment_own(&f->segment, 1, (uint32_t)gettid(), f->start);
	st_drain_cycle(f->drain, 1, NULL);
	st_drain_reap_threads(f->drain, getpid());
	assert_int_equal(atomic_load(&fake_segment_slot(&f->segment, 0)->state), ST_SLOT_OWNED);
	st_drain_reap_threads(f->drain, getpid());
	assert_int_equal(atomic_load(&fake_segment_slot(&f->segment, 0)->state), ST_SLOT_DONE);
	assert_int_equal(atomic_load(&fake_segment_slot(&f->segment, 1)->state), ST_SLOT_OWNED);
	drain_all(f);
	assert_int_equal(f->record_count, 2);
	assert_int_equal(f->records[1].record.mark, ST_MARK_TRACK_END);
	assert_int_equal(f->records[1].record.value, 0);
}

static void test_control(void **state)
{
	struct fixture *f = *state;
	struct st_shm_header *header = fake_segment_header(&f->segment);

	atomic_store(&header->control, ST_CONTROL_PAUSED_SELF);
	st_drain_control(f->drain, ST_CONTROL_STOPPED, ST_CONTROL_PAUSED_SELF);
	assert_int_equal(atomic_load(&header->control), ST_CONTROL_STOPPED);
}

static void refused(struct fixture *f, int fd, uint64_t size_bytes, enum st_status expected)
{
	struct st_error err = {0};

	assert_int_equal(st_drain_add_segment(f->drain, fd, size_bytes, &err), expected);
	assert_true(err.text[0] != '\0');
}

static void test_segments_that_are_refused(void **state)
{
	struct fixture *f = *state;
	struct fake_segment other;
	int pipes[2];

	refused(f, f->segment.fd, f->segment.size_bytes, ST_ECORRUPT); /* twice */
	refused(f, f->segment.fd, f->segment.size_bytes + 4096, ST_ECORRUPT);
	assert_int_equal(pipe(pipes), 0);
	refused(f, pipes[0], 1 << 20, ST_ECORRUPT);
	close(pipes[0]);
	close(pipes[1]);
	assert_true(fake_segment_create(&other, 1, RING_BYTES));
	fake_segment_header(&other)->segment_index = 1;
	fake_segment_header(&other)->layout_hash++;
	refused(f, other.fd, other.size_bytes, ST_EVERSION);
	fake_segment_header(&other)->layout_hash--;
	fake_segment_header(&other)->ring_bytes[0] = 4095;
	refused(f, other.fd, other.size_bytes, ST_ECORRUPT);
	fake_segment_header(&other)->ring_bytes[0] = RING_BYTES;
	fake_segment_header(&other)->slot_count = 65;
	refused(f, other.fd, other.size_bytes, ST_ECORRUPT);
	fake_segment_header(&other)->slot_count = 1;
	struct st_error err = {0};
	assert_int_equal(st_drain_add_segment(f->drain, other.fd, other.size_bytes, &err), ST_OK);
	fake_segment_destroy(&other);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Anything may stand anywhere behind the header's fixed part: the drain must neither fault nor hand on
 * a record out of order (the sink checks each chunk). */
static void test_scribbling(void **state)
{
	struct fixture *f = *state;
	uint64_t *words = (uint64_t *)f->segment.map;
	const size_t word_count = f->segment.size_bytes / 8;

	fake_segment_own(&f->segment, 0, 1, f->start);
	for (int round = 0; round < 20000; round++) {
		for (int i = 0; i < 16; i++) {
			uint64_t at = next_random() % word_count, value = next_random();

			if (next_random() % 2) /* something that looks like a record */
				value = (value & ~0xfull) | (next_random() % 2 ? 1 : 15);
			words[at] = value;
		}
		if (next_random() % 4 == 0) { /* a believable position, so that data is parsed */
			uint32_t slot = (uint32_t)next_random() % f->segment.slot_count;
			struct st_shm_ring *ring = &fake_segment_slot(&f->segment, slot)->ring[0];

			atomic_store(&ring->head, atomic_load(&ring->tail) +
							  next_random() % (RING_BYTES / 8 + 1) * 8);
		}
		f->record_count = 0;
		st_drain_cycle(f->drain, (uint64_t)round * 10000000u, NULL);
		if (round % 64 == 0) {
			st_drain_write_loss(f->drain);
			st_drain_reap_threads(f->drain, getpid());
		}
	}
	drain_all(f);
	assert_true(st_drain_counts(f->drain)->suspect > 1000);
}

struct scribbler {
	struct fixture *f;
	_Atomic bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *scribbler = arg;
	struct fake_segment *segment = &scribbler->f->segment;
	volatile uint64_t *words = (volatile uint64_t *)segment->map;
	const size_t word_count = segment->size_bytes / 8;
	uint64_t x = 0x9e3779b97f4a7c15u;

	while (!atomic_load_explicit(&scribbler->stop, memory_order_relaxed)) {
		struct st_shm_ring *ring;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		ring = &fake_segment_slot(segment, (uint32_t)(x >> 40) % segment->slot_count)
				->ring[0];
		words[x % word_count] = (x << 20) | (x & 1 ? 1 : 15);
		if ((x & 3) == 0)
			atomic_store(&ring->head, atomic_load(&ring->tail) + (x >> 8) % 4096);
	}
	return NULL;
}

/* The same while the drain reads: nothing may be taken from shared memory twice. */
static void test_scribbling_meanwhile(void **state)
{
	struct scribbler scribbler = {.f = *state};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, scribble, &scribbler), 0);
	/* Counted in refusals, not in rounds: the other thread may begin late. */
	for (uint64_t round = 0; st_drain_counts(scribbler.f->drain)->suspect < 5000; round++) {
		scribbler.f->record_count = 0;
		st_drain_cycle(scribbler.f->drain, round * 10000000u, NULL);
	}
	atomic_store(&scribbler.stop, true);
	pthread_join(thread, NULL);
	drain_all(scribbler.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pairs_and_names, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_records_wrap_round_the_ring, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_chunks_are_handed_on_when_old, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_a_slot_changes_its_owner, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_labels_in_records, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_end_below_others, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_marks, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_loss_is_defined_per_track_and_process,
						drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_impossible_positions, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_calls, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_impossible_words, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_times_stay_in_bounds, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_bad_definitions, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_vanished_threads, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_control, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_segments_that_are_refused, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_scribbling, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_scribbling_meanwhile, drain_setup,
						drain_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
