// SPDX-License-Identifier: Apache-2.0
//
// Twins. With torch's emit_itt on, every operator comes a second time, as a task of ITT domain "PyTorch" of the same
// name right inside or right around it. torch calls those who watch it in the same order at begin and end, so that the
// two cross: A begins, B begins, A ends, B ends. The operator keeps its place, its time and what lies within; its
// twin becomes a leaf beside that, which takes no time from anybody, and what was told of it is told of the operator.
#include "store/index/index_build.h"

#include <stdlib.h>

#include "store/model/model.h"

struct twins {
	struct st_index_builder *builder;
	uint32_t *partner; /* by row, + 1; 0: none */
	uint64_t count;
};

/* False: there can be no twins. */
static bool has_both(const struct st_index_meta *meta)
{
	bool tasks = false, operators = false;

	for (uint32_t i = 0; i < meta->label_count; i++) {
		bool is_torch = st_category_is_torch(meta->labels[i].category);

		tasks |= is_torch && meta->labels[i].from_itt;
		operators |= is_torch && !meta->labels[i].from_itt;
	}
	return tasks && operators;
}

static void find_pairs(struct twins *t)
{
	const struct st_index_columns *columns = &t->builder->index->columns;
	const struct st_index_label *labels = t->builder->meta->labels;

	for (uint32_t row = 0; row < t->builder->row_count; row++) {
		const struct st_index_label *label = &labels[columns->label[row]], *outer;
		uint32_t parent = columns->parent[row];

		if (!st_category_is_torch(label->category) || parent == ST_NO_ROW ||
		    t->partner[parent])
			continue;
		outer = &labels[columns->label[parent]];
		if (!st_category_is_torch(outer->category) || outer->from_itt == label->from_itt ||
		    outer->name != label->name)
			continue;
		t->partner[row] = parent + 1;
		t->partner[parent] = row + 1;
		columns->flags[label->from_itt ? row : parent] |= ST_SLICE_TWIN;
		t->count++;
	}
}

static bool is_twin(const struct twins *t, uint32_t row)
{
	return t->builder->index->columns.flags[row] & ST_SLICE_TWIN;
}

/* The operator that a twin repeats. */
static uint32_t original(const struct twins *t, uint32_t row)
{
	return row != ST_NO_ROW && is_twin(t, row) ? t->partner[row] - 1 : row;
}

/* Callers come before what they call, so that a parent is in its new place already. */
static void move_out(const struct twins *t)
{
	struct st_index_columns *columns = &t->builder->index->columns;

	for (uint32_t row = 0; row < t->builder->row_count; row++) {
		uint32_t parent = columns->parent[row], twin = parent;

		if (parent == ST_NO_ROW)
			continue;
		if (is_twin(t, twin)) {
			parent = original(t, twin);
			if (parent >= row) /* the twin is around its operator */
				parent = columns->parent[twin];
			columns->parent[row] = parent;
		}
		columns->depth[row] = 0;
		if (parent != ST_NO_ROW)
			columns->depth[row] = columns->depth[parent] == UINT16_MAX
						      ? UINT16_MAX
						      : (uint16_t)(columns->depth[parent] + 1);
	}
}

/* They cross by design: no fault of the program. They end together, so that one lies in the other. */
static void uncross(const struct twins *t)
{
	struct st_index_columns *columns = &t->builder->index->columns;

	for (uint32_t row = 0; row < t->builder->row_count; row++) {
		uint32_t first, other;

		if (!is_twin(t, row))
			continue;
		other = original(t, row);
		first = other < row ? other : row;
		if (columns->end_ns[first] <= columns->end_ns[first == row ? other : row])
			columns->flags[first] &= (uint16_t)~ST_SLICE_MISMATCHED;
		columns->end_ns[row] = columns->end_ns[other];
	}
}

static void move_samples(const struct twins *t)
{
	const struct st_sample_columns *samples = &t->builder->index->columns.samples;

	for (uint64_t i = 0; i < t->builder->sample_count; i++)
		samples->slice[i] = original(t, samples->slice[i]);
}

/* Memory of a twin is its operator's, which is there: it has a signature. */
static bool move_memory(const struct twins *t)
{
	struct st_operator_tables *tables = &t->builder->operators;
	uint32_t *item_of = calloc(t->builder->row_count + 1, sizeof(*item_of)), kept = 0;

	if (!item_of)
		return false;
	for (uint32_t i = 0; i < tables->count; i++)
		item_of[tables->items[i].row] = i + 1;
	for (uint32_t i = 0; i < tables->count; i++) {
		struct st_operator *item = &tables->items[i];
		uint32_t to = original(t, item->row);

		if (to == item->row)
			continue;
		if (item_of[to]) {
			tables->items[item_of[to] - 1].allocated += item->allocated;
			tables->items[item_of[to] - 1].freed += item->freed;
			item->row = ST_NO_ROW;
		} else {
			item->row = to;
			item_of[to] = i + 1;
		}
	}
	for (uint32_t i = 0; i < tables->count; i++)
		if (tables->items[i].row != ST_NO_ROW)
			tables->items[kept++] = tables->items[i];
	tables->count = kept;
	for (uint32_t i = 0; i < tables->moment_count; i++)
		tables->moments[i].row = original(t, tables->moments[i].row);
	for (uint32_t i = 0; i < tables->device_moment_count; i++)
		tables->device_moments[i].row = original(t, tables->device_moments[i].row);
	free(item_of);
	return true;
}

bool st_index_twins(struct st_index_builder *builder)
{
	struct twins t = {.builder = builder};
	bool ok = true;

	if (builder->operators.count && has_both(builder->meta)) {
		t.partner = calloc(builder->row_count + 1, sizeof(*t.partner));
		ok = t.partner != NULL;
		if (ok)
			find_pairs(&t);
		if (ok && t.count) {
			move_out(&t);
			uncross(&t);
			move_samples(&t);
			ok = move_memory(&t);
		}
		builder->meta->twins = t.count;
	}
	free(t.partner);
	return ok;
}
