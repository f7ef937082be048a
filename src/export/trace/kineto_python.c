// SPDX-License-Identifier: Apache-2.0
//
// Python functions as slices, where their calls are not recorded (kineto_calls.c). What is recorded is the stack of each operator; a function is drawn from the first operator
// that has it in its stack to the last one in a row, inside of what it was called in: operators, ranges and calls of modules
// end all functions that began in them, so that everything nests.
//
// Names are torch's: "torch/nn/modules/linear.py(130): forward", with the line of the definition; of what was running
// when the window began, with the line it was at.
#include <stdlib.h>

#include "base/json_out.h"
#include "base/vec.h"
#include "export/trace/chrome_parts.h"
#include "export/trace/kineto_parts.h"
#include "export/trace/frame_names.h"

enum { DEPTH_MAX = 512 };

struct function {
	int64_t begin_ns, end_ns;
	uint32_t node; /* of the stacks */
	uint32_t id, parent;
	bool is_running; /* since before the window */
};

/* Something that is open: a function, or a slice. */
struct item {
	uint32_t function; /* index, or ST_NO_ROW: a slice */
	uint32_t code;
	uint32_t id; /* as "Python id"; 0: neither function nor module */
	int64_t end_ns;
};

struct st_kineto_python {
	struct st_frame_names stacks;
	struct function *functions; /* of the track at hand */
	uint32_t count, capacity;
	struct item items[2 * DEPTH_MAX];
	uint32_t item_count;
	uint32_t open_count;	    /* functions among them */
	uint32_t module_count;	    /* modules among them */
	uint32_t frames[DEPTH_MAX]; /* of a stack, outermost first */
	uint32_t *ids, *parents;    /* of calls of modules, by slice */
	uint32_t last_id;
	bool is_begin; /* of the track */
};

static uint32_t code_of(const struct st_kineto_python *python, uint32_t node)
{
	return st_frame_code(&python->stacks, node);
}

/* Outermost first; 0 when there are more than are drawn. */
static uint32_t frames_of(struct st_kineto_python *python, uint32_t leaf)
{
	uint32_t count = 0;

	for (uint32_t node = leaf; node; node = python->stacks.nodes->parent[node]) {
		if (count == DEPTH_MAX)
			return 0;
		count++;
	}
	for (uint32_t node = leaf, at = count; node; node = python->stacks.nodes->parent[node])
		python->frames[--at] = node;
	return count;
}

static uint32_t innermost_id(const struct st_kineto_python *python)
{
	for (uint32_t i = python->item_count; i > 0; i--)
		if (python->items[i - 1].id)
			return python->items[i - 1].id;
	return 0;
}

/* A function lasts as long as what is inside of it. */
static void close_item(struct st_kineto_python *python)
{
	struct item *item = &python->items[--python->item_count];
	struct item *below = python->item_count ? item - 1 : NULL;

	if (item->function != ST_NO_ROW) {
		python->functions[item->function].end_ns = item->end_ns;
		python->open_count--;
	} else if (item->id) {
		python->module_count--;
	}
	if (below && below->function != ST_NO_ROW && below->end_ns < item->end_ns)
		below->end_ns = item->end_ns;
}

/* Slices that have ended, and the functions in them. */
static void close_until(struct st_kineto_python *python, int64_t now_ns)
{
	uint32_t keep = python->item_count;

	for (uint32_t i = 0; i < keep; i++) {
		const struct item *item = &python->items[i];

		if (item->function == ST_NO_ROW && item->end_ns <= now_ns)
			keep = i;
	}
	while (python->item_count > keep)
		close_item(python);
}

static bool open_function(struct st_kineto_python *python, uint32_t node, int64_t begin_ns)
{
	struct function *function;

	if (python->item_count >= 2 * DEPTH_MAX)
		return true; /* too deep to be drawn */
	if (!ST_VEC_ROOM(python->functions, python->count, python->capacity))
		return false;
	function = &python->functions[python->count];
	*function = (struct function){
		begin_ns,	 begin_ns, node, ++python->last_id, innermost_id(python),
		python->is_begin};
	python->items[python->item_count++] =
		(struct item){python->count++, code_of(python, node), function->id, begin_ns};
	python->open_count++;
	return true;
}

static uint32_t functions_below_slice(const struct st_kineto_python *python, uint32_t *slice_end)
{
	uint32_t inside = 0, at = python->item_count;

	while (at && python->items[at - 1].function != ST_NO_ROW) {
		at--;
		inside++;
	}
	*slice_end = at;
	return python->open_count - inside;
}

/* Do the functions around the innermost slice agree with the stack? */
static bool is_same_outside(const struct st_kineto_python *python, uint32_t slice_end)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < slice_end; i++) {
		if (python->items[i].function == ST_NO_ROW)
			continue;
		if (python->items[i].code != code_of(python, python->frames[at++]))
			return false;
	}
	return true;
}

/* Makes the first `count` frames the open functions at that time. */
static bool show_frames(struct st_kineto_python *python, uint32_t count, int64_t begin_ns)
{
	uint32_t slice_end, outside = functions_below_slice(python, &slice_end), same;

	if (count < outside || !is_same_outside(python, slice_end))
		return true;
	same = outside;
	while (same < count && slice_end + (same - outside) < python->item_count &&
	       python->items[slice_end + (same - outside)].code ==
		       code_of(python, python->frames[same]))
		same++;
	while (python->open_count > same)
		close_item(python);
	for (; same < count; same++)
		if (!open_function(python, python->frames[same], begin_ns))
			return false;
	return true;
}

static uint32_t stack_of(const struct st_kineto *kineto, uint32_t slice)
{
	uint32_t row = kineto->rows->row_of_slice[slice];

	return row != ST_NO_ROW && kineto->rows->slice[row] == slice ? kineto->rows->stack[row] : 0;
}

/* How many frames of a stack lie outside of the module that is called as the depth-th one. */
static uint32_t frames_outside(const struct st_kineto *kineto, uint32_t count, uint32_t depth)
{
	for (uint32_t i = 0; i < count; i++)
		if (st_frame_is(&kineto->python->stacks, kineto->python->frames[i],
				"_wrapped_call_impl") &&
		    !depth--)
			return i;
	return 0;
}

/* The functions that a slice was called in. A call of a module has no stack of its own, and of a range the innermost
 * functions are those that begin it: the next operator tells which go on. */
static uint32_t frames_around(struct st_kineto *kineto, uint32_t slice, bool is_module)
{
	struct st_kineto_python *python = kineto->python;
	const struct st_slices *slices = kineto->slices;
	const struct st_track *track = &kineto->tracks[slices->track[slice]];
	uint32_t own = is_module ? 0 : stack_of(kineto, slice), next = slice + 1, count, same = 0;
	uint32_t codes[DEPTH_MAX];

	if (!is_module && !kineto->rows->is_range[slices->label[slice]])
		return own ? frames_of(python, own) : 0;
	while (next < track->row_end && !stack_of(kineto, next))
		next++;
	if (next >= track->row_end ||
	    (is_module && slices->end_ns[slice] <= slices->begin_ns[next]))
		return 0;
	if (is_module)
		return frames_outside(kineto, frames_of(python, stack_of(kineto, next)),
				      python->module_count);
	count = frames_of(python, stack_of(kineto, next));
	for (uint32_t i = 0; i < count; i++)
		codes[i] = code_of(python, python->frames[i]);
	own = own ? frames_of(python, own) : 0;
	while (same < own && same < count && codes[same] == code_of(python, python->frames[same]))
		same++;
	return same;
}

static bool add_slice(struct st_kineto *kineto, uint32_t slice, bool is_module)
{
	struct st_kineto_python *python = kineto->python;
	int64_t begin = kineto->slices->begin_ns[slice], end = kineto->slices->end_ns[slice];
	struct item item = {ST_NO_ROW, 0, 0, end};

	close_until(python, begin);
	for (uint32_t i = 0; i < python->item_count; i++)
		if (python->items[i].function == ST_NO_ROW && python->items[i].end_ns < end)
			return true; /* outlives what it began in: drawn beside */
	if (kineto->parts & ST_PART_STACKS) {
		uint32_t count = frames_around(kineto, slice, is_module);

		if (count && !show_frames(python, count, begin))
			return false;
		python->is_begin = python->is_begin && !count;
	}
	if (python->item_count >= 2 * DEPTH_MAX)
		return true;
	if (is_module) {
		python->parents[slice] = innermost_id(python);
		item.id = python->ids[slice] = ++python->last_id;
		python->module_count++;
	}
	python->items[python->item_count++] = item;
	return true;
}

bool st_kineto_python_track(struct st_kineto *kineto, uint32_t track)
{
	struct st_kineto_python *python = kineto->python;

	python->count = python->item_count = python->open_count = python->module_count = 0;
	python->is_begin = true;
	if (!(kineto->parts & (ST_PART_STACKS | ST_PART_MODULES)) || kineto->call_count)
		return true;
	for (uint32_t slice = kineto->tracks[track].row_begin;
	     slice < kineto->tracks[track].row_end; slice++) {
		enum st_kineto_kind kind = st_kineto_kind(kineto, slice);

		if (kind != ST_KINETO_NOTHING &&
		    !add_slice(kineto, slice, kind == ST_KINETO_MODULE))
			return false;
	}
	while (python->item_count)
		close_item(python);
	return true;
}

static void add_function(struct st_kineto *kineto, const struct function *function, uint32_t track)
{
	struct st_kineto_call call = {.begin_ns = function->begin_ns,
				      .end_ns = function->end_ns,
				      .id = function->id,
				      .parent = function->parent};
	struct st_json json;

	st_frame_text(&kineto->python->stacks, function->node, function->is_running,
		      st_stream_scratch(&kineto->stream));
	call.name = st_stream_text(&kineto->stream);
	st_kineto_call_begin(kineto, &json, track, &call);
	st_kineto_call_end(kineto, &json);
}

enum st_status st_kineto_write_functions(struct st_kineto *kineto, uint32_t track,
					 struct st_error *err)
{
	enum st_status status = ST_OK;

	for (uint32_t i = 0; i < kineto->python->count && !status; i++) {
		add_function(kineto, &kineto->python->functions[i], track);
		status = st_stream_spill(&kineto->stream, err);
	}
	return status;
}

void st_kineto_python_ids(const struct st_kineto *kineto, uint32_t slice, uint64_t *id,
			  uint64_t *parent)
{
	*id = kineto->python->ids[slice];
	*parent = kineto->python->parents[slice];
}

bool st_kineto_python_create(struct st_kineto *kineto)
{
	struct st_kineto_python *python = calloc(1, sizeof(*python));
	size_t count = (size_t)kineto->slices->count + 1;

	kineto->python = python;
	if (!python)
		return false;
	st_frame_names_init(&python->stacks, kineto->result);
	python->ids = calloc(count, sizeof(*python->ids));
	python->parents = calloc(count, sizeof(*python->parents));
	return python->ids && python->parents;
}

void st_kineto_python_destroy(struct st_kineto *kineto)
{
	if (!kineto->python)
		return;
	free(kineto->python->functions);
	free(kineto->python->ids);
	free(kineto->python->parents);
	free(kineto->python);
	kineto->python = NULL;
}
