// SPDX-License-Identifier: Apache-2.0
#include "collect/host/switches.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/host/perf_record.h"
#include "collect/host/perf_rings.h"
#include "collect/host/wakes.h"
#include "format/off_cpu.h"

enum {
	RING_PAGES = 256, /* fewer where locked memory is limited */
	THREADS_MAX = 256 << 10,
	TOLD_MAX = 32, /* short ones of a thread, one by one, in the time of a sum */
};

/* Longer ones are always told one by one. */
static const uint64_t long_ns = 100000, sum_ns = ST_OFF_SUM_MS * 1000000u;

struct thread {
	uint32_t tid, pid;
	uint64_t born_ns; /* 0: its life is not recorded */
	uint64_t last_ns; /* of its last switch */
	bool is_out, preempted;
	uint32_t told; /* since told_ns */
	uint64_t told_ns;
	uint64_t woken_ns;
	uint32_t waker;
	struct st_off_cpu sums[2]; /* short ones by its own will, and preemptions */
};

struct st_switches {
	struct st_switch_options options;
	struct st_switch_state state;
	struct st_perf_rings *rings;
	struct thread *threads; /* their numbers are used again, and so are their places */
	uint32_t count, capacity;
	struct st_id_map thread_of;  /* tid */
	struct st_wake_watch *wakes; /* NULL: not watched */
	struct st_waking *wakings;   /* of this family, not older than what has been told */
	uint32_t waking_first, waking_count, waking_capacity;
};

enum st_status st_switches_create(struct st_switches **out, const struct st_switch_options *options,
				  struct st_error *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.context_switch = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};
	struct st_switches *switches = calloc(1, sizeof(*switches));
	enum st_status status;

	*out = NULL;
	if (!switches)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	switches->options = *options;
	status = st_perf_rings_create(&switches->rings, &attr, RING_PAGES, err);
	if (!status)
		status = st_perf_rings_add(switches->rings, options->pid, err);
	if (status) {
		st_switches_destroy(switches);
		return status;
	}
	if (options->wakes) {
		struct st_error why = {0};

		switches->state.wakes = st_wake_watch_create(&switches->wakes, &why) == ST_OK;
		snprintf(switches->state.no_wakes, sizeof(switches->state.no_wakes), "%.90s",
			 why.text);
	}
	*out = switches;
	return ST_OK;
}

void st_switches_destroy(struct st_switches *switches)
{
	if (!switches)
		return;
	st_perf_rings_destroy(switches->rings);
	st_wake_watch_destroy(switches->wakes);
	free(switches->wakings);
	st_id_map_fini(&switches->thread_of);
	free(switches->threads);
	free(switches);
}

static struct thread *find(const struct st_switches *switches, uint32_t tid)
{
	uint32_t at = st_id_map_get(&switches->thread_of, tid);

	return at == ST_ID_NONE ? NULL : &switches->threads[at];
}

/* NULL: too many, or no memory. */
static struct thread *find_or_add(struct st_switches *switches, uint32_t tid)
{
	struct thread *thread = find(switches, tid);

	if (thread || !tid)
		return thread;
	if (switches->count >= THREADS_MAX ||
	    !ST_VEC_ROOM(switches->threads, switches->count, switches->capacity) ||
	    !st_id_map_put(&switches->thread_of, tid, switches->count)) {
		switches->state.threads_left_out++;
		return NULL;
	}
	thread = &switches->threads[switches->count++];
	*thread = (struct thread){.tid = tid};
	return thread;
}

static void tell(struct st_switches *switches, const struct thread *thread, struct st_off_cpu off)
{
	const struct thread *process =
		thread->pid == thread->tid ? thread : find(switches, thread->pid);

	off.pid = thread->pid;
	off.tid = thread->tid;
	off.process_born_ns = process ? process->born_ns : 0;
	switches->options.told(switches->options.arg, &off);
}

/* In order of their times. */
static void tell_sums(struct st_switches *switches, struct thread *thread)
{
	struct st_off_cpu *sums = thread->sums;
	unsigned int first =
		sums[1].count && (!sums[0].count || sums[1].begin_ns < sums[0].begin_ns);

	for (unsigned int i = 0; i < 2; i++) {
		struct st_off_cpu *sum = &sums[i ^ first];

		if (sum->count)
			tell(switches, thread, *sum);
		sum->count = 0;
	}
}

/* When the older of them began; UINT64_MAX: there is none. */
static uint64_t sums_since(const struct thread *thread)
{
	uint64_t since = UINT64_MAX;

	for (unsigned int i = 0; i < 2; i++)
		if (thread->sums[i].count && thread->sums[i].begin_ns < since)
			since = thread->sums[i].begin_ns;
	return since;
}

static void tell_moment(struct st_switches *switches, struct thread *thread, uint32_t flag,
			uint64_t ns)
{
	tell_sums(switches, thread);
	tell(switches, thread, (struct st_off_cpu){.begin_ns = ns, .flags = flag});
}

static bool may_be_told(struct thread *thread, uint64_t off_ns, uint64_t ns)
{
	if (ns - thread->told_ns >= sum_ns) {
		thread->told_ns = ns;
		thread->told = 0;
	}
	return off_ns >= long_ns || thread->told++ < TOLD_MAX;
}

static void tell_off(struct st_switches *switches, struct thread *thread, uint64_t ns,
		     uint32_t flags)
{
	struct st_off_cpu off = {
		.begin_ns = thread->last_ns, .off_ns = ns - thread->last_ns, .flags = flags};
	struct st_off_cpu *sum = &thread->sums[flags == ST_OFF_PREEMPTED];
	bool alone = flags & ST_OFF_LOST || may_be_told(thread, off.off_ns, ns);
	uint64_t since = sums_since(thread);

	if (since != UINT64_MAX && (alone || off.begin_ns - since >= sum_ns))
		tell_sums(switches, thread);
	if (alone) {
		tell(switches, thread, off);
		if (!flags && thread->woken_ns > off.begin_ns && thread->woken_ns <= ns)
			tell(switches, thread,
			     (struct st_off_cpu){.begin_ns = thread->woken_ns,
						 .off_ns = ns - thread->woken_ns,
						 .flags = ST_OFF_WOKEN,
						 .count = thread->waker});
		return;
	}
	if (!sum->count) {
		*sum = off;
		sum->flags |= ST_OFF_SEVERAL;
	} else {
		sum->off_ns += off.off_ns;
	}
	sum->count++;
}

static void take_switch(struct st_switches *switches, const struct st_perf_record *record)
{
	struct st_perf_switch news;
	struct thread *thread;

	if (!st_perf_switch_parse(record->bytes, record->size_bytes, &news))
		return;
	switches->state.switches += news.out;
	thread = find_or_add(switches, news.tid);
	if (!thread)
		return;
	thread->pid = news.pid;
	if (thread->born_ns && news.time > thread->last_ns) {
		if (thread->is_out == news.out) /* the record between is missing */
			tell_off(switches, thread, news.time, ST_OFF_LOST);
		else if (!news.out)
			tell_off(switches, thread, news.time,
				 thread->preempted ? ST_OFF_PREEMPTED : 0);
	}
	thread->is_out = news.out;
	thread->preempted = news.preempted;
	thread->last_ns = news.time;
}

static void begin_life(struct st_switches *switches, struct thread *thread, uint64_t ns)
{
	thread->born_ns = thread->last_ns = ns;
	tell_moment(switches, thread, ST_OFF_BORN, ns);
}

static void end_life(struct st_switches *switches, struct thread *thread, uint64_t ns)
{
	if (!thread->born_ns)
		return;
	if (thread->is_out && ns > thread->last_ns)
		tell_off(switches, thread, ns, thread->preempted ? ST_OFF_PREEMPTED : 0);
	tell_moment(switches, thread, ST_OFF_ENDED, ns);
	thread->born_ns = 0;
}

/* Header, pid, parent's pid, tid, parent's tid. A new thread wants a CPU at once. */
static void take_life(struct st_switches *switches, const struct st_perf_record *record)
{
	struct thread *thread;
	uint32_t ids[4];

	if (record->size_bytes < sizeof(struct perf_event_header) + sizeof(ids))
		return;
	memcpy(ids, record->bytes + sizeof(struct perf_event_header), sizeof(ids));
	thread = record->header->type == PERF_RECORD_FORK ? find_or_add(switches, ids[2])
							  : find(switches, ids[2]);
	if (!thread)
		return;
	if (record->header->type == PERF_RECORD_EXIT) {
		thread->is_out = false;
		end_life(switches, thread, record->time);
		return;
	}
	*thread = (struct thread){.tid = ids[2], .pid = ids[0], .is_out = true, .preempted = true};
	begin_life(switches, thread, record->time);
}

/* Header, pid, tid: another program in the same process. */
static void take_exec(struct st_switches *switches, const struct st_perf_record *record)
{
	struct thread *thread;
	uint32_t ids[2];

	if (!(record->header->misc & PERF_RECORD_MISC_COMM_EXEC) ||
	    record->size_bytes < sizeof(struct perf_event_header) + sizeof(ids))
		return;
	memcpy(ids, record->bytes + sizeof(struct perf_event_header), sizeof(ids));
	thread = find_or_add(switches, ids[1]);
	if (!thread)
		return;
	thread->pid = ids[0];
	end_life(switches, thread, record->time);
	thread->is_out = false;
	begin_life(switches, thread, record->time);
}

static void keep_waking(void *arg, const struct st_waking *waking)
{
	struct st_switches *switches = arg;

	if (find(switches, waking->woken) && !ST_VEC_PUSH(switches->wakings, switches->waking_count,
							  switches->waking_capacity, *waking))
		switches->state.lost++;
}

/* Up to a moment, so that each is there when its thread comes back, and no later one. */
static void apply_wakings(struct st_switches *switches, uint64_t ns)
{
	while (switches->waking_first < switches->waking_count &&
	       switches->wakings[switches->waking_first].ns <= ns) {
		const struct st_waking *waking = &switches->wakings[switches->waking_first++];
		struct thread *thread = find(switches, waking->woken);

		if (thread && thread->is_out && waking->ns >= thread->last_ns) {
			thread->woken_ns = waking->ns;
			thread->waker = waking->waker;
		}
	}
}

static void take(void *arg, const struct st_perf_record *record)
{
	apply_wakings(arg, record->time);
	switch (record->header->type) {
	case PERF_RECORD_SWITCH:
		take_switch(arg, record);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_life(arg, record);
		break;
	case PERF_RECORD_COMM:
		take_exec(arg, record);
		break;
	default:
		break;
	}
}

static void poll(struct st_switches *switches, bool all)
{
	st_perf_rings_read(switches->rings);
	/* After the switches, so that no wake is missing that is older than one of them. */
	if (switches->wakes) {
		uint32_t left = switches->waking_count - switches->waking_first;

		if (switches->waking_first)
			memmove(switches->wakings, switches->wakings + switches->waking_first,
				left * sizeof(*switches->wakings));
		switches->waking_first = 0;
		switches->waking_count = left;
		st_wake_watch_poll(switches->wakes, keep_waking, switches);
	}
	st_perf_rings_hand_on(switches->rings, all, take, switches);
	switches->state.lost = st_perf_rings_lost(switches->rings) +
			       (switches->wakes ? st_wake_watch_lost(switches->wakes) : 0);
}

void st_switches_poll(struct st_switches *switches)
{
	poll(switches, false);
}

void st_switches_finish(struct st_switches *switches, uint64_t now_ns)
{
	poll(switches, true);
	for (uint32_t i = 0; i < switches->count; i++)
		end_life(switches, &switches->threads[i], now_ns);
}

const struct st_switch_state *st_switches_state(const struct st_switches *switches)
{
	return &switches->state;
}

void st_switches_each_waiting(const struct st_switches *switches, uint64_t before_ns,
			      st_switches_waiting each, void *arg)
{
	for (uint32_t i = 0; i < switches->count; i++) {
		const struct thread *thread = &switches->threads[i];

		if (thread->born_ns && thread->is_out && !thread->preempted &&
		    thread->last_ns < before_ns &&
		    !each(arg, thread->pid, thread->tid, thread->last_ns))
			return;
	}
}
