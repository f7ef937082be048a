// SPDX-License-Identifier: Apache-2.0
//
// The family as /proc shows it: the fall-back when the kernel gives us no events. It looks at all
// processes twenty times a second and misses programs that live shorter than that.
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/launch/family/family_state.h"
#include "collect/launch/family/proc_info.h"

enum { MAPS_PIECE_BYTES = 64 << 10 };

/* A program that has run this long has loaded its libraries. */
static const uint64_t settle_ns = 200000000u;

/* Whether the library is among the mapped files. */
static bool library_mapped(pid_t pid)
{
	static const char name[] = "/libstrata_collector.so";
	char path[64], text[MAPS_PIECE_BYTES + sizeof(name)];
	size_t kept = 0;
	bool found = false;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (!found && (n = read(fd, text + kept, MAPS_PIECE_BYTES)) > 0) {
		size_t size = kept + (size_t)n;

		found = memmem(text, size, name, sizeof(name) - 1) != NULL;
		kept = size < sizeof(name) ? size : sizeof(name) - 1;
		memmove(text, text + size - kept, kept);
	}
	close(fd);
	return found;
}

/* A change of the executable is an exec: the pid and the start time stay. */
static void look_at(struct st_family *family, struct st_member *member, uint64_t now_ns)
{
	char *executable = st_proc_executable(member->pid);
	struct st_member *from = st_member_find(family, member->parent);
	bool same_as_parent;

	if (!executable)
		return;
	same_as_parent =
		from && from->now.executable && strcmp(from->now.executable, executable) == 0;
	if (!member->now.executable || strcmp(member->now.executable, executable) != 0) {
		char name[16] = "";
		bool executed = member->now.executable || !same_as_parent;

		st_proc_read(member->pid, "comm", name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		/* It was after the look before; its hello may have come since then. */
		if (executed)
			st_member_executed(family, member->pid, name, family->seen_ns);
		free(member->now.executable);
		member->now.executable = executable;
		executable = NULL;
	}
	free(executable);
	if (member->executed && !member->mapped && now_ns - member->executed_ns > settle_ns) {
		member->mapped = library_mapped(member->pid);
		member->looked = true;
	}
}

void st_family_proc_poll(struct st_family *family, uint64_t now_ns)
{
	DIR *stream = opendir("/proc");
	struct dirent *entry;

	if (!stream)
		return;
	for (uint32_t i = 0; i < family->count; i++)
		family->members[i].seen = false;
	while ((entry = readdir(stream)) != NULL) {
		struct st_member *member;
		uint64_t start_time;
		pid_t pid, parent;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		member = st_member_find(family, pid);
		if (!st_proc_stat(pid, &parent, &start_time))
			continue;
		if (!member || (member->start_time && member->start_time != start_time)) {
			if (!st_member_find(family, parent))
				continue;
			member = st_member_add(family, pid, parent);
		}
		if (!member)
			continue;
		member->start_time = start_time;
		member->seen = true;
		look_at(family, member, now_ns);
	}
	closedir(stream);
	for (uint32_t i = 0; i < family->count; i++)
		if (family->members[i].alive && !family->members[i].seen)
			st_member_exited(family, family->members[i].pid);
}
