// SPDX-License-Identifier: Apache-2.0
//
// Two questions instead of one (ranked.h).
#include "analyze/engine/ranked.h"

#include <stdlib.h>
#include <string.h>

/* By number of a group. Malloc'd. */
static double *make_ranks(const struct st_ranking *ranking, const struct st_answer *answer)
{
	double *figures = calloc((size_t)answer->row_count + 1, sizeof(*figures));
	uint32_t most = 0;
	double *ranks;

	for (uint32_t i = 0; i < answer->row_count; i++)
		most = answer->rows[i].node > most ? answer->rows[i].node : most;
	ranks = calloc((size_t)most + 1, sizeof(*ranks));
	if (!ranks || !figures || !ranking->rank(ranking->closure, answer, figures)) {
		free(ranks);
		free(figures);
		return NULL;
	}
	for (uint32_t i = 0; i < answer->row_count; i++)
		ranks[answer->rows[i].node] = figures[i];
	free(figures);
	return ranks;
}

enum st_status st_ranked_ask(const struct st_dataset *dataset, const struct st_question *question,
			     const struct st_ranking *ranking, struct st_answer *out,
			     struct st_error *err)
{
	struct st_question asked = *question;
	double *ranks = NULL;
	enum st_status status;

	asked.wants_row_of = true;
	if (ranking) {
		asked.limit = 0;
		asked.sort_count = 0;
		status = st_dataset_ask(dataset, &asked, out, err);
		if (status)
			return status;
		ranks = make_ranks(ranking, out);
		st_answer_fini(out);
		if (!ranks)
			return st_error_set(err, ST_ENOMEM, 0, "out of memory while sorting");
		asked.limit = question->limit;
		asked.ranks = ranks;
	}
	status = st_dataset_ask(dataset, &asked, out, err);
	free(ranks);
	return status;
}
