/* SPDX-License-Identifier: Apache-2.0
 *
 * The family of the program: every process it starts, including those we cannot record. A program
 * that ran without our library is reported once it has ended (or at the end), with the reason.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_FAMILY_H
#define ST_COLLECT_LAUNCH_FAMILY_FAMILY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "format/definitions.h"

struct st_family;

struct st_family_program { /* one that was not entered */
	pid_t pid;
	enum st_not_entered reason;
	uint64_t mono_raw_ns; /* when it was executed */
	uint64_t cpu_ns;      /* processor time, as far as it was seen */
	const char *executable;
	const char *command; /* arguments joined by NUL */
	size_t command_bytes;
};

struct st_family_mapping { /* something was mapped for execution */
	pid_t pid;
	uint64_t start, end, file_offset, inode;
	uint64_t mono_raw_ns;
	const char *path; /* "//anon" and the like when it is no file */
};

struct st_family_thread { /* a thread created another one of the same process */
	pid_t pid, tid, creator;
	uint64_t mono_raw_ns;
};

struct st_family_options {
	pid_t pid;	/* of the program, not yet executed */
	bool unwatched; /* it alone is of interest: nothing is asked of the kernel */
	const char *collector;
	void (*not_entered)(void *arg, const struct st_family_program *program);
	/* May be NULL: the process runs another program from that time on. */
	void (*executed)(void *arg, pid_t pid, uint64_t mono_raw_ns);
	/* May be NULL; only the kernel's events tell these. */
	void (*mapped)(void *arg, const struct st_family_mapping *mapping);
	void (*created)(void *arg, const struct st_family_thread *thread);
	void (*renamed)(void *arg, pid_t pid, pid_t tid, const char *name);
	void *arg;
};

enum st_status st_family_create(struct st_family **out, const struct st_family_options *options,
				struct st_error *err);
void st_family_destroy(struct st_family *family);

/* Takes in what happened since the last call. */
void st_family_poll(struct st_family *family, uint64_t now_ns);
/* The last call: judges those that still run too. */
void st_family_finish(struct st_family *family, uint64_t now_ns);
/* The process said hello: it is entered, whatever else was seen. */
void st_family_entered(struct st_family *family, pid_t pid, uint64_t mono_raw_ns);
pid_t st_family_parent(const struct st_family *family, pid_t pid); /* 0: not known */
/* Whether our library is in the program that it runs, and does not stand back there. */
bool st_family_takes_part(struct st_family *family, pid_t pid);
/* Whether it has executed another program since that time. */
bool st_family_replaced(const struct st_family *family, pid_t pid, uint64_t mono_raw_ns);
/* Of the program it ran at that time. Arguments joined by NUL as seen when it was executed, or its short
 * name; NULL: not known. */
const char *st_family_command(const struct st_family *family, pid_t pid, uint64_t mono_raw_ns,
			      size_t *size_bytes);
const char *st_family_executable(const struct st_family *family, pid_t pid, uint64_t mono_raw_ns);
/* How many of them live, the program itself not counted, and the processor time these used so far. */
uint32_t st_family_alive(const struct st_family *family, uint64_t *cpu_ticks);
/* Calls each for every one of these. */
void st_family_each_alive(const struct st_family *family, void (*each)(void *arg, pid_t pid),
			  void *arg);
/* Programs that were executed with our library, and threads. */
void st_family_created(const struct st_family *family, uint64_t *processes, uint64_t *threads);
const char *st_family_source(const struct st_family *family); /* "perf events" or "/proc" */
uint64_t st_family_lost(const struct st_family *family);      /* events the kernel dropped */

#endif
