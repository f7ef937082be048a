/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts a program by one of the functions of the exec family: itt_exec HOW PROGRAM. HOW is the name of
 * the function, with "vfork+" in front to call it in a vforked child.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(const char *how, char *file, char **argv)
{
	pid_t pid;
	int status, error;

	error = !strcmp(how, "posix_spawn") ? posix_spawn(&pid, file, NULL, NULL, argv, environ)
					    : posix_spawnp(&pid, file, NULL, NULL, argv, environ);
	if (error || waitpid(pid, &status, 0) != pid)
		return 1;
	return WEXITSTATUS(status);
}

static void start(const char *how, char *file, char **argv)
{
	if (!strcmp(how, "execve"))
		execve(file, argv, environ);
	else if (!strcmp(how, "execv"))
		execv(file, argv);
	else if (!strcmp(how, "execvp"))
		execvp(file, argv);
	else if (!strcmp(how, "execvpe"))
		execvpe(file, argv, environ);
	else if (!strcmp(how, "execl"))
		execl(file, argv[0], argv[1], argv[2], (char *)NULL);
	else if (!strcmp(how, "execle"))
		execle(file, argv[0], argv[1], argv[2], (char *)NULL, environ);
	else if (!strcmp(how, "execlp"))
		execlp(file, argv[0], argv[1], argv[2], (char *)NULL);
	else if (!strcmp(how, "fexecve"))
		fexecve(open(file, O_RDONLY), argv, environ);
	else if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, file, argv, environ, 0);
}

int main(int argc, char **argv)
{
	char *arguments[] = {argc > 2 ? argv[2] : NULL, "one", "two", NULL};
	const char *how = argc > 2 ? argv[1] : "";
	int status;
	pid_t pid;

	if (!strncmp(how, "posix_spawn", 11))
		return spawn(how, argv[2], arguments);
	if (strncmp(how, "vfork+", 6)) {
		start(how, argv[2], arguments);
		perror("itt_exec");
		return 127;
	}
	pid = vfork();
	if (!pid) {
		start(how + 6, argv[2], arguments);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 1;
}
