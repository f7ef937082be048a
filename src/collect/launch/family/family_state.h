/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the family: family.c (members and decisions), family_perf.c and family_proc.c
 * (the two event sources). Besides, whoever opens the same events or asks for them includes this.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_FAMILY_STATE_H
#define ST_COLLECT_LAUNCH_FAMILY_FAMILY_STATE_H

#include "base/map.h"
#include "collect/launch/family/family.h"

enum { ST_MEMBERS_MAX = 32 << 10, ST_JUDGED_MAX = 64, ST_WATCHED_MAX = 64 };

struct st_program {
	char *executable; /* NULL: not known */
	char *command;
	size_t command_bytes;
	char name[16];
};

struct st_member {
	pid_t pid, parent;
	bool alive, executed, judged;
	bool mapped;	/* our library, which may have to stand back there */
	bool seen;	/* by the present look at /proc */
	bool forgotten; /* the number is another's, who is not of the family */
	bool looked;	/* /proc: its mapped files were searched when it had settled */
	uint64_t executed_ns, start_time;
	uint64_t
		entered_ns; /* when it last said hello, or armed itself; the program before may have */
	uint64_t cpu_ns, cpu_before_ns; /* family_cpu.c: since it was executed, and until then */
	struct st_program now, before;	/* before the last exec: a hello may be older than that */
};

/* A reason that was found for a program: the same few are started again and again. */
struct st_judged {
	char *executable;
	enum st_not_entered reason;
};

struct st_perf_rings;

struct st_family {
	struct st_family_options options;
	struct st_member *members;
	uint32_t count, capacity;
	struct st_id_map member_of; /* pid */
	struct st_perf_rings *perf; /* NULL: /proc is polled */
	bool perf_of_all;	    /* its events tell of everybody's processes */
	uint64_t polled_ns;
	uint64_t seen_ns; /* the look at /proc before this one */
	uint64_t lost;
	uint64_t entered_count, thread_count;
	unsigned int uid, gid;
	uint32_t reported;
	struct st_judged judged[ST_JUDGED_MAX]; /* the latest, by number */
	uint32_t judged_count;
	pid_t watched[ST_WATCHED_MAX]; /* whose processor time is looked at */
	uint32_t watched_count;
	uint64_t watched_ns;
};

/* family.c: news */
struct st_member *st_member_find(const struct st_family *family, pid_t pid);
struct st_member *st_member_add(struct st_family *family, pid_t pid, pid_t parent);
void st_member_executed(struct st_family *family, pid_t pid, const char *name, uint64_t time_ns);
void st_member_mapped(struct st_family *family, pid_t pid, const char *path);
void st_member_exited(struct st_family *family, pid_t pid);
/* Its number is another's now. */
void st_member_forget(struct st_family *family, pid_t pid);
void st_member_judge(struct st_family *family, struct st_member *member);

bool st_member_is_entered(const struct st_family *family, const struct st_member *member);

/* family_cpu.c: from its exec on, while it is not entered; a last look; one at all of them */
void st_family_cpu_watch(struct st_family *family, struct st_member *member, bool was_entered);
void st_family_cpu_look(struct st_member *member);
void st_family_cpu_poll(struct st_family *family, uint64_t now_ns);

/* family_perf.c; NULL when the kernel does not let us. of_all: everybody's processes are told of, not only this one's
 * family. */
struct st_perf_rings *st_family_perf_create(pid_t pid, bool *of_all);
/* Whether a family would get its news from the kernel; errno says why not. */
bool st_family_perf_possible(void);
/* News up to the moment of the call; with `all` everything there is. */
void st_family_perf_poll(struct st_family *family, bool all);

/* family_proc.c */
void st_family_proc_poll(struct st_family *family, uint64_t now_ns);

#endif
