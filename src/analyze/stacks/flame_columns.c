// SPDX-License-Identifier: Apache-2.0
//
// Trees of stacks as columns (analyze/stacks/flame_columns.h). Trees may be as deep as stacks are, so nothing here calls
// itself.
#include "analyze/stacks/flame_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "base/vec.h"

const char *const st_flame_kind_words[ST_FLAME_KINDS] = {
	[ST_FLAME_PYTHON] = "python",	    [ST_FLAME_NATIVE] = "native",
	[ST_FLAME_INLINED] = "inlined",	    [ST_FLAME_JIT] = "jit",
	[ST_FLAME_KERNEL] = "kernel",	    [ST_FLAME_UNKNOWN] = "unknown",
	[ST_FLAME_RECOVERED] = "recovered", [ST_FLAME_GROUP] = "group",
	[ST_FLAME_NO_STACK] = "no-stack",   [ST_FLAME_ALL] = "all",
};

static enum st_status out_of_memory(struct st_error *err)
{
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the flame graph");
}

/* Made ---------------------------------------------------------------------------------------------- */

static uint32_t key_of(struct st_flames *flames, struct st_text text)
{
	uint32_t known = flames->texts.count;
	uint32_t key = st_key_texts_add(&flames->texts, text);

	/* A new one: keep its bytes. */
	if (key == known && flames->texts.count > known)
		flames->texts.texts[key] = st_text_copy(&flames->arena, text);
	return key;
}

static uint32_t place_key(struct st_flames *flames, const struct st_flame_tree *tree,
			  const struct st_flame_node *node)
{
	const struct st_named *named = tree->stacks->named;
	const struct st_named_function *function;

	if (node->kind >= ST_FLAME_GROUP)
		return 0;
	function = &named->functions[node->label.function];
	return key_of(flames, function->kind == ST_FUNCTION_PYTHON
				      ? named->sources[node->label.source]
				      : named->modules[function->module].name);
}

/* The cell of a node below another cell; ST_NO_ROW: no memory. */
static uint32_t cell_of(struct st_flames *flames, const struct st_flame_tree *tree, uint32_t node,
			uint32_t parent, struct st_buf *text)
{
	const struct st_flame_node *at = &tree->nodes[node];
	struct st_flame_cell cell = {.parent = parent, .kind = at->kind};
	uint32_t known = flames->places.count, place;

	st_buf_clear(text);
	st_flame_node_text(tree, node, text);
	cell.name = key_of(flames, (struct st_text){(const char *)text->data, text->size_bytes});
	if (text->failed || flames->texts.failed || flames->arena.failed)
		return ST_NO_ROW;
	place = st_key_table_add(&flames->places, parent, at->kind, cell.name);
	if (place == ST_ID_NONE)
		return ST_NO_ROW;
	if (place == known) {
		cell.place = place_key(flames, tree, at);
		if (!ST_VEC_PUSH(flames->cells, flames->count, flames->capacity, cell))
			return ST_NO_ROW;
	}
	return place + 1;
}

/* Nodes come after their parents. */
static bool add_tree(struct st_flames *flames, const struct st_flame_tree *tree, unsigned int side)
{
	uint32_t *cells = malloc(((size_t)tree->count + 1) * sizeof(*cells));
	struct st_buf text;
	bool done = cells != NULL;

	st_buf_init(&text, 1 << 20);
	for (uint32_t i = 0; done && i < tree->count; i++) {
		const struct st_flame_node *node = &tree->nodes[i];
		struct st_flame_cell *cell;

		cells[i] = i ? cell_of(flames, tree, i, cells[node->parent], &text) : 0;
		done = cells[i] != ST_NO_ROW;
		if (!done)
			break;
		cell = &flames->cells[cells[i]];
		cell->self_ns[side] += node->self_ns;
		cell->total_ns[side] += node->total_ns;
		cell->samples[side] += node->total_samples;
	}
	for (unsigned int i = 0; i < ST_FLAME_KINDS; i++)
		flames->kind_ns[i][side] += tree->kind_ns[i];
	st_buf_fini(&text);
	free(cells);
	return done;
}

static uint64_t weight_of(const struct st_flame_cell *cell)
{
	return cell->total_ns[0] > cell->total_ns[1] ? cell->total_ns[0] : cell->total_ns[1];
}

static int compare_cells(const void *a, const void *b, void *cells)
{
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	uint64_t x = weight_of((struct st_flame_cell *)cells + m);
	uint64_t y = weight_of((struct st_flame_cell *)cells + n);

	if (x != y)
		return x > y ? -1 : 1;
	return m < n ? -1 : m > n;
}

static bool sort_children(struct st_flames *flames)
{
	uint32_t next = 0;

	flames->children = malloc(((size_t)flames->count + 1) * sizeof(*flames->children));
	if (!flames->children)
		return false;
	for (uint32_t i = flames->count; i-- > 0;) {
		flames->cells[i].size++;
		if (!i)
			break;
		flames->cells[flames->cells[i].parent].size += flames->cells[i].size;
		flames->cells[flames->cells[i].parent].child_count++;
	}
	for (uint32_t i = 0; i < flames->count; i++) {
		flames->cells[i].first_child = next;
		next += flames->cells[i].child_count;
		flames->cells[i].child_count = 0;
	}
	for (uint32_t i = 1; i < flames->count; i++) {
		struct st_flame_cell *parent = &flames->cells[flames->cells[i].parent];

		flames->children[parent->first_child + parent->child_count++] = i;
	}
	for (uint32_t i = 0; i < flames->count; i++)
		qsort_r(flames->children + flames->cells[i].first_child,
			flames->cells[i].child_count, sizeof(*flames->children), compare_cells,
			flames->cells);
	return true;
}

enum st_status st_flames_init(struct st_flames *out, unsigned int sides, struct st_error *err)
{
	struct st_flame_cell all = {.kind = ST_FLAME_ALL};

	memset(out, 0, sizeof(*out));
	out->sides = sides;
	st_arena_init(&out->arena, SIZE_MAX / 2);
	st_key_texts_init(&out->texts);
	/* The first text is that of what has no place. */
	key_of(out, (struct st_text){"", 0});
	all.name = key_of(out, (struct st_text){"all", 3});
	if (!ST_VEC_PUSH(out->cells, out->count, out->capacity, all))
		return out_of_memory(err);
	return out->texts.failed || out->arena.failed ? out_of_memory(err) : ST_OK;
}

enum st_status st_flames_add(struct st_flames *flames, const struct st_flame_tree *tree,
			     unsigned int side, struct st_error *err)
{
	return add_tree(flames, tree, side) ? ST_OK : out_of_memory(err);
}

enum st_status st_flames_finish(struct st_flames *flames, struct st_error *err)
{
	return sort_children(flames) ? ST_OK : out_of_memory(err);
}

void st_flames_fini(struct st_flames *flames)
{
	st_key_texts_fini(&flames->texts);
	st_key_table_fini(&flames->places);
	st_arena_fini(&flames->arena);
	free(flames->cells);
	free(flames->children);
	memset(flames, 0, sizeof(*flames));
}

/* Cut ----------------------------------------------------------------------------------------------- */

struct shown {
	uint32_t cell;
	uint32_t parent; /* number of the one shown, or ST_NO_ROW */
	uint32_t depth;
	uint32_t folded;
	uint64_t folded_ns[ST_FLAME_SIDES];
};

struct cut {
	const struct st_flames *flames;
	uint64_t least_ns[ST_FLAME_SIDES];
	uint32_t max_depth;
	struct shown *shown;
	uint32_t count, capacity;
	struct shown *todo;
	uint32_t todo_count, todo_capacity;
};

static bool is_wide(const struct cut *cut, const struct st_flame_cell *cell)
{
	for (unsigned int i = 0; i < cut->flames->sides; i++)
		if (cell->total_ns[i] && cell->total_ns[i] >= cut->least_ns[i])
			return true;
	return false;
}

/* The last of the children first, so that the first comes out first. */
static bool take_children(struct cut *cut, uint32_t number)
{
	const struct st_flames *flames = cut->flames;
	struct shown at = cut->shown[number];
	const struct st_flame_cell *cell = &flames->cells[at.cell];

	for (uint32_t i = cell->child_count; i-- > 0;) {
		uint32_t child = flames->children[cell->first_child + i];
		const struct st_flame_cell *below = &flames->cells[child];
		struct shown next = {.cell = child, .parent = number, .depth = at.depth + 1};

		if (!is_wide(cut, below) || (cut->max_depth && next.depth > cut->max_depth)) {
			cut->shown[number].folded += below->size;
			for (unsigned int side = 0; side < flames->sides; side++)
				cut->shown[number].folded_ns[side] += below->total_ns[side];
			continue;
		}
		if (!ST_VEC_PUSH(cut->todo, cut->todo_count, cut->todo_capacity, next))
			return false;
	}
	return true;
}

/* From the root in, callers first; false: no memory. More than the most: it stops there. */
static bool walk(struct cut *cut, uint32_t root)
{
	struct shown first = {.cell = root, .parent = ST_NO_ROW};

	cut->count = cut->todo_count = 0;
	if (!ST_VEC_PUSH(cut->todo, cut->todo_count, cut->todo_capacity, first))
		return false;
	while (cut->todo_count && cut->count <= ST_FLAME_COLUMNS_MAX) {
		struct shown next = cut->todo[--cut->todo_count];

		if (!ST_VEC_PUSH(cut->shown, cut->count, cut->capacity, next) ||
		    !take_children(cut, cut->count - 1))
			return false;
	}
	return true;
}

static uint32_t find_root(const struct st_flames *flames, const struct st_flames_ask *ask)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < ask->root_count; i++) {
		const struct st_flame_cell *cell = &flames->cells[at];
		uint32_t found = ST_NO_ROW;

		for (uint32_t j = 0; j < cell->child_count && found == ST_NO_ROW; j++) {
			uint32_t child = flames->children[cell->first_child + j];

			if (st_text_equals(flames->texts.texts[flames->cells[child].name],
					   ask->root[i]))
				found = child;
		}
		if (found == ST_NO_ROW)
			return ST_NO_ROW;
		at = found;
	}
	return at;
}

/* Written ------------------------------------------------------------------------------------------- */

static void put_u64s(struct st_json *json, const char *key, const struct cut *cut,
		     uint64_t (*value)(const struct cut *cut, uint32_t at, unsigned int side),
		     unsigned int side)
{
	st_json_put_array(json, key);
	for (uint32_t i = 0; i < cut->count; i++)
		st_json_u64(json, value(cut, i, side));
	st_json_array_end(json);
}

static uint64_t depth_of(const struct cut *cut, uint32_t at, unsigned int side)
{
	(void)side;
	return cut->shown[at].depth;
}

static uint64_t kind_of(const struct cut *cut, uint32_t at, unsigned int side)
{
	(void)side;
	return cut->flames->cells[cut->shown[at].cell].kind;
}

static uint64_t folded_of(const struct cut *cut, uint32_t at, unsigned int side)
{
	(void)side;
	return cut->shown[at].folded;
}

static uint64_t self_of(const struct cut *cut, uint32_t at, unsigned int side)
{
	return cut->flames->cells[cut->shown[at].cell].self_ns[side];
}

static uint64_t total_of(const struct cut *cut, uint32_t at, unsigned int side)
{
	return cut->flames->cells[cut->shown[at].cell].total_ns[side];
}

static uint64_t samples_of(const struct cut *cut, uint32_t at, unsigned int side)
{
	return cut->flames->cells[cut->shown[at].cell].samples[side];
}

static uint64_t folded_ns_of(const struct cut *cut, uint32_t at, unsigned int side)
{
	return cut->shown[at].folded_ns[side];
}

/* Texts that are shown, each once, and their numbers by column. */
static bool put_texts(struct st_json *json, const struct cut *cut)
{
	const struct st_flames *flames = cut->flames;
	uint32_t *number = malloc(((size_t)flames->texts.count + 1) * sizeof(*number));
	uint32_t next = 0;

	if (!number)
		return false;
	memset(number, 0xff, ((size_t)flames->texts.count + 1) * sizeof(*number));
	st_json_put_array(json, "names");
	for (uint32_t i = 0; i < 2 * cut->count; i++) {
		const struct st_flame_cell *cell = &flames->cells[cut->shown[i / 2].cell];
		uint32_t key = i % 2 ? cell->place : cell->name;

		if (number[key] != ST_NO_ROW)
			continue;
		number[key] = next++;
		st_json_bytes(json, flames->texts.texts[key].bytes,
			      flames->texts.texts[key].size_bytes);
	}
	st_json_array_end(json);
	st_json_put_object(json, "nodes");
	st_json_put_array(json, "name");
	for (uint32_t i = 0; i < cut->count; i++)
		st_json_u64(json, number[flames->cells[cut->shown[i].cell].name]);
	st_json_array_end(json);
	st_json_put_array(json, "place");
	for (uint32_t i = 0; i < cut->count; i++)
		st_json_u64(json, number[flames->cells[cut->shown[i].cell].place]);
	st_json_array_end(json);
	free(number);
	return true;
}

static void put_columns(struct st_json *json, const struct cut *cut)
{
	static const char *const keys[ST_FLAME_SIDES][4] = {
		{"self_ns", "total_ns", "samples", "folded_ns"},
		{"self_b_ns", "total_b_ns", "samples_b", "folded_b_ns"}};

	st_json_put_array(json, "parent");
	for (uint32_t i = 0; i < cut->count; i++)
		st_json_i64(json,
			    cut->shown[i].parent == ST_NO_ROW ? -1 : (int64_t)cut->shown[i].parent);
	st_json_array_end(json);
	put_u64s(json, "depth", cut, depth_of, 0);
	put_u64s(json, "kind", cut, kind_of, 0);
	put_u64s(json, "folded", cut, folded_of, 0);
	for (unsigned int side = 0; side < cut->flames->sides && side < ST_FLAME_SIDES; side++) {
		put_u64s(json, keys[side][0], cut, self_of, side);
		put_u64s(json, keys[side][1], cut, total_of, side);
		put_u64s(json, keys[side][2], cut, samples_of, side);
		put_u64s(json, keys[side][3], cut, folded_ns_of, side);
	}
}

static void put_heads(struct st_json *json, const struct cut *cut)
{
	static const char *const keys[ST_FLAME_SIDES][3] = {
		{"total_ns", "samples", "kind_ns"}, {"total_b_ns", "samples_b", "kind_b_ns"}};
	const struct st_flames *flames = cut->flames;

	for (unsigned int side = 0; side < flames->sides; side++) {
		st_json_put_u64(json, keys[side][0], flames->cells[0].total_ns[side]);
		st_json_put_u64(json, keys[side][1], flames->cells[0].samples[side]);
		st_json_put_array(json, keys[side][2]);
		for (unsigned int i = 0; i < ST_FLAME_KINDS; i++)
			st_json_u64(json, flames->kind_ns[i][side]);
		st_json_array_end(json);
	}
	st_json_put_u64(json, "least_ns", cut->least_ns[0]);
	st_json_put_u64(json, "all_nodes", flames->count);
	st_json_put_array(json, "kinds");
	for (unsigned int i = 0; i < ST_FLAME_KINDS; i++)
		st_json_text(json, st_flame_kind_words[i]);
	st_json_array_end(json);
}

enum st_status st_flames_json(const struct st_flames *flames, const struct st_flames_ask *ask,
			      struct st_json *json, struct st_error *err)
{
	struct cut cut = {.flames = flames, .max_depth = ask->max_depth};
	uint32_t root = find_root(flames, ask);
	bool done;

	if (root == ST_NO_ROW)
		return st_error_set(err, ST_ENOTFOUND, 0, "the flame graph has no such path");
	if (!(ask->min_ratio >= 0.0 && ask->min_ratio <= 1.0))
		return st_error_set(err, ST_EUSAGE, 0, "min_ratio: expected 0 to 1");
	for (unsigned int i = 0; i < flames->sides; i++)
		cut.least_ns[i] =
			(uint64_t)ceil(ask->min_ratio * (double)flames->cells[root].total_ns[i]);
	/* Too many for a page: only the wider ones. */
	while ((done = walk(&cut, root)) && cut.count > ST_FLAME_COLUMNS_MAX)
		for (unsigned int i = 0; i < flames->sides; i++)
			cut.least_ns[i] +=
				cut.least_ns[i] / 2 + flames->cells[root].total_ns[i] / 100000 + 1;
	if (done) {
		put_heads(json, &cut);
		done = put_texts(json, &cut);
	}
	if (done) {
		put_columns(json, &cut);
		st_json_object_end(json);
	}
	free(cut.shown);
	free(cut.todo);
	return done ? ST_OK : out_of_memory(err);
}
