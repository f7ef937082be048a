/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata_jit.so: what INTEL_JIT_PROFILER64 names. It keeps nothing; everything goes to the collector,
 * which the loader finds already loaded or beside this file.
 */
#include "collect/inproc/itt/jit.h"

#define ST_EXPORT __attribute__((visibility("default")))

ST_EXPORT unsigned int Initialize(void);
ST_EXPORT unsigned int NotifyEvent(unsigned int event, void *data);

/* 1: "sampling is on", which is how producers ask whether to tell anything. */
ST_EXPORT unsigned int Initialize(void)
{
	return strata_jit_notify(ST_JIT_ASK, 0);
}

ST_EXPORT unsigned int NotifyEvent(unsigned int event, void *data)
{
	return event == ST_JIT_ASK ? 0 : strata_jit_notify(event, data);
}
