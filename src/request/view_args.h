/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that say how samples are looked at and named, of the commands that report on them.
 */
#ifndef ST_REQUEST_VIEW_ARGS_H
#define ST_REQUEST_VIEW_ARGS_H

#include "analyze/engine/sample_view.h"
#include "base/error.h"
#include "request/console.h"
#include "resolve/named.h"

struct st_args;

struct st_view_args {
	struct st_named_options naming;
	const char **search; /* owned; texts are argv's */
	struct st_progress progress;
	bool is_progress_open;
};

/* view points into out, which must stay where it is. */
enum st_status st_view_args_parse(struct st_view_args *out, const struct st_args *args,
				  struct st_sample_view *view, struct st_error *err);
void st_view_args_fini(struct st_view_args *args);

#endif
