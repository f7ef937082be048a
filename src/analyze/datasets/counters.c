// SPDX-License-Identifier: Apache-2.0
//
// Gathers the samples of each counter, sorts them by time, and adds up what was added.
#include "analyze/datasets/counters.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "base/arena.h"

enum { CONTEXT_UNITS_A = 5, CONTEXT_UNITS_W = 6, CONTEXT_DEVICE_A = 3, CONTEXT_DEVICE_W = 4 };

static bool is_sample(const struct st_event_row *row)
{
	return row->kind == ST_EVENT_COUNTER_ADD || row->kind == ST_EVENT_COUNTER_SET;
}

static int by_time(const void *a, const void *b)
{
	const struct st_counter_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

/* Something that is only ever set keeps the type it was declared with; what is added to may go below 0. */
static void choose_form(struct st_counter *counter)
{
	uint32_t type = counter->definition->type;
	bool added = false;

	for (uint32_t i = 0; i < counter->sample_count; i++)
		added = added || counter->samples[i].is_addition;
	if (type == ST_VALUE_FLOAT || type == ST_VALUE_DOUBLE)
		counter->form = ST_COUNTER_FLOAT;
	else if (type == ST_VALUE_U64 && !added)
		counter->form = ST_COUNTER_UNSIGNED;
	else
		counter->form = ST_COUNTER_SIGNED;
}

static double number_of(enum st_counter_form form, int64_t integer)
{
	return form == ST_COUNTER_UNSIGNED ? (double)(uint64_t)integer : (double)integer;
}

/* The samples hold what the program gave; afterwards they hold the value from then on. */
static void run_up(struct st_counter *counter, struct st_counter_sample *samples,
		   const struct st_event_row *rows)
{
	bool is_float;
	double number = 0.0;
	uint64_t integer = 0;

	/* Those of one thread are in order nearly always. */
	for (uint32_t i = 1; i < counter->sample_count; i++) {
		if (by_time(&samples[i - 1], &samples[i]) > 0) {
			qsort(samples, counter->sample_count, sizeof(*samples), by_time);
			break;
		}
	}
	choose_form(counter);
	is_float = counter->form == ST_COUNTER_FLOAT;
	for (uint32_t i = 0; i < counter->sample_count; i++) {
		struct st_counter_sample *sample = &samples[i];
		uint64_t given = rows[sample->event].value;
		double before = number;

		if (is_float && sample->is_addition)
			number += (double)(int64_t)given;
		else if (is_float)
			number = st_value_number(ST_VALUE_DOUBLE, given); /* floats are widened */
		else
			integer = sample->is_addition
					  ? integer + given
					  : st_value_integer(counter->definition->type, given);
		if (!is_float)
			number = number_of(counter->form, (int64_t)integer);
		sample->number = number;
		sample->integer = (int64_t)integer;
		sample->delta = number - before;
	}
}

static void add_facts(struct st_counter *counters, const uint32_t *counter_of,
		      const struct st_result *result)
{
	uint32_t fact_count, object_count;
	const struct st_object_fact *facts = st_result_object_facts(result, &fact_count);

	st_result_objects(result, &object_count);
	for (uint32_t i = 0; i < fact_count; i++) {
		struct st_counter *counter;

		if (facts[i].object >= object_count || counter_of[facts[i].object] == ST_NO_ROW)
			continue;
		counter = &counters[counter_of[facts[i].object]];
		if (facts[i].type == CONTEXT_UNITS_A || facts[i].type == CONTEXT_UNITS_W)
			counter->unit = facts[i].text;
		else if (facts[i].type == CONTEXT_DEVICE_A || facts[i].type == CONTEXT_DEVICE_W)
			counter->device = facts[i].text;
	}
}

/* Places for the samples of each counter, one behind the other; then the samples themselves. */
static bool gather(struct st_counters *out, struct st_counter *counters, const uint32_t *counter_of,
		   const struct st_result *result)
{
	const struct st_events *events = st_result_events(result);
	struct st_counter_sample *samples, *at;
	uint32_t object_count;

	st_result_objects(result, &object_count);
	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];

		if (!is_sample(row) || row->object >= object_count ||
		    counter_of[row->object] == ST_NO_ROW)
			continue;
		counters[counter_of[row->object]].sample_count++;
		out->sample_count++;
	}
	samples = st_arena_calloc(out->memory, (size_t)out->sample_count + 1, sizeof(*samples));
	if (!samples)
		return false;
	at = samples;
	for (uint32_t i = 0; i < out->count; i++) {
		counters[i].samples = at;
		at += counters[i].sample_count;
		counters[i].sample_count = 0;
	}
	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];
		struct st_counter *counter;

		if (!is_sample(row) || row->object >= object_count ||
		    counter_of[row->object] == ST_NO_ROW)
			continue;
		counter = &counters[counter_of[row->object]];
		samples[counter->samples - samples + counter->sample_count++] =
			(struct st_counter_sample){.time_ns = row->time_ns,
						   .event = i,
						   .track = row->track,
						   .is_addition =
							   row->kind == ST_EVENT_COUNTER_ADD};
	}
	for (uint32_t i = 0; i < out->count; i++)
		run_up(&counters[i], samples + (counters[i].samples - samples), events->rows);
	return true;
}

enum st_status st_counters_make(struct st_counters *out, const struct st_result *result,
				struct st_error *err)
{
	uint32_t object_count;
	const struct st_object *objects = st_result_objects(result, &object_count);
	uint32_t *counter_of;
	struct st_counter *counters;

	memset(out, 0, sizeof(*out));
	out->memory = calloc(1, sizeof(struct st_arena));
	if (!out->memory)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the counters");
	st_arena_init(out->memory, SIZE_MAX / 2);
	counter_of = st_arena_calloc(out->memory, (size_t)object_count + 1, sizeof(*counter_of));
	counters = st_arena_calloc(out->memory, (size_t)object_count + 1, sizeof(*counters));
	for (uint32_t i = 0; counter_of && counters && i < object_count; i++) {
		counter_of[i] = ST_NO_ROW;
		if (objects[i].kind != ST_OBJECT_COUNTER)
			continue;
		counter_of[i] = out->count;
		counters[out->count++] =
			(struct st_counter){.object = i, .definition = &objects[i]};
	}
	if (!counter_of || !counters || !gather(out, counters, counter_of, result)) {
		st_counters_fini(out);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the counters");
	}
	add_facts(counters, counter_of, result);
	out->counters = counters;
	return ST_OK;
}

void st_counters_fini(struct st_counters *counters)
{
	if (!counters || !counters->memory)
		return;
	st_arena_fini(counters->memory);
	free(counters->memory);
	memset(counters, 0, sizeof(*counters));
}
