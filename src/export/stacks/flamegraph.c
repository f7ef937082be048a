// SPDX-License-Identifier: Apache-2.0
//
// A flame graph as one SVG file, or as the same inside an HTML page. All boxes are in the file, placed in
// percent of its width, so that it shows without its script; the script adds zoom, search and details. Nothing is
// loaded from elsewhere. Boxes too narrow to be seen even after a zoom are drawn as one box that says how many
// they are and what they took.
#include "export/stacks/flamegraph.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stacks/flame_tree.h"
#include "base/json_out.h"
#include "export/exporters.h"
#include "export/markup.h"
#include "export/report/show.h"
#include "export/stream.h"

enum {
	BOXES_MAX = 20000, /* a browser stays quick */
	ROW_HEIGHT = 16,
	TOP = 104,
	STATIC_WIDTH = 1200, /* until the script knows better */
	CHARACTER_WIDTH_X10 = 67,
};

struct kind_style {
	const char *class, *title;
};
static const struct kind_style styles[ST_FLAME_KINDS] = {
	[ST_FLAME_PYTHON] = {"python", "Python"},
	[ST_FLAME_NATIVE] = {"native", "native"},
	[ST_FLAME_INLINED] = {"inlined", "inlined"},
	[ST_FLAME_JIT] = {"jit", "JIT"},
	[ST_FLAME_KERNEL] = {"kernel", "kernel"},
	[ST_FLAME_UNKNOWN] = {"unknown", "unknown code"},
	[ST_FLAME_RECOVERED] = {"recovered", "recovered (likely, not certain)"},
	[ST_FLAME_GROUP] = {"group", NULL},
	[ST_FLAME_NO_STACK] = {"small", "no frame"},
	[ST_FLAME_ALL] = {"group", NULL},
};

struct flames {
	const struct st_flame_tree *tree;
	struct st_stream stream;
	struct st_buf *out, *scratch;
	uint64_t least_ns; /* narrower boxes are merged */
	uint32_t *sizes;   /* nodes below each node, itself included */
	uint32_t depth_max;
	bool downwards;
	bool is_page;
};

struct box {
	const char *class;
	uint64_t begin_ns, width_ns;
	uint32_t depth;
	/* The title's parts lie in scratch: a name, and lines behind it. */
	size_t name_bytes;
};

static unsigned int row_top(const struct flames *flames, uint32_t depth)
{
	uint32_t row = flames->downwards ? depth : flames->depth_max - depth;

	return TOP + row * ROW_HEIGHT;
}

/* The text that fits in at first; by characters, not bytes. */
static void add_short_name(struct flames *flames, const struct box *box, double share)
{
	const uint8_t *name = flames->scratch->data, *end = name + box->name_bytes;
	long room = (long)((share * STATIC_WIDTH - 6) * 10 / CHARACTER_WIDTH_X10), length = 0;
	const uint8_t *cut = end;

	for (const uint8_t *p = name; p < end; length++) {
		size_t step = st_utf8_length(p, end);

		if (length == room - 2)
			cut = p;
		p += step ? step : 1;
	}
	if (room < 3)
		return;
	st_markup_escape(flames->out, name,
			 (size_t)((length > room && cut < end ? cut : end) - name));
	if (length > room)
		st_buf_append_text(flames->out, "..");
}

static void add_box(struct flames *flames, const struct box *box)
{
	double total = (double)flames->tree->nodes[0].total_ns;
	double x = (double)box->begin_ns / total, share = (double)box->width_ns / total;
	unsigned int top = row_top(flames, box->depth);
	struct st_buf *out = flames->out;

	st_buf_printf(out,
		      "<g class=\"f %s\" data-b=\"%llu\" data-w=\"%llu\" data-d=\"%u\"><title>",
		      box->class, (unsigned long long)box->begin_ns,
		      (unsigned long long)box->width_ns, box->depth);
	st_markup_escape(out, flames->scratch->data, flames->scratch->size_bytes);
	st_buf_printf(out,
		      "</title><rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%d\"/>"
		      "<text x=\"%.4f%%\" dx=\"3\" y=\"%u\">",
		      100 * x, top, 100 * share, ROW_HEIGHT - 1, 100 * x, top + 11);
	add_short_name(flames, box, share);
	st_buf_append_text(out, "</text></g>\n");
}

static void add_share(struct flames *flames, const char *what, uint64_t ns)
{
	st_buf_append_text(flames->scratch, what);
	st_show_duration(flames->scratch, ns);
	st_buf_append_text(flames->scratch, " (");
	st_show_percent(flames->scratch, (double)ns / (double)flames->tree->nodes[0].total_ns);
	st_buf_append_text(flames->scratch, ")");
}

static void add_module(struct flames *flames, const struct st_flame_node *node)
{
	const struct st_named *named = flames->tree->stacks->named;
	const struct st_named_function *function = &named->functions[node->label.function];
	struct st_text place = function->kind == ST_FUNCTION_PYTHON
				       ? named->sources[node->label.source]
				       : named->modules[function->module].name;

	if (node->kind >= ST_FLAME_GROUP || !place.size_bytes)
		return;
	st_buf_append_text(flames->scratch, "\n");
	st_buf_append(flames->scratch, place.bytes, place.size_bytes);
	if (node->kind == ST_FLAME_RECOVERED)
		st_buf_append_text(flames->scratch,
				   "\nfound by scanning the stack: likely, not certain");
}

static void add_node_box(struct flames *flames, uint32_t node, uint64_t begin_ns, uint32_t depth)
{
	const struct st_flame_node *at = &flames->tree->nodes[node];
	struct box box = {styles[at->kind].class, begin_ns, at->total_ns, depth, 0};

	flames->scratch->size_bytes = 0;
	st_flame_node_text(flames->tree, node, flames->scratch);
	for (size_t i = 0; i < flames->scratch->size_bytes; i++)
		if (flames->scratch->data[i] == '\n')
			flames->scratch->data[i] = ' ';
	box.name_bytes = flames->scratch->size_bytes;
	add_share(flames, flames->tree->stacks->is_of_waits ? "\nWait time " : "\nCPU time ",
		  at->total_ns);
	/* In a reversed graph only the first box of a path is where the time went. */
	if (!flames->downwards)
		add_share(flames, ", self ", at->self_ns);
	st_buf_printf(flames->scratch, ", %u sample%s", at->total_samples,
		      at->total_samples == 1 ? "" : "s");
	add_module(flames, at);
	add_box(flames, &box);
}

struct merged {
	uint64_t begin_ns, width_ns;
	uint32_t branches, frames, samples;
};

static void add_merged_box(struct flames *flames, const struct merged *merged, uint32_t depth)
{
	struct box box = {"small", merged->begin_ns, merged->width_ns, depth, 0};

	flames->scratch->size_bytes = 0;
	st_buf_printf(flames->scratch, "[%u small]", merged->branches);
	box.name_bytes = flames->scratch->size_bytes;
	add_share(flames, flames->tree->stacks->is_of_waits ? "\nWait time " : "\nCPU time ",
		  merged->width_ns);
	st_buf_printf(flames->scratch,
		      ", %u samples\n%u branches too narrow to draw, %u frames in total",
		      merged->samples, merged->branches, merged->frames);
	add_box(flames, &box);
}

/* Children side by side from where the node begins; its own time is the room they leave. */
static void add_children(struct flames *flames, uint32_t node, uint64_t begin_ns, uint32_t depth,
			 struct st_buf *todo)
{
	const struct st_flame_tree *tree = flames->tree;
	const struct st_flame_node *at = &tree->nodes[node];
	struct merged merged = {0};
	uint64_t begin = begin_ns;

	for (uint32_t i = 0; i < at->child_count; i++) {
		uint32_t child = tree->children[at->first_child + i];
		const struct st_flame_node *below = &tree->nodes[child];

		if (below->total_ns >= flames->least_ns) {
			st_buf_append_u32(todo, child);
			st_buf_append_u32(todo, depth);
			st_buf_append_u64(todo, begin);
		} else {
			if (!merged.branches)
				merged.begin_ns = begin;
			merged.width_ns += below->total_ns;
			merged.samples += below->total_samples;
			merged.branches++;
			merged.frames += flames->sizes[child];
		}
		begin += below->total_ns;
	}
	if (merged.width_ns)
		add_merged_box(flames, &merged, depth);
}

static enum st_status write_boxes(struct flames *flames, struct st_error *err)
{
	enum st_status status = ST_OK;
	struct st_buf todo; /* u32 node, u32 depth, u64 begin */

	st_buf_init(&todo, SIZE_MAX / 4);
	st_buf_append_u64(&todo, 0);
	st_buf_append_u64(&todo, 0);
	while (todo.size_bytes && !todo.failed && !status) {
		uint32_t node, depth;
		uint64_t begin;

		todo.size_bytes -= 16;
		memcpy(&node, todo.data + todo.size_bytes, 4);
		memcpy(&depth, todo.data + todo.size_bytes + 4, 4);
		memcpy(&begin, todo.data + todo.size_bytes + 8, 8);
		add_node_box(flames, node, begin, depth);
		add_children(flames, node, begin, depth + 1, &todo);
		status = st_stream_spill(&flames->stream, err);
	}
	if (todo.failed)
		status = st_stream_no_memory(&flames->stream, err);
	st_buf_fini(&todo);
	return status;
}

/* Chooses the least width drawn so that there are not too many boxes; parents come before children. */
static bool measure(struct flames *flames)
{
	const struct st_flame_tree *tree = flames->tree;
	uint32_t *depths = calloc(tree->count, sizeof(*depths));
	uint32_t boxes;

	flames->sizes = calloc(tree->count, sizeof(*flames->sizes));
	if (!depths || !flames->sizes) {
		free(depths);
		return false;
	}
	for (uint32_t i = tree->count; i-- > 0;) {
		flames->sizes[i]++;
		if (i)
			flames->sizes[tree->nodes[i].parent] += flames->sizes[i];
	}
	flames->least_ns = tree->nodes[0].total_ns / 10000;
	do {
		boxes = 0;
		for (uint32_t i = 0; i < tree->count; i++)
			boxes += tree->nodes[i].total_ns >= flames->least_ns;
		flames->least_ns += boxes > BOXES_MAX ? flames->least_ns / 2 + 1 : 0;
	} while (boxes > BOXES_MAX);
	for (uint32_t i = 1; i < tree->count; i++) {
		depths[i] = depths[tree->nodes[i].parent] + 1;
		if (tree->nodes[tree->nodes[i].parent].total_ns >= flames->least_ns &&
		    depths[i] > flames->depth_max)
			flames->depth_max = depths[i];
	}
	free(depths);
	return true;
}

static void add_legend(struct flames *flames)
{
	unsigned int x = 10;

	for (unsigned int i = 0; i < ST_FLAME_KINDS; i++) {
		uint64_t ns = flames->tree->kind_ns[i];

		if (!styles[i].title || (!ns && i > ST_FLAME_NATIVE && i != ST_FLAME_JIT &&
					 i != ST_FLAME_KERNEL && i != ST_FLAME_RECOVERED))
			continue;
		flames->scratch->size_bytes = 0;
		st_buf_append_text(flames->scratch, styles[i].title);
		st_buf_append_text(flames->scratch, " ");
		st_show_percent(flames->scratch,
				(double)ns / (double)flames->tree->nodes[0].total_ns);
		st_buf_printf(flames->out,
			      "<rect class=\"%s\" x=\"%u\" y=\"51\" width=\"12\" height=\"12\"/>"
			      "<text class=\"key\" x=\"%u\" y=\"61\">",
			      styles[i].class, x, x + 16);
		st_markup_escape(flames->out, flames->scratch->data, flames->scratch->size_bytes);
		st_buf_append_text(flames->out, "</text>\n");
		x += 30 + 6 * (unsigned int)flames->scratch->size_bytes;
	}
	st_buf_printf(
		flames->out,
		"<text class=\"key\" x=\"%u\" y=\"61\">of the time: innermost frames</text>\n", x);
}

static void add_title(struct flames *flames)
{
	const struct st_stacks *stacks = flames->tree->stacks;
	const struct st_result_info *info = st_result_info(stacks->result);
	struct st_buf *text = flames->scratch;

	text->size_bytes = 0;
	if (flames->downwards)
		st_buf_append_text(text, stacks->is_of_waits
						 ? "Callers of the functions that waited: "
						 : "Callers of the functions that used CPU time: ");
	else
		st_buf_append_text(text, stacks->is_of_waits ? "Wait time: " : "CPU time: ");
	st_buf_append_text(text, info->command[0] ? info->command : info->name);
	st_buf_append_text(flames->out, "<text class=\"title\" x=\"10\" y=\"22\">");
	st_markup_escape(flames->out, text->data, text->size_bytes);
	text->size_bytes = 0;
	st_show_duration(text, stacks->total_ns);
	st_buf_append_text(text, stacks->is_of_waits ? " of wait time in " : " of CPU time in ");
	st_buf_append_count(text, stacks->row_count);
	st_buf_append_text(text, " samples");
	if (stacks->row_count != stacks->samples->count)
		st_buf_printf(text, " of %u", stacks->samples->count);
	st_buf_append_text(text, "; stacks truncated ");
	st_buf_append_count(text, stacks->truncated);
	st_buf_append_text(text, ", with recovered frames ");
	st_buf_append_count(text, stacks->recovered);
	st_buf_append_text(text, "; samples lost ");
	st_buf_append_count(text, st_result_sample_quality(stacks->result)->dropped);
	if (stacks->set.view.folds_glue)
		st_buf_append_text(text, "; without interpreter, dispatcher and import frames");
	st_buf_append_text(flames->out, "</text>\n<text class=\"note\" x=\"10\" y=\"42\">");
	st_markup_escape(flames->out, text->data, text->size_bytes);
	st_buf_append_text(flames->out, "</text>\n");
}

static void add_head(struct flames *flames)
{
	struct st_buf *out = flames->out;

	if (flames->is_page) {
		st_buf_append_text(
			out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			     "<title>");
		st_markup_escape(out, st_result_info(flames->tree->stacks->result)->name,
				 strlen(st_result_info(flames->tree->stacks->result)->name));
		st_buf_append_text(out, " - flame graph</title></head>\n"
					"<body style=\"margin:0;color-scheme:light dark\">\n");
	} else {
		st_buf_append_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	}
	st_buf_printf(
		out,
		"<svg id=\"strata-flames\" xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" "
		"height=\"%u\">\n<style>",
		TOP + (flames->depth_max + 1) * ROW_HEIGHT + 10);
	st_buf_append_text(out, st_flamegraph_css);
	st_buf_append_text(out, "</style>\n<g>\n");
}

/* Title, legend and search. Behind the boxes in the file, so that it lies over them while it stays in sight. */
static void add_panel(struct flames *flames)
{
	struct st_buf *out = flames->out;

	st_buf_printf(out,
		      "</g>\n<g id=\"strata-panel\"><rect class=\"panel\" x=\"0\" y=\"0\" "
		      "width=\"100%%\" height=\"%d\"/>\n",
		      TOP - 8);
	add_title(flames);
	add_legend(flames);
	/* An element of HTML in SVG: the only kind of text field there is. */
	st_buf_append_text(
		out,
		"<text class=\"note\" id=\"strata-details\" x=\"10\" y=\"84\">click a frame to "
		"zoom; Ctrl-F "
		"searches; Esc resets</text>\n"
		"<text class=\"note\" id=\"strata-matched\" x=\"100%\" dx=\"-10\" y=\"42\" "
		"text-anchor=\"end\"></text>\n"
		"<text class=\"button\" id=\"strata-reset\" x=\"100%\" dx=\"-240\" y=\"20\" "
		"text-anchor=\"end\" style=\"display:none\">reset zoom</text>\n"
		"<foreignObject x=\"100%\" y=\"4\" width=\"222\" height=\"26\" "
		"transform=\"translate(-232 0)\"><input xmlns=\"http://www.w3.org/1999/xhtml\" "
		"id=\"strata-search\" placeholder=\"search\" aria-label=\"search\" "
		"style=\"width:210px;height:18px;font:12px sans-serif\" "
		"/></foreignObject>\n</g>\n");
}

static enum st_status write_all(struct flames *flames, struct st_error *err)
{
	enum st_status status;

	add_head(flames);
	status = write_boxes(flames, err);
	add_panel(flames);
	st_buf_append_text(flames->out, "<script><![CDATA[\n");
	st_buf_append_text(flames->out, st_flamegraph_js);
	st_buf_append_text(flames->out, "]]></script>\n</svg>\n");
	if (flames->is_page)
		st_buf_append_text(flames->out, "</body></html>\n");
	return status;
}

enum st_status st_export_flamegraph(const struct st_result *result,
				    const struct st_export_options *options, struct st_sink *sink,
				    struct st_error *err)
{
	struct st_flame_tree tree = {0};
	struct flames flames = {.tree = &tree,
				.out = &flames.stream.out,
				.scratch = &flames.stream.scratch,
				.downwards = options->reverse,
				.is_page = options->is_page};
	struct st_sample_view view = options->view;
	struct st_stacks stacks;
	enum st_status status;

	/* A picture is for people: without what lies between their functions. */
	view.folds_glue = view.call_stack_mode != ST_STACK_ALL;
	status = st_stacks_need(&stacks, result, options->question, &view, err);

	st_stream_init(&flames.stream, sink, "the export");
	if (!status)
		status = st_flame_tree_make(&tree, &stacks, flames.downwards, err);
	if (!status && !tree.nodes[0].total_ns)
		status = st_error_set(err, ST_EUSAGE, 0, "the samples have no CPU time");
	if (!status && !measure(&flames))
		status = st_stream_no_memory(&flames.stream, err);
	if (!status)
		status = write_all(&flames, err);
	free(flames.sizes);
	st_flame_tree_fini(&tree);
	st_stacks_fini(&stacks);
	return st_stream_end(&flames.stream, status, err);
}
