// SPDX-License-Identifier: Apache-2.0
//
// fork and exec of the program. Between the two the child only makes async-signal-safe calls. All our
// descriptors close on exec, so the program sees exactly those it would see without us.
#include "collect/launch/run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/launch/run/inherited.h"
#include "collect/launch/run/signals.h"

enum { CHILD_FAILED = 127, SHELL_ARGUMENTS_MAX = 4096 };

/* What failed in the child, sent whole through the pipe. */
struct child_failure {
	int code;
	int in_chdir;
};

/* A script without "#!" is run by the shell, as execvp and every shell do. */
static void exec_by_shell(const struct st_spawn_options *options)
{
	const char *arguments[SHELL_ARGUMENTS_MAX + 3] = {"/bin/sh", options->path};
	size_t count = 0;

	while (options->argv[count])
		count++;
	if (count > SHELL_ARGUMENTS_MAX) {
		errno = E2BIG;
		return;
	}
	for (size_t i = 1; i <= count; i++)
		arguments[i + 1] = options->argv[i];
	execve("/bin/sh", (char *const *)arguments, options->environment);
}

static _Noreturn void run_child(const struct st_spawn_options *options, int go_fd, int error_fd)
{
	struct child_failure failure = {0};
	ssize_t n;
	char go;

	do
		n = read(go_fd, &go, 1);
	while (n < 0 && errno == EINTR);
	/* End of file: strata is gone or gave up before the program began. */
	if (n == 0)
		_exit(CHILD_FAILED);
	if (n < 0) {
		failure.code = errno;
	} else if (options->working_dir && chdir(options->working_dir) != 0) {
		failure.code = errno;
		failure.in_chdir = 1;
	} else {
		st_inherited_restore(options->inherited);
		st_signals_restore(options->signals);
		execve(options->path, options->argv, options->environment);
		if (errno == ENOEXEC)
			exec_by_shell(options);
		failure.code = errno;
	}
	if (write(error_fd, &failure, sizeof(failure)) < 0)
		_exit(CHILD_FAILED);
	_exit(CHILD_FAILED);
}

static void close_all(int fds[4])
{
	for (int i = 0; i < 4; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

enum st_status st_spawn_prepare(struct st_spawn *spawn, const struct st_spawn_options *options,
				struct st_error *err)
{
	int fds[4] = {-1, -1, -1, -1}; /* go: read, write; error: read, write */

	memset(spawn, 0, sizeof(*spawn));
	spawn->pidfd = spawn->go_fd = spawn->error_fd = -1;
	if (pipe2(fds, O_CLOEXEC) != 0 || pipe2(fds + 2, O_CLOEXEC) != 0) {
		st_error_set(err, ST_EIO, errno, "cannot create a pipe");
		close_all(fds);
		return ST_EIO;
	}
	spawn->pid = fork();
	if (spawn->pid < 0) {
		st_error_set(err, ST_EIO, errno, "cannot start a process");
		close_all(fds);
		return ST_EIO;
	}
	if (spawn->pid == 0) {
		close(fds[1]);
		run_child(options, fds[0], fds[3]);
	}
	close(fds[0]);
	close(fds[3]);
	spawn->go_fd = fds[1];
	spawn->error_fd = fds[2];
	spawn->pidfd = (int)syscall(SYS_pidfd_open, spawn->pid, 0);
	if (spawn->pidfd < 0) {
		st_error_set(err, ST_EUNSUPPORTED, errno, "this kernel does not support pidfd");
		st_spawn_abandon(spawn);
		return ST_EUNSUPPORTED;
	}
	return ST_OK;
}

static void reap(struct st_spawn *spawn)
{
	int status;

	while (waitpid(spawn->pid, &status, 0) < 0 && errno == EINTR)
		;
	spawn->pid = 0;
}

enum st_status st_spawn_go(struct st_spawn *spawn, const char *name, struct st_error *err)
{
	struct child_failure failure = {0};
	ssize_t n;

	/* EPIPE: somebody has killed it already; its wait status will say so, as at any later time. */
	if (write(spawn->go_fd, "g", 1) != 1 && errno != EPIPE)
		failure.code = errno;
	close(spawn->go_fd);
	spawn->go_fd = -1;
	do
		n = read(spawn->error_fd, &failure, sizeof(failure));
	while (n < 0 && errno == EINTR);
	close(spawn->error_fd);
	spawn->error_fd = -1;
	if (n <= 0 && !failure.code)
		return ST_OK;
	reap(spawn);
	close(spawn->pidfd);
	spawn->pidfd = -1;
	if (failure.in_chdir)
		return st_error_set(err, ST_EIO, failure.code,
				    "cannot change to the working folder");
	return st_error_set(err, failure.code == ENOENT ? ST_ENOTFOUND : ST_EIO, failure.code, "%s",
			    name);
}

void st_spawn_abandon(struct st_spawn *spawn)
{
	if (spawn->go_fd >= 0)
		close(spawn->go_fd);
	if (spawn->error_fd >= 0)
		close(spawn->error_fd);
	if (spawn->pidfd >= 0)
		close(spawn->pidfd);
	spawn->go_fd = spawn->error_fd = spawn->pidfd = -1;
	if (spawn->pid > 0)
		reap(spawn);
}
