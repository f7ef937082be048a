/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of one kind side by side: each value of the first side, of the second, and the difference. A side is one run
 * of a program or several, whose values are averaged. Rows are matched by name, never by address, and sorted by how
 * much they changed.
 */
#ifndef ST_ANALYZE_REPORTS_COMPARE_H
#define ST_ANALYZE_REPORTS_COMPARE_H

#include "analyze/tables/report.h"

enum { ST_SIDES = 2, ST_RUNS_MAX = 64 };

/* What the sides are called in titles, apart from each other, and what stands for what. */
struct st_side_names {
	const char *names[ST_SIDES];
	const char
		*explained; /* "A: old/r000hs   B: new/r000hs, new/r001hs"; NULL: names say all */
	const char *joined; /* "old/r000hs-new/r000hs,new/r001hs" */
};
/* From the paths as they were given, those of the first side first; in the arena. */
struct st_arena;
struct st_side_names st_side_names_make(const char *const *paths, const uint32_t counts[ST_SIDES],
					struct st_arena *arena);

struct st_comparison {
	const struct st_report *reports; /* of the first side, then of the second; live as long */
	uint32_t counts[ST_SIDES];	 /* how many on each side, at least one */
	const char *const *paths;	 /* of the results, in the same order */
	const struct st_result *result;	 /* the first */
	uint64_t limit;			 /* rows of each level; 0: all */
	bool keeps_order;		 /* of the first report, rather than by change */
	bool is_first_minus_second;	 /* as in VTune: positive means that the second is faster */
};
enum st_status st_report_compare(const struct st_comparison *of, struct st_report *out,
				 struct st_error *err);

#endif
