/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be measured on this machine. One table of checks; each examines one thing, changes nothing,
 * and for anything missing gives the one change that enables it.
 */
#ifndef ST_COLLECT_LAUNCH_DOCTOR_DOCTOR_H
#define ST_COLLECT_LAUNCH_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

enum st_doctor_status {
	ST_DOCTOR_OK,
	ST_DOCTOR_LIMITED, /* works, with less */
	ST_DOCTOR_MISSING,
	ST_DOCTOR_UNKNOWN, /* could not be found out */
};

enum { ST_DOCTOR_FACT_BYTES = 224 };

struct st_doctor_finding {
	enum st_doctor_status status;
	char fact[ST_DOCTOR_FACT_BYTES]; /* one line */
	char remedy
		[ST_DOCTOR_FACT_BYTES]; /* the change that unlocks it; empty when there is nothing to do */
};

struct st_doctor_context {
	const char *root;     /* before /proc, /sys and /etc: "" but in tests */
	const char *folder;   /* where results would go */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC_RAW; long looks end there */
};

struct st_doctor_check {
	const char *name;  /* "perf-events" */
	const char *title; /* "child processes" */
	void (*run)(const struct st_doctor_context *context, struct st_doctor_finding *finding);
};
extern const struct st_doctor_check st_doctor_checks[]; /* ends with a NULL name */

enum { ST_DOCTOR_CHECKS_MAX = 32 };

struct st_doctor_report {
	struct st_doctor_finding findings[ST_DOCTOR_CHECKS_MAX]; /* in the order of the table */
	unsigned int count;
	bool tasks; /* -collect tasks gives something here */
	char verdict[512];
};

const char *st_doctor_status_name(enum st_doctor_status status);
/* Runs every check. context may be NULL: this machine, the working folder, about a second. */
void st_doctor_examine(const struct st_doctor_context *context, struct st_doctor_report *report);
/* What the findings come to; st_doctor_examine has done it already. */
void st_doctor_conclude(struct st_doctor_report *report);

#endif
