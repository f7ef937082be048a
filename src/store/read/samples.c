// SPDX-License-Identifier: Apache-2.0
//
// The samples of an open result (store/samples.h): columns of the index, the forest of the model, and the
// counts of their quality.
#include "store/samples.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/read/result_state.h"

static uint64_t ns_of(const struct st_result *result, uint64_t ticks)
{
	const struct st_clock_map *clock = &result->meta.clock;
	uint64_t start = result->model.head.start_ticks;
	uint32_t hint = 0, hint_end = 0;

	if (ticks > UINT64_MAX - start)
		return 0;
	return (uint64_t)(st_clock_map_ns(clock, &hint_end, start + ticks) -
			  st_clock_map_ns(clock, &hint, start));
}

static bool make_samplers(struct st_result *result)
{
	const struct st_forest *forest = &result->model.forest;

	result->samplers = calloc((size_t)forest->sampler_count + 1, sizeof(*result->samplers));
	if (!result->samplers)
		return false;
	for (uint32_t i = 0; i < forest->sampler_count; i++) {
		result->samplers[i] = forest->samplers[i].sampler;
		result->samplers[i].process =
			st_id_map_get(&result->model.process_index, forest->samplers[i].process_id);
		result->samplers[i].handler_ns = ns_of(result, forest->samplers[i].handler_ticks);
	}
	return true;
}

static bool make_demands(struct st_result *result)
{
	const struct st_model *model = &result->model;
	uint32_t hint = 0;

	result->demands = calloc((size_t)model->demand_count + 1, sizeof(*result->demands));
	for (uint32_t i = 0; result->demands && i < model->demand_count; i++) {
		const struct st_demand_definition *from = &model->demands[i];

		result->demands[i] = (struct st_cpu_demand){
			.begin_ns = st_clock_map_ns(&result->meta.clock, &hint, from->begin_ticks),
			.end_ns = st_clock_map_ns(&result->meta.clock, &hint, from->end_ticks),
			.cpu_ns = from->cpu_ns,
			.delay_ns = from->delay_ns,
			.threads = from->threads};
	}
	return result->demands != NULL;
}

/* Adds up the flags of samples of threads that ran. */
static void count_flags(struct st_sample_quality *quality, const struct st_samples *samples)
{
	const uint16_t *flags = samples->flags;

	for (uint32_t i = 0; i < samples->count; i++) {
		if (flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
			continue;
		quality->samples++;
		quality->cpu_ns += samples->weight_ns[i];
		if (!flags[i])
			continue;
		quality->truncated += (flags[i] & ST_SAMPLE_TRUNCATED) != 0;
		quality->recovered += (flags[i] & ST_SAMPLE_RECOVERED) != 0;
		quality->no_table += (flags[i] & ST_SAMPLE_NO_TABLE) != 0;
		quality->python_cut += (flags[i] & ST_SAMPLE_PYTHON_CUT) != 0;
		quality->python_top_unknown += (flags[i] & ST_SAMPLE_PYTHON_TOP_UNKNOWN) != 0;
		quality->mismatched += (flags[i] & ST_SAMPLE_MISMATCH) != 0;
		quality->depth_cut += (flags[i] & ST_SAMPLE_DEPTH_CUT) != 0;
		quality->nominal += (flags[i] & ST_SAMPLE_WEIGHT_NOMINAL) != 0;
		quality->approximate += (flags[i] & ST_SAMPLE_APPROXIMATE) != 0;
		quality->python_late += (flags[i] & ST_SAMPLE_PYTHON_LATE) != 0;
	}
}

static void make_quality(struct st_result *result)
{
	struct st_sample_quality *quality = &result->sample_quality;
	uint32_t count = result->model.forest.sampler_count;

	count_flags(quality, &result->samples);
	for (uint32_t i = 0; i < count; i++) {
		quality->dropped += result->samplers[i].dropped;
		quality->not_taken += result->samplers[i].not_taken;
	}
	/* Told by tracks too; the larger is nearer the truth. */
	if (result->quality.loss.samples_dropped > quality->dropped)
		quality->dropped = result->quality.loss.samples_dropped;
	quality->stacks_missing = result->meta.stacks_missing;
	if (quality->stacks_missing)
		st_notes_add(&result->model.notes,
			     "the stacks of %" PRIu64
			     " samples are missing or incomplete in the definitions",
			     quality->stacks_missing);
}

bool st_samples_make(struct st_result *result)
{
	const struct st_sample_columns *columns = &result->index.columns.samples;
	const struct st_forest *forest = &result->model.forest;
	uint32_t tracks = result->meta.track_count;

	result->sample_first = calloc((size_t)tracks + 1, sizeof(*result->sample_first));
	if (!result->sample_first || !make_samplers(result) || !make_demands(result))
		return false;
	for (uint32_t i = 0; i < tracks; i++) {
		result->sample_first[i] = result->meta.tracks[i].sample_begin;
		result->sample_first[i + 1] = result->meta.tracks[i].sample_end;
	}
	result->samples = (struct st_samples){
		.count = result->index.shape.sample_count,
		.time_ns = columns->time_ns,
		.weight_ns = columns->weight_ns,
		.node = columns->node,
		.track = columns->track,
		.slice = columns->slice,
		.inherited = columns->inherited,
		.flags = columns->flags,
		.first_of_track = result->sample_first,
	};
	result->nodes = (struct st_stack_nodes){
		.count = forest->node_count,
		.parent = forest->parent,
		.process = forest->process,
		.value = forest->value,
		.line = forest->line,
		.kind = forest->kind,
	};
	make_quality(result);
	return true;
}

const struct st_cpu_demand *st_result_cpu_demand(const struct st_result *result, uint32_t *count)
{
	*count = result->model.demand_count;
	return result->demands;
}

const struct st_samples *st_result_samples(const struct st_result *result)
{
	return &result->samples;
}

const struct st_stack_nodes *st_result_stack_nodes(const struct st_result *result)
{
	return &result->nodes;
}

const struct st_python_code *st_result_python_codes(const struct st_result *result, uint32_t *count)
{
	*count = result->model.forest.code_count;
	return result->model.forest.python_codes;
}

const struct st_sampler *st_result_samplers(const struct st_result *result, uint32_t *count)
{
	*count = result->model.forest.sampler_count;
	return result->samplers;
}

const struct st_sample_quality *st_result_sample_quality(const struct st_result *result)
{
	return &result->sample_quality;
}

uint32_t st_result_track_creator(const struct st_result *result, uint32_t track)
{
	return track < result->meta.track_count ? result->meta.tracks[track].creator : ST_NO_ROW;
}
