// SPDX-License-Identifier: Apache-2.0
//
// Prints everything a parent hands down to a program, except the environment: two runs under the same
// parent print the same bytes. A profiler that leaves a trace in any of it changes how programs behave.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_signals(void)
{
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int number = 1; number < SIGRTMAX; number++) {
		struct sigaction action;

		if (sigaction(number, NULL, &action))
			continue;
		printf("signal %d %s%s\n", number,
		       action.sa_handler == SIG_IGN   ? "ignored"
		       : action.sa_handler == SIG_DFL ? "default"
						      : "caught",
		       sigismember(&blocked, number) ? " blocked" : "");
	}
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void print_descriptors(void)
{
	int numbers[1024];
	int count = 0;
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!folder)
		return;
	while ((entry = readdir(folder)) && count < 1024) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);

		if (*end == '\0' && end != entry->d_name && number != dirfd(folder))
			numbers[count++] = (int)number;
	}
	closedir(folder);
	qsort(numbers, (size_t)count, sizeof(numbers[0]), compare_numbers);
	for (int i = 0; i < count; i++) {
		char link[64], target[512];
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", numbers[i]);
		length = readlink(link, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		/* A pipe or socket is a new one in each run: its kind is what can be compared. */
		if (strchr(target, '['))
			*strchr(target, '[') = '\0';
		printf("descriptor %d %s flags %#x\n", numbers[i], target,
		       (unsigned int)fcntl(numbers[i], F_GETFD));
	}
}

static void print_limits(void)
{
	for (int resource = 0; resource < RLIMIT_NLIMITS; resource++) {
		struct rlimit limit;

		if (!getrlimit((__rlimit_resource_t)resource, &limit))
			printf("limit %d %lld %lld\n", resource, (long long)limit.rlim_cur,
			       (long long)limit.rlim_max);
	}
}

static void print_process(void)
{
	int value = -1;
	char name[17] = "", cwd[4096] = "";
	cpu_set_t cpus;
	mode_t mask = umask(0);

	umask(mask);
	printf("umask %03o\n", (unsigned int)mask);
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "?");
	printf("user %d %d group %d %d\n", (int)getuid(), (int)geteuid(), (int)getgid(),
	       (int)getegid());
	printf("process group %d session %d\n", (int)getpgrp(), (int)getsid(0));
	prctl(PR_GET_NAME, name, 0, 0, 0);
	printf("name %s\n", name);
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	prctl(PR_GET_PDEATHSIG, &value, 0, 0, 0);
	printf("death signal %d\n", value);
	prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0);
	printf("subreaper %d\n", value);
	printf("no new privileges %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	printf("timer slack %d\n", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
	printf("scheduler %d\n", sched_getscheduler(0));
	errno = 0;
	printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		printf("cpus %d\n", CPU_COUNT(&cpus));
}

int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		printf("argument %d %s\n", i, argv[i]);
	print_process();
	print_signals();
	print_limits();
	print_descriptors();
	return 0;
}
