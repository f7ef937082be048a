// SPDX-License-Identifier: Apache-2.0
//
// What torch's table() makes of its rows before it writes them: their order, which columns there are and how wide.
#include "analyze/torch/report_torch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/names.h"
#include "analyze/tables/report_make.h"

/* Attributes that are the same in all rows: a program without further nodes. */
static const char *const constant[] = {"node_id", "is_async", "is_remote", "is_legacy"};

/* Rows to sort, with their place before. */
struct sorted {
	struct st_report_row row;
	uint32_t place, column;
};

static double number_of(const struct st_cell *cell)
{
	switch (cell->kind) {
	case ST_CELL_U64:
		return (double)cell->as.u64;
	case ST_CELL_I64:
		return (double)cell->as.i64;
	case ST_CELL_DOUBLE:
		return cell->as.number;
	case ST_CELL_BOOL:
		return cell->as.truth;
	default:
		return 0;
	}
}

static int compare_texts(struct st_text a, struct st_text b)
{
	size_t both = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
	int order = both ? memcmp(a.bytes, b.bytes, both) : 0;

	if (order)
		return order;
	return (a.size_bytes > b.size_bytes) - (a.size_bytes < b.size_bytes);
}

/* The largest first; those that are equal as they were. */
static int descending(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	const struct st_cell *left = &x->row.cells[x->column], *right = &y->row.cells[x->column];
	double first, second;
	int order;

	if (left->kind == ST_CELL_TEXT && right->kind == ST_CELL_TEXT) {
		order = compare_texts(right->as.text, left->as.text);
	} else {
		first = number_of(left);
		second = number_of(right);
		order = (first < second) - (first > second);
	}
	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static bool sort_rows(struct st_report *report, uint32_t column)
{
	struct sorted *sorted = calloc((size_t)report->row_count + 1, sizeof(*sorted));

	if (!sorted)
		return false;
	for (uint32_t i = 0; i < report->row_count; i++)
		sorted[i] = (struct sorted){report->rows[i], i, column};
	qsort(sorted, report->row_count, sizeof(*sorted), descending);
	for (uint32_t i = 0; i < report->row_count; i++)
		report->rows[i] = sorted[i].row;
	free(sorted);
	return true;
}

static enum st_status refuse_rows(const char *at, struct st_error *err)
{
	return st_error_set(err, ST_EUSAGE, 0,
			    "-report-knob rows: expected numbers of rows with commas between, not "
			    "'%.20s'",
			    at);
}

/* Only the rows of the list. */
static enum st_status pick_rows(struct st_report *report, const char *list, struct st_error *err)
{
	struct st_report_row *picked = calloc((size_t)report->row_count + 1, sizeof(*picked));
	enum st_status status = ST_OK;
	uint32_t count = 0;

	if (!picked)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	while (*list && !status) {
		char *end;
		unsigned long row = strtoul(list, &end, 10);

		if (end == list || *list == '-' || (*end && (*end != ',' || !end[1])) ||
		    row >= report->row_count || count == report->row_count)
			status = refuse_rows(list, err);
		else
			picked[count++] = report->rows[row];
		list = *end ? end + 1 : end;
	}
	if (!status) {
		memcpy(report->rows, picked, count * sizeof(*picked));
		report->row_count = count;
	}
	free(picked);
	return status;
}

/* Every spelling of a device means the one that there is. In place. */
static void name_device(char *attribute)
{
	static const char *const names[] = {"cuda", "xpu", "privateuse1"};
	enum { DEVICE = 6 };
	char old[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);
		char *at;

		while ((at = strstr(attribute, names[i]))) {
			size_t before = (size_t)(at - attribute), rest = strlen(at + length);

			memcpy(old, at + length, rest + 1);
			memcpy(attribute + before, "device", DEVICE);
			memcpy(attribute + before + DEVICE, old, rest + 1);
		}
	}
}

/* Which column an attribute is; ST_TORCH_COLUMNS: all rows are equal in it. */
static enum st_status find_attribute(const struct st_report *report, const char *asked,
				     uint32_t *out, struct st_error *err)
{
	const char *names[ST_TORCH_COLUMNS + sizeof(constant) / sizeof(constant[0])];
	char attribute[128];
	size_t count = 0;

	*out = ST_TORCH_COLUMNS;
	if (strlen(asked) < 48) {
		memcpy(attribute, asked, strlen(asked) + 1);
		name_device(attribute);
		if (strcmp(attribute, "name") == 0)
			memcpy(attribute, "key", 4);
		for (uint32_t i = 0; i < report->column_count; i++) {
			names[count++] = report->columns[i].key;
			if (strcmp(attribute, report->columns[i].key) == 0)
				*out = i;
		}
		for (size_t i = 0; i < sizeof(constant) / sizeof(constant[0]); i++) {
			names[count++] = constant[i];
			if (strcmp(attribute, constant[i]) == 0)
				return ST_OK;
		}
		if (*out != ST_TORCH_COLUMNS)
			return ST_OK;
	}
	return st_name_unknown(asked, strlen(asked), "attribute to sort by",
			       &(struct st_name_list){names, count}, err);
}

/* Characters, as Python counts them. */
static uint32_t characters(struct st_text text)
{
	uint32_t count = 0;

	for (size_t i = 0; i < text.size_bytes; i++)
		count += ((uint8_t)text.bytes[i] & 0xc0) != 0x80;
	return count;
}

static uint32_t longest_line(struct st_text text)
{
	uint32_t longest = 0;

	while (text.size_bytes) {
		const char *end = memchr(text.bytes, '\n', text.size_bytes);
		size_t length = end ? (size_t)(end - text.bytes) : text.size_bytes;
		uint32_t width = characters((struct st_text){text.bytes, length});

		longest = width > longest ? width : longest;
		length += end != NULL;
		text.bytes += length;
		text.size_bytes -= length;
	}
	return longest;
}

/* Four more than the longest, at most the limit. */
static uint32_t column_width(uint32_t longest, int32_t limit, uint32_t usual)
{
	uint32_t most = limit > 0 ? (uint32_t)limit : usual;

	longest += 4;
	return limit < 0 || longest < most ? longest : most;
}

static uint32_t limit_of(int32_t limit, uint32_t usual)
{
	return limit > 0 ? (uint32_t)limit : limit < 0 ? 0 : usual;
}

/* Unit by the smallest that there is, as torch does. */
static void choose_flops(struct st_torch_layout *layout, uint64_t least)
{
	static const char *const titles[] = {"Total FLOPs",  "Total KFLOPs", "Total MFLOPs",
					     "Total GFLOPs", "Total TFLOPs", "Total PFLOPs"};
	enum { UNITS = sizeof(titles) / sizeof(titles[0]) };
	double thousands;

	if (least == UINT64_MAX)
		return;
	thousands = fmin(log10((double)least) / 3, UNITS - 1);
	layout->flops_title = titles[(unsigned int)thousands];
	layout->flops_scale = pow(10, floor(thousands) * -3.0);
}

static void measure(const struct st_report *report, const struct st_torch_options *options,
		    struct st_torch_layout *layout)
{
	uint32_t name = 0, shapes = 0, source = 0;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_cell *cells = report->rows[i].cells;
		uint32_t width = characters(cells[ST_TORCH_KEY].as.text);
		uint64_t flops = cells[ST_TORCH_FLOPS].as.u64;

		name = width > name ? width : name;
		width = (uint32_t)cells[ST_TORCH_SHAPES].as.text.size_bytes;
		layout->has_shapes = layout->has_shapes || width > 2; /* more than "[]" */
		shapes = width > shapes ? width : shapes;
		width = longest_line(cells[ST_TORCH_STACK].as.text);
		source = width > source ? width : source;
		layout->has_overloads =
			layout->has_overloads || cells[ST_TORCH_OVERLOAD].as.text.size_bytes;
		layout->self_us += cells[ST_TORCH_SELF_CPU].as.number;
		layout->has_device =
			layout->has_device || cells[ST_TORCH_SELF_DEVICE].as.number > 0;
		layout->has_device_memory =
			layout->has_device_memory || cells[ST_TORCH_SELF_DEVICE_MEMORY].as.i64 > 0;
		if (cells[ST_TORCH_ON_DEVICE].as.truth)
			layout->self_device_us += cells[ST_TORCH_SELF_DEVICE].as.number;
		if (flops && flops < least)
			least = flops;
	}
	/* Of a profile that was not to look at devices torch shows nothing of them; else memory also where nothing ran. */
	layout->has_device = layout->has_device && !options->hides_devices;
	layout->has_device_memory =
		layout->has_device_memory && layout->has_memory && !options->hides_devices;
	layout->has_stacks = source > 0;
	layout->name_max = limit_of(options->name_width, ST_TORCH_NAME_WIDTH);
	/* 0: without any rows there is no table. */
	layout->name_width = report->row_count
				     ? column_width(name, options->name_width, ST_TORCH_NAME_WIDTH)
				     : 0;
	layout->shapes_width = column_width(shapes, options->shapes_width, ST_TORCH_SHAPES_WIDTH);
	layout->source_width = column_width(source, options->source_width, ST_TORCH_SOURCE_WIDTH);
	if (options->with_flops)
		choose_flops(layout, least);
}

/* What torch's total_average() has. */
static void add_up(struct st_report *report)
{
	struct st_cell *totals = report->totals.cells = st_report_new_cells(report);

	totals[ST_TORCH_COUNT] = totals[ST_TORCH_FLOPS] = st_cell_u64(0);
	totals[ST_TORCH_SELF_CPU] = totals[ST_TORCH_CPU_TOTAL] = st_cell_double(0);
	totals[ST_TORCH_SELF_DEVICE] = totals[ST_TORCH_DEVICE_TOTAL] = st_cell_double(0);
	for (unsigned int i = ST_TORCH_MEMORY; i <= ST_TORCH_SELF_DEVICE_MEMORY; i++)
		totals[i] = st_cell_i64(0);
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_cell *cells = report->rows[i].cells;

		totals[ST_TORCH_COUNT].as.u64 += cells[ST_TORCH_COUNT].as.u64;
		totals[ST_TORCH_FLOPS].as.u64 += cells[ST_TORCH_FLOPS].as.u64;
		totals[ST_TORCH_SELF_CPU].as.number += cells[ST_TORCH_SELF_CPU].as.number;
		totals[ST_TORCH_CPU_TOTAL].as.number += cells[ST_TORCH_CPU_TOTAL].as.number;
		totals[ST_TORCH_SELF_DEVICE].as.number += cells[ST_TORCH_SELF_DEVICE].as.number;
		totals[ST_TORCH_DEVICE_TOTAL].as.number += cells[ST_TORCH_DEVICE_TOTAL].as.number;
		for (unsigned int j = ST_TORCH_MEMORY; j <= ST_TORCH_SELF_DEVICE_MEMORY; j++)
			totals[j].as.i64 += cells[j].as.i64;
	}
}

/* Rows that are not shown: nested ones when asked for, and those behind the limit. */
static void cut(struct st_report *report, const struct st_report_options *options,
		struct st_torch_layout *layout)
{
	const struct st_torch_options *torch = &options->torch;
	uint32_t kept = 0;

	for (uint32_t i = 0; torch->top_level_events_only && i < report->row_count; i++)
		if (report->rows[i].cells[ST_TORCH_PARENT].kind == ST_CELL_NONE)
			report->rows[kept++] = report->rows[i];
	if (torch->top_level_events_only)
		report->row_count = kept;
	layout->row_limit = ST_TORCH_ROW_LIMIT;
	if (torch->has_row_limit)
		layout->row_limit = torch->row_limit < 0 ? UINT64_MAX : (uint64_t)torch->row_limit;
	if (options->question.limit)
		layout->row_limit = options->question.limit;
	if ((torch->has_row_limit || options->question.limit) &&
	    report->row_count > layout->row_limit)
		report->row_count = (uint32_t)layout->row_limit;
	report->root_count = report->row_count;
}

enum st_status st_torch_lay_out(struct st_report *report, const struct st_report_options *options,
				struct st_error *err)
{
	const struct st_torch_options *torch = &options->torch;
	struct st_torch_layout *layout =
		st_arena_calloc(st_report_arena(report), 1, sizeof(*layout));
	uint32_t column = ST_TORCH_COLUMNS;
	enum st_status status = ST_OK;

	if (torch->rows)
		status = pick_rows(report, torch->rows, err);
	if (!status && torch->sort_by)
		status = find_attribute(report, torch->sort_by, &column, err);
	if (status)
		return status;
	if (!layout || st_report_arena(report)->failed ||
	    (column != ST_TORCH_COLUMNS && !sort_rows(report, column)))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	layout->header = torch->header;
	layout->time_unit = torch->time_unit;
	layout->has_memory = torch->profile_memory;
	layout->top_level_events_only = torch->top_level_events_only;
	measure(report, torch, layout);
	add_up(report);
	cut(report, options, layout);
	report->torch = layout;
	return ST_OK;
}
