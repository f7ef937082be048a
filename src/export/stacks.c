// SPDX-License-Identifier: Apache-2.0
//
// Samples that are wanted and frames that are shown. What a frame is replaced by depends on its callers only,
// so it is worked out once per frame, callers first, and never per sample.
#include "export/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { NOT_RUNNING = ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE };

static enum st_status out_of_memory(struct st_error *err)
{
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
}

static bool is_system(const struct st_named *named, uint32_t frame)
{
	const struct st_named_function *function = &named->functions[named->frames[frame].function];

	return (function->flags & ST_FUNCTION_SYSTEM) || function->kind == ST_FUNCTION_KERNEL;
}

static bool python_mode_hides(const struct st_named *named, uint32_t frame,
			      enum st_export_python mode)
{
	bool is_python = named->functions[named->frames[frame].function].kind == ST_FUNCTION_PYTHON;

	switch (mode) {
	case ST_EXPORT_PYTHON_ONLY:
		return !is_python;
	case ST_EXPORT_PYTHON_NONE:
		return is_python;
	default:
		return (named->frames[frame].flags & ST_NAMED_EVAL) != 0;
	}
}

/* near: by frame, itself or the nearest caller that the Python mode leaves. */
static bool stack_mode_hides(const struct st_named *named, uint32_t frame,
			     enum st_export_stack_mode mode, const uint32_t *near)
{
	uint32_t caller = near[named->frames[frame].parent];

	if (mode == ST_EXPORT_STACKS_ALL || !is_system(named, frame))
		return false;
	return mode == ST_EXPORT_STACKS_USER_ONLY || !caller || is_system(named, caller);
}

static bool choose_frames(struct st_stacks *stacks, const struct st_export_options *options)
{
	const struct st_named *named = stacks->named;
	uint32_t *near = calloc((size_t)named->frame_count + 1, sizeof(*near));

	stacks->shown = calloc((size_t)named->frame_count + 1, sizeof(*stacks->shown));
	if (!near || !stacks->shown) {
		free(near);
		return false;
	}
	for (uint32_t i = 1; i < named->frame_count; i++) {
		uint32_t parent = named->frames[i].parent;
		bool hidden = python_mode_hides(named, i, options->python_frames);

		near[i] = hidden ? near[parent] : i;
		if (!hidden)
			hidden = stack_mode_hides(named, i, options->call_stack_mode, near);
		stacks->shown[i] = hidden ? stacks->shown[parent] : i;
	}
	free(near);
	return true;
}

static bool is_wanted(const struct st_stacks *stacks, const struct st_question *question,
		      uint32_t row)
{
	const struct st_samples *samples = stacks->samples;

	if (samples->flags[row] & NOT_RUNNING)
		return false;
	return !question || !question->has_time_range ||
	       (samples->time_ns[row] >= question->time_begin_ns &&
		samples->time_ns[row] < question->time_end_ns);
}

static bool choose_samples(struct st_stacks *stacks, const struct st_question *question)
{
	const struct st_samples *samples = stacks->samples;

	stacks->rows = malloc(((size_t)samples->count + 1) * sizeof(*stacks->rows));
	if (!stacks->rows)
		return false;
	for (uint32_t row = 0; row < samples->count; row++) {
		if (!is_wanted(stacks, question, row))
			continue;
		stacks->rows[stacks->row_count++] = row;
		stacks->total_ns += samples->weight_ns[row];
		stacks->truncated += (samples->flags[row] & ST_SAMPLE_TRUNCATED) != 0;
		stacks->recovered += (samples->flags[row] & ST_SAMPLE_RECOVERED) != 0;
	}
	return true;
}

/* Without a word from the user: processes, where there are several. */
static enum st_status choose_groups(struct st_stacks *stacks, const struct st_question *question,
				    struct st_error *err)
{
	uint64_t offered = ST_BIT(ST_BY_PROCESS) | ST_BIT(ST_BY_THREAD);
	uint32_t first = stacks->row_count ? stacks->samples->track[stacks->rows[0]] : 0;

	for (unsigned int i = 0; question && i < question->grouping_count; i++) {
		if (!(offered & ST_BIT(question->groupings[i])))
			return st_grouping_refuse(question->groupings[i], offered, err);
		stacks->groups[stacks->group_count++] = question->groupings[i];
	}
	for (uint32_t i = 0; !stacks->group_count && i < stacks->row_count; i++) {
		uint32_t track = stacks->samples->track[stacks->rows[i]];

		if (stacks->tracks[track].process != stacks->tracks[first].process)
			stacks->groups[stacks->group_count++] = ST_BY_PROCESS;
	}
	return ST_OK;
}

enum st_status st_stacks_init(struct st_stacks *stacks, const struct st_result *result,
			      const struct st_export_options *options, struct st_error *err)
{
	static const struct st_export_options none = {0};
	enum st_status status = ST_OK;

	memset(stacks, 0, sizeof(*stacks));
	if (!options)
		options = &none;
	stacks->result = result;
	stacks->samples = st_result_samples(result);
	stacks->processes = st_result_processes(result, &stacks->process_count);
	stacks->tracks = st_result_tracks(result, &stacks->track_count);
	if (!stacks->samples->count)
		return ST_OK;
	stacks->named = options->named;
	if (!stacks->named) {
		status = st_named_open(&stacks->owned, result, &options->names, err);
		stacks->named = stacks->owned;
	}
	if (status)
		return status;
	if (options->question && options->question->filter_count)
		return st_error_set(err, ST_EUSAGE, 0, "samples cannot be filtered yet");
	if (!choose_frames(stacks, options) || !choose_samples(stacks, options->question))
		return out_of_memory(err);
	return choose_groups(stacks, options->question, err);
}

enum st_status st_stacks_need(const struct st_stacks *stacks, struct st_error *err)
{
	if (!stacks->samples->count)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"the result has no samples: strata -collect hotspots records them");
	if (!stacks->row_count)
		return st_error_set(err, ST_EUSAGE, 0, "no sample passes the filters");
	return ST_OK;
}

void st_stacks_fini(struct st_stacks *stacks)
{
	st_named_close(stacks->owned);
	free(stacks->shown);
	free(stacks->rows);
}

struct st_stack_label st_stacks_label_of(const struct st_stacks *stacks, uint32_t frame)
{
	const struct st_named_frame *named = &stacks->named->frames[frame];

	if (stacks->named->functions[named->function].kind != ST_FUNCTION_PYTHON)
		return (struct st_stack_label){named->function, 0, 0};
	return (struct st_stack_label){named->function, named->source, named->line};
}

static void add_last_part(struct st_buf *out, struct st_text path)
{
	const char *slash = path.size_bytes ? memrchr(path.bytes, '/', path.size_bytes) : NULL;
	size_t skip = slash ? (size_t)(slash - path.bytes) + 1 : 0;

	st_buf_append(out, path.bytes + skip, path.size_bytes - skip);
}

void st_stacks_label_text(const struct st_stacks *stacks, struct st_stack_label label,
			  struct st_buf *out)
{
	const struct st_named *named = stacks->named;
	const struct st_named_function *function = &named->functions[label.function];

	st_buf_append(out, function->name.bytes, function->name.size_bytes);
	if (function->kind == ST_FUNCTION_PYTHON && label.source) {
		st_buf_append_text(out, " (");
		add_last_part(out, named->sources[label.source]);
		if (label.line)
			st_buf_printf(out, ":%u", label.line);
		st_buf_append_text(out, ")");
	} else if ((function->flags & ST_FUNCTION_NO_SYMBOL) && function->module &&
		   function->name.size_bytes && function->name.bytes[0] != '[') {
		struct st_text module = named->modules[function->module].name;

		st_buf_append_text(out, " [");
		st_buf_append(out, module.bytes, module.size_bytes);
		st_buf_append_text(out, "]");
	}
}

uint32_t st_stacks_group_key(const struct st_stacks *stacks, unsigned int level, uint32_t row)
{
	uint32_t track = stacks->samples->track[row];

	return stacks->groups[level] == ST_BY_PROCESS ? stacks->tracks[track].process : track;
}

void st_stacks_group_text(const struct st_stacks *stacks, unsigned int level, uint32_t key,
			  struct st_buf *out)
{
	if (stacks->groups[level] == ST_BY_PROCESS)
		st_stacks_process_text(stacks, key, out);
	else
		st_stacks_thread_text(stacks, key, out);
}

void st_stacks_process_text(const struct st_stacks *stacks, uint32_t process, struct st_buf *out)
{
	struct st_text name = st_result_text(stacks->result, stacks->processes[process].name);

	st_buf_append(out, name.bytes, name.size_bytes);
	st_buf_printf(out, "%s(%u)", name.size_bytes ? " " : "", stacks->processes[process].pid);
}

void st_stacks_thread_text(const struct st_stacks *stacks, uint32_t track, struct st_buf *out)
{
	const struct st_track *at = &stacks->tracks[track];
	struct st_text name = st_result_text(stacks->result, at->name);

	if (name.size_bytes)
		st_buf_append(out, name.bytes, name.size_bytes);
	else
		st_buf_append_text(out, stacks->processes[at->process].pid == at->tid ? "main"
										      : "thread");
	st_buf_printf(out, " (%u)", at->tid);
}

uint32_t st_stacks_task(const struct st_stacks *stacks, uint32_t row, bool *is_inherited)
{
	uint32_t slice = stacks->samples->slice[row];

	*is_inherited = slice == ST_NO_ROW;
	if (*is_inherited)
		slice = stacks->samples->inherited[row];
	return slice == ST_NO_ROW ? ST_NO_ROW : st_result_slices(stacks->result)->label[slice];
}
