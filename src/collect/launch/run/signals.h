/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals while a program runs under us: they come through a descriptor, and the program starts with
 * mask and dispositions exactly as we found them.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_SIGNALS_H
#define ST_COLLECT_LAUNCH_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"

enum { ST_SIGNALS_CHANGED = 3 };

struct st_signals {
	int fd;
	sigset_t old_mask;
	struct sigaction old_actions[ST_SIGNALS_CHANGED];
	bool active;
};

enum st_status st_signals_begin(struct st_signals *signals, struct st_error *err);
/* In the child, right before exec; async-signal-safe. */
void st_signals_restore(const struct st_signals *signals);
/* The next signal that came; false when there is none. sent: by another process, not the terminal. */
bool st_signals_next(struct st_signals *signals, int *number, bool *sent);
void st_signals_end(struct st_signals *signals);

#endif
