// SPDX-License-Identifier: Apache-2.0
//
// Folded stacks: a line per stack, its functions from the outermost on between semicolons, a blank, and its CPU
// time in nanoseconds. What flame graph scripts of others read.
#include "base/buf.h"
#include "base/json_out.h"
#include "export/exporters.h"
#include "export/stacks/flame_tree.h"

enum { SPILL_BYTES = 256 << 10, DEPTH_MAX = 1 << 14 };

/* A name is one line and holds no semicolon. */
static void add_name(const struct st_flame_tree *tree, uint32_t node, struct st_buf *scratch,
		     struct st_buf *out)
{
	size_t begin = out->size_bytes;

	scratch->size_bytes = 0;
	st_flame_node_text(tree, node, scratch);
	st_utf8_append_clean(out, scratch->data, scratch->size_bytes);
	for (size_t i = begin; i < out->size_bytes; i++) {
		if (out->data[i] == ';')
			out->data[i] = ':';
		else if (out->data[i] < ' ')
			out->data[i] = ' ';
	}
}

static void add_stack(const struct st_flame_tree *tree, uint32_t node, struct st_buf *scratch,
		      struct st_buf *out)
{
	uint32_t path[DEPTH_MAX], depth = 0;

	for (uint32_t at = node; at && depth < DEPTH_MAX; at = tree->nodes[at].parent)
		path[depth++] = at;
	while (depth) {
		add_name(tree, path[--depth], scratch, out);
		if (depth)
			st_buf_append_u8(out, ';');
	}
	st_buf_printf(out, " %llu\n", (unsigned long long)tree->nodes[node].self_ns);
}

static enum st_status write_tree(const struct st_flame_tree *tree, struct st_sink *sink,
				 struct st_buf *out, struct st_error *err)
{
	enum st_status status = ST_OK;
	struct st_buf scratch;

	st_buf_init(&scratch, SIZE_MAX / 4);
	for (uint32_t i = 1; i <= tree->count && !status; i++) {
		if (i < tree->count && tree->nodes[i].self_ns)
			add_stack(tree, i, &scratch, out);
		if (out->failed || scratch.failed)
			status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
		else if (out->size_bytes > SPILL_BYTES || i == tree->count) {
			status = st_sink_write(sink, out->data, out->size_bytes, err);
			st_buf_clear(out);
			st_sink_progress(sink, i, tree->count);
		}
	}
	st_buf_fini(&scratch);
	return status;
}

enum st_status st_export_folded(const struct st_result *result,
				const struct st_export_options *options, struct st_sink *sink,
				struct st_error *err)
{
	struct st_flame_tree tree = {0};
	struct st_stacks stacks;
	struct st_buf out;
	enum st_status status = st_stacks_init(&stacks, result, options, err);

	st_buf_init(&out, SIZE_MAX / 4);
	if (!status)
		status = st_stacks_need(&stacks, err);
	if (!status)
		status = st_flame_tree_make(&tree, &stacks, options && options->reverse, err);
	if (!status)
		status = write_tree(&tree, sink, &out, err);
	st_flame_tree_fini(&tree);
	st_stacks_fini(&stacks);
	st_buf_fini(&out);
	return status;
}
