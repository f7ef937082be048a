/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder for what workers write on their way to an answer. It is locked as long as its server lives, so that the next
 * one can tell which were left behind by servers that were killed, and removes those.
 */
#ifndef ST_SERVE_HTTP_TEMPORARY_H
#define ST_SERVE_HTTP_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Of folders in the data directory for results that are not whole yet. */
#define ST_INCOMING_PREFIX ".strata-incoming-"

/* Makes a folder in $TMPDIR or /tmp, and removes those of ours that no server holds any more. lock_fd stays open as long
 * as the folder is in use. */
enum st_status st_temporary_make(char *path, size_t path_size, int *lock_fd, struct st_error *err);
/* Makes a folder by that path, whose six X at the end it replaces, and locks it as above. */
bool st_temporary_hold(char *path, int *lock_fd);
/* Removes a folder and what is in it; "": none. */
void st_temporary_remove(const char *path);
/* The same below an open folder, however deep it is (up to 64 levels). */
void st_temporary_remove_at(int folder_fd, const char *name);
/* Removes what begins with the prefix in an open folder and is ours, and which nobody holds a lock on any more. */
void st_temporary_remove_left(int folder_fd, const char *prefix);

#endif
