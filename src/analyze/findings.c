// SPDX-License-Identifier: Apache-2.0
//
// The table of rules, and the ground they stand on.
#include "analyze/findings.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/finding_rules.h"
#include "analyze/sample_set.h"
#include "store/samples.h"

/* A rule that comes first may claim rows for itself. */
static const struct rule {
	const char *name;
	st_finding_check *check;
	const char *threshold, *remedy, *command;
} rules[] = {
	{"double-precision", st_find_double_precision, "operators on float64 take 10 % of the time",
	 "use float32: .float() on the model and its inputs, or torch.set_default_dtype",
	 "strata report operators -group-by operator,input-types"},
	{"scalar-reads", st_find_scalar_reads, "reading single numbers takes 10 % of the time",
	 "keep numbers in tensors; read them together, and seldom (.tolist(), every n steps)",
	 "strata report operators -group-by operator,nn-module"},
	{"data-wait", st_find_data_wait, "waiting for data takes 10 % of a step",
	 "DataLoader(num_workers=…, persistent_workers=True, prefetch_factor=…)",
	 "strata report steps"},
	{"work-in-range", st_find_work_in_range,
	 "a range of the program spends 20 % of the time outside of operators",
	 "do it in torch, where it is threaded and stays in tensors (torch.nonzero for "
	 "numpy.argwhere)",
	 "strata report hotspots -group-by task-type,python-line"},
	{"tiny-operators", st_find_tiny_operators,
	 "operators of less than 10 us or 32 KiB, and what is between them, take 40 % of the time",
	 "do more in each: larger batches, torch.stack and one operator, foreach optimizers, "
	 "torch.compile",
	 "strata report operators -sort-desc count"},
	{"layout", st_find_layout,
	 "convolutions spend 15 % of the time on bringing data into another order",
	 "model and inputs .to(memory_format=torch.channels_last)",
	 "strata report tasks -group-by task-type"},
	{"reorders", st_find_reorders,
	 "oneDNN's reorders outside of convolutions take 5 % of the time",
	 "keep one layout from primitive to primitive; prepack weights (torch.jit.freeze, "
	 "torch.compile)",
	 "strata report tasks -group-by task-type"},
	{"spin", st_find_spin, "spinning takes 10 % of CPU time",
	 "fewer threads (torch.set_num_threads, OMP_NUM_THREADS), or more work for each",
	 "strata report hotspots -group-by function"},
	{"oversubscription", st_find_oversubscription,
	 "more threads ran than there are CPUs for 10 % of the time",
	 "fewer threads: torch.set_num_threads, OMP_NUM_THREADS, num_workers",
	 "strata report utilization"},
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) <= ST_FINDINGS_MAX, "there is room for all");

bool st_finding_counts(const struct st_finding_ground *ground, uint32_t row)
{
	const struct st_operator_rows *rows = ground->rows;

	return rows->begin_ns[row] >= ground->begin_ns && rows->end_ns[row] <= ground->end_ns &&
	       ground->track_counts[rows->track[row]] && st_row_is_counted(ground->operators, row);
}

struct st_text st_finding_name(const struct st_finding_ground *ground, uint32_t row)
{
	const struct st_operator_rows *rows = ground->rows;

	return rows->texts[ST_BY_OPERATOR].texts[rows->name_of[rows->label[row]]];
}

double st_finding_ms(const struct st_finding_ground *ground, uint64_t all_ns)
{
	return (double)all_ns / (double)ground->divisor / 1e6;
}

double st_finding_share(const struct st_finding_ground *ground, uint64_t all_ns)
{
	return (double)all_ns / (double)ground->divisor / (double)ground->step_ns;
}

/* Where steps are and, in programs without, where operators are. */
static void find_scope(struct st_finding_ground *ground, uint32_t track_count)
{
	const struct st_step_list *steps = ground->steps;
	const struct st_operator_rows *rows = ground->rows;
	bool any = false;

	ground->begin_ns = INT64_MAX;
	ground->end_ns = INT64_MIN;
	for (uint32_t i = 0; i < steps->count; i++) {
		const struct st_one_step *step = &steps->steps[i];

		if (step->is_warm_up)
			continue;
		any = true;
		ground->track_counts[step->track] = 1;
		if (step->begin_ns < ground->begin_ns)
			ground->begin_ns = step->begin_ns;
		if (step->end_ns > ground->end_ns)
			ground->end_ns = step->end_ns;
	}
	if (any && ground->figures.count) {
		ground->divisor = ground->figures.count;
		ground->step_ns = ground->figures.wall_ns / ground->divisor;
		return;
	}
	memset(ground->track_counts, 1, track_count);
	for (uint32_t row = 0; row < rows->count; row++) {
		if (rows->begin_ns[row] < ground->begin_ns)
			ground->begin_ns = rows->begin_ns[row];
		if (rows->end_ns[row] > ground->end_ns)
			ground->end_ns = rows->end_ns[row];
	}
	ground->divisor = 1;
	if (ground->end_ns > ground->begin_ns)
		ground->step_ns = (uint64_t)(ground->end_ns - ground->begin_ns);
}

static int by_saving(const void *left, const void *right)
{
	const struct st_finding *a = left, *b = right;

	if (a->saving_high_ns != b->saving_high_ns)
		return a->saving_high_ns < b->saving_high_ns ? 1 : -1;
	return strcmp(a->rule, b->rule);
}

static void apply_rules(struct st_findings *out, struct st_finding_ground *ground)
{
	out->step_count = ground->figures.count;
	out->step_ns = ground->step_ns;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && ground->step_ns; i++) {
		struct st_finding found = {.rule = rules[i].name,
					   .where = "",
					   .threshold = rules[i].threshold,
					   .remedy = rules[i].remedy,
					   .command = rules[i].command};

		if (!rules[i].check(ground, &found))
			continue;
		found.evidence_ns /= ground->divisor;
		found.saving_low_ns /= ground->divisor;
		found.saving_high_ns /= ground->divisor;
		out->items[out->count++] = found;
	}
	qsort(out->items, out->count, sizeof(out->items[0]), by_saving);
}

static enum st_status add_samples(struct st_finding_ground *ground,
				  const struct st_report_options *options, struct st_error *err)
{
	struct st_question question = {.groupings = {ST_BY_PROCESS}, .grouping_count = 1};
	struct st_sample_set set;
	struct st_answer answer;
	enum st_status status;

	if (!st_result_sample_quality(ground->result)->samples)
		return ST_OK;
	status = st_sample_set_open(&set, ground->result, &options->view, err);
	if (status)
		return status;
	status = st_utilization_make(&ground->use, &set, &question, err);
	if (!status)
		status = st_sample_ask(&set, &question, &answer, err);
	if (!status) {
		ground->has_samples = true;
		ground->spin_ns = st_answer_value(&answer.total, ST_CPU_SPIN);
		ground->cpu_ns = st_answer_value(&answer.total, ST_CPU_SELF);
		st_answer_fini(&answer);
	}
	st_sample_set_close(&set);
	return status;
}

static enum st_status look(struct st_findings *out, struct st_finding_ground *ground,
			   const struct st_report_options *options, struct st_error *err)
{
	uint32_t track_count;
	enum st_status status;

	st_result_tracks(ground->result, &track_count);
	ground->track_counts = calloc(track_count + 1, 1);
	ground->claimed = calloc(ground->rows->count + 1, 1);
	status = st_step_figures_make(ground->steps, &ground->figures, err);
	if (!status)
		status = add_samples(ground, options, err);
	if (!status && (!ground->track_counts || !ground->claimed))
		status = st_error_set(err, ST_ENOMEM, 0, "no memory for findings");
	else if (!status)
		find_scope(ground, track_count);
	if (!status)
		apply_rules(out, ground);
	st_utilization_fini(&ground->use);
	free(ground->track_counts);
	free(ground->claimed);
	return status;
}

enum st_status st_findings_make(struct st_findings *out, const struct st_result *result,
				const struct st_report_options *options, struct st_arena *arena,
				struct st_error *err)
{
	struct st_finding_ground ground = {.result = result, .arena = arena};
	struct st_dataset operators, slices;
	struct st_step_list steps;
	enum st_status status;

	memset(out, 0, sizeof(*out));
	status = st_dataset_slices_init(&slices, result, err);
	if (status)
		return status;
	status = st_step_list_make(&steps, &slices, result, err);
	if (!status) {
		status = st_dataset_operators_init(&operators, result, false, err);
		if (!status) {
			ground.operators = &operators;
			ground.rows = st_dataset_operators(&operators);
			ground.steps = &steps;
			status = look(out, &ground, options, err);
			st_dataset_operators_fini(&operators);
		}
		st_step_list_fini(&steps);
	}
	st_dataset_slices_fini(&slices);
	return status;
}
