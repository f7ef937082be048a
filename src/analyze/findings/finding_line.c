// SPDX-License-Identifier: Apache-2.0
//
// The line of the program's own code that rows were for: by the stacks of operators where they were recorded, else by the
// samples in them.
#include <string.h>

#include "analyze/findings/finding_rules.h"
#include "base/quote.h"

enum { VOTES_MIN = 3, PATH_BYTES_MAX = 1 << 16 };

struct place {
	struct st_text file;
	uint32_t line; /* 0: none */
};

/* One that has more than half of all votes is what is left; whether there is one is counted afterwards. */
struct poll {
	struct place leader;
	uint64_t lead, for_leader, all, voters;
	bool is_count; /* the second pass */
};

static bool is_standard(struct st_text path)
{
	const char *at = memmem(path.bytes, path.size_bytes, "/python", 7);

	return at && at + 7 < path.bytes + path.size_bytes && at[7] >= '0' && at[7] <= '9' &&
	       (st_text_holds(path, "/lib/python") || st_text_holds(path, "/lib64/python"));
}

/* Code that its user can change: no installed package, and no "<frozen …>". */
static bool is_own(struct st_text path)
{
	return path.size_bytes && path.bytes[0] != '<' && !st_text_holds(path, "/site-packages/") &&
	       !st_text_holds(path, "/dist-packages/") && !is_standard(path);
}

static bool is_same(const struct place *one, const struct place *other)
{
	return one->line == other->line && one->file.size_bytes == other->file.size_bytes &&
	       (one->file.bytes == other->file.bytes ||
		!memcmp(one->file.bytes, other->file.bytes, one->file.size_bytes));
}

static void vote(struct poll *poll, const struct place *place, uint64_t weight)
{
	bool same = is_same(place, &poll->leader);

	if (poll->is_count) {
		poll->for_leader += same ? weight : 0;
		return;
	}
	poll->all += weight;
	poll->voters++;
	if (!same && poll->lead < weight) {
		poll->leader = *place;
		poll->lead = weight - poll->lead;
	} else {
		poll->lead = same ? poll->lead + weight : poll->lead - weight;
	}
}

static struct place place_of_stack(const struct st_finding_ground *ground, uint32_t node)
{
	const struct st_stack_nodes *nodes = st_result_stack_nodes(ground->result);
	uint32_t count;
	const struct st_python_code *codes = st_result_python_codes(ground->result, &count);

	for (; node; node = nodes->parent[node]) {
		uint64_t code = nodes->value[node];
		struct st_text file = code < count
					      ? st_result_text(ground->result, codes[code].file)
					      : (struct st_text){"", 0};

		if (is_own(file))
			return (struct place){file, nodes->line[node]};
	}
	return (struct place){.line = 0};
}

static struct place place_of_frame(const struct st_named *named, uint32_t frame)
{
	for (; frame; frame = named->frames[frame].parent) {
		const struct st_named_frame *at = &named->frames[frame];

		if (named->functions[at->function].kind == ST_FUNCTION_PYTHON &&
		    is_own(named->sources[at->source]))
			return (struct place){named->sources[at->source], at->line};
	}
	return (struct place){.line = 0};
}

static void ask_stacks(const struct st_finding_ground *ground, const uint8_t *is_part,
		       struct poll *poll)
{
	for (uint32_t row = 0; row < ground->rows->count; row++) {
		struct place place;

		if (!is_part[row] || !ground->rows->stack || !ground->rows->stack[row])
			continue;
		place = place_of_stack(ground, ground->rows->stack[row]);
		vote(poll, &place, ground->rows->self_ns[row] + 1);
	}
}

static void ask_samples(const struct st_finding_ground *ground, const uint8_t *is_part,
			struct poll *poll)
{
	const struct st_samples *samples = ground->samples.samples;
	const struct st_named *named = ground->samples.named;

	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t slice = samples->slice[i], row;
		struct place place;

		if (slice == ST_NO_ROW || samples->node[i] >= named->node_count ||
		    samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
			continue;
		row = ground->rows->row_of_slice[slice];
		if (row == ST_NO_ROW || !is_part[row])
			continue;
		place = place_of_frame(named, named->frame_of_node[samples->node[i]]);
		vote(poll, &place, samples->weight_ns[i]);
	}
}

static bool elect(const struct st_finding_ground *ground, const uint8_t *is_part, struct poll *poll,
		  void (*ask)(const struct st_finding_ground *ground, const uint8_t *is_part,
			      struct poll *poll))
{
	*poll = (struct poll){0};
	ask(ground, is_part, poll);
	poll->is_count = true;
	ask(ground, is_part, poll);
	return poll->voters >= VOTES_MIN && poll->leader.line && 2 * poll->for_leader > poll->all;
}

const char *st_finding_source_command(const struct st_finding_ground *ground, struct st_text file)
{
	struct st_buf out;

	st_buf_init(&out, PATH_BYTES_MAX);
	st_buf_append_text(&out, "source ");
	st_quote_word(&out, st_text_copy(ground->arena, file).bytes);
	return st_text_take(ground->arena, &out).bytes;
}

const char *st_finding_line(const struct st_finding_ground *ground, const uint8_t *is_part,
			    const char **command)
{
	struct poll poll;
	struct st_text file;
	const char *name;

	if (ground->has_samples && elect(ground, is_part, &poll, ask_samples))
		*command = st_finding_source_command(ground, poll.leader.file);
	else if (elect(ground, is_part, &poll, ask_stacks))
		*command = "operators -group-by python-line";
	else
		return NULL;
	file = poll.leader.file;
	name = memrchr(file.bytes, '/', file.size_bytes);
	name = name ? name + 1 : file.bytes;
	return st_arena_printf(ground->arena, "%.*s:%u",
			       (int)(file.size_bytes - (size_t)(name - file.bytes)), name,
			       poll.leader.line);
}
