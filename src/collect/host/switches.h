/* SPDX-License-Identifier: Apache-2.0
 *
 * When the threads of a family leave their CPUs and come back, by the kernel's records of context switches. Needs no rights
 * over one's own processes up to perf_event_paranoid 2, and costs the family about 1.3 us a switch. Short absences of a
 * thread that switches often are added up, so that what is told is bounded whatever the program does.
 */
#ifndef ST_COLLECT_HOST_SWITCHES_H
#define ST_COLLECT_HOST_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct st_switches;

struct st_off_cpu {
	uint32_t pid, tid;
	uint64_t process_born_ns; /* fork or exec; 0: before the watch */
	uint64_t begin_ns;	  /* CLOCK_MONOTONIC_RAW */
	uint64_t off_ns;
	uint32_t flags; /* enum st_off_flag */
	uint32_t count; /* as the node of format/off_cpu.h */
};

struct st_switch_options {
	pid_t pid;  /* with all it starts from now on */
	bool wakes; /* who lets them go on, too (collect/host/wakes.h) */
	void (*told)(void *arg, const struct st_off_cpu *off);
	void *arg;
};

struct st_switch_state {
	uint64_t switches; /* seen */
	uint64_t lost;	   /* records that the kernel had no room for */
	uint64_t threads_left_out;
	bool wakes;
	char no_wakes[96]; /* why not, where they were asked for */
};

/* ST_EUNSUPPORTED: the kernel refuses; err->code is its reason. */
enum st_status st_switches_create(struct st_switches **out, const struct st_switch_options *options,
				  struct st_error *err);
void st_switches_destroy(struct st_switches *switches);
/* Tells what happened since the last call. */
void st_switches_poll(struct st_switches *switches);
/* Tells what is still open, up to now: nothing more will be asked. */
void st_switches_finish(struct st_switches *switches, uint64_t now_ns);
const struct st_switch_state *st_switches_state(const struct st_switches *switches);

/* A thread that is on no CPU of its own accord, and since when. False ends the walk. */
typedef bool (*st_switches_waiting)(void *arg, uint32_t pid, uint32_t tid, uint64_t since_ns);
/* Of those that left before a time. */
void st_switches_each_waiting(const struct st_switches *switches, uint64_t before_ns,
			      st_switches_waiting each, void *arg);

#endif
