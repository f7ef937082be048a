/* SPDX-License-Identifier: Apache-2.0
 *
 * One kind of perf event on a family of threads, read by strata: an event on every processor for each thread
 * that it is opened on (inherited by what that thread starts), one ring per processor, records passed on in
 * time order.
 */
#ifndef ST_COLLECT_HOST_PERF_RINGS_H
#define ST_COLLECT_HOST_PERF_RINGS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct st_perf_rings;

/* The record is the caller's until it returns; aligned to 8 bytes. */
struct st_perf_record {
	const struct perf_event_header *header;
	const uint8_t *bytes;
	size_t size_bytes;
	uint64_t time; /* of the event's clock */
};
typedef void (*st_perf_each)(void *arg, const struct st_perf_record *record);

/* attr needs PERF_SAMPLE_TID and _TIME, sample_id_all, and CLOCK_MONOTONIC_RAW as its clock. ring_pages is a
 * power of two; fewer are taken where memory may not be locked. */
enum st_status st_perf_rings_create(struct st_perf_rings **out, const struct perf_event_attr *attr,
				    uint32_t ring_pages, struct st_error *err);
void st_perf_rings_destroy(struct st_perf_rings *rings);
/* ST_EUNSUPPORTED when the kernel refuses (err->code is why); ST_ENOTFOUND when the thread is gone. */
enum st_status st_perf_rings_add(struct st_perf_rings *rings, pid_t tid, struct st_error *err);
void st_perf_rings_enable(struct st_perf_rings *rings, bool on);
/* Hands on what is older than the call, or, with all, everything there is. */
void st_perf_rings_poll(struct st_perf_rings *rings, bool all, st_perf_each each, void *arg);
/* The same in parts: takes over what the kernel has written (everything older than the time returned); shows all
 * that waits, and hands it on. What is younger than hold_ns when it is read stays one round longer. */
uint64_t st_perf_rings_read(struct st_perf_rings *rings);
void st_perf_rings_look(const struct st_perf_rings *rings, st_perf_each each, void *arg);
void st_perf_rings_hand_on(struct st_perf_rings *rings, bool all, st_perf_each each, void *arg);
void st_perf_rings_hold(struct st_perf_rings *rings, uint64_t hold_ns);

/* For threads that wait for the samples of one processor: how many rings there are, and what to poll (-1: the
 * processor is off). */
uint32_t st_perf_rings_count(const struct st_perf_rings *rings);
int st_perf_rings_fd(const struct st_perf_rings *rings, uint32_t ring);
struct st_perf_newest {
	uint32_t tid;
	uint64_t time;
};
/* The last sample behind *position, which moves to the end; takes nothing out of the ring. From any thread. */
bool st_perf_rings_newest(struct st_perf_rings *rings, uint32_t ring, uint64_t *position,
			  struct st_perf_newest *out);
const struct perf_event_attr *st_perf_rings_attr(const struct st_perf_rings *rings);
uint64_t st_perf_rings_lost(const struct st_perf_rings *rings);

#endif
