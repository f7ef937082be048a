// SPDX-License-Identifier: Apache-2.0
//
// A sample of weight w at time t says that its thread ran for w up to t. Slots are long enough for some
// twenty samples of a busy CPU, so that their noise does not pass for idleness.
//
// A slot in which 1.3 CPUs did effective work on average had two at work for 30 % of its time and one for the rest:
// CPUs times their time is the effective CPU time, to the nanosecond.
#include "analyze/samples/utilization.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/quality.h"
#include "store/result.h"

enum { SLOTS_MAX = 2000, SAMPLES_PER_SLOT = 20, PERIOD_USUAL_NS = 10000000, SLOT_MIN_NS = 1000000 };

/* Of a thread: a look takes some time, and threads that come and go are seen a little too late. */
#define CROWD_MARGIN 0.25

const char *const st_utilization_names[ST_USE_LEVELS] = {"Idle", "Poor", "Ok", "Ideal"};

enum st_utilization_level st_utilization_level(uint32_t cpus, uint32_t cpu_count)
{
	if (!cpus)
		return ST_USE_IDLE;
	if ((double)cpus <= 0.5 * cpu_count && cpu_count > 1)
		return ST_USE_POOR;
	return (double)cpus <= 0.85 * cpu_count ? ST_USE_OK : ST_USE_IDEAL;
}

struct slot {
	uint64_t effective_ns;
};

struct slots {
	struct slot *slots;
	uint32_t count;
	int64_t begin_ns, end_ns;
	uint64_t slot_ns;
};

static uint64_t period_of(const struct st_result *result)
{
	uint32_t count;
	const struct st_sampler *samplers = st_result_samplers(result, &count);
	uint64_t longest = 0;

	for (uint32_t i = 0; i < count; i++)
		if (samplers[i].period_ns > longest)
			longest = samplers[i].period_ns;
	return longest ? longest : PERIOD_USUAL_NS;
}

static void set_range(struct slots *slots, const struct st_sample_set *set,
		      const struct st_question *question)
{
	const struct st_result_info *info = st_result_info(set->result);
	bool stopped = info->collected_ns > 0 && info->collected_ns < info->elapsed_ns;

	slots->begin_ns = info->kept_from_ns;
	slots->end_ns = stopped ? info->collected_ns : info->elapsed_ns;
	/* Times count from strata's start, the program's from its own: the last samples lie behind. */
	for (uint32_t i = 0; !stopped && i < set->samples->count; i++)
		if (set->samples->time_ns[i] > slots->end_ns)
			slots->end_ns = set->samples->time_ns[i];
	if (question->has_time_range && question->time_begin_ns > slots->begin_ns)
		slots->begin_ns = question->time_begin_ns;
	if (question->has_time_range && question->time_end_ns < slots->end_ns)
		slots->end_ns = question->time_end_ns;
}

static uint64_t recorded_in(const struct slots *slots, const struct st_pause_list *pauses,
			    uint32_t at)
{
	int64_t begin = slots->begin_ns + (int64_t)(at * slots->slot_ns);
	int64_t end = begin + (int64_t)slots->slot_ns;

	return st_pause_list_recorded(pauses, 0, begin, end < slots->end_ns ? end : slots->end_ns);
}

static uint32_t slot_at(const struct slots *slots, int64_t time_ns)
{
	uint64_t at = time_ns > slots->begin_ns
			      ? (uint64_t)(time_ns - slots->begin_ns) / slots->slot_ns
			      : 0;

	return at < slots->count ? (uint32_t)at : slots->count - 1;
}

/* The part of a sample before the range, or behind it, counts in the slot at that end. */
static void add_sample(struct slots *slots, const struct st_samples *samples, uint32_t index)
{
	int64_t end = samples->time_ns[index], begin = end - (int64_t)samples->weight_ns[index];
	uint32_t last = slot_at(slots, end > begin ? end - 1 : end);

	for (uint32_t at = slot_at(slots, begin); at <= last; at++) {
		struct slot *slot = &slots->slots[at];
		int64_t slot_end = slots->begin_ns + (int64_t)((at + 1ull) * slots->slot_ns);
		int64_t stop = at < last && slot_end < end ? slot_end : end;

		slot->effective_ns += (uint64_t)(stop - begin);
		begin = stop;
	}
}

static void add_samples(struct slots *slots, struct st_utilization *out,
			const struct st_sample_set *set, const struct st_question *question)
{
	const struct st_samples *samples = set->samples;
	uint32_t last_track = UINT32_MAX;

	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t node = samples->node[i];
		uint32_t frame =
			node < set->named->node_count ? set->named->frame_of_node[node] : 0;
		bool effective = set->classes[frame] == ST_CLASS_EFFECTIVE;

		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE) ||
		    (question->has_time_range && (samples->time_ns[i] < question->time_begin_ns ||
						  samples->time_ns[i] >= question->time_end_ns)))
			continue;
		out->cpu_ns += samples->weight_ns[i];
		out->effective_ns += effective ? samples->weight_ns[i] : 0;
		out->threads += samples->track[i] != last_track;
		last_track = samples->track[i];
		if (effective)
			add_sample(slots, samples, i);
	}
}

/* What is in no sample was done where the samples are, as far as anybody knows. */
static void scale_to_used(struct slots *slots, struct st_utilization *out,
			  const struct st_sample_set *set, const struct st_question *question)
{
	struct st_cpu_seen cpu;

	if (question->has_time_range || !out->cpu_ns || !st_quality_cpu_seen(set->result, &cpu) ||
	    !cpu.unseen_ns || !cpu.seen_ns)
		return;
	out->scale = 1.0 + (double)cpu.unseen_ns / (double)cpu.seen_ns;
	out->cpu_ns = (uint64_t)((double)out->cpu_ns * out->scale);
	out->effective_ns = 0;
	for (uint32_t i = 0; i < slots->count; i++) {
		uint64_t *effective_ns = &slots->slots[i].effective_ns;

		*effective_ns = (uint64_t)((double)*effective_ns * out->scale);
		out->effective_ns += *effective_ns;
	}
}

/* No slot can hold more than all CPUs: what does not fit, because a thread was off the CPU between two samples, was done
 * shortly before. */
static void settle(struct slots *slots, const struct st_utilization *out,
		   const struct st_pause_list *pauses)
{
	uint64_t excess = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < slots->count; i++) {
			uint32_t at = pass ? i : slots->count - 1 - i;
			struct slot *slot = &slots->slots[at];
			uint64_t room = recorded_in(slots, pauses, at) * out->cpu_count;

			excess += slot->effective_ns;
			slot->effective_ns = excess < room ? excess : room;
			excess -= slot->effective_ns;
		}
	}
}

static void add_level(struct st_utilization *out, uint64_t cpus, uint64_t time_ns)
{
	if (!time_ns)
		return;
	out->by_cpus[cpus] += time_ns;
	out->by_level[st_utilization_level((uint32_t)cpus, out->cpu_count)] += time_ns;
}

static void count_slots(const struct slots *slots, struct st_utilization *out,
			const struct st_pause_list *pauses)
{
	for (uint32_t i = 0; i < slots->count; i++) {
		const struct slot *slot = &slots->slots[i];
		uint64_t time = recorded_in(slots, pauses, i), more;

		if (!time)
			continue;
		more = slot->effective_ns % time; /* for so long one CPU more was at work */
		add_level(out, slot->effective_ns / time, time - more);
		add_level(out, slot->effective_ns / time + 1, more);
		out->recorded_ns += time;
	}
}

/* How many threads were ready to run, on average. Of the time that they waited for a CPU only that part counts in which
 * the program itself had the CPUs: behind other programs on the machine a thread may wait that has next to nothing to do. */
static double own_part(const struct st_cpu_demand *demand, uint32_t cpu_count)
{
	double own =
		(double)demand->cpu_ns / (double)(demand->end_ns - demand->begin_ns) / cpu_count;

	return own < 1.0 ? own : 1.0;
}

static double ready_threads(const struct st_cpu_demand *demand, uint32_t cpu_count)
{
	return ((double)demand->cpu_ns + (double)demand->delay_ns * own_part(demand, cpu_count)) /
	       (double)(demand->end_ns - demand->begin_ns);
}

static void count_demand(const struct slots *slots, struct st_utilization *out,
			 const struct st_result *result, const struct st_pause_list *pauses)
{
	uint32_t count;
	const struct st_cpu_demand *demands = st_result_cpu_demand(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct st_cpu_demand *demand = &demands[i];
		int64_t begin = demand->begin_ns, end = demand->end_ns;
		double threads, delay_ns;
		uint64_t time;

		begin = begin > slots->begin_ns ? begin : slots->begin_ns;
		end = end < slots->end_ns ? end : slots->end_ns;
		if (begin >= end)
			continue;
		time = st_pause_list_recorded(pauses, 0, begin, end);
		threads = ready_threads(demand, out->cpu_count);
		out->watched_ns += time;
		delay_ns = (double)demand->delay_ns * (double)time /
			   (double)(demand->end_ns - demand->begin_ns);
		out->delay_ns += (uint64_t)delay_ns;
		out->ran_ns += (uint64_t)((double)demand->cpu_ns * (double)time /
					  (double)(demand->end_ns - demand->begin_ns));
		/* Threads for which there are CPUs enough wait because others have these. */
		if (threads < out->cpu_count + CROWD_MARGIN)
			continue;
		out->own_delay_ns += (uint64_t)(delay_ns * own_part(demand, out->cpu_count));
		out->oversubscribed_ns += time;
		out->queued_ns += (uint64_t)((double)time * (threads - out->cpu_count) / threads);
	}
}

enum st_status st_utilization_make(struct st_utilization *out, const struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err)
{
	uint32_t cpus = st_result_info(set->result)->cpu_count;
	struct st_pause_list pauses;
	struct slots slots = {0};
	struct st_arena arena;
	uint64_t range_ns;
	bool done;

	memset(out, 0, sizeof(*out));
	out->cpu_count = cpus ? cpus : 1;
	out->scale = 1.0;
	set_range(&slots, set, question);
	range_ns = slots.end_ns > slots.begin_ns ? (uint64_t)(slots.end_ns - slots.begin_ns) : 0;
	slots.slot_ns = SAMPLES_PER_SLOT * period_of(set->result);
	if (slots.slot_ns < SLOT_MIN_NS)
		slots.slot_ns = SLOT_MIN_NS;
	if (slots.slot_ns < range_ns / SLOTS_MAX)
		slots.slot_ns = range_ns / SLOTS_MAX;
	slots.count = (uint32_t)((range_ns + slots.slot_ns - 1) / slots.slot_ns);
	out->slot_ns = slots.slot_ns;
	st_arena_init(&arena, SIZE_MAX / 2);
	slots.slots = calloc((size_t)slots.count + 1, sizeof(*slots.slots));
	out->by_cpus = calloc((size_t)out->cpu_count + 1, sizeof(*out->by_cpus));
	done = slots.slots && out->by_cpus && st_pause_list_make(&pauses, set->result, &arena);
	if (done && slots.count) {
		add_samples(&slots, out, set, question);
		scale_to_used(&slots, out, set, question);
		settle(&slots, out, &pauses);
		count_slots(&slots, out, &pauses);
		count_demand(&slots, out, set->result, &pauses);
	}
	free(slots.slots);
	st_arena_fini(&arena);
	if (done)
		return ST_OK;
	st_utilization_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the CPU utilization");
}

void st_utilization_fini(struct st_utilization *utilization)
{
	free(utilization->by_cpus);
	memset(utilization, 0, sizeof(*utilization));
}
