/* SPDX-License-Identifier: Apache-2.0
 *
 * A sampled process as its arm message describes it (struct st_shm_arm), with the trigger events that it
 * handed over. The process keeps no descriptor of them: strata switches them on and off, and closing
 * them ends them.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_ARMED_H
#define ST_COLLECT_LAUNCH_FAMILY_ARMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/shm.h"

struct st_buf;

enum { ST_ARMED_EVENTS_MAX = 4096 }; /* of one process: one a thread on the lower rungs */

struct st_armed {
	struct st_shm_arm arm; /* the last one */
	pid_t pid;	       /* in our namespace; 0: not visible from here */
	int pidfd;	       /* while it waits for the hello; else -1 */
	struct st_armed_event {
		int fd;
		uint32_t tid; /* in the target's namespace; our own event's: in ours */
		bool is_own;  /* opened by strata (own_events.c) */
	} * events;
	uint32_t event_count, event_capacity;
	uint32_t arms;	       /* messages so far */
	bool by_first_thread;  /* one of them was the first thread's */
	int enabled;	       /* 0 or 1 */
	uint64_t refused;      /* events there was no room for */
	struct st_armed *next; /* those that wait */
};

/* Takes over both descriptors (-1: none), also when it fails. */
struct st_armed *st_armed_create(const struct st_shm_arm *arm, pid_t pid, int event, int pidfd);
/* Accepts NULL. */
void st_armed_destroy(struct st_armed *armed);
/* Another message of the same process: of another thread, or after a change of the rung. Takes over event. */
void st_armed_again(struct st_armed *armed, const struct st_shm_arm *arm, int event);
/* An event of one of its threads that is no trigger. Takes it over. */
void st_armed_hold(struct st_armed *armed, uint32_t tid, int event);
/* One that strata has opened for one of its threads. Takes it over. */
void st_armed_hold_own(struct st_armed *armed, uint32_t tid, int event);
/* Whether it has an event of this thread. */
bool st_armed_has(const struct st_armed *armed, pid_t tid);
void st_armed_enable(struct st_armed *armed, bool on);
/* False when its process is known to be gone. The events cannot be asked: those without a ring always say
 * that they have hung up. */
bool st_armed_is_live(const struct st_armed *armed);
/* Whether a message is of the program that the process has executed since: a program arms itself once, by
 * its first thread where every thread has its own. */
bool st_armed_is_next_program(const struct st_armed *armed, const struct st_shm_arm *arm);

const char *st_rung_name(enum st_sampler_rung rung);
const char *st_trigger_name(enum st_sampler_trigger trigger);
/* Why no better rung was possible; "" when it is the best. Terminated. */
void st_armed_why(const struct st_shm_arm *arm, char *out, size_t out_size);
/* Appends a definition record of how the process is sampled. */
void st_armed_define(const struct st_shm_arm *arm, uint64_t time, struct st_buf *out);

#endif
