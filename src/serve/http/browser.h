/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the page in a browser. What a program is started with can be read by every user of the machine, and the address
 * holds a secret: the browser gets the name of a file that leads there, which only we can read.
 */
#ifndef ST_SERVE_HTTP_BROWSER_H
#define ST_SERVE_HTTP_BROWSER_H

#include "base/error.h"

struct st_loop;

/* path: of the file that is made, in a folder of ours alone; it is the caller's to remove. */
enum st_status st_browser_open(struct st_loop *loop, const char *path, const char *address,
			       struct st_error *err);

#endif
