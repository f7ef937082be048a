// SPDX-License-Identifier: Apache-2.0
//
// Tables of SQL about sampling: samples, how they were taken, and Python codes. The stacks that they point
// into are in sql_stacks.c.
#include "analyze/sql/sql_table.h"
#include "store/samples.h"

#define COLUMNS(array) .columns = (array), .column_count = (int)(sizeof(array) / sizeof((array)[0]))

enum samples_column {
	SAMPLES_ROW,
	SAMPLES_TIME,
	SAMPLES_WEIGHT,
	SAMPLES_STATE,
	SAMPLES_NODE,
	SAMPLES_SLICE,
	SAMPLES_INHERITED,
	SAMPLES_TRACK,
	SAMPLES_TID,
	SAMPLES_THREAD,
	SAMPLES_PID,
	SAMPLES_PROCESS_ID,
	SAMPLES_PROCESS,
	SAMPLES_FLAGS, /* and all behind it: single flags */
};

static const struct st_sql_column samples_columns[] = {
	{"sample", "INTEGER", "number of the row; samples of a thread lie together, by time"},
	{"time_ns", "INTEGER", "when, since the start of collection"},
	{"weight_ns", "INTEGER", "CPU time that it stands for; wall time unless running"},
	{"state", "TEXT", "'running', 'waiting' or 'runnable'"},
	{"node", "INTEGER", "its stack: innermost row of stack_nodes; 0 is no stack"},
	{"slice", "INTEGER", "innermost slice that its thread had open then, or NULL"},
	{"inherited", "INTEGER",
	 "without one: innermost slice of the thread that created its thread, or NULL"},
	{"track", "INTEGER", "its row of threads"},
	{"tid", "INTEGER", "thread number of the system"},
	{"thread", "TEXT", "as reports show it"},
	{"pid", "INTEGER", "process number of the system"},
	{"process_id", "INTEGER", "its row of processes"},
	{"process", "TEXT", "as reports show it"},
	{"flags", "INTEGER", "all flags as bits"},
	{"truncated", "INTEGER", "1: the stack does not reach the thread's entry"},
	{"recovered", "INTEGER", "1: a caller was found by scanning the stack"},
	{"no_table", "INTEGER", "1: truncated because an unwind table was missing"},
	{"python_cut", "INTEGER", "1: Python frames are missing"},
	{"mismatched", "INTEGER", "1: native and Python frames do not fit together"},
	{"depth_cut", "INTEGER", "1: deeper than the limit"},
	{"nominal", "INTEGER", "1: weighs the period, not a measured time"},
	{"approximate", "INTEGER", "1: Python frames were read from outside, a moment later"},
	{"in_kernel", "INTEGER", "1: the innermost frames are the kernel's"},
	{"holds_gil", "INTEGER", "1: held Python's interpreter lock"},
};

static const uint16_t flag_of[] = {
	ST_SAMPLE_TRUNCATED, ST_SAMPLE_RECOVERED, ST_SAMPLE_NO_TABLE,	    ST_SAMPLE_PYTHON_CUT,
	ST_SAMPLE_MISMATCH,  ST_SAMPLE_DEPTH_CUT, ST_SAMPLE_WEIGHT_NOMINAL, ST_SAMPLE_APPROXIMATE,
	ST_SAMPLE_KERNEL,    ST_SAMPLE_HOLDS_GIL,
};
_Static_assert(sizeof(samples_columns) / sizeof(samples_columns[0]) ==
		       SAMPLES_FLAGS + 1 + sizeof(flag_of) / sizeof(flag_of[0]),
	       "every flag has its column");

static uint32_t samples_count(const struct st_sql *sql)
{
	return st_result_samples(sql->result)->count;
}

static const char *state_of(uint16_t flags)
{
	if (flags & ST_SAMPLE_WAITING)
		return "waiting";
	return flags & ST_SAMPLE_RUNNABLE ? "runnable" : "running";
}

static void samples_place(const struct st_sql *sql, uint32_t track, int column,
			  sqlite3_context *out)
{
	static const enum st_sql_slices_column places[] = {ST_SQL_TID, ST_SQL_THREAD, ST_SQL_PID,
							   ST_SQL_PROCESS_ID, ST_SQL_PROCESS};

	st_sql_place_cell(sql, track, places[column - SAMPLES_TID], out);
}

static void samples_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	const struct st_samples *samples = st_result_samples(sql->result);

	if (column == SAMPLES_TRACK)
		sqlite3_result_int64(out, samples->track[row]);
	else if (column > SAMPLES_TRACK && column <= SAMPLES_PROCESS)
		samples_place(sql, samples->track[row], column, out);
	else if (column == SAMPLES_ROW)
		sqlite3_result_int64(out, row);
	else if (column == SAMPLES_TIME)
		sqlite3_result_int64(out, samples->time_ns[row]);
	else if (column == SAMPLES_WEIGHT)
		sqlite3_result_int64(out, (int64_t)samples->weight_ns[row]);
	else if (column == SAMPLES_STATE)
		sqlite3_result_text(out, state_of(samples->flags[row]), -1, SQLITE_STATIC);
	else if (column == SAMPLES_NODE)
		sqlite3_result_int64(out, samples->node[row]);
	else if (column == SAMPLES_SLICE)
		st_sql_result_row(out, samples->slice[row]);
	else if (column == SAMPLES_INHERITED)
		st_sql_result_row(out, samples->inherited[row]);
	else if (column == SAMPLES_FLAGS)
		sqlite3_result_int64(out, samples->flags[row]);
	else
		sqlite3_result_int(
			out, (samples->flags[row] & flag_of[column - SAMPLES_FLAGS - 1]) != 0);
}

/* Rows of a track lie together. */
static void samples_narrow(const struct st_sql *sql, int column, char op, sqlite3_value *value,
			   uint32_t range[2])
{
	const struct st_samples *samples = st_result_samples(sql->result);
	int64_t track = sqlite3_value_int64(value);
	uint32_t count;

	st_result_tracks(sql->result, &count);
	if (column != SAMPLES_TRACK || op != '=' || sqlite3_value_type(value) != SQLITE_INTEGER ||
	    !samples->first_of_track)
		return;
	if (track < 0 || track >= count) {
		range[1] = range[0];
		return;
	}
	if (samples->first_of_track[track] > range[0])
		range[0] = samples->first_of_track[track];
	if (samples->first_of_track[track + 1] < range[1])
		range[1] = samples->first_of_track[track + 1];
	if (range[1] < range[0])
		range[1] = range[0];
}

const struct st_sql_table st_sql_samples_table = {
	.name = "samples",
	.help = "where the threads were, one row per sample",
	COLUMNS(samples_columns),
	.has_row_number = true,
	.count = samples_count,
	.cell = samples_cell,
	.narrows = 1u << SAMPLES_TRACK,
	.narrow = samples_narrow,
};

static const struct st_sql_column samplers_columns[] = {
	{"process_id", "INTEGER", "its row of processes"},
	{"rung", "TEXT", "how its threads were interrupted"},
	{"trigger", "TEXT", "what fired: 'cpu-clock', 'cycles' or 'timer'"},
	{"period_ns", "INTEGER", "CPU time from sample to sample"},
	{"why", "TEXT", "why no better way, or NULL: it is the best"},
	{"dropped", "INTEGER", "samples lost because a ring was full"},
	{"not_taken", "INTEGER", "samples that could not be taken"},
	{"handler_ns", "INTEGER", "time that taking samples took"},
	{"nodes_refused", "INTEGER", "stack nodes beyond the limit"},
	{"before_tables", "INTEGER", "samples taken before the first unwind table was there"},
	{"build_ns", "INTEGER", "time that building unwind tables took"},
	{"tables_built", "INTEGER", "unwind tables made for this run"},
	{"tables_cached", "INTEGER", "unwind tables found in the cache"},
};

static uint32_t samplers_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_samplers(sql->result, &count);
	return count;
}

static const char *rung_word(enum st_sampler_rung rung)
{
	switch (rung) {
	case ST_RUNG_NONE:
		return "none";
	case ST_RUNG_SIGTRAP:
		return "perf event, SIGTRAP";
	case ST_RUNG_SIGTRAP_USER:
		return "perf event, SIGTRAP, user only";
	case ST_RUNG_SETSIG:
		return "perf event, signal per thread";
	case ST_RUNG_THREAD_TIMER:
		return "timer per thread";
	case ST_RUNG_PROCESS_TIMER:
		return "timer of the process";
	case ST_RUNG_OUTSIDE:
		return "from outside";
	case ST_RUNG_IMPORTED:
		return "imported";
	}
	return "unknown";
}

static const char *trigger_word(enum st_sampler_trigger trigger)
{
	switch (trigger) {
	case ST_TRIGGER_CPU_CLOCK:
		return "cpu-clock";
	case ST_TRIGGER_CYCLES:
		return "cycles";
	case ST_TRIGGER_CPU_TIME:
		return "timer";
	}
	return "unknown";
}

static void samplers_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_sampler *sampler = &st_result_samplers(sql->result, &count)[row];
	const uint64_t numbers[] = {sampler->dropped,	    sampler->not_taken,
				    sampler->handler_ns,    sampler->nodes_refused,
				    sampler->before_tables, sampler->build_ns,
				    sampler->tables_built,  sampler->tables_cached};

	if (column == 0)
		st_sql_result_row(out, sampler->process);
	else if (column == 1)
		sqlite3_result_text(out, rung_word(sampler->rung), -1, SQLITE_STATIC);
	else if (column == 2)
		sqlite3_result_text(out, trigger_word(sampler->trigger), -1, SQLITE_STATIC);
	else if (column == 3)
		sqlite3_result_int64(out, (int64_t)sampler->period_ns);
	else if (column == 4 && sampler->why)
		st_sql_result_id(out, sql, sampler->why);
	else if (column > 4)
		sqlite3_result_int64(out, (int64_t)numbers[column - 5]);
}

const struct st_sql_table st_sql_samplers_table = {
	.name = "samplers",
	.help = "how each process was sampled, and what that cost and lost",
	COLUMNS(samplers_columns),
	.count = samplers_count,
	.cell = samplers_cell,
};

static const struct st_sql_column python_codes_columns[] = {
	{"code", "INTEGER", "number of the row; stack_nodes.code"},
	{"name", "TEXT", "qualified name of the Python function"},
	{"file", "TEXT", "source file, or NULL"},
	{"first_line", "INTEGER", "line where it begins"},
	{"process_id", "INTEGER", "its row of processes"},
};

static uint32_t python_codes_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_python_codes(sql->result, &count);
	return count;
}

static void python_codes_cell(const struct st_sql *sql, uint32_t row, int column,
			      sqlite3_context *out)
{
	uint32_t count;
	const struct st_python_code *code = &st_result_python_codes(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		st_sql_result_id(out, sql, code->name);
	else if (column == 2 && code->file)
		st_sql_result_id(out, sql, code->file);
	else if (column == 3)
		sqlite3_result_int64(out, code->first_line);
	else if (column == 4)
		st_sql_result_row(out, code->process);
}

const struct st_sql_table st_sql_python_codes_table = {
	.name = "python_codes",
	.help = "Python functions that samples were in",
	COLUMNS(python_codes_columns),
	.has_row_number = true,
	.count = python_codes_count,
	.cell = python_codes_cell,
};
