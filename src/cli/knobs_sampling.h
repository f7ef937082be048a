/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of the knobs of sampling; rows of the table in knobs.c.
 */
#ifndef ST_CLI_KNOBS_SAMPLING_H
#define ST_CLI_KNOBS_SAMPLING_H

#include "base/error.h"
#include "collect/launch/run/collect.h"

#define ST_KNOB(name)                                                                              \
	enum st_status name(const char *option, const char *value,                                 \
			    struct st_collect_config *config, struct st_error *err)
ST_KNOB(st_knob_sampling_mode);
ST_KNOB(st_knob_sampling_interval);
ST_KNOB(st_knob_stack_collection);
ST_KNOB(st_knob_stack_size);
ST_KNOB(st_knob_stack_depth);
ST_KNOB(st_knob_sample_processes);
ST_KNOB(st_knob_characterization);
#undef ST_KNOB

/* Shared with knobs.c. */
enum st_status st_knob_truth(const char *option, const char *value, enum st_choice *out,
			     struct st_error *err);
enum st_status st_knob_patterns(const char *option, const char *value, const char **out,
				struct st_error *err);

#endif
