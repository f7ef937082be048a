// SPDX-License-Identifier: Apache-2.0
//
// Reads single files of /proc/PID.
#include "collect/launch/family/proc_info.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_MAX = 4096, STAT_CPU_FIELD = 14, STAT_START_FIELD = 22 };

ssize_t st_proc_read(pid_t pid, const char *name, char *text, size_t size_bytes)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size_bytes - 1);
	close(fd);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

char *st_proc_command(pid_t pid, size_t *size_bytes)
{
	char text[COMMAND_MAX];
	ssize_t n = st_proc_read(pid, "cmdline", text, sizeof(text));
	char *out;

	*size_bytes = 0;
	if (n > 0 && text[n - 1] == '\0')
		n--; /* the terminator of the last argument */
	if (n <= 0)
		return NULL;
	out = malloc((size_t)n + 1);
	if (!out)
		return NULL;
	memcpy(out, text, (size_t)n);
	out[n] = '\0';
	*size_bytes = (size_t)n;
	return out;
}

bool st_proc_stat(pid_t pid, pid_t *parent, uint64_t *start_time)
{
	char text[1024], *at;

	*parent = 0;
	*start_time = 0;
	if (st_proc_read(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	if (!at || strlen(at) < 5)
		return false;
	at += 4; /* behind ") S " */
	*parent = (pid_t)strtol(at, &at, 10);
	for (int field = 5; field < STAT_START_FIELD; field++)
		strtoll(at, &at, 10);
	*start_time = strtoull(at, NULL, 10);
	return true;
}

bool st_proc_cpu_ticks(pid_t pid, uint64_t *ticks)
{
	char text[1024], *at;

	*ticks = 0;
	if (st_proc_read(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')');
	if (!at || strlen(at) < 5 || at[2] == 'Z' || at[2] == 'X')
		return false;
	at += 4;
	for (int field = 4; field < STAT_CPU_FIELD; field++)
		strtoll(at, &at, 10);
	*ticks = strtoull(at, &at, 10);	  /* user … */
	*ticks += strtoull(at, NULL, 10); /* … and system */
	return true;
}

uint64_t st_proc_own_peak_bytes(void)
{
	static const char key[] = "VmHWM:";
	char text[4096];
	const char *at;

	if (st_proc_read(getpid(), "status", text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, key);
	return at ? strtoull(at + sizeof(key) - 1, NULL, 10) * 1024u : 0;
}

char *st_proc_executable(pid_t pid)
{
	char path[64], target[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return NULL;
	target[n] = '\0';
	return strdup(target);
}
