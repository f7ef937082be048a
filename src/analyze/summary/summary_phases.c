// SPDX-License-Identifier: Apache-2.0
//
// Garbage collection by when it happens. Where steps are known they tell start-up, loop and end apart; elsewhere stacks do:
// what is imported is start-up, and what the interpreter does when the program is over is its end.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/sample_set.h"

static bool is_name(struct st_text text, const char *name)
{
	return text.size_bytes == strlen(name) && !memcmp(text.bytes, name, text.size_bytes);
}

/* Where each frame's stack puts it. Callers come before those they called: each function's name is looked at once, and
 * each frame once. */
static uint8_t *phases_of_frames(const struct st_named *named)
{
	uint8_t *of_function = calloc((size_t)named->function_count + 1, 1);
	uint8_t *phases = calloc((size_t)named->frame_count + 1, 1);

	for (uint32_t i = 0; of_function && i < named->function_count; i++) {
		struct st_text name = named->functions[i].name;

		of_function[i] = ST_PHASE_LOOP;
		if (is_name(name, "Py_FinalizeEx") || is_name(name, "finalize_modules"))
			of_function[i] = ST_PHASE_END;
		else if (is_name(name, "_find_and_load"))
			of_function[i] = ST_PHASE_START;
	}
	for (uint32_t i = 0; of_function && phases && i < named->frame_count; i++) {
		uint8_t own = i ? of_function[named->frames[i].function] : ST_PHASE_LOOP;
		uint8_t above = i ? phases[named->frames[i].parent] : ST_PHASE_LOOP;

		phases[i] = own == ST_PHASE_END || above == ST_PHASE_LOOP ? own : above;
	}
	if (!of_function) {
		free(phases);
		phases = NULL;
	}
	free(of_function);
	return phases;
}

static bool is_in_scope(const struct st_question *scope, int64_t time_ns)
{
	return !scope->has_time_range ||
	       (time_ns >= scope->time_begin_ns && time_ns < scope->time_end_ns);
}

void st_summary_phases(const struct st_summary *summary, const struct st_sample_set *set,
		       struct st_phases *out)
{
	const struct st_samples *samples = set->samples;
	const struct st_summary_loop *loop = summary->loop;
	int64_t begin_ns = loop->is_steady ? loop->steady_ns : loop->begin_ns;
	uint8_t *of_frame = loop->end_ns ? NULL : phases_of_frames(set->named);

	memset(out, 0, sizeof(*out));
	if (!loop->end_ns && !of_frame)
		return;
	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t node = samples->node[i];
		uint32_t frame =
			node < set->named->node_count ? set->named->frame_of_node[node] : 0;
		enum st_phase phase;

		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE) ||
		    !is_in_scope(summary->scope, samples->time_ns[i]))
			continue;
		if (!loop->end_ns)
			phase = (enum st_phase)of_frame[frame];
		else if (samples->time_ns[i] <= begin_ns)
			phase = ST_PHASE_START;
		else
			phase = samples->time_ns[i] <= loop->end_ns ? ST_PHASE_LOOP : ST_PHASE_END;
		out->cpu_ns[phase] += samples->weight_ns[i];
		if (st_sample_is_collecting(set, frame))
			out->gc_ns[phase] += samples->weight_ns[i];
	}
	free(of_frame);
}

static double share(uint64_t some, uint64_t all)
{
	return all ? (double)some / (double)all : 0.0;
}

double st_phases_loop_share(const struct st_phases *phases)
{
	return share(phases->gc_ns[ST_PHASE_LOOP], phases->cpu_ns[ST_PHASE_LOOP]);
}

const char *st_phases_words(const struct st_summary *summary, const struct st_phases *phases)
{
	const uint64_t *gc = phases->gc_ns;
	uint64_t all_ns = phases->cpu_ns[0] + phases->cpu_ns[1] + phases->cpu_ns[2];
	bool has_steps = summary->loop->end_ns;
	const char *advice = "gc.disable() before the imports and gc.enable() behind them save it";

	if (st_phases_loop_share(phases) >= ST_GC_MATTERS)
		advice = "gc.freeze() after start-up and a higher gc.set_threshold() make it "
			 "cheaper";
	else if (gc[ST_PHASE_END] > gc[ST_PHASE_START])
		advice = "gc.freeze() before the end saves it";
	if (has_steps && st_phases_loop_share(phases) >= ST_GC_MATTERS)
		return st_arena_printf(
			st_report_arena(summary->report),
			"%.1f %% of the CPU time of the steps is Python's garbage collection (of "
			"the run %.1f %%): %s",
			100.0 * st_phases_loop_share(phases),
			100.0 * share(gc[0] + gc[1] + gc[2], all_ns), advice);
	return st_arena_printf(
		st_report_arena(summary->report),
		"%.1f %% of CPU time is Python's garbage collection: %.1f %% %s, %.1f %% %s, "
		"and %.1f %% of the CPU time %s; %s",
		100.0 * share(gc[0] + gc[1] + gc[2], all_ns),
		100.0 * share(gc[ST_PHASE_START], all_ns), has_steps ? "at start-up" : "in imports",
		100.0 * share(gc[ST_PHASE_END], all_ns),
		has_steps ? "after the last step" : "at exit", 100.0 * st_phases_loop_share(phases),
		has_steps ? "of the steps" : "between them", advice);
}
