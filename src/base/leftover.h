/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are half written. Whoever ends the process on a signal removes them first, so that a Ctrl-C
 * leaves nothing behind.
 */
#ifndef ST_BASE_LEFTOVER_H
#define ST_BASE_LEFTOVER_H

/* Remembers a file; -1 when there is no room for it (then a signal leaves it behind). folder_fd may be
 * AT_FDCWD. */
int st_leftover_add(int folder_fd, const char *name);
/* The file has its final name, or is gone. Accepts -1. */
void st_leftover_forget(int slot);
/* Removes all that are remembered; for signal handlers. */
void st_leftover_remove_all(void);

#endif
