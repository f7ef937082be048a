/* SPDX-License-Identifier: Apache-2.0
 *
 * A request as our part of the server sees it, and what is replied. No word of the HTTP library is in here, so that
 * everything above it can be tested without a connection.
 */
#ifndef ST_SERVE_HTTP_REPLY_H
#define ST_SERVE_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum {
	ST_HTTP_BODY_MAX = 1 << 20,
	ST_HTTP_LOGIN_MAX = 4 << 10, /* of who is not logged in, of whom there may be many */
	ST_HTTP_HEADERS_MAX = 64,
	ST_HTTP_PATH_MAX = 512,
};

/* Texts are borrowed and "" when absent; the body ends with a NUL that does not count. */
struct st_web_request {
	const char *method, *path; /* without the query, percent signs taken out */
	const char *host, *origin, *fetch_site, *content_type, *cookie, *authorization;
	const char *accept_encoding, *address; /* of the other side, without its port */
	const char *wait_ms;		       /* of the query */
	const char *forwarded; /* what a proxy says of whom it asks for; "": no proxy says so */
	uint64_t content_length;
	bool is_loopback; /* who asks sits on this machine */
	struct st_buf body;
};

struct st_web_reply {
	int status;
	const char *media_type; /* static */
	struct st_buf body;
	int file_fd;	   /* instead of body; -1: none */
	const void *fixed; /* instead of body: bytes that never change; NULL: none */
	size_t fixed_bytes;
	bool is_gzip;	     /* fixed is compressed */
	bool is_lasting;     /* may be kept for ever under its name */
	bool is_page;	     /* of the page itself: its policy is the page's */
	char file_name[128]; /* to save it under */
	char cookie[256];    /* to set */
	char generation[20]; /* of the result it is about */
	unsigned int retry_after_s;
};

/* Zeroed objects are valid; fini frees what it holds. */
void st_reply_init(struct st_web_reply *reply);
void st_reply_fini(struct st_web_reply *reply);
/* A problem (RFC 9457); detail may be NULL, hint too. */
void st_reply_problem(struct st_web_reply *reply, int status, const char *code, const char *detail,
		      const char *hint);
/* The problem that an error of the engine is. */
void st_reply_error(struct st_web_reply *reply, const struct st_error *err);
const char *st_status_title(int status);

#endif
