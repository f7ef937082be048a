// SPDX-License-Identifier: Apache-2.0
//
// Report "gprof-cc": for each function a block of its callers, itself, and its callees, in the style of gprof.
#include "analyze/reports/report_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/call_graph.h"
#include "analyze/tables/report_make.h"
#include "analyze/reports/report_samples.h"
#include "store/result.h"

enum { INDEX, SHARE, SELF, CHILDREN, NAME, NAME_INDEX, ROLE, BLOCK, COLUMNS };

static const struct st_column columns[COLUMNS] = {
	[INDEX] = {"index", "Index", "", true},
	[SHARE] = {"cpu_total_ratio", "% CPU Time:Total", "ratio", false},
	[SELF] = {"cpu_self_ns", "CPU Time:Self", "ns", false},
	[CHILDREN] = {"cpu_children_ns", "CPU Time:Children", "ns", false},
	[NAME] = {"name", "Name", "", true},
	[NAME_INDEX] = {"name_index", "Index", "", true},
	[ROLE] = {"role", "Role", "", true},
	[BLOCK] = {"block", "Block", "", false},
};

struct job {
	struct st_sample_set *set;
	struct st_call_graph graph;
	struct st_report *report;
	uint32_t *order;     /* functions by total time */
	uint32_t *number_of; /* by function: its place in that order, from 1 */
	uint32_t *calls;     /* calls, by total time */
	uint32_t shown;
};

static int compare_functions(const void *a, const void *b, void *arg)
{
	const struct st_call_function *functions = arg;
	const struct st_call_function *x = &functions[*(const uint32_t *)a];
	const struct st_call_function *y = &functions[*(const uint32_t *)b];

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int compare_calls(const void *a, const void *b, void *arg)
{
	const struct st_call *calls = arg;
	const struct st_call *x = &calls[*(const uint32_t *)a];
	const struct st_call *y = &calls[*(const uint32_t *)b];

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static bool order_all(struct job *job)
{
	struct st_call_graph *graph = &job->graph;
	uint32_t count = graph->function_count;

	job->order = calloc((size_t)count + 1, sizeof(*job->order));
	job->number_of = calloc((size_t)count + 1, sizeof(*job->number_of));
	job->calls = calloc((size_t)graph->call_count + 1, sizeof(*job->calls));
	if (!job->order || !job->number_of || !job->calls)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (graph->functions[i].total_ns)
			job->order[job->shown++] = i;
	qsort_r(job->order, job->shown, sizeof(*job->order), compare_functions, graph->functions);
	for (uint32_t i = 0; i < job->shown; i++)
		job->number_of[job->order[i]] = i + 1;
	for (uint32_t i = 0; i < graph->call_count; i++)
		job->calls[i] = i;
	qsort_r(job->calls, graph->call_count, sizeof(*job->calls), compare_calls, graph->calls);
	return true;
}

static struct st_cell name_cell(struct job *job, uint32_t function, bool is_primary)
{
	struct st_arena *arena = st_report_arena(job->report);
	struct st_text name = job->set->keys[ST_BY_FUNCTION].texts[function];
	uint32_t cycle = job->graph.functions[function].cycle;
	const char *indent = is_primary ? "" : "  ";

	if (cycle)
		return st_cell_text(st_arena_printf(arena, "%s%.*s <cycle %u>", indent,
						    (int)name.size_bytes, name.bytes, cycle));
	return st_cell_text(
		st_arena_printf(arena, "%s%.*s", indent, (int)name.size_bytes, name.bytes));
}

static struct st_cell *add_line(struct job *job, uint32_t block, const char *role, uint64_t self,
				uint64_t total)
{
	struct st_cell *cells = st_report_add(job->report, 0);

	cells[SELF] = st_cell_u64(self);
	cells[CHILDREN] = st_cell_u64(total > self ? total - self : 0);
	cells[ROLE] = st_cell_text(role);
	cells[BLOCK] = st_cell_u64(block);
	return cells;
}

static void name_line(struct job *job, struct st_cell *cells, uint32_t function, bool is_primary)
{
	const char *index =
		st_arena_printf(st_report_arena(job->report), "[%u]", job->number_of[function]);

	cells[NAME] = name_cell(job, function, is_primary);
	cells[NAME_INDEX] = st_cell_text(index);
	if (is_primary)
		cells[INDEX] = st_cell_text(index);
}

static void add_block(struct job *job, uint32_t number)
{
	uint32_t function = job->order[number - 1];
	const struct st_call_function *primary = &job->graph.functions[function];
	struct st_cell *cells;

	if (primary->root_ns) {
		cells = add_line(job, number, "caller", primary->root_self_ns, primary->root_ns);
		cells[NAME] = st_cell_text("  <spontaneous>");
	}
	for (uint32_t i = 0; i < job->graph.call_count; i++) {
		const struct st_call *call = &job->graph.calls[job->calls[i]];

		if (call->callee == function)
			name_line(job,
				  add_line(job, number, "caller", call->self_ns, call->total_ns),
				  call->caller, false);
	}
	cells = add_line(job, number, "function", primary->self_ns, primary->total_ns);
	name_line(job, cells, function, true);
	if (job->graph.total_ns)
		cells[SHARE] =
			st_cell_double((double)primary->total_ns / (double)job->graph.total_ns);
	for (uint32_t i = 0; i < job->graph.call_count; i++) {
		const struct st_call *call = &job->graph.calls[job->calls[i]];

		if (call->caller == function)
			name_line(job,
				  add_line(job, number, "callee", call->self_ns, call->total_ns),
				  call->callee, false);
	}
}

static enum st_status build(struct job *job, const struct st_question *question,
			    struct st_error *err)
{
	enum st_status status = st_call_graph_make(&job->graph, job->set, question, err);

	if (status)
		return status;
	if (!order_all(job))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	if (!status && question->limit && job->shown > question->limit)
		job->shown = (uint32_t)question->limit;
	for (uint32_t i = 1; !status && i <= job->shown; i++)
		add_block(job, i);
	job->report->totals.cells = st_report_new_cells(job->report);
	job->report->totals.cells[SELF] = st_cell_u64(job->graph.total_ns);
	free(job->order);
	free(job->number_of);
	free(job->calls);
	st_call_graph_fini(&job->graph);
	return status;
}

enum st_status st_report_gprof_build(const struct st_report_kind *kind,
				     const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err)
{
	struct st_sample_set set;
	struct job job = {.set = &set, .report = out};
	enum st_status status;

	(void)kind;
	st_report_columns(out, columns, COLUMNS);
	out->blocks = BLOCK;
	status = st_sample_set_open(&set, result, &options->view, err);
	if (!status) {
		status = build(&job, &options->question, err);
		st_report_add_notes(out, &set);
		st_sample_set_close(&set);
	}
	return status;
}
