// SPDX-License-Identifier: Apache-2.0
//
// Whether steps of two sides are of one size. A program that answers 16 requests at once has longer steps than one that
// answers each alone, and fewer: what is alike there is the work of all steps together. Work is what operators compute, by
// the shapes of their inputs.
#include "analyze/reports/changes_parts.h"

#include <math.h>
#include <string.h>

#include "analyze/tables/report_make.h"

/* Steps of one size differ by less, and so do runs that are estimates. */
#define ALIKE 1.25

static uint32_t column_of(const struct st_report *report, const char *key)
{
	for (uint32_t i = 0; i < report->column_count; i++)
		if (strcmp(report->columns[i].key, key) == 0)
			return i;
	return UINT32_MAX;
}

/* What all operators of a run compute; 0: not known. */
static enum st_status read_flops(const struct st_changes *c, uint32_t run, double *out,
				 struct st_error *err)
{
	struct st_report_options options = {0};
	struct st_report report;
	enum st_status status;
	uint32_t flops;

	*out = 0.0;
	options.question.groupings[0] = ST_BY_OPERATOR;
	options.question.grouping_count = 1;
	status = st_report_build(c->of->runs[run], "operators", &options, &report, err);
	if (status)
		return status;
	flops = column_of(&report, "flops");
	if (flops != UINT32_MAX && report.totals.cells &&
	    report.totals.cells[flops].kind == ST_CELL_U64)
		*out = (double)report.totals.cells[flops].as.u64;
	st_report_fini(&report);
	return ST_OK;
}

/* How much larger the larger one is. */
static double apart(const double sides[ST_SIDES])
{
	return sides[0] > sides[1] ? sides[0] / sides[1] : sides[1] / sides[0];
}

static const char *in_words(struct st_arena *arena, double flops)
{
	static const char *const units[] = {"", " k", " M", " G", " T", " P"};
	unsigned int unit = 0;

	for (; unit < 5 && flops >= 999.5; unit++)
		flops /= 1e3;
	return st_arena_printf(arena, "%.3g%s", flops, units[unit]);
}

static void explain(struct st_changes *c, const double steps[ST_SIDES],
		    const double flops[ST_SIDES])
{
	struct st_arena *arena = st_report_arena(c->out);

	c->size_note = st_arena_printf(
		arena,
		"Steps differ in size: the first side has %.0f, which compute %s FLOP each, the "
		"second "
		"%.0f with %s each%s",
		steps[0], in_words(arena, flops[0]), steps[1], in_words(arena, flops[1]),
		c->is_of_all ? ". Figures are of all steps together, warm-up included."
			     : ": a step of one is not the same work as a step of the other.");
}

enum st_status st_changes_look_at_size(struct st_changes *c, struct st_error *err)
{
	double steps[ST_SIDES] = {0.0}, flops[ST_SIDES] = {0.0}, a_step[ST_SIDES];
	bool is_known = c->is_per_step;

	for (uint32_t run = 0; run < c->run_count && is_known; run++) {
		int side = run >= c->of->counts[0];
		enum st_status status;
		double all;

		status = read_flops(c, run, &all, err);
		if (status)
			return status;
		steps[side] += (double)c->steps[run].row_count / c->of->counts[side];
		flops[side] += all / c->of->counts[side];
		is_known = all > 0.0;
	}
	if (!is_known)
		return ST_OK;
	for (int side = 0; side < ST_SIDES; side++)
		a_step[side] = flops[side] / steps[side];
	if (apart(a_step) < ALIKE)
		return ST_OK;
	c->is_of_all = apart(flops) < apart(a_step) && apart(steps) >= ALIKE;
	explain(c, steps, a_step);
	return ST_OK;
}
