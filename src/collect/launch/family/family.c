// SPDX-License-Identifier: Apache-2.0
//
// Members of the program's family and the judgement on each program image: was our library in it, and
// if not, why. Only what was executed counts; a forked copy runs the image of its parent.
#include "collect/launch/family/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/launch/family/elf_look.h"
#include "collect/host/perf_rings.h"
#include "collect/launch/family/family_state.h"
#include "collect/launch/family/proc_info.h"

enum { REPORTS_MAX = 4096 };

static const char library_name[] = "libstrata_collector.so";
static const uint64_t proc_period_ns = 50000000u, watch_period_ns = 20000000u;

static void forget_program(struct st_program *program)
{
	free(program->executable);
	free(program->command);
	memset(program, 0, sizeof(*program));
}

static void forget_texts(struct st_member *member)
{
	forget_program(&member->now);
	forget_program(&member->before);
}

/* Makes room: first by forgetting the dead, then by growing. */
static bool make_room(struct st_family *family)
{
	uint32_t alive = 0, kept = 0;

	if (family->count < family->capacity)
		return true;
	for (uint32_t i = 0; i < family->count; i++)
		alive += family->members[i].alive;
	/* The dead are kept a while: their children may still ask for them. */
	if (family->count < ST_MEMBERS_MAX / 4 || alive >= family->count / 2)
		return family->count < ST_MEMBERS_MAX &&
		       ST_VEC_ROOM(family->members, family->count, family->capacity);
	st_id_map_clear(&family->member_of);
	for (uint32_t i = 0; i < family->count; i++) {
		struct st_member *member = &family->members[i];

		if (!member->alive) {
			forget_texts(member);
			continue;
		}
		(void)st_id_map_put(&family->member_of, (uint64_t)member->pid, kept);
		family->members[kept++] = *member;
	}
	family->count = kept;
	return true;
}

struct st_member *st_member_find(const struct st_family *family, pid_t pid)
{
	uint32_t at = st_id_map_get(&family->member_of, (uint64_t)pid);

	return at == ST_ID_NONE || family->members[at].forgotten ? NULL : &family->members[at];
}

void st_member_forget(struct st_family *family, pid_t pid)
{
	struct st_member *member = st_member_find(family, pid);

	if (!member)
		return;
	st_member_exited(family, pid);
	member->forgotten = true;
}

struct st_member *st_member_add(struct st_family *family, pid_t pid, pid_t parent)
{
	struct st_member *member, *from;

	if (pid <= 0 || !make_room(family))
		return NULL;
	member = st_member_find(family, pid);
	if (member) {
		st_member_judge(family, member);
		forget_texts(member);
	} else {
		if (!st_id_map_put(&family->member_of, (uint64_t)pid, family->count))
			return NULL;
		member = &family->members[family->count++];
	}
	memset(member, 0, sizeof(*member));
	member->pid = pid;
	member->parent = parent;
	member->alive = true;
	from = st_member_find(family, parent);
	if (from)
		memcpy(member->now.name, from->now.name, sizeof(member->now.name));
	return member;
}

void st_member_executed(struct st_family *family, pid_t pid, const char *name, uint64_t time_ns)
{
	struct st_member *member = st_member_find(family, pid);
	bool was_entered;

	if (!member)
		member = st_member_add(family, pid, 0);
	if (!member)
		return;
	st_member_judge(family, member);
	was_entered = member->executed && st_member_is_entered(family, member);
	forget_program(&member->before);
	member->before = member->now;
	memset(&member->now, 0, sizeof(member->now));
	member->executed = true;
	member->mapped = member->judged = member->looked = false;
	member->executed_ns = time_ns;
	snprintf(member->now.name, sizeof(member->now.name), "%s", name);
	member->now.command = st_proc_command(pid, &member->now.command_bytes);
	st_family_cpu_watch(family, member, was_entered);
	if (family->options.executed)
		family->options.executed(family->options.arg, pid, time_ns);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void st_member_mapped(struct st_family *family, pid_t pid, const char *path)
{
	struct st_member *member = st_member_find(family, pid);

	if (!member || path[0] != '/' || path[1] == '/')
		return;
	/* The first file mapped after an exec is the program itself. */
	if (member->executed && !member->now.executable)
		member->now.executable = strdup(path);
	if (strcmp(path, family->options.collector) == 0 ||
	    strcmp(base_name(path), library_name) == 0) {
		family->entered_count += !member->mapped;
		member->mapped = true;
	}
}

void st_member_exited(struct st_family *family, pid_t pid)
{
	struct st_member *member = st_member_find(family, pid);

	if (!member)
		return;
	st_member_judge(family, member);
	member->alive = false;
}

static enum st_not_entered reason_for(const struct st_family *family,
				      const struct st_member *member)
{
	/* The kernel takes our event away when a program gains rights: it then has no mapped files. */
	if (!member->now.executable)
		return family->perf ? ST_NOT_ENTERED_SETUID : ST_NOT_ENTERED_UNKNOWN;
	if (st_elf_raises_rights(member->now.executable, family->uid, family->gid))
		return ST_NOT_ENTERED_SETUID;
	if (st_elf_is_engine(member->now.executable))
		return ST_NOT_ENTERED_ENGINE;
	if (st_elf_is_go(member->now.executable))
		return ST_NOT_ENTERED_GO;
	switch (st_elf_look(member->now.executable)) {
	case ST_ELF_STATIC:
		return ST_NOT_ENTERED_STATIC;
	case ST_ELF_OTHER_LIBC:
		return ST_NOT_ENTERED_OTHER_LIBC;
	case ST_ELF_OTHER_CLASS:
		return ST_NOT_ENTERED_OTHER_CLASS;
	case ST_ELF_NATIVE:
		return st_elf_is_sanitized(member->now.executable) ? ST_NOT_ENTERED_SANITIZER
								   : ST_NOT_ENTERED_ENVIRONMENT;
	default:
		return ST_NOT_ENTERED_UNKNOWN;
	}
}

/* A message may be older than the program that the process runs now. /proc tells of an exec only when it is
 * looked at. */
bool st_member_is_entered(const struct st_family *family, const struct st_member *member)
{
	uint64_t late_ns = family->perf ? 0 : 2 * proc_period_ns;

	return member->entered_ns && member->entered_ns + late_ns >= member->executed_ns;
}

/* Of a program that has our library in it, from its file. */
static enum st_not_entered reason_once(struct st_family *family, const struct st_member *member)
{
	const char *executable = member->now.executable;
	struct st_judged *judged;

	if (!executable)
		return ST_NOT_ENTERED_UNKNOWN;
	for (uint32_t i = 0; i < ST_JUDGED_MAX && i < family->judged_count; i++)
		if (family->judged[i].executable &&
		    strcmp(family->judged[i].executable, executable) == 0)
			return family->judged[i].reason;
	judged = &family->judged[family->judged_count % ST_JUDGED_MAX];
	free(judged->executable);
	judged->executable = strdup(executable);
	judged->reason = reason_for(family, member);
	family->judged_count += judged->executable != NULL;
	return judged->reason;
}

/* Where our library is loaded by those whom none of our execs was asked by, and does nothing. */
static bool stands_back(enum st_not_entered reason)
{
	return reason == ST_NOT_ENTERED_ENGINE || reason == ST_NOT_ENTERED_GO ||
	       reason == ST_NOT_ENTERED_SANITIZER || reason == ST_NOT_ENTERED_OTHER_CLASS ||
	       reason == ST_NOT_ENTERED_OTHER_LIBC;
}

bool st_family_takes_part(struct st_family *family, pid_t pid)
{
	const struct st_member *member = st_member_find(family, pid);

	return member && member->mapped && !stands_back(reason_once(family, member));
}

void st_member_judge(struct st_family *family, struct st_member *member)
{
	struct st_family_program program = {0};

	if (!member->executed || st_member_is_entered(family, member) || member->judged)
		return;
	member->judged = true;
	program.pid = member->pid;
	program.reason = member->mapped ? reason_once(family, member) : reason_for(family, member);
	/* It is in there, and had nothing to record. */
	if (member->mapped && !stands_back(program.reason))
		return;
	/* A short look at /proc cannot tell "not there" from "not yet there". */
	if (!family->perf && !member->looked &&
	    (program.reason == ST_NOT_ENTERED_ENVIRONMENT ||
	     program.reason == ST_NOT_ENTERED_UNKNOWN))
		return;
	if (family->reported++ >= REPORTS_MAX)
		return;
	program.mono_raw_ns = member->executed_ns;
	st_family_cpu_look(member);
	program.cpu_ns = member->cpu_ns;
	program.executable = member->now.executable ? member->now.executable : member->now.name;
	program.command = member->now.command ? member->now.command : member->now.name;
	program.command_bytes =
		member->now.command ? member->now.command_bytes : strlen(member->now.name);
	family->options.not_entered(family->options.arg, &program);
}

enum st_status st_family_create(struct st_family **out, const struct st_family_options *options,
				struct st_error *err)
{
	struct st_family *family = calloc(1, sizeof(*family));

	*out = NULL;
	if (!family)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	family->options = *options;
	family->uid = getuid();
	family->gid = getgid();
	if (!st_member_add(family, options->pid, getpid())) {
		st_family_destroy(family);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	if (!options->unwatched)
		family->perf = st_family_perf_create(options->pid, &family->perf_of_all);
	*out = family;
	return ST_OK;
}

void st_family_destroy(struct st_family *family)
{
	if (!family)
		return;
	st_perf_rings_destroy(family->perf);
	for (uint32_t i = 0; i < family->count; i++)
		forget_texts(&family->members[i]);
	for (uint32_t i = 0; i < ST_JUDGED_MAX; i++)
		free(family->judged[i].executable);
	free(family->members);
	st_id_map_fini(&family->member_of);
	free(family);
}

void st_family_poll(struct st_family *family, uint64_t now_ns)
{
	if (now_ns - family->watched_ns >= watch_period_ns) {
		family->watched_ns = now_ns;
		st_family_cpu_poll(family, now_ns);
	}
	if (family->perf) {
		st_family_perf_poll(family, false);
		return;
	}
	if (family->options.unwatched || now_ns - family->polled_ns < proc_period_ns)
		return;
	family->seen_ns = family->polled_ns ? family->polled_ns : now_ns - proc_period_ns;
	family->polled_ns = now_ns;
	st_family_proc_poll(family, now_ns);
}

void st_family_finish(struct st_family *family, uint64_t now_ns)
{
	if (family->perf) {
		st_family_perf_poll(family, true);
	} else if (!family->options.unwatched) {
		family->seen_ns = family->polled_ns;
		st_family_proc_poll(family, now_ns);
	}
	for (uint32_t i = 0; i < family->count; i++)
		st_member_judge(family, &family->members[i]);
}

void st_family_entered(struct st_family *family, pid_t pid, uint64_t mono_raw_ns)
{
	struct st_member *member = st_member_find(family, pid);

	if (member && mono_raw_ns > member->entered_ns)
		member->entered_ns = mono_raw_ns;
}

pid_t st_family_parent(const struct st_family *family, pid_t pid)
{
	const struct st_member *member = st_member_find(family, pid);

	return member ? member->parent : 0;
}

bool st_family_replaced(const struct st_family *family, pid_t pid, uint64_t mono_raw_ns)
{
	const struct st_member *member = st_member_find(family, pid);

	return member && member->executed && member->executed_ns > mono_raw_ns;
}

static const struct st_program *program_at(const struct st_family *family, pid_t pid,
					   uint64_t mono_raw_ns)
{
	const struct st_member *member = st_member_find(family, pid);

	if (!member)
		return NULL;
	return st_family_replaced(family, pid, mono_raw_ns) ? &member->before : &member->now;
}

const char *st_family_command(const struct st_family *family, pid_t pid, uint64_t mono_raw_ns,
			      size_t *size_bytes)
{
	const struct st_program *program = program_at(family, pid, mono_raw_ns);

	*size_bytes = 0;
	if (!program)
		return NULL;
	*size_bytes = program->command ? program->command_bytes : strlen(program->name);
	return program->command ? program->command : program->name;
}

const char *st_family_executable(const struct st_family *family, pid_t pid, uint64_t mono_raw_ns)
{
	const struct st_program *program = program_at(family, pid, mono_raw_ns);

	return program ? program->executable : NULL;
}

uint32_t st_family_alive(const struct st_family *family, uint64_t *cpu_ticks)
{
	uint32_t count = 0;

	*cpu_ticks = 0;
	for (uint32_t i = 0; i < family->count; i++) {
		const struct st_member *member = &family->members[i];
		uint64_t ticks;

		if (!member->alive || member->pid == family->options.pid ||
		    !st_proc_cpu_ticks(member->pid, &ticks))
			continue;
		*cpu_ticks += ticks;
		count++;
	}
	return count;
}

void st_family_each_alive(const struct st_family *family, void (*each)(void *arg, pid_t pid),
			  void *arg)
{
	for (uint32_t i = 0; i < family->count; i++) {
		const struct st_member *member = &family->members[i];
		uint64_t ticks;

		if (member->alive && member->pid != family->options.pid &&
		    st_proc_cpu_ticks(member->pid, &ticks))
			each(arg, member->pid);
	}
}

const char *st_family_source(const struct st_family *family)
{
	if (family->options.unwatched)
		return "none";
	return family->perf ? "perf events" : "/proc";
}

void st_family_created(const struct st_family *family, uint64_t *processes, uint64_t *threads)
{
	*processes = family->entered_count;
	*threads = family->thread_count;
}

uint64_t st_family_lost(const struct st_family *family)
{
	return family->lost;
}
