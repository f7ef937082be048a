// SPDX-License-Identifier: Apache-2.0
//
// Rules over the operators of the steps.
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/finding_rules.h"
#include "analyze/operators/operator_work.h"

enum {
	DTYPE_DOUBLE = 7,
	TINY_NS = 10000,
	TINY_BYTES = 32 << 10, /* done in less than that, however long it takes */
	TINY_FLOPS = 200000,
	NOT_TINY_NS = 200000,
	TINY_GAP_NS = 50000,  /* of Python between two operators of one loop */
	READ_GAP_NS = 100000, /* and between two reads */
	TINY_PER_STEP = 100,
};

static bool takes_double(const struct st_signature *signature)
{
	struct st_input_reader reader;
	struct st_input input;

	st_input_begin(&reader, signature);
	while (st_input_next(&reader, &input))
		/* A number beside a tensor is a tensor without dimensions. */
		if (input.kind == ST_INPUT_TENSOR && input.dtype == DTYPE_DOUBLE &&
		    input.dimension_count)
			return true;
	return false;
}

/* Double precision halves what fits in a register and in a cache; convolutions lose oneDNN's kernels as well. */
bool st_find_double_precision(struct st_finding_ground *ground, struct st_finding *out)
{
	const struct st_operator_rows *rows = ground->rows;
	uint32_t count, largest = ST_NO_ROW;
	const struct st_signature *signatures = st_result_signatures(ground->result, &count);
	enum { IS_DOUBLE = 1, IS_CONVOLUTION = 2 };
	uint8_t *kind = calloc((size_t)rows->count + 1, 1);
	uint64_t convolutions_ns = 0, others_ns = 0, largest_ns = 0;

	for (uint32_t row = 0; kind && row < rows->count; row++) {
		uint32_t parent = rows->parent[row], signature = rows->signature[row];

		if (parent != ST_NO_ROW)
			kind[row] = kind[parent];
		if (signature < count && takes_double(&signatures[signature]))
			kind[row] |= IS_DOUBLE;
		/* Not a range of the program's that is called so. */
		if (!rows->is_range[rows->label[row]] &&
		    st_text_holds(st_row_name(ground->rows, row), "conv"))
			kind[row] |= IS_CONVOLUTION;
		if (!(kind[row] & IS_DOUBLE) || !st_finding_counts(ground, row))
			continue;
		*(kind[row] & IS_CONVOLUTION ? &convolutions_ns : &others_ns) += rows->self_ns[row];
		if (rows->self_ns[row] > largest_ns) {
			largest_ns = rows->self_ns[row];
			largest = row;
		}
	}
	free(kind);
	out->evidence_ns = convolutions_ns + others_ns;
	if (largest == ST_NO_ROW || st_finding_share(ground, out->evidence_ns) < 0.1)
		return false;
	/* On an Intel Xeon oneDNN took 22 to 39 % of the time that convolutions of doubles did: less for larger ones. */
	out->saving_low_ns = out->saving_high_ns = convolutions_ns / 3 * 2 + others_ns / 2;
	out->where = st_finding_where(ground, largest);
	out->what =
		st_arena_printf(ground->arena, "%s in float64 operators%s",
				st_finding_time(ground, out->evidence_ns),
				convolutions_ns > others_ns
					? ", mostly convolutions, which oneDNN does not accelerate"
					: "");
	return true;
}

/* The rows of a track from one on that begin before a moment: they become part of something. */
static void take(const struct st_operator_rows *rows, uint8_t *is_part, uint32_t from,
		 int64_t until_ns)
{
	for (uint32_t i = from;
	     i < rows->count && rows->track[i] == rows->track[from] && rows->begin_ns[i] < until_ns;
	     i++)
		is_part[i] = 1;
}

/* Recording each operator is part of what was measured, and not of what is saved. */
static const char *set_saving(const struct st_finding_ground *ground, struct st_finding *out,
			      uint64_t cost_ns, double part)
{
	uint64_t own_ns = out->evidence_ns > cost_ns ? out->evidence_ns - cost_ns : 0;

	out->saving_high_ns = (uint64_t)((double)own_ns * part);
	/* Without the cost there is no telling how much less it is. */
	out->saving_low_ns = cost_ns ? out->saving_high_ns : 0;
	return cost_ns ? st_arena_printf(ground->arena, "; %s of that is recording overhead",
					 st_finding_time(ground, out->evidence_ns - own_ns))
		       : "";
}

/* Operators that only say which value is read. */
static bool is_view(struct st_text name)
{
	static const char *const views[] = {"aten::select",
					    "aten::slice",
					    "aten::as_strided",
					    "aten::view",
					    "aten::squeeze",
					    "aten::detach",
					    "aten::unbind",
					    "aten::alias",
					    "aten::item",
					    "aten::reshape",
					    "aten::_local_scalar_dense"};

	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (st_text_equals(name, views[i]))
			return true;
	return st_text_equals(name, "detach");
}

/* Whether a read follows another one in a loop that does nothing else: then the time between them is part of it. */
static bool follows(const struct st_finding_ground *ground, uint32_t last, uint32_t row)
{
	const struct st_operator_rows *rows = ground->rows;

	if (last == ST_NO_ROW || rows->track[last] != rows->track[row] ||
	    rows->begin_ns[row] - rows->end_ns[last] >= READ_GAP_NS)
		return false;
	for (uint32_t i = last + 1; i < row; i++)
		if (!is_view(st_row_name(rows, i)))
			return false;
	return true;
}

/* The optimizer's range that a row lies in, or ST_NO_ROW. */
static uint32_t optimizer_of(const struct st_finding_ground *ground, uint32_t row)
{
	for (row = ground->rows->parent[row]; row != ST_NO_ROW; row = ground->rows->parent[row])
		if (st_text_begins(st_row_name(ground->rows, row), "Optimizer.step#"))
			return row;
	return ST_NO_ROW;
}

struct reads {
	uint8_t *is_part; /* by row */
	uint64_t ns, count;
	uint32_t optimizer; /* whose they are; ST_NO_ROW: the program's own */
};

/* Those of the program's own, or those of the optimizers. Most optimizers read how many steps there were, one number for
 * each parameter, with all of their work in between. */
static void sum_reads(const struct st_finding_ground *ground, struct reads *out, bool of_optimizer)
{
	const struct st_operator_rows *rows = ground->rows;
	uint32_t last = ST_NO_ROW;

	out->optimizer = ST_NO_ROW;
	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t first = row, optimizer;

		if (!st_text_equals(st_row_name(rows, row), "aten::item") ||
		    !st_finding_counts(ground, row))
			continue;
		optimizer = optimizer_of(ground, row);
		if ((optimizer != ST_NO_ROW) != of_optimizer)
			continue;
		if (follows(ground, last, row))
			first = last;
		take(rows, out->is_part, first, rows->end_ns[row]);
		out->ns += (uint64_t)(rows->end_ns[row] -
				      (first == row ? rows->begin_ns[row] : rows->end_ns[last]));
		out->optimizer = optimizer;
		last = row;
		out->count++;
	}
}

static bool tell_reads(struct st_finding_ground *ground, struct st_finding *out,
		       struct reads *reads)
{
	const char *line = st_finding_line(ground, reads->is_part, &out->command), *recording, *who;

	out->evidence_ns = reads->ns;
	recording = set_saving(ground, out, st_finding_cost_ns(ground, reads->is_part), 1.0);
	if (reads->optimizer != ST_NO_ROW) {
		who = st_finding_where(ground, reads->optimizer);
		out->remedy = "use Adam(…, fused=True), which reads none, or foreach=True, which "
			      "reads fewer: the optimizer itself reads them";
		out->where = line ? line : who;
		who = st_arena_printf(ground->arena, "by the optimizer (%s)", who);
	} else {
		who = line ? st_arena_printf(ground->arena, "by your code, at %s", line)
			   : "outside the optimizer, by your code or a library";
		out->where = line ? line : "aten::item";
	}
	out->what = st_arena_printf(ground->arena, "%s in reading %s single values %s%s",
				    st_finding_time(ground, reads->ns),
				    st_finding_number(ground, reads->count), who, recording);
	memcpy(ground->claimed, reads->is_part, ground->rows->count);
	return true;
}

/* A loop that reads number after number does nothing else: all of it counts, Python between the reads included. Elsewhere
 * a read alone counts. */
bool st_find_scalar_reads(struct st_finding_ground *ground, struct st_finding *out)
{
	struct reads both[2] = {{0}, {0}}, *most;
	bool found = false;

	for (unsigned int i = 0; i < 2; i++) {
		both[i].is_part = calloc((size_t)ground->rows->count + 1, 1);
		if (both[i].is_part)
			sum_reads(ground, &both[i], i == 1);
	}
	most = both[1].ns > both[0].ns ? &both[1] : &both[0];
	if (most->is_part && st_finding_share(ground, most->ns) >= 0.1)
		found = tell_reads(ground, out, most);
	free(both[0].is_part);
	free(both[1].is_part);
	return found;
}

/* By duration, or by what it has to do: on a busy machine anything may take long. */
static bool is_tiny(const struct st_finding_ground *ground, uint32_t row)
{
	const struct st_operator_rows *rows = ground->rows;
	int64_t took_ns = rows->end_ns[row] - rows->begin_ns[row];
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(ground->result, &count);
	struct st_operator_work work;

	if (took_ns < TINY_NS || took_ns > NOT_TINY_NS || rows->signature[row] >= count)
		return took_ns < TINY_NS;
	work = st_operator_work(st_row_name(ground->rows, row), &signatures[rows->signature[row]]);
	return work.has_bytes && work.bytes < TINY_BYTES &&
	       (!work.has_flops || work.flops < TINY_FLOPS);
}

/* The tiny ones, marked with all that is inside of them; returns their number. */
static uint64_t mark_tiny(const struct st_finding_ground *ground, uint8_t *is_part,
			  uint64_t *took_ns)
{
	const struct st_operator_rows *rows = ground->rows;
	uint64_t count = 0;
	uint32_t last = ST_NO_ROW;

	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t parent = rows->parent[row];

		/* Outermost operators; ranges are none. */
		if (rows->is_range[rows->label[row]] ||
		    (parent != ST_NO_ROW && !rows->is_range[rows->label[parent]]) ||
		    ground->claimed[row] || !st_finding_counts(ground, row))
			continue;
		if (last != ST_NO_ROW && rows->track[last] == rows->track[row] &&
		    rows->begin_ns[row] - rows->end_ns[last] < TINY_GAP_NS)
			*took_ns += (uint64_t)(rows->begin_ns[row] - rows->end_ns[last]);
		last = ST_NO_ROW;
		if (!is_tiny(ground, row))
			continue;
		*took_ns += (uint64_t)(rows->end_ns[row] - rows->begin_ns[row]);
		take(rows, is_part, row, rows->end_ns[row]);
		last = row;
		count++;
	}
	return count;
}

/* Whose they are: of the optimizer, when most of them lie in it; else of a line of the program, where one has most. */
static void tell_place(const struct st_finding_ground *ground, struct st_finding *out,
		       const uint8_t *is_part)
{
	uint64_t all_ns = 0, optimizer_ns = 0;
	uint32_t optimizer = ST_NO_ROW;
	const char *ignored, *line;

	for (uint32_t row = 0; row < ground->rows->count; row++) {
		uint32_t around = is_part[row] ? optimizer_of(ground, row) : ST_NO_ROW;

		if (!is_part[row])
			continue;
		all_ns += ground->rows->self_ns[row];
		if (around == ST_NO_ROW)
			continue;
		optimizer_ns += ground->rows->self_ns[row];
		optimizer = around;
	}
	if (optimizer != ST_NO_ROW && optimizer_ns > all_ns / 2) {
		out->where = st_finding_where(ground, optimizer);
		out->remedy = "use Adam(…, foreach=True) or fused=True, which do all parameters "
			      "at once: most are the optimizer's own";
		return;
	}
	line = st_finding_line(ground, is_part, &ignored);
	out->where = line ? line : "";
}

/* What an operator needs besides its work is a few microseconds. Done together, next to nothing of that is left. */
bool st_find_tiny_operators(struct st_finding_ground *ground, struct st_finding *out)
{
	uint8_t *is_part = calloc((size_t)ground->rows->count + 1, 1);
	uint64_t count = is_part ? mark_tiny(ground, is_part, &out->evidence_ns) : 0;
	uint64_t cost_ns = is_part ? st_finding_cost_ns(ground, is_part) : 0;
	const char *recording;
	bool found = st_finding_share(ground, out->evidence_ns) >= 0.4 &&
		     (double)count / ground->divisor >= TINY_PER_STEP;

	if (is_part && found)
		tell_place(ground, out, is_part);
	free(is_part);
	if (!found)
		return false;
	recording = set_saving(ground, out, cost_ns, 0.9);
	out->what = st_arena_printf(ground->arena, "%s in %s operators that do almost no work%s",
				    st_finding_time(ground, out->evidence_ns),
				    st_finding_number(ground, count), recording);
	ground->has_tiny_operators = true;
	return true;
}
