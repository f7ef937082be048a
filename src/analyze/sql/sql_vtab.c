// SPDX-License-Identifier: Apache-2.0
//
// The tables as SQLite sees them: virtual tables that exist by their name alone and are read in place; and the
// page that lists them.
#include "analyze/sql/sql_parts.h"
#include "analyze/tables/report_make.h"
#include "base/buf.h"

static const char *const type_names[] = {
	[ST_ANY] = "", [ST_INTEGER] = "INTEGER", [ST_TEXT] = "TEXT"};

struct vtab {
	sqlite3_vtab base; /* SQLite's part comes first */
	const struct st_sql_binding *binding;
};

struct cursor {
	sqlite3_vtab_cursor base;
	const void *rows;  /* what cells are read from */
	uint32_t row, end; /* of small tables */
	struct st_sql_scan scan;
};

static const struct st_sql_binding *binding_of(sqlite3_vtab_cursor *cursor)
{
	return ((struct vtab *)cursor->pVtab)->binding;
}

static bool is_slices(const struct st_sql_binding *binding)
{
	return binding->table == &st_slices_table;
}

int st_sql_column_count(const struct st_table *table)
{
	int count = 0;

	while (count < table->column_count && table->columns[count].help)
		count++;
	return count;
}

static int vtab_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
			sqlite3_vtab **out, char **message)
{
	const struct st_sql_binding *binding = arg;
	sqlite3_str *text = sqlite3_str_new(db);
	struct vtab *vtab;
	char *declaration;
	int status;

	(void)argc;
	(void)argv;
	sqlite3_str_appendall(text, "CREATE TABLE x");
	for (int i = 0; i < st_sql_column_count(binding->table); i++)
		sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "(",
				    binding->table->columns[i].key,
				    type_names[binding->table->columns[i].type]);
	sqlite3_str_appendall(text, ")");
	declaration = sqlite3_str_finish(text);
	/* The declaration passes the authorizer like anybody's CREATE TABLE. */
	binding->sql->is_declaring = true;
	status = declaration ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
	binding->sql->is_declaring = false;
	sqlite3_free(declaration);
	if (status) {
		*message =
			sqlite3_mprintf("table %s: %s", binding->table->name, sqlite3_errmsg(db));
		return status;
	}
	if (!st_table_open(binding->table, &binding->sql->tables))
		return SQLITE_NOMEM;
	vtab = sqlite3_malloc64(sizeof(*vtab));
	if (!vtab)
		return SQLITE_NOMEM;
	*vtab = (struct vtab){.binding = binding};
	*out = &vtab->base;
	return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

static char operator_letter(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return '<';
	default:
		return 0;
	}
}

/* Constraints that make the range of rows smaller: column and operator of each, as letters. */
static int narrow_best_index(const struct st_table *table, sqlite3_index_info *info)
{
	char *plan = sqlite3_malloc64(2 * (uint64_t)info->nConstraint + 1);
	int used = 0;

	if (!plan)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;
		char letter = operator_letter(info->aConstraint[i].op);

		if (!letter || !info->aConstraint[i].usable || column < 0 ||
		    !(table->narrows & UINT32_C(1) << column) ||
		    sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			continue;
		plan[2 * used] = (char)('A' + column);
		plan[2 * used + 1] = letter;
		info->aConstraintUsage[i].argvIndex = ++used;
		info->estimatedCost /= letter == '=' ? 10 : 2;
		info->estimatedRows = info->estimatedRows / (letter == '=' ? 10 : 2) + 1;
	}
	plan[2 * used] = '\0';
	info->idxNum = used ? 2 : 0;
	info->idxStr = plan;
	info->needToFreeIdxStr = 1;
	return SQLITE_OK;
}

/* Small tables: by row number, or all of it. */
static int small_best_index(const struct st_sql_binding *binding, sqlite3_index_info *info)
{
	double rows;
	uint32_t count;

	st_table_rows(binding->table, &binding->sql->tables, &count);
	rows = (double)count + 1;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows + 10.0;
	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;

		if (!info->aConstraint[i].usable ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ ||
		    !(column < 0 || (column == 0 && binding->table->has_row_number)))
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = 1;
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
		info->estimatedRows = 1;
		info->estimatedCost = 10.0;
		return SQLITE_OK;
	}
	return binding->table->narrow ? narrow_best_index(binding->table, info) : SQLITE_OK;
}

static int vtab_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct st_sql_binding *binding = ((struct vtab *)vtab)->binding;

	return is_slices(binding) ? st_sql_slices_best_index(binding->sql, info)
				  : small_best_index(binding, info);
}

static int vtab_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
	struct cursor *cursor = sqlite3_malloc64(sizeof(*cursor));

	(void)vtab;
	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct cursor){.scan.nothing = true};
	*out = &cursor->base;
	return SQLITE_OK;
}

static int vtab_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	st_sql_scan_fini(&cursor->scan);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

/* What a comparison is with; a kind that no column has says nothing. */
static struct st_cell cell_of(sqlite3_value *value)
{
	const char *text;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		return st_cell_i64(sqlite3_value_int64(value));
	case SQLITE_FLOAT:
		return st_cell_double(sqlite3_value_double(value));
	case SQLITE_TEXT:
		text = (const char *)sqlite3_value_text(value);
		return text ? st_cell_bytes(
				      (struct st_text){text, (size_t)sqlite3_value_bytes(value)})
			    : st_no_cell();
	default:
		return st_no_cell();
	}
}

static void narrow(struct cursor *cursor, const struct st_sql_binding *binding, const char *steps,
		   sqlite3_value **argv)
{
	uint32_t range[2] = {cursor->row, cursor->end};

	/* Twice, because what one constraint leaves may be in an order that helps another one. */
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; steps[2 * i]; i++) {
			struct st_cell value = cell_of(argv[i]);

			if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
				range[1] = range[0]; /* nothing compares with NULL */
			else
				binding->table->narrow(&binding->sql->tables, steps[2 * i] - 'A',
						       steps[2 * i + 1], &value, range);
		}
	}
	cursor->row = range[0];
	cursor->end = range[1];
}

static int vtab_filter(sqlite3_vtab_cursor *base, int plan, const char *steps, int argc,
		       sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct st_sql_binding *binding = binding_of(base);

	(void)argc;
	cursor->rows = st_table_rows(binding->table, &binding->sql->tables, &cursor->end);
	cursor->row = 0;
	if (is_slices(binding)) {
		st_sql_scan_fini(&cursor->scan);
		return st_sql_scan_begin(&cursor->scan, binding->sql, steps, argv);
	}
	if (plan == 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL)
		cursor->end = 0;
	if (plan == 1 && sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
		int64_t row = sqlite3_value_int64(argv[0]);

		if (row < 0 || row >= cursor->end) {
			cursor->end = 0;
		} else {
			cursor->row = (uint32_t)row;
			cursor->end = cursor->row + 1;
		}
	}
	if (plan == 2)
		narrow(cursor, binding, steps, argv);
	if (binding->table->narrow)
		binding->sql->rows_read += cursor->end - cursor->row;
	return SQLITE_OK;
}

static int vtab_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct st_sql_binding *binding = binding_of(base);

	if (is_slices(binding))
		st_sql_scan_next(&cursor->scan, binding->sql);
	else
		cursor->row++;
	return SQLITE_OK;
}

static int vtab_eof(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	return is_slices(binding_of(base)) ? st_sql_scan_is_done(&cursor->scan)
					   : cursor->row >= cursor->end;
}

static uint32_t row_of(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	return is_slices(binding_of(base)) ? cursor->scan.row : cursor->row;
}

/* Texts of the result live longer than any statement; those made for the cell are copied. */
static void result_text(sqlite3_context *out, struct st_sql *sql, struct st_text text)
{
	sqlite3_result_text64(out, text.size_bytes ? text.bytes : "", text.size_bytes,
			      sql->scratch.used_bytes ? SQLITE_TRANSIENT : SQLITE_STATIC,
			      SQLITE_UTF8);
}

static void result_cell(sqlite3_context *out, struct st_sql *sql, struct st_cell cell)
{
	switch (cell.kind) {
	case ST_CELL_TEXT:
		result_text(out, sql, cell.as.text);
		break;
	case ST_CELL_U64:
		/* SQLite's numbers have a sign; what is beyond them becomes floating point. */
		if (cell.as.u64 > INT64_MAX)
			sqlite3_result_double(out, (double)cell.as.u64);
		else
			sqlite3_result_int64(out, (int64_t)cell.as.u64);
		break;
	case ST_CELL_I64:
		sqlite3_result_int64(out, cell.as.i64);
		break;
	case ST_CELL_DOUBLE:
		sqlite3_result_double(out, cell.as.number);
		break;
	case ST_CELL_BOOL:
		sqlite3_result_int(out, cell.as.truth);
		break;
	case ST_CELL_NONE:
		break;
	}
	if (sql->scratch.failed)
		sqlite3_result_error_nomem(out);
	if (sql->scratch.used_bytes || sql->scratch.failed) {
		st_arena_fini(&sql->scratch);
		st_arena_init(&sql->scratch, SIZE_MAX / 2);
	}
}

static int vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	const struct st_sql_binding *binding = binding_of(base);
	const struct st_table *table = binding->table;
	const char *rows = ((struct cursor *)base)->rows;
	struct st_sql *sql = binding->sql;
	uint32_t row = row_of(base);

	/* What scans of large tables read most needs no cell. */
	if (table->columns[column].cell == st_read_number && !table->first_is_none)
		sqlite3_result_int64(out,
				     (int64_t)st_member_value(&table->columns[column],
							      rows + row * table->item_bytes, row));
	else
		result_cell(out, sql,
			    st_table_cell(table, &sql->tables, rows, row, column, &sql->scratch));
	return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = row_of(base);
	return SQLITE_OK;
}

/* Without xCreate a table can only be used by its own name: nothing is ever created. */
static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = vtab_connect,
	.xBestIndex = vtab_best_index,
	.xDisconnect = vtab_disconnect,
	.xDestroy = vtab_disconnect,
	.xOpen = vtab_open,
	.xClose = vtab_close,
	.xFilter = vtab_filter,
	.xNext = vtab_next,
	.xEof = vtab_eof,
	.xColumn = vtab_column,
	.xRowid = vtab_rowid,
};

int st_sql_register(struct st_sql *sql)
{
	int status = SQLITE_OK;

	for (int i = 0; i < ST_TABLES && status == SQLITE_OK; i++) {
		sql->bindings[i] = (struct st_sql_binding){sql, st_all_tables[i]};
		status = sqlite3_create_module_v2(sql->db, st_all_tables[i]->name, &module,
						  &sql->bindings[i], NULL);
	}
	return status;
}

bool st_sql_schema(struct st_buf *out)
{
	for (int t = 0; t < ST_TABLES; t++) {
		const struct st_table *table = st_all_tables[t];

		st_buf_printf(out, "%s%s: %s\n", t ? "\n" : "", table->name, table->help);
		for (int i = 0; i < st_sql_column_count(table); i++)
			st_buf_printf(out, "  %-15s %-8s %s\n", table->columns[i].key,
				      type_names[table->columns[i].type], table->columns[i].help);
	}
	return !out->failed;
}
