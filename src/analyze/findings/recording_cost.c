// SPDX-License-Identifier: Apache-2.0
//
// What recording itself adds to a program.
#include "analyze/findings/recording_cost.h"

#include "store/operators.h"
#include "store/result.h"

double st_pair_cost_ns(const struct st_result *result)
{
	return (double)st_result_info(result)->event_cost_ns_x1000 / 1000.0;
}

/* Inputs are asked for by all operators of a run, or by none. */
static unsigned int pairs_an_operator(const struct st_result *result)
{
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(result, &count);

	for (uint32_t i = 0; i < count; i++)
		if (signatures[i].flags & ST_SIGNATURE_INPUTS)
			return ST_PAIRS_AN_OPERATOR;
	return ST_PAIRS_A_NAME;
}

double st_operator_cost_ns(const struct st_result *result)
{
	return st_pair_cost_ns(result) * pairs_an_operator(result);
}

uint64_t st_operator_extra_pairs(const struct st_result *result)
{
	uint64_t more = pairs_an_operator(result) - 1u, sum = 0;
	uint32_t count;
	const struct st_operator *operators = st_result_operators(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		sum += operators[i].signature == ST_NO_ROW ? 0 : more;
		sum += operators[i].allocated ? ST_PAIRS_AN_ALLOCATION : 0;
	}
	return sum;
}
