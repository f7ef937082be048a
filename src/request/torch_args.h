/* SPDX-License-Identifier: Apache-2.0
 *
 * Report knobs of torch-averages and torch-events: the arguments of torch's functions, by their names.
 */
#ifndef ST_REQUEST_TORCH_ARGS_H
#define ST_REQUEST_TORCH_ARGS_H

#include "analyze/tables/torch_options.h"
#include "base/error.h"

extern const char st_torch_knob_names[]; /* "sort-by= row-limit= …" */

/* One knob; ST_EUSAGE when it is none, naming all report knobs. The value is kept, not copied. */
enum st_status st_torch_knob(struct st_torch_options *options, const char *name, const char *value,
			     struct st_error *err);

/* Whether "NAME=VALUE" is a text that, unlike other values, may be empty or long: the header, the rows. */
bool st_torch_text(struct st_torch_options *options, const char *pair);

#endif
