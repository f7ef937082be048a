// SPDX-License-Identifier: Apache-2.0
//
// Reports "counters" and "histograms": values that programs submit.
#include "analyze/reports/report_rows.h"

#include "analyze/datasets/counters.h"
#include "analyze/datasets/itt_values.h"
#include "analyze/tables/table.h"
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
	uint32_t counter; /* SEVERAL: more than one */
	uint64_t count;
	const struct st_counter_sample *first, *last, *min, *max;
	double sum, delta;
};

static void add_sample(struct st_rows_job *job, void *sum, uint32_t row)
{
	struct st_row_source source = st_dataset_rows_source(job->dataset, row);
	const struct st_counter_sample *sample = &st_dataset_rows_counters(job->dataset)
							  ->counters[source.number]
							  .samples[source.sample];
	struct figures *figures = sum;

	if (!figures->count)
		figures->counter = source.number;
	else if (figures->counter != source.number)
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

/* What the program told about the counter beyond its unit and device: "max_value=100, is_bandwidth=1". */
static struct st_cell context_cell(struct st_rows_job *job, uint32_t object)
{
	uint32_t count;
	const struct st_object_fact *facts = st_result_object_facts(job->result, &count);
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
		return st_report_buf(job->report, &out);
	st_buf_fini(&out);
	return (struct st_cell){.kind = ST_CELL_NONE};
}

static void counter_cells(struct st_rows_job *job, struct st_cell *cells, const void *sum,
			  const struct st_answer_row *row)
{
	const struct figures *figures = sum;
	const struct st_counters *counters = st_dataset_rows_counters(job->dataset);
	const struct st_counter *counter;

	(void)row;
	if (!figures->count || figures->counter >= counters->count)
		return;
	counter = &counters->counters[figures->counter];
	cells[COUNTER_DOMAIN] = st_rows_text(job, counter->definition->domain);
	cells[TYPE] = st_cell_text(st_value_type_name(counter->definition->type));
	cells[FIRST] = st_counter_value_cell(counter, figures->first);
	cells[LAST] = st_counter_value_cell(counter, figures->last);
	cells[MIN] = st_counter_value_cell(counter, figures->min);
	cells[MAX] = st_counter_value_cell(counter, figures->max);
	cells[AVERAGE] = st_cell_double(figures->sum / (double)figures->count);
	cells[DELTA] = st_counter_sum_cell(counter, figures->delta);
	cells[UNIT] = st_rows_text(job, counter->unit);
	cells[DEVICE] = st_rows_text(job, counter->device);
	cells[CONTEXT] = context_cell(job, counter->object);
	cells[PROCESS] = st_cell_bytes(job->dataset->text(
		job->dataset, ST_BY_PROCESS, counter->definition->process, job->arena));
}

const struct st_rows_report st_counters_report = {
	.set = ST_ROWS_SAMPLES,
	.defaults = {ST_BY_COUNTER},
	.default_count = 1,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Samples"},
	.group_columns = counter_columns,
	.group_column_count = COUNTER_COLUMNS,
	.figures_bytes = sizeof(struct figures),
	.add = add_sample,
	.cells = counter_cells,
	.empty = "This result has no counter values; programs record them with "
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

struct bins {
	const struct st_object *histogram; /* of the first submission */
	uint64_t elements;
	double x_min, x_max, y_sum;
	bool has_x;
};

static void add_submission(struct st_rows_job *job, void *sum, uint32_t row)
{
	const struct st_event_row *event =
		&st_result_events(job->result)
			 ->rows[st_dataset_rows_source(job->dataset, row).event];
	struct bins *bins = sum;
	struct st_histogram_axes axes;
	size_t x_count, y_count;

	if (!st_histogram_axes(job->result, event, &axes))
		return;
	x_count = st_values_count(axes.histogram->type, axes.x);
	y_count = st_values_count(axes.histogram->type_y, axes.y);
	if (!bins->histogram)
		bins->histogram = axes.histogram;
	bins->elements += y_count;
	for (size_t i = 0; i < x_count; i++) {
		double x = st_values_at(axes.histogram->type, axes.x, i);

		if (!bins->has_x || x < bins->x_min)
			bins->x_min = x;
		if (!bins->has_x || x > bins->x_max)
			bins->x_max = x;
		bins->has_x = true;
	}
	for (size_t i = 0; i < y_count; i++)
		bins->y_sum += st_values_at(axes.histogram->type_y, axes.y, i);
}

static void histogram_cells(struct st_rows_job *job, struct st_cell *cells, const void *sum,
			    const struct st_answer_row *row)
{
	const struct bins *bins = sum;

	(void)job;
	(void)row;
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

const struct st_rows_report st_histograms_report = {
	.set = ST_ROWS_HISTOGRAMS,
	.defaults = {ST_BY_HISTOGRAM, ST_BY_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Submissions"},
	.group_columns = histogram_columns,
	.group_column_count = HISTOGRAM_COLUMNS,
	.figures_bytes = sizeof(struct bins),
	.add = add_submission,
	.cells = histogram_cells,
	.empty = "This result has no histograms; programs record them with __itt_histogram_create "
		 "and __itt_histogram_submit.",
};
