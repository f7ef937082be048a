/* SPDX-License-Identifier: Apache-2.0
 *
 * Files below a folder, and nowhere else: no link of any kind is followed.
 */
#ifndef ST_SERVE_BENEATH_H
#define ST_SERVE_BENEATH_H

#include <stdbool.h>

/* Opens path, which is relative to folder_fd, with flags of open(2); -1 and errno: it is not there, or it leads out of
 * the folder, or a link is on the way. */
int st_beneath_open(int folder_fd, const char *path, int flags);
/* Whether no entry of a folder is a link, so that whoever opens one does not leave it. */
bool st_beneath_is_plain(int folder_fd);

#endif
