/* SPDX-License-Identifier: Apache-2.0
 *
 * Interrupts the calling thread of a program by a timer and checks, in the handler, what the walker of
 * src/unwind/rt makes of each stack: against libunwind, with parts of the call frame information hidden, and with
 * rules read off code in place of it. For a C test that links it and for Python programs that load it.
 */
#ifndef ST_TESTS_UNWIND_PROBE_H
#define ST_TESTS_UNWIND_PROBE_H

#include <stdint.h>

struct probe_score {
	uint64_t right, wrong, none;
};

struct probe_result {
	uint64_t samples;
	uint64_t complete;  /* reached the entry by rules alone */
	uint64_t recovered; /* reached it with the help of a scan */
	uint64_t truncated;
	uint64_t frames;	      /* of complete stacks */
	struct probe_score libunwind; /* none: it did not reach the entry itself */
	/* A leaf without rules, called indirectly, in memory that belongs to no file (like JIT code). */
	struct probe_score anonymous_leaf;
	struct probe_score leaf;   /* any leaf, in its file */
	struct probe_score middle; /* frames 1 to 3, in their file */
	struct probe_score
		derived; /* any frame, by rules of its code; none: the code gave no rule */
	struct probe_score derived_leaf; /* the innermost of these */
	uint64_t unflagged;		 /* recovered stacks that did not say so: must be 0 */
	uint64_t walk_ns;		 /* all plain walks */
};

/* 0: running, at most so often. Modules loaded later are not known to the probe; rules are read off the code of those
 * up to max_bytes only. */
int probe_start(int hz, uint64_t max_bytes);
void probe_stop(struct probe_result *result);

#endif
