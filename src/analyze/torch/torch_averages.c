// SPDX-License-Identifier: Apache-2.0
//
// torch's key_averages: events of one name (and optionally the same inputs and stack) summed, in the order of first
// occurrence.
#include "analyze/torch/report_torch.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "analyze/tables/report_make.h"

struct group {
	uint32_t first; /* row, or ST_NO_ROW: records of memory */
	int64_t begin_ns, end_ns;
	uint64_t count, total_ns, self_ns, flops;
	uint64_t device_ns, self_device_ns;
	int64_t memory, self_memory, device_memory, self_device_memory;
};

struct groups {
	struct st_torch_events *events;
	struct st_pair_map keys;
	struct group *items; /* by key of keys; the last is that of memory */
	uint32_t capacity;
};

/* Of two that begin and end together the row that lies first is the one around the other. */
static bool comes_before(int64_t begin_ns, int64_t end_ns, const struct group *group)
{
	if (begin_ns != group->begin_ns)
		return begin_ns < group->begin_ns;
	return end_ns > group->end_ns;
}

static void add_event(struct group *group, const struct st_torch_events *events, uint32_t row)
{
	const struct st_operator_rows *rows = events->rows;

	if (!group->count || comes_before(rows->begin_ns[row], rows->end_ns[row], group)) {
		group->first = row;
		group->begin_ns = rows->begin_ns[row];
		group->end_ns = rows->end_ns[row];
	}
	group->count++;
	if (!st_row_is_device(rows, row)) {
		group->total_ns += st_row_wall_ns(&events->dataset, row);
		group->self_ns += rows->self_ns[row];
	}
	if (rows->device_ns) {
		group->device_ns += rows->device_all_ns[row];
		group->self_device_ns += rows->device_ns[row];
	}
	if (events->flops)
		group->flops += events->flops[rows->signature[row]];
	if (events->memory) {
		group->memory += events->memory[row];
		group->self_memory += events->self_memory[row];
		group->device_memory += events->device_memory[row];
		group->self_device_memory += events->self_device_memory[row];
	}
}

static bool add_rows(struct groups *groups)
{
	struct st_torch_events *events = groups->events;
	const struct st_operator_rows *rows = events->rows;

	for (uint32_t row = 0; row < rows->count; row++) {
		uint64_t name = 2 * (uint64_t)rows->name_of[rows->label[row]] +
				st_torch_event_is_user(events, row);
		uint32_t inputs = 0, stack = events->stack_of ? events->stack_of[row] : 0, key;

		if (!st_row_is_counted(&events->dataset, row))
			continue;
		if (events->options->group_by_input_shape)
			inputs = events->shapes_of[rows->signature[row]];
		key = st_pair_map_add(&groups->keys, name, (uint64_t)stack << 32 | inputs);
		if (groups->keys.failed || !ST_VEC_ROOM_ZERO(groups->items, key, groups->capacity))
			return false;
		add_event(&groups->items[key], events, row);
	}
	return ST_VEC_ROOM_ZERO(groups->items, groups->keys.count, groups->capacity);
}

static void add_moments(struct group *out, const struct st_torch_events *events)
{
	*out = (struct group){.first = ST_NO_ROW};
	for (uint32_t i = 0; i < events->moment_count; i++) {
		const struct st_memory_moment *moment = events->moments[i];

		if (!out->count || moment->time_ns < out->begin_ns)
			out->begin_ns = out->end_ns = moment->time_ns;
		out->count++;
		out->memory += st_torch_cpu_bytes(moment);
		out->device_memory += st_torch_device_bytes(moment);
	}
	out->self_memory = out->memory;
	out->self_device_memory = out->device_memory;
}

static int by_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (comes_before(x->begin_ns, x->end_ns, y))
		return -1;
	if (comes_before(y->begin_ns, y->end_ns, x))
		return 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void group_cells(struct st_cell *cells, const struct group *group,
			const struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;
	uint32_t first = group->first;

	cells[ST_TORCH_COUNT] = st_cell_u64(group->count);
	cells[ST_TORCH_SELF_CPU] = st_cell_double((double)(int64_t)group->self_ns / 1000);
	cells[ST_TORCH_CPU_TOTAL] = st_cell_double((double)group->total_ns / 1000);
	cells[ST_TORCH_CPU_TIME] =
		st_cell_double((double)group->total_ns / 1000 / (double)group->count);
	cells[ST_TORCH_SELF_DEVICE] = st_cell_double((double)group->self_device_ns / 1000);
	cells[ST_TORCH_DEVICE_TOTAL] = st_cell_double((double)group->device_ns / 1000);
	cells[ST_TORCH_DEVICE_TIME] =
		st_cell_double((double)group->device_ns / 1000 / (double)group->count);
	cells[ST_TORCH_MEMORY] = st_cell_i64(group->memory);
	cells[ST_TORCH_SELF_MEMORY] = st_cell_i64(group->self_memory);
	cells[ST_TORCH_DEVICE_MEMORY] = st_cell_i64(group->device_memory);
	cells[ST_TORCH_SELF_DEVICE_MEMORY] = st_cell_i64(group->self_device_memory);
	cells[ST_TORCH_FLOPS] = st_cell_u64(group->flops);
	cells[ST_TORCH_OVERLOAD] = st_cell_text("");
	cells[ST_TORCH_SHAPES] = st_cell_text(events->options->group_by_input_shape ? "[]" : "");
	cells[ST_TORCH_STACK] = st_cell_text("");
	cells[ST_TORCH_USER] = cells[ST_TORCH_PYTHON] = cells[ST_TORCH_ON_DEVICE] =
		st_cell_bool(false);
	cells[ST_TORCH_SCOPE] = st_cell_u64(ST_SCOPE_FUNCTION);
	cells[ST_TORCH_KEY] = st_cell_text("[memory]");
	if (first == ST_NO_ROW)
		return;
	st_torch_row_cells(cells, events, first);
	if (events->options->group_by_input_shape)
		cells[ST_TORCH_SHAPES] = st_cell_bytes(
			events->shapes.texts[events->shapes_of[rows->signature[first]]]);
	if (events->stack_of)
		cells[ST_TORCH_STACK] =
			st_cell_bytes(events->stacks.texts[events->stack_of[first]]);
}

bool st_torch_add_averages(struct st_report *report, struct st_torch_events *events)
{
	struct groups groups = {.events = events};
	uint32_t count = 0;
	bool done;

	st_pair_map_init(&groups.keys);
	done = !events->options->group_by_stack_n ||
	       st_torch_events_stacks(events, events->options->group_by_stack_n);
	done = done && add_rows(&groups);
	if (done) {
		count = groups.keys.count;
		if (events->moment_count)
			add_moments(&groups.items[count++], events);
		qsort(groups.items, count, sizeof(*groups.items), by_first);
	}
	for (uint32_t i = 0; i < count; i++)
		group_cells(st_report_add(report, 0), &groups.items[i], events);
	st_pair_map_fini(&groups.keys);
	free(groups.items);
	return done;
}
