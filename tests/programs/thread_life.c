// SPDX-License-Identifier: Apache-2.0
//
// Threads and processes that come and go in unkind ways, each recording a known number of tasks.
// usage: thread_life many N TASKS | live N TASKS | outlive N TASKS | exit TASKS | exec TASKS |
//        fork CHILDREN TASKS | raw CHILDREN TASKS | steady SECONDS PROGRESS-FILE END-FILE
// steady forks all the time while two threads record label_0, label_1 …; it keeps the progress file
// that itt_target --help describes, and prints {"pairs": N}.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "itt_static_part.h"

static struct itt_domain *domain;
static long tasks;
static pthread_barrier_t gate;
static volatile int stop;

static void record(const char *name, long count)
{
	struct itt_string_handle *handle = itt_string_handle_create(name);

	for (long i = 0; i < count; i++) {
		itt_task_begin(domain, handle);
		itt_task_end(domain);
	}
}

static void breathe(void)
{
	nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void *short_thread(void *arg)
{
	(void)arg;
	record("thread", tasks);
	return NULL;
}

/* N threads one after the other, four at a time. */
static int many(long count)
{
	for (long done = 0; done < count; done += 4) {
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			if (pthread_create(&threads[i], NULL, short_thread, NULL))
				return 1;
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

static void *live_thread(void *arg)
{
	(void)arg;
	record("live", tasks);
	pthread_barrier_wait(&gate); /* all are alive and have recorded */
	record("live", tasks);
	pthread_barrier_wait(&gate);
	return NULL;
}

static int live(long count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_barrier_init(&gate, NULL, (unsigned int)count);
	for (long i = 0; threads && i < count; i++)
		if (pthread_create(&threads[i], &attr, live_thread, NULL))
			return 1;
	for (long i = 0; threads && i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}

static void *late_thread(void *arg)
{
	char path[64];
	char state = '?';

	(void)arg;
	/* Main is gone when its thread shows as a zombie. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	while (state != 'Z') {
		char line[256] = "";
		int file = open(path, O_RDONLY | O_CLOEXEC);
		char *end;

		if (file < 0)
			break;
		if (read(file, line, sizeof(line) - 1) > 0 && (end = strrchr(line, ')')))
			state = end[2];
		close(file);
		breathe();
	}
	record("after main", tasks);
	return NULL;
}

static int outlive(long count)
{
	record("main", tasks);
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, late_thread, NULL))
			return 1;
		pthread_detach(thread);
	}
	pthread_exit(NULL);
}

static void *exiting_thread(void *arg)
{
	(void)arg;
	record("thread", tasks);
	_exit(6);
}

static int exit_from_thread(void)
{
	pthread_t thread;

	record("main", tasks);
	itt_task_begin(domain, itt_string_handle_create("open at exit"));
	if (pthread_create(&thread, NULL, exiting_thread, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 1;
}

static int exec_in_task(char **argv)
{
	record("before exec", tasks);
	itt_task_begin(domain, itt_string_handle_create("cut by exec"));
	execl(argv[0], argv[0], "many", "4", argv[2], NULL);
	return 1;
}

static long recorded[2];

static void *recorder(void *arg)
{
	long *count = arg;

	while (!stop) {
		record("recorder", 10);
		*count += 10;
		breathe();
	}
	return NULL;
}

/* Forks while two other threads record; a raw clone is seen by no atfork handler. */
static int fork_while_recording(long children, bool raw)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, recorder, &recorded[i]))
			return 1;
	for (long i = 0; i < children; i++) {
		pid_t child =
			raw ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
		int status;

		if (child == 0) {
			record("child", tasks);
			if (i % 2)
				kill((pid_t)syscall(SYS_getpid), SIGKILL);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 1;
		record("parent", tasks);
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("recorder %ld\n", recorded[0] + recorded[1]);
	return 0;
}

enum { PROGRESS_RECORDS = 1 << 16, STEADY_RATE = 4000 };

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Pairs closed and when: record 0 is the latest, the others one per ten milliseconds. */
struct steady {
	uint64_t (*records)[2];
	uint64_t pairs;
	size_t used;
};

static void note_progress(struct steady *steady)
{
	uint64_t time = now_ns();
	uint64_t last = steady->records[steady->used][1];

	steady->records[0][0] = steady->pairs;
	steady->records[0][1] = time;
	if ((!steady->used || time - last >= 10000000) && steady->used + 1 < PROGRESS_RECORDS) {
		steady->used++;
		steady->records[steady->used][0] = steady->pairs;
		steady->records[steady->used][1] = time;
	}
}

static void *steady_thread(void *arg)
{
	struct steady *steady = arg;
	uint64_t start = now_ns();

	while (!stop) {
		char label[32];

		snprintf(label, sizeof(label), "label_%lu", (unsigned long)steady->pairs);
		record(label, 1);
		steady->pairs++;
		note_progress(steady);
		while (!stop && (now_ns() - start) / 1000 * STEADY_RATE < steady->pairs * 1000000)
			nanosleep(&(struct timespec){0, 100000}, NULL);
	}
	return NULL;
}

static int steady_forks(double seconds, const char *path, const char *until)
{
	const size_t bytes = PROGRESS_RECORDS * 2 * sizeof(uint64_t);
	struct steady steady[2] = {0};
	pthread_t threads[2];
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	char *map;

	if (file < 0 || ftruncate(file, (off_t)(2 * bytes)))
		return 1;
	map = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < 2; i++) {
		steady[i].records = (uint64_t(*)[2])(void *)(map + i * bytes);
		if (pthread_create(&threads[i], NULL, steady_thread, &steady[i]))
			return 1;
	}
	while (now_ns() < end && access(until, F_OK)) {
		pid_t child = fork();

		if (child == 0) {
			record("child", 20);
			breathe();
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
		breathe();
	}
	stop = 1;
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"pairs\": %lu}\n", (unsigned long)(steady[0].pairs + steady[1].pairs));
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	tasks = argc > 3 ? strtol(argv[3], NULL, 10) : number;
	itt_part_load();
	domain = itt_domain_create("life");
	if (!strcmp(mode, "steady") && argc > 4)
		return steady_forks(strtod(argv[2], NULL), argv[3], argv[4]);
	if (!strcmp(mode, "many"))
		return many(number);
	if (!strcmp(mode, "live"))
		return live(number);
	if (!strcmp(mode, "outlive"))
		return outlive(number);
	if (!strcmp(mode, "exit"))
		return exit_from_thread();
	if (!strcmp(mode, "exec"))
		return exec_in_task(argv);
	if (!strcmp(mode, "fork"))
		return fork_while_recording(number, false);
	if (!strcmp(mode, "raw"))
		return fork_while_recording(number, true);
	fprintf(stderr, "thread_life: no such mode\n");
	return 2;
}
