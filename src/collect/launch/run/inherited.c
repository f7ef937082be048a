// SPDX-License-Identifier: Apache-2.0
//
// A pipe ends when its last writer closes it. If strata kept the descriptors that it passes on, a reader
// of the program's output would wait for strata, a feeder would never get its SIGPIPE, and a lock that the
// program gives up would stay taken. So strata lets go of them as soon as the program runs.
#include "collect/launch/run/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void st_inherited_begin(struct st_inherited *inherited)
{
	DIR *stream = opendir("/proc/self/fd");
	struct dirent *entry;
	struct rlimit files;

	inherited->count = 0;
	while (stream && (entry = readdir(stream)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd > STDERR_FILENO && fd != dirfd(stream) && fd != inherited->kept &&
		    inherited->count < ST_INHERITED_MAX)
			inherited->fds[inherited->count++] = fd;
	}
	if (stream)
		closedir(stream);
	inherited->raised = getrlimit(RLIMIT_NOFILE, &inherited->files) == 0 &&
			    inherited->files.rlim_cur < inherited->files.rlim_max;
	files = inherited->files;
	files.rlim_cur = files.rlim_max;
	if (inherited->raised && setrlimit(RLIMIT_NOFILE, &files) != 0)
		inherited->raised = false;
}

void st_inherited_restore(const struct st_inherited *inherited)
{
	if (inherited->raised)
		setrlimit(RLIMIT_NOFILE, &inherited->files);
}

void st_inherited_release(struct st_inherited *inherited)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* The numbers stay taken: no file of ours may become standard output. */
	for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDOUT_FILENO; fd++)
		dup3(nothing, fd, O_CLOEXEC);
	if (nothing >= 0)
		close(nothing);
	while (inherited->count)
		close(inherited->fds[--inherited->count]);
}
