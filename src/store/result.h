/* SPDX-License-Identifier: Apache-2.0
 *
 * A result folder, open for reading: who ran, which names exist, and every slice as columns. Opening
 * reads result.json and definitions.strata, and maps index.strata; a missing or stale index is built
 * from the trace (and kept in the folder when it can be written, else in memory). Damage never stops
 * an open that has something to show: it is counted in st_quality and said in words.
 *
 * Everything returned is borrowed until st_result_close. Times are ns since the start of collection.
 */
#ifndef ST_STORE_RESULT_H
#define ST_STORE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/definitions.h"
#include "store/category.h"

typedef uint32_t st_string_id; /* dense per open result; 0 is the empty text */

enum { ST_NO_ROW = UINT32_MAX };

/* Flags of a slice. */
enum {
	ST_SLICE_UNFINISHED = 1, /* never ended: closed where its thread or process ended */
	ST_SLICE_CLIPPED =
		2, /* straddles a pause or the edge of the collection: paused time is not counted */
	/* Ended while slices of other domains above it were still open, or, none of its domain being open, by
	 * the end of another domain. */
	ST_SLICE_MISMATCHED = 4,
	/* A worker thread's repetition of the task that its caller runs at the same time (oneDNN): no call of
	 * its own. */
	ST_SLICE_COPY = 8,
	/* An ITT task that repeats the operator beside it (torch's emit_itt): not counted. */
	ST_SLICE_TWIN = 16,
};

struct st_loss {
	uint64_t slices_dropped; /* rings were full */
	uint64_t unmatched_ends; /* an end with nothing open (the program's doing) */
	uint64_t no_slot;	 /* threads beyond the limit, handlers inside us */
	uint64_t labels_cut;
	uint64_t labels_unknown;
	uint64_t suspect;	  /* impossible ring positions or records refused while draining */
	uint64_t events_dropped;  /* everything but slices: rings were full */
	uint64_t events_cut;	  /* data of an event was longer than what is kept */
	uint64_t samples_dropped; /* rings were full */
};

struct st_process {
	uint32_t id; /* dense id in the files */
	uint32_t pid;
	uint32_t parent;      /* index into processes, or ST_NO_ROW */
	uint32_t incarnation; /* 0, +1 at each exec */
	uint32_t flags;	      /* ST_PROCESS_* */
	enum st_process_end end;
	int wait_status;   /* of the direct child */
	st_string_id name; /* basename of the executable, or of the script after an interpreter */
	st_string_id command_line; /* arguments joined by spaces, quoted where needed */
	st_string_id executable;
	int64_t first_ns, last_ns;
	struct st_loss loss;
};

/* A row of slices, events and samples. Most are threads of the operating system, but ask its kind. */
struct st_track {
	uint32_t id;
	uint32_t process; /* index into processes */
	enum st_track_kind kind;
	uint32_t tid;	   /* of a thread; of anything else a number that its producer gave */
	st_string_id name; /* given by the program, else 0 */
	int64_t first_ns, last_ns;
	uint32_t row_begin, row_end; /* its slices: contiguous, in order of begin, parents first */
	struct st_loss loss;
};

struct st_label {
	st_string_id domain;
	st_string_id name;
	st_string_id family; /* name with each number folded to '*' ("iteration_*") */
	enum st_category category;
	bool from_itt; /* an operator or range as the framework's own ITT tasks tell it */
};

/* Columns of all slices, row by row. 40 bytes a slice, mapped from the index. */
struct st_slices {
	uint32_t count;
	const int64_t *begin_ns;
	const int64_t *end_ns;
	const uint64_t *self_ns; /* wall time less the wall time of direct children */
	const uint32_t *label;
	const uint32_t *track;
	const uint32_t *parent; /* row, or ST_NO_ROW */
	const uint16_t *depth;
	const uint16_t *flags;
};

/* That one slice led to another: a launch to its kernel, an operator to its backward pass. By from, then to. */
struct st_slice_flow {
	uint32_t from, to; /* rows of slices */
	uint32_t kind;	   /* enum st_flow_kind, or one of a later version */
};

struct st_not_entered_program {
	uint32_t pid;
	enum st_not_entered reason;
	st_string_id executable, command;
	int64_t time_ns;
	uint32_t count;	 /* the same program for the same reason is listed once */
	uint64_t cpu_ns; /* of all of them, as far as it was seen: at least */
};

struct st_pause_window {  /* no recording between these; sorted, disjoint per process */
	uint32_t process; /* index, or ST_NO_ROW for the whole family */
	int64_t begin_ns, end_ns;
};

struct st_quality {
	struct st_loss loss;					 /* sum over the result */
	uint64_t unfinished, clipped, mismatched, copies, twins; /* slices */
	uint64_t spans_unfinished;
	uint64_t damaged_chunks, damaged_bytes, missing_segments, missing_names;
	uint64_t chunks_not_written; /* disk full and the like, from result.json */
	const char *const
		*notes; /* sentences to show, e.g. "trace.000.strata: torn at byte 81920 …" */
	size_t note_count;
};

/* What the CPUs did while the program ran; cpu_count 0: not known. */
struct st_machine_info {
	uint32_t cpu_count;
	bool allowed_only; /* CPUs that the program was allowed, not all of the machine's */
	uint64_t busy_ns, idle_ns, stolen_ns; /* of these CPUs; stolen: by other virtual machines */
	uint64_t
		own_ns; /* of busy: the program's and strata's; without the program's when has_own is false */
	bool has_own;
	double cpu_limit;      /* of the control group, in CPUs; 0: none */
	uint64_t throttled_ns; /* how long that held threads back */
};

struct st_result_info {	     /* from result.json; texts are "" when unknown, numbers 0 */
	const char *path;    /* folder as given */
	const char *name;    /* its last component */
	const char *state;   /* "running", "finished" or "torn" (running, but strata is gone) */
	const char *type;    /* "tasks" */
	const char *command; /* command line as a person would type it */
	const char *working_dir;
	const char *source; /* "ITT tasks" … */
	const char *strata_version, *host, *os, *cpu, *clock;
	const char *started_at; /* ISO 8601, UTC */
	uint32_t cpu_count;
	int64_t elapsed_ns;   /* wall time of the program */
	int64_t collected_ns; /* until collection stopped */
	int64_t kept_from_ns; /* a ring buffer dropped what is older; 0: nothing was dropped */
	bool has_exit;	      /* the program's end is known */
	int wait_status;
	uint64_t size_bytes;
	uint64_t event_cost_ns_x1000; /* measured cost of one begin+end pair, in ps */
	uint64_t fresh_mib_ns;	      /* measured cost of a MiB of memory fresh from the kernel */
	uint64_t strata_cpu_ns;
	uint64_t target_cpu_ns; /* of the program and the children it waited for; 0: not known */
	uint64_t
		creation_ns; /* of it: what our presence cost when processes and threads were created */
	uint64_t switches_ns; /* of it, as an estimate: the kernel's records of context switches */
	uint64_t unarmed_threads; /* that no sampler could see, though they used CPU time */
	uint64_t peak_rss_bytes;  /* of strata */
	struct st_machine_info machine;
	const char *stop_reason; /* "", "duration", "data-limit", "interrupt" … */
	const char *options; /* those of collect as given: "-ring-buffer 10 -knob itt-groups=all" */
	uint64_t start_wall_ns; /* CLOCK_REALTIME at time 0; 0: not known */
	uint8_t id[16];		/* the same in every file of the result */
};

struct st_result;

struct st_result_options {
	bool rebuild_index;
	void (*progress)(void *arg, double fraction, const char *what); /* may be NULL */
	void *progress_arg;
};

enum st_status st_result_open(struct st_result **out, const char *path,
			      const struct st_result_options *options, struct st_error *err);
void st_result_close(struct st_result *result);

const struct st_result_info *st_result_info(const struct st_result *result);
const struct st_quality *st_result_quality(const struct st_result *result);
const struct st_slices *st_result_slices(const struct st_result *result);
const struct st_process *st_result_processes(const struct st_result *result, uint32_t *count);
const struct st_track *st_result_tracks(const struct st_result *result, uint32_t *count);
/* What a track without a name is called: "main", or the word for its kind. process may be NULL. */
const char *st_track_word(const struct st_track *track, const struct st_process *process);
const struct st_label *st_result_labels(const struct st_result *result, uint32_t *count);
const struct st_slice_flow *st_result_flows(const struct st_result *result, uint32_t *count);
const struct st_not_entered_program *st_result_not_entered(const struct st_result *result,
							   uint32_t *count);
const struct st_pause_window *st_result_pauses(const struct st_result *result, uint32_t *count);
/* Texts may hold any bytes, also NUL: use the size. Always terminated as well. */
struct st_text st_result_text(const struct st_result *result, st_string_id id);
uint32_t st_result_text_count(const struct st_result *result);
/* Gives a label another name, until the result is closed. Before anything was asked: texts handed out by
 * st_result_text_count may be fewer than there are then. False: no memory, and nothing has changed. */
bool st_result_name_label(struct st_result *result, uint32_t label, const char *name);

/* end - begin, less paused time inside when the slice is flagged ST_SLICE_CLIPPED. */
uint64_t st_result_wall_ns(const struct st_result *result, uint32_t row);

#endif
