// SPDX-License-Identifier: Apache-2.0
//
// Does what it is told on standard input, a line at a time, and answers "ok" when it is done; so a test
// can command strata between two steps and needs no sleeping. usage: obedient, or obedient -record NAME N
//   begin NAME | end | record NAME N | pause | resume | rest MS
//   fork NAME N: a child records that          exec NAME N: another program image does
//   child-pause NAME N: a child pauses itself, records that, and ends
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "itt_static_part.h"

static struct itt_domain *domain;

static void begin(const char *name)
{
	itt_task_begin(domain, itt_string_handle_create(name));
}

static void record(const char *name, int count)
{
	for (int i = 0; i < count; i++) {
		begin(name);
		itt_task_end(domain);
	}
}

static void rest_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left))
		;
}

static bool in_child(const char *how, const char *name, int count)
{
	pid_t child = fork();
	char number[16];
	int status;

	if (child == 0) {
		if (strcmp(how, "exec") == 0) {
			snprintf(number, sizeof(number), "%d", count);
			execl("/proc/self/exe", "obedient", "-record", name, number, (char *)NULL);
			_exit(9);
		}
		if (strcmp(how, "child-pause") == 0)
			itt_pause();
		record(name, count);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool obey(const char *verb, const char *name, int count)
{
	if (strcmp(verb, "begin") == 0)
		begin(name);
	else if (strcmp(verb, "end") == 0)
		itt_task_end(domain);
	else if (strcmp(verb, "record") == 0)
		record(name, count);
	else if (strcmp(verb, "pause") == 0)
		itt_pause();
	else if (strcmp(verb, "resume") == 0)
		itt_resume();
	else if (strcmp(verb, "rest") == 0)
		rest_ms(strtol(name, NULL, 10));
	else
		return in_child(verb, name, count);
	return true;
}

int main(int argc, char **argv)
{
	char line[256];

	itt_part_load();
	domain = itt_domain_create("obedient");
	if (argc == 4) {
		record(argv[2], (int)strtol(argv[3], NULL, 10));
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = NULL;
		char *verb = strtok_r(line, " \n", &rest);
		char *name = strtok_r(NULL, " \n", &rest);
		char *count = strtok_r(NULL, " \n", &rest);

		if (!verb ||
		    !obey(verb, name ? name : "", count ? (int)strtol(count, NULL, 10) : 0))
			return 8;
		printf("ok\n");
		fflush(stdout);
	}
	return 7;
}
