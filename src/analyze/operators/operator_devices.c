// SPDX-License-Identifier: Apache-2.0
//
// What operators launched on devices, by torch's rules: a kernel, copy or fill belongs to the innermost operator that was
// open where the call was made that launched it, whenever it ran. Times are added up: two that ran at once count twice.
#include "analyze/operators/dataset_operators.h"

#include "format/event_kind.h"

bool st_slice_is_device_time(const struct st_result *result, uint32_t slice)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	return st_category_is_device(labels[st_result_slices(result)->label[slice]].category);
}

/* The row that a call was made in, which is not the call itself. */
static uint32_t launcher_of(const struct st_operator_rows *rows, uint32_t call)
{
	uint32_t row = rows->row_of_slice[call];

	while (row != ST_NO_ROW && rows->kind_of[rows->label[row]] == ST_LABEL_RUNTIME)
		row = rows->parent[row];
	return row;
}

/* What ran on a device is a row itself, as torch shows it. */
static void add_own(struct st_operator_rows *rows)
{
	for (uint32_t row = 0; row < rows->count; row++)
		if (st_row_is_device(rows, row))
			rows->device_ns[row] = st_result_wall_ns(rows->result, rows->slice[row]);
}

static bool make_columns(struct st_operator_rows *rows)
{
	uint32_t last = 0; /* calls of Python functions have labels behind those of the result */

	for (uint32_t row = 0; row < rows->count; row++)
		last = rows->label[row] > last ? rows->label[row] : last;
	rows->device_ns = st_operators_column(rows, rows->count, sizeof(*rows->device_ns));
	rows->device_all_ns = st_operators_column(rows, rows->count, sizeof(*rows->device_all_ns));
	rows->launches = st_operators_column(rows, last, sizeof(*rows->launches));
	return rows->device_ns && rows->device_all_ns && rows->launches;
}

/* All that ran on devices: what rows launched is taken off it. */
static uint64_t all_device_ns(const struct st_result *result)
{
	const struct st_slices *slices = st_result_slices(result);
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < slices->count; i++)
		if (st_slice_is_device_time(result, i))
			sum_ns += st_result_wall_ns(result, i);
	return sum_ns;
}

bool st_operators_add_devices(struct st_operator_rows *rows)
{
	uint32_t count;
	const struct st_slice_flow *flows = st_result_flows(rows->result, &count);
	uint64_t in_rows_ns = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t row;

		if (flows[i].kind != ST_FLOW_LAUNCH ||
		    !st_slice_is_device_time(rows->result, flows[i].to))
			continue;
		if (!rows->device_ns && !make_columns(rows))
			return false;
		row = launcher_of(rows, flows[i].from);
		if (row == ST_NO_ROW)
			continue;
		rows->device_ns[row] += st_result_wall_ns(rows->result, flows[i].to);
		in_rows_ns += st_result_wall_ns(rows->result, flows[i].to);
	}
	if (rows->device_ns) {
		rows->device_outside_ns = all_device_ns(rows->result) - in_rows_ns;
		add_own(rows);
	}
	/* What is inside comes behind what is around it. */
	for (uint32_t row = rows->device_ns ? rows->count : 0; row > 0; row--) {
		uint32_t up = rows->parent[row - 1];

		rows->device_all_ns[row - 1] += rows->device_ns[row - 1];
		rows->launches[rows->label[row - 1]] |= rows->device_all_ns[row - 1] > 0;
		if (up != ST_NO_ROW)
			rows->device_all_ns[up] += rows->device_all_ns[row - 1];
	}
	return true;
}
