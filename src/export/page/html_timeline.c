// SPDX-License-Identifier: Apache-2.0
//
// A small timeline as SVG: the tracks of a result over all of its time. Tasks too short to be seen are merged by
// analyze/timeline; what does not fit is counted.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline/view.h"
#include "analyze/timeline/view_values.h"
#include "base/buf.h"
#include "export/page/html_parts.h"
#include "export/report/show.h"

enum { TRACKS_MAX = 40, LANES_MAX = 10, BOXES_MAX = 20000, ROW = 16, CURVE = 28, TICKS = 6 };

struct drawing {
	struct st_buf *out;
	struct st_timeline_view *view;
	struct st_tile_window window;
	double span_ns;
	uint32_t boxes, tracks, tracks_left, lanes_left;
};

static double percent_of(const struct drawing *drawing, int64_t time_ns)
{
	return 100.0 * (double)(time_ns - drawing->view->begin_ns) / drawing->span_ns;
}

static void put_axis(struct drawing *drawing)
{
	struct st_buf *out = drawing->out;

	st_buf_append_text(out,
			   "<div class=\"track\"><div class=\"name\"></div><svg class=\"axis\" "
			   "height=\"18\" aria-hidden=\"true\">");
	for (unsigned int i = 0; i < TICKS; i++) {
		st_buf_printf(out, "<text x=\"%.2f%%\" y=\"13\">", 100.0 * i / TICKS);
		st_show_duration(out, (uint64_t)(drawing->span_ns * i / TICKS));
		st_buf_append_text(out, "</text>");
	}
	st_buf_append_text(out, "</svg></div>\n");
}

static void put_box(struct drawing *drawing, const struct st_box *box,
		    const struct st_item_columns *items)
{
	struct st_buf *out = drawing->out;
	struct st_view_label label = {.name = {"", 0}};
	double x = percent_of(drawing, box->begin_ns);
	double width = percent_of(drawing, box->end_ns) - x;
	unsigned int y = (unsigned int)box->lane * ROW;

	st_view_label(drawing->view, items->label[box->row], &label);
	st_buf_printf(out, "<svg x=\"%.3f%%\" y=\"%u\" width=\"%.3f%%\" height=\"%d\"><title>", x,
		      y, fmax(width, 0.05), ROW - 2);
	st_html_text(out, label.name);
	if (box->count > 1)
		st_buf_printf(out, " and %u more", box->count - 1);
	st_buf_append_text(out, ", ");
	st_show_duration(out, (uint64_t)(box->end_ns - box->begin_ns));
	st_buf_printf(out, "</title><rect class=\"k-%s\" width=\"100%%\" height=\"100%%\"%s/>",
		      st_view_category(label.category).name,
		      box->count > 1 ? " fill-opacity=\"0.6\"" : "");
	if (width > 3.0) {
		st_buf_append_text(out, "<text x=\"3\" y=\"11\">");
		st_html_text(out, label.name);
		st_buf_append_text(out, "</text>");
	}
	st_buf_append_text(out, "</svg>");
}

/* One path: a curve of steps, as high as the row where it has its largest value. */
static void put_curve(struct drawing *drawing, uint32_t track, double most)
{
	struct st_value_bucket buckets[ST_TILE_BUCKETS];
	uint32_t count = st_view_values(drawing->view, track, &drawing->window, buckets);
	double bucket_ns = ldexp(1.0, (int)drawing->window.level);
	double offset = (double)(drawing->view->begin_ns - drawing->window.begin_ns) / bucket_ns;

	st_buf_printf(drawing->out,
		      "<svg height=\"%d\" viewBox=\"%.4f 0 %.4f 1\" preserveAspectRatio=\"none\">"
		      "<path class=\"curve\" d=\"",
		      CURVE, offset, drawing->span_ns / bucket_ns);
	for (uint32_t i = 0; i < count; i++)
		st_buf_printf(drawing->out, "M%u 1v%.4fh1V1z", buckets[i].bucket,
			      most > 0.0 ? -fmin(1.0, fmax(0.0, buckets[i].mean / most)) : 0.0);
	st_buf_append_text(drawing->out, "\"/></svg>");
}

static enum st_status put_boxes(struct drawing *drawing, uint32_t track, struct st_error *err)
{
	struct st_item_columns items =
		st_view_columns(drawing->view, drawing->view->tracks[track].items);
	const struct st_lane_index *lanes;
	struct st_boxes boxes = {0};
	enum st_status status = st_view_lanes(drawing->view, track, NULL, &lanes, err);
	uint32_t shown;

	if (status)
		return status;
	shown = lanes->lane_count < LANES_MAX ? lanes->lane_count : LANES_MAX;
	drawing->lanes_left += lanes->lane_count - shown;
	drawing->window.lane_end = shown;
	if (!st_lane_index_boxes(lanes, &drawing->window, &boxes))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
	st_buf_printf(drawing->out, "<svg height=\"%u\">", shown * ROW);
	for (uint32_t i = 0; i < boxes.count && !status; i++)
		put_box(drawing, &boxes.items[i], &items);
	st_buf_append_text(drawing->out, "</svg>");
	drawing->boxes += boxes.count;
	free(boxes.items);
	return status;
}

static enum st_status put_track(struct drawing *drawing, uint32_t index, struct st_error *err)
{
	const struct st_view_track *track = &drawing->view->tracks[index];
	enum st_status status = ST_OK;

	if (track->items == ST_ITEM_NONE && track->values == ST_VALUES_NONE)
		return ST_OK;
	if (drawing->tracks >= TRACKS_MAX || drawing->boxes >= BOXES_MAX) {
		drawing->tracks_left++;
		return ST_OK;
	}
	drawing->tracks++;
	st_buf_append_text(drawing->out, "<div class=\"track\"><div class=\"name\">");
	st_html_text(drawing->out, track->title);
	st_buf_append_text(drawing->out, "</div><div class=\"rows\">");
	if (track->values != ST_VALUES_NONE)
		put_curve(drawing, index, track->value_max);
	if (track->items != ST_ITEM_NONE)
		status = put_boxes(drawing, index, err);
	st_buf_append_text(drawing->out, "</div></div>\n");
	return status;
}

enum st_status st_html_timeline(struct st_buf *out, const struct st_result *result,
				struct st_error *err)
{
	struct drawing drawing = {.out = out};
	struct st_timeline_view *view;
	enum st_status status = st_timeline_view_open(&view, result, err);

	if (status)
		return status;
	drawing.view = view;
	drawing.span_ns = fmax(1.0, (double)(view->end_ns - view->begin_ns));
	/* One window that holds all. */
	while (drawing.window.level < ST_TILE_LEVEL_MAX &&
	       ((int64_t)ST_TILE_BUCKETS << drawing.window.level) <= view->end_ns - view->begin_ns)
		drawing.window.level++;
	drawing.window.begin_ns = view->begin_ns;
	put_axis(&drawing);
	for (uint32_t i = 0; i < view->count && !status; i++)
		status = put_track(&drawing, i, err);
	if (drawing.tracks_left)
		st_buf_printf(out,
			      "<p class=\"left\">%u more rows are left out of this file.</p>\n",
			      drawing.tracks_left);
	if (drawing.lanes_left)
		st_buf_printf(out,
			      "<p class=\"left\">%u levels of nesting below the first %d of a row "
			      "are left out of this file.</p>\n",
			      drawing.lanes_left, LANES_MAX);
	st_timeline_view_close(view);
	return status;
}
