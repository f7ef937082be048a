/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers in the order of a figure that the engine does not know of.
 */
#ifndef ST_ANALYZE_ENGINE_RANKED_H
#define ST_ANALYZE_ENGINE_RANKED_H

#include "analyze/engine/dataset.h"

struct st_ranking {
	/* The figure of each row of an answer, which has row_of; false: no memory. */
	bool (*rank)(void *closure, const struct st_answer *answer, double *figures);
	void *closure;
};

/* As st_dataset_ask, with row_of. The engine orders and cuts by what it knows; so it is asked once for all groups and,
 * with their figures, again. ranking NULL: the question's own order. */
enum st_status st_ranked_ask(const struct st_dataset *dataset, const struct st_question *question,
			     const struct st_ranking *ranking, struct st_answer *out,
			     struct st_error *err);

#endif
