/* SPDX-License-Identifier: Apache-2.0
 *
 * Wrong tries to log in make the next ones wait: those of one address by how many it has made, those of all together
 * because each costs a hash in the server's one thread. Somebody else's wrong tries never keep out an address that has
 * logged in before, nor those of other machines one that sits on this machine.
 */
#ifndef ST_SERVE_HTTP_THROTTLE_H
#define ST_SERVE_HTTP_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

enum { ST_CALLERS_MAX = 128, ST_CALLER_NAME = 64 };

/* One address, or of IPv6 the network that its owner has addresses in. */
struct st_login_caller {
	char name[ST_CALLER_NAME]; /* "": free */
	unsigned int wrong;
	int64_t wait_until_ms, last_ms;
	bool is_known; /* has logged in */
};

/* Zeroed: nobody has tried yet. */
struct st_throttle {
	struct st_login_caller callers[ST_CALLERS_MAX];
	int64_t spent_until_ms[2]; /* by the wrong tries of this machine, of others */
};

/* The row of an address. When there is no room, the unknown one that was quiet longest makes place. */
struct st_login_caller *st_throttle_caller(struct st_throttle *throttle, const char *address);
/* Seconds to wait before the next try; 0: none. */
unsigned int st_throttle_wait_s(const struct st_throttle *throttle,
				const struct st_login_caller *caller, bool is_remote,
				int64_t now_ms);
void st_throttle_wrong(struct st_throttle *throttle, struct st_login_caller *caller, bool is_remote,
		       int64_t now_ms);
void st_throttle_right(struct st_login_caller *caller, int64_t now_ms);

#endif
