/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waits after wrong tries, and for how long.
 */
#include "serve/http/throttle.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum {
	FREE_TRIES = 5, /* wrong ones of an address before it waits */
	WAIT_MAX_S = 300,
	ALL_TRIES = 30,	    /* wrong ones at once of all addresses that are not known */
	TRY_BACK_MS = 2000, /* one more of them after so long */
	NETWORK_BYTES = 8,  /* of an IPv6 address: who has one has all of its network */
};

/* Addresses of other families, and IPv4 within IPv6, stand for themselves. */
static void name_of(const char *address, char out[ST_CALLER_NAME])
{
	struct in6_addr six;

	snprintf(out, ST_CALLER_NAME, "%s", address);
	if (inet_pton(AF_INET6, address, &six) != 1 || IN6_IS_ADDR_V4MAPPED(&six))
		return;
	memset(six.s6_addr + NETWORK_BYTES, 0, sizeof(six.s6_addr) - NETWORK_BYTES);
	inet_ntop(AF_INET6, &six, out, ST_CALLER_NAME);
}

static bool is_before(const struct st_login_caller *one, const struct st_login_caller *other)
{
	if (one->is_known != other->is_known)
		return other->is_known;
	return one->last_ms < other->last_ms;
}

struct st_login_caller *st_throttle_caller(struct st_throttle *throttle, const char *address)
{
	struct st_login_caller *place = &throttle->callers[0];
	char name[ST_CALLER_NAME];

	name_of(address, name);
	for (size_t i = 0; i < ST_CALLERS_MAX; i++) {
		struct st_login_caller *caller = &throttle->callers[i];

		if (strcmp(caller->name, name) == 0)
			return caller;
		if (is_before(caller, place))
			place = caller;
	}
	*place = (struct st_login_caller){0};
	memcpy(place->name, name, sizeof(name));
	return place;
}

unsigned int st_throttle_wait_s(const struct st_throttle *throttle,
				const struct st_login_caller *caller, bool is_remote,
				int64_t now_ms)
{
	int64_t until_ms = caller->wait_until_ms;
	int64_t all_ms =
		throttle->spent_until_ms[is_remote] - (int64_t)(ALL_TRIES - 1) * TRY_BACK_MS;

	if (!caller->is_known && all_ms > until_ms)
		until_ms = all_ms;
	return until_ms <= now_ms ? 0 : (unsigned int)((until_ms - now_ms + 999) / 1000);
}

void st_throttle_wrong(struct st_throttle *throttle, struct st_login_caller *caller, bool is_remote,
		       int64_t now_ms)
{
	int64_t *spent_ms = &throttle->spent_until_ms[is_remote];
	unsigned int over;
	int64_t wait_s;

	*spent_ms = (*spent_ms > now_ms ? *spent_ms : now_ms) + TRY_BACK_MS;
	caller->wrong++;
	caller->last_ms = now_ms;
	if (caller->wrong < FREE_TRIES)
		return;
	over = caller->wrong - FREE_TRIES;
	wait_s = over > 8 ? WAIT_MAX_S : INT64_C(1) << over;
	if (wait_s > WAIT_MAX_S)
		wait_s = WAIT_MAX_S;
	caller->wait_until_ms = now_ms + wait_s * 1000;
}

void st_throttle_right(struct st_login_caller *caller, int64_t now_ms)
{
	caller->wrong = 0;
	caller->wait_until_ms = 0;
	caller->last_ms = now_ms;
	caller->is_known = true;
}
