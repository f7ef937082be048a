// SPDX-License-Identifier: Apache-2.0
//
// How many threads of the family want a CPU at a time: the kernel counts for each thread for how long it ran and for how
// long it was ready to run and waited for a CPU (/proc/PID/task/TID/schedstat). Read from outside, a few times a
// second, so that it costs the program nothing. Together, divided by the time that went by, these are the threads that
// wanted to run.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/launch/run/run.h"
#include "format/analysis.h"

enum {
	THREADS_MAX = 4096, /* in a look; with more of them nothing is told */
	COST_FACTOR = 500,  /* a look may take one part in so many of the time */
	WINDOWS_ALIKE =
		1000, /* then windows grow with the run, so that there are never many of them */
};

static const uint64_t window_min_ns = 100000000u, polled_ns = 50000000u;

struct thread_time {
	uint32_t tid, pid;
	uint64_t cpu_ns, delay_ns;
};

struct thread_list {
	struct thread_time *items;
	uint32_t count, capacity;
};

struct st_demand_watch {
	struct thread_list before, now;
	uint64_t looked_ns, looked_ticks; /* 0: not yet */
	uint64_t began_ns, window_ns;
};

void st_run_open_demand(struct st_run *run)
{
	if (run->config->analysis->records & ST_RECORDS_SAMPLES)
		run->demand = calloc(1, sizeof(*run->demand));
}

void st_run_close_demand(struct st_run *run)
{
	if (!run->demand)
		return;
	free(run->demand->before.items);
	free(run->demand->now.items);
	free(run->demand);
	run->demand = NULL;
}

uint64_t st_run_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_time *one = a, *other = b;

	return (one->tid > other->tid) - (one->tid < other->tid);
}

/* False: the kernel does not tell, or there are too many. A thread that has just ended is no matter. */
static bool add_thread(struct thread_list *list, int tasks, const char *name, pid_t pid)
{
	struct thread_time time = {.tid = (uint32_t)strtoul(name, NULL, 10), .pid = (uint32_t)pid};
	char path[64], text[96], *end;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%.20s/schedstat", name);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return faccessat(tasks, name, F_OK, 0) != 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return true;
	text[length] = '\0';
	time.cpu_ns = strtoull(text, &end, 10);
	if (end == text || *end != ' ')
		return false;
	time.delay_ns = strtoull(end + 1, NULL, 10);
	return list->count < THREADS_MAX &&
	       ST_VEC_PUSH(list->items, list->count, list->capacity, time);
}

static bool add_process(struct thread_list *list, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	bool good = true;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return true;
	while (good && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			good = add_thread(list, dirfd(folder), entry->d_name, pid);
	closedir(folder);
	return good;
}

static bool look(const struct st_run *run, struct thread_list *list)
{
	const struct st_followed_table *table = &run->followed;

	list->count = 0;
	for (uint32_t i = 0; i < table->live_count; i++)
		if (!add_process(list, table->all[table->live[i] - 1]->pid))
			return false;
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_tid);
	return true;
}

/* What a thread did since the look before; one that was not there then has done all of it since. A number that another
 * thread had before begins anew. */
static struct thread_time since(const struct st_demand_watch *watch, const struct thread_time *now,
				bool *is_new)
{
	const struct thread_time *before =
		watch->before.count ? bsearch(now, watch->before.items, watch->before.count,
					      sizeof(*now), by_tid)
				    : NULL;
	struct thread_time did = *now;

	*is_new = !before || before->cpu_ns > now->cpu_ns || before->delay_ns > now->delay_ns ||
		  before->pid != now->pid;
	if (!*is_new) {
		did.cpu_ns -= before->cpu_ns;
		did.delay_ns -= before->delay_ns;
	}
	return did;
}

/* Of all of them; and of each, where nobody else tells what it did. */
static struct thread_time since_all(struct st_run *run, uint64_t now_ns)
{
	const struct st_demand_watch *watch = run->demand;
	struct thread_time sum = {0};
	bool is_new;

	for (uint32_t i = 0; i < watch->now.count; i++) {
		struct thread_time did = since(watch, &watch->now.items[i], &is_new);

		sum.cpu_ns += did.cpu_ns;
		sum.delay_ns += did.delay_ns;
		st_run_take_polled(run, &(struct st_polled){.pid = did.pid,
							    .tid = did.tid,
							    .begin_ns = watch->looked_ns,
							    .end_ns = now_ns,
							    .ran_ns = did.cpu_ns,
							    .delay_ns = did.delay_ns,
							    .is_new = is_new});
	}
	return sum;
}

static void write_window(struct st_run *run, uint64_t ticks, uint64_t now_ns)
{
	const struct st_demand_watch *watch = run->demand;
	struct thread_time sum = since_all(run, now_ns);
	struct st_buf record;
	size_t begin;

	st_buf_init(&record, 1 << 10);
	begin = st_definition_begin(&record, ST_DEF_FAMILY_DEMAND);
	st_buf_append_u64(&record, watch->looked_ticks);
	st_buf_append_u64(&record, ticks);
	st_buf_append_u64(&record, sum.cpu_ns);
	st_buf_append_u64(&record, sum.delay_ns);
	st_buf_append_u32(&record, watch->now.count);
	st_definition_end(&record, begin);
	st_run_family_record(run, &record);
	st_buf_fini(&record);
}

void st_run_watch_demand(struct st_run *run, uint64_t now_ns)
{
	struct st_demand_watch *watch = run->demand;
	struct thread_list list;
	uint64_t ticks, cost_ns;

	if (!watch || run->stopped || run->finished)
		return;
	if (!run->writer) { /* between two results: what goes on then is in none of them */
		watch->looked_ns = 0;
		return;
	}
	if (watch->looked_ns && now_ns - watch->looked_ns < watch->window_ns)
		return;
	cost_ns = st_run_cpu_ns();
	ticks = st_launch_clock_now(run->clock);
	if (!look(run, &watch->now)) {
		st_run_close_demand(run); /* and no claim is made of what it would have told */
		return;
	}
	if (watch->looked_ns)
		write_window(run, ticks, now_ns);
	else
		watch->began_ns = now_ns;
	list = watch->before;
	watch->before = watch->now;
	watch->now = list;
	watch->looked_ns = now_ns;
	watch->looked_ticks = ticks;
	cost_ns = st_run_cpu_ns() - cost_ns;
	watch->window_ns = (now_ns - watch->began_ns) / WINDOWS_ALIKE;
	if (watch->window_ns < cost_ns * COST_FACTOR)
		watch->window_ns = cost_ns * COST_FACTOR;
	if (watch->window_ns < window_min_ns)
		watch->window_ns = window_min_ns;
	/* Waits are looked for in it. */
	if (st_run_is_polled(run) && watch->window_ns > polled_ns &&
	    polled_ns > cost_ns * COST_FACTOR)
		watch->window_ns = polled_ns;
}
