/* SPDX-License-Identifier: Apache-2.0
 *
 * How samples get into the handler ring of their thread. Frames that the previous written sample had too,
 * counted from the outermost, are left out.
 */
#include "collect/inproc/sampler/sampler_state.h"
#include "collect/inproc/core/words.h"

static void put_lost(struct st_inproc_sampler *sampler)
{
	uint64_t dt = st_words_time(&sampler->out.hot, sampler->out.time);

	st_words_put(&sampler->out.hot, st_word_ext(ST_EXT_LOST, 2, dt));
	st_words_put(&sampler->out.hot, sampler->lost);
	sampler->lost = 0;
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

bool st_sampler_write(struct st_inproc_sampler *sampler, uint32_t flags, uint64_t weight_word)
{
	uint32_t now = sampler->current, before = !now;
	const uint64_t *native = st_sampler_native(sampler, now);
	const uint64_t *python = st_sampler_python(sampler, now);
	struct st_hot *ring = &sampler->out.hot;
	struct st_sample_counts counts = {0};
	uint32_t words;
	uint64_t dt;

	counts.native_kept =
		kept(native, sampler->native_count[now], st_sampler_native(sampler, before),
		     sampler->native_count[before]);
	counts.python_kept =
		kept(python, sampler->python_count[now], st_sampler_python(sampler, before),
		     sampler->python_count[before]);
	counts.native_new = sampler->native_count[now] - counts.native_kept;
	counts.python_new = sampler->python_count[now] - counts.python_kept;
	words = 3 + counts.native_new + counts.python_new;
	if (!st_handler_identify(&sampler->out) ||
	    !st_handler_has_room(&sampler->out, words + ST_HANDLER_BEFORE_WORDS,
				 ST_HANDLER_END_BYTES)) {
		sampler->lost++;
		atomic_fetch_add_explicit(&sampler->out.shared->dropped, 1, memory_order_relaxed);
		return false;
	}
	if (sampler->lost)
		put_lost(sampler);
	dt = st_words_time(ring, sampler->out.time);
	st_words_put(ring, st_word_ext(ST_EXT_SAMPLE, words, dt));
	st_words_put(ring, st_word_sample(flags, &counts));
	st_words_put(ring, weight_word);
	for (uint32_t i = 0; i < counts.native_new; i++)
		st_words_put(ring, native[i]);
	for (uint32_t i = 0; i < counts.python_new; i++)
		st_words_put(ring, python[i]);
	st_words_publish(ring);
	sampler->current = before;
	return true;
}
