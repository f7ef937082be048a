/* SPDX-License-Identifier: Apache-2.0
 *
 * A running program sampled from outside and summed up as it runs: which functions and threads use the CPU.
 */
#ifndef ST_LIVE_WATCH_H
#define ST_LIVE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "live/live_names.h"

struct st_live_watch;

struct st_live_row { /* a function; times are CPU time */
	struct st_live_frame
		frame; /* of the last sample: its line is where the function was then */
	uint64_t self_ns, total_ns;		  /* since the beginning */
	uint64_t recent_self_ns, recent_total_ns; /* since the last table */
};

struct st_live_thread_row {
	uint32_t tid;
	char name[256]; /* "" when it has none */
	uint64_t cpu_ns, recent_ns;
	bool alive;
};

struct st_live_table {
	const struct st_live_row *rows; /* in no order */
	uint32_t row_count;
	const struct st_live_thread_row *threads;
	uint32_t thread_count;
	uint64_t total_ns, recent_ns;	     /* CPU time */
	uint64_t elapsed_ns, recent_wall_ns; /* that was watched */
	uint64_t samples, late,
		lost;	      /* late: without Python frames (collect/host/outside_watch.h) */
	uint64_t dropped;     /* of the samples, those that are in no row: there was no room */
	double lock_ratio;    /* of the recent time, how much somebody held the GIL */
	uint32_t lock_holder; /* now; 0: nobody */
	uint32_t python_version;
	bool has_python;
	const char *note; /* what is missing; "" when nothing is */
};

/* all: frames of the interpreter count as functions too. */
enum st_status st_live_watch_create(struct st_live_watch **out, pid_t pid, bool all,
				    struct st_error *err);
void st_live_watch_destroy(struct st_live_watch *watch);
/* Takes in what happened; to be called every 10 ms or so. */
void st_live_watch_poll(struct st_live_watch *watch);
/* What there is, and, since the last one, recently. Until the next poll; st_live_watch_next() goes before that. */
const struct st_live_table *st_live_watch_table(struct st_live_watch *watch);
void st_live_watch_next(struct st_live_watch *watch);
/* Begins anew. */
void st_live_watch_reset(struct st_live_watch *watch);

#endif
