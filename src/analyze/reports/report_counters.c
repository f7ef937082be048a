// SPDX-License-Identifier: Apache-2.0
//
// Reports "counters" and "histograms": values that programs submit.
#include "analyze/reports/report_rows.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/datasets/counters.h"
#include "analyze/datasets/itt_values.h"
#include "base/buf.h"

enum {
	COUNTER_DOMAIN,
	TYPE,
	FIRST,
	LAST,
	MIN,
	MAX,
	AVERAGE,
	DELTA,
	UNIT,
	DEVICE,
	CONTEXT,
	PROCESS,
	COUNTER_COLUMNS
};

static const struct st_column counter_columns[COUNTER_COLUMNS] = {
	[COUNTER_DOMAIN] = {"domain", "Domain", "", true},
	[TYPE] = {"type", "Type", "", true},
	[FIRST] = {"first", "First", "", false},
	[LAST] = {"last", "Last", "", false},
	[MIN] = {"min", "Minimum", "", false},
	[MAX] = {"max", "Maximum", "", false},
	[AVERAGE] = {"average", "Average", "", false},
	[DELTA] = {"delta_sum", "Sum of Deltas", "", false},
	[UNIT] = {"unit", "Unit", "", true},
	[DEVICE] = {"device", "Device", "", true},
	[CONTEXT] = {"context", "Context", "", true},
	[PROCESS] = {"process", "Process", "", true},
};

enum { SEVERAL = UINT32_MAX - 1 };

/* Values of one group; they mean something only while all of them are of one counter. */
struct figures {
	uint32_t counter; /* ST_NO_ROW: none yet; SEVERAL: more than one */
	uint64_t count;
	const struct st_counter_sample *first, *last, *min, *max;
	double sum, delta;
};

static void add_sample(struct figures *figures, uint32_t counter,
		       const struct st_counter_sample *sample)
{
	if (figures->counter == ST_NO_ROW)
		figures->counter = counter;
	else if (figures->counter != counter)
		figures->counter = SEVERAL;
	/* The samples of a counter come in order of time. */
	if (!figures->count++)
		figures->first = figures->min = figures->max = sample;
	figures->last = sample;
	if (sample->number < figures->min->number)
		figures->min = sample;
	if (sample->number > figures->max->number)
		figures->max = sample;
	figures->sum += sample->number;
	figures->delta += sample->delta;
}

static struct st_cell value_cell(const struct st_counter *counter,
				 const struct st_counter_sample *sample)
{
	if (counter->form == ST_COUNTER_FLOAT)
		return st_cell_double(sample->number);
	if (counter->form == ST_COUNTER_UNSIGNED)
		return st_cell_u64((uint64_t)sample->integer);
	return st_cell_i64(sample->integer);
}

/* Whole sums of whole values are written without a fraction. */
static struct st_cell sum_cell(const struct st_counter *counter, double sum)
{
	if (counter->form != ST_COUNTER_FLOAT && fabs(sum) < 9e15)
		return st_cell_i64((int64_t)sum);
	return st_cell_double(sum);
}

/* What the program told about the counter beyond its unit and device: "max_value=100, is_bandwidth=1". */
static struct st_cell context_cell(struct st_rows_job *job, uint32_t object)
{
	uint32_t count;
	const struct st_object_fact *facts = st_result_object_facts(job->result, &count);
	struct st_cell cell = {.kind = ST_CELL_NONE};
	struct st_buf out;

	st_buf_init(&out, 1 << 20);
	for (uint32_t i = 0; i < count; i++) {
		const struct st_object_fact *fact = &facts[i];
		struct st_text text = st_result_text(job->result, fact->text);

		if (fact->object != object || (fact->type >= 3 && fact->type <= 6))
			continue;
		st_buf_printf(&out, "%s%s=", out.size_bytes ? ", " : "",
			      st_context_name(fact->type));
		if (fact->type >= 9)
			st_buf_printf(&out, "%llu", (unsigned long long)fact->number);
		else
			st_buf_append(&out, text.bytes, text.size_bytes);
	}
	if (out.size_bytes || out.failed)
		cell = st_rows_buf(job, &out);
	st_buf_fini(&out);
	return cell;
}

static void set_cells(struct st_rows_job *job, struct st_cell *cells, const struct figures *figures)
{
	const struct st_counters *counters = st_dataset_rows_counters(job->dataset);
	const struct st_counter *counter;

	if (figures->counter >= counters->count)
		return;
	counter = &counters->counters[figures->counter];
	cells[COUNTER_DOMAIN] = st_rows_text(job, counter->definition->domain);
	cells[TYPE] = st_cell_text(st_value_type_name(counter->definition->type));
	cells[FIRST] = value_cell(counter, figures->first);
	cells[LAST] = value_cell(counter, figures->last);
	cells[MIN] = value_cell(counter, figures->min);
	cells[MAX] = value_cell(counter, figures->max);
	cells[AVERAGE] = st_cell_double(figures->sum / (double)figures->count);
	cells[DELTA] = sum_cell(counter, figures->delta);
	cells[UNIT] = st_rows_text(job, counter->unit);
	cells[DEVICE] = st_rows_text(job, counter->device);
	cells[CONTEXT] = context_cell(job, counter->object);
	cells[PROCESS] = st_cell_bytes(job->dataset->text(
		job->dataset, ST_BY_PROCESS, counter->definition->process, job->arena));
}

static void counter_groups(struct st_rows_job *job)
{
	const struct st_counters *counters = st_dataset_rows_counters(job->dataset);
	uint32_t row_count = job->report->row_count;
	struct figures *figures = calloc((size_t)row_count + 1, sizeof(*figures));

	if (!figures) {
		job->arena->failed = true;
		return;
	}
	for (uint32_t i = 0; i <= row_count; i++)
		figures[i].counter = ST_NO_ROW;
	for (uint32_t row = 0; row < job->dataset->row_count; row++) {
		struct st_row_source source = st_dataset_rows_source(job->dataset, row);
		const struct st_counter *counter = &counters->counters[source.number];

		for (uint32_t at = job->answer->row_of[row]; at != ST_NO_ROW;
		     at = job->answer->rows[at].parent)
			add_sample(&figures[at], source.number, &counter->samples[source.sample]);
	}
	for (uint32_t i = 0; i < row_count; i++)
		set_cells(job, st_rows_cells(job, i), &figures[i]);
	free(figures);
}

static const struct st_column sample_columns[] = {
	{"start_ns", "Time", "ns", false}, {"value", "Value", "", false},
	{"delta", "Delta", "", false},	   {"counter", "Counter", "", true},
	{"domain", "Domain", "", true},	   {"unit", "Unit", "", true},
	{"process", "Process", "", true},  {"thread", "Thread", "", true},
};

static void sample_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	struct st_row_source source = st_dataset_rows_source(job->dataset, row);
	const struct st_counter *counter =
		&st_dataset_rows_counters(job->dataset)->counters[source.number];
	const struct st_counter_sample *sample = &counter->samples[source.sample];

	cells[0] = st_cell_i64(sample->time_ns);
	cells[1] = value_cell(counter, sample);
	cells[2] = sum_cell(counter, sample->delta);
	cells[3] = st_rows_text(job, counter->definition->name);
	cells[4] = st_rows_text(job, counter->definition->domain);
	cells[5] = st_rows_text(job, counter->unit);
	cells[6] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[7] = st_rows_place(job, ST_BY_THREAD, row);
}

const struct st_rows_report st_counters_report = {
	.name = "counters",
	.set = ST_ROWS_SAMPLES,
	.defaults = {ST_BY_COUNTER},
	.default_count = 1,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Samples"},
	.group_columns = counter_columns,
	.group_column_count = COUNTER_COLUMNS,
	.group_cells = counter_groups,
	.instance_columns = sample_columns,
	.instance_column_count = sizeof(sample_columns) / sizeof(sample_columns[0]),
	.instance_cells = sample_instance,
	.empty = "This result holds no values of counters; programs make them with "
		 "__itt_counter_create_typed and __itt_counter_set_value, or __itt_counter_inc.",
};

enum { X_TYPE, Y_TYPE, ELEMENTS, X_MIN, X_MAX, Y_SUM, HISTOGRAM_COLUMNS };

static const struct st_column histogram_columns[HISTOGRAM_COLUMNS] = {
	[X_TYPE] = {"x_type", "X Type", "", true},
	[Y_TYPE] = {"y_type", "Y Type", "", true},
	[ELEMENTS] = {"elements", "Elements", "", false},
	[X_MIN] = {"x_min", "X Minimum", "", false},
	[X_MAX] = {"x_max", "X Maximum", "", false},
	[Y_SUM] = {"y_sum", "Y Sum", "", false},
};

/* The two axes of a submission: data holds the x elements, then the y elements. */
struct axes {
	const struct st_object *histogram;
	struct st_text x, y;
};

static bool axes_of(struct st_rows_job *job, uint32_t row, struct axes *out)
{
	const struct st_event_row *event =
		&st_result_events(job->result)
			 ->rows[st_dataset_rows_source(job->dataset, row).event];
	struct st_text data = st_result_blob(job->result, event->data);
	size_t x_bytes = event->value < data.size_bytes ? (size_t)event->value : data.size_bytes;
	uint32_t count;
	const struct st_object *objects = st_result_objects(job->result, &count);

	if (event->object >= count)
		return false;
	*out = (struct axes){&objects[event->object],
			     {data.bytes, x_bytes},
			     {data.bytes + x_bytes, data.size_bytes - x_bytes}};
	return true;
}

struct bins {
	const struct st_object *histogram; /* of the first submission */
	uint64_t elements;
	double x_min, x_max, y_sum;
	bool has_x;
};

static void add_axes(struct bins *bins, const struct axes *axes)
{
	size_t x_count = st_values_count(axes->histogram->type, axes->x);
	size_t y_count = st_values_count(axes->histogram->type_y, axes->y);

	if (!bins->histogram)
		bins->histogram = axes->histogram;
	bins->elements += y_count;
	for (size_t i = 0; i < x_count; i++) {
		double x = st_values_at(axes->histogram->type, axes->x, i);

		if (!bins->has_x || x < bins->x_min)
			bins->x_min = x;
		if (!bins->has_x || x > bins->x_max)
			bins->x_max = x;
		bins->has_x = true;
	}
	for (size_t i = 0; i < y_count; i++)
		bins->y_sum += st_values_at(axes->histogram->type_y, axes->y, i);
}

static void histogram_cells(struct st_cell *cells, const struct bins *bins)
{
	if (!bins->histogram)
		return;
	cells[X_TYPE] = st_cell_text(st_value_type_name(bins->histogram->type));
	cells[Y_TYPE] = st_cell_text(st_value_type_name(bins->histogram->type_y));
	cells[ELEMENTS] = st_cell_u64(bins->elements);
	cells[Y_SUM] = st_cell_double(bins->y_sum);
	if (bins->has_x) {
		cells[X_MIN] = st_cell_double(bins->x_min);
		cells[X_MAX] = st_cell_double(bins->x_max);
	}
}

static void histogram_groups(struct st_rows_job *job)
{
	uint32_t row_count = job->report->row_count;
	struct bins *bins = calloc((size_t)row_count + 1, sizeof(*bins));

	if (!bins) {
		job->arena->failed = true;
		return;
	}
	for (uint32_t row = 0; row < job->dataset->row_count; row++) {
		struct axes axes;

		if (!axes_of(job, row, &axes))
			continue;
		for (uint32_t at = job->answer->row_of[row]; at != ST_NO_ROW;
		     at = job->answer->rows[at].parent) {
			if (at < row_count)
				add_axes(&bins[at], &axes);
		}
	}
	for (uint32_t i = 0; i < row_count; i++)
		histogram_cells(st_rows_cells(job, i), &bins[i]);
	free(bins);
}

static const struct st_column submission_columns[] = {
	{"start_ns", "Time", "ns", false},
	{"x", "X", "", true},
	{"y", "Y", "", true},
	{"domain", "Domain", "", true},
	{"process", "Process", "", true},
	{"thread", "Thread", "", true},
};

static struct st_cell axis_cell(struct st_rows_job *job, uint32_t type, struct st_text data)
{
	struct st_buf out;
	struct st_cell cell;

	if (!data.size_bytes)
		return (struct st_cell){.kind = ST_CELL_NONE};
	st_buf_init(&out, 16 << 20);
	st_values_write(&out, type, data);
	cell = st_rows_buf(job, &out);
	st_buf_fini(&out);
	return cell;
}

static void submission_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	struct axes axes;

	cells[0] = st_cell_i64(job->dataset->begin_ns[row]);
	if (axes_of(job, row, &axes)) {
		cells[1] = axis_cell(job, axes.histogram->type, axes.x);
		cells[2] = axis_cell(job, axes.histogram->type_y, axes.y);
	}
	cells[3] = st_rows_place(job, ST_BY_DOMAIN, row);
	cells[4] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[5] = st_rows_place(job, ST_BY_THREAD, row);
}

const struct st_rows_report st_histograms_report = {
	.name = "histograms",
	.set = ST_ROWS_HISTOGRAMS,
	.defaults = {ST_BY_HISTOGRAM, ST_BY_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Submissions"},
	.group_columns = histogram_columns,
	.group_column_count = HISTOGRAM_COLUMNS,
	.group_cells = histogram_groups,
	.instance_columns = submission_columns,
	.instance_column_count = sizeof(submission_columns) / sizeof(submission_columns[0]),
	.instance_cells = submission_instance,
	.empty = "This result holds no histograms; programs make them with __itt_histogram_create "
		 "and __itt_histogram_submit.",
};
