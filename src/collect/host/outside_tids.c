// SPDX-License-Identifier: Apache-2.0
//
// A program in a container knows its threads by other numbers than we do: the kernel tells both.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/host/outside_python_state.h"

bool st_outside_other_namespace(pid_t pid)
{
	char path[64], own[64] = "", its[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return readlink("/proc/self/ns/pid", own, sizeof(own) - 1) > 0 &&
	       readlink(path, its, sizeof(its) - 1) > 0 && strcmp(own, its) != 0;
}

/* The last number of "NSpid: 4711 12". */
static uint32_t inner_tid(pid_t pid, uint32_t outer)
{
	char path[80], line[256], *last;
	uint32_t inner = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/status", (int)pid, outer);
	file = fopen(path, "re");
	while (file && !inner && fgets(line, sizeof(line), file)) {
		last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
		if (last)
			inner = (uint32_t)strtoul(last, NULL, 10);
	}
	if (file)
		fclose(file);
	return inner;
}

static void list_tids(struct st_outside_python *python)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)python->pid);
	folder = opendir(path);
	python->tid_count = 0;
	while (folder && (entry = readdir(folder)) != NULL) {
		uint32_t outer = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (outer)
			(void)ST_VEC_PUSH(
				python->tids, python->tid_count, python->tid_capacity,
				(struct st_outside_tid){inner_tid(python->pid, outer), outer});
	}
	if (folder)
		closedir(folder);
}

uint32_t st_outside_outer_tid(struct st_outside_python *python, uint32_t inner)
{
	for (int look = 0; look < 2; look++) {
		for (uint32_t i = 0; i < python->tid_count; i++)
			if (python->tids[i].inner == inner)
				return python->tids[i].outer;
		if (!look)
			list_tids(python);
	}
	return 0;
}
