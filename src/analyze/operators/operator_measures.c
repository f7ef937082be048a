// SPDX-License-Identifier: Apache-2.0
//
// What is counted of operators: time, and where they were recorded memory and work. Memory counts, like total time, once
// for every group of which a row is open. The work of an operator that is known from its inputs holds that of the
// operators inside of it ("aten::linear" is its "aten::addmm"), so that a group counts only the outermost of its rows
// whose work is known.
#include "analyze/operators/dataset_operators.h"
#include "analyze/operators/operator_work.h"

enum { FLOPS, BYTES }; /* whose time, and of which it is known */
enum { ALLOCATED, FREED };

static const struct st_operator_work *work_of(const struct st_dataset *dataset, uint32_t row)
{
	const struct st_operator_rows *rows = st_dataset_operators(dataset);

	return &rows->work[rows->signature[row]];
}

static uint64_t read_memory(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_operator_rows *rows = st_dataset_operators(dataset);
	const uint64_t *bytes = arg == FREED ? rows->freed : rows->allocated;

	return bytes ? bytes[row] : 0;
}

static uint64_t read_known(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_operator_work *work = work_of(dataset, row);

	return arg == FLOPS ? work->has_flops : work->has_bytes;
}

static uint64_t read_any(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_operator_work *work = work_of(dataset, row);

	(void)arg;
	return work->has_flops || work->has_bytes;
}

static uint64_t read_work(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_operator_work *work = work_of(dataset, row);

	if (arg == FLOPS)
		return work->has_flops ? work->flops : 0;
	return work->has_bytes ? work->bytes : 0;
}

static uint64_t read_both(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_operator_work *work = work_of(dataset, row);

	return work->has_flops && work->has_bytes ? read_work(dataset, row, arg) : 0;
}

/* Whether its time is that of its work: not where others of the same name launched theirs on a device, and it launched
 * none, as while a graph is captured. */
static bool is_rated(const struct st_operator_rows *rows, uint32_t row)
{
	return !rows->device_ns || rows->device_all_ns[row] || !rows->launches[rows->label[row]];
}

static uint64_t read_rated(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	return is_rated(st_dataset_operators(dataset), row) ? read_work(dataset, row, arg) : 0;
}

/* The time of the rows that did it: where they only launched it, the device's. */
static uint64_t read_ns(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_operator_rows *rows = st_dataset_operators(dataset);
	uint64_t wall_ns;

	if (!read_known(dataset, row, arg) || !is_rated(rows, row))
		return 0;
	if (rows->device_ns && rows->device_all_ns[row])
		return rows->device_all_ns[row];
	wall_ns = st_result_wall_ns(rows->result, rows->slice[row]);
	/* Sums are scaled as counts are: this one is to be as much as the total time. */
	if (dataset->times)
		wall_ns =
			(uint64_t)((double)wall_ns * dataset->times_ns[row] / dataset->times[row] +
				   0.5);
	return wall_ns;
}

static uint64_t read_device(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_operator_rows *rows = st_dataset_operators(dataset);

	(void)arg;
	return rows->device_ns ? rows->device_ns[row] : 0;
}

#define SUM(how_far, how) .fold = ST_FOLD_SUM, .reach = ST_REACH_##how_far, .read = how

/* In the order of the report's columns. Operations per nanosecond are 10^9 of them per second. */
const struct st_measure st_operator_measures[ST_OPERATOR_MEASURES] = {
	{ST_COUNT, "count", "count", "Count", "", ST_FOLD_COUNT, .derive = st_derive_count},
	{ST_WALL_SELF, "wall-self", "wall_self_ns", "Self Time", "ns", ST_FOLD_DERIVED,
	 .derive = st_derive_self},
	{ST_SELF_SHARE, NULL, "self_ratio", "Self %", "ratio", ST_FOLD_DERIVED,
	 .part = ST_WALL_SELF, .whole = ST_WALL_SELF, .of_total = true},
	{ST_WALL_TOTAL, "wall-total", "wall_total_ns", "Total Time", "ns", ST_FOLD_DERIVED,
	 .derive = st_derive_total},
	{ST_TOTAL_SHARE, NULL, "total_ratio", "Total %", "ratio", ST_FOLD_DERIVED,
	 .part = ST_WALL_TOTAL, .whole = ST_WALL_TOTAL, .of_total = true},
	{ST_WALL_AVG, "wall-avg", "wall_avg_ns", "Average", "ns", ST_FOLD_DERIVED,
	 .derive = st_derive_average},
	{ST_DEVICE_SELF, "device-self", "device_self_ns", "Self CUDA", "ns", SUM(OWN, read_device)},
	{ST_DEVICE_SHARE, NULL, "device_self_ratio", "Self CUDA %", "ratio", ST_FOLD_DERIVED,
	 .part = ST_DEVICE_SELF, .whole = ST_DEVICE_SELF, .of_total = true},
	{ST_DEVICE_TOTAL, "device-total", "device_total_ns", "CUDA Total", "ns",
	 SUM(AROUND, read_device)},
	{ST_DEVICE_AVG, "device-avg", "device_avg_ns", "CUDA Average", "ns", ST_FOLD_AVERAGE,
	 .part = ST_DEVICE_TOTAL, .whole = ST_COUNT},
	{ST_ALLOCATED, "allocated", "allocated_bytes", "Allocated", "bytes",
	 SUM(AROUND, read_memory), .arg = ALLOCATED},
	{ST_SELF_ALLOCATED, "self-allocated", "self_allocated_bytes", "Allocated:Self", "bytes",
	 SUM(OWN, read_memory), .arg = ALLOCATED},
	{ST_FREED, "freed", "freed_bytes", "Freed", "bytes", SUM(AROUND, read_memory),
	 .arg = FREED},
	{ST_SELF_FREED, "self-freed", "self_freed_bytes", "Freed:Self", "bytes",
	 SUM(OWN, read_memory), .arg = FREED},
	{ST_FLOPS, "flops", "flops", "FLOPs", "", SUM(OUTERMOST, read_work), .arg = FLOPS,
	 .known_by = ST_FLOPS_KNOWN},
	{ST_MOVED, "moved", "moved_bytes", "Bytes Moved", "bytes", SUM(OUTERMOST, read_work),
	 .arg = BYTES, .known_by = ST_MOVED_KNOWN},
	{ST_GFLOPS, "gflops", "gflops_per_s", "GFLOP/s", "", ST_FOLD_DERIVED,
	 .part = ST_RATED_FLOPS, .whole = ST_FLOPS_NS},
	{ST_GBYTES, "gbytes", "gbytes_per_s", "GB/s", "", ST_FOLD_DERIVED, .part = ST_RATED_MOVED,
	 .whole = ST_MOVED_NS},
	{ST_INTENSITY, "intensity", "flops_per_byte", "FLOPs/Byte", "", ST_FOLD_DERIVED,
	 .part = ST_BOTH_FLOPS, .whole = ST_BOTH_BYTES},
	{ST_WORK_KNOWN, SUM(OUTERMOST, read_any)},
	{ST_FLOPS_KNOWN, SUM(OUTERMOST, read_known), .arg = FLOPS},
	{ST_FLOPS_NS, SUM(OUTERMOST, read_ns), .arg = FLOPS},
	{ST_MOVED_KNOWN, SUM(OUTERMOST, read_known), .arg = BYTES},
	{ST_MOVED_NS, SUM(OUTERMOST, read_ns), .arg = BYTES},
	{ST_BOTH_FLOPS, SUM(OUTERMOST, read_both), .arg = FLOPS},
	{ST_BOTH_BYTES, SUM(OUTERMOST, read_both), .arg = BYTES},
	{ST_RATED_FLOPS, SUM(OUTERMOST, read_rated), .arg = FLOPS},
	{ST_RATED_MOVED, SUM(OUTERMOST, read_rated), .arg = BYTES},
};

static bool add_memory(struct st_operator_rows *rows)
{
	uint32_t count, moments;
	const struct st_operator *operators = st_result_operators(rows->result, &count);

	st_result_memory(rows->result, &moments);
	if (!moments)
		return true;
	rows->allocated = st_operators_column(rows, rows->count, sizeof(*rows->allocated));
	rows->freed = st_operators_column(rows, rows->count, sizeof(*rows->freed));
	for (uint32_t i = 0; rows->freed && i < count; i++) {
		uint32_t row = rows->row_of_slice[operators[i].row];

		if (row == ST_NO_ROW) {
			rows->outside_bytes += operators[i].allocated;
			continue;
		}
		rows->allocated[row] += operators[i].allocated;
		rows->freed[row] += operators[i].freed;
	}
	return rows->freed;
}

bool st_operators_add_measures(struct st_dataset *dataset)
{
	struct st_operator_rows *rows = dataset->private_data;
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(rows->result, &count);

	rows->work = st_arena_calloc(&rows->arena, (size_t)count + 1, sizeof(*rows->work));
	for (uint32_t i = 0; rows->work && i < count; i++) {
		if (signatures[i].scope != ST_SCOPE_MODULE)
			rows->work[i] = st_operator_work(
				st_result_text(rows->result, signatures[i].name), &signatures[i]);
	}
	dataset->measures = st_operator_measures;
	dataset->measure_count = ST_OPERATOR_MEASURES;
	dataset->outermost = ST_WORK_KNOWN;
	return rows->work && add_memory(rows) && st_operators_add_devices(rows);
}
