/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts the program in two steps: a child that waits, so that it can be watched from its first
 * instruction on, and then the exec, whose failure comes back through a pipe.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_SPAWN_H
#define ST_COLLECT_LAUNCH_RUN_SPAWN_H

#include <sys/types.h>

#include "base/error.h"

struct st_inherited;
struct st_signals;

struct st_spawn_options {
	const char *path; /* of the program */
	char *const *argv;
	char *const *environment;
	const char *working_dir; /* NULL: ours */
	const struct st_signals *signals;
	const struct st_inherited *inherited;
};

struct st_spawn {
	pid_t pid;
	int pidfd;
	int go_fd, error_fd;
};

enum st_status st_spawn_prepare(struct st_spawn *spawn, const struct st_spawn_options *options,
				struct st_error *err);
/* Lets the child go. ST_ENOTFOUND or ST_EIO when it could not be executed; it is reaped then. */
enum st_status st_spawn_go(struct st_spawn *spawn, const char *name, struct st_error *err);
/* Ends a child that was not let go. */
void st_spawn_abandon(struct st_spawn *spawn);

#endif
