// SPDX-License-Identifier: Apache-2.0
//
// A tree of calls or callers as text: figures to the left, as shares of everything, and names to the right with the rest
// of the line. A line that begins with "+" is one of several below the same line; without one it is all that is below the
// line above, so that a chain of calls needs no indent. Rows under a certain share become one line with their number.
#include "export/report/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "export/report/show.h"
#include "export/report/text_flow.h"
#include "resolve/short_name.h"

enum {
	FIGURES_MAX = 3,
	FIGURE_WIDTH = 10,
	INDENT_WIDTH = 2,
	NAME_WIDTH_MIN = 16,
	ROOTS_MIN = 5, /* shown however little they are */
};

static const double NOTHING = 0.0005; /* a share that would be shown as 0.0 % */

struct figure {
	const char *title;
	uint32_t column;
	const char *unit;
	double whole; /* what a share is of; 0: shown as it is */
};

/* Rows that stand below one line. */
struct level {
	uint32_t first, end; /* still to come */
	uint32_t folded;
	double folded_share;
	unsigned int indent, depth;
	bool is_branch; /* each gets a mark and an indent */
};

struct tree {
	struct st_text_job *job;
	struct figure figures[FIGURES_MAX];
	unsigned int figure_count;
	uint32_t weight; /* column that decides what is worth a line */
	double whole;
	bool is_of_callers;
	uint32_t module, source, self, spin; /* columns, or UINT32_MAX */
	struct level *levels;
	uint32_t level_count, level_capacity;
	uint64_t folded, too_deep;
};

static uint32_t column_of(const struct st_report *report, const char *key)
{
	size_t length = strlen(key);

	/* The unit follows: "cpu_self_ns", or as shares "cpu_self_ratio". */
	for (uint32_t i = report->group_by_count; i < report->column_count; i++) {
		const char *found = report->columns[i].key;

		if (strncmp(found, key, length) == 0 && (!found[length] || found[length] == '_') &&
		    !strchr(found + length + (found[length] != 0), '_'))
			return i;
	}
	return UINT32_MAX;
}

static double number(const struct st_cell *cell)
{
	if (cell->kind == ST_CELL_DOUBLE)
		return cell->as.number;
	return cell->kind == ST_CELL_U64 ? (double)cell->as.u64 : 0.0;
}

static void add_figure(struct tree *tree, const char *key, const char *title)
{
	const struct st_report *report = tree->job->report;
	uint32_t column = column_of(report, key);
	const char *unit;

	if (column == UINT32_MAX || tree->figure_count == FIGURES_MAX)
		return;
	unit = report->columns[column].unit;
	tree->figures[tree->figure_count++] = (struct figure){
		title, column, unit,
		strcmp(unit, "ns") == 0 && !tree->job->style->tree_values ? tree->whole : 0};
}

/* Callers are about self time, calls about total time; tasks have both, and a number. */
static bool choose(struct tree *tree)
{
	const struct st_report *report = tree->job->report;
	bool callers = strcmp(report->group_by[report->group_by_count - 1], "callstack") == 0;
	bool tasks = column_of(report, "wall_total") != UINT32_MAX &&
		     column_of(report, "cpu_self") == UINT32_MAX;
	bool waits = report->is_about_waits && column_of(report, "wait") != UINT32_MAX;
	const char *self_key = waits ? "wait" : tasks ? "wall_self" : "cpu_self";
	const char *total_key = waits ? "wait_total" : tasks ? "wall_total" : "cpu_total";
	uint32_t self = column_of(report, self_key);

	tree->is_of_callers = callers;
	tree->weight = callers ? self : column_of(report, total_key);
	tree->module = column_of(report, "module");
	tree->source = column_of(report, "source_file");
	tree->self = self;
	tree->spin = column_of(report, "spin");
	if (tree->weight == UINT32_MAX || self == UINT32_MAX || !report->totals.cells)
		return false;
	tree->whole = number(&report->totals.cells[self]);
	if (!callers)
		add_figure(tree, total_key, "Total");
	add_figure(tree, self_key, !callers ? "Self" : waits ? "Wait Time" : "CPU Time");
	if (tasks && !waits)
		add_figure(tree, "count", "Count");
	if (waits)
		add_figure(tree, "wait_count", "Waits");
	return true;
}

static double share_of(const struct tree *tree, uint32_t row)
{
	double value = number(&tree->job->report->rows[row].cells[tree->weight]);

	return tree->whole > 0 ? value / tree->whole : 0.0;
}

/* A function that only calls others is on top of no stack: callers of it are none of time. */
static bool is_nothing(const struct tree *tree, uint32_t row)
{
	return tree->is_of_callers && share_of(tree, row) <= 0;
}

static bool is_small(const struct tree *tree, const struct level *level, uint32_t row)
{
	const struct st_report *report = tree->job->report;

	if (level->depth == 0 && row - report->root_first < ROOTS_MIN)
		return is_nothing(tree, row);
	return is_nothing(tree, row) ||
	       share_of(tree, row) * 100.0 < tree->job->style->tree_percent;
}

/* The rows below a line: which of them get lines, and whether they are a branch. */
static void open_level(struct tree *tree, uint32_t first, uint32_t count, struct level level)
{
	unsigned int shown = 0, depth_max = tree->job->style->tree_depth;

	level.first = first;
	level.end = first + count;
	if (depth_max && level.depth >= depth_max) {
		tree->too_deep += count;
		return;
	}
	for (uint32_t i = first; i < first + count; i++) {
		if (is_nothing(tree, i))
			continue;
		if (is_small(tree, &level, i)) {
			level.folded++;
			level.folded_share += share_of(tree, i);
		} else {
			shown++;
		}
	}
	tree->folded += level.folded;
	/* What is little beside a single call does not make it a branch, and next to nothing is worth no line: it is
	 * counted below. */
	if (level.folded_share * 100.0 < tree->job->style->tree_percent / (shown == 1 ? 1 : 4))
		level.folded = 0;
	level.is_branch = level.depth && shown + (level.folded > 0) > 1;
	if (!ST_VEC_PUSH(tree->levels, tree->level_count, tree->level_capacity, level))
		tree->job->out->failed = true;
}

static void add_figures(struct tree *tree, const struct st_report_row *row)
{
	for (unsigned int i = 0; i < tree->figure_count; i++) {
		const struct figure *figure = &tree->figures[i];
		const struct st_cell *cell = &row->cells[figure->column];
		struct st_cell share = {.kind = ST_CELL_DOUBLE};

		if (figure->whole <= 0 || cell->kind == ST_CELL_NONE) {
			st_show_right(tree->job->out, cell, figure->unit, FIGURE_WIDTH);
			continue;
		}
		share.as.number = number(cell) / figure->whole;
		/* Most functions of a tree have next to no time of their own. */
		if (share.as.number < NOTHING)
			st_show_pad(tree->job->out, 0, FIGURE_WIDTH);
		else
			st_show_right(tree->job->out, &share, "ratio", FIGURE_WIDTH);
	}
	st_buf_append_text(tree->job->out, "  ");
}

static const struct st_cell *name_of(const struct st_report *report,
				     const struct st_report_row *row)
{
	for (uint32_t i = 0; i < report->group_by_count; i++)
		if (row->cells[i].kind != ST_CELL_NONE)
			return &row->cells[i];
	return &row->cells[0];
}

/* The module that a function is from. A package's own file is known by its folder: "torch/__init__.py". */
static struct st_text place_of(const struct tree *tree, const struct st_report_row *row)
{
	static const char package[] = "__init__.py";
	struct st_text place = {"", 0}, path;
	const char *at;

	if (tree->module == UINT32_MAX || row->cells[tree->module].kind != ST_CELL_TEXT)
		return place;
	place = row->cells[tree->module].as.text;
	if (tree->source == UINT32_MAX || row->cells[tree->source].kind != ST_CELL_TEXT ||
	    place.size_bytes != sizeof(package) - 1 ||
	    memcmp(place.bytes, package, place.size_bytes) != 0)
		return place;
	path = row->cells[tree->source].as.text;
	if (path.size_bytes <= place.size_bytes + 1)
		return place;
	at = memrchr(path.bytes, '/', path.size_bytes - place.size_bytes - 1);
	if (!at)
		return place;
	return (struct st_text){at + 1, (size_t)(path.bytes + path.size_bytes - at - 1)};
}

/* A function that only waits for others, as the summary says it too: its name seldom tells. Of callers it is not true. */
static bool is_waiting(const struct tree *tree, const struct level *level,
		       const struct st_report_row *row)
{
	double self = number(&row->cells[tree->self]);

	return tree->spin != UINT32_MAX && self > 0 && !(tree->is_of_callers && level->depth) &&
	       number(&row->cells[tree->spin]) > self / 2;
}

/* The name, in full if it fits, and where it is from if that does too. */
static void add_name(struct tree *tree, const struct level *level, const struct st_report_row *row,
		     unsigned int used)
{
	static const char waiting[] = " (busy waiting)";
	struct st_buf *out = tree->job->out, name;
	unsigned int limit = tree->job->style->width, width;
	unsigned int room = limit > used + NAME_WIDTH_MIN ? limit - used : NAME_WIDTH_MIN;
	const struct st_cell *cell = name_of(tree->job->report, row);
	struct st_text place = place_of(tree, row);

	if (!limit)
		room = 0;
	st_buf_init(&name, 1 << 20);
	if (limit && cell->as.text.size_bytes > room) {
		st_short_name(cell->as.text, &name);
		width = st_show_text(out, (struct st_text){(char *)name.data, name.size_bytes},
				     room);
	} else {
		width = st_show_name(out, cell, room);
	}
	out->failed |= name.failed;
	st_buf_fini(&name);
	if (is_waiting(tree, level, row) && (!limit || width + strlen(waiting) <= room)) {
		st_buf_append_text(out, waiting);
		width += (unsigned int)strlen(waiting);
	}
	if (place.size_bytes && (!limit || width + 4 + place.size_bytes <= room)) {
		st_buf_append_text(out, "  [");
		st_show_text(out, place, 0);
		st_buf_append_text(out, "]");
	}
}

static unsigned int begin_line(struct tree *tree, const struct level *level)
{
	unsigned int used = tree->figure_count * FIGURE_WIDTH + 2;

	st_show_pad(tree->job->out, 0, level->indent);
	if (level->is_branch)
		st_buf_append_text(tree->job->out, "+ ");
	return used + level->indent + (level->is_branch ? 2 : 0);
}

static void add_row(struct tree *tree, const struct level *level, uint32_t index)
{
	const struct st_report_row *row = &tree->job->report->rows[index];

	add_figures(tree, row);
	add_name(tree, level, row, begin_line(tree, level));
	st_show_end_line(tree->job->out);
}

/* "   3.4 %            + 12 more under 1 %" */
static void add_folded(struct tree *tree, const struct level *level)
{
	const struct st_cell share = {.kind = ST_CELL_DOUBLE, .as.number = level->folded_share};
	struct st_buf *out = tree->job->out;

	for (unsigned int i = 0; i < tree->figure_count; i++) {
		if (tree->figures[i].column == tree->weight)
			st_show_right(out, &share, "ratio", FIGURE_WIDTH);
		else
			st_show_pad(out, 0, FIGURE_WIDTH);
	}
	st_buf_append_text(out, "  ");
	begin_line(tree, level);
	st_buf_append_count(out, level->folded);
	st_buf_printf(out, " more under %g %%%s\n", tree->job->style->tree_percent,
		      level->folded == 1 ? "" : " each");
}

static enum st_status add_rows(struct tree *tree, struct st_error *err)
{
	const struct st_report *report = tree->job->report;
	enum st_status status = ST_OK;

	open_level(tree, report->root_first, report->root_count, (struct level){0});
	while (tree->level_count && !status && !tree->job->out->failed) {
		struct level *level = &tree->levels[tree->level_count - 1], at;
		uint32_t row;

		while (level->first < level->end && is_small(tree, level, level->first))
			level->first++;
		if (level->first == level->end) {
			if (level->folded && !level->depth)
				st_buf_append_u8(tree->job->out, '\n');
			if (level->folded)
				add_folded(tree, level);
			tree->level_count--;
			continue;
		}
		row = level->first++;
		at = *level;
		if (at.depth == 0 && row > report->root_first)
			st_buf_append_u8(tree->job->out, '\n');
		add_row(tree, &at, row);
		if (report->rows[row].child_count)
			open_level(tree, report->rows[row].first_child,
				   report->rows[row].child_count,
				   (struct level){.depth = at.depth + 1,
						  .indent = at.indent +
							    (at.is_branch ? INDENT_WIDTH : 0)});
		status = st_text_spill(tree->job, err);
	}
	return status;
}

static void add_head(struct tree *tree)
{
	const struct st_report *report = tree->job->report;
	bool colour = tree->job->style->colour;
	struct st_buf *out = tree->job->out;

	if (tree->whole > 0 && tree->figures[0].whole > 0) {
		st_buf_append_text(out, "100 % = ");
		st_show_duration(out, (uint64_t)tree->whole);
		if (report->is_about_waits)
			st_buf_append_text(out, " of wait time\n");
		else
			st_buf_append_text(out, tree->weight == column_of(report, "wall_total")
							? " in tasks\n"
							: " of CPU time\n");
		if (report->subject)
			st_flow_lines(out, tree->job->style->width, report->subject);
	}
	if (colour)
		st_buf_append_text(out, "\033[1m");
	for (unsigned int i = 0; i < tree->figure_count; i++) {
		const char *title = tree->figures[i].title;

		st_show_pad(out, (unsigned int)strlen(title), FIGURE_WIDTH);
		st_buf_append_text(out, title);
	}
	st_buf_append_text(out, "  ");
	for (unsigned int i = 0; i < report->group_by_count; i++) {
		st_buf_append_text(out, i ? " / " : "");
		st_buf_append_text(out, report->columns[i].title);
	}
	st_buf_append_text(out, colour ? "\033[0m\n" : "\n");
}

/* What is not there, and how to see it. */
static void add_foot(struct tree *tree)
{
	struct st_buf *out = tree->job->out, text;
	struct st_flow flow;

	if (!tree->folded && !tree->too_deep && !tree->job->report->folds_glue)
		return;
	st_buf_init(&text, 1 << 16);
	if (tree->folded) {
		st_buf_append_count(&text, tree->folded);
		st_buf_printf(&text,
			      " rows under %g %% are folded (-report-knob min-percent=0 shows "
			      "them). ",
			      tree->job->style->tree_percent);
	}
	if (tree->too_deep) {
		st_buf_append_count(&text, tree->too_deep);
		st_buf_printf(&text,
			      " rows are deeper than %u levels (-report-knob max-depth=0 shows "
			      "them). ",
			      tree->job->style->tree_depth);
	}
	if (tree->job->report->folds_glue)
		st_buf_append_text(&text, "Interpreter, dispatcher and import frames are left out "
					  "(-call-stack-mode all shows them).");
	st_buf_append_text(out, "\nnote  ");
	st_flow_init(&flow, out, tree->job->style->width, 6);
	st_flow_words(&flow, (struct st_text){(char *)text.data, text.size_bytes}, 0);
	st_flow_end(&flow);
	out->failed |= text.failed;
	st_buf_fini(&text);
}

enum st_status st_text_tree(struct st_text_job *job, struct st_error *err)
{
	struct tree tree = {.job = job};
	enum st_status status;

	/* Columns that somebody chose are a table. */
	if (!job->report->row_count || !job->report->group_by_count || !choose(&tree))
		return st_text_table(job, err);
	add_head(&tree);
	status = add_rows(&tree, err);
	add_foot(&tree);
	free(tree.levels);
	return status;
}
