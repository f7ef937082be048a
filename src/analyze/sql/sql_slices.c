// SPDX-License-Identifier: Apache-2.0
//
// What of a WHERE about slices is used to look at fewer of them: row numbers, tracks (also by
// tid, pid and the texts of thread and process), labels (by task type, domain or family) and time. A
// constraint only ever leaves out rows that cannot match; SQLite tests the rest again.
#include "analyze/sql/sql_parts.h"

#include <math.h>
#include <string.h>

/* The name, domain or family of a label. */
static struct st_text label_text(const struct st_sql *sql, const struct st_label *label, int column)
{
	st_string_id text = column == ST_SLICES_TASK_TYPE     ? label->name
			    : column == ST_SLICES_TASK_DOMAIN ? label->domain
							      : label->family;

	return st_result_text(sql->result, text);
}

static bool is_text_column(int column)
{
	return st_slices_table.columns[column].type == ST_TEXT;
}

/* The letter of an operator in a plan, or 0 for one that does not help. */
static char operator_letter(int column, unsigned char op)
{
	bool is_time = column == ST_SLICES_START_NS || column == ST_SLICES_END_NS;

	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return is_time || column == ST_SLICES_ROW ||
				       (column >= ST_SLICES_TRACK &&
					column <= ST_SLICES_TASK_FAMILY)
			       ? '='
			       : 0;
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return is_time || column == ST_SLICES_ROW ? '>' : 0;
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return is_time || column == ST_SLICES_ROW ? '<' : 0;
	default:
		return 0;
	}
}

/* What part of the rows a constraint leaves, as a guess for the planner. */
static double share(const struct st_sql *sql, int column, char letter)
{
	uint32_t tracks, labels;

	st_result_tracks(sql->result, &tracks);
	st_result_labels(sql->result, &labels);
	if (letter != '=')
		return 0.3;
	if (column == ST_SLICES_ROW || column == ST_SLICES_START_NS || column == ST_SLICES_END_NS)
		return 1e-9;
	return 1.0 / (1.0 + (column >= ST_SLICES_LABEL ? labels : tracks));
}

/* Texts are compared byte by byte here; another collation is left to SQLite. */
static bool is_usable(sqlite3_index_info *info, int index, int column)
{
	if (!info->aConstraint[index].usable)
		return false;
	return !is_text_column(column) ||
	       sqlite3_stricmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
}

int st_sql_slices_best_index(const struct st_sql *sql, sqlite3_index_info *info)
{
	double rows = (double)st_result_slices(sql->result)->count + 1, part = 1.0;
	char *plan = sqlite3_malloc64(2 * (uint64_t)info->nConstraint + 1);
	int used = 0;

	if (!plan)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn < 0 ? ST_SLICES_ROW
							      : info->aConstraint[i].iColumn;
		char letter = operator_letter(column, info->aConstraint[i].op);

		if (!letter || !is_usable(info, i, column))
			continue;
		plan[2 * used] = (char)('A' + column);
		plan[2 * used + 1] = letter;
		info->aConstraintUsage[i].argvIndex = ++used;
		part *= share(sql, column, letter);
		if (column == ST_SLICES_ROW && letter == '=')
			info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	}
	plan[2 * used] = '\0';
	info->idxNum = used;
	info->idxStr = plan;
	info->needToFreeIdxStr = 1;
	info->estimatedRows = (sqlite3_int64)(rows * part) + 1;
	info->estimatedCost = rows * part + 10.0;
	return SQLITE_OK;
}

/* The whole numbers just below and above a value; false when it is no number and says nothing. */
static bool bounds(sqlite3_value *value, int64_t *below, int64_t *above)
{
	double number;

	if (sqlite3_value_type(value) == SQLITE_INTEGER) {
		*below = *above = sqlite3_value_int64(value);
		return true;
	}
	number = sqlite3_value_double(value);
	/* Beyond 2^53 a comparison of the two kinds is no longer simple. */
	if (sqlite3_value_type(value) != SQLITE_FLOAT || !(fabs(number) < 9e15))
		return false;
	*below = (int64_t)floor(number);
	*above = (int64_t)ceil(number);
	return true;
}

static void narrow(int64_t *min, int64_t *max, char letter, const int64_t range[2])
{
	if (letter != '<' && range[0] > *min)
		*min = range[0];
	if (letter != '>' && range[1] < *max)
		*max = range[1];
}

static void narrow_rows(struct st_sql_scan *scan, char letter, const int64_t range[2])
{
	int64_t min = scan->row_min, max = scan->row_max;

	narrow(&min, &max, letter, range);
	if (min > max)
		scan->nothing = true;
	else
		scan->row_min = (uint32_t)min, scan->row_max = (uint32_t)max;
}

static bool track_matches(const struct st_sql *sql, uint32_t track, int column, int64_t number)
{
	uint32_t track_count, process_count;
	const struct st_track *tracks = st_result_tracks(sql->result, &track_count);
	const struct st_process *processes = st_result_processes(sql->result, &process_count);
	uint32_t process = tracks[track].process;

	if (column == ST_SLICES_TRACK)
		return track == number;
	if (column == ST_SLICES_TID)
		return tracks[track].tid == number;
	if (process >= process_count)
		return false;
	return (column == ST_SLICES_PID ? processes[process].pid : process) == number;
}

static bool text_equal(struct st_text text, sqlite3_value *value)
{
	const void *bytes = sqlite3_value_text(value);
	size_t size = (size_t)sqlite3_value_bytes(value);

	return bytes && text.size_bytes == size && (!size || !memcmp(text.bytes, bytes, size));
}

static bool track_text_matches(const struct st_sql *sql, uint32_t track, int column,
			       sqlite3_value *value)
{
	uint32_t track_count, process_count;
	const struct st_track *tracks = st_result_tracks(sql->result, &track_count);

	st_result_processes(sql->result, &process_count);
	if (column == ST_SLICES_THREAD)
		return text_equal(sql->tables.threads[track], value);
	return tracks[track].process < process_count &&
	       text_equal(sql->tables.processes[tracks[track].process], value);
}

/* Flags that start as "all wanted". */
static uint8_t *flags_of(uint8_t **flags, uint32_t count)
{
	if (!*flags) {
		*flags = sqlite3_malloc64((uint64_t)count + 1);
		if (*flags)
			memset(*flags, 1, (size_t)count + 1);
	}
	return *flags;
}

static int narrow_tracks(struct st_sql_scan *scan, const struct st_sql *sql, int column,
			 sqlite3_value *value)
{
	bool is_text = is_text_column(column);
	uint32_t count;
	int64_t range[2];

	st_result_tracks(sql->result, &count);
	if (is_text ? sqlite3_value_type(value) != SQLITE_TEXT
		    : !bounds(value, &range[0], &range[1]))
		return SQLITE_OK;
	if (!flags_of(&scan->tracks, count))
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < count; i++) {
		bool matches = is_text ? track_text_matches(sql, i, column, value)
				       : track_matches(sql, i, column, range[0]);

		scan->tracks[i] = scan->tracks[i] && matches;
	}
	return SQLITE_OK;
}

static int narrow_labels(struct st_sql_scan *scan, const struct st_sql *sql, int column,
			 sqlite3_value *value)
{
	bool is_text = is_text_column(column);
	uint32_t count;
	const struct st_label *labels = st_result_labels(sql->result, &count);
	int64_t range[2];

	if (is_text ? sqlite3_value_type(value) != SQLITE_TEXT
		    : !bounds(value, &range[0], &range[1]))
		return SQLITE_OK;
	if (!flags_of(&scan->labels, count))
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < count; i++) {
		bool matches = is_text ? text_equal(label_text(sql, &labels[i], column), value)
				       : i == range[0];

		scan->labels[i] = scan->labels[i] && matches;
	}
	return SQLITE_OK;
}

static int apply(struct st_sql_scan *scan, const struct st_sql *sql, const char *step,
		 sqlite3_value *value)
{
	int column = step[0] - 'A';
	int64_t range[2];

	/* Nothing equals, precedes or follows NULL: the parent of an outermost slice joins with no row. */
	if (sqlite3_value_type(value) == SQLITE_NULL) {
		scan->nothing = true;
		return SQLITE_OK;
	}
	if (column >= ST_SLICES_LABEL)
		return narrow_labels(scan, sql, column, value);
	if (column >= ST_SLICES_TRACK)
		return narrow_tracks(scan, sql, column, value);
	if (!bounds(value, &range[0], &range[1]))
		return SQLITE_OK;
	if (column == ST_SLICES_ROW)
		narrow_rows(scan, step[1], range);
	else if (column == ST_SLICES_START_NS)
		narrow(&scan->begin_min, &scan->begin_max, step[1], range);
	else
		narrow(&scan->end_min, &scan->end_max, step[1], range);
	return SQLITE_OK;
}

/* First row of begin … end whose begin is not before limit (or, past, is after it). */
static uint32_t search(const int64_t *begin_ns, struct st_row_span span, int64_t limit, bool past)
{
	while (span.begin < span.end) {
		uint32_t middle = span.begin + (span.end - span.begin) / 2;

		if (begin_ns[middle] < limit || (past && begin_ns[middle] == limit))
			span.begin = middle + 1;
		else
			span.end = middle;
	}
	return span.begin;
}

/* The rows of a track that its order alone does not exclude. */
static struct st_row_span span_of(const struct st_sql_scan *scan, const struct st_sql *sql,
				  uint32_t track)
{
	const struct st_slices *slices = st_result_slices(sql->result);
	uint32_t count;
	const struct st_track *of = &st_result_tracks(sql->result, &count)[track];
	struct st_row_span span = {of->row_begin, of->row_end};

	if (scan->tracks && !scan->tracks[track])
		return (struct st_row_span){0, 0};
	if (span.begin < scan->row_min)
		span.begin = scan->row_min;
	if (span.end > scan->row_max)
		span.end = scan->row_max + 1;
	if (span.begin >= span.end)
		return (struct st_row_span){0, 0};
	if (scan->begin_min > INT64_MIN)
		span.begin = search(slices->begin_ns, span, scan->begin_min, false);
	if (scan->begin_max < INT64_MAX)
		span.end = search(slices->begin_ns, span, scan->begin_max, true);
	return span;
}

/* Moves on from row until one is wanted; row itself counts. */
static void settle(struct st_sql_scan *scan, struct st_sql *sql)
{
	const struct st_slices *slices = st_result_slices(sql->result);

	for (;;) {
		for (; scan->row < scan->row_end; scan->row++) {
			int64_t end_ns = slices->end_ns[scan->row];

			sql->rows_read++;
			if (end_ns >= scan->end_min && end_ns <= scan->end_max &&
			    (!scan->labels || scan->labels[slices->label[scan->row]]))
				return;
		}
		/* UINT32_MAX is the track before the first. */
		scan->track++;
		if (scan->track >= scan->track_end)
			return;
		struct st_row_span span = span_of(scan, sql, scan->track);

		scan->row = span.begin;
		scan->row_end = span.end;
	}
}

int st_sql_scan_begin(struct st_sql_scan *scan, struct st_sql *sql, const char *plan,
		      sqlite3_value **values)
{
	const struct st_slices *slices = st_result_slices(sql->result);
	int status = SQLITE_OK;

	*scan = (struct st_sql_scan){.row_max = slices->count ? slices->count - 1 : 0,
				     .begin_min = INT64_MIN,
				     .begin_max = INT64_MAX,
				     .end_min = INT64_MIN,
				     .end_max = INT64_MAX,
				     .nothing = !slices->count};
	for (int i = 0; plan && plan[2 * i] && status == SQLITE_OK; i++)
		status = apply(scan, sql, plan + 2 * i, values[i]);
	if (status || scan->nothing)
		return status;
	/* A slice ends after its begin. */
	if (scan->end_max < scan->begin_max)
		scan->begin_max = scan->end_max;
	scan->track = UINT32_MAX;
	scan->track_end = sql->tables.thread_count;
	if (scan->row_min == scan->row_max) {
		scan->track = slices->track[scan->row_min] - 1;
		scan->track_end = slices->track[scan->row_min] + 1;
	}
	settle(scan, sql);
	return SQLITE_OK;
}

void st_sql_scan_next(struct st_sql_scan *scan, struct st_sql *sql)
{
	scan->row++;
	settle(scan, sql);
}

bool st_sql_scan_is_done(const struct st_sql_scan *scan)
{
	return scan->nothing || scan->row >= scan->row_end;
}

void st_sql_scan_fini(struct st_sql_scan *scan)
{
	sqlite3_free(scan->tracks);
	sqlite3_free(scan->labels);
	*scan = (struct st_sql_scan){.nothing = true};
}
