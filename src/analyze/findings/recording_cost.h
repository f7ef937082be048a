/* SPDX-License-Identifier: Apache-2.0
 *
 * The overhead that recording adds to a program. The measured unit is a begin+end pair (measured on the machine at
 * the start of the run); everything else is a multiple of it, as measured once: an operator costs more because
 * PyTorch itself prepares more for observers.
 */
#ifndef ST_ANALYZE_FINDINGS_RECORDING_COST_H
#define ST_ANALYZE_FINDINGS_RECORDING_COST_H

#include <stdbool.h>
#include <stdint.h>

struct st_result;

enum {
	ST_PAIRS_A_CALL = 4,	    /* a counted call of Python, most of it CPython's own */
	ST_PAIRS_A_NAME = 5,	    /* an operator by its name alone */
	ST_PAIRS_AN_OPERATOR = 11,  /* with its inputs, which PyTorch puts together for us */
	ST_PAIRS_AN_ALLOCATION = 5, /* of an operator, and giving it back */
};

double st_pair_cost_ns(const struct st_result *result);
/* Of one operator, as recorded in this result; 0: not known. */
double st_operator_cost_ns(const struct st_result *result);
/* Pairs that operators and their memory cost beyond being slices. */
uint64_t st_operator_extra_pairs(const struct st_result *result);

#endif
