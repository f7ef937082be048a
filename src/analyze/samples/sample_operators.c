// SPDX-License-Identifier: Apache-2.0
//
// Operators by frames. Every operator is called through a function of its own, at::_ops::mul_Tensor::call for overload
// "Tensor" of aten::mul; a node of the backward pass through torch::autograd::generated::MulBackward0::apply. What such
// a call is filed under is what slices of that name are, of which the recorded turns have some.
#include "analyze/samples/sample_operators.h"

#include <stdlib.h>
#include <string.h>

#include "format/event_kind.h"
#include "store/category.h"
#include "store/result.h"

/* How far apart two samples may be that are taken for the same moment. */
enum { NEAR_PERIODS = 2, PERIOD_USUAL_NS = 10000000 };

struct known {
	struct st_text name;
	uint32_t slice;
};

static int by_name(const void *a, const void *b)
{
	const struct st_text *x = &((const struct known *)a)->name;
	const struct st_text *y = &((const struct known *)b)->name;
	size_t least = x->size_bytes < y->size_bytes ? x->size_bytes : y->size_bytes;
	int order = memcmp(x->bytes, y->bytes, least);

	if (order)
		return order;
	return x->size_bytes < y->size_bytes ? -1 : x->size_bytes > y->size_bytes;
}

struct names {
	struct known *rows;
	size_t count;
};

static bool is_operator(const struct st_label *label)
{
	return label->category == ST_CATEGORY_OPERATOR && !label->from_itt;
}

/* The first slice of each operator. Malloc'd. */
static bool list_names(const struct st_result *result, struct names *out)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t count, *first;
	const struct st_label *labels = st_result_labels(result, &count);

	first = malloc(((size_t)count + 1) * sizeof(*first));
	out->rows = malloc(((size_t)count + 1) * sizeof(*out->rows));
	out->count = 0;
	if (first)
		memset(first, 0xff, ((size_t)count + 1) * sizeof(*first));
	for (uint32_t i = slices->count; first && i-- > 0;)
		first[slices->label[i]] = i;
	for (uint32_t i = 0; first && out->rows && i < count; i++)
		if (is_operator(&labels[i]) && first[i] != ST_NO_ROW)
			out->rows[out->count++] =
				(struct known){st_result_text(result, labels[i].name), first[i]};
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_name);
	free(first);
	return first && out->rows;
}

static uint32_t find(const struct names *names, const char *prefix, struct st_text name)
{
	char text[256];
	size_t before = strlen(prefix);
	struct known like = {.name = {text, before + name.size_bytes}};
	const struct known *found;

	if (like.name.size_bytes >= sizeof(text) || !names->count)
		return ST_NO_ROW;
	memcpy(text, prefix, before);
	memcpy(text + before, name.bytes, name.size_bytes);
	found = bsearch(&like, names->rows, names->count, sizeof(*names->rows), by_name);
	return found ? found->slice : ST_NO_ROW;
}

/* What may stand behind the name: "mul_Tensor", "sum_dim_IntList", "mm_out", but not "convolution_backward". */
static bool is_overload(const char *text, size_t length)
{
	static const char *const words[] = {
		"out",	 "dim",		  "int",  "self", "input",  "dtype",	 "other",
		"start", "memory_format", "size", "vec",  "values", "correction"};

	if (length && text[0] >= 'A' && text[0] <= 'Z')
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t size = strlen(words[i]);

		if (length >= size && !memcmp(text, words[i], size) &&
		    (length == size || text[size] == '_'))
			return true;
	}
	return false;
}

static uint32_t find_operator(const struct names *names, struct st_text name)
{
	uint32_t slice = find(names, "aten::", name);

	for (size_t i = name.size_bytes; slice == ST_NO_ROW && i-- > 1;)
		if (name.bytes[i] == '_' &&
		    is_overload(name.bytes + i + 1, name.size_bytes - i - 1))
			slice = find(names, "aten::", (struct st_text){name.bytes, i});
	return slice;
}

/* The text between the two; false: it is not there. */
static bool between(struct st_text text, const char *first, const char *last, struct st_text *out)
{
	size_t before = strlen(first), behind = strlen(last);

	if (text.size_bytes <= before + behind || memcmp(text.bytes, first, before) != 0 ||
	    memcmp(text.bytes + text.size_bytes - behind, last, behind) != 0)
		return false;
	*out = (struct st_text){text.bytes + before, text.size_bytes - before - behind};
	return true;
}

static uint32_t slice_of(const struct names *names, struct st_text function)
{
	struct st_text name;

	if (between(function, "at::_ops::", "::call", &name) ||
	    between(function, "at::_ops::", "::redispatch", &name))
		return find_operator(names, name);
	if (between(function, "torch::autograd::generated::", "::apply", &name))
		return find(names, "", name);
	return ST_NO_ROW;
}

static bool make_frames(struct st_sample_set *set, struct st_sample_operators *out)
{
	const struct st_named *named = set->named;
	struct names names;
	bool done = list_names(set->result, &names);

	out->slice_of = st_arena_calloc(&set->arena, (size_t)named->function_count + 1,
					sizeof(*out->slice_of));
	out->frame_of = st_arena_calloc(&set->arena, (size_t)named->frame_count + 1,
					sizeof(*out->frame_of));
	done = done && out->slice_of && out->frame_of;
	for (uint32_t i = 0; done && i < named->function_count; i++)
		out->slice_of[i] = slice_of(&names, named->functions[i].name);
	for (uint32_t i = 1; done && i < named->frame_count; i++)
		out->frame_of[i] = out->slice_of[named->frames[i].function] != ST_NO_ROW
					   ? i
					   : out->frame_of[named->frames[i].parent];
	free(names.rows);
	return done;
}

enum st_status st_sample_operators_make(struct st_sample_set *set, struct st_error *err)
{
	struct st_sample_operators *out = st_arena_calloc(&set->arena, 1, sizeof(*out));
	enum st_status status;

	if (!out)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the samples");
	status = st_operator_turns_make(&out->turns, set->result, err);
	if (status)
		return status;
	set->operators = out;
	if (out->turns.is_partial && !make_frames(set, out))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the samples");
	if (!out->turns.is_partial)
		st_sample_operators_fini(set);
	return ST_OK;
}

void st_sample_operators_fini(struct st_sample_set *set)
{
	if (set->operators)
		st_operator_turns_fini(&set->operators->turns);
	set->operators = NULL;
}

static bool lies_in_operator(const struct st_sample_set *set, uint32_t slice)
{
	const struct st_slices *slices = st_result_slices(set->result);
	uint32_t count;
	const struct st_label *labels = st_result_labels(set->result, &count);

	for (; slice != ST_NO_ROW; slice = slices->parent[slice])
		if (is_operator(&labels[slices->label[slice]]))
			return true;
	return false;
}

static uint32_t frame_of(const struct st_sample_set *set, uint32_t sample)
{
	uint32_t node = set->samples->node[sample];

	return node < set->named->node_count
		       ? set->operators->frame_of[set->named->frame_of_node[node]]
		       : 0;
}

static uint64_t distance(const struct st_sample_set *set, uint32_t sample, int64_t time_ns)
{
	int64_t apart = set->samples->time_ns[sample] - time_ns;

	return (uint64_t)(apart < 0 ? -apart : apart);
}

/* The sample of a thread that was taken at about that time, or ST_NO_ROW. */
static uint32_t sample_at(const struct st_sample_set *set, uint32_t track, int64_t time_ns)
{
	const struct st_samples *samples = set->samples;
	uint32_t low = samples->first_of_track[track], first = low;
	uint32_t high = samples->first_of_track[track + 1], end = high;
	uint64_t near_ns = (uint64_t)NEAR_PERIODS * PERIOD_USUAL_NS;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (samples->time_ns[middle] < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == end ||
	    (low > first && distance(set, low - 1, time_ns) < distance(set, low, time_ns)))
		low = low > first ? low - 1 : end;
	return low < end && distance(set, low, time_ns) <= near_ns ? low : ST_NO_ROW;
}

uint32_t st_sample_operator_frame(const struct st_sample_set *set, uint32_t sample, bool *inherited)
{
	const struct st_samples *samples = set->samples;
	uint32_t track = samples->track[sample], count, frame, creator;
	const struct st_track *tracks = st_result_tracks(set->result, &count);
	const struct st_turn *turn;

	*inherited = false;
	if (!set->operators || track >= count)
		return 0;
	turn = st_operator_turn_at(&set->operators->turns, tracks[track].process,
				   samples->time_ns[sample]);
	if (!turn || turn->detail & ST_TURN_WITH || lies_in_operator(set, samples->slice[sample]) ||
	    (samples->slice[sample] == ST_NO_ROW &&
	     lies_in_operator(set, samples->inherited[sample])))
		return 0;
	frame = frame_of(set, sample);
	if (frame)
		return frame;
	/* A thread of a pool works for the one that created it. */
	creator = st_result_track_creator(set->result, track);
	if (creator == ST_NO_ROW || creator >= count)
		return 0;
	sample = sample_at(set, creator, samples->time_ns[sample]);
	*inherited = true;
	return sample == ST_NO_ROW ? 0 : frame_of(set, sample);
}

uint32_t st_sample_operator_slice(const struct st_sample_set *set, uint32_t frame)
{
	return set->operators->slice_of[set->named->frames[frame].function];
}

uint32_t st_sample_operator_outer(const struct st_sample_set *set, uint32_t frame)
{
	return set->operators->frame_of[set->named->frames[frame].parent];
}
