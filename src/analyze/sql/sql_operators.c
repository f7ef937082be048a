// SPDX-License-Identifier: Apache-2.0
//
// Tables of SQL about operators of frameworks: the operators, the memory that was taken, and how it was recorded.
#include "analyze/operators/operator_texts.h"
#include "analyze/operators/operator_work.h"
#include "analyze/sql/sql_table.h"
#include "base/buf.h"
#include "store/operators.h"

#define COLUMNS(array) .columns = (array), .column_count = (int)(sizeof(array) / sizeof((array)[0]))

enum operators_column {
	OPERATORS_ROW,
	OPERATORS_NAME,
	OPERATORS_SCOPE,
	OPERATORS_SHAPES,
	OPERATORS_DTYPES,
	OPERATORS_SEQUENCE,
	OPERATORS_ALLOCATED,
	OPERATORS_FREED,
	OPERATORS_CUT,
	OPERATORS_SIGNATURE,
	OPERATORS_STACK,
	OPERATORS_FLOPS,
	OPERATORS_TORCH_FLOPS,
	OPERATORS_MOVED,
};

static const struct st_sql_column operators_columns[] = {
	{"row", "INTEGER", "its row of slices"},
	{"name", "TEXT", "of the operator, range or module"},
	{"scope", "TEXT", "'function', 'backward', 'user', 'module' …; NULL: it only took memory"},
	{"shapes", "TEXT", "sizes of its inputs: '[[8, 3, 32, 32], []]'; NULL: not recorded"},
	{"dtypes", "TEXT", "types of its inputs: '[\"float\", \"Scalar\"]'; NULL: not recorded"},
	{"sequence", "INTEGER", "autograd's number, the same forward and backward, or NULL"},
	{"allocated", "INTEGER",
	 "bytes that the framework gave out, in it and nothing inside of it"},
	{"freed", "INTEGER", "bytes that the framework took back, likewise"},
	{"inputs_cut", "INTEGER", "1: there were more inputs than are kept"},
	{"signature", "INTEGER", "the same for the same name, scope and inputs in a process"},
	{"stack", "INTEGER", "its row of stack_nodes: Python frames that called it; or NULL"},
	{"flops", "INTEGER",
	 "operations, with those of operators inside of it, or NULL: not known"},
	{"torch_flops", "INTEGER", "as torch's profiler counts them, or NULL: it does not"},
	{"moved_bytes", "INTEGER", "estimate: inputs read and results written once; or NULL"},
};

static uint32_t operators_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_operators(sql->result, &count);
	return count;
}

/* Both texts are JSON. */
static void inputs_cell(const struct st_signature *signature, sqlite3_context *out,
			enum st_inputs_form form)
{
	struct st_buf text;

	if (!(signature->flags & ST_SIGNATURE_INPUTS))
		return;
	st_buf_init(&text, ST_INPUTS_TEXT_MAX);
	st_operator_inputs_text(&text, signature, form);
	if (text.failed)
		sqlite3_result_error_nomem(out);
	else
		sqlite3_result_text64(out, (const char *)text.data, text.size_bytes,
				      SQLITE_TRANSIENT, SQLITE_UTF8);
	st_buf_fini(&text);
}

static void work_cell(const struct st_sql *sql, const struct st_signature *signature, int column,
		      sqlite3_context *out)
{
	struct st_text name = st_result_text(sql->result, signature->name);
	struct st_operator_work work;
	uint64_t flops;

	if (signature->scope == ST_SCOPE_MODULE)
		return;
	if (column == OPERATORS_TORCH_FLOPS) {
		flops = st_operator_flops_of_torch(name, signature);
		if (flops)
			sqlite3_result_int64(out, (int64_t)flops);
		return;
	}
	work = st_operator_work(name, signature);
	if (column == OPERATORS_FLOPS && work.has_flops)
		sqlite3_result_int64(out, (int64_t)work.flops);
	else if (column == OPERATORS_MOVED && work.has_bytes)
		sqlite3_result_int64(out, (int64_t)work.bytes);
}

static void signature_cell(const struct st_signature *signature, int column, sqlite3_context *out)
{
	if (column == OPERATORS_SCOPE)
		sqlite3_result_text(out, st_operator_scope_text(signature->scope), -1,
				    SQLITE_STATIC);
	else if (column == OPERATORS_SHAPES)
		inputs_cell(signature, out, ST_INPUTS_SHAPES);
	else if (column == OPERATORS_DTYPES)
		inputs_cell(signature, out, ST_INPUTS_TYPES_JSON);
	else if (column == OPERATORS_CUT)
		sqlite3_result_int(out, (signature->flags & ST_SIGNATURE_CUT) != 0);
}

static void operators_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_operator *item = &st_result_operators(sql->result, &count)[row];
	const struct st_slices *slices = st_result_slices(sql->result);
	const struct st_label *labels = st_result_labels(sql->result, &count);

	if (column == OPERATORS_ROW)
		sqlite3_result_int64(out, item->row);
	else if (column == OPERATORS_NAME)
		st_sql_result_id(out, sql, labels[slices->label[item->row]].name);
	else if (column == OPERATORS_SEQUENCE && item->sequence != ST_NO_SEQUENCE)
		sqlite3_result_int64(out, item->sequence);
	else if (column == OPERATORS_ALLOCATED)
		sqlite3_result_int64(out, (int64_t)item->allocated);
	else if (column == OPERATORS_FREED)
		sqlite3_result_int64(out, (int64_t)item->freed);
	else if (column == OPERATORS_STACK)
		st_sql_result_row(out, item->stack ? item->stack : ST_NO_ROW);
	else if (column == OPERATORS_SIGNATURE)
		st_sql_result_row(out, item->signature);
	else if (item->signature != ST_NO_ROW && column < OPERATORS_FLOPS)
		signature_cell(&st_result_signatures(sql->result, &count)[item->signature], column,
			       out);
	else if (item->signature != ST_NO_ROW)
		work_cell(sql, &st_result_signatures(sql->result, &count)[item->signature], column,
			  out);
}

/* The first one at or behind that row of slices. */
static uint32_t first_at(const struct st_operator *items, uint32_t count, int64_t row)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (items[middle].row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void operators_narrow(const struct st_sql *sql, int column, char op, sqlite3_value *value,
			     uint32_t range[2])
{
	uint32_t count, first, end;
	const struct st_operator *items = st_result_operators(sql->result, &count);
	int64_t row = sqlite3_value_int64(value);

	if (column != OPERATORS_ROW || sqlite3_value_type(value) != SQLITE_INTEGER)
		return;
	first = op == '<' ? 0 : first_at(items, count, row);
	end = op == '>' || row == INT64_MAX ? count : first_at(items, count, row + 1);
	if (first > range[0])
		range[0] = first;
	if (end < range[1])
		range[1] = end;
	if (range[1] < range[0])
		range[1] = range[0];
}

const struct st_sql_table st_sql_operators_table = {
	.name = "operators",
	.help = "operators of frameworks, and other slices in which they took memory",
	COLUMNS(operators_columns),
	.count = operators_count,
	.cell = operators_cell,
	.narrows = 1u << OPERATORS_ROW,
	.narrow = operators_narrow,
};

static const struct st_sql_column memory_columns[] = {
	{"time_ns", "INTEGER", "when it was told, since the start of collection; rows lie by time"},
	{"allocated", "INTEGER", "bytes given out since the record before"},
	{"freed", "INTEGER", "bytes taken back since then"},
	{"peak", "INTEGER",
	 "most that was held above that time's beginning; 0: at one of its ends"},
	{"slice", "INTEGER", "innermost slice that the thread had open, or NULL"},
	{"track", "INTEGER", "its row of threads"},
	{"tid", "INTEGER", "thread number of the system"},
	{"process_id", "INTEGER", "its row of processes"},
	{"address", "INTEGER", "of the one block that it was, or NULL: of several"},
};

static uint32_t memory_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_memory(sql->result, &count);
	return count;
}

static void memory_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_memory_moment *moment = &st_result_memory(sql->result, &count)[row];
	const int64_t numbers[] = {moment->time_ns, (int64_t)moment->allocated,
				   (int64_t)moment->freed, (int64_t)moment->peak};

	if (column < 4)
		sqlite3_result_int64(out, numbers[column]);
	else if (column == 4)
		st_sql_result_row(out, moment->row);
	else if (column == 5)
		sqlite3_result_int64(out, moment->track);
	else if (column == 8 && moment->address)
		sqlite3_result_int64(out, (int64_t)moment->address);
	else if (column != 8)
		st_sql_place_cell(sql, moment->track, column == 6 ? ST_SQL_TID : ST_SQL_PROCESS_ID,
				  out);
}

const struct st_sql_table st_sql_memory_table = {
	.name = "memory",
	.help = "memory that frameworks gave out and took back",
	COLUMNS(memory_columns),
	.count = memory_count,
	.cell = memory_cell,
};

static const struct st_sql_column sources_columns[] = {
	{"process_id", "INTEGER", "its row of processes"},
	{"framework", "TEXT", "and its version"},
	{"level", "TEXT", "'in place', 'asked', 'names', 'itt' or 'none'"},
	{"untested", "INTEGER", "1: its self-check passed in a version that nobody has tested"},
	{"why", "TEXT", "why no better level, or NULL: it is the best"},
};

static uint32_t sources_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_operator_sources(sql->result, &count);
	return count;
}

static const char *level_word(uint32_t level)
{
	switch (level) {
	case ST_OPERATORS_NONE:
		return "none";
	case ST_OPERATORS_IN_PLACE:
		return "in place";
	case ST_OPERATORS_ASKED:
		return "asked";
	case ST_OPERATORS_NAMES:
		return "names";
	case ST_OPERATORS_ITT:
		return "itt";
	default:
		return "unknown";
	}
}

static void sources_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_operator_source *source =
		&st_result_operator_sources(sql->result, &count)[row];

	if (column == 0)
		st_sql_result_row(out, source->process);
	else if (column == 1)
		st_sql_result_id(out, sql, source->framework);
	else if (column == 2)
		sqlite3_result_text(out, level_word(source->level), -1, SQLITE_STATIC);
	else if (column == 3)
		sqlite3_result_int(out, (source->flags & ST_OPERATORS_UNTESTED) != 0);
	else if (source->why)
		st_sql_result_id(out, sql, source->why);
}

const struct st_sql_table st_sql_operator_sources_table = {
	.name = "operator_sources",
	.help = "how operators of each process were recorded",
	COLUMNS(sources_columns),
	.count = sources_count,
	.cell = sources_cell,
};
