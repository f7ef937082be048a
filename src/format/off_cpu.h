/* SPDX-License-Identifier: Apache-2.0
 *
 * When threads were on no CPU, as the kernel tells it: ST_CHUNK_OFF_CPU, one track, times ascending. The payload is that of
 * ST_CHUNK_SAMPLES (format/samples.h), its columns mean: time, when the thread left its CPU; weight, ns until it came
 * back; node, see the flags; flags, those below. What lies between two records of a thread it was on a CPU.
 */
#ifndef ST_FORMAT_OFF_CPU_H
#define ST_FORMAT_OFF_CPU_H

enum st_off_flag {
	ST_OFF_PREEMPTED = 1, /* it could have gone on */
	/* Node many, none of them long: the time is when the first began, the weight their sum, and the last one began within
	 * ST_OFF_SUM_MS. */
	ST_OFF_SEVERAL = 2,
	ST_OFF_LOST = 4, /* records are missing: what it did meanwhile is not known */
	/* The life of the thread, as far as it is recorded, begins or ends here; the weight is 0. */
	ST_OFF_BORN = 8,
	ST_OFF_ENDED = 16,
	/* What was said of it before: woken then by the thread that is the node (0: not by a thread), and a weight of ns until
	 * it was on a CPU. */
	ST_OFF_WOKEN = 32,
	/* There are no records of switches, only the kernel's counts: it ran for a weight of ns since the record of this kind before;
	 * with ST_OFF_PREEMPTED: for so long it was ready and waited for a CPU. */
	ST_OFF_RAN = 64,
	ST_OFF_FLAGS_ALL = 127,
};

enum { ST_OFF_SUM_MS = 10 };

#endif
