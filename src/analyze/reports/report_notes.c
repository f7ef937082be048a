// SPDX-License-Identifier: Apache-2.0
//
// Notes about unresolved names in a report's stacks (report_samples.h).
#include "analyze/reports/report_samples.h"

#include <string.h>

void st_report_add_notes(struct st_report *report, const struct st_sample_set *set)
{
	const struct st_named *named = set->named;
	struct st_arena *arena = st_report_arena(report);
	const char **notes = st_arena_calloc(arena, named->note_count + 2, sizeof(*notes));

	for (size_t i = 0; notes && i < named->note_count; i++) {
		const char *note = st_arena_copy(arena, named->notes[i], strlen(named->notes[i]));

		if (note)
			notes[report->note_count++] = note;
	}
	if (notes && set->callers_cut)
		notes[report->note_count++] = st_arena_printf(
			arena,
			"only the %d,000 heaviest callers are shown; %llu others are summed as "
			"[Others]; use -filter to see a part in full",
			ST_CALLERS_MAX / 1000, (unsigned long long)set->callers_cut);
	report->notes = notes;
}
