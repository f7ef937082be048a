/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket that the server listens on, and the names by which it can be reached.
 */
#ifndef ST_SERVE_HTTP_LISTEN_H
#define ST_SERVE_HTTP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct st_guard;

/* Of this machine only, or of all of its addresses. *port 0 becomes the one that was found. -1: err says why, and
 * names a port that is free. */
int st_listen(bool is_remote, uint16_t *port, struct st_error *err);
/* The names and addresses of this machine. */
void st_listen_names(struct st_guard *guard);

#endif
