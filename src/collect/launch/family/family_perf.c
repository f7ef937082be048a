// SPDX-License-Identifier: Apache-2.0
//
// The kernel's own news of the family: a software event per processor that counts nothing and reports forks, execs,
// exits and mapped files (collect/host/perf_rings.h). Events that the family inherits need no rights over one's own
// processes unless perf_event_paranoid is above 2, but each thread inherits all of them, for 1 to 4 us each. So whoever may
// watch whole processors does, and passes over everybody else's processes.
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect/host/perf_rings.h"
#include "collect/launch/family/family_state.h"

enum { RING_PAGES = 32, RING_PAGES_OF_ALL = 128 };

struct record_ids { /* PERF_RECORD_FORK and _EXIT */
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct record_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

bool st_family_perf_possible(void)
{
	bool of_all;
	struct st_perf_rings *perf = st_family_perf_create(getpid(), &of_all);
	bool possible = perf != NULL;
	int code = errno;

	st_perf_rings_destroy(perf);
	errno = code;
	return possible;
}

static struct st_perf_rings *create(pid_t pid, bool inherit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.inherit = inherit,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};
	struct st_perf_rings *perf;
	struct st_error err = {0};

	if (!st_perf_rings_create(&perf, &attr, inherit ? RING_PAGES : RING_PAGES_OF_ALL, &err) &&
	    !st_perf_rings_add(perf, pid, &err))
		return perf;
	st_perf_rings_destroy(perf);
	errno = err.code;
	return NULL;
}

struct st_perf_rings *st_family_perf_create(pid_t pid, bool *of_all)
{
	struct st_perf_rings *perf = create(-1, false);

	*of_all = perf != NULL;
	return perf ? perf : create(pid, true);
}

static void tell_created(struct st_family *family, const struct record_ids *ids, uint64_t time)
{
	struct st_family_thread thread = {.pid = (pid_t)ids->pid,
					  .tid = (pid_t)ids->tid,
					  .creator = (pid_t)ids->parent_tid,
					  .mono_raw_ns = time};

	family->thread_count++;
	if (family->options.created)
		family->options.created(family->options.arg, &thread);
}

static void tell_mapped(struct st_family *family, const struct record_mmap2 *map, uint64_t time)
{
	struct st_family_mapping mapping = {.pid = (pid_t)map->pid,
					    .start = map->address,
					    .end = map->address + map->length,
					    .file_offset = map->offset,
					    .inode = map->inode,
					    .mono_raw_ns = time,
					    .path = map->path};

	if (family->options.mapped && (map->protection & PROT_EXEC))
		family->options.mapped(family->options.arg, &mapping);
}

/* Whether the record is about the family, where the events are about everybody. */
static bool is_ours(struct st_family *family, const struct record_ids *ids)
{
	const struct perf_event_header *header = &ids->header;

	if (!family->perf_of_all)
		return true;
	if (header->type != PERF_RECORD_FORK || ids->pid == ids->parent_pid)
		return st_member_find(family, (pid_t)ids->pid);
	if (st_member_find(family, (pid_t)ids->parent_pid))
		return true;
	/* The number of a member that is gone has a new owner. */
	st_member_forget(family, (pid_t)ids->pid);
	return false;
}

static void believe(void *arg, const struct st_perf_record *record)
{
	struct st_family *family = arg;
	const uint8_t *bytes = record->bytes;
	uint64_t time = record->time;
	const struct perf_event_header *header = (const void *)bytes;
	const struct record_ids *ids = (const void *)bytes;
	const struct record_comm *comm = (const void *)bytes;
	const struct record_mmap2 *map = (const void *)bytes;

	/* All of them begin with a process. */
	if (!is_ours(family, ids))
		return;
	switch (header->type) {
	case PERF_RECORD_FORK:
		if (ids->pid != ids->parent_pid)
			st_member_add(family, (pid_t)ids->pid, (pid_t)ids->parent_pid);
		else
			tell_created(family, ids, time);
		break;
	case PERF_RECORD_EXIT:
		if (ids->pid == ids->tid)
			st_member_exited(family, (pid_t)ids->pid);
		break;
	case PERF_RECORD_COMM:
		if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
			st_member_executed(family, (pid_t)comm->pid, comm->name, time);
		else if (family->options.renamed)
			family->options.renamed(family->options.arg, (pid_t)comm->pid,
						(pid_t)comm->tid, comm->name);
		break;
	case PERF_RECORD_MMAP2:
		st_member_mapped(family, (pid_t)map->pid, map->path);
		tell_mapped(family, map, time);
		break;
	default:
		break;
	}
}

void st_family_perf_poll(struct st_family *family, bool all)
{
	st_perf_rings_poll(family->perf, all, believe, family);
	family->lost = st_perf_rings_lost(family->perf);
}
