// SPDX-License-Identifier: Apache-2.0
//
// Votes for places. Of Python the innermost line that is no library's; of a stack without Python the innermost function
// that is not the C library's.
#include "analyze/findings/finding_places.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "analyze/samples/frame_class.h"
#include "base/vec.h"

static uint32_t frame_of(const struct st_finding_ground *ground, uint32_t sample)
{
	const struct st_samples *samples = ground->samples.samples;
	const struct st_named *named = ground->samples.named;
	uint32_t node = sample < samples->count ? samples->node[sample] : 0;

	return node < named->node_count ? named->frame_of_node[node] : 0;
}

static uint32_t own_place(const struct st_named *named, uint32_t frame)
{
	uint32_t python = 0, native = 0;

	for (; frame; frame = named->frames[frame].parent) {
		const struct st_named_frame *at = &named->frames[frame];
		const struct st_named_function *function = &named->functions[at->function];

		if (function->kind == ST_FUNCTION_PYTHON) {
			python = python ? python : frame;
			if (!st_path_is_library(named->sources[at->source]))
				return frame;
		} else if (!native && !(function->flags & ST_FUNCTION_SYSTEM)) {
			native = frame;
		}
	}
	return python ? python : native;
}

void st_finding_vote(struct st_finding_votes *votes, const struct st_finding_ground *ground,
		     uint32_t sample, uint64_t ns)
{
	const struct st_named *named = ground->samples.named;
	uint32_t frame = own_place(named, frame_of(ground, sample)), place;
	const struct st_named_frame *at = &named->frames[frame];

	if (!frame)
		return;
	place = at->source ? st_pair_map_add(&votes->places, at->source, at->line)
			   : st_pair_map_add(&votes->places, 0, at->function);
	if (votes->places.failed || !ST_VEC_ROOM_ZERO(votes->ns, place, votes->ns_capacity) ||
	    !ST_VEC_ROOM_ZERO(votes->frames, place, votes->frame_capacity))
		return;
	votes->ns[place] += ns;
	votes->frames[place] = frame;
}

static uint32_t elected(const struct st_finding_votes *votes)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < votes->places.count && votes->ns && votes->frames; i++)
		best = votes->ns[i] > votes->ns[best] ? i : best;
	return votes->ns && votes->frames && votes->places.count ? votes->frames[best] : 0;
}

static const char *line_of(const struct st_finding_ground *ground, uint32_t frame)
{
	const struct st_named *named = ground->samples.named;
	const struct st_named_frame *at = &named->frames[frame];
	struct st_text file = named->sources[at->source];
	const char *slash = file.size_bytes ? memrchr(file.bytes, '/', file.size_bytes) : NULL;
	const char *name = slash ? slash + 1 : file.bytes;

	return at->source ? st_arena_printf(ground->arena, "%.*s:%u",
					    (int)(file.size_bytes - (size_t)(name - file.bytes)),
					    name, at->line)
			  : "";
}

const char *st_finding_elected(const struct st_finding_votes *votes,
			       const struct st_finding_ground *ground)
{
	const struct st_named *named = ground->samples.named;
	uint32_t frame = elected(votes);
	const struct st_named_function *function;
	const char *line;

	if (!frame)
		return "";
	line = line_of(ground, frame);
	function = &named->functions[named->frames[frame].function];
	if (function->kind == ST_FUNCTION_PYTHON)
		return line;
	return st_arena_printf(ground->arena, "%.*s%s%s%s", (int)function->name.size_bytes,
			       function->name.bytes, *line ? " (" : "", line, *line ? ")" : "");
}

const char *st_finding_elected_function(const struct st_finding_votes *votes,
					const struct st_finding_ground *ground)
{
	const struct st_named *named = ground->samples.named;
	uint32_t frame = elected(votes);
	const struct st_named_function *function;
	const char *line;

	if (!frame)
		return "";
	line = line_of(ground, frame);
	function = &named->functions[named->frames[frame].function];
	return st_arena_printf(ground->arena, "%.*s%s%s", (int)function->name.size_bytes,
			       function->name.bytes, *line ? ", " : "", line);
}

void st_finding_votes_fini(struct st_finding_votes *votes)
{
	st_pair_map_fini(&votes->places);
	free(votes->ns);
	free(votes->frames);
	memset(votes, 0, sizeof(*votes));
}

bool st_finding_is_in(const struct st_finding_ground *ground, uint32_t sample, const char *pattern)
{
	const struct st_named *named = ground->samples.named;

	for (uint32_t frame = frame_of(ground, sample); frame; frame = named->frames[frame].parent)
		if (st_pattern_match(pattern, named->sources[named->frames[frame].source]))
			return true;
	return false;
}
