/* SPDX-License-Identifier: Apache-2.0
 *
 * The place that most of the time of some samples is at: the line of the program's own code. Only finding*.c use this.
 */
#ifndef ST_ANALYZE_FINDINGS_FINDING_PLACES_H
#define ST_ANALYZE_FINDINGS_FINDING_PLACES_H

#include "analyze/findings/finding_rules.h"
#include "base/map.h"

struct st_finding_votes {
	struct st_pair_map places; /* (source, line) */
	uint64_t *ns;
	uint32_t *frames;
	uint32_t ns_capacity, frame_capacity;
};

/* A sample's own place gets so much; one without a stack votes for nothing. */
void st_finding_vote(struct st_finding_votes *votes, const struct st_finding_ground *ground,
		     uint32_t sample, uint64_t ns);
/* "train.py:88", of native code "go (convoy.c:9)"; "" where nobody knows. */
const char *st_finding_elected(const struct st_finding_votes *votes,
			       const struct st_finding_ground *ground);
/* The same with the function of Python: "augment, data.py:41". */
const char *st_finding_elected_function(const struct st_finding_votes *votes,
					const struct st_finding_ground *ground);
void st_finding_votes_fini(struct st_finding_votes *votes);
/* Whether a function of the sample's stack is in such a file. */
bool st_finding_is_in(const struct st_finding_ground *ground, uint32_t sample, const char *pattern);

#endif
