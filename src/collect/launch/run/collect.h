/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program under collection, from spawn to finished result. Keeps the rules of "Running a
 * program": the program's output, signals and exit status are its own; failures on our side are
 * reported through `say` (stderr) and in result.json.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_COLLECT_H
#define ST_COLLECT_LAUNCH_RUN_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_analysis;

/* A switch that may be left to whoever has the default. */
enum st_choice { ST_CHOICE_DEFAULT = 0, ST_CHOICE_OFF, ST_CHOICE_ON };

/* An option of the command line, as given, for result.json. */
struct st_collect_option {
	const char *name;
	const char *value; /* NULL: a flag */
	bool on;	   /* of a flag */
	bool repeatable;
};

enum {
	ST_SAMPLE_DEPTH_MIN = 1,
	ST_SAMPLE_DEPTH_MAX = 4095,
};

/* How the program is to be sampled, as asked. */
struct st_sampling_config {
	bool hardware;	       /* sampling-mode=hw: triggered by cycles where there is a PMU */
	uint64_t interval_ns;  /* 0: the default of the mode */
	double interval_scale; /* of the default, by -target-duration-type; 0: 1 */
	enum st_choice stacks;
	uint32_t depth;	       /* frames; 0: default */
	uint64_t stack_bytes;  /* of a stack that is copied from outside; 0: default */
	const char *processes; /* patterns joined by commas; NULL: all */
};

/* Whether operators of a framework are recorded, and what of them. */
struct st_operators_config {
	enum st_choice on; /* default: as the analysis says; so all of these */
	enum st_choice shapes, memory, modules, stacks;
	enum st_choice measured; /* measure-cost */
};

/* What is recorded of devices. */
enum st_device_choice {
	ST_DEVICES_DEFAULT = 0, /* as the analysis says */
	ST_DEVICES_OFF,
	ST_DEVICES_ON,
	ST_DEVICES_LIGHT,  /* what runs on devices, and calls that wait for them */
	ST_DEVICES_CALLS,  /* every call of the host */
	ST_DEVICES_GRAPHS, /* graphs as a whole */
	ST_DEVICES_BYTES,  /* and memory of devices */
};

/* How waits are recorded. */
struct st_waits_config {
	bool has_stack_us;
	uint64_t stack_us; /* the shortest wait that has its stack */
	bool wakes;	   /* sampling-and-waits=hw: who wakes whom, by the kernel */
};

struct st_collect_config {
	const struct st_analysis *analysis; /* what is switched on */
	const char *result_dir; /* pattern with @@@, or NULL for "r@@@" + the analysis's suffix */
	const char *app_working_dir; /* NULL: the current one */
	bool quiet;
	bool start_paused;
	double resume_after_s;	   /* < 0: not given */
	double duration_s;	   /* < 0: unlimited */
	uint64_t data_limit_bytes; /* 0: none */
	double ring_buffer_s;	   /* -ring-buffer: only the last seconds are kept; 0: all */
	bool no_follow_child;	   /* record the program alone, not the processes it starts */
	uint32_t ring_kib;	   /* 0: default */
	const char *itt_domains;   /* patterns joined by commas; NULL: all */
	bool has_itt_groups;
	uint32_t itt_groups; /* bits of ITT's groups */
	enum st_choice task_lines, offer_itt;
	struct st_sampling_config sampling;
	struct st_operators_config operators;
	struct st_waits_config waits;
	enum st_choice python_calls; /* default: as the analysis says */
	enum st_device_choice devices;
	int target_pid;		/* -target-pid: a program that runs already; 0: argv is started */
	int joined_pid;		/* of st_collect_join: the program that started us */
	int ready_fd;		/* where it waits for our word */
	const char *joined_dir; /* of its windows and of the control socket; removed at the end */
	const struct st_collect_option *options; /* all that were given */
	size_t option_count;
	int kept_fd;	   /* a descriptor that strata needs when the program has ended; 0: none */
	char *const *argv; /* program and arguments, NULL-terminated */
	int argc;
	const char *strata_version;
	const char *collect_command; /* the strata command line itself, for result.json */
	/* One line for the user, without newline; on stderr. */
	void (*say)(void *arg, const char *line);
	void *say_arg;
};

struct st_collect_outcome {
	bool started;	   /* the program ran */
	int wait_status;   /* of the program, when started */
	int exit_status;   /* when not started: 2, 125, 126 or 127 */
	char *result_path; /* malloc'd; NULL when nothing was kept */
	bool interrupted;  /* stopped by the second Ctrl-C: the program may still run */
};

enum st_status st_collect_run(const struct st_collect_config *config,
			      struct st_collect_outcome *out, struct st_error *err);

/* Serves a program that records itself, window by window, until it ends; see join.c. */
enum st_status st_collect_join(const struct st_collect_config *config, struct st_error *err);

#endif
