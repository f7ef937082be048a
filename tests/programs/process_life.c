// SPDX-License-Identifier: Apache-2.0
//
// Processes that end in unkind ways, each with a known number of tasks and markers.
// usage: process_life abort|quick|kill|exit|return|exec N | churn THREADS TASKS | fork N
//   N tasks "before" are closed and one task "open" is not, except with fork.
//   quick, exit and return record N tasks "late" besides: in a handler of quick_exit, or one third each in an
//   atexit handler, in a destructor and in a detached thread that runs while the process exits.
//   churn prints how much resident memory came with the second half of the threads, in KiB.
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itt_static_part.h"

static struct itt_domain *domain;
static long tasks, late;
static pthread_barrier_t gate;

static void record(const char *name, long count)
{
	struct itt_string_handle *handle = itt_string_handle_create(name);

	for (long i = 0; i < count; i++) {
		itt_task_begin(domain, handle);
		itt_task_end(domain);
	}
}

static void at_the_end(void)
{
	record("late", late);
}

static void *detached(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&gate); /* main has begun to exit */
	record("late", late);
	pthread_barrier_wait(&gate);
	for (;;)
		pause();
	return NULL;
}

static void let_the_thread_record(void)
{
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
}

__attribute__((destructor)) static void destructor(void)
{
	record("late", late);
}

static void end_in_stages(void)
{
	pthread_t thread;

	late = tasks / 3;
	pthread_barrier_init(&gate, NULL, 2);
	if (pthread_create(&thread, NULL, detached, NULL))
		_exit(1);
	pthread_detach(thread);
	atexit(at_the_end);
	atexit(let_the_thread_record);
}

static void *short_thread(void *arg)
{
	(void)arg;
	record("short", tasks);
	return NULL;
}

static long resident_kib(void)
{
	long pages = 0, ignored = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2)
		pages = -1;
	if (file)
		fclose(file);
	return pages * 4;
}

static int churn(long threads)
{
	long half = 0;

	for (long done = 0; done < threads; done += 4) {
		pthread_t four[4];

		if (done == threads / 2)
			half = resident_kib();
		for (int i = 0; i < 4; i++)
			if (pthread_create(&four[i], NULL, short_thread, NULL))
				return 1;
		for (int i = 0; i < 4; i++)
			pthread_join(four[i], NULL);
	}
	printf("%ld\n", resident_kib() - half);
	return 0;
}

/* Parent and child both end the tasks that were open when they parted, and go on. */
static int fork_inside(void)
{
	int status;
	pid_t child;

	itt_task_begin(domain, itt_string_handle_create("outer"));
	itt_task_begin(domain, itt_string_handle_create("inner"));
	record("before", tasks);
	child = fork();
	record(child ? "parent" : "child", tasks);
	itt_task_end(domain);
	itt_task_end(domain);
	record(child ? "parent" : "child", tasks);
	if (!child)
		_exit(0);
	return waitpid(child, &status, 0) != child || status;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	struct rlimit no_core = {0, 0};

	setrlimit(RLIMIT_CORE, &no_core);
	tasks = argc > 2 ? strtol(argv[argc - 1], NULL, 10) : 0;
	itt_part_load();
	domain = itt_domain_create("life");
	if (!strcmp(mode, "churn"))
		return churn(strtol(argv[2], NULL, 10));
	if (!strcmp(mode, "fork"))
		return fork_inside();
	record("before", tasks);
	itt_task_begin(domain, itt_string_handle_create("open"));
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "kill"))
		raise(SIGKILL);
	if (!strcmp(mode, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
	if (!strcmp(mode, "quick")) {
		late = tasks;
		at_quick_exit(at_the_end);
		quick_exit(7);
	}
	end_in_stages();
	if (!strcmp(mode, "exit"))
		exit(7);
	return 7;
}
