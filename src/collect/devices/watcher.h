/* SPDX-License-Identifier: Apache-2.0
 *
 * The one thread of a library for devices: it looks every few milliseconds for what devices have done, so that no thread
 * of the program has to, and hands it to the collector.
 */
#ifndef ST_COLLECT_DEVICES_WATCHER_H
#define ST_COLLECT_DEVICES_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/device_record.h"

#pragma GCC visibility push(hidden)

/* One round; true: something is still awaited. Never called by two threads at a time. */
typedef bool st_watcher_round(void);

struct st_watcher_options {
	const char *name; /* of the thread */
	st_watcher_round *round;
	/* At the end of the recording or of the program, instead of a round: the last one, which lets go of everything. */
	void (*finish)(void);
};

/* It ends with a recording: to be started again for the next, which does nothing while it is there. A forked child may start
 * anew. */
void st_watcher_start(const struct st_watcher_options *options);
/* Much has come: a round now. Never waits. */
void st_watcher_hurry(void);
/* A round by the calling thread. */
void st_watcher_round_now(void);
/* The program has ended, or is about to: nothing of the maker's is called any more. */
bool st_watcher_is_over(void);
/* In a forked child. */
void st_watcher_forked(void);
/* Into the ring of the calling thread, which waits for room up to a tenth of a second in all rounds together; what finds
 * none is counted. Of the watcher's thread, or one that ends. */
void st_watcher_put(struct st_device_record *record, bool is_communication);

#pragma GCC visibility pop

#endif
