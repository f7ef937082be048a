/* SPDX-License-Identifier: Apache-2.0
 *
 * What strata was given for the program and must not keep or change for itself: the open descriptors,
 * and the limit on their number.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_INHERITED_H
#define ST_COLLECT_LAUNCH_RUN_INHERITED_H

#include <stdbool.h>
#include <sys/resource.h>

enum { ST_INHERITED_MAX = 64 };

struct st_inherited {
	int fds[ST_INHERITED_MAX]; /* above standard error; those beyond the room are kept */
	unsigned int count;
	struct rlimit files;
	bool raised;
	int kept; /* one above standard error that stays open; 0: none */
};

/* Before strata opens anything of its own. Also raises our limit: each followed process needs some. */
void st_inherited_begin(struct st_inherited *inherited);
/* In the child, before exec: one system call. */
void st_inherited_restore(const struct st_inherited *inherited);
/* Once the program has them. Standard error stays: that is where strata speaks. */
void st_inherited_release(struct st_inherited *inherited);

#endif
