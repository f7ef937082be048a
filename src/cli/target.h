/* SPDX-License-Identifier: Apache-2.0
 *
 * A running program as the target of a collection.
 */
#ifndef ST_CLI_TARGET_H
#define ST_CLI_TARGET_H

#include "base/error.h"

struct st_args;
struct st_collect_config;

/* Reads -target-pid and -target-process into config, with the command line of that process as its argv (for
 * the result only; never freed). config->target_pid stays 0 when neither is given. */
enum st_status st_target_read(const struct st_args *args, struct st_collect_config *config,
			      struct st_error *err);

#endif
