// SPDX-License-Identifier: Apache-2.0
//
// Folded stacks: a line per stack, its functions from the outermost on between semicolons, a blank, and its CPU
// time in nanoseconds. What flame graph scripts of others read.
#include "analyze/stacks/flame_tree.h"
#include "base/json_out.h"
#include "export/exporters.h"
#include "export/stream.h"

enum { DEPTH_MAX = 1 << 14 };

/* A name is one line and holds no semicolon. */
static void add_name(struct st_stream *to, const struct st_flame_tree *tree, uint32_t node)
{
	struct st_buf *name = st_stream_scratch(to);
	size_t begin = to->out.size_bytes;

	st_flame_node_text(tree, node, name);
	st_utf8_append_clean(&to->out, name->data, name->size_bytes);
	for (size_t i = begin; i < to->out.size_bytes; i++) {
		if (to->out.data[i] == ';')
			to->out.data[i] = ':';
		else if (to->out.data[i] < ' ')
			to->out.data[i] = ' ';
	}
}

static void add_stack(struct st_stream *to, const struct st_flame_tree *tree, uint32_t node)
{
	uint32_t path[DEPTH_MAX], depth = 0;

	for (uint32_t at = node; at && depth < DEPTH_MAX; at = tree->nodes[at].parent)
		path[depth++] = at;
	while (depth) {
		add_name(to, tree, path[--depth]);
		if (depth)
			st_buf_append_u8(&to->out, ';');
	}
	st_buf_printf(&to->out, " %llu\n", (unsigned long long)tree->nodes[node].self_ns);
}

enum st_status st_export_folded(const struct st_result *result,
				const struct st_export_options *options, struct st_sink *sink,
				struct st_error *err)
{
	struct st_flame_tree tree = {0};
	struct st_stacks stacks;
	struct st_stream to;
	enum st_status status =
		st_stacks_need(&stacks, result, options->question, &options->view, err);

	st_stream_init(&to, sink, "the export");
	if (!status)
		status = st_flame_tree_make(&tree, &stacks, options->reverse, err);
	to.total = tree.count;
	for (uint32_t i = 1; i < tree.count && !status; i++, to.done = i) {
		if (tree.nodes[i].self_ns)
			add_stack(&to, &tree, i);
		status = st_stream_spill(&to, err);
	}
	st_flame_tree_fini(&tree);
	st_stacks_fini(&stacks);
	return st_stream_end(&to, status, err);
}
