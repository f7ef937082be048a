// SPDX-License-Identifier: Apache-2.0
//
// Rules over oneDNN's primitives: data brought into another order, and code made for sizes that are new.
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/finding_rules.h"

enum {
	NEW_CODE_NS = 50000, /* beside its primitives an operator needs less than that otherwise */
	USUAL_NS = 10000,    /* and about that much */
};

static bool is_in_convolution(const struct st_finding_ground *ground, uint32_t row)
{
	const struct st_operator_rows *rows = ground->rows;

	/* A range of the program's may be called so, too. */
	for (; row != ST_NO_ROW; row = rows->parent[row])
		if (!rows->is_range[rows->label[row]] &&
		    st_text_holds(st_row_name(ground->rows, row), "conv"))
			return true;
	return false;
}

static bool is_conversion(const struct st_finding_ground *ground, uint32_t row)
{
	struct st_text name = st_row_name(ground->rows, row);

	return st_text_holds(name, "to_mkldnn") || st_text_holds(name, "to_dense");
}

/* Whether a slice is part of a primitive that counts, and that of which row of operators it is. */
static bool is_primitive(const struct st_finding_ground *ground, uint32_t slice)
{
	const struct st_slices *slices = st_result_slices(ground->result);
	const struct st_operator_rows *rows = ground->rows;
	uint32_t row = rows->row_of_slice[slice];

	return !(slices->flags[slice] & (ST_SLICE_COPY | ST_SLICE_TWIN)) &&
	       slices->begin_ns[slice] >= ground->begin_ns &&
	       slices->end_ns[slice] <= ground->end_ns &&
	       ground->track_counts[slices->track[slice]] &&
	       st_finding_is_recorded(ground, slices->track[slice], slices->begin_ns[slice],
				      slices->end_ns[slice]) &&
	       (row == ST_NO_ROW || rows->slice[row] != slice);
}

static bool is_reorder(const struct st_finding_ground *ground, uint32_t slice)
{
	const struct st_slices *slices = st_result_slices(ground->result);
	uint32_t count;
	const struct st_label *labels = st_result_labels(ground->result, &count);

	return st_text_holds(st_result_text(ground->result, labels[slices->label[slice]].name),
			     "reorder");
}

/* Reorders outside of convolutions, and the number of operators that they are in. Operators that do nothing else count
 * whole: memory for the result is part of them. */
static uint64_t other_reorders_ns(const struct st_finding_ground *ground, uint64_t *number)
{
	const struct st_operator_rows *rows = ground->rows;
	uint32_t last = ST_NO_ROW, count = st_result_slices(ground->result)->count;
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = rows->row_of_slice[i];

		if (!is_primitive(ground, i) || !is_reorder(ground, i) ||
		    is_in_convolution(ground, row))
			continue;
		if (row == ST_NO_ROW || !is_conversion(ground, row))
			sum_ns += st_result_wall_ns(ground->result, i);
		else if (row != last)
			sum_ns += rows->self_ns[row];
		*number += row == ST_NO_ROW || row != last;
		last = row;
	}
	return sum_ns;
}

/* The primitives of one convolution. */
struct convolution {
	uint64_t reorder_ns, other_ns;
	uint32_t reorders, others;
};

static bool look_at_convolutions(const struct st_finding_ground *ground, struct convolution *found)
{
	const struct st_slices *slices = st_result_slices(ground->result);
	const struct st_operator_rows *rows = ground->rows;
	bool any = false;

	for (uint32_t i = 0; i < slices->count; i++) {
		uint32_t row = rows->row_of_slice[i];
		uint64_t ns;

		if (row == ST_NO_ROW || rows->kind_of[slices->label[i]] != ST_LABEL_PRIMITIVE ||
		    !is_primitive(ground, i) || !is_in_convolution(ground, row))
			continue;
		ns = st_result_wall_ns(ground->result, i);
		if (is_reorder(ground, i)) {
			found[row].reorder_ns += ns;
			found[row].reorders++;
			any = true;
		} else {
			found[row].other_ns += ns;
			found[row].others++;
		}
	}
	return any;
}

/* The reorders, and their part of what the operator takes beside its primitives: each is looked up and has memory of its
 * own. For every other primitive one of them stays, that of the weights. What the convolutions themselves gain is not known. */
static uint64_t convolution_reorders_ns(const struct st_finding_ground *ground, uint64_t *number)
{
	const struct st_operator_rows *rows = ground->rows;
	struct convolution *found = calloc((size_t)rows->count + 1, sizeof(*found));
	uint64_t sum_ns = 0;
	bool any = found && look_at_convolutions(ground, found);

	for (uint32_t row = 0; any && row < rows->count; row++) {
		const struct convolution *one = &found[row];
		uint64_t primitives_ns = one->reorder_ns + one->other_ns;

		if (!one->reorders)
			continue;
		++*number;
		sum_ns += one->reorder_ns;
		if (one->reorders > one->others && rows->self_ns[row] > primitives_ns &&
		    st_finding_counts(ground, row))
			sum_ns += (uint64_t)((double)(rows->self_ns[row] - primitives_ns) *
					     (one->reorders - one->others) /
					     (one->reorders + one->others));
	}
	free(found);
	return sum_ns;
}

static bool find_reorders(struct st_finding_ground *ground, struct st_finding *out,
			  bool in_convolutions)
{
	uint64_t number = 0;

	out->evidence_ns = in_convolutions ? convolution_reorders_ns(ground, &number)
					   : other_reorders_ns(ground, &number);
	/* Some are part of every convolution, whatever the order of its data. */
	if (st_finding_share(ground, out->evidence_ns) < (in_convolutions ? 0.15 : 0.05))
		return false;
	out->saving_low_ns = out->saving_high_ns = out->evidence_ns;
	out->where = "reorder";
	out->what = st_arena_printf(ground->arena, "%s in reorders of %s %s",
				    st_finding_time(ground, out->evidence_ns),
				    st_finding_number(ground, number),
				    in_convolutions ? "convolutions" : "other operators");
	return true;
}

bool st_find_reorders(struct st_finding_ground *ground, struct st_finding *out)
{
	return find_reorders(ground, out, false);
}

bool st_find_layout(struct st_finding_ground *ground, struct st_finding *out)
{
	return find_reorders(ground, out, true);
}

/* By row: the time of the primitives in it. */
static uint64_t *primitive_times(const struct st_finding_ground *ground)
{
	const struct st_slices *slices = st_result_slices(ground->result);
	const struct st_operator_rows *rows = ground->rows;
	uint64_t *times = calloc((size_t)rows->count + 1, sizeof(*times));

	for (uint32_t i = 0; times && i < slices->count; i++) {
		uint32_t row = rows->row_of_slice[i];

		if (row != ST_NO_ROW && rows->slice[row] != i &&
		    rows->kind_of[slices->label[i]] == ST_LABEL_PRIMITIVE &&
		    !(slices->flags[i] & (ST_SLICE_COPY | ST_SLICE_TWIN)))
			times[row] += st_result_wall_ns(ground->result, i);
	}
	return times;
}

/* The first operator of each signature makes code for its sizes: what it takes beside the primitives that then run. A
 * loop that always meets new sizes always makes code. */
bool st_find_shape_churn(struct st_finding_ground *ground, struct st_finding *out)
{
	const struct st_operator_rows *rows = ground->rows;
	uint64_t *primitives = primitive_times(ground), count = 0, largest_ns = 0;
	uint8_t *is_seen = calloc((size_t)rows->signature_count + 1, 1);
	uint32_t largest = ST_NO_ROW;

	for (uint32_t row = 0; primitives && is_seen && row < rows->count; row++) {
		uint32_t signature = rows->signature[row];
		uint64_t beside;

		if (signature >= rows->signature_count || is_seen[signature])
			continue;
		is_seen[signature] = 1;
		beside = rows->self_ns[row] - primitives[row];
		if (!primitives[row] || rows->self_ns[row] < primitives[row] + NEW_CODE_NS ||
		    !st_finding_counts(ground, row))
			continue;
		out->evidence_ns += beside - USUAL_NS;
		count++;
		if (beside > largest_ns) {
			largest_ns = beside;
			largest = row;
		}
	}
	free(primitives);
	free(is_seen);
	if (largest == ST_NO_ROW || (double)count * 2 < ground->divisor ||
	    st_finding_share(ground, out->evidence_ns) < 0.1)
		return false;
	out->saving_low_ns = out->saving_high_ns = out->evidence_ns;
	out->where = st_finding_where(ground, largest);
	out->what = st_arena_printf(ground->arena, "%s compiling kernels for new shapes, %s times",
				    st_finding_time(ground, out->evidence_ns),
				    st_finding_number(ground, count));
	return true;
}
