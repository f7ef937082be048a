// SPDX-License-Identifier: Apache-2.0
//
// Rings are per processor because an inherited event cannot have another kind; the first event of a processor
// owns its ring and later ones write into it. Records of different rings are put in order of time before
// anybody sees them: what is older than the moment before the rings were read has arrived in all of them.
#include "collect/host/perf_rings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "base/rt/clock.h"

enum {
	PAGES_MIN = 8,
	ID_BYTES = 16, /* pid, tid, time behind every record that is no sample */
	WAITING_MAX_BYTES = 256 << 20,
};

struct cpu_ring {
	int cpu;
	int fd; /* of the event that owns the ring; -1: none yet */
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size_bytes;
	size_t map_bytes;
	pthread_mutex_t lock; /* what is looked at is not given back to the kernel meanwhile */
};

struct waiting {
	uint64_t time;
	size_t offset;
};

struct st_perf_rings {
	struct perf_event_attr attr;
	uint32_t ring_pages;
	size_t time_offset; /* of the time in a sample */
	struct cpu_ring *rings;
	uint32_t ring_count;
	int *more; /* events beyond those that own a ring */
	uint32_t more_count, more_capacity;
	struct st_buf bytes;
	struct waiting *waiting;
	uint32_t waiting_count, waiting_capacity;
	uint64_t read_ns; /* everything older has been read */
	uint64_t hold_ns; /* records younger than this are not handed on yet */
	uint64_t lost;
};

enum st_status st_perf_rings_create(struct st_perf_rings **out, const struct perf_event_attr *attr,
				    uint32_t ring_pages, struct st_error *err)
{
	struct st_perf_rings *rings = calloc(1, sizeof(*rings));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t count = cpus > 0 ? (uint32_t)cpus : 1;

	*out = NULL;
	if (rings)
		rings->rings = calloc(count, sizeof(*rings->rings));
	if (!rings || !rings->rings) {
		free(rings);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	for (uint32_t i = 0; i < count; i++) {
		rings->rings[i] = (struct cpu_ring){.cpu = (int)i, .fd = -1};
		pthread_mutex_init(&rings->rings[i].lock, NULL);
	}
	rings->ring_count = count;
	rings->attr = *attr;
	rings->attr.size = sizeof(rings->attr);
	rings->ring_pages = ring_pages;
	rings->time_offset = sizeof(struct perf_event_header) +
			     ((attr->sample_type & PERF_SAMPLE_IP) ? 8 : 0) + 8;
	st_buf_init(&rings->bytes, WAITING_MAX_BYTES);
	*out = rings;
	return ST_OK;
}

void st_perf_rings_destroy(struct st_perf_rings *rings)
{
	if (!rings)
		return;
	for (uint32_t i = 0; i < rings->more_count; i++)
		close(rings->more[i]);
	for (uint32_t i = 0; i < rings->ring_count; i++) {
		if (rings->rings[i].page)
			munmap(rings->rings[i].page, rings->rings[i].map_bytes);
		if (rings->rings[i].fd >= 0)
			close(rings->rings[i].fd);
		pthread_mutex_destroy(&rings->rings[i].lock);
	}
	free(rings->rings);
	free(rings->more);
	free(rings->waiting);
	st_buf_fini(&rings->bytes);
	free(rings);
}

/* Threads times processors: more descriptors than the usual soft limit. */
static bool raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EMFILE && raise_descriptor_limit())
		fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd;
}

static bool map_ring(struct cpu_ring *ring, uint32_t wanted_pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t pages = wanted_pages; pages >= PAGES_MIN; pages /= 2) {
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

static bool keep_event(struct st_perf_rings *rings, int fd)
{
	return ST_VEC_PUSH(rings->more, rings->more_count, rings->more_capacity, fd);
}

/* A new event of a processor: the first owns the ring, the others join it. */
static bool place_event(struct st_perf_rings *rings, struct cpu_ring *ring, int fd)
{
	if (ring->fd >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0 && keep_event(rings, fd);
	ring->fd = fd;
	if (map_ring(ring, rings->ring_pages))
		return true;
	ring->fd = -1;
	return false;
}

enum st_status st_perf_rings_add(struct st_perf_rings *rings, pid_t tid, struct st_error *err)
{
	uint32_t opened = 0;

	for (uint32_t i = 0; i < rings->ring_count; i++) {
		int fd = open_event(&rings->attr, tid, rings->rings[i].cpu);

		if (fd < 0 && errno == ENODEV) /* this processor is off */
			continue;
		if (fd < 0)
			return st_error_set(err, errno == ESRCH ? ST_ENOTFOUND : ST_EUNSUPPORTED,
					    errno, "perf_event_open on thread %d", (int)tid);
		if (!place_event(rings, &rings->rings[i], fd)) {
			int code = errno;

			close(fd);
			return st_error_set(err, ST_EUNSUPPORTED, code,
					    "cannot map the perf event buffer of CPU %d",
					    rings->rings[i].cpu);
		}
		opened++;
	}
	return opened ? ST_OK : st_error_set(err, ST_EUNSUPPORTED, 0, "no CPU to watch");
}

void st_perf_rings_enable(struct st_perf_rings *rings, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (uint32_t i = 0; i < rings->ring_count; i++)
		if (rings->rings[i].fd >= 0)
			(void)ioctl(rings->rings[i].fd, request, 0);
	for (uint32_t i = 0; i < rings->more_count; i++)
		(void)ioctl(rings->more[i], request, 0);
}

static bool add_waiting(struct st_perf_rings *rings, size_t offset, uint64_t time)
{
	return ST_VEC_PUSH(rings->waiting, rings->waiting_count, rings->waiting_capacity,
			   (struct waiting){.time = time, .offset = offset});
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

/* False: the record has no time, so nothing can be done with it. */
static bool record_time(const struct st_perf_rings *rings, const uint8_t *bytes, uint64_t *out)
{
	const struct perf_event_header *header = (const void *)bytes;
	size_t at =
		header->type == PERF_RECORD_SAMPLE ? rings->time_offset : (size_t)header->size - 8;

	if (header->size < sizeof(*header) + ID_BYTES || at + 8 > header->size)
		return false;
	memcpy(out, bytes + at, sizeof(*out));
	return true;
}

static void count_lost(struct st_perf_rings *rings, const uint8_t *bytes)
{
	uint64_t lost;

	/* Header, u64 id, u64 how many. */
	memcpy(&lost, bytes + sizeof(struct perf_event_header) + 8, sizeof(lost));
	rings->lost += lost;
}

static void read_ring(struct st_perf_rings *rings, struct cpu_ring *ring)
{
	uint64_t head, tail;

	pthread_mutex_lock(&ring->lock);
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	tail = ring->page->data_tail;
	while (tail < head) {
		struct perf_event_header header;
		size_t offset = rings->bytes.size_bytes;
		uint64_t time = 0;

		copy_out(ring, tail, (uint8_t *)&header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		tail += header.size;
		if (!st_buf_reserve(&rings->bytes, header.size)) {
			rings->lost++;
			rings->bytes.failed = false;
			continue;
		}
		/* Sizes are multiples of 8, so records stay aligned in the buffer. */
		copy_out(ring, tail - header.size, rings->bytes.data + offset, header.size);
		if (header.type == PERF_RECORD_LOST && header.size >= sizeof(header) + ID_BYTES)
			count_lost(rings, rings->bytes.data + offset);
		else if (record_time(rings, rings->bytes.data + offset, &time) &&
			 add_waiting(rings, offset, time))
			rings->bytes.size_bytes += header.size;
		else
			rings->lost++;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ring->lock);
}

int st_perf_rings_fd(const struct st_perf_rings *rings, uint32_t ring)
{
	return rings->rings[ring].page ? rings->rings[ring].fd : -1;
}

uint32_t st_perf_rings_count(const struct st_perf_rings *rings)
{
	return rings->ring_count;
}

bool st_perf_rings_newest(struct st_perf_rings *rings, uint32_t index, uint64_t *position,
			  struct st_perf_newest *out)
{
	struct cpu_ring *ring = &rings->rings[index];
	uint64_t head, at;
	bool found = false;

	pthread_mutex_lock(&ring->lock);
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	at = ring->page->data_tail > *position ? ring->page->data_tail : *position;
	while (at < head) {
		struct perf_event_header header;
		uint8_t bytes[64];

		copy_out(ring, at, (uint8_t *)&header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		if (header.type == PERF_RECORD_SAMPLE && header.size >= sizeof(bytes)) {
			copy_out(ring, at, bytes, sizeof(bytes));
			memcpy(&out->tid, bytes + rings->time_offset - 4, sizeof(out->tid));
			memcpy(&out->time, bytes + rings->time_offset, sizeof(out->time));
			found = true;
		}
		at += header.size;
	}
	*position = at;
	pthread_mutex_unlock(&ring->lock);
	return found;
}

static int by_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Moves what stays waiting to the front of the buffer. */
static void keep_rest(struct st_perf_rings *rings, size_t done)
{
	struct st_buf rest;
	uint32_t kept = 0;

	st_buf_init(&rest, WAITING_MAX_BYTES);
	for (size_t i = done; i < rings->waiting_count; i++) {
		const struct perf_event_header *header =
			(const void *)(rings->bytes.data + rings->waiting[i].offset);
		size_t offset = rest.size_bytes;

		if (!st_buf_append(&rest, header, header->size)) {
			rings->lost += rings->waiting_count - i;
			break;
		}
		rings->waiting[kept++] =
			(struct waiting){.time = rings->waiting[i].time, .offset = offset};
	}
	rings->waiting_count = kept;
	st_buf_fini(&rings->bytes);
	rings->bytes = rest;
}

void st_perf_rings_hold(struct st_perf_rings *rings, uint64_t hold_ns)
{
	rings->hold_ns = hold_ns;
}

uint64_t st_perf_rings_read(struct st_perf_rings *rings)
{
	rings->read_ns = st_clock_mono_raw_ns();
	for (uint32_t i = 0; i < rings->ring_count; i++)
		if (rings->rings[i].page)
			read_ring(rings, &rings->rings[i]);
	if (rings->waiting_count)
		qsort(rings->waiting, rings->waiting_count, sizeof(*rings->waiting), by_time);
	return rings->read_ns;
}

static void tell(const struct st_perf_rings *rings, size_t index, st_perf_each each, void *arg)
{
	const uint8_t *bytes = rings->bytes.data + rings->waiting[index].offset;
	const struct perf_event_header *header = (const void *)bytes;

	each(arg, &(struct st_perf_record){.header = header,
					   .bytes = bytes,
					   .size_bytes = header->size,
					   .time = rings->waiting[index].time});
}

void st_perf_rings_look(const struct st_perf_rings *rings, st_perf_each each, void *arg)
{
	for (size_t i = 0; i < rings->waiting_count; i++)
		tell(rings, i, each, arg);
}

void st_perf_rings_hand_on(struct st_perf_rings *rings, bool all, st_perf_each each, void *arg)
{
	uint64_t until = rings->read_ns - rings->hold_ns;
	size_t done = 0;

	while (done < rings->waiting_count && (all || rings->waiting[done].time <= until))
		tell(rings, done++, each, arg);
	if (done == rings->waiting_count) {
		rings->waiting_count = 0;
		st_buf_clear(&rings->bytes);
	} else if (done) {
		keep_rest(rings, done);
	}
}

void st_perf_rings_poll(struct st_perf_rings *rings, bool all, st_perf_each each, void *arg)
{
	st_perf_rings_read(rings);
	st_perf_rings_hand_on(rings, all, each, arg);
}

const struct perf_event_attr *st_perf_rings_attr(const struct st_perf_rings *rings)
{
	return &rings->attr;
}

uint64_t st_perf_rings_lost(const struct st_perf_rings *rings)
{
	return rings->lost;
}
