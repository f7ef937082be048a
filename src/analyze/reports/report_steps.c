// SPDX-License-Identifier: Apache-2.0
//
// Report "steps": each step of the program with its parts. The totals exclude warm-up steps.
#include "analyze/reports/report_kinds.h"

#include "analyze/steps/step_list.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "store/operators.h"

enum { WALL = 2, FIRST_PART };

static const char *const keys[] = {
	"step",	       "start_ns",     "wall_ns",	 "data_wait_ns", "forward_ns",
	"backward_ns", "optimizer_ns", "device_wait_ns", "other_ns",	 "warm_up",
	"row",	       "process",      "thread",
};
enum { COLUMNS = sizeof(keys) / sizeof(keys[0]) };

/* A column that is nothing but zeros says that there is a device, where there is none. */
static bool waits_for_device(const struct st_step_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->steps[i].part_ns[ST_STEP_DEVICE])
			return true;
	return false;
}

static void add_steps(struct st_report *out, const struct st_tables *tables, uint64_t limit)
{
	const struct st_table *table = &st_steps_table;
	struct st_column headings[COLUMNS];
	int columns[COLUMNS];
	unsigned int column_count = 0;
	uint32_t count;
	const void *rows = st_table_rows(table, tables, &count);
	bool has_device = waits_for_device(tables->steps);

	for (unsigned int i = 0; i < COLUMNS; i++) {
		if (i == FIRST_PART + ST_STEP_DEVICE && !has_device)
			continue;
		columns[column_count] = st_table_find(table, keys[i]);
		headings[column_count] = st_table_heading(&table->columns[columns[column_count]]);
		column_count++;
	}
	st_report_columns(out, headings, column_count);
	out->totals.cells = st_report_new_cells(out);
	for (uint32_t i = 0; i < count && (!limit || i < limit); i++) {
		struct st_cell *cells = st_report_add(out, 0);

		for (unsigned int j = 0; j < column_count; j++)
			cells[j] = st_table_cell(table, tables, rows, i, columns[j],
						 st_report_arena(out));
	}
}

/* What there is to say about all of them. */
static enum st_status add_totals(struct st_report *out, const struct st_step_list *list,
				 struct st_error *err)
{
	struct st_arena *arena = st_report_arena(out);
	struct st_cell *cells = out->totals.cells;
	struct st_step_figures figures;
	bool has_device = waits_for_device(list);
	unsigned int at = FIRST_PART;
	const char *warm_up;
	enum st_status status = st_step_figures_make(list, &figures, err);

	if (status || !list->count)
		return status;
	warm_up =
		list->warm_up_count
			? st_arena_printf(arena, ", including %u warm-up not counted in the totals",
					  list->warm_up_count)
			: "";
	out->subject = st_arena_printf(arena, "%u %s%s; %s", list->count,
				       list->count == 1 ? "step" : "steps", warm_up ? warm_up : "",
				       st_step_source_text(list, arena));
	cells[WALL] = st_cell_u64(figures.wall_ns);
	for (unsigned int i = 0; i < ST_STEP_PART_KINDS && list->has_parts; i++)
		if (i != ST_STEP_DEVICE || has_device)
			cells[at++] = st_cell_u64(figures.part_ns[i]);
	return ST_OK;
}

/* Why there are none, and what to do in such a program. */
static const char *absence(const struct st_result *result)
{
	uint32_t count;

	st_result_operator_sources(result, &count);
	return count ? "No steps were found: no torch.profiler steps, no optimizer, no DataLoader, "
		       "no model "
		       "call and no repeating pattern of operators. Mark steps with "
		       "record_function(\"step\")."
		     : "No steps were found: no tasks named as steps and no repeated call of a "
		       "tf.function. Eager TensorFlow and JAX tell nobody where a step begins, and "
		       "samples only see lines of a loop, not its turns. Mark steps with \"with "
		       "strata.itt.task('step'):\" in Python, or with __itt_task_begin in native "
		       "code.";
}

enum st_status st_report_steps_build(const struct st_report_kind *kind,
				     const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err)
{
	struct st_tables tables;
	enum st_status status;

	(void)kind;
	out->empty = absence(result);
	if (!st_tables_init(&tables, result, st_report_arena(out)) ||
	    !st_table_open(&st_steps_table, &tables)) {
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory while looking for steps");
	} else {
		add_steps(out, &tables, options->question.limit);
		status = add_totals(out, tables.steps, err);
	}
	st_tables_fini(&tables);
	return status;
}
