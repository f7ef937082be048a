// SPDX-License-Identifier: Apache-2.0
//
// The table of torch's profiler, byte for byte: columns to the right with two spaces behind each, also the last, names
// cut where torch cuts them, its units and its footer. What was lost is not said here, but beside the table.
#include "export/report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

enum { COLUMNS_MAX = 24, USUAL_WIDTH = 12, GAP = 2, CELL_MAX = 64 };

struct torch_table {
	struct st_text_job *job;
	const struct st_torch_layout *layout;
	uint32_t widths[COLUMNS_MAX];
	const char *titles[COLUMNS_MAX];
	uint32_t count;
	uint32_t source; /* the column to the left; COLUMNS_MAX: none */
};

static void add_column(struct torch_table *table, const char *title, uint32_t width)
{
	table->titles[table->count] = title;
	table->widths[table->count++] = width;
}

/* The report's own titles say whose devices they are. */
static bool is_xpu(const struct torch_table *table)
{
	return strstr(table->job->report->columns[ST_TORCH_SELF_DEVICE].title, "XPU") != NULL;
}

static void choose_columns(struct torch_table *table)
{
	static const char *const times[] = {"Self CPU %", "Self CPU", "CPU total %", "CPU total",
					    "CPU time avg"};
	static const char *const device[] = {"Self CUDA", "Self CUDA %", "CUDA total",
					     "CUDA time avg"};
	static const char *const xpu[] = {"Self XPU", "Self XPU %", "XPU total", "XPU time avg"};
	const struct st_torch_layout *layout = table->layout;

	add_column(table, "Name", layout->name_width);
	if (layout->has_overloads)
		add_column(table, "Overload Name", layout->name_width);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		add_column(table, times[i], USUAL_WIDTH);
	for (size_t i = 0; layout->has_device && i < sizeof(device) / sizeof(device[0]); i++)
		add_column(table, is_xpu(table) ? xpu[i] : device[i], USUAL_WIDTH);
	if (layout->has_memory) {
		add_column(table, "CPU Mem", USUAL_WIDTH);
		add_column(table, "Self CPU Mem", USUAL_WIDTH);
	}
	if (layout->has_device_memory) {
		add_column(table, is_xpu(table) ? "XPU Mem" : "CUDA Mem", USUAL_WIDTH);
		add_column(table, is_xpu(table) ? "Self XPU Mem" : "Self CUDA Mem", USUAL_WIDTH);
	}
	add_column(table, "# of Calls", USUAL_WIDTH);
	if (layout->has_shapes)
		add_column(table, "Input Shapes", layout->shapes_width);
	table->source = layout->has_stacks ? table->count : COLUMNS_MAX;
	if (layout->has_stacks)
		add_column(table, "Source Location", layout->source_width);
	if (layout->flops_title)
		add_column(table, layout->flops_title, USUAL_WIDTH);
}

static void put_many(struct st_buf *out, char byte, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		st_buf_append_u8(out, (uint8_t)byte);
}

static uint32_t characters(struct st_text text)
{
	uint32_t count = 0;

	for (size_t i = 0; i < text.size_bytes; i++)
		count += ((uint8_t)text.bytes[i] & 0xc0) != 0x80;
	return count;
}

/* The first of them, at most so many. */
static struct st_text first_characters(struct st_text text, uint32_t most)
{
	size_t at = 0;

	for (uint32_t count = 0; at < text.size_bytes; at++) {
		if (((uint8_t)text.bytes[at] & 0xc0) != 0x80 && count++ == most)
			break;
	}
	return (struct st_text){text.bytes, at};
}

static void put_cell(struct torch_table *table, uint32_t column, struct st_text text)
{
	struct st_buf *out = table->job->out;
	uint32_t width = characters(text);
	uint32_t blank = table->widths[column] > width ? table->widths[column] - width : 0;

	if (column != table->source)
		put_many(out, ' ', blank);
	st_buf_append(out, text.bytes, text.size_bytes);
	if (column == table->source)
		put_many(out, ' ', blank);
	put_many(out, ' ', GAP);
}

static void put_rule(struct torch_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		put_many(table->job->out, '-', table->widths[i]);
		put_many(table->job->out, ' ', GAP);
	}
	st_buf_append_u8(table->job->out, '\n');
}

static void put_banner(struct torch_table *table, const char *text)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < table->count; i++)
		length += table->widths[i] + GAP;
	put_many(table->job->out, '=', length - GAP);
	st_buf_printf(table->job->out, "\n%s\n", text);
}

static void time_text(char *out, double time_us, const char *unit)
{
	bool seconds = unit ? strcmp(unit, "s") == 0 : time_us >= 1e6;
	bool milliseconds = !seconds && (unit ? strcmp(unit, "ms") == 0 : time_us >= 1e3);

	if (seconds)
		snprintf(out, CELL_MAX, "%.3fs", time_us / 1e6);
	else if (milliseconds)
		snprintf(out, CELL_MAX, "%.3fms", time_us / 1e3);
	else
		snprintf(out, CELL_MAX, "%.3fus", time_us);
}

static void share_text(char *out, double part, double whole)
{
	if (whole == 0)
		snprintf(out, CELL_MAX, "NaN");
	else
		snprintf(out, CELL_MAX, "%.2f%%", part * 100.0 / whole);
}

static void memory_text(char *out, int64_t bytes)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = {{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}};

	for (unsigned int i = 0; i < 3; i++) {
		if (fabs((double)bytes) >= units[i].bytes) {
			snprintf(out, CELL_MAX, "%.2f %s", (double)bytes / units[i].bytes,
				 units[i].name);
			return;
		}
	}
	snprintf(out, CELL_MAX, "%lld B", (long long)bytes);
}

static void put_text(struct torch_table *table, uint32_t column, const char *text)
{
	put_cell(table, column, (struct st_text){text, strlen(text)});
}

static void put_name(struct torch_table *table, uint32_t column, struct st_text name)
{
	uint32_t most = table->layout->name_max;
	struct st_text head;
	struct st_buf cut;

	if (!most || characters(name) + 3 < most) {
		put_cell(table, column, name);
		return;
	}
	head = first_characters(name, most > 3 ? most - 3 : 0);
	st_buf_init(&cut, SIZE_MAX / 4);
	st_buf_append(&cut, head.bytes, head.size_bytes);
	st_buf_append_text(&cut, "...");
	if (cut.failed)
		table->job->out->failed = true;
	put_cell(table, column, (struct st_text){(const char *)cut.data, cut.size_bytes});
	st_buf_fini(&cut);
}

/* The end of a place, where its line stands. */
static void put_place(struct torch_table *table, struct st_text place)
{
	uint32_t width = characters(place), most = table->layout->source_width;
	struct st_text left;
	struct st_buf cut;

	if (width <= most) {
		put_cell(table, table->count - 1, place);
		return;
	}
	left = first_characters(place, width - most + (most > 3 ? 3 : 0));
	st_buf_init(&cut, SIZE_MAX / 4);
	st_buf_append_text(&cut, most > 3 ? "..." : "");
	st_buf_append(&cut, place.bytes + left.size_bytes, place.size_bytes - left.size_bytes);
	if (cut.failed)
		table->job->out->failed = true;
	put_cell(table, table->count - 1, (struct st_text){(const char *)cut.data, cut.size_bytes});
	st_buf_fini(&cut);
}

static struct st_text next_line(struct st_text *rest)
{
	const char *end = rest->size_bytes ? memchr(rest->bytes, '\n', rest->size_bytes) : NULL;
	struct st_text line = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->size_bytes};
	size_t taken = line.size_bytes + (end != NULL);

	rest->bytes += taken;
	rest->size_bytes -= taken;
	return line;
}

static void put_empty(struct torch_table *table, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put_text(table, i, "");
}

/* Further frames stand below the first one, and an empty line below those. With both, torch puts the number of operations
 * below "Source Location" and the place below the other title; so do we. */
static void put_stack(struct torch_table *table, struct st_text stack)
{
	put_place(table, next_line(&stack));
	st_buf_append_u8(table->job->out, '\n');
	while (stack.size_bytes) {
		put_empty(table, table->count - 1);
		put_place(table, next_line(&stack));
		st_buf_append_u8(table->job->out, '\n');
	}
	put_empty(table, table->count);
}

static uint32_t put_device(struct torch_table *table, const struct st_cell *cells, uint32_t column)
{
	const struct st_torch_layout *layout = table->layout;
	char text[CELL_MAX];

	time_text(text, cells[ST_TORCH_SELF_DEVICE].as.number, layout->time_unit);
	put_text(table, column++, text);
	share_text(text, cells[ST_TORCH_SELF_DEVICE].as.number, layout->self_device_us);
	put_text(table, column++, text);
	time_text(text, cells[ST_TORCH_DEVICE_TOTAL].as.number, layout->time_unit);
	put_text(table, column++, text);
	time_text(text, cells[ST_TORCH_DEVICE_TIME].as.number, layout->time_unit);
	put_text(table, column++, text);
	return column;
}

static uint32_t put_memory(struct torch_table *table, const struct st_cell *cells, uint32_t column)
{
	unsigned int last = table->layout->has_device_memory ? ST_TORCH_SELF_DEVICE_MEMORY
							     : ST_TORCH_SELF_MEMORY;
	char text[CELL_MAX];

	for (unsigned int i = ST_TORCH_MEMORY; i <= last; i++) {
		memory_text(text, cells[i].as.i64);
		put_text(table, column++, text);
	}
	return column;
}

static void put_row(struct torch_table *table, const struct st_cell *cells)
{
	const struct st_torch_layout *layout = table->layout;
	double self_us = cells[ST_TORCH_SELF_CPU].as.number;
	double total_us = cells[ST_TORCH_CPU_TOTAL].as.number;
	char text[CELL_MAX];
	uint32_t column = 0;

	put_name(table, column++, cells[ST_TORCH_KEY].as.text);
	if (layout->has_overloads)
		put_name(table, column++, cells[ST_TORCH_OVERLOAD].as.text);
	share_text(text, self_us, layout->self_us);
	put_text(table, column++, text);
	time_text(text, self_us, layout->time_unit);
	put_text(table, column++, text);
	share_text(text, total_us, layout->self_us);
	put_text(table, column++, text);
	time_text(text, total_us, layout->time_unit);
	put_text(table, column++, text);
	time_text(text, cells[ST_TORCH_CPU_TIME].as.number, layout->time_unit);
	put_text(table, column++, text);
	if (layout->has_device)
		column = put_device(table, cells, column);
	if (layout->has_memory)
		column = put_memory(table, cells, column);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)cells[ST_TORCH_COUNT].as.u64);
	put_text(table, column++, text);
	if (layout->has_shapes)
		put_cell(table, column++,
			 first_characters(cells[ST_TORCH_SHAPES].as.text, layout->shapes_width));
	if (layout->flops_title) {
		uint64_t flops = cells[ST_TORCH_FLOPS].as.u64;

		snprintf(text, sizeof(text), flops ? "%8.3f" : "--",
			 (double)flops * layout->flops_scale);
		put_text(table, column, text);
	}
	if (layout->has_stacks)
		put_stack(table, cells[ST_TORCH_STACK].as.text);
	st_buf_append_u8(table->job->out, '\n');
}

enum st_status st_text_torch(struct st_text_job *job, struct st_error *err)
{
	const struct st_report *report = job->report;
	struct torch_table table = {.job = job, .layout = report->torch};
	char text[CELL_MAX];

	if (!report->torch->name_width) {
		st_buf_printf(job->out, "%s\n", report->empty);
		return ST_OK;
	}
	choose_columns(&table);
	if (table.layout->header)
		put_banner(&table, table.layout->header);
	if (table.layout->top_level_events_only)
		put_banner(&table, "This report only display top-level ops statistics");
	put_rule(&table);
	for (uint32_t i = 0; i < table.count; i++)
		put_text(&table, i, table.titles[i]);
	st_buf_append_u8(job->out, '\n');
	put_rule(&table);
	for (uint32_t i = 0; i < report->row_count && i < table.layout->row_limit; i++) {
		enum st_status status = st_text_spill(job, err);

		if (status)
			return status;
		put_row(&table, report->rows[i].cells);
	}
	put_rule(&table);
	time_text(text, table.layout->self_us, table.layout->time_unit);
	st_buf_printf(job->out, "Self CPU time total: %s\n", text);
	if (table.layout->has_device) {
		time_text(text, table.layout->self_device_us, table.layout->time_unit);
		st_buf_printf(job->out, "Self %s time total: %s\n", is_xpu(&table) ? "XPU" : "CUDA",
			      text);
	}
	return ST_OK;
}
