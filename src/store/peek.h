/* SPDX-License-Identifier: Apache-2.0
 *
 * A short look at a result folder, without opening it: whose it is and whether it is being written.
 */
#ifndef ST_STORE_PEEK_H
#define ST_STORE_PEEK_H

#include <stdint.h>

#include "base/error.h"

enum st_peek_state {
	ST_PEEK_RUNNING,
	ST_PEEK_FINISHED,
	ST_PEEK_TORN /* it says "running", and the strata that wrote it is gone */
};

struct st_peek {
	int folder_fd; /* the caller's to close */
	enum st_peek_state state;
	uint64_t strata_pid; /* 0: not known */
	char id_hex[33];     /* "" when result.json does not say */
};

/* ST_ENOTFOUND when there is no such folder, or it has no result.json that can be read. */
enum st_status st_result_peek(struct st_peek *out, const char *path, struct st_error *err);

#endif
