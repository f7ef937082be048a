// SPDX-License-Identifier: Apache-2.0
//
// Files in which a sampled process names the code it made at run time: the perf map in /tmp and the jitdump that it
// has mapped. They vanish, or are overwritten by the next process of that number, so that copies go into the
// result when the process ends.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/run/run.h"

enum { COPY_BYTES = 64 << 10, PATH_BYTES = 4096 + 64 };

static const uint64_t map_max_bytes = 64u << 20, dump_max_bytes = 256u << 20;

/* A plain file of ours or the program's that was written during this run; -1: none. */
static int open_fresh(const struct st_run *run, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	struct stat about;

	if (fd < 0)
		return -1;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
	    (about.st_uid == geteuid() || geteuid() == 0) &&
	    (uint64_t)about.st_mtim.tv_sec + 1 >= run->start_wall_ns / 1000000000u)
		return fd;
	close(fd);
	return -1;
}

/* At most so many bytes; false when something was left out. */
static bool copy(int from, int to, uint64_t max_bytes)
{
	char *piece = malloc(COPY_BYTES);
	uint64_t done = 0;
	ssize_t n = 0;

	while (piece && done < max_bytes && (n = read(from, piece, COPY_BYTES)) > 0) {
		if (write(to, piece, (size_t)n) != n) {
			n = -1;
			break;
		}
		done += (uint64_t)n;
	}
	free(piece);
	return piece && n == 0;
}

static void keep(struct st_run *run, int from, const char *name, uint64_t max_bytes)
{
	char path[PATH_BYTES];
	int to = -1;

	if (snprintf(path, sizeof(path), "%s/%s", run->out->result_path, name) < (int)sizeof(path))
		to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	/* An earlier program of the same process may have had one too: the first is kept. */
	if (to < 0) {
		if (errno != EEXIST)
			st_run_log(run, "cannot save %s", name);
		return;
	}
	if (!copy(from, to, max_bytes))
		st_run_log(run, "saved only part of %s", name);
	close(to);
}

static void keep_map(struct st_run *run, const struct st_followed *process)
{
	char path[PATH_BYTES], name[64];
	int fd;

	snprintf(name, sizeof(name), "perf-%d.map", (int)process->pid);
	/* In the program's own root while it lives; it names itself by the pid it knows. */
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%u.map", (int)process->pid,
		 process->own_pid);
	fd = open_fresh(run, path);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", process->own_pid);
	if (fd < 0)
		fd = open_fresh(run, path);
	if (fd < 0)
		return;
	keep(run, fd, name, map_max_bytes);
	close(fd);
}

void st_run_keep_files(void *arg, const struct st_followed *process)
{
	const char *dump = process->drain ? st_drain_jitdump(process->drain) : NULL;
	struct st_run *run = arg;
	char name[64];
	int fd;

	st_run_polled_ends(run, process);
	if (!process->rung || process->pid <= 0 || !run->out->result_path)
		return;
	keep_map(run, process);
	fd = dump ? open_fresh(run, dump) : -1;
	if (fd < 0)
		return;
	snprintf(name, sizeof(name), "jit-%d.dump", (int)process->pid);
	keep(run, fd, name, dump_max_bytes);
	close(fd);
}
