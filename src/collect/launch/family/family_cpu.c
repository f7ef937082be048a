// SPDX-License-Identifier: Apache-2.0
//
// The processor time of programs that our library is not in. The kernel adds it to the parent's when they have ended, all
// in one sum; what each used is read now and then while it lives. What a program uses after the last look is not known.
#include <time.h>

#include "collect/launch/family/family_state.h"

/* A program that is entered has said so by then. */
static const uint64_t settled_ns = 20000000u;

/* Of all threads of the process; 0: it is gone. */
static uint64_t used_by(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void st_family_cpu_watch(struct st_family *family, struct st_member *member, bool was_entered)
{
	uint32_t at = 0;

	member->cpu_before_ns = was_entered ? used_by(member->pid) : 0;
	member->cpu_ns = 0;
	while (at < family->watched_count && family->watched[at] != member->pid)
		at++;
	if (at == family->watched_count && at < ST_WATCHED_MAX)
		family->watched[family->watched_count++] = member->pid;
}

void st_family_cpu_look(struct st_member *member)
{
	uint64_t used_ns = used_by(member->pid);

	if (used_ns > member->cpu_before_ns && used_ns - member->cpu_before_ns > member->cpu_ns)
		member->cpu_ns = used_ns - member->cpu_before_ns;
}

void st_family_cpu_poll(struct st_family *family, uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < family->watched_count; i++) {
		struct st_member *member = st_member_find(family, family->watched[i]);
		bool is_settled = member && now_ns > member->executed_ns + settled_ns;

		if (!member || !member->alive ||
		    (is_settled && st_member_is_entered(family, member)))
			continue;
		family->watched[kept++] = member->pid;
		if (is_settled)
			st_family_cpu_look(member);
	}
	family->watched_count = kept;
}
