// SPDX-License-Identifier: Apache-2.0
//
// What threads are called, found out from outside: by the kernel's records of new names and in /proc, and in the memory of a
// Python program (threading._active, and what multiprocessing calls the process). Nothing runs in the program
// for it. Threads are looked at soon after they have begun to record and then four times a second, since names change.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/host/outside.h"
#include "collect/host/outside_python.h"
#include "collect/launch/run/run.h"

enum { COMM_BYTES = 32, NAME_BYTES = 256, LOOKS_FOR_PYTHON = 8, SHARE_OF_TIME = 50 };

/* Not before the program has set itself up; then as soon as a thread is new; at the latest. */
static const uint64_t first_ns = 100000000u, soon_ns = 20000000u, late_ns = 250000000u;

struct st_named_process {
	uint32_t process; /* id of the followed process */
	uint32_t tracks;  /* at the last look */
	uint32_t looks;
	uint64_t next_ns; /* not before */
	uint64_t late_ns; /* even if no thread is new */
	struct st_outside_python *python;
};

/* A program that strata started knows its threads by the numbers that they have for itself. */
static const struct st_outside_options inner = {.inner_tids = true}, outer;

static uint32_t main_tid(const struct st_followed *process)
{
	return process->own_pid ? process->own_pid : (uint32_t)process->pid;
}

static bool read_comm(pid_t pid, pid_t tid, char *out)
{
	char path[64];
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (file) {
		size = fread(out, 1, COMM_BYTES - 1, file);
		fclose(file);
	}
	out[size] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return out[0] != '\0';
}

struct comm_look {
	struct st_followed *process;
	char own[COMM_BYTES]; /* of the main thread: new threads begin with it */
};

static void name_by_comm(void *arg, uint32_t tid)
{
	const struct comm_look *look = arg;
	char comm[COMM_BYTES];

	if (tid != (uint32_t)look->process->pid &&
	    read_comm(look->process->pid, (pid_t)tid, comm) && strcmp(comm, look->own) != 0)
		st_drain_name_thread(look->process->drain, tid, ST_NAME_KERNEL, comm, strlen(comm));
}

static void name_by_python(void *arg, uint32_t tid, const char *name, uint32_t name_bytes)
{
	struct st_followed *process = arg;

	st_drain_name_thread(process->drain, tid, ST_NAME_PYTHON, name, name_bytes);
}

static void look_at_python(const struct st_run *run, struct st_named_process *named,
			   struct st_followed *process)
{
	char name[NAME_BYTES];
	uint32_t version, size;

	/* An interpreter that is slow to start is looked for again, now and then. */
	if (!named->python &&
	    (named->looks <= LOOKS_FOR_PYTHON || named->looks % LOOKS_FOR_PYTHON == 0))
		named->python = st_outside_python_create(process->pid,
							 run->attach ? &outer : &inner, &version);
	if (!named->python)
		return;
	st_outside_python_names(named->python, name_by_python, process);
	size = process->flags & ST_PROCESS_FORKED
		       ? st_outside_python_process_name(named->python, name, sizeof(name))
		       : 0;
	if (size)
		st_drain_name_thread(process->drain, main_tid(process), ST_NAME_PYTHON, name, size);
}

static void look(const struct st_run *run, struct st_named_process *named,
		 struct st_followed *process)
{
	struct comm_look comms = {.process = process};

	named->looks++;
	/* Thread ids of another pid namespace mean other threads here. */
	if (process->same_namespace && read_comm(process->pid, process->pid, comms.own))
		st_drain_each_nameless(process->drain, ST_NAME_KERNEL, name_by_comm, &comms);
	look_at_python(run, named, process);
	st_drain_name_pools(process->drain, main_tid(process));
}

static struct st_named_process *named_of(struct st_run *run, const struct st_followed *process,
					 uint64_t now_ns)
{
	for (uint32_t i = 0; i < run->named_count; i++)
		if (run->named[i].process == process->id)
			return &run->named[i];
	if (!ST_VEC_PUSH(run->named, run->named_count, run->named_capacity,
			 (struct st_named_process){.process = process->id,
						   .next_ns = now_ns + first_ns}))
		return NULL;
	return &run->named[run->named_count - 1];
}

/* Those that have ended. */
static void forget_ended(struct st_run *run)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < run->named_count; i++) {
		const struct st_followed *process = run->followed.all[run->named[i].process - 1];

		if (process->drain)
			run->named[kept++] = run->named[i];
		else
			st_outside_python_destroy(run->named[i].python);
	}
	run->named_count = kept;
}

void st_run_name_threads(struct st_run *run, uint64_t now_ns)
{
	if (run->stopped || !run->writer)
		return;
	forget_ended(run);
	for (uint32_t i = 0; i < run->followed.live_count; i++) {
		struct st_followed *process = run->followed.all[run->followed.live[i] - 1];
		struct st_named_process *named;
		uint32_t tracks = process->drain ? st_drain_tracks(process->drain) : 0;
		uint64_t began = st_run_cpu_ns(), took;

		if (!tracks || process->gone)
			continue;
		named = named_of(run, process, now_ns);
		if (!named || now_ns < named->next_ns ||
		    (tracks == named->tracks && now_ns < named->late_ns))
			continue;
		named->tracks = tracks;
		look(run, named, process);
		/* On a busy machine a look may last long that costs little; names change meanwhile. */
		took = (st_run_cpu_ns() - began) * SHARE_OF_TIME;
		named->next_ns = now_ns + (took > soon_ns ? took : soon_ns);
		named->late_ns = now_ns + (took > late_ns ? took : late_ns);
	}
}

void st_run_renamed(void *arg, pid_t pid, pid_t tid, const char *name)
{
	struct st_run *run = arg;
	struct st_followed *process = st_followed_live(&run->followed, pid);

	if (process && process->drain && process->same_namespace)
		st_drain_name_thread(process->drain, (uint32_t)tid, ST_NAME_KERNEL, name,
				     strlen(name));
}

void st_run_forget_names(struct st_run *run)
{
	for (uint32_t i = 0; i < run->named_count; i++)
		st_outside_python_destroy(run->named[i].python);
	free(run->named);
	run->named = NULL;
	run->named_count = 0;
}
