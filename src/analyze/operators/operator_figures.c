// SPDX-License-Identifier: Apache-2.0
#include "analyze/operators/operator_figures.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/operator_work.h"
#include "store/result.h"

/* From a row of the answer outwards; the totals stand behind the outermost. */
static uint32_t outwards(const struct st_operator_sums *sums, uint32_t at)
{
	uint32_t totals = sums->answer->row_count;
	uint32_t up = at < totals ? sums->answer->rows[at].parent : ST_NO_ROW;

	if (at >= totals)
		return ST_NO_ROW;
	return up == ST_NO_ROW ? totals : up;
}

/* A range around it that ended before it did. */
static bool is_over(const struct st_operator_rows *rows, uint32_t up, uint32_t row)
{
	return (rows->flags[up] & ST_SLICE_MISMATCHED) && rows->end_ns[up] < rows->end_ns[row];
}

static void add_memory(struct st_operator_sums *sums, const struct st_operator *from,
		       uint32_t number)
{
	uint32_t row = sums->rows->row_of_slice[from->row];

	if (row == ST_NO_ROW) {
		sums->outside_bytes += from->allocated;
		return;
	}
	for (uint32_t at = sums->answer->row_of[row]; at != ST_NO_ROW; at = outwards(sums, at)) {
		sums->figures[at].self_allocated += from->allocated;
		sums->figures[at].self_freed += from->freed;
	}
	for (uint32_t up = row; up != ST_NO_ROW; up = sums->rows->parent[up]) {
		if (is_over(sums->rows, up, row))
			continue;
		for (uint32_t at = sums->answer->row_of[up];
		     at != ST_NO_ROW && sums->stamps[at] != number; at = outwards(sums, at)) {
			sums->stamps[at] = number;
			sums->figures[at].allocated += from->allocated;
			sums->figures[at].freed += from->freed;
		}
	}
}

static const struct st_operator_work *work_of(const struct st_operator_sums *sums, uint32_t row)
{
	return &sums->work[sums->rows->signature[row]];
}

static void count_work(struct st_operator_figures *figures, const struct st_operator_work *work,
		       uint64_t ns)
{
	if (work->has_flops) {
		figures->has_flops = true;
		figures->flops += work->flops;
		figures->flops_ns += ns;
	}
	if (work->has_bytes) {
		figures->has_bytes = true;
		figures->bytes += work->bytes;
		figures->bytes_ns += ns;
	}
	if (work->has_flops && work->has_bytes) {
		figures->has_both = true;
		figures->both_flops += work->flops;
		figures->both_bytes += work->bytes;
	}
}

/* Groups in which an operator around this one has been counted are stamped, and passed over. */
static void add_work(struct st_operator_sums *sums, uint32_t row, uint32_t number)
{
	const struct st_operator_work *work = work_of(sums, row);
	uint64_t ns;

	if (!work->has_flops || (sums->rows->flags[row] & sums->dataset->uncounted_flags))
		return;
	for (uint32_t up = sums->rows->parent[row]; up != ST_NO_ROW; up = sums->rows->parent[up]) {
		if (!work_of(sums, up)->has_flops)
			continue;
		for (uint32_t at = sums->answer->row_of[up];
		     at != ST_NO_ROW && sums->stamps[at] != number; at = outwards(sums, at))
			sums->stamps[at] = number;
	}
	ns = st_result_wall_ns(sums->result, sums->rows->slice[row]);
	for (uint32_t at = sums->answer->row_of[row]; at != ST_NO_ROW && sums->stamps[at] != number;
	     at = outwards(sums, at))
		count_work(&sums->figures[at], work, ns);
}

bool st_operator_sums_init(struct st_operator_sums *sums, const struct st_result *result,
			   const struct st_dataset *operators)
{
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(result, &count);

	*sums = (struct st_operator_sums){
		.result = result, .dataset = operators, .rows = st_dataset_operators(operators)};
	sums->work = calloc((size_t)count + 1, sizeof(*sums->work));
	for (uint32_t i = 0; sums->work && i < count; i++) {
		if (signatures[i].scope != ST_SCOPE_MODULE)
			sums->work[i] = st_operator_work(
				st_result_text(sums->result, signatures[i].name), &signatures[i]);
	}
	return sums->work;
}

void st_operator_sums_fini(struct st_operator_sums *sums)
{
	free(sums->figures);
	free(sums->stamps);
	free(sums->work);
	*sums = (struct st_operator_sums){0};
}

bool st_operator_sums_make(struct st_operator_sums *sums, const struct st_answer *answer)
{
	uint32_t totals = answer->row_count, count, number = 0;
	const struct st_operator *operators = st_result_operators(sums->result, &count);

	sums->answer = answer;
	free(sums->figures);
	free(sums->stamps);
	sums->figures = calloc((size_t)totals + 1, sizeof(*sums->figures));
	sums->stamps = calloc((size_t)totals + 1, sizeof(*sums->stamps));
	if (!sums->figures || !sums->stamps)
		return false;
	st_result_memory(sums->result, &number);
	sums->has_memory = number;
	sums->outside_bytes = 0;
	number = 0;
	for (uint32_t i = 0; sums->has_memory && i < count; i++) {
		if (operators[i].allocated || operators[i].freed)
			add_memory(sums, &operators[i], ++number);
	}
	memset(sums->stamps, 0, ((size_t)totals + 1) * sizeof(*sums->stamps));
	for (uint32_t row = 0; row < sums->rows->count; row++)
		add_work(sums, row, row + 1);
	return true;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0.0;
}

double st_operator_figure(const struct st_operator_figures *figures, enum st_metric metric)
{
	switch (metric) {
	case ST_ALLOCATED:
		return (double)figures->allocated;
	case ST_SELF_ALLOCATED:
		return (double)figures->self_allocated;
	case ST_FREED:
		return (double)figures->freed;
	case ST_SELF_FREED:
		return (double)figures->self_freed;
	case ST_FLOPS:
		return (double)figures->flops;
	case ST_MOVED:
		return (double)figures->bytes;
	case ST_GFLOPS:
		return ratio(figures->flops, figures->flops_ns);
	case ST_GBYTES:
		return ratio(figures->bytes, figures->bytes_ns);
	default:
		return ratio(figures->both_flops, figures->both_bytes);
	}
}
