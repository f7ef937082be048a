/* SPDX-License-Identifier: Apache-2.0
 *
 * A running program as the target of a collection.
 */
#ifndef ST_CLI_TARGET_H
#define ST_CLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_args;
struct st_buf;
struct st_collect_config;

struct st_target {
	int pid;
	char **argv; /* its command line; never freed */
	int argc;
	bool all; /* -call-stack-mode all */
};

/* By -target-pid or -target-process, of which there is one. */
enum st_status st_target_find(const struct st_args *args, struct st_target *target,
			      struct st_error *err);
/* The same for commands that only look at a running program: exactly one must be there. */
enum st_status st_target_live(const struct st_args *args, struct st_target *target,
			      struct st_error *err);
struct st_live_frame;
/* Appends the name of a function as people say it. */
void st_target_function(const struct st_live_frame *frame, struct st_buf *out);
/* "3.11.7", or as much as is known of PY_VERSION_HEX; "" for 0. */
void st_target_python(uint32_t version, char *out, size_t out_bytes);
/* Reads -target-pid and -target-process into config, with the command line of that process as its argv (for
 * the result only; never freed). config->target_pid stays 0 when neither is given. */
enum st_status st_target_read(const struct st_args *args, struct st_collect_config *config,
			      struct st_error *err);

#endif
