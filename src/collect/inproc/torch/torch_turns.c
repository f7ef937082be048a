/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns with operators and turns without. A turn that is being compared has one of the same length on either side of it,
 * in which the other thing is done, so that strata can tell how much slower the program was: by how often it allocated,
 * which it tells us in all of them. Where an optimizer steps, turns begin and end with its step; where none does, with a call of
 * the model, so that steps of such programs are recorded whole, too, however long they are.
 *
 * Bursts: everything is recorded as long as that seems to cost less than BUDGET of the time, and GRANT besides, which is
 * enough for a short program. From then on operators are recorded for one turn, and as long not as that costs BUDGET; what an
 * operator costs is taken from the turns themselves, once there are a few.
 *
 * Gaps: everything is recorded, but for a turn now and then, in which devices are not either: what that costs is a part of
 * it. To switch them takes time of its own, which is in none of the turns.
 */
#include "collect/inproc/torch/torch_turns.h"

#include <string.h>

#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/words.h"
#include "collect/inproc/torch/torch_enlist.h"
#include "collect/inproc/torch/torch_record.h"
#include "format/event_kind.h"

enum {
	TURN_MS = 40,
	STEP_MAX_MS = 1000, /* longer steps are not waited for */
	REST_MIN_TURNS = 1, /* between the turns at either end of a rest */
	REST_MAX_MS = 20000,
	GAP_EVERY_MS = 1300,
	GRANT_US = 20000,
	/* Of the time: 0.4 %. Samples cost as much again on a host that launches a thousand operators in 9 ms, and what
	 * operators cost is known only after a few turns: the whole stays near 1 % there. */
	BUDGET_ONE_IN = 250,
	/* What an operator costs in a program whose caches are full of other things; and what is believed of a
	 * measurement. */
	OPERATOR_NS = 1000,
	OPERATOR_MIN_NS = 200,
	OPERATOR_MAX_NS = 5000,
	TRUSTED_TURNS = 8,
	OTHER_CALLS_MAX = 64, /* of other modules, after which the model is another one */
};

/* Of a round: the turn before, the compared one, the turn after, the rest. */
enum phase { WHOLE, REST, BEFORE, TURN, AFTER };

struct st_torch_turns st_torch_turns;

/* Under the lock. */
static struct {
	enum phase phase;
	uint64_t began, began_progress, began_operators;
	uint64_t turn_ticks; /* of the latest compared turn */
	uint64_t turn_operators;
	uint64_t random;
	bool devices_rest;
	/* Sums over the compared turns with operators, and those beside them without. */
	uint64_t turns, with_ticks, with_progress, with_operators, without_ticks, without_progress;
} now_at;

static _Atomic uint64_t stepped,
	step_ticks; /* when an optimizer did last, and how long after the one before */

void st_torch_turns_configure(const char *text)
{
	const char *comma = strchr(text, ',');

	st_torch_turns.kind = text[0] >= '0' && text[0] <= '2' ? (uint32_t)(text[0] - '0') : 0;
	st_torch_turns.ticks_per_ms = comma ? st_config_number(comma + 1) : 0;
	if (!st_torch_turns.ticks_per_ms)
		st_torch_turns.kind = ST_TURNS_NONE;
}

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

/* In memory that a fork wipes. */
static bool take_lock(void)
{
	return !atomic_exchange_explicit(&st_operator_front->turn_lock, 1, memory_order_acquire);
}

static void release_lock(void)
{
	atomic_store_explicit(&st_operator_front->turn_lock, 0, memory_order_release);
}

/* What begins now; the numbers are those of what ends. */
static void tell(uint64_t time, bool is_step, uint32_t more)
{
	bool is_off = atomic_load_explicit(&st_torch_turns.is_off, memory_order_relaxed);
	uint32_t detail = (is_off ? ST_TURN_WITHOUT : ST_TURN_WITH) |
			  (now_at.phase == TURN	   ? ST_TURN_COMPARED
			   : now_at.phase == WHOLE ? ST_TURN_WHOLE
						   : 0) |
			  (now_at.phase == BEFORE || now_at.phase == AFTER ? ST_TURN_BESIDE : 0) |
			  (is_step ? ST_TURN_AT_STEP : 0) | more;
	const uint64_t payload[3] = {
		st_word_event(ST_EVENT_OPERATOR_TURN, ST_FIELD_VALUE | ST_FIELD_EXTRA, detail),
		get(&st_torch_turns.progress), get(&st_torch_turns.steps)};
	struct st_thread *thread = st_thread_enter(ST_LOSS_EVENT);

	if (!thread)
		return;
	if (!atomic_load_explicit(thread->hot.control, memory_order_relaxed) &&
	    st_thread_tell(thread) && st_ring_room(thread) >= 64 &&
	    st_ring_put(thread, ST_EXT_EVENT, time, payload, 3))
		atomic_store_explicit(&st_operator_front->turn_told, 1, memory_order_relaxed);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static uint64_t ms(uint64_t count)
{
	return count * st_torch_turns.ticks_per_ms;
}

static uint64_t operator_ticks(uint64_t count)
{
	uint64_t assumed = count * OPERATOR_NS * st_torch_turns.ticks_per_ms / 1000000, bare, more;

	if (now_at.turns < TRUSTED_TURNS || !now_at.without_progress || !now_at.with_operators)
		return assumed;
	/* As long as it would have taken without. */
	bare = (uint64_t)((double)now_at.without_ticks / (double)now_at.without_progress *
			  (double)now_at.with_progress);
	more = now_at.with_ticks > bare ? now_at.with_ticks - bare : 0;
	more = (uint64_t)((double)more / (double)now_at.with_operators * (double)count);
	if (more < assumed * OPERATOR_MIN_NS / OPERATOR_NS)
		return assumed * OPERATOR_MIN_NS / OPERATOR_NS;
	return more < assumed * OPERATOR_MAX_NS / OPERATOR_NS
		       ? more
		       : assumed * OPERATOR_MAX_NS / OPERATOR_NS;
}

/* Whole steps, where they are short. */
static uint64_t turn_length(void)
{
	uint64_t step = get(&step_ticks), least = ms(TURN_MS);

	return step && step <= ms(STEP_MAX_MS) && step > least ? step : least;
}

/* Between half and one and a half times as long: nothing that the program does regularly is to fall into step with it. */
static uint64_t vary(uint64_t ticks)
{
	now_at.random ^= now_at.random << 13;
	now_at.random ^= now_at.random >> 7;
	now_at.random ^= now_at.random << 17;
	return ticks / 2 + now_at.random % (ticks + 1);
}

static uint64_t rest_length(void)
{
	uint64_t cost, least = REST_MIN_TURNS * turn_length(), rest;

	if (st_torch_turns.kind == ST_TURNS_GAPS)
		return vary(ms(GAP_EVERY_MS));
	cost = operator_ticks(now_at.turn_operators) * BUDGET_ONE_IN;
	rest = cost > 3 * now_at.turn_ticks ? cost - 3 * now_at.turn_ticks : 0;
	if (rest < least)
		rest = least;
	return vary(rest < ms(REST_MAX_MS) ? rest : ms(REST_MAX_MS));
}

/* What devices do is recorded by another back-end. */
static bool devices_can_rest(void)
{
	for (const struct st_inproc_backend *const *each = st_inproc_backends; *each; each++)
		if ((*each)->can_rest && (*each)->can_rest())
			return true;
	return false;
}

/* Devices come along; when that is done. */
static uint64_t switch_devices(bool is_off, uint64_t time, bool is_step)
{
	uint64_t until = is_off ? time + ms(ST_TURN_DEVICES_NS / 1000000) : 0;

	now_at.phase = REST;
	tell(time, is_step, ST_TURN_SWITCH | ST_TURN_NO_DEVICES);
	ST_BACKENDS_CALL(rest, until);
	now_at.devices_rest = is_off;
	return st_ticks();
}

static void enter(enum phase phase, uint64_t time, uint64_t length, bool is_step)
{
	bool is_off = phase != WHOLE && (phase == TURN) == (st_torch_turns.kind == ST_TURNS_GAPS);

	if (st_torch_turns.kind == ST_TURNS_GAPS && is_off != now_at.devices_rest &&
	    devices_can_rest())
		time = switch_devices(is_off, time, is_step);
	now_at.phase = phase;
	now_at.began = time;
	now_at.began_progress = get(&st_torch_turns.progress);
	now_at.began_operators = get(&st_torch_turns.operators);
	atomic_store_explicit(&st_torch_turns.is_off, is_off, memory_order_relaxed);
	atomic_store_explicit(&st_torch_turns.until, time + length, memory_order_relaxed);
	tell(time, is_step, now_at.devices_rest ? ST_TURN_NO_DEVICES : 0);
	st_torch_follow();
}

/* The sums that tell what an operator costs. */
static void add_up(uint64_t ticks)
{
	uint64_t progress = get(&st_torch_turns.progress) - now_at.began_progress;
	uint64_t operators = get(&st_torch_turns.operators) - now_at.began_operators;

	if (now_at.phase == TURN) {
		now_at.turns++;
		now_at.turn_ticks = ticks;
		now_at.turn_operators = operators;
		now_at.with_ticks += ticks;
		now_at.with_progress += progress;
		now_at.with_operators += operators;
	} else if (now_at.phase == BEFORE || now_at.phase == AFTER) {
		now_at.without_ticks += ticks;
		now_at.without_progress += progress;
	}
}

/* Whether recording everything has become too dear. */
static bool is_dear(uint64_t time)
{
	uint64_t cost = operator_ticks(get(&st_torch_turns.operators) - now_at.began_operators);

	return st_torch_turns.kind == ST_TURNS_BURSTS &&
	       cost > ms(GRANT_US) / 1000 + (time - now_at.began) / BUDGET_ONE_IN;
}

static void next(uint64_t time, bool is_step)
{
	if (now_at.phase != WHOLE && st_torch_turns.kind == ST_TURNS_BURSTS)
		add_up(time - now_at.began);
	switch (now_at.phase) {
	case WHOLE:
		if (st_torch_turns.kind == ST_TURNS_GAPS)
			enter(REST, time, vary(ms(GAP_EVERY_MS)), is_step);
		else if (is_dear(time))
			enter(REST, time, turn_length(), is_step);
		break;
	case REST:
		enter(BEFORE, time, turn_length(), is_step);
		break;
	case BEFORE:
		enter(TURN, time, turn_length(), is_step);
		break;
	case TURN:
		enter(AFTER, time, turn_length(), is_step);
		break;
	case AFTER:
		enter(REST, time, rest_length(), is_step);
		break;
	}
}

/* Where a program is, as far as turns care. */
enum place { ANYWHERE, AT_MODEL, AT_STEP };

/* A turn ends with a step, where there are steps. */
static bool waits_for_step(uint64_t time)
{
	uint64_t step = get(&step_ticks);

	return step && step <= ms(STEP_MAX_MS) &&
	       time < get(&st_torch_turns.until) + ms(STEP_MAX_MS) &&
	       time < get(&stepped) + ms(STEP_MAX_MS);
}

static void look(enum place place)
{
	uint64_t time = st_ticks();

	if (!atomic_load_explicit(&st_operator_front->turn_told, memory_order_relaxed) &&
	    take_lock()) {
		tell(time, false, 0); /* a forked child says where it is */
		release_lock();
	}
	if (time < get(&st_torch_turns.until) || (place == ANYWHERE && waits_for_step(time)) ||
	    !st_header() || atomic_load_explicit(&st_header()->control, memory_order_relaxed) ||
	    !take_lock())
		return;
	if (time >= get(&st_torch_turns.until))
		next(time, place == AT_STEP);
	release_lock();
}

void st_torch_turns_begin(void)
{
	if (!st_torch_turns.kind || !take_lock())
		return;
	now_at.random = st_ticks() | 1;
	enter(WHOLE, st_ticks(), 0, false);
	release_lock();
}

static _Atomic uint64_t paused;

void st_torch_turns_pause(void)
{
	atomic_store_explicit(&paused, st_ticks(), memory_order_relaxed);
}

void st_torch_turns_resume(void)
{
	uint64_t since = atomic_exchange_explicit(&paused, 0, memory_order_relaxed), away;

	if (!since || !st_torch_turns.kind || !st_torch_enlisted() || !take_lock())
		return;
	away = st_ticks() - since;
	now_at.began += away;
	atomic_fetch_add_explicit(&st_torch_turns.until, away, memory_order_relaxed);
	release_lock();
}

/* The process ends: how much was done in the last turn. */
__attribute__((destructor)) static void end(void)
{
	if (!st_torch_turns.kind || !st_torch_enlisted() || !st_config.active || !take_lock())
		return;
	if (now_at.phase != WHOLE)
		now_at.phase = REST;
	tell(st_ticks(), false, 0);
	release_lock();
}

void st_torch_turn_allocated(uint32_t count)
{
	atomic_fetch_add_explicit(&st_torch_turns.progress, count, memory_order_relaxed);
	if (st_torch_enlisted())
		look(ANYWHERE);
}

void st_torch_turn_operated(uint32_t count)
{
	atomic_fetch_add_explicit(&st_torch_turns.operators, count, memory_order_relaxed);
	look(ANYWHERE);
}

static void step_at(uint64_t time)
{
	uint64_t before = atomic_exchange_explicit(&stepped, time, memory_order_relaxed);

	if (before && time > before)
		atomic_store_explicit(&step_ticks, time - before, memory_order_relaxed);
}

void st_torch_turn_range(const char *name)
{
	static const char optimizer[] = "Optimizer.step#";

	if (!st_torch_turns.kind || strncmp(name, optimizer, sizeof(optimizer) - 1) != 0)
		return;
	step_at(st_ticks());
	atomic_fetch_add_explicit(&st_torch_turns.steps, 1, memory_order_relaxed);
	look(AT_STEP);
}

/* The model is the first one that is called again and again: losses are called after it. */
void st_torch_turn_module(const void *module)
{
	static _Atomic(const void *) model;
	static _Atomic uint32_t others;
	const void *known = atomic_load_explicit(&model, memory_order_relaxed);

	if (get(&st_torch_turns.steps) || !st_torch_enlisted())
		return;
	if (known && known != module &&
	    atomic_fetch_add_explicit(&others, 1, memory_order_relaxed) < OTHER_CALLS_MAX)
		return;
	atomic_store_explicit(&others, 0, memory_order_relaxed);
	if (known != module)
		atomic_store_explicit(&model, module, memory_order_relaxed);
	step_at(st_ticks());
	look(AT_MODEL);
}
