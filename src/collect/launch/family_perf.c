// SPDX-License-Identifier: Apache-2.0
//
// The kernel's own news of the family: one inherited software event per processor that counts nothing
// and reports forks, execs, exits and mapped files. It needs no rights over one's own processes unless
// perf_event_paranoid is above 2. Rings are per processor, so records are put in order of time before
// they are believed.
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/rt/clock.h"
#include "collect/launch/family_state.h"

enum {
	RING_PAGES = 32,
	RING_PAGES_MIN = 8,
	WAITING_MAX_BYTES = 16 << 20,
	ID_BYTES = 16, /* pid, tid, time behind every record */
};

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size_bytes;
	size_t map_bytes;
};

struct waiting { /* a record that is read but not yet believed */
	uint64_t time;
	size_t offset;
};

struct st_family_perf {
	struct cpu_ring *rings;
	int ring_count;
	struct st_buf bytes;
	struct waiting *waiting;
	size_t waiting_count, waiting_capacity;
};

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

static int open_event(pid_t pid, int cpu)
{
	struct perf_event_attr attr = {0};

	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = sizeof(attr);
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.inherit = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC_RAW;
	return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool open_ring(struct cpu_ring *ring, pid_t pid, int cpu)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	ring->fd = open_event(pid, cpu);
	if (ring->fd < 0)
		return false;
	for (size_t pages = RING_PAGES; pages >= RING_PAGES_MIN; pages /= 2) {
		void *map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED,
				 ring->fd, 0);

		if (map == MAP_FAILED)
			continue;
		ring->page = map;
		ring->data = (const uint8_t *)map + page;
		ring->size_bytes = pages * page;
		ring->map_bytes = (pages + 1) * page;
		return true;
	}
	return false;
}

bool st_family_perf_possible(void)
{
	struct st_family_perf *perf = st_family_perf_create(getpid());
	bool possible = perf != NULL;
	int code = errno;

	st_family_perf_destroy(perf);
	errno = code;
	return possible;
}

struct st_family_perf *st_family_perf_create(pid_t pid)
{
	struct st_family_perf *perf = calloc(1, sizeof(*perf));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!perf || cpus <= 0)
		goto fail;
	perf->rings = calloc((size_t)cpus, sizeof(*perf->rings));
	if (!perf->rings)
		goto fail;
	st_buf_init(&perf->bytes, WAITING_MAX_BYTES);
	for (int cpu = 0; cpu < cpus; cpu++) {
		struct cpu_ring *ring = &perf->rings[perf->ring_count];

		if (open_ring(ring, pid, cpu)) {
			perf->ring_count++;
		} else if (ring->fd >= 0) {
			/* A processor without a ring would hide what happens on it. */
			close(ring->fd);
			goto fail;
		}
	}
	if (perf->ring_count)
		return perf;
fail:
	st_family_perf_destroy(perf);
	return NULL;
}

void st_family_perf_destroy(struct st_family_perf *perf)
{
	if (!perf)
		return;
	for (int i = 0; i < perf->ring_count; i++) {
		munmap(perf->rings[i].page, perf->rings[i].map_bytes);
		close(perf->rings[i].fd);
	}
	free(perf->rings);
	free(perf->waiting);
	st_buf_fini(&perf->bytes);
	free(perf);
}

static bool add_waiting(struct st_family_perf *perf, size_t offset, uint64_t time)
{
	if (perf->waiting_count == perf->waiting_capacity) {
		size_t capacity = perf->waiting_capacity ? perf->waiting_capacity * 2 : 256;
		struct waiting *more = realloc(perf->waiting, capacity * sizeof(*more));

		if (!more)
			return false;
		perf->waiting = more;
		perf->waiting_capacity = capacity;
	}
	perf->waiting[perf->waiting_count++] = (struct waiting){.time = time, .offset = offset};
	return true;
}

static void copy_out(const struct cpu_ring *ring, uint64_t at, uint8_t *out, size_t bytes)
{
	size_t offset = (size_t)(at & (ring->size_bytes - 1));
	size_t first = (size_t)ring->size_bytes - offset;

	if (first > bytes)
		first = bytes;
	memcpy(out, ring->data + offset, first);
	memcpy(out + first, ring->data, bytes - first);
}

/* Copies every record of a ring into the waiting list. */
static void read_ring(struct st_family *family, struct cpu_ring *ring)
{
	struct st_family_perf *perf = family->perf;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (tail < head) {
		struct perf_event_header header;
		size_t offset = perf->bytes.size_bytes;
		uint64_t time;

		copy_out(ring, tail, (uint8_t *)&header, sizeof(header));
		if (header.size < sizeof(header) + ID_BYTES)
			break;
		if (!st_buf_reserve(&perf->bytes, header.size)) {
			family->lost++;
			perf->bytes.failed = false;
		} else {
			copy_out(ring, tail, perf->bytes.data + offset, header.size);
			memcpy(&time, perf->bytes.data + offset + header.size - 8, sizeof(time));
			/* Sizes are multiples of 8, so records stay aligned in the buffer. */
			if (add_waiting(perf, offset, time))
				perf->bytes.size_bytes += header.size;
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static void tell_created(struct st_family *family, const struct record_ids *ids, uint64_t time)
{
	struct st_family_thread thread = {.pid = (pid_t)ids->pid,
					  .tid = (pid_t)ids->tid,
					  .creator = (pid_t)ids->parent_tid,
					  .mono_raw_ns = time};

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

static void believe(struct st_family *family, const uint8_t *bytes, uint64_t time)
{
	const struct perf_event_header *header = (const void *)bytes;
	const struct record_ids *ids = (const void *)bytes;
	const struct record_comm *comm = (const void *)bytes;
	const struct record_mmap2 *map = (const void *)bytes;

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
		break;
	case PERF_RECORD_MMAP2:
		st_member_mapped(family, (pid_t)map->pid, map->path);
		tell_mapped(family, map, time);
		break;
	case PERF_RECORD_LOST:
		family->lost++;
		break;
	default:
		break;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Moves what stays waiting to the front of the buffer. */
static void keep_rest(struct st_family_perf *perf, size_t done)
{
	struct st_buf rest;
	size_t kept = 0;

	st_buf_init(&rest, WAITING_MAX_BYTES);
	for (size_t i = done; i < perf->waiting_count; i++) {
		const struct perf_event_header *header =
			(const void *)(perf->bytes.data + perf->waiting[i].offset);
		size_t offset = rest.size_bytes;

		if (!st_buf_append(&rest, header, header->size))
			break;
		perf->waiting[kept++] =
			(struct waiting){.time = perf->waiting[i].time, .offset = offset};
	}
	perf->waiting_count = kept;
	st_buf_fini(&perf->bytes);
	perf->bytes = rest;
}

void st_family_perf_poll(struct st_family *family, bool all)
{
	struct st_family_perf *perf = family->perf;
	/* Read before the rings: whatever is older has arrived in all of them. */
	uint64_t until = st_clock_mono_raw_ns();
	size_t done = 0;

	for (int i = 0; i < perf->ring_count; i++)
		read_ring(family, &perf->rings[i]);
	if (!perf->waiting_count)
		return;
	qsort(perf->waiting, perf->waiting_count, sizeof(*perf->waiting), by_time);
	while (done < perf->waiting_count && (all || perf->waiting[done].time <= until)) {
		believe(family, perf->bytes.data + perf->waiting[done].offset,
			perf->waiting[done].time);
		done++;
	}
	if (done == perf->waiting_count) {
		perf->waiting_count = 0;
		st_buf_clear(&perf->bytes);
	} else if (done) {
		keep_rest(perf, done);
	}
}
