/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs Python frames with the native frames that run them. What is counted here from the outermost frame
 * inwards is called "outer"; the stacks themselves come innermost first.
 */
#include "collect/launch/drain/merge.h"

#include <stdbool.h>

#define ADDRESS_MASK (ST_FRAME_WORD_EXACT - 1)

/* How groups and evaluation frames pair off. `outer` evaluation frames take the outermost groups, `inner` ones
 * the innermost groups; `unclaimed` ones between the two take none, and `left` groups between the two find
 * no evaluation frame. At most one of unclaimed and left is not 0. */
struct pairing {
	uint32_t outer, unclaimed, inner, left;
	uint32_t gap; /* native frames (from the outermost) before which the groups left over go */
	bool mismatch;
};

static bool is_exact(const struct st_merge_input *in, uint32_t index)
{
	return !index || in->native[index] & ST_FRAME_WORD_EXACT;
}

static bool is_eval(const struct st_merge_input *in, uint32_t index)
{
	uint64_t address = in->native[index] & ADDRESS_MASK;

	if (!is_exact(in, index))
		address--;
	return (address >= in->eval[0] && address < in->eval[1]) ||
	       (address >= in->eval[2] && address < in->eval[3]);
}

static bool is_entry(uint64_t word)
{
	return (word >> 56) & ST_PYTHON_FRAME_ENTRY;
}

static bool is_empty(uint64_t word)
{
	return (word >> 56) & ST_PYTHON_FRAME_EMPTY;
}

static uint32_t count_evals(const struct st_merge_input *in, uint32_t from, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = from; i < end; i++)
		count += is_eval(in, i);
	return count;
}

/* Frames outside of the last entry belong to a group whose entry was cut off. */
static uint32_t count_groups(const struct st_merge_input *in)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < in->python_count; i++)
		count += is_entry(in->python[i]) || i + 1 == in->python_count;
	return count;
}

/* Too few evaluation frames, and the native stack claims to be whole. */
static void pair_wrong(const struct st_merge_input *in, struct pairing *pairing, uint32_t groups)
{
	uint32_t evals = pairing->outer;

	pairing->mismatch = true;
	for (uint32_t i = 0; i < in->native_count; i++)
		if (in->native[i] & ST_FRAME_WORD_RECOVERED) {
			pairing->inner = count_evals(in, 0, i);
			pairing->outer = evals - pairing->inner;
			pairing->gap = in->native_count - i;
			break;
		}
	pairing->left = groups - evals;
}

static struct pairing pair(const struct st_merge_input *in)
{
	uint32_t evals = count_evals(in, 0, in->native_count), groups = count_groups(in);
	bool native_cut = in->flags & (ST_SAMPLE_TRUNCATED | ST_SAMPLE_DEPTH_CUT);
	bool python_cut = in->flags & ST_SAMPLE_PYTHON_CUT;
	struct pairing pairing = {.gap = UINT32_MAX};

	if (!groups) {
		pairing.unclaimed = evals;
		return pairing;
	}
	if (evals > groups + 1 || (python_cut && evals > groups)) {
		pairing.inner = groups;
		pairing.unclaimed = evals - groups;
		pairing.mismatch = !python_cut;
		return pairing;
	}
	if (evals >= groups) {
		pairing.outer = groups;
		pairing.unclaimed = evals - groups;
		return pairing;
	}
	if (native_cut || python_cut) {
		pairing.inner = evals;
		pairing.left = groups - evals;
		pairing.gap = 0;
		pairing.mismatch = !native_cut;
		return pairing;
	}
	pairing.outer = evals;
	pair_wrong(in, &pairing, groups);
	if (!evals)
		pairing.gap = 0;
	return pairing;
}

struct output {
	const struct st_merge_input *in;
	struct st_merged_frame *frames;
	uint32_t count;
	uint32_t python_left; /* the innermost ones, not yet put */
};

static void put_group(struct output *out)
{
	bool first = true;

	while (out->python_left) {
		uint64_t word = out->in->python[out->python_left - 1];

		if (!first && is_entry(word))
			return;
		first = false;
		out->python_left--;
		if (!is_empty(word))
			out->frames[out->count++] = (struct st_merged_frame){
				.value = word & ((1ull << 56) - 1), .kind = ST_FRAME_PYTHON};
	}
}

static void put_left(struct output *out, struct pairing *pairing)
{
	for (; pairing->left; pairing->left--)
		put_group(out);
}

static void put_native(struct output *out, uint32_t index, bool with_group)
{
	uint64_t word = out->in->native[index];
	uint8_t kind = is_exact(out->in, index) ? ST_FRAME_EXACT : ST_FRAME_CALL;

	if (word & ST_FRAME_WORD_RECOVERED)
		kind |= ST_FRAME_RECOVERED;
	if (with_group && out->python_left && !is_empty(out->in->python[out->python_left - 1]))
		kind |= ST_FRAME_EVAL;
	out->frames[out->count++] =
		(struct st_merged_frame){.value = word & ADDRESS_MASK, .kind = kind};
	if (with_group)
		put_group(out);
}

/* Whether the next evaluation frame inwards has a group. */
static bool claims(struct pairing *pairing)
{
	if (pairing->outer) {
		pairing->outer--;
		return true;
	}
	if (pairing->unclaimed) {
		pairing->unclaimed--;
		return false;
	}
	return true;
}

uint32_t st_merge_frames(const struct st_merge_input *in, struct st_merged_frame *out,
			 uint32_t *flags)
{
	struct pairing pairing = pair(in);
	struct output output = {.in = in, .frames = out, .python_left = in->python_count};
	uint32_t outer = pairing.outer;

	*flags = pairing.mismatch ? ST_SAMPLE_MISMATCH : 0;
	for (uint32_t i = in->native_count; i--;) {
		bool eval = is_eval(in, i);

		if (in->native_count - 1 - i == pairing.gap)
			put_left(&output, &pairing);
		put_native(&output, i, eval && claims(&pairing));
		/* Nothing says where they belong: as near to their callers as can be. */
		if (eval && outer && !--outer && pairing.gap == UINT32_MAX)
			put_left(&output, &pairing);
	}
	put_left(&output, &pairing);
	return output.count;
}
