/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose turn it is: a few at once, the others one after the other as they came. For work that takes the machine, such as
 * imports, which whoever asks could begin any number of.
 */
#ifndef ST_SERVE_HTTP_TURNS_H
#define ST_SERVE_HTTP_TURNS_H

#include <stdbool.h>

/* The caller's; zeroed but for begin and arg. */
struct st_turn_place {
	void (*begin)(void *arg); /* it is its turn: called once, perhaps at once */
	void *arg;
	enum { ST_TURN_NONE, ST_TURN_WAITS, ST_TURN_RUNS } state;
	struct st_turn_place *next;
};

struct st_turns {
	unsigned int at_once, waiting_max;
	unsigned int running, waiting;
	struct st_turn_place *first; /* of those that wait */
};

/* False: too many wait already. */
bool st_turns_take(struct st_turns *turns, struct st_turn_place *turn);
/* It is done, or does not want any more; the next one begins. One that has no turn is let be. */
void st_turns_give_back(struct st_turns *turns, struct st_turn_place *turn);

#endif
