// SPDX-License-Identifier: Apache-2.0
//
// Memory that the framework's allocator of the CPU, or of a device, held, over time, in the three forms of torch's export_memory_timeline: points
// of a plot ([times, sizes by category], JSON), every event ((time, action, bytes, category), JSON), and a page with the
// plot. Times are microseconds (of events: nanoseconds) since 1970, as torch's.
//
// Which tensor a block belongs to is not recorded, so all of it is of the category that torch calls unknown.
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "export/exporters.h"
#include "export/stream.h"
#include "analyze/operators/memory_steps.h"
#include "export/report/show.h"
#include "analyze/operators/dataset_operators.h"

/* Torch's numbers. */
enum {
	ACTION_PREEXISTING = 1,
	ACTION_CREATE = 2,
	ACTION_DESTROY = 4,
	CATEGORIES = 8,
	CATEGORY_UNKNOWN = CATEGORIES - 1,
};

enum { PLOT_WIDTH = 1200, PLOT_HEIGHT = 480, PLOT_MARGIN = 90 };

struct point {
	int64_t time_ns, bytes; /* held from then on */
};

struct timeline {
	const struct st_result *result;
	uint32_t place;	    /* whose memory: ST_MEMORY_PLACE; 0: the CPU's */
	const char *device; /* the same in words */
	struct st_stream stream;
	struct st_buf *out;   /* the stream's */
	struct point *points; /* every step, by time */
	uint32_t count;
	int64_t begin_ns, end_ns;
	int64_t held;	  /* when it begins */
	int64_t start_ns; /* the start of collection, since 1970 */
};

/* Tracks that the filters let through, by track. */
static enum st_status choose_tracks(const struct st_result *result,
				    const struct st_question *question, uint8_t *wanted,
				    struct st_error *err)
{
	struct st_selection selection;
	struct st_dataset dataset;
	uint32_t count;
	enum st_status status;

	st_result_tracks(result, &count);
	memset(wanted, 1, count);
	if (!question->filter_count)
		return ST_OK;
	status = st_dataset_operators_init(&dataset, result, false, err);
	if (status)
		return status;
	status = st_selection_tracks(&selection, &dataset, question, err);
	for (uint32_t track = 0; !status && track < count; track++)
		wanted[track] = st_selection_has_track(&selection, track);
	if (!status)
		st_selection_fini(&selection);
	st_dataset_operators_fini(&dataset);
	return status;
}

static const struct st_memory_moment *moments_of(const struct timeline *timeline, uint32_t *count)
{
	return timeline->place ? st_result_device_memory(timeline->result, count)
			       : st_result_memory(timeline->result, count);
}

static void add_points(struct timeline *timeline, const uint8_t *wanted)
{
	uint32_t count;
	const struct st_memory_moment *moments = moments_of(timeline, &count);
	int64_t steps[ST_MEMORY_STEPS_MAX], held = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_wanted = wanted[moments[i].track] && moments[i].place == timeline->place;
		unsigned int n = is_wanted ? st_memory_steps(&moments[i], steps) : 0;

		for (unsigned int step = 0; step < n; step++) {
			held = st_memory_sum(held, steps[step]);
			if (moments[i].time_ns < timeline->begin_ns)
				timeline->held = held;
			else if (moments[i].time_ns <= timeline->end_ns)
				timeline->points[timeline->count++] =
					(struct point){moments[i].time_ns, held};
		}
	}
}

static enum st_status make_points(struct timeline *timeline,
				  const struct st_export_options *options, struct st_error *err)
{
	const struct st_question *question = options->question;
	uint32_t count, track_count;
	uint8_t *wanted;
	enum st_status status;

	moments_of(timeline, &count);
	st_result_tracks(timeline->result, &track_count);
	timeline->begin_ns = INT64_MIN;
	timeline->end_ns = INT64_MAX;
	if (question->has_time_range) {
		timeline->begin_ns = question->time_begin_ns;
		timeline->end_ns = question->time_end_ns;
	}
	timeline->points =
		calloc(ST_MEMORY_STEPS_MAX * (size_t)count + 1, sizeof(*timeline->points));
	wanted = calloc((size_t)track_count + 1, 1);
	if (!timeline->points || !wanted) {
		free(wanted);
		return st_stream_no_memory(&timeline->stream, err);
	}
	status = choose_tracks(timeline->result, question, wanted, err);
	if (!status)
		add_points(timeline, wanted);
	free(wanted);
	return status;
}

static long long wall_us(const struct timeline *timeline, uint32_t at)
{
	return st_memory_sum(timeline->start_ns, timeline->points[at].time_ns) / 1000;
}

static enum st_status write_events(struct timeline *timeline, struct st_error *err)
{
	int64_t held = timeline->held;
	enum st_status status = ST_OK;

	st_buf_append_u8(timeline->out, '[');
	if (held)
		st_buf_printf(timeline->out, "[-1, %d, %lld, %d]", ACTION_PREEXISTING,
			      (long long)held, CATEGORY_UNKNOWN);
	for (uint32_t i = 0; i < timeline->count && !status; i++) {
		const struct point *point = &timeline->points[i];

		st_buf_printf(
			timeline->out, "%s[%lld, %d, %lld, %d]", i || timeline->held ? ", " : "",
			(long long)st_memory_sum(timeline->start_ns, point->time_ns),
			point->bytes > held ? ACTION_CREATE : ACTION_DESTROY,
			(long long)((uint64_t)point->bytes - (uint64_t)held), CATEGORY_UNKNOWN);
		held = point->bytes;
		status = st_stream_spill(&timeline->stream, err);
	}
	st_buf_append_u8(timeline->out, ']');
	return status;
}

/* Of one microsecond the last point counts, as torch has it. */
static bool is_last_of_time(const struct timeline *timeline, uint32_t at)
{
	return at + 1 == timeline->count || wall_us(timeline, at) != wall_us(timeline, at + 1);
}

static void add_sizes(struct st_buf *out, int64_t bytes)
{
	st_buf_append_u8(out, '[');
	for (int i = 0; i < CATEGORIES; i++)
		st_buf_append_text(out, "0, ");
	st_buf_printf(out, "%lld]", (long long)bytes);
}

static enum st_status write_points(struct timeline *timeline, struct st_error *err)
{
	/* What was held already stands at the first time, with what happens then. */
	bool is_alone = !timeline->count && timeline->held;
	enum st_status status = ST_OK;
	const char *comma = "";

	st_buf_append_text(timeline->out, is_alone ? "[[0" : "[[");
	for (uint32_t i = 0; i < timeline->count && !status; i++) {
		if (!is_last_of_time(timeline, i))
			continue;
		st_buf_printf(timeline->out, "%s%lld", comma, wall_us(timeline, i));
		comma = ", ";
		status = st_stream_spill(&timeline->stream, err);
	}
	st_buf_append_text(timeline->out, "], [");
	if (is_alone)
		add_sizes(timeline->out, timeline->held);
	comma = "";
	for (uint32_t i = 0; i < timeline->count && !status; i++) {
		if (!is_last_of_time(timeline, i))
			continue;
		st_buf_append_text(timeline->out, comma);
		add_sizes(timeline->out, timeline->points[i].bytes);
		comma = ", ";
		status = st_stream_spill(&timeline->stream, err);
	}
	st_buf_append_text(timeline->out, "]]");
	return status;
}

struct extent {
	int64_t first_ns, last_ns, peak, least;
	uint32_t peak_at;
};

static struct extent extent_of(const struct timeline *timeline)
{
	struct extent extent = {0, 1, timeline->held, timeline->held, 0};

	for (uint32_t i = 0; i < timeline->count; i++) {
		int64_t bytes = timeline->points[i].bytes;

		if (bytes > extent.peak) {
			extent.peak = bytes;
			extent.peak_at = i;
		}
		if (bytes < extent.least)
			extent.least = bytes;
	}
	if (extent.least > 0)
		extent.least = 0;
	if (timeline->count) {
		extent.first_ns = timeline->points[0].time_ns;
		extent.last_ns = timeline->points[timeline->count - 1].time_ns;
	}
	if (extent.last_ns == extent.first_ns)
		extent.last_ns++;
	return extent;
}

static int y_of(const struct extent *extent, int64_t bytes)
{
	double least = (double)extent->least, range = (double)extent->peak - least;

	return range > 0 ? (int)(PLOT_HEIGHT - ((double)bytes - least) / range * PLOT_HEIGHT)
			 : PLOT_HEIGHT;
}

/* A column of the picture shows the most and the least that was held in its time, so that no peak is lost. */
static void add_plot(struct timeline *timeline, const struct extent *extent)
{
	double per_ns = PLOT_WIDTH / (double)(extent->last_ns - extent->first_ns);
	int64_t held = timeline->held;
	uint32_t at = 0;

	st_buf_printf(timeline->out, "<path d=\"M0,%d", y_of(extent, 0));
	for (int x = 0; x <= PLOT_WIDTH; x++) {
		int64_t most = held, least = held;

		while (at < timeline->count &&
		       (double)(timeline->points[at].time_ns - extent->first_ns) * per_ns <= x) {
			held = timeline->points[at++].bytes;
			most = held > most ? held : most;
			least = held < least ? held : least;
		}
		st_buf_printf(timeline->out, "L%d,%d", x, y_of(extent, most));
		if (least != most)
			st_buf_printf(timeline->out, "L%d,%dL%d,%d", x, y_of(extent, least), x,
				      y_of(extent, held));
	}
	st_buf_printf(timeline->out, "L%d,%dZ\" fill=\"#9ab\" stroke=\"#357\"/>\n", PLOT_WIDTH,
		      y_of(extent, 0));
}

static void add_axes(struct timeline *timeline, const struct extent *extent)
{
	struct st_buf *out = timeline->out;

	for (int i = 0; i <= 4; i++) {
		int64_t bytes = extent->least / 4 * (4 - i) + extent->peak / 4 * i;
		int64_t ns = (extent->last_ns - extent->first_ns) / 4 * i;

		st_buf_printf(out, "<text x=\"-8\" y=\"%d\" text-anchor=\"end\">%s",
			      y_of(extent, bytes) + 4, bytes < 0 ? "-" : "");
		st_show_bytes(out, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
		st_buf_printf(out, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
			      PLOT_WIDTH / 4 * i, PLOT_HEIGHT + 20);
		st_show_duration(out, (uint64_t)ns);
		st_buf_append_text(out, "</text>\n");
	}
}

static void write_page(struct timeline *timeline)
{
	struct extent extent = extent_of(timeline);
	struct st_buf *out = timeline->out;

	st_buf_append_text(out, "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"/>"
				"<title>Memory Timeline</title></head>\n<body style=\"font-family:"
				"sans-serif\">\n<h3>Memory of ");
	st_buf_printf(out, "%s: peak ", timeline->place ? timeline->device : "the CPU allocator");
	st_show_bytes(out, (uint64_t)(extent.peak > 0 ? extent.peak : 0));
	if (timeline->count) {
		st_buf_append_text(out, " after ");
		st_show_duration(out, (uint64_t)(timeline->points[extent.peak_at].time_ns -
						 extent.first_ns));
	}
	st_buf_printf(out,
		      "</h3>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		      "height=\"%d\" font-size=\"12\">\n<g transform=\"translate(%d,20)\">\n",
		      PLOT_WIDTH + PLOT_MARGIN + 40, PLOT_HEIGHT + 60, PLOT_MARGIN);
	add_plot(timeline, &extent);
	add_axes(timeline, &extent);
	st_buf_append_text(out, "</g></svg>\n</body></html>\n");
}

enum st_status st_export_memory_timeline(const struct st_result *result,
					 const struct st_export_options *options,
					 struct st_sink *sink, struct st_error *err)
{
	struct timeline timeline = {.result = result,
				    .place = options->place,
				    .device = options->device,
				    .out = &timeline.stream.out};
	enum st_status status;

	timeline.start_ns = (int64_t)st_result_info(result)->start_wall_ns;
	st_stream_init(&timeline.stream, sink, "the export");
	status = make_points(&timeline, options, err);
	if (!status && options->is_page)
		write_page(&timeline);
	else if (!status && options->is_raw)
		status = write_events(&timeline, err);
	else if (!status)
		status = write_points(&timeline, err);
	if (!timeline.count)
		st_sink_set_empty(
			sink, timeline.place
				      ? "the result has no memory of that device in that "
					"part of it"
				      : "the result has no memory of PyTorch in that part of it; "
					"record it with strata -collect operators, or -knob "
					"operator-memory=true");
	free(timeline.points);
	return st_stream_end(&timeline.stream, status, err);
}
