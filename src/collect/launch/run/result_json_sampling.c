// SPDX-License-Identifier: Apache-2.0
//
// The part of result.json about sampling: requested settings, what the machine supports, losses and
// overhead. Described in docs/format/result_json.md.
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "collect/launch/family/armed.h"
#include "collect/launch/run/run.h"
#include "format/analysis.h"
#include "format/operator.h"

static const double second_ns = 1e9;

/* The process whose sampler stands for the run: the lowest rung is what limits it. */
static const struct st_followed *lowest(const struct st_followed_table *table)
{
	const struct st_followed *found = NULL;

	for (uint32_t i = 0; i < table->count; i++)
		if (table->all[i]->rung && (!found || table->all[i]->rung > found->rung))
			found = table->all[i];
	return found;
}

/* The same of operators; the worst level is what limits the run. Nothing, when there are none. */
static void put_operator_source(const struct st_run *run, char *out, size_t out_size)
{
	static const char *const levels[] = {
		[ST_OPERATORS_ASKED] = " (inputs read through its API)",
		[ST_OPERATORS_NAMES] = " (names only)",
		[ST_OPERATORS_ITT] = " (from its ITT tasks: names only)"};
	const struct st_followed_table *table = &run->followed;
	struct st_drain_counts worst = {.operator_level = ST_OPERATORS_NONE};

	*out = '\0';

	for (uint32_t i = 0; i < table->count; i++) {
		const struct st_followed *process = table->all[i];
		const struct st_drain_counts *counts =
			process->drain ? st_drain_counts(process->drain) : &process->counts;

		if (counts->operator_level > worst.operator_level)
			worst = *counts;
	}
	if (worst.operator_level == ST_OPERATORS_NONE &&
	    run->config->operators.on != ST_CHOICE_OFF &&
	    (run->config->analysis->purpose & ST_RECORDS_OPERATORS))
		snprintf(out, out_size, "no operators (%s), ",
			 run->cannot_record ? "a process could not be recorded"
					    : "no process loaded PyTorch");
	else if (worst.operator_level > ST_OPERATORS_NONE &&
		 worst.operator_level <= ST_OPERATORS_ITT)
		snprintf(out, out_size, "operators of %s%s, ", worst.framework,
			 levels[worst.operator_level] ? levels[worst.operator_level] : "");
}

void st_run_source_text(const struct st_run *run, char *out, size_t out_size)
{
	const struct st_followed *process = lowest(&run->followed);
	size_t used;
	char asked[48] = "", operators[160], waits[256];

	put_operator_source(run, operators, sizeof(operators));
	if (!(run->config->analysis->records & ST_RECORDS_SAMPLES)) {
		snprintf(out, out_size, "%sITT tasks", operators);
		return;
	}
	/* Behind the sampler, without its comma. */
	if (*operators)
		operators[strlen(operators) - 2] = '\0';
	/* Short: the summary has one line for it. */
	if (run->sampling.period_ns != run->sampling.asked_ns)
		snprintf(asked, sizeof(asked), ", not %g",
			 second_ns / (double)run->sampling.asked_ns);
	snprintf(out, out_size, "CPU timer %g Hz%s (%s%s%s%s)%s%s",
		 second_ns / (double)run->sampling.period_ns, asked,
		 st_trigger_name(process ? (enum st_sampler_trigger)process->trigger
					 : run->sampling.trigger),
		 process ? ", " : "",
		 process ? st_rung_name((enum st_sampler_rung)process->rung) : "",
		 run->sampling.note[0] ? "; no cycles" : "", *operators ? ", " : "", operators);
	st_run_waits_text(run, waits, sizeof(waits));
	used = strlen(out);
	if (*waits && used + 2 < out_size)
		snprintf(out + used, out_size - used, ", %s", waits);
}

static void put_rungs(struct st_json *json, const struct st_followed_table *table)
{
	st_json_put_array(json, "rungs");
	for (uint32_t i = 0; i < table->rung_count; i++) {
		const struct st_rung_seen *seen = &table->rungs[i];

		st_json_object_begin(json);
		st_json_put_text(json, "rung", st_rung_name((enum st_sampler_rung)seen->rung));
		st_json_put_text(json, "trigger",
				 st_trigger_name((enum st_sampler_trigger)seen->trigger));
		st_json_put_u64(json, "processes", seen->processes);
		st_json_put_text(json, "why", seen->why);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

/* What taking the samples cost, as the handler measured itself, and what was lost. */
static void put_counts(struct st_json *json, const struct st_run *run)
{
	struct st_drain_counts totals;
	double handler_ns, tick_ns = second_ns / (double)run->ticks_per_second;

	st_followed_totals(&run->followed, &totals);
	handler_ns = (double)totals.handler_ticks * tick_ns;
	st_json_put_u64(json, "samples", totals.samples);
	st_json_put_u64(json, "cpu_ns", totals.sample_cpu_ns);
	st_json_put_u64(json, "dropped", totals.samples_dropped);
	st_json_put_u64(json, "not_taken", totals.samples_not_taken);
	st_json_put_u64(json, "unarmed_threads", run->followed.young.unarmed_count);
	st_json_put_u64(json, "unarmed_cpu_ns", run->followed.young.unarmed_cpu_ns);
	st_json_put_u64(json, "nodes_refused", totals.nodes_refused);
	st_json_put_u64(json, "handler_ns", (uint64_t)handler_ns);
	st_json_put_u64(json, "handler_usual_ns",
			(uint64_t)((double)st_drain_usual_handler(&run->shared) * tick_ns));
	if (totals.sample_cpu_ns) {
		st_json_key(json, "cost_ratio");
		st_json_double(json, handler_ns / (double)totals.sample_cpu_ns);
	}
	st_json_put_text(json, "cost_source",
			 "measured: time in the handler, without the interrupt that enters it");
	st_json_put_u64(json, "before_tables", totals.before_tables);
	st_json_put_u64(json, "tables_built", totals.tables_built);
	st_json_put_u64(json, "tables_cached", totals.tables_cached);
	st_json_put_u64(json, "tables_build_ns", totals.build_ns);
}

void st_run_put_sampling(const struct st_run *run, struct st_json *json)
{
	const struct st_followed *process = lowest(&run->followed);

	if (!(run->config->analysis->records & ST_RECORDS_SAMPLES))
		return;
	st_json_put_object(json, "sampling");
	st_json_put_text(json, "mode", run->config->sampling.hardware ? "hw" : "sw");
	st_json_put_u64(json, "asked_ns", run->sampling.asked_ns);
	st_json_put_u64(json, "period_ns", run->sampling.period_ns);
	st_json_put_text(json, "trigger", st_trigger_name(run->sampling.trigger));
	st_json_put_text(json, "note", run->sampling.note);
	st_json_put_bool(json, "stacks", run->config->sampling.stacks != ST_CHOICE_OFF);
	st_json_put_text(json, "rung",
			 process ? st_rung_name((enum st_sampler_rung)process->rung) : "");
	put_rungs(json, &run->followed);
	put_counts(json, run);
	st_run_put_kernel(run, json);
	st_run_put_switches(run, json);
	st_run_put_attached(run, json);
	st_json_object_end(json);
}
