/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP itself, by libmicrohttpd: connections, headers, TLS. What is asked and replied goes through server.h.
 */
#ifndef ST_SERVE_HTTP_MHD_H
#define ST_SERVE_HTTP_MHD_H

#include <stdint.h>

#include "base/error.h"

struct st_mhd;
struct st_server;

/* listen_fd is taken over, also after a failure. certificate and key are texts (PEM), or NULL for no TLS. */
enum st_status st_mhd_create(struct st_mhd **out, struct st_server *server, int listen_fd,
			     const char *certificate, const char *key, struct st_error *err);
/* Whoever still waits must have been told before. */
void st_mhd_destroy(struct st_mhd *mhd);
/* To be called in every round; how long the next may wait, -1: as long as it takes. */
int64_t st_mhd_run(struct st_mhd *mhd);

#endif
