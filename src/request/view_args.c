/* SPDX-License-Identifier: Apache-2.0
 *
 * How samples are looked at and named: -call-stack-mode, -inline-mode, -python-frames, -show-as and the like.
 */
#include <stdlib.h>
#include <string.h>

#include "request/options.h"
#include "request/parts.h"

static enum st_status parse_modes(const struct st_args *args, struct st_sample_view *view,
				  struct st_error *err)
{
	/* In the order of the enums; of call stacks the first is the report's own choice. */
	static const char *const stacks[] = {"", "all", "user-only", "user-plus-one", NULL};
	static const char *const inlines[] = {"on", "off", NULL};
	static const char *const pythons[] = {"mixed", "only", "none", NULL};
	static const char *const shows[] = {"values", "samples", "percent", NULL};
	const char *loops = st_args_value(args, ST_OPT_LOOP_MODE);
	size_t stack = view->call_stack_mode, no_inlines = view->no_inlines;
	size_t python = view->python_frames, show = view->show_as;
	enum st_status status = st_args_word(args, ST_OPT_CALL_STACK_MODE, stacks, &stack, err);

	if (!status)
		status = st_args_word(args, ST_OPT_INLINE_MODE, inlines, &no_inlines, err);
	if (!status)
		status = st_args_word(args, ST_OPT_PYTHON_FRAMES, pythons, &python, err);
	if (!status)
		status = st_args_word(args, ST_OPT_SHOW_AS, shows, &show, err);
	if (!status && loops && strcmp(loops, "function-only") != 0)
		status = st_error_set(err, ST_EUSAGE, 0,
				      "-loop-mode: this version does not distinguish loops; "
				      "only function-only is supported");
	view->call_stack_mode = (enum st_call_stack_mode)stack;
	view->no_inlines = no_inlines == 1;
	view->python_frames = (enum st_python_frames)python;
	view->show_as = (enum st_show_as)show;
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

	for (size_t at = 0; (out[count] = st_args_next(args, id, &at));)
		count++;
	return count;
}

enum st_status st_naming_args(struct st_named_options *naming, const char ***search,
			      const struct st_args *args, struct st_error *err)
{
	*search = calloc(args->given_count + 1, sizeof(**search));
	if (!*search)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	naming->search = *search;
	naming->search_count = take_values(args, ST_OPT_SEARCH_DIR, *search);
	naming->source_search = *search + naming->search_count;
	naming->source_search_count =
		take_values(args, ST_OPT_SOURCE_SEARCH_DIR, *search + naming->search_count);
	naming->inlines = true;
	naming->keep = true;
	naming->progress = args->progress;
	return ST_OK;
}

enum st_status st_view_args(struct st_request *request, const struct st_args *args,
			    struct st_error *err)
{
	struct st_sample_view *view = &request->options.view;
	enum st_status status = parse_modes(args, view, err);

	if (!status)
		status = parse_threshold(args, view, err);
	if (!status)
		status = st_naming_args(&request->naming, &request->search, args, err);
	view->naming = &request->naming;
	return status;
}
