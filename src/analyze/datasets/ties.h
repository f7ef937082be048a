/* SPDX-License-Identifier: Apache-2.0
 *
 * Links between things: from calls to what they launched on devices, and through ITT IDs. A program gives IDs to tasks, spans and markers, and refers to
 * them later: as a parent, in a relation, or to attach metadata. A tie belongs to one thing in a trace:
 * there is metadata for it, or a flow begins or ends at it. A reused ID refers to the thing that had it
 * last at that time.
 *
 * Memory use grows with the number of IDs in use and of ties; there is none if no ID is ever
 * referred to and nothing was launched.
 */
#ifndef ST_ANALYZE_DATASETS_TIES_H
#define ST_ANALYZE_DATASETS_TIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/events.h"

enum st_thing_kind { ST_THING_SLICE, ST_THING_SPAN, ST_THING_EVENT };
typedef uint64_t st_thing; /* kind and index; slices before spans before events */

static inline st_thing st_thing_make(enum st_thing_kind kind, uint32_t index)
{
	return (uint64_t)kind << 32 | index;
}

enum st_tie_end {
	ST_TIE_SOURCE,
	ST_TIE_TARGET,
	ST_TIE_EITHER, /* both begin at the same moment */
};

struct st_tie {
	st_thing thing;
	uint32_t event; /* the metadata or relation; ST_NO_ROW: no more than a flow from a parent */
	uint32_t flow;	/* number from 1; 0: none */
	enum st_tie_end end;
	bool is_head; /* of the relation */
	bool is_launch;
};

struct st_ties {
	struct st_tie *ties; /* by thing, then in the order of the events */
	uint32_t count, capacity;
	uint32_t flow_count;
};

enum st_status st_ties_make(struct st_ties *out, const struct st_result *result,
			    struct st_error *err);
void st_ties_fini(struct st_ties *ties);
/* The first of those of a thing; *count of them follow each other. An event that names what nobody knows
 * is tied to itself. */
const struct st_tie *st_ties_of(const struct st_ties *ties, st_thing thing, size_t *count);

#endif
