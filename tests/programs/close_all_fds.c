// SPDX-License-Identifier: Apache-2.0
//
// Records tasks, closes every descriptor it has, opens files of its own (which get the low numbers) and
// goes on recording, also in a forked child. Whoever kept a descriptor in here now writes into our files.
// usage: close_all_fds FOLDER
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itt_static_part.h"

enum { FILES = 12, TASKS = 100 };

static struct itt_domain *domain;

static void record(const char *name)
{
	struct itt_string_handle *handle = itt_string_handle_create(name);

	for (int i = 0; i < TASKS; i++) {
		itt_task_begin(domain, handle);
		itt_task_end(domain);
	}
}

/* The files take the lowest free numbers, 0, 1 and 2 among them. */
static int open_files(const char *folder, const char *prefix, int *files)
{
	for (int i = 0; i < FILES; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s-%02d", folder, prefix, i);
		files[i] = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (files[i] != i)
			return -1;
	}
	return 0;
}

static int write_files(const int *files)
{
	for (int i = 0; i < FILES; i++) {
		char text[32];
		int length = snprintf(text, sizeof(text), "mine %d\n", i);

		if (write(files[i], text, (size_t)length) != length)
			return -1;
	}
	return 0;
}

static int work(const char *folder, const char *name)
{
	int files[FILES];

	for (int number = 0; number < 1024; number++)
		close(number);
	if (open_files(folder, name, files))
		return 1;
	record(name);
	return write_files(files) ? 1 : 0;
}

int main(int argc, char **argv)
{
	pid_t child;
	int status = 0;

	if (argc < 2)
		return 2;
	itt_part_load();
	domain = itt_domain_create("closing");
	record("before");
	if (work(argv[1], "after"))
		return 3;
	child = fork();
	if (child == 0)
		_exit(work(argv[1], "in the child"));
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 4;
	return status ? 5 : 0;
}
