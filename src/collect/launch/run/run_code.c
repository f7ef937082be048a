// SPDX-License-Identifier: Apache-2.0
//
// What the kernel reports about sampled processes on its own: mapped code and created threads, handed to the
// drain of the process; and unwind tables that the helper thread has ready.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/launch/family/family.h"
#include "collect/launch/run/run.h"
#include "collect/launch/drain/tables.h"
#include "format/analysis.h"

enum { MAPPINGS_KEPT = 512, PATH_BYTES = 512 };

struct st_mapping_news {
	pid_t pid; /* 0: told already */
	struct st_new_mapping mapping;
	char path[PATH_BYTES];
};

/* A program may end before its maps can be read: what the kernel told of it by then is kept for it. */
static void keep_mapping(struct st_run *run, pid_t pid, const struct st_new_mapping *mapping)
{
	struct st_mapping_news *news;

	if (mapping->path[0] != '/' || mapping->path[1] == '/' ||
	    strlen(mapping->path) >= PATH_BYTES)
		return;
	if (!run->mappings)
		run->mappings = calloc(MAPPINGS_KEPT, sizeof(*run->mappings));
	if (!run->mappings)
		return;
	news = &run->mappings[run->mapping_count++ % MAPPINGS_KEPT];
	news->pid = pid;
	news->mapping = *mapping;
	news->mapping.early = true;
	snprintf(news->path, sizeof(news->path), "%s", mapping->path);
}

/* The process in which this happened, as long as it is the same program. */
static struct st_followed *process_at(struct st_run *run, pid_t pid, uint64_t mono_raw_ns)
{
	struct st_followed *process = st_followed_live(&run->followed, pid);

	if (!process || !process->drain || mono_raw_ns < process->hello_ns ||
	    st_family_replaced(run->family, pid, process->hello_ns))
		return NULL;
	return process;
}

void st_run_mapped(void *arg, const struct st_family_mapping *mapping)
{
	struct st_run *run = arg;
	struct st_followed *process = process_at(run, mapping->pid, mapping->mono_raw_ns);
	struct st_new_mapping news = {.start = mapping->start,
				      .end = mapping->end,
				      .file_offset = mapping->file_offset,
				      .inode = mapping->inode,
				      .mono_raw_ns = mapping->mono_raw_ns,
				      .ticks = st_run_ticks_at(run, mapping->mono_raw_ns),
				      .path = mapping->path};

	if (!process)
		keep_mapping(run, mapping->pid, &news);
	else if (run->shared.tables)
		st_drain_mapped(process->drain, process->pid, &news);
}

static void tell_mappings(struct st_run *run, struct st_followed *process)
{
	uint64_t first =
		run->mapping_count > MAPPINGS_KEPT ? run->mapping_count - MAPPINGS_KEPT : 0;

	for (uint64_t i = first; i < run->mapping_count; i++) {
		struct st_mapping_news *news = &run->mappings[i % MAPPINGS_KEPT];

		if (news->pid != process->pid)
			continue;
		news->pid = 0;
		news->mapping.path = news->path;
		if (!st_family_replaced(run->family, process->pid, news->mapping.mono_raw_ns))
			st_drain_mapped(process->drain, process->pid, &news->mapping);
	}
}

void st_run_tell_mappings(struct st_run *run)
{
	for (uint32_t i = 0; run->mappings && i < run->followed.live_count; i++) {
		struct st_followed *process = run->followed.all[run->followed.live[i] - 1];

		bool direct = run->child_gone && process->pid == run->spawn.pid;

		if ((process->gone || direct) && process->drain &&
		    !st_drain_has_maps(process->drain))
			tell_mappings(run, process);
	}
}

static void tell_created(struct st_run *run, struct st_followed *process,
			 const struct st_thread_news *news)
{
	/* The tids of the result are those of the program's namespace, the kernel's are ours. */
	if (process->same_namespace)
		st_drain_thread_created(process->drain, (uint32_t)news->tid,
					(uint32_t)news->creator,
					st_run_ticks_at(run, news->mono_raw_ns));
}

void st_run_created(void *arg, const struct st_family_thread *thread)
{
	struct st_run *run = arg;
	struct st_thread_news news = {.pid = thread->pid,
				      .tid = thread->tid,
				      .creator = thread->creator,
				      .mono_raw_ns = thread->mono_raw_ns};
	struct st_followed *process = process_at(run, thread->pid, thread->mono_raw_ns);

	if (!(run->config->analysis->records & ST_RECORDS_SAMPLES))
		return;
	st_followed_thread_created(&run->followed, thread);
	if (process) {
		tell_created(run, process, &news);
		return;
	}
	if (!run->threads)
		run->threads = calloc(ST_RUN_THREADS_KEPT, sizeof(*run->threads));
	if (run->threads)
		run->threads[run->thread_count++ % ST_RUN_THREADS_KEPT] = news;
}

void st_run_tell_threads(struct st_run *run, pid_t pid)
{
	struct st_followed *process = st_followed_live(&run->followed, pid);
	uint64_t first = run->thread_count > ST_RUN_THREADS_KEPT
				 ? run->thread_count - ST_RUN_THREADS_KEPT
				 : 0;

	if (!run->threads || !process || !process->drain)
		return;
	for (uint64_t i = first; i < run->thread_count; i++) {
		struct st_thread_news *news = &run->threads[i % ST_RUN_THREADS_KEPT];

		if (news->pid != pid)
			continue;
		tell_created(run, process, news);
		news->pid = 0;
	}
}

void st_run_take_tables(struct st_run *run)
{
	struct st_table_answer answer;

	while (run->shared.tables && st_tables_next(run->shared.tables, &answer)) {
		struct st_followed *process =
			answer.process && answer.process <= run->followed.count
				? run->followed.all[answer.process - 1]
				: NULL;

		if (process && process->drain)
			st_drain_table_answer(process->drain, &answer);
	}
}
