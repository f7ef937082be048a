// SPDX-License-Identifier: Apache-2.0
//
// What is recorded is the stack of each operator; a function lasts from the first operator that has it in its stack to the
// last one in a row, inside of what it was called in: operators, ranges and calls of modules end all functions that began
// in them, so that everything nests.
#include "analyze/torch/python_functions.h"

#include <stdlib.h>

#include "analyze/operators/dataset_operators.h"
#include "base/vec.h"

enum { DEPTH_MAX = 512 };

/* Something that is open: a function, or a slice. */
struct item {
	uint32_t function; /* index, or ST_NO_ROW: a slice */
	uint32_t code;
	uint32_t id; /* as "Python id"; 0: neither function nor module */
	int64_t end_ns;
};

struct st_python_state {
	struct item items[2 * DEPTH_MAX];
	uint32_t item_count;
	uint32_t open_count;	    /* functions among them */
	uint32_t module_count;	    /* modules among them */
	uint32_t frames[DEPTH_MAX]; /* of a stack, outermost first */
	uint32_t last_id;
	bool is_begin; /* of the track */
};

static uint32_t code_of(const struct st_python_functions *python, uint32_t node)
{
	return st_frame_code(&python->names, node);
}

/* Outermost first; 0 when there are more than are drawn. */
static uint32_t frames_of(struct st_python_functions *python, uint32_t leaf)
{
	uint32_t count = 0;

	for (uint32_t node = leaf; node; node = python->names.nodes->parent[node]) {
		if (count == DEPTH_MAX)
			return 0;
		count++;
	}
	for (uint32_t node = leaf, at = count; node; node = python->names.nodes->parent[node])
		python->state->frames[--at] = node;
	return count;
}

static uint32_t innermost_id(const struct st_python_functions *python)
{
	for (uint32_t i = python->state->item_count; i > 0; i--)
		if (python->state->items[i - 1].id)
			return python->state->items[i - 1].id;
	return 0;
}

/* A function lasts as long as what is inside of it. */
static void close_item(struct st_python_functions *python)
{
	struct item *item = &python->state->items[--python->state->item_count];
	struct item *below = python->state->item_count ? item - 1 : NULL;

	if (item->function != ST_NO_ROW) {
		python->functions[item->function].end_ns = item->end_ns;
		python->state->open_count--;
	} else if (item->id) {
		python->state->module_count--;
	}
	if (below && below->function != ST_NO_ROW && below->end_ns < item->end_ns)
		below->end_ns = item->end_ns;
}

/* Slices that have ended, and the functions in them. */
static void close_until(struct st_python_functions *python, int64_t now_ns)
{
	uint32_t keep = python->state->item_count;

	for (uint32_t i = 0; i < keep; i++) {
		const struct item *item = &python->state->items[i];

		if (item->function == ST_NO_ROW && item->end_ns <= now_ns)
			keep = i;
	}
	while (python->state->item_count > keep)
		close_item(python);
}

static bool open_function(struct st_python_functions *python, uint32_t node, int64_t begin_ns)
{
	struct st_function_span *function;

	if (python->state->item_count >= 2 * DEPTH_MAX)
		return true; /* too deep to be drawn */
	if (!ST_VEC_ROOM(python->functions, python->count, python->capacity))
		return false;
	function = &python->functions[python->count];
	*function = (struct st_function_span){begin_ns,
					      begin_ns,
					      node,
					      ++python->state->last_id,
					      innermost_id(python),
					      python->state->is_begin};
	python->state->items[python->state->item_count++] =
		(struct item){python->count++, code_of(python, node), function->id, begin_ns};
	python->state->open_count++;
	return true;
}

static uint32_t functions_below_slice(const struct st_python_functions *python, uint32_t *slice_end)
{
	uint32_t inside = 0, at = python->state->item_count;

	while (at && python->state->items[at - 1].function != ST_NO_ROW) {
		at--;
		inside++;
	}
	*slice_end = at;
	return python->state->open_count - inside;
}

/* Do the functions around the innermost slice agree with the stack? */
static bool is_same_outside(const struct st_python_functions *python, uint32_t slice_end)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < slice_end; i++) {
		if (python->state->items[i].function == ST_NO_ROW)
			continue;
		if (python->state->items[i].code != code_of(python, python->state->frames[at++]))
			return false;
	}
	return true;
}

/* Makes the first `count` frames the open functions at that time. */
static bool show_frames(struct st_python_functions *python, uint32_t count, int64_t begin_ns)
{
	uint32_t slice_end, outside = functions_below_slice(python, &slice_end), same;

	if (count < outside || !is_same_outside(python, slice_end))
		return true;
	same = outside;
	while (same < count && slice_end + (same - outside) < python->state->item_count &&
	       python->state->items[slice_end + (same - outside)].code ==
		       code_of(python, python->state->frames[same]))
		same++;
	while (python->state->open_count > same)
		close_item(python);
	for (; same < count; same++)
		if (!open_function(python, python->state->frames[same], begin_ns))
			return false;
	return true;
}

static uint32_t stack_of(const struct st_python_functions *python, uint32_t slice)
{
	uint32_t row = python->rows->row_of_slice[slice];

	return row != ST_NO_ROW && python->rows->slice[row] == slice ? python->rows->stack[row] : 0;
}

/* How many frames of a stack lie outside of the module that is called as the depth-th one. */
static uint32_t frames_outside(const struct st_python_functions *python, uint32_t count,
			       uint32_t depth)
{
	for (uint32_t i = 0; i < count; i++)
		if (st_frame_is(&python->names, python->state->frames[i], "_wrapped_call_impl") &&
		    !depth--)
			return i;
	return 0;
}

/* The functions that a slice was called in. A call of a module has no stack of its own, and of a range the innermost
 * functions are those that begin it: the next operator tells which go on. */
static uint32_t frames_around(struct st_python_functions *python, uint32_t slice, bool is_module)
{
	const struct st_slices *slices = python->slices;
	const struct st_track *track = &python->tracks[slices->track[slice]];
	uint32_t own = is_module ? 0 : stack_of(python, slice), next = slice + 1, count, same = 0;
	uint32_t codes[DEPTH_MAX];

	if (!is_module && !python->rows->is_range[slices->label[slice]])
		return own ? frames_of(python, own) : 0;
	while (next < track->row_end && !stack_of(python, next))
		next++;
	if (next >= track->row_end ||
	    (is_module && slices->end_ns[slice] <= slices->begin_ns[next]))
		return 0;
	if (is_module)
		return frames_outside(python, frames_of(python, stack_of(python, next)),
				      python->state->module_count);
	count = frames_of(python, stack_of(python, next));
	for (uint32_t i = 0; i < count; i++)
		codes[i] = code_of(python, python->state->frames[i]);
	own = own ? frames_of(python, own) : 0;
	while (same < own && same < count &&
	       codes[same] == code_of(python, python->state->frames[same]))
		same++;
	return same;
}

static bool add_slice(struct st_python_functions *python, uint32_t slice, bool is_module)
{
	int64_t begin = python->slices->begin_ns[slice], end = python->slices->end_ns[slice];
	struct item item = {ST_NO_ROW, 0, 0, end};

	close_until(python, begin);
	for (uint32_t i = 0; i < python->state->item_count; i++)
		if (python->state->items[i].function == ST_NO_ROW &&
		    python->state->items[i].end_ns < end)
			return true; /* outlives what it began in: drawn beside */
	if (python->has_stacks) {
		uint32_t count = frames_around(python, slice, is_module);

		if (count && !show_frames(python, count, begin))
			return false;
		python->state->is_begin = python->state->is_begin && !count;
	}
	if (python->state->item_count >= 2 * DEPTH_MAX)
		return true;
	if (is_module) {
		python->parents[slice] = innermost_id(python);
		item.id = python->ids[slice] = ++python->state->last_id;
		python->state->module_count++;
	}
	python->state->items[python->state->item_count++] = item;
	return true;
}

bool st_python_functions_track(struct st_python_functions *python, uint32_t track)
{
	struct st_python_state *state = python->state;

	python->count = state->item_count = state->open_count = state->module_count = 0;
	state->is_begin = true;
	for (uint32_t slice = python->tracks[track].row_begin;
	     slice < python->tracks[track].row_end; slice++) {
		enum st_python_slice kind = python->kind(python->kind_arg, slice);

		if (kind != ST_PYTHON_NOTHING &&
		    !add_slice(python, slice, kind == ST_PYTHON_MODULE))
			return false;
	}
	while (state->item_count)
		close_item(python);
	return true;
}

bool st_python_functions_init(struct st_python_functions *python, const struct st_result *result,
			      const struct st_operator_rows *rows)
{
	size_t count = (size_t)st_result_slices(result)->count + 1;
	uint32_t track_count;

	*python = (struct st_python_functions){.rows = rows, .slices = st_result_slices(result)};
	python->tracks = st_result_tracks(result, &track_count);
	st_frame_names_init(&python->names, result);
	python->state = calloc(1, sizeof(*python->state));
	python->ids = calloc(count, sizeof(*python->ids));
	python->parents = calloc(count, sizeof(*python->parents));
	return python->state && python->ids && python->parents;
}

void st_python_functions_fini(struct st_python_functions *python)
{
	free(python->functions);
	free(python->ids);
	free(python->parents);
	free(python->state);
}
