// SPDX-License-Identifier: Apache-2.0
//
// Times in which devices were not recorded, from the pauses of a result and the turns that say so.
#include "analyze/datasets/device_silence.h"

#include <stdlib.h>

#include "analyze/datasets/operator_turns.h"
#include "base/vec.h"
#include "format/event_kind.h"
#include "store/result.h"

static bool add(struct st_silences *out, int64_t begin_ns, int64_t end_ns)
{
	const struct st_silence silence = {begin_ns, end_ns};

	return end_ns <= begin_ns || ST_VEC_PUSH(out->rows, out->count, out->capacity, silence);
}

static bool add_pauses(struct st_silences *out, const struct st_result *result, uint32_t process)
{
	uint32_t count;
	const struct st_pause_window *pauses = st_result_pauses(result, &count);

	for (uint32_t i = 0; i < count; i++)
		if ((pauses[i].process == ST_NO_ROW || pauses[i].process == process) &&
		    !add(out, pauses[i].begin_ns, pauses[i].end_ns))
			return false;
	return true;
}

/* Whoever switched devices off may not have come to switch them on. */
static bool add_turns(struct st_silences *out, const struct st_result *result, uint32_t process)
{
	struct st_operator_turns turns;
	bool done = st_operator_turns_make(&turns, result, NULL) == ST_OK;

	for (uint32_t i = 0; done && i < turns.count; i++) {
		const struct st_turn *turn = &turns.rows[i];
		int64_t most_ns = turn->begin_ns + ST_TURN_DEVICES_NS;

		if (turn->process == process && turn->detail & ST_TURN_NO_DEVICES)
			done = add(out, turn->begin_ns,
				   turn->end_ns < most_ns ? turn->end_ns : most_ns);
	}
	st_operator_turns_fini(&turns);
	return done;
}

static int by_begin(const void *a, const void *b)
{
	const struct st_silence *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Those that overlap or touch become one. */
static void join(struct st_silences *silences)
{
	uint32_t kept = 0;

	if (silences->count)
		qsort(silences->rows, silences->count, sizeof(*silences->rows), by_begin);
	for (uint32_t i = 0; i < silences->count; i++) {
		struct st_silence *last = kept ? &silences->rows[kept - 1] : NULL;

		if (!last || silences->rows[i].begin_ns > last->end_ns)
			silences->rows[kept++] = silences->rows[i];
		else if (silences->rows[i].end_ns > last->end_ns)
			last->end_ns = silences->rows[i].end_ns;
	}
	silences->count = kept;
}

bool st_silences_make(struct st_silences *out, const struct st_result *result, uint32_t process)
{
	*out = (struct st_silences){0};
	if (!add_pauses(out, result, process) || !add_turns(out, result, process)) {
		st_silences_fini(out);
		return false;
	}
	join(out);
	return true;
}

void st_silences_fini(struct st_silences *silences)
{
	free(silences->rows);
	*silences = (struct st_silences){0};
}
