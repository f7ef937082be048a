/* SPDX-License-Identifier: Apache-2.0
 *
 * What the micro benchmarks of the collector share: a minimal strata inside the benchmark that takes
 * the segment and empties the rings between bursts, loading the collector, and statistics.
 */
#ifndef ST_BENCH_MICRO_COLLECTOR_H
#define ST_BENCH_MICRO_COLLECTOR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../tests/programs/itt_static_part.h"
#include "base/rt/clock.h"
#include "format/shm.h"

static int micro_listener;
static struct st_shm_header *micro_header;

static inline void micro_fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Listens on an abstract name and loads the collector; `path` is the library. */
static inline void micro_load(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];
	int length = snprintf(name, sizeof(name), "strata-bench-%d", (int)getpid());

	memcpy(address.sun_path + 1, name, (size_t)length);
	micro_listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(micro_listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ||
	    listen(micro_listener, 8))
		micro_fail("bind");
	unsetenv("STRATA_SOCK");
	setenv("STRATA_ABS", name, 1);
	setenv("STRATA_CONFIG", "clock=tsc", 1);
	setenv("INTEL_LIBITTNOTIFY64", path, 1);
	if (!itt_part_load()) {
		fprintf(stderr, "cannot load %s\n", path);
		exit(1);
	}
}

/* Takes the segment that the first record announced. */
static inline void micro_accept(void)
{
	struct st_shm_hello hello;
	struct iovec part = {&hello, sizeof(hello)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	int peer = accept(micro_listener, NULL, NULL), fd;

	if (peer < 0 || recvmsg(peer, &message, 0) != (ssize_t)sizeof(hello) ||
	    !CMSG_FIRSTHDR(&message))
		micro_fail("hello");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	micro_header = mmap(NULL, hello.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (micro_header == MAP_FAILED)
		micro_fail("mmap");
	close(fd);
	close(peer);
}

static inline struct st_shm_ring *micro_ring(uint32_t slot)
{
	return &((struct st_shm_slot *)(micro_header + 1))[slot].ring[ST_RING_SLICE];
}

/* Empties a ring and the definitions, as the drainer would. */
static inline void micro_drain(uint32_t slot)
{
	struct st_shm_ring *ring = micro_ring(slot);

	atomic_store_explicit(&ring->tail, atomic_load_explicit(&ring->head, memory_order_acquire),
			      memory_order_release);
	ring = &micro_header->definitions;
	atomic_store_explicit(&ring->tail, atomic_load_explicit(&ring->head, memory_order_acquire),
			      memory_order_release);
}

static inline uint64_t micro_dropped(void)
{
	uint64_t sum = atomic_load(&micro_header->lost_no_slot);

	for (uint32_t i = 0; i < micro_header->slot_count; i++)
		sum += atomic_load(&micro_ring(i)->dropped);
	return sum;
}

static inline double micro_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static inline int micro_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct micro_stats {
	double median, low, high; /* low and high: 10th and 90th of a hundred */
};

static inline struct micro_stats micro_stats(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), micro_compare);
	return (struct micro_stats){values[count / 2], values[count / 10], values[count * 9 / 10]};
}

static inline const char *micro_library(int argc, char **argv)
{
	if (argc > 1)
		return argv[1];
	return getenv("STRATA_COLLECTOR") ? getenv("STRATA_COLLECTOR") : ST_BENCH_COLLECTOR;
}

#endif
