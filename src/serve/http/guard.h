/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may talk to the server at all, before anybody is logged in: the name it was called by (a foreign name that leads
 * here is somebody else's page), and where the request of a browser comes from.
 */
#ifndef ST_SERVE_HTTP_GUARD_H
#define ST_SERVE_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct st_web_request;

enum { ST_GUARD_NAMES_MAX = 32, ST_GUARD_NAME_MAX = 256 };

/* Names and addresses by which a remote server may be called, in lower case, without port. */
struct st_guard {
	bool is_remote;
	char names[ST_GUARD_NAMES_MAX][ST_GUARD_NAME_MAX];
	size_t name_count;
	char base_origin[ST_GUARD_NAME_MAX]; /* "https://host:port" of --base-url; "": none */
};

enum st_guard_verdict {
	ST_GUARD_OK,
	ST_GUARD_HOST,	 /* called by a name that is not ours */
	ST_GUARD_ORIGIN, /* from another site's page */
	ST_GUARD_TYPE,	 /* acts, and its body is not JSON */
};

void st_guard_add_name(struct st_guard *guard, const char *name);
/* "https://host[:port][/path]"; false: it is no such address. Its host becomes a name too. */
bool st_guard_set_base(struct st_guard *guard, const char *url);
/* "name", "name:80", "[::1]:80": the name in lower case, without brackets; false: not a host at all. */
bool st_guard_host_name(const char *host, char *out, size_t out_size);
bool st_guard_is_loopback(const char *name);
/* A proxy on this machine asks, for somebody who may sit anywhere. */
bool st_guard_is_proxied(const struct st_web_request *request);
enum st_guard_verdict st_guard_check(const struct st_guard *guard,
				     const struct st_web_request *request);

#endif
