// SPDX-License-Identifier: Apache-2.0
#include "collect/host/kernel_side.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/host/outside_maps.h"
#include "collect/host/perf_record.h"
#include "collect/host/perf_rings.h"

enum {
	REGISTER_IP = 8, /* PERF_REG_X86_IP */
	RING_PAGES = 256,
	RECENT = 16, /* kernel samples kept for each thread */
	THREADS_MAX = 16 << 10,
	NEAR_PERIODS = 25, /* a kernel sample serves samples this far away */
};

/* Waits shorter than this are summed, and told once in so long. */
static const uint64_t short_wait_ns = 100000, sum_ns = 10000000;

struct kernel_sample {
	uint64_t time, user_pc;
	uint32_t count;
	bool used;
	bool in_call; /* behind a system call: every sample at this place is in the kernel */
	uint64_t frames[ST_KERNEL_CHAIN_MAX];
};

struct thread {
	uint32_t tid; /* 0: free */
	uint32_t pid;
	uint32_t next; /* place in recent */
	uint64_t out_ns;
	bool is_out, preempted;
	struct st_kernel_wait sum;
	struct kernel_sample *recent; /* RECENT of them, once there is one */
};

struct st_kernel_side {
	struct st_kernel_options options;
	struct st_kernel_state state;
	struct st_perf_rings *rings;
	struct thread *threads;
	uint32_t count, capacity;
	struct st_id_map thread_of; /* tid */
};

static struct perf_event_attr common_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.inherit = 1,
		.exclude_hv = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};
}

static enum st_status open_rings(struct st_kernel_side *side, const struct perf_event_attr *attr,
				 struct st_error *err)
{
	enum st_status status = st_perf_rings_create(&side->rings, attr, RING_PAGES, err);

	if (!status)
		status = st_perf_rings_add(side->rings, side->options.pid, err);
	if (status) {
		st_perf_rings_destroy(side->rings);
		side->rings = NULL;
	}
	return status;
}

static enum st_status open_stacks(struct st_kernel_side *side, struct st_error *err)
{
	struct perf_event_attr attr = common_attr();

	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = side->options.period_ns;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = UINT64_C(1) << REGISTER_IP;
	attr.exclude_user = 1;
	attr.exclude_callchain_user = 1;
	attr.sample_max_stack = ST_KERNEL_CHAIN_MAX;
	attr.context_switch = side->options.switches;
	return open_rings(side, &attr, err);
}

static enum st_status open_switches(struct st_kernel_side *side, struct st_error *err)
{
	struct perf_event_attr attr = common_attr();

	attr.config = PERF_COUNT_SW_DUMMY;
	attr.exclude_kernel = 1;
	attr.context_switch = 1;
	return open_rings(side, &attr, err);
}

static void open_what_is_allowed(struct st_kernel_side *side)
{
	struct st_error err = {0};
	const char *missing = "kernel stacks";

	if (side->options.stacks && open_stacks(side, &err) == ST_OK) {
		side->state.stacks = true;
		side->state.switches = side->options.switches;
		return;
	}
	if (side->options.switches) {
		struct st_error second = {0};

		side->state.switches = open_switches(side, &second) == ST_OK;
		if (!side->state.switches) {
			missing = side->options.stacks ? "kernel stacks and context switches"
						       : "context switches";
			err = second;
		}
	}
	if (!err.status)
		return;
	if (err.code == EACCES || err.code == EPERM)
		snprintf(side->state.why, sizeof(side->state.why),
			 "no %s: not permitted (requires root, CAP_PERFMON or perf_event_paranoid "
			 "1)",
			 missing);
	else
		snprintf(side->state.why, sizeof(side->state.why), "no %s: %s", missing,
			 strerror(err.code));
}

enum st_status st_kernel_side_create(struct st_kernel_side **out,
				     const struct st_kernel_options *options, struct st_error *err)
{
	struct st_kernel_side *side = calloc(1, sizeof(*side));

	*out = NULL;
	if (!side)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	side->options = *options;
	open_what_is_allowed(side);
	*out = side;
	return ST_OK;
}

static void tell_sum(struct st_kernel_side *side, struct thread *thread)
{
	if (thread->sum.count && side->options.waited)
		side->options.waited(side->options.arg, &thread->sum);
	thread->sum.count = 0;
}

void st_kernel_side_destroy(struct st_kernel_side *side)
{
	if (!side)
		return;
	for (uint32_t i = 0; i < side->count; i++)
		free(side->threads[i].recent);
	free(side->threads);
	st_id_map_fini(&side->thread_of);
	st_perf_rings_destroy(side->rings);
	free(side);
}

/* NULL: unknown and not to be added, or no memory. */
static struct thread *thread_of(struct st_kernel_side *side, uint32_t tid, bool add)
{
	uint32_t at = st_id_map_get(&side->thread_of, tid);

	if (at == ST_ID_NONE) {
		if (!tid || !add || side->count >= THREADS_MAX ||
		    !ST_VEC_ROOM(side->threads, side->count, side->capacity) ||
		    !st_id_map_put(&side->thread_of, tid, side->count))
			return NULL;
		at = side->count++;
		side->threads[at] = (struct thread){.tid = tid};
	}
	return &side->threads[at];
}

/* Whether the instruction before an address is a system call. */
static bool is_call(uint32_t pid, uint64_t pc)
{
	static const uint8_t syscall_bytes[2] = {0x0f, 0x05};
	uint8_t bytes[2];

	return st_outside_read((pid_t)pid, pc - sizeof(bytes), bytes, sizeof(bytes)) &&
	       memcmp(bytes, syscall_bytes, sizeof(bytes)) == 0;
}

static void take_sample(struct st_kernel_side *side, const struct st_perf_record *record)
{
	struct st_perf_sample sample;
	struct kernel_sample *kept;
	struct thread *thread;

	if (!st_perf_sample_parse(st_perf_rings_attr(side->rings), record->bytes,
				  record->size_bytes, &sample))
		return;
	side->state.samples++;
	thread = thread_of(side, sample.tid, true);
	if (!thread)
		return;
	thread->pid = sample.pid;
	if (!thread->recent)
		thread->recent = calloc(RECENT, sizeof(*thread->recent));
	if (!thread->recent)
		return;
	kept = &thread->recent[thread->next++ % RECENT];
	*kept = (struct kernel_sample){.time = sample.time,
				       .user_pc = st_perf_sample_register(&sample, REGISTER_IP)};
	for (uint64_t i = 0; i < sample.chain_count && kept->count < ST_KERNEL_CHAIN_MAX; i++)
		if (st_perf_u64(sample.chain, i) < (uint64_t)PERF_CONTEXT_MAX)
			kept->frames[kept->count++] = st_perf_u64(sample.chain, i);
	/* A lone entry point is the interrupt that took the sample, not something the program asked for. */
	if (kept->count == 1)
		kept->count = 0;
	kept->in_call = kept->count && is_call(sample.pid, kept->user_pc);
}

static void end_wait(struct st_kernel_side *side, struct thread *thread, uint64_t time)
{
	struct st_kernel_wait wait = {.pid = thread->pid,
				      .tid = thread->tid,
				      .begin_ns = thread->out_ns,
				      .end_ns = time,
				      .preempted = thread->preempted,
				      .count = 1,
				      .off_ns = time - thread->out_ns};
	struct st_kernel_wait *sum = &thread->sum;

	if (sum->count && (sum->preempted != wait.preempted || time - sum->begin_ns >= sum_ns ||
			   wait.off_ns >= short_wait_ns))
		tell_sum(side, thread);
	if (wait.off_ns >= short_wait_ns) {
		if (side->options.waited)
			side->options.waited(side->options.arg, &wait);
	} else if (!sum->count) {
		*sum = wait;
	} else {
		sum->count++;
		sum->off_ns += wait.off_ns;
		sum->end_ns = time;
	}
}

static void take_switch(struct st_kernel_side *side, const struct st_perf_record *record)
{
	struct st_perf_switch news;
	struct thread *thread;

	if (!st_perf_switch_parse(record->bytes, record->size_bytes, &news))
		return;
	thread = thread_of(side, news.tid, true);
	if (!thread)
		return;
	thread->pid = news.pid;
	if (thread->is_out && !news.out && news.time > thread->out_ns)
		end_wait(side, thread, news.time);
	thread->is_out = news.out;
	thread->preempted = news.preempted;
	thread->out_ns = news.time;
}

/* Its number may come again: for another thread. */
static void take_exit(struct st_kernel_side *side, const struct st_perf_record *record)
{
	struct thread *thread;
	uint32_t tid;

	/* Header, pid, parent, tid, parent's. */
	if (record->size_bytes < sizeof(struct perf_event_header) + 16)
		return;
	memcpy(&tid, record->bytes + sizeof(struct perf_event_header) + 8, sizeof(tid));
	thread = thread_of(side, tid, false);
	if (!thread)
		return;
	tell_sum(side, thread);
	thread->is_out = false;
}

static void take(void *arg, const struct st_perf_record *record)
{
	struct st_kernel_side *side = arg;

	switch (record->header->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(side, record);
		break;
	case PERF_RECORD_SWITCH:
		take_switch(side, record);
		break;
	case PERF_RECORD_EXIT:
		take_exit(side, record);
		break;
	default:
		break;
	}
}

void st_kernel_side_poll(struct st_kernel_side *side, bool all)
{
	if (!side->rings)
		return;
	st_perf_rings_poll(side->rings, all, take, side);
	side->state.lost = st_perf_rings_lost(side->rings);
	for (uint32_t i = 0; all && i < side->count; i++)
		tell_sum(side, &side->threads[i]);
}

const struct st_kernel_state *st_kernel_side_state(const struct st_kernel_side *side)
{
	return &side->state;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

uint32_t st_kernel_side_find(struct st_kernel_side *side, uint32_t tid, uint64_t pc,
			     uint64_t mono_raw_ns, const uint64_t **frames)
{
	struct thread *thread = thread_of(side, tid, false);
	uint64_t near = side->options.period_ns * NEAR_PERIODS;
	struct kernel_sample *best = NULL;

	if (!thread || !thread->recent)
		return 0;
	for (uint32_t i = 0; i < RECENT; i++) {
		struct kernel_sample *sample = &thread->recent[i];

		if (!sample->count || sample->user_pc != pc ||
		    distance(sample->time, mono_raw_ns) > near)
			continue;
		/* An interrupt or a page fault: other samples at the same place were not in it. */
		if (!sample->in_call &&
		    (sample->used || distance(sample->time, mono_raw_ns) > side->options.period_ns))
			continue;
		/* One that served nobody yet, then the nearest. */
		if (!best || (best->used && !sample->used) ||
		    (best->used == sample->used &&
		     distance(sample->time, mono_raw_ns) < distance(best->time, mono_raw_ns)))
			best = sample;
	}
	if (!best)
		return 0;
	best->used = true;
	side->state.joined++;
	*frames = best->frames;
	return best->count;
}
