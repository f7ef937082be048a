// SPDX-License-Identifier: Apache-2.0
//
// Samples that are wanted and frames that are shown. What a frame is replaced by depends on its callers only,
// so it is worked out once per frame, callers first, and never per sample.
#include "analyze/stacks/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "base/arena.h"
#include "base/buf.h"

enum { NOT_RUNNING = ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE };

static enum st_status out_of_memory(struct st_error *err)
{
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
}

static bool is_wanted(const struct st_stacks *stacks, const struct st_question *question,
		      uint32_t row)
{
	const struct st_samples *samples = stacks->samples;

	if (stacks->is_of_waits ? !stacks->set.wait_of[row]
				: (samples->flags[row] & NOT_RUNNING) != 0)
		return false;
	return !question->has_time_range || (samples->time_ns[row] >= question->time_begin_ns &&
					     samples->time_ns[row] < question->time_end_ns);
}

/* Who asks for some waits wants waits, and no CPU time. */
static bool is_about_waits(const struct st_stacks *stacks, const struct st_question *question)
{
	for (size_t i = 0; i < question->filter_count; i++)
		if (st_set_has(st_wait_groupings(), question->filters[i].grouping))
			return stacks->set.wait_of;
	return false;
}

static bool choose_samples(struct st_stacks *stacks, const struct st_question *question,
			   const struct st_selection *selection)
{
	const struct st_samples *samples = stacks->samples;

	stacks->rows = calloc((size_t)samples->count + 1, sizeof(*stacks->rows));
	if (!stacks->rows)
		return false;
	for (uint32_t i = 0; i < samples->count; i++) {
		if (!is_wanted(stacks, question, i))
			continue;
		if (selection->test_count &&
		    (!st_sample_rows_look(&stacks->how, i) || !st_selection_has(selection, 0)))
			continue;
		stacks->rows[stacks->row_count++] = i;
		stacks->total_ns += samples->weight_ns[i];
		stacks->truncated += (samples->flags[i] & ST_SAMPLE_TRUNCATED) != 0;
		stacks->recovered += (samples->flags[i] & ST_SAMPLE_RECOVERED) != 0;
	}
	return !stacks->how.contexts.failed;
}

/* Levels above the stacks: not of functions, which are the stacks. Without a word from the user: processes, where
 * there are several. */
static void choose_groups(struct st_stacks *stacks, const struct st_question *question)
{
	uint32_t first = stacks->row_count ? stacks->samples->track[stacks->rows[0]] : 0;

	for (unsigned int i = 0; i < question->grouping_count; i++)
		stacks->groups[stacks->group_count++] = question->groupings[i];
	for (uint32_t i = 0; !stacks->group_count && i < stacks->row_count; i++) {
		uint32_t track = stacks->samples->track[stacks->rows[i]];

		if (stacks->tracks[track].process != stacks->tracks[first].process)
			stacks->groups[stacks->group_count++] = ST_BY_PROCESS;
	}
}

struct st_set st_stacks_groupings(void)
{
	struct st_set groupings = st_set_join(ST_SET(ST_BY_PROCESS, ST_BY_THREAD, ST_BY_CPU_CLASS),
					      st_wait_groupings());

	for (unsigned int i = 0; i < ST_GROUPINGS; i++)
		if (st_grouping_is_task((enum st_grouping)i))
			st_set_add(&groupings, i);
	return groupings;
}

static enum st_status prepare(struct st_stacks *stacks, const struct st_question *question,
			      struct st_error *err)
{
	struct st_question filters = {.filters = question->filters,
				      .filter_count = question->filter_count};
	struct st_selection selection;
	enum st_status status = ST_OK;

	for (unsigned int i = 0; i < question->grouping_count && !status; i++)
		status = st_sample_offers(stacks->set.result, question->groupings[i],
					  st_stacks_groupings(), err);
	if (!status)
		status = st_sample_check(&stacks->set, &filters, err);
	if (!status)
		status = st_sample_rows_begin(&stacks->how, &stacks->set, question, err);
	if (!status)
		status = st_selection_init(&selection, &stacks->set.dataset, &filters, err);
	if (status)
		return status;
	stacks->is_of_waits = is_about_waits(stacks, question);
	if (!choose_samples(stacks, question, &selection))
		status = out_of_memory(err);
	st_selection_fini(&selection);
	if (!status)
		choose_groups(stacks, question);
	return status;
}

enum st_status st_stacks_init(struct st_stacks *stacks, const struct st_result *result,
			      const struct st_question *question, const struct st_sample_view *view,
			      struct st_error *err)
{
	static const struct st_question everything = {0};
	struct st_sample_view shown = {0};
	enum st_status status;

	memset(stacks, 0, sizeof(*stacks));
	stacks->result = result;
	stacks->samples = st_result_samples(result);
	stacks->processes = st_result_processes(result, &stacks->process_count);
	stacks->tracks = st_result_tracks(result, &stacks->track_count);
	if (!stacks->samples->count)
		return ST_OK;
	/* A report is about the user's functions; a file for another tool leaves nothing out. */
	if (view)
		shown = *view;
	if (shown.call_stack_mode == ST_STACK_DEFAULT)
		shown.call_stack_mode = ST_STACK_ALL;
	status = st_sample_set_open(&stacks->set, result, &shown, err);
	if (status)
		return status;
	stacks->named = stacks->set.named;
	return prepare(stacks, question ? question : &everything, err);
}

enum st_status st_stacks_need(struct st_stacks *stacks, const struct st_result *result,
			      const struct st_question *question, const struct st_sample_view *view,
			      struct st_error *err)
{
	enum st_status status = st_stacks_init(stacks, result, question, view, err);

	if (!status && !stacks->samples->count)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"the result has no samples; record them with strata -collect hotspots");
	if (!status && !stacks->row_count)
		return st_error_set(err, ST_EUSAGE, 0, "no samples match the filters");
	return status;
}

uint32_t st_stacks_thread_end(const struct st_stacks *stacks, uint32_t first)
{
	uint32_t track = stacks->samples->track[stacks->rows[first]], end = first + 1;

	while (end < stacks->row_count && stacks->samples->track[stacks->rows[end]] == track)
		end++;
	return end;
}

void st_stacks_fini(struct st_stacks *stacks)
{
	st_sample_rows_fini(&stacks->how);
	if (stacks->named)
		st_sample_set_close(&stacks->set);
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

uint32_t st_stacks_group_key(struct st_stacks *stacks, unsigned int level, uint32_t row)
{
	if (!st_sample_rows_look(&stacks->how, row))
		return 0;
	return st_own_key(&stacks->set.dataset, stacks->groups[level], 0);
}

void st_stacks_group_text(const struct st_stacks *stacks, unsigned int level, uint32_t key,
			  struct st_buf *out)
{
	struct st_arena arena;
	struct st_text text;

	if (stacks->groups[level] == ST_BY_PROCESS) {
		st_stacks_process_text(stacks, key, out);
	} else if (stacks->groups[level] == ST_BY_THREAD) {
		st_stacks_thread_text(stacks, key, out);
	} else {
		st_arena_init(&arena, SIZE_MAX / 2);
		text = st_sample_text(&stacks->set, stacks->groups[level], key, &arena);
		st_buf_append(out, text.bytes, text.size_bytes);
		out->failed |= arena.failed;
		st_arena_fini(&arena);
	}
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
		st_buf_append_text(out, st_track_word(at, &stacks->processes[at->process]));
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
