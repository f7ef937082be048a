// SPDX-License-Identifier: Apache-2.0
//
// Pauses, resumes and detaches through ITT inside an open task, and forks a child while paused.
// usage: pause_resume
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

static int child_while_paused(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		record("child of a paused process", 10);
		itt_resume();
		record("child after its resume", 10);
		_exit(0);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

int main(void)
{
	itt_part_load();
	domain = itt_domain_create("pauses");
	begin("outer");
	record("before", 10);
	begin("open at the pause");
	itt_pause();
	record("paused", 10);
	rest_ms(600);
	itt_task_end(domain); /* "open at the pause" ends unseen */
	begin("open at the resume");
	rest_ms(600);
	if (child_while_paused())
		return 1;
	itt_resume();
	record("after", 10);
	itt_task_end(domain); /* "open at the resume" */
	rest_ms(50);
	itt_task_end(domain); /* outer */
	record("top", 10);
	itt_detach();
	record("detached", 10);
	itt_resume();
	record("detached for good", 10);
	printf("done\n");
	return 0;
}
