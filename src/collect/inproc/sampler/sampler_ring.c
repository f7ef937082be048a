/* SPDX-License-Identifier: Apache-2.0
 *
 * How samples get into the handler ring of their thread. Frames that the previous written sample had too,
 * counted from the outermost, are left out.
 */
#include "collect/inproc/sampler/sampler_state.h"
#include "collect/inproc/core/words.h"

enum {
	END_BYTES = 64,	   /* kept free for the record of the thread's end */
	BEFORE_WORDS = 10, /* at most, before a record: time and thread, a loss, a time */
};

static bool has_room(const struct st_inproc_sampler *sampler, uint64_t words, uint64_t kept_bytes)
{
	/* Pairs with the drainer's release store: what it has read may be overwritten. */
	uint64_t tail = atomic_load_explicit(&sampler->shared->tail, memory_order_acquire);
	uint64_t used = sampler->ring.head - tail;

	return used + words * 8 + kept_bytes <= ST_SHM_HANDLER_RING_BYTES;
}

bool st_sampler_identify(struct st_inproc_sampler *sampler)
{
	struct st_hot *ring = &sampler->ring;

	if (sampler->identified)
		return true;
	if (!has_room(sampler, BEFORE_WORDS, END_BYTES))
		return false;
	st_words_put(ring, st_word_ext(ST_EXT_TIME, 2, 0));
	st_words_put(ring, sampler->time);
	ring->last = sampler->time;
	st_words_put(ring, st_word_ext(ST_EXT_THREAD, 2, 0));
	st_words_put(ring, sampler->tid | (uint64_t)sampler->generation << 32);
	st_words_publish(ring);
	sampler->identified = true;
	return true;
}

static void put_lost(struct st_inproc_sampler *sampler)
{
	uint64_t dt = st_words_time(&sampler->ring, sampler->time);

	st_words_put(&sampler->ring, st_word_ext(ST_EXT_LOST, 2, dt));
	st_words_put(&sampler->ring, sampler->lost);
	sampler->lost = 0;
}

bool st_sampler_put(struct st_inproc_sampler *sampler, enum st_ring_ext subkind,
		    const struct st_part *parts, uint32_t part_count)
{
	struct st_hot *ring = &sampler->ring;
	uint64_t words = 1, dt;

	for (uint32_t i = 0; i < part_count; i++)
		words += ((uint64_t)parts[i].size_bytes + 7) / 8;
	if (words > UINT16_MAX || !st_sampler_identify(sampler) ||
	    !has_room(sampler, words + BEFORE_WORDS, part_count ? END_BYTES : 0))
		return false;
	dt = st_words_time(ring, sampler->time);
	st_words_put(ring, st_word_ext(subkind, (uint32_t)words, dt));
	for (uint32_t i = 0; i < part_count; i++) {
		struct st_part_reader reader = {&parts[i], &parts[i + 1], 0};

		for (uint32_t done = 0; done < parts[i].size_bytes; done += 8)
			st_words_put(ring, st_part_word(&reader));
	}
	st_words_publish(ring);
	return true;
}

/* Equal words at the ends of both. */
static uint32_t kept(const uint64_t *now, uint32_t now_count, const uint64_t *before,
		     uint32_t before_count)
{
	uint32_t most = now_count < before_count ? now_count : before_count, count = 0;

	while (count < most && now[now_count - 1 - count] == before[before_count - 1 - count])
		count++;
	return count;
}

bool st_sampler_write(struct st_inproc_sampler *sampler, uint32_t flags, uint32_t weight_ns)
{
	uint32_t now = sampler->current, before = !now;
	const uint64_t *native = st_sampler_native(sampler, now);
	const uint64_t *python = st_sampler_python(sampler, now);
	struct st_hot *ring = &sampler->ring;
	struct st_sample_counts counts = {0};
	uint64_t took = sampler->handler_ticks, dt;
	uint32_t words;

	counts.native_kept =
		kept(native, sampler->native_count[now], st_sampler_native(sampler, before),
		     sampler->native_count[before]);
	counts.python_kept =
		kept(python, sampler->python_count[now], st_sampler_python(sampler, before),
		     sampler->python_count[before]);
	counts.native_new = sampler->native_count[now] - counts.native_kept;
	counts.python_new = sampler->python_count[now] - counts.python_kept;
	words = 3 + counts.native_new + counts.python_new;
	if (!st_sampler_identify(sampler) || !has_room(sampler, words + BEFORE_WORDS, END_BYTES)) {
		sampler->lost++;
		atomic_fetch_add_explicit(&sampler->shared->dropped, 1, memory_order_relaxed);
		return false;
	}
	if (sampler->lost)
		put_lost(sampler);
	dt = st_words_time(ring, sampler->time);
	st_words_put(ring, st_word_ext(ST_EXT_SAMPLE, words, dt));
	st_words_put(ring, st_word_sample(flags, &counts));
	st_words_put(ring, weight_ns | (took < UINT32_MAX ? took : UINT32_MAX) << 32);
	for (uint32_t i = 0; i < counts.native_new; i++)
		st_words_put(ring, native[i]);
	for (uint32_t i = 0; i < counts.python_new; i++)
		st_words_put(ring, python[i]);
	st_words_publish(ring);
	sampler->current = before;
	sampler->written_time = sampler->time;
	return true;
}
