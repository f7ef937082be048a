/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake result with everything that traces of operators show: a range, a module, forward and backward, lists of
 * tensors, a range that outlives what it began in, memory, a second thread.
 */
#ifndef ST_TESTS_UNIT_OPERATORS_RESULT_H
#define ST_TESTS_UNIT_OPERATORS_RESULT_H

#include "fake_result.h"

/* Rows, in the order of the result. */
enum {
	OPERATORS_RANGE,    /* 1000 … 9000 */
	OPERATORS_MODULE,   /* 1100 … 3000 */
	OPERATORS_OUTER,    /* aten::linear, sequence 7, 1200 … 2900 */
	OPERATORS_FORWARD,  /* aten::addmm, sequence 7, 1300 … 2800 */
	OPERATORS_WRAPPER,  /* autograd's, around the node, 4000 … 6000 */
	OPERATORS_BACKWARD, /* AddmmBackward0, sequence 7, 4100 … 5900 */
	OPERATORS_INSIDE,   /* aten::mm 4200 … 5000 */
	OPERATORS_CAT,	    /* aten::cat of a list 6500 … 7000 */
	OPERATORS_CROSSING, /* a range 8000 … 9500, in the first one */
	OPERATORS_CROSSED,  /* aten::relu in it, 8100 … 8200 */
	OPERATORS_OTHER,    /* aten::ones of the second thread, 1500 … 1600 */
	OPERATORS_ROWS,
	OPERATORS_IN_FILE = OPERATORS_ROWS - 1 /* without the module */
};

struct st_result *operators_create(void);

#endif
