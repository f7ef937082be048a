/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one collection, shared by the files that run it: collect.c (from start to end), loop.c
 * (while the program runs) and result_json.c (its description). No other file includes this.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_RUN_H
#define ST_COLLECT_LAUNCH_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/launch/drain/clock.h"
#include "collect/launch/run/creation.h"
#include "collect/launch/run/collect.h"
#include "collect/launch/drain/drain.h"
#include "collect/launch/family/followed.h"
#include "collect/launch/run/inherited.h"
#include "collect/launch/run/machine_use.h"
#include "collect/launch/run/sampling.h"
#include "collect/launch/run/signals.h"
#include "collect/launch/run/spawn.h"

struct st_attach;
struct st_buf;
struct st_control;
struct st_control_request;
struct st_demand_watch;
struct st_family;
struct st_kernel_side;
struct st_json;
struct st_joined;
struct st_named_process;
struct st_rendezvous;
struct st_store_writer;
struct st_switch_watch;

enum {
	ST_RUN_ERRORS_MAX = 8,
	ST_RUN_ERROR_BYTES = 512,
	ST_RUN_EXECS_MAX = 256,
	ST_RUN_THREADS_KEPT = 8192
};

struct st_run {
	const struct st_collect_config *config;
	struct st_collect_outcome *out;
	struct st_store_writer *writer;
	struct st_rendezvous *rendezvous;
	struct st_control *control; /* NULL: -command cannot reach this run */
	struct st_family *family;
	struct st_kernel_side *kernel;	  /* NULL: not watched */
	struct st_demand_watch *demand;	  /* NULL: not watched */
	struct st_switch_watch *switches; /* the same */
	struct st_attach *attach;	  /* -target-pid; else NULL */
	struct st_joined *joined;	  /* strata.profile(); else NULL */
	struct st_named_process *named;	  /* processes whose threads are named */
	uint32_t named_count, named_capacity;
	struct st_signals signals;
	struct st_inherited inherited;
	struct st_spawn spawn;
	struct st_drain_shared shared;
	struct st_followed_table followed;
	int epoll_fd;
	char *collector, *program;

	enum st_clock clock;
	struct st_sampling_plan sampling; /* of a run that samples */
	struct st_clock_pair start, last; /* last: the newest pair */
	uint64_t ticks_per_second;
	uint64_t start_wall_ns;
	double pair_cost_ns, fresh_mib_ns;
	struct st_creation creation;

	/* CLOCK_MONOTONIC_RAW */
	uint64_t program_began_ns, program_ended_ns, stopped_ns, second_ns;
	uint64_t seconds; /* that upkeep was done */
	/* After the program's end: when what it left behind was last looked at, and last did something. */
	uint64_t arrived_ns; /* the latest process */
	uint64_t looked_ns, busy_ns, busy_ticks;
	bool others_alive;
	bool started, child_gone;
	bool child_watched; /* its end wakes the loop */
	int wait_status;
	struct st_machine_use machine;
	uint64_t target_cpu_ns;	 /* of it and of the children it waited for, as the kernel counts */
	bool paused;		 /* since the start, and nobody has resumed yet */
	bool family_paused;	 /* by -command pause */
	bool stopped;		 /* nothing is collected any more */
	bool finished;		 /* all chunks are written */
	bool abandoned;		 /* the third Ctrl-C: not even the status is waited for */
	const char *stop_reason; /* "" while collecting */
	unsigned int interrupts;
	uint32_t left_running, not_followed;
	uint32_t cannot_record; /* processes that said so */
	/* Execs heard of in this round: they count once the hellos that came before are in. */
	struct st_exec_news {
		pid_t pid;
		uint64_t mono_raw_ns;
	} execs[ST_RUN_EXECS_MAX];
	unsigned int exec_count;
	bool told_failure, told_crowded;
	/* Of a run that samples: threads created lately, for processes that have not said hello yet. */
	struct st_thread_news {
		pid_t pid, tid, creator;
		uint64_t mono_raw_ns;
	} * threads; /* ST_RUN_THREADS_KEPT, a ring; NULL: none yet */
	uint64_t thread_count;
	struct st_mapping_news *mappings; /* of processes that have not said hello yet; a ring */
	uint64_t mapping_count;

	char errors[ST_RUN_ERRORS_MAX][ST_RUN_ERROR_BYTES];
	unsigned int error_count;
};

/* collect.c */
void st_run_say(struct st_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line of log.txt, with its time. */
void st_run_log(struct st_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A sentence that every report of the result shows. */
void st_run_note(struct st_run *run, const char *text);
/* What collectors found out inside the programs. */
void st_run_tell_notices(struct st_run *run, const struct st_drain_counts *totals);
/* The parts of a run, for a joined one. */
void st_run_start_clock(struct st_run *run);
enum st_status st_run_set_up(struct st_run *run, struct st_error *err);
enum st_status st_run_watch(struct st_run *run, int fd, uint64_t data, struct st_error *err);
void st_run_tear_down(struct st_run *run);
/* Kept for result.json. */
void st_run_error(struct st_run *run, const char *text);
/* Ends collecting, not the program. */
void st_run_stop(struct st_run *run, const char *reason);
/* The same, and everything to disk at once. */
void st_run_end(struct st_run *run, const char *reason);
/* Everything to disk; after it only result.json is still written. */
void st_run_finish(struct st_run *run);
/* Ends what recorded before the execs of this round. */
void st_run_apply_execs(struct st_run *run);
/* A record about the whole family, written into its definitions; and two that have one thing to say. */
void st_run_family_record(struct st_run *run, const struct st_buf *record);
void st_run_family_control(struct st_run *run, uint64_t ticks, uint32_t kind);
/* strata -command mark: a text at a moment of the whole family; at most 60 KiB of it. */
void st_run_family_mark(struct st_run *run, uint64_t ticks, const char *text);

/* A process that would record and cannot: another build, a limit. */
void st_run_cannot_record(struct st_run *run, pid_t pid, enum st_not_entered reason);

/* run_code.c: what the kernel tells of sampled processes. */
struct st_family_mapping;
struct st_family_thread;
void st_run_mapped(void *arg, const struct st_family_mapping *mapping);
void st_run_created(void *arg, const struct st_family_thread *thread);
/* A process has said hello: what was told of it before. */
void st_run_tell_threads(struct st_run *run, pid_t pid);
/* Takes in the processes that have said hello. */
void st_run_take_arrivals(struct st_run *run, uint64_t now_ns);
/* Processes that ended before their maps could be read get what the kernel told of them. */
void st_run_tell_mappings(struct st_run *run);
/* Tables that are ready go to those who asked. */
void st_run_take_tables(struct st_run *run);
uint64_t st_run_ticks_at(const struct st_run *run, uint64_t mono_raw_ns);

/* demand.c: CPU time of this thread. Not the time that went by: whoever wants a CPU in vain is no expense. */
uint64_t st_run_cpu_ns(void);

/* thread_names.c: what threads are called, looked up when they have begun to record, and from time to time. */
void st_run_name_threads(struct st_run *run, uint64_t now_ns);
void st_run_renamed(void *arg, pid_t pid, pid_t tid, const char *name);
void st_run_forget_names(struct st_run *run);

/* run_files.c: a sampled process ends; arg is the run. */
void st_run_keep_files(void *arg, const struct st_followed *process);

/* control_verbs.c: -command */
void st_run_open_control(struct st_run *run);
void st_run_close_control(struct st_run *run);
void st_run_serve_commands(struct st_run *run, uint64_t now_ns);

/* demand.c: how many threads want a CPU at a time, of a run that samples; each round. */
void st_run_open_demand(struct st_run *run);
void st_run_close_demand(struct st_run *run);
void st_run_watch_demand(struct st_run *run, uint64_t now_ns);

/* kernel.c: kernel stacks and waits, in hardware mode. */
void st_run_open_kernel(struct st_run *run);
void st_run_poll_kernel(struct st_run *run, bool all);
void st_run_put_kernel(const struct st_run *run, struct st_json *json);

/* switches.c: when threads are on no CPU, of a run that records waits. */
void st_run_open_switches(struct st_run *run);
void st_run_close_switches(struct st_run *run);
void st_run_poll_switches(struct st_run *run, bool all);
void st_run_put_switches(const struct st_run *run, struct st_json *json);
/* "waits by calls, context switches and looks from outside", and what is missing. */
void st_run_waits_text(const struct st_run *run, char *out, size_t out_size);
/* Whether nobody tells of switches, so that the kernel's counts are all there is; and what they say of a thread. */
struct st_polled {
	uint32_t pid, tid;
	uint64_t begin_ns, end_ns; /* of the two readings */
	uint64_t ran_ns, delay_ns; /* between them; of a new one since it was born */
	bool is_new;
};
bool st_run_is_polled(const struct st_run *run);
void st_run_take_polled(struct st_run *run, const struct st_polled *polled);
/* The process ends: nobody will see its threads move. */
void st_run_polled_ends(struct st_run *run, const struct st_followed *process);

/* looks.c: at threads that wait and do not tell for what. */
struct st_looks;
struct st_off_cpu;
struct st_switches;
struct st_looks *st_looks_create(void); /* NULL: there is no memory, then nobody looks */
void st_looks_destroy(struct st_looks *looks);
/* Each round: takes what was seen, and looks at what has waited for long. */
void st_looks_poll(struct st_run *run, struct st_looks *looks, const struct st_switches *switches);
/* The same of a thread that has been still between two readings of the kernel's counts; told when it has moved. */
void st_looks_still(struct st_run *run, struct st_looks *looks, const struct st_polled *polled,
		    bool is_still);
void st_looks_end(struct st_run *run, struct st_looks *looks, pid_t pid, uint64_t now_ns);
/* A thread has come back, or has ended: what was seen of it meanwhile is told. */
void st_looks_tell(struct st_run *run, struct st_looks *looks, const struct st_off_cpu *off);
void st_looks_put(struct st_looks *looks, struct st_json *json);

/* attach.c: a program that runs already. */
enum st_status st_run_attach(struct st_run *run, struct st_error *err);
void st_run_detach(struct st_run *run);
void st_run_poll_attached(struct st_run *run, bool all);
bool st_run_attached_gone(const struct st_run *run);
void st_run_put_attached(const struct st_run *run, struct st_json *json);

/* join.c: a program that asked for it, by itself. Its results are windows, one after the other, in between there is none:
 * run->writer is NULL then. */
void st_run_keep_definitions(struct st_run *run, uint32_t process, const struct st_buf *payload);
bool st_run_joined_over(const struct st_run *run);
/* Whether the verb is one of a joined run's; it was obeyed if *done. */
bool st_run_joined_verb(struct st_run *run, const struct st_control_request *request,
			struct st_buf *answer, bool *done);

/* loop.c: until the program is gone and nobody records any more. */
void st_run_loop(struct st_run *run);

/* result_json.c */
void st_run_write_json(struct st_run *run);
/* result_json_sampling.c: one line that says where the numbers come from, and the section "sampling". */
void st_run_source_text(const struct st_run *run, char *out, size_t out_size);
void st_run_put_sampling(const struct st_run *run, struct st_json *json);

#endif
