// SPDX-License-Identifier: Apache-2.0
//
// What result.json says of a run that samples: what was asked for, what the machine made of it, what was
// lost and what it cost. Described in docs/format/result_json.md.
#include <stdio.h>

#include "base/json_out.h"
#include "collect/launch/armed.h"
#include "collect/launch/run.h"

static const double second_ns = 1e9;

static void put_text(struct st_json *json, const char *key, const char *value)
{
	st_json_key(json, key);
	st_json_text(json, value);
}

static void put_u64(struct st_json *json, const char *key, uint64_t value)
{
	st_json_key(json, key);
	st_json_u64(json, value);
}

/* The process whose sampler stands for the run: the lowest rung is what limits it. */
static const struct st_followed *lowest(const struct st_followed_table *table)
{
	const struct st_followed *found = NULL;

	for (uint32_t i = 0; i < table->count; i++)
		if (table->all[i]->rung && (!found || table->all[i]->rung > found->rung))
			found = table->all[i];
	return found;
}

void st_run_source_text(const struct st_run *run, char *out, size_t out_size)
{
	const struct st_followed *process = lowest(&run->followed);

	if (!run->config->sampling.on) {
		snprintf(out, out_size, "ITT tasks");
		return;
	}
	snprintf(out, out_size, "CPU timer %g Hz (%s%s%s)",
		 second_ns / (double)run->sampling.period_ns,
		 st_trigger_name(process ? (enum st_sampler_trigger)process->trigger
					 : run->sampling.trigger),
		 process ? ", " : "",
		 process ? st_rung_name((enum st_sampler_rung)process->rung) : "");
}

void st_run_put_sampling(const struct st_run *run, struct st_json *json)
{
	const struct st_followed *process = lowest(&run->followed);

	if (!run->config->sampling.on)
		return;
	st_json_key(json, "sampling");
	st_json_object_begin(json);
	put_text(json, "mode", run->config->sampling.hardware ? "hw" : "sw");
	put_u64(json, "asked_ns", run->sampling.asked_ns);
	put_u64(json, "period_ns", run->sampling.period_ns);
	put_text(json, "trigger", st_trigger_name(run->sampling.trigger));
	put_text(json, "note", run->sampling.note);
	st_json_key(json, "stacks");
	st_json_bool(json, run->config->sampling.stacks != ST_CHOICE_OFF);
	put_text(json, "rung", process ? st_rung_name((enum st_sampler_rung)process->rung) : "");
	st_json_object_end(json);
}
