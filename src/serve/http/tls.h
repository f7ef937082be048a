/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificate of a server that is reached over the network: files that were given, or one that it signs itself, made
 * on first use and kept in the private folder.
 */
#ifndef ST_SERVE_HTTP_TLS_H
#define ST_SERVE_HTTP_TLS_H

#include <stddef.h>

#include "base/error.h"

enum { ST_PEM_MAX = 64 << 10, ST_PRINT_MAX = 100 };

struct st_tls {
	char certificate[ST_PEM_MAX], key[ST_PEM_MAX]; /* PEM */
	char print[ST_PRINT_MAX]; /* SHA-256 of the certificate, as browsers show it */
};

enum st_status st_tls_read(struct st_tls *tls, const char *certificate_path, const char *key_path,
			   struct st_error *err);
/* names: by which the server is called; made anew when it runs out within a month. */
enum st_status st_tls_own(struct st_tls *tls, int private_fd, const char *const *names,
			  size_t name_count, struct st_error *err);

#endif
