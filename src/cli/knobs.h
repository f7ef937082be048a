/* SPDX-License-Identifier: Apache-2.0
 *
 * The one table of knobs ("-knob name=value"): reading them, help, the manual page and completion all
 * come from it.
 */
#ifndef ST_CLI_KNOBS_H
#define ST_CLI_KNOBS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_args;
struct st_collect_config;

struct st_knob {
	const char *name;
	const char *argument; /* what the value is; "a|b" when it is one of these */
	const char *default_text;
	const char *help;
	uint32_t about; /* ST_RECORDS_...: only analyses that record it have the knob; 0: all */
	size_t choice;	/* true or false: where that goes in the config; 0: accepted, no effect */
	enum st_status (*apply)(const char *option, const char *value,
				struct st_collect_config *config,
				struct st_error *err); /* of values that are neither */
};
extern const struct st_knob st_knobs[]; /* ends with a NULL name */

/* Reads every -knob of a command line into config, whose analysis is set, and refuses what would have no effect; texts
 * stay the command line's. */
enum st_status st_knobs_read(const struct st_args *args, struct st_collect_config *config,
			     struct st_error *err);
/* "name=ARGUMENT", for help. */
void st_knob_head(const struct st_knob *knob, char *out, size_t out_size);

#endif
