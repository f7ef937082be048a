/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files with the checks of doctor.h: how they report, read files and try calls.
 */
#ifndef ST_COLLECT_LAUNCH_DOCTOR_DOCTOR_CHECK_H
#define ST_COLLECT_LAUNCH_DOCTOR_DOCTOR_CHECK_H

#include <stddef.h>

#include "collect/launch/doctor/doctor.h"

typedef void st_doctor_run(const struct st_doctor_context *context,
			   struct st_doctor_finding *finding);

/* Sets the status and the fact, resp. the remedy. Control characters become '?'. */
void st_doctor_fact(struct st_doctor_finding *finding, enum st_doctor_status status,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void st_doctor_remedy(struct st_doctor_finding *finding, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The beginning of a file below the root, without the last line end; false (and "") when unreadable. */
bool st_doctor_read(const struct st_doctor_context *context, const char *path, char *text,
		    size_t size_bytes);
/* The value behind "key" at the start of a line of text, up to the line's end, blanks skipped. */
bool st_doctor_field(const char *text, const char *key, char *value, size_t size_bytes);
/* A whole number in a file; false when there is none. */
bool st_doctor_number(const struct st_doctor_context *context, const char *path, long long *out);
/* "1.5 GB", "64 MB", "no limit" for UINT64_MAX. */
const char *st_doctor_size(uint64_t bytes, char *out, size_t size_bytes);

/* What a try in a child came to. */
struct st_doctor_answer {
	int code;   /* 0: it worked; errno; or -1: the child was killed, see signal */
	int signal; /* of a killed child */
	uint64_t value;
	char text[160];
};
typedef void st_doctor_try(void *arg, struct st_doctor_answer *answer);

/* Runs `attempt` in a short-lived child: a filter that kills ends the child only. The child fills the
 * answer; one that hangs is killed in less than a second. */
void st_doctor_attempt(st_doctor_try *attempt, void *arg, struct st_doctor_answer *answer);
/* "Operation not permitted", or "killed by signal 31 (a seccomp filter)". */
const char *st_doctor_why(const struct st_doctor_answer *answer, char *out, size_t size_bytes);

/* The one change after a refused perf event: the filter, the setting, or the kernel. */
void st_doctor_perf_remedy(const struct st_doctor_context *context,
			   const struct st_doctor_answer *answer, int paranoid_needed,
			   struct st_doctor_finding *finding);
/* The Python on PATH, malloc'd; NULL: none. */
char *st_doctor_find_python(void);

/* Facts that several checks need. */
bool st_doctor_has_capability(const struct st_doctor_context *context, unsigned int bit);

enum { ST_CAP_SYS_PTRACE = 19, ST_CAP_SYS_ADMIN = 21, ST_CAP_SYSLOG = 34, ST_CAP_PERFMON = 38 };

st_doctor_run st_doctor_machine, st_doctor_kernel, st_doctor_container, st_doctor_clock,
	st_doctor_memory, st_doctor_limits;
st_doctor_run st_doctor_libc, st_doctor_collector, st_doctor_environment, st_doctor_memfd,
	st_doctor_sockets, st_doctor_shm, st_doctor_disk;
st_doctor_run st_doctor_rights, st_doctor_seccomp, st_doctor_ptrace, st_doctor_kernel_symbols;
st_doctor_run st_doctor_waits;
st_doctor_run st_doctor_perf_family, st_doctor_perf_sampling, st_doctor_perf_counters,
	st_doctor_tracepoints, st_doctor_uprobes;
st_doctor_run st_doctor_python_frames, st_doctor_tables;
st_doctor_run st_doctor_python, st_doctor_pytorch, st_doctor_tensorflow, st_doctor_ittapi,
	st_doctor_onednn;
st_doctor_run st_doctor_level_zero, st_doctor_opencl;

#endif
