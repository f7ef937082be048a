/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes that said hello, from that moment to their end. A pid may come more than once: each
 * exec is a new incarnation with memory and names of its own.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_FOLLOWED_H
#define ST_COLLECT_LAUNCH_FAMILY_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "collect/launch/drain/drain.h"
#include "collect/launch/family/own_events.h"
#include "format/definitions.h"

struct st_armed;
struct st_arrival;
struct st_family;

enum { ST_FOLLOWED_LABEL_BYTES = 160, ST_FOLLOWED_WHY_BYTES = 256, ST_FOLLOWED_RUNGS = 8 };

struct st_followed {
	uint32_t id, parent; /* dense ids of the result, from 1 */
	pid_t pid;
	uint32_t own_pid; /* in its own namespace */
	uint32_t incarnation, flags;
	uint64_t token, start_time, hello_ns;
	int pidfd;
	bool same_namespace;
	bool gone;		/* it ended: to be closed when everything it handed over is in */
	struct st_drain *drain; /* NULL once it has ended */
	enum st_process_end end;
	uint64_t active_ns; /* when it last recorded something */
	struct st_drain_counts counts;
	struct st_known_signatures signatures; /* once it has ended: a child may still say hello */
	struct st_armed *armed;		       /* its sampler; NULL: none, or it has ended */
	uint32_t rung, trigger;		       /* of its sampler, as last told; 0: none */
	char label[ST_FOLLOWED_LABEL_BYTES];   /* command line for result.json, cut */
};

/* A way in which processes are sampled, and why it is no better one. */
struct st_rung_seen {
	uint32_t rung, trigger, processes;
	char why[ST_FOLLOWED_WHY_BYTES];
};

struct st_followed_table {
	struct st_followed **all; /* by id - 1 */
	uint32_t count, capacity;
	uint32_t *live; /* ids */
	uint32_t live_count, live_capacity;
	uint64_t refused;
	uint32_t control;    /* what new ones are told at once */
	uint64_t resumed_ns; /* start-paused ended at this time; 0: it did not */
	bool start_paused;
	bool own_events;	  /* threads inherit no trigger (ST_ARM_OWN_EVENTS) */
	bool samples_all;	  /* no process is left out by the user's choice */
	bool no_maps;		  /* until an address asks for them */
	bool has_switched_off;	  /* a trigger event is off that its process may switch on */
	struct st_armed *waiting; /* samplers of processes that have not said hello yet */
	uint32_t waiting_count;
	uint64_t waiting_looked_ns;
	struct st_young_threads young; /* own_events.c */
	struct st_rung_seen
		rungs[ST_FOLLOWED_RUNGS]; /* all there were; more are summed in the last */
	uint32_t rung_count;
	/* Given by the run. */
	void (*ending)(void *arg, const struct st_followed *process); /* may be NULL */
	void *ending_arg;
	struct st_drain_shared *shared;
	struct st_family *family;
	int epoll_fd; /* pidfds are added with their id as data */
	pid_t direct_pid;
	bool direct_gone;
	bool attached_gone; /* the program of -target-pid, which is nobody's child here */
	int direct_status;
};

void st_followed_fini(struct st_followed_table *table);
/* Takes over the arrival's descriptors. ST_EVERSION: a collector of another build. */
enum st_status st_followed_arrive(struct st_followed_table *table, const struct st_arrival *arrival,
				  uint64_t now_ns, struct st_error *err);
void st_followed_cycle(struct st_followed_table *table, uint64_t now_ns,
		       struct st_drain_activity *activity);
/* Takes what is there now, and hands on everything that is held back. */
void st_followed_flush(struct st_followed_table *table, uint64_t now_ns);
/* A new result begins, in which nothing has been said yet. */
void st_followed_renew(struct st_followed_table *table);
/* Of a ring buffer, before and after a new trace file is begun. */
void st_followed_before_file(struct st_followed_table *table);
void st_followed_after_file(struct st_followed_table *table);
/* Loss figures and threads that vanished: about once a second. */
void st_followed_upkeep(struct st_followed_table *table);
void st_followed_control(struct st_followed_table *table, uint32_t set, uint32_t clear);
struct st_followed *st_followed_live(struct st_followed_table *table, pid_t pid);
/* Takes what is left and closes. time in ticks; 0: now. status: of the direct child. */
void st_followed_end(struct st_followed_table *table, struct st_followed *process,
		     enum st_process_end how, uint64_t time, uint64_t now_ns);
/* Its pidfd said that it is gone. */
void st_followed_gone(struct st_followed_table *table, uint32_t id);
/* The direct child was reaped. */
void st_followed_direct_gone(struct st_followed_table *table, int wait_status);
/* Closes all that are gone. Call it when the hellos that came before are taken in: a process may hand
 * over its last memory right before it ends. */
void st_followed_end_gone(struct st_followed_table *table, uint64_t now_ns);
/* A process of the family that never said hello and still runs at the end: the result names it. */
void st_followed_add_silent(struct st_followed_table *table, pid_t pid, uint64_t now_ns);
/* Ends everything at the end of the run; returns how many still ran. */
uint32_t st_followed_end_all(struct st_followed_table *table, uint64_t now_ns);
/* Of these, how many are still there now. */
uint32_t st_followed_left(const struct st_followed_table *table);
/* Whether any that is there has recorded what devices do. */
bool st_followed_uses_devices(const struct st_followed_table *table);
void st_followed_totals(const struct st_followed_table *table, struct st_drain_counts *totals);
/* followed_armed.c: samplers. Takes over the arrival's descriptors. */
void st_followed_arm(struct st_followed_table *table, const struct st_arrival *arrival);
/* A process has said hello: the sampler that waited for it is its own. own_pid: in its namespace. */
void st_followed_adopt_armed(struct st_followed_table *table, struct st_followed *process,
			     uint32_t own_pid);
/* Of the program that the process runs now; NULL: none. */
struct st_armed *st_followed_armed(struct st_followed_table *table, pid_t pid);
void st_followed_disarm(struct st_followed *process);
/* Trigger events are switched as the control words say; each round. */
void st_followed_set_events(struct st_followed_table *table);
void st_followed_look_at_armed(struct st_followed_table *table, uint64_t now_ns);
void st_followed_forget_waiting(struct st_followed_table *table);
/* When any of them last recorded; 0: none lives. */
uint64_t st_followed_last_active(const struct st_followed_table *table);

#endif
