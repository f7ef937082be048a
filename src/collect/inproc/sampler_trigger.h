/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trigger's signal looks like, where libc's headers may be too old to say.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_TRIGGER_H
#define ST_COLLECT_INPROC_SAMPLER_TRIGGER_H

enum {
	ST_TRAP_PERF = 6,	   /* si_code of a perf event's SIGTRAP */
	ST_SIGINFO_PERF_DATA = 24, /* sig_data of the event, in siginfo_t */
};

#endif
