/* SPDX-License-Identifier: Apache-2.0
 *
 * A result with samples of every kind of frame, for the tests of what is exported of samples.
 */
#ifndef ST_TESTS_UNIT_SAMPLES_RESULT_H
#define ST_TESTS_UNIT_SAMPLES_RESULT_H

#include "fake_named.h"

struct samples_result {
	struct st_result *fake;
	struct fake_named *names;
};

/*
 * Process 100 "python3", all of it below _start (libc, of the system):
 *   main thread:  eval > train (train.py:88) > conv > jit kernel          70 ns in two samples
 *                 eval > train (train.py:88) > conv, with inline "dot"    20 ns
 *                 eval > train (train.py:90) > write > sys_write (kernel)  5 ns
 *   thread 101:   clone > <worker loop without a symbol> (recovered)       4 ns
 *                 no stack at all                                          1 ns
 * and a sample of a thread that waits, which is no CPU time.
 */
void samples_create(struct samples_result *made);
void samples_destroy(struct samples_result *made);

#endif
