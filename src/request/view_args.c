/* SPDX-License-Identifier: Apache-2.0
 *
 * How samples are looked at: -call-stack-mode, -inline-mode, -python-frames, -show-as and the like.
 */
#include "request/view_args.h"

#include <stdlib.h>
#include <string.h>

#include "request/options.h"
#include "request/values.h"

static enum st_status parse_word(const struct st_args *args, enum st_option_id id,
				 const char *const *words, size_t *out, struct st_error *err)
{
	const char *typed = st_args_value(args, id);

	*out = SIZE_MAX;
	for (size_t i = 0; typed && words[i]; i++) {
		if (strcmp(typed, words[i]) == 0) {
			*out = i;
			return ST_OK;
		}
	}
	if (!typed)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0, "-%s: invalid value '%.60s'; expected one of %s",
			    st_option_at(id)->name, typed, st_option_at(id)->argument);
}

static enum st_status parse_modes(const struct st_args *args, struct st_sample_view *view,
				  struct st_error *err)
{
	static const char *const stacks[] = {"all", "user-only", "user-plus-one", NULL};
	static const char *const inlines[] = {"on", "off", NULL};
	static const char *const loops[] = {"function-only", NULL};
	static const char *const pythons[] = {"mixed", "only", "none", NULL};
	static const char *const shows[] = {"values", "samples", "percent", NULL};
	size_t which;
	enum st_status status = parse_word(args, ST_OPT_CALL_STACK_MODE, stacks, &which, err);

	if (!status && which != SIZE_MAX)
		view->call_stack_mode = (enum st_call_stack_mode)(ST_STACK_ALL + which);
	if (!status)
		status = parse_word(args, ST_OPT_INLINE_MODE, inlines, &which, err);
	if (!status && which != SIZE_MAX)
		view->no_inlines = which == 1;
	if (!status)
		status = parse_word(args, ST_OPT_PYTHON_FRAMES, pythons, &which, err);
	if (!status && which != SIZE_MAX)
		view->python_frames = (enum st_python_frames)which;
	if (!status)
		status = parse_word(args, ST_OPT_SHOW_AS, shows, &which, err);
	if (!status && which != SIZE_MAX)
		view->show_as = (enum st_show_as)which;
	if (!status && st_args_value(args, ST_OPT_LOOP_MODE)) {
		status = parse_word(args, ST_OPT_LOOP_MODE, loops, &which, err);
		if (status)
			return st_error_set(err, ST_EUSAGE, 0,
					    "-loop-mode: this version does not distinguish loops; "
					    "only function-only is supported");
	}
	return status;
}

static enum st_status parse_threshold(const struct st_args *args, struct st_sample_view *view,
				      struct st_error *err)
{
	const char *text = st_args_value(args, ST_OPT_THRESHOLD_PERCENT);
	char *end;

	if (!text)
		return ST_OK;
	view->threshold_percent = strtod(text, &end);
	if (*end == '%')
		end++;
	if (end == text || *end || !(view->threshold_percent > 0) || view->threshold_percent > 100)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-cumulative-threshold-percent: expected a percentage between "
				    "0 and 100, not '%.40s'",
				    text);
	return ST_OK;
}

static size_t take_values(const struct st_args *args, enum st_option_id id, const char **out)
{
	size_t count = 0;

	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].id == id)
			out[count++] = args->given[i].value;
	return count;
}

enum st_status st_view_args_parse(struct st_view_args *out, const struct st_args *args,
				  struct st_sample_view *view, struct st_error *err)
{
	struct st_named_options *naming = &out->naming;
	enum st_status status = parse_modes(args, view, err);

	if (!status)
		status = parse_threshold(args, view, err);
	if (status)
		return status;
	out->search = calloc(args->given_count + 1, sizeof(*out->search));
	if (!out->search)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	naming->search = out->search;
	naming->search_count = take_values(args, ST_OPT_SEARCH_DIR, out->search);
	naming->source_search = out->search + naming->search_count;
	naming->source_search_count =
		take_values(args, ST_OPT_SOURCE_SEARCH_DIR, out->search + naming->search_count);
	naming->inlines = true;
	naming->keep = true;
	st_progress_init(&out->progress, st_args_flag(args, ST_OPT_QUIET, false));
	out->is_progress_open = true;
	naming->progress = st_progress_show;
	naming->progress_arg = &out->progress;
	view->naming = naming;
	return ST_OK;
}

void st_view_args_fini(struct st_view_args *args)
{
	if (args->is_progress_open)
		st_progress_fini(&args->progress);
	free(args->search);
	memset(args, 0, sizeof(*args));
}
