// SPDX-License-Identifier: Apache-2.0
//
// The figures that a comparison is of: read from the reports of each run.
#include "analyze/reports/changes_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/tables/report_make.h"
#include "base/buf.h"
#include "store/result.h"
#include "store/samples.h"

enum { NONE = UINT32_MAX };

/* The steps of a run that count: those that are no warm-up, and their place among these. */
struct steady {
	struct st_key_texts texts; /* names of steps; several ranks may have steps of one name */
	uint32_t *place_of;	   /* by key of the text, or NONE */
	uint32_t text_count;	   /* that are names of steps */
	double *series;		   /* room for one value a step */
	uint32_t count;
};

static uint32_t column_of(const struct st_report *report, const char *key)
{
	for (uint32_t i = 0; i < report->column_count; i++)
		if (strcmp(report->columns[i].key, key) == 0)
			return i;
	return NONE;
}

static double number_at(const struct st_report *report, uint32_t row, uint32_t column)
{
	const struct st_cell *cell = column == NONE ? NULL : &report->rows[row].cells[column];

	if (cell && cell->kind == ST_CELL_I64)
		return (double)cell->as.i64;
	return cell && cell->kind == ST_CELL_U64 ? (double)cell->as.u64 : 0.0;
}

static struct st_text text_at(const struct st_report *report, uint32_t row, uint32_t column)
{
	const struct st_cell *cell = column == NONE ? NULL : &report->rows[row].cells[column];

	return cell && cell->kind == ST_CELL_TEXT ? cell->as.text : (struct st_text){"", 0};
}

static bool grow(struct st_changes *c)
{
	uint32_t capacity = c->key_capacity ? c->key_capacity * 2 : 256;
	size_t runs = c->run_count, old = c->key_capacity;
	struct st_text *shown = realloc(c->shown, capacity * sizeof(*shown));
	uint8_t *sections;
	struct st_figure *figures;

	if (shown)
		c->shown = shown;
	sections = realloc(c->section_of, capacity * sizeof(*sections));
	if (sections)
		c->section_of = sections;
	figures = realloc(c->figures, capacity * runs * sizeof(*figures));
	if (figures)
		c->figures = figures;
	if (!shown || !sections || !figures)
		return false;
	memset(figures + old * runs, 0, (capacity - old) * runs * sizeof(*figures));
	c->key_capacity = capacity;
	return true;
}

/* Texts are copied: the reports of a run do not outlive their reading. */
static void put(struct st_changes *c, enum st_changes_section section, uint32_t run,
		const struct st_text parts[2], struct st_mean mean)
{
	struct st_arena *arena = st_report_arena(c->out);
	struct st_buf text;
	uint32_t known = c->names.count, key;
	char *copy;

	st_buf_init(&text, 1 << 20);
	st_buf_append_u8(&text, (uint8_t)('0' + section));
	for (int i = 0; i < 2; i++) {
		st_buf_append(&text, parts[i].bytes, parts[i].size_bytes);
		st_buf_append_u8(&text, '\0');
	}
	copy = st_arena_copy(arena, text.data, text.size_bytes);
	key = copy ? st_key_texts_add(&c->names, (struct st_text){copy, text.size_bytes}) : 0;
	c->failed = c->failed || text.failed || !copy || c->names.failed;
	st_buf_fini(&text);
	if (!c->failed && key >= c->key_capacity)
		c->failed = !grow(c);
	if (c->failed)
		return;
	if (key >= known) {
		c->section_of[key] = (uint8_t)section;
		c->shown[key] = (struct st_text){copy + 1, parts[0].size_bytes};
	}
	c->figures[(size_t)key * c->run_count + run] = (struct st_figure){mean, true};
}

static void put_named(struct st_changes *c, enum st_changes_section section, uint32_t run,
		      const char *name, struct st_mean mean)
{
	const struct st_text parts[2] = {{name, strlen(name)}, {"", 0}};

	put(c, section, run, parts, mean);
}

static void read_run(struct st_changes *c, uint32_t run)
{
	const struct st_result *result = c->of->runs[run];
	int64_t elapsed_ns = st_result_info(result)->elapsed_ns;
	uint64_t cpu_ns = st_result_sample_quality(result)->cpu_ns;

	put_named(c, ST_CHANGES_RUN, run, "elapsed time",
		  (struct st_mean){.value = elapsed_ns > 0 ? (double)elapsed_ns : 0.0, .count = 1});
	if (cpu_ns)
		put_named(c, ST_CHANGES_RUN, run, "CPU time",
			  (struct st_mean){.value = (double)cpu_ns, .count = 1});
}

static bool is_warm_up(const struct st_report *steps, uint32_t row)
{
	uint32_t column = column_of(steps, "warm_up");

	return column != NONE && steps->rows[row].cells[column].kind == ST_CELL_BOOL &&
	       steps->rows[row].cells[column].as.truth;
}

/* Of all steps together none is left out. */
static bool is_counted(const struct st_changes *c, const struct st_report *steps, uint32_t row)
{
	return c->is_of_all || !is_warm_up(steps, row);
}

/* Of one step, or of all. */
static struct st_mean of_steps(const struct st_changes *c, struct st_mean mean, double steps)
{
	if (c->is_of_all) {
		mean.value *= steps;
		mean.variance *= steps * steps;
	}
	return mean;
}

static bool steady_init(struct steady *steady, const struct st_changes *c,
			const struct st_report *steps)
{
	uint32_t column = column_of(steps, "step");

	memset(steady, 0, sizeof(*steady));
	st_key_texts_init(&steady->texts);
	steady->place_of = calloc((size_t)steps->row_count + 1, sizeof(*steady->place_of));
	steady->series = calloc((size_t)steps->row_count + 1, sizeof(*steady->series));
	if (!steady->place_of || !steady->series)
		return false;
	for (uint32_t i = 0; i < steps->row_count; i++) {
		uint32_t known = steady->texts.count;
		uint32_t key = st_key_texts_add(&steady->texts, text_at(steps, i, column));
		bool counts = is_counted(c, steps, i);

		if (key >= known)
			steady->place_of[key] = NONE;
		if (counts && steady->place_of[key] == NONE)
			steady->place_of[key] = steady->count;
		steady->count += counts;
	}
	steady->text_count = steady->texts.count;
	return !steady->texts.failed;
}

static void steady_fini(struct steady *steady)
{
	st_key_texts_fini(&steady->texts);
	free(steady->place_of);
	free(steady->series);
}

static bool is_told(const struct st_report *report, uint32_t row, uint32_t column)
{
	return column != NONE && report->rows[row].cells[column].kind != ST_CELL_NONE;
}

/* What makes the mean of the steps with a figure that of all steps, as the report of steps has it: it knows what steps are like
 * whose operators were not recorded. Where warm-up counts, which is not in its totals: in the same shares. */
static double length_beside(const struct st_changes *c, const struct st_report *steps,
			    uint32_t column)
{
	uint32_t wall = column_of(steps, "wall_total_ns");
	double all_ns = 0.0, told_ns = 0.0, part_ns = 0.0, all = 0.0, told = 0.0, total_ns = 0.0;

	for (uint32_t row = 0; row < steps->row_count; row++) {
		double ns = number_at(steps, row, wall);

		if (!is_counted(c, steps, row))
			continue;
		all_ns += ns;
		all++;
		if (!is_told(steps, row, column))
			continue;
		told_ns += ns;
		part_ns += number_at(steps, row, column);
		told++;
	}
	if (told >= all || told_ns <= 0.0)
		return 1.0;
	if (!c->is_of_all && steps->totals.cells[column].kind == ST_CELL_U64)
		total_ns = (double)steps->totals.cells[column].as.u64;
	if (total_ns > 0.0 && part_ns > 0.0)
		return total_ns / all / (part_ns / told);
	return all_ns / all / (told_ns / told);
}

/* A step and its parts: values of each step in turn. */
static void read_steps(struct st_changes *c, uint32_t run, struct steady *steady)
{
	static const struct {
		const char *key, *name;
	} parts[] = {
		{"wall_total_ns", "step"},     {"data_wait_ns", "data wait"},
		{"forward_ns", "forward"},     {"backward_ns", "backward"},
		{"optimizer_ns", "optimizer"}, {"device_wait_ns", "waits for the device"},
		{"other_ns", "Python, other"},
	};
	const struct st_report *steps = &c->steps[run];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint32_t column = column_of(steps, parts[i].key), count = 0;
		double sum = 0.0, factor = length_beside(c, steps, column);

		for (uint32_t row = 0; row < steps->row_count; row++) {
			if (!is_counted(c, steps, row) || !is_told(steps, row, column))
				continue;
			steady->series[count] = number_at(steps, row, column) * factor;
			sum += steady->series[count++];
		}
		if (sum > 0.0)
			put_named(c, ST_CHANGES_STEP, run,
				  i || !c->is_of_all ? parts[i].name : "all steps",
				  of_steps(c, st_mean_of_series(steady->series, count),
					   steady->count));
	}
}

/* Sums a figure of the rows below a row over the steps that count; series has them by step. */
static double sum_steady(const struct st_report *report, uint32_t row, uint32_t column,
			 struct steady *steady)
{
	const struct st_report_row *above = &report->rows[row];
	uint32_t step = column_of(report, "step");
	double sum = 0.0;

	memset(steady->series, 0, steady->count * sizeof(*steady->series));
	for (uint32_t i = 0; i < above->child_count; i++) {
		uint32_t child = above->first_child + i;
		uint32_t key = st_key_texts_add(&steady->texts, text_at(report, child, step));

		if (key >= steady->text_count || steady->place_of[key] == NONE)
			continue;
		steady->series[steady->place_of[key]] += number_at(report, child, column);
		sum += number_at(report, child, column);
	}
	return sum;
}

static struct st_report_options options_of(const struct st_changes *c, enum st_grouping grouping)
{
	struct st_report_options options = {0};

	options.question.groupings[0] = grouping;
	options.question.grouping_count = 1;
	if (c->is_per_step)
		options.question.groupings[options.question.grouping_count++] = ST_BY_STEP;
	return options;
}

/* A range that is a step has its row in the steps, and what it does itself is part of it: as operators they would be one row for
 * each step. */
static bool is_step(struct steady *steady, struct st_text name)
{
	return st_key_texts_add(&steady->texts, name) < steady->text_count;
}

static enum st_status read_operators(struct st_changes *c, uint32_t run, struct steady *steady,
				     struct st_error *err)
{
	struct st_report_options options = options_of(c, ST_BY_OPERATOR);
	struct st_report report;
	enum st_status status =
		st_report_build(c->of->runs[run], "operators", &options, &report, err);
	uint32_t name, self;

	if (status)
		return status;
	name = column_of(&report, "operator");
	self = column_of(&report, "wall_self_ns");
	for (uint32_t i = 0; i < report.root_count; i++) {
		uint32_t row = report.root_first + i;
		const struct st_text parts[2] = {text_at(&report, row, name), {"", 0}};
		struct st_mean mean = {.value = number_at(&report, row, self), .count = 1};

		if (c->is_per_step &&
		    (is_step(steady, parts[0]) || sum_steady(&report, row, self, steady) <= 0.0))
			continue;
		if (c->is_per_step)
			mean = of_steps(c, st_mean_of_series(steady->series, steady->count),
					steady->count);
		put(c, ST_CHANGES_OPERATOR, run, parts, mean);
	}
	st_report_fini(&report);
	return ST_OK;
}

static void put_function(struct st_changes *c, uint32_t run, const struct st_report *report,
			 uint32_t row, struct steady *steady)
{
	uint32_t cpu = column_of(report, "cpu_self_ns"), samples = column_of(report, "samples");
	const struct st_text parts[2] = {text_at(report, row, column_of(report, "function")),
					 text_at(report, row, column_of(report, "module"))};
	double value = number_at(report, row, cpu), count = number_at(report, row, samples);

	if (c->is_per_step) {
		value = sum_steady(report, row, cpu, steady) / (c->is_of_all ? 1 : steady->count);
		count = sum_steady(report, row, samples, steady);
	}
	if (count > 0.0)
		put(c, ST_CHANGES_FUNCTION, run, parts,
		    st_mean_of_samples(value, count, c->one_sample_ns[run]));
}

static enum st_status read_functions(struct st_changes *c, uint32_t run, struct steady *steady,
				     struct st_error *err)
{
	const struct st_sample_quality *quality = st_result_sample_quality(c->of->runs[run]);
	struct st_report_options options = options_of(c, ST_BY_FUNCTION);
	struct st_report report;
	enum st_status status;

	if (!st_result_samples(c->of->runs[run])->count)
		return ST_OK;
	options.view = *c->of->view;
	status = st_report_build(c->of->runs[run], "hotspots", &options, &report, err);
	if (status)
		return status;
	if (quality->samples)
		c->one_sample_ns[run] = (double)quality->cpu_ns / (double)quality->samples;
	if (c->is_per_step && !c->is_of_all)
		c->one_sample_ns[run] /= steady->count;
	for (uint32_t i = 0; i < report.root_count; i++)
		put_function(c, run, &report, report.root_first + i, steady);
	st_report_fini(&report);
	return ST_OK;
}

static enum st_status read_one(struct st_changes *c, uint32_t run, struct st_error *err)
{
	struct steady steady;
	enum st_status status = ST_OK;

	if (!steady_init(&steady, c, &c->steps[run]))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
	if (!status)
		read_run(c, run);
	if (!status && c->is_per_step)
		read_steps(c, run, &steady);
	if (!status)
		status = read_operators(c, run, &steady, err);
	if (!status)
		status = read_functions(c, run, &steady, err);
	steady_fini(&steady);
	return status;
}

static bool has_steady_steps(const struct st_report *steps)
{
	for (uint32_t i = 0; i < steps->row_count; i++)
		if (!is_warm_up(steps, i))
			return true;
	return false;
}

/* The step as a whole, which is known without its parts. */
static bool is_whole_step(const struct st_changes *c, uint32_t key)
{
	const char *name = c->is_of_all ? "all steps" : "step";

	return c->section_of[key] == ST_CHANGES_STEP && c->shown[key].size_bytes == strlen(name) &&
	       !memcmp(c->shown[key].bytes, name, strlen(name));
}

/* A run in which there is nothing of a section did not measure it: that is not zero. Of the run as a whole each figure
 * is known by itself. */
static void leave_out_unknown(struct st_changes *c)
{
	for (uint32_t run = 0; run < c->run_count && !c->failed; run++) {
		bool has[ST_CHANGES_SECTIONS + 1] = {false};

		for (uint32_t key = 0; key < c->names.count; key++)
			if (!is_whole_step(c, key) &&
			    c->figures[(size_t)key * c->run_count + run].is_there)
				has[c->section_of[key]] = true;
		for (uint32_t key = 0; key < c->names.count; key++) {
			bool is_there = c->figures[(size_t)key * c->run_count + run].is_there;
			bool is_known = c->section_of[key] == ST_CHANGES_RUN
						? is_there
						: is_there || has[c->section_of[key]];

			if (is_known || c->section_of[key] == ST_CHANGES_SECTIONS)
				continue;
			c->section_of[key] = ST_CHANGES_SECTIONS;
			c->has_unknown = true;
		}
	}
}

enum st_status st_changes_read(struct st_changes *c, struct st_error *err)
{
	const struct st_report_options plain = {.bin_count = 0};
	enum st_status status = ST_OK;

	c->steps = calloc(c->run_count, sizeof(*c->steps));
	c->one_sample_ns = calloc(c->run_count, sizeof(*c->one_sample_ns));
	c->is_per_step = true;
	if (!c->steps || !c->one_sample_ns)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
	for (uint32_t run = 0; run < c->run_count && !status; run++) {
		status = st_report_build(c->of->runs[run], "steps", &plain, &c->steps[run], err);
		c->is_per_step = c->is_per_step && !status && has_steady_steps(&c->steps[run]);
	}
	if (!status)
		status = st_changes_look_at_size(c, err);
	for (uint32_t run = 0; run < c->run_count && !status; run++)
		status = read_one(c, run, err);
	if (!status)
		leave_out_unknown(c);
	if (!status && c->failed)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
	return status;
}

void st_changes_fini(struct st_changes *c)
{
	for (uint32_t run = 0; run < c->run_count && c->steps; run++)
		st_report_fini(&c->steps[run]);
	free(c->steps);
	free(c->one_sample_ns);
	st_key_texts_fini(&c->names);
	free(c->shown);
	free(c->section_of);
	free(c->figures);
}
