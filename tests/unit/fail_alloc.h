/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets the n-th allocation of the code under test fail. A test that uses it is linked with
 * --wrap=malloc, --wrap=calloc and --wrap=realloc.
 */
#ifndef ST_TESTS_UNIT_FAIL_ALLOC_H
#define ST_TESTS_UNIT_FAIL_ALLOC_H

#include <stdbool.h>

extern long fail_after; /* allocations that succeed before one fails; -1: none fails */
extern bool failed;	/* one has failed; the test clears it */

#endif
