/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns (serve/http/turns.h).
 */
#include "serve/http/turns.h"

#include <stddef.h>

static void begin(struct st_turns *turns, struct st_turn_place *turn)
{
	turns->running++;
	turn->state = ST_TURN_RUNS;
	turn->begin(turn->arg);
}

bool st_turns_take(struct st_turns *turns, struct st_turn_place *turn)
{
	struct st_turn_place **at = &turns->first;

	if (turns->running < turns->at_once) {
		begin(turns, turn);
		return true;
	}
	if (turns->waiting >= turns->waiting_max)
		return false;
	while (*at)
		at = &(*at)->next;
	*at = turn;
	turn->next = NULL;
	turn->state = ST_TURN_WAITS;
	turns->waiting++;
	return true;
}

static void unlink_waiting(struct st_turns *turns, const struct st_turn_place *turn)
{
	struct st_turn_place **at = &turns->first;

	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
	turns->waiting--;
}

void st_turns_give_back(struct st_turns *turns, struct st_turn_place *turn)
{
	struct st_turn_place *next = turns->first;

	if (turn->state == ST_TURN_WAITS)
		unlink_waiting(turns, turn);
	if (turn->state != ST_TURN_RUNS)
		next = NULL;
	else
		turns->running--;
	turn->state = ST_TURN_NONE;
	if (next && turns->running < turns->at_once) {
		unlink_waiting(turns, next);
		begin(turns, next);
	}
}
