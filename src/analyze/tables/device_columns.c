// SPDX-License-Identifier: Apache-2.0
//
// Columns of what ran on devices, and of when nothing did.
#include "analyze/datasets/occupancy.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/row_cells.h"
#include "store/devices.h"

enum device_field { STREAM, CONTEXT, CORRELATION, BYTES, REGISTERS, SHARED, GRAPH, GRAPH_NODE };

/* NULL where the record has none. */
static struct st_cell device_number(const struct st_table_at *at)
{
	const struct st_device_item *item =
		st_result_device_item_of(at->tables->result, st_row_source(at).number);
	bool is_kernel = item && item->kind == ST_DEVICE_KERNEL;

	if (!item)
		return st_no_cell();
	switch ((enum device_field)at->column->arg) {
	case STREAM:
		return st_cell_u64(item->stream);
	case CONTEXT:
		return st_cell_u64(item->context);
	case CORRELATION:
		return item->correlation ? st_cell_u64(item->correlation) : st_no_cell();
	case BYTES:
		return is_kernel ? st_no_cell() : st_cell_u64(item->value);
	case REGISTERS:
		return is_kernel ? st_cell_u64(item->registers) : st_no_cell();
	case SHARED:
		return is_kernel ? st_cell_u64((uint64_t)item->shared_static + item->shared_dynamic)
				 : st_no_cell();
	case GRAPH:
		return item->graph ? st_cell_u64(item->graph) : st_no_cell();
	case GRAPH_NODE:
		break;
	}
	return item->graph_node ? st_cell_u64(item->graph_node) : st_no_cell();
}

static struct st_cell occupancy_cell(const struct st_table_at *at)
{
	struct st_occupancy occupancy;

	return st_kernel_occupancy(st_row_dataset(at), at->row, &occupancy)
		       ? st_cell_double(occupancy.share)
		       : st_no_cell();
}

static struct st_cell call_cell(const struct st_table_at *at)
{
	return st_reference_cell(st_row_source(at).sample);
}

static struct st_cell launch_delay(const struct st_table_at *at)
{
	uint32_t call = st_row_source(at).sample;

	if (call == ST_NO_ROW)
		return st_no_cell();
	return st_cell_i64(st_row_dataset(at)->begin_ns[at->row] -
			   st_result_slices(at->tables->result)->begin_ns[call]);
}

#define PLACES_OF_DEVICE(words)                                                                    \
	{"track", "row in threads, or NULL", ST_INTEGER, .cell = st_row_track_cell},               \
		{"process_id", "row in processes", ST_INTEGER, .cell = st_row_process_id_cell},    \
		{"slice", words, ST_INTEGER, .cell = st_row_number_cell},                          \
	{                                                                                          \
		"call", "slice of the call that launched it, or NULL", ST_INTEGER,                 \
			.cell = call_cell                                                          \
	}
#define DEVICE_NUMBER(name, words, heading, field)                                                 \
	{                                                                                          \
		name, words, ST_INTEGER, .cell = device_number, .arg = (field), .title = (heading) \
	}

const struct st_table_column st_kernels_columns[ST_KERNELS_COLUMNS] = {
	ROW_AND_NAME("kernel", "name of the kernel, copy or fill"),
	START("Start Time"),
	KEY("category", "'kernel', 'copy' or 'communication'", "Category", ST_BY_CATEGORY),
	KEY("device", "device as shown in reports", "Device", ST_BY_DEVICE),
	KEY("launch", "grid and block of a kernel", "Grid and Block", ST_BY_LAUNCH),
	KEY("operator", "operator or range that launched it", "Operator", ST_BY_OPERATOR),
	DEVICE_NUMBER("stream", "number of the stream, or NULL", "Stream", STREAM),
	DEVICE_NUMBER("moved_bytes", "of a copy or fill, or NULL", "Bytes", BYTES),
	{"occupancy_ratio", "estimate, 0 to 1, or NULL", ST_ANY, .cell = occupancy_cell,
	 .title = "Occupancy (Estimate)", .unit = "ratio"},
	{"launch_delay_ns", "from the begin of the launch to its own, or NULL", ST_INTEGER,
	 .cell = launch_delay, .title = "Launch to Begin", .unit = "ns"},
	PROCESS,
	THREAD,
	PLACES_OF_DEVICE("its row in slices"),
	DEVICE_NUMBER("context", "number of the context, or NULL", NULL, CONTEXT),
	DEVICE_NUMBER("correlation", "the number of its launch, or NULL", NULL, CORRELATION),
	DEVICE_NUMBER("registers", "per thread, or NULL", NULL, REGISTERS),
	DEVICE_NUMBER("shared_bytes", "shared memory of a block, or NULL", NULL, SHARED),
	DEVICE_NUMBER("graph", "graph that it is a node of, or NULL", NULL, GRAPH),
	DEVICE_NUMBER("graph_node", "its node, or NULL", NULL, GRAPH_NODE),
};

const struct st_table_column st_gaps_columns[ST_GAPS_COLUMNS] = {
	ROW_AND_NAME("reason", "why no kernel ran"),
	START("Start Time"),
	KEY("device", "device as shown in reports", "Device", ST_BY_DEVICE),
	KEY("before", "kernel or copy that came next; the copy itself", "Before", ST_BY_TASK_TYPE),
	KEY("operator", "operator or range that launched it", "Operator", ST_BY_OPERATOR),
	PROCESS,
	PLACES_OF_DEVICE("slice of what came next"),
};
