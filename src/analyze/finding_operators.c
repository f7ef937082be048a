// SPDX-License-Identifier: Apache-2.0
//
// Rules over the operators of the steps.
#include <stdlib.h>
#include <string.h>

#include "analyze/finding_rules.h"
#include "analyze/operator_work.h"

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

static bool begins(struct st_text text, const char *with)
{
	size_t size = strlen(with);

	return text.size_bytes >= size && !memcmp(text.bytes, with, size);
}

static bool is_text(struct st_text text, const char *other)
{
	return text.size_bytes == strlen(other) && begins(text, other);
}

static bool has(struct st_text text, const char *part)
{
	return memmem(text.bytes, text.size_bytes, part, strlen(part)) != NULL;
}

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
		if (has(st_finding_name(ground, row), "conv"))
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
	out->saving_low_ns = out->saving_high_ns = convolutions_ns / 10 * 8 + others_ns / 2;
	out->where = st_arena_printf(ground->arena, "%.*s",
				     (int)st_finding_name(ground, largest).size_bytes,
				     st_finding_name(ground, largest).bytes);
	out->what = st_arena_printf(
		ground->arena, "%.3g ms in operators on float64%s",
		st_finding_ms(ground, out->evidence_ns),
		convolutions_ns > others_ns ? ", most of it convolutions, which miss oneDNN" : "");
	return true;
}

/* A loop that reads number after number does nothing else: all of it counts, Python between the reads included. */
bool st_find_scalar_reads(struct st_finding_ground *ground, struct st_finding *out)
{
	const struct st_operator_rows *rows = ground->rows;
	uint64_t count = 0;
	uint32_t last = ST_NO_ROW;

	for (uint32_t row = 0; row < rows->count; row++) {
		int64_t from = rows->begin_ns[row];

		if (!is_text(st_finding_name(ground, row), "aten::item") ||
		    !st_finding_counts(ground, row))
			continue;
		if (last != ST_NO_ROW && rows->track[last] == rows->track[row] &&
		    from - rows->end_ns[last] < READ_GAP_NS) {
			from = rows->end_ns[last];
			/* The operators between belong to the loop. */
			for (uint32_t i = last; i <= row; i++)
				ground->claimed[i] = 1;
		}
		out->evidence_ns += (uint64_t)(rows->end_ns[row] - from);
		last = row;
		count++;
	}
	if (st_finding_share(ground, out->evidence_ns) < 0.1) {
		memset(ground->claimed, 0, rows->count);
		return false;
	}
	/* Recording each operator is part of what was measured. */
	out->saving_low_ns = 0;
	out->saving_high_ns = out->evidence_ns;
	out->where = "aten::item";
	out->what = st_arena_printf(ground->arena, "%.3g ms in reading %.3g single numbers",
				    st_finding_ms(ground, out->evidence_ns),
				    (double)count / (double)ground->divisor);
	return true;
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
	work = st_operator_work(st_finding_name(ground, row), &signatures[rows->signature[row]]);
	return work.has_bytes && work.bytes < TINY_BYTES &&
	       (!work.has_flops || work.flops < TINY_FLOPS);
}

/* What an operator needs besides its work is a few microseconds. Done together, next to nothing of that is left. */
bool st_find_tiny_operators(struct st_finding_ground *ground, struct st_finding *out)
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
			out->evidence_ns += (uint64_t)(rows->begin_ns[row] - rows->end_ns[last]);
		last = ST_NO_ROW;
		if (!is_tiny(ground, row))
			continue;
		out->evidence_ns += (uint64_t)(rows->end_ns[row] - rows->begin_ns[row]);
		last = row;
		count++;
	}
	if (st_finding_share(ground, out->evidence_ns) < 0.4 ||
	    count / ground->divisor < TINY_PER_STEP)
		return false;
	/* Recording each operator is part of what was measured. */
	out->saving_low_ns = 0;
	out->saving_high_ns = out->evidence_ns / 10 * 9;
	out->what = st_arena_printf(
		ground->arena, "%.3g ms in %.3g operators that have next to nothing to do",
		st_finding_ms(ground, out->evidence_ns), (double)count / (double)ground->divisor);
	return true;
}

static bool is_torchs_range(const struct st_finding_ground *ground, uint32_t row)
{
	struct st_text name = st_finding_name(ground, row);

	return begins(name, "ProfilerStep") || begins(name, "Optimizer.") ||
	       begins(name, "enumerate(DataLoader)");
}

/* A range of the program that is part of a step: not the step itself, and not one around what a step is made of. */
static void mark_loops(const struct st_finding_ground *ground, uint8_t *is_loop)
{
	const struct st_operator_rows *rows = ground->rows;

	for (uint32_t i = 0; i < ground->steps->count; i++) {
		uint32_t slice = ground->steps->steps[i].slice;

		if (slice != ST_NO_ROW && rows->row_of_slice[slice] != ST_NO_ROW)
			is_loop[rows->row_of_slice[slice]] = 1;
	}
	for (uint32_t row = 0; row < rows->count; row++)
		if (rows->is_range[rows->label[row]] && is_torchs_range(ground, row))
			for (uint32_t up = rows->parent[row]; up != ST_NO_ROW;
			     up = rows->parent[up])
				is_loop[up] = 1;
}

/* Of one label; ranges of one label may be in several places. */
bool st_find_work_in_range(struct st_finding_ground *ground, struct st_finding *out)
{
	const struct st_operator_rows *rows = ground->rows;
	uint32_t names = rows->texts[ST_BY_OPERATOR].count, largest = 0;
	uint64_t *self_ns = calloc((size_t)names + 1, sizeof(*self_ns));
	uint8_t *is_loop = calloc((size_t)rows->count + 1, 1);
	struct st_text name;

	if (is_loop)
		mark_loops(ground, is_loop);
	for (uint32_t row = 0; self_ns && is_loop && row < rows->count; row++)
		if (rows->is_range[rows->label[row]] && !is_loop[row] &&
		    !is_torchs_range(ground, row) && st_finding_counts(ground, row))
			self_ns[rows->name_of[rows->label[row]]] += rows->self_ns[row];
	free(is_loop);
	for (uint32_t i = 0; self_ns && i < names; i++)
		if (self_ns[i] > self_ns[largest])
			largest = i;
	if (self_ns)
		out->evidence_ns = self_ns[largest];
	free(self_ns);
	if (!out->evidence_ns || st_finding_share(ground, out->evidence_ns) < 0.2)
		return false;
	name = rows->texts[ST_BY_OPERATOR].texts[largest];
	out->saving_low_ns = 0;
	out->saving_high_ns = out->evidence_ns;
	out->where = st_arena_printf(ground->arena, "%.*s", (int)name.size_bytes, name.bytes);
	out->what = st_arena_printf(ground->arena,
				    "%.3g ms of \"%.*s\" are outside of operators: Python, NumPy "
				    "or waiting",
				    st_finding_ms(ground, out->evidence_ns), (int)name.size_bytes,
				    name.bytes);
	return true;
}
