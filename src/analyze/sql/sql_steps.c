// SPDX-License-Identifier: Apache-2.0
//
// The table "steps" of SQL: the rows of report steps. They are looked for when a statement first names the table.
#include <stdlib.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/sql/sql_table.h"
#include "analyze/steps/step_list.h"

enum {
	STEPS_STEP,
	STEPS_NUMBER,
	STEPS_START,
	STEPS_END,
	STEPS_WALL,
	STEPS_FIRST_PART,
	STEPS_WARM_UP = STEPS_FIRST_PART + ST_STEP_PART_KINDS,
	STEPS_ROW,
	STEPS_TRACK,
	STEPS_PROCESS,
};

static const struct st_sql_column steps_columns[] = {
	{"step", "TEXT", "as reports name it: 'ProfilerStep#7', 'step 7'"},
	{"number", "INTEGER", "number within its thread"},
	{"start_ns", "INTEGER", "begin, since the start of collection"},
	{"end_ns", "INTEGER", "end"},
	{"wall_ns", "INTEGER", "duration, less paused time; the sum of its parts"},
	{"data_wait_ns", "INTEGER",
	 "waiting for, or making, a batch; NULL: no operators are known"},
	{"forward_ns", "INTEGER", "modules, and operators before the backward pass"},
	{"backward_ns", "INTEGER", "nodes of autograd's engine"},
	{"optimizer_ns", "INTEGER", "steps of optimizers, and zeroing gradients"},
	{"other_ns", "INTEGER", "the rest: Python, operators behind the backward pass"},
	{"warm_up", "INTEGER", "1: at the beginning and slow, in no figure about steps"},
	{"row", "INTEGER", "the slice that it is, or NULL"},
	{"track", "INTEGER", "its row of threads"},
	{"process_id", "INTEGER", "its row of processes"},
};

static int steps_open(struct st_sql *sql)
{
	if (sql->steps)
		return SQLITE_OK;
	sql->steps = calloc(1, sizeof(*sql->steps));
	if (!sql->steps || st_step_list_make(sql->steps, &sql->dataset, sql->result, NULL)) {
		free(sql->steps);
		sql->steps = NULL;
		return SQLITE_NOMEM;
	}
	return SQLITE_OK;
}

void st_sql_steps_close(struct st_sql *sql)
{
	if (sql->steps)
		st_step_list_fini(sql->steps);
	free(sql->steps);
	sql->steps = NULL;
}

static uint32_t steps_count(const struct st_sql *sql)
{
	return sql->steps->count;
}

static void text_cell(const struct st_sql *sql, uint32_t row, sqlite3_context *out)
{
	struct st_arena arena;
	struct st_text text;

	st_arena_init(&arena, 1 << 16);
	text = st_step_text(sql->steps, row, sql->result, &arena);
	sqlite3_result_text64(out, text.bytes, text.size_bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
	st_arena_fini(&arena);
}

static void steps_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	const struct st_one_step *step = &sql->steps->steps[row];
	int part = column - STEPS_FIRST_PART;

	if (part >= 0 && part < ST_STEP_PART_KINDS) {
		if (sql->steps->has_parts)
			sqlite3_result_int64(out, (int64_t)step->part_ns[part]);
		return;
	}
	switch (column) {
	case STEPS_STEP:
		text_cell(sql, row, out);
		break;
	case STEPS_NUMBER:
		sqlite3_result_int64(out, step->number);
		break;
	case STEPS_START:
		sqlite3_result_int64(out, step->begin_ns);
		break;
	case STEPS_END:
		sqlite3_result_int64(out, step->end_ns);
		break;
	case STEPS_WALL:
		sqlite3_result_int64(out, (int64_t)step->wall_ns);
		break;
	case STEPS_WARM_UP:
		sqlite3_result_int(out, step->is_warm_up);
		break;
	case STEPS_ROW:
		st_sql_result_row(out, step->slice);
		break;
	case STEPS_TRACK:
		sqlite3_result_int64(out, step->track);
		break;
	default:
		st_sql_place_cell(sql, step->track, ST_SQL_PROCESS_ID, out);
		break;
	}
}

const struct st_sql_table st_sql_steps_table = {
	.name = "steps",
	.help = "steps of a training loop and their parts, as report steps finds them",
	.columns = steps_columns,
	.column_count = (int)(sizeof(steps_columns) / sizeof(steps_columns[0])),
	.has_row_number = false,
	.count = steps_count,
	.cell = steps_cell,
	.open = steps_open,
};
