/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a result: each is a list of columns with a function that gives the value of a row. SQL, the
 * reports with a row per instance and the exports of rows read the same ones, so a column is described once.
 *
 * Most columns are a member of the record that a row is, so that their row of the list says it all:
 * {"tid", "thread ID (tid)", ST_NUMBER(struct st_track, tid)}.
 */
#ifndef ST_ANALYZE_TABLES_TABLE_H
#define ST_ANALYZE_TABLES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyze/datasets/counters.h"
#include "analyze/datasets/dataset_rows.h"
#include "analyze/tables/report.h"
#include "base/arena.h"
#include "store/result.h"

struct st_table_column;
struct st_tables;

/* A value that is asked for. */
struct st_table_at {
	const struct st_tables *tables;
	const struct st_table_column *column;
	const void *item; /* the record of the row, or what holds all rows (item_bytes is 0) */
	uint32_t row;
	struct st_arena *arena; /* of texts that are made for it */
};

enum st_column_type { ST_ANY, ST_INTEGER, ST_TEXT };

struct st_table_column {
	const char *key;
	const char *help; /* NULL: not a column of SQL */
	enum st_column_type type;
	struct st_cell (*cell)(const struct st_table_at *at);
	/* Where the record has it; an array: of the columns of all rows. Of no size: the number of the row. */
	uint32_t offset;
	uint8_t size_bytes;
	bool is_array;
	uint32_t arg;
	bool of_none; /* has a value in a first row that stands for none */
	/* In reports: heading and unit, and the key, where they call it otherwise. NULL: not shown there. */
	const char *title, *unit, *as;
};

struct st_table {
	const char *name;
	const char *help;
	const struct st_table_column *columns;
	int column_count;
	bool has_row_number; /* the first column is: looked up without a scan */
	bool first_is_none;  /* the first row stands for none: only columns of_none have a value */
	enum st_row_set set; /* whose rows they are, when there is no function for them */
	const void *(*rows)(const struct st_tables *tables, uint32_t *count);
	size_t item_bytes; /* distance of records; 0: the columns find the row themselves */
	/* Made ready when somebody first asks for the table; NULL: always is. False: no memory. */
	bool (*open)(struct st_tables *tables);
	/* Columns (as bits) of which a comparison can make the range of rows smaller, and how: op is '=', '<'
	 * or '>', the last two including equality. May only leave out rows that cannot match. */
	uint32_t narrows;
	void (*narrow)(const struct st_tables *tables, int column, char op,
		       const struct st_cell *value, uint32_t range[2]);
};

#define ST_COLUMNS(array)                                                                          \
	.columns = (array), .column_count = (int)(sizeof(array) / sizeof((array)[0]))

/* Defines a function for rows that the result has as an array of records. */
#define ST_ROWS_FROM(name, getter)                                                                 \
	static const void *name(const struct st_tables *tables, uint32_t *count)                   \
	{                                                                                          \
		return getter(tables->result, count);                                              \
	}

/* What tables of one result share. */
struct st_tables {
	const struct st_result *result;
	const struct st_text *threads;	 /* by track, as reports show them */
	const struct st_text *processes; /* by process */
	uint32_t thread_count, process_count;
	/* Made when a table first needs them. */
	struct {
		struct st_dataset dataset;
		bool is_open;
	} sets[ST_ROW_SETS];
	struct st_counters counters;
	struct st_step_list *steps;
	const struct st_named *named; /* may be given */
	struct st_named *own_named;
	const int64_t
		*range_ns; /* of a report about a part of the time: begin and end, else NULL */
	struct st_report info;
	const struct st_report_row **facts; /* its rows that are about the run */
	uint32_t fact_count;
	struct st_arena *arena;
};

/* Texts of threads and processes are made in the arena, which must outlive the tables. False: no memory. */
bool st_tables_init(struct st_tables *tables, const struct st_result *result,
		    struct st_arena *arena);
void st_tables_fini(struct st_tables *tables);

/* Before anything else is asked of a table; more than once is fine. False: no memory. */
bool st_table_open(const struct st_table *table, struct st_tables *tables);
/* What cells are read from, and how many rows there are. */
const void *st_table_rows(const struct st_table *table, const struct st_tables *tables,
			  uint32_t *count);
struct st_cell st_table_cell(const struct st_table *table, const struct st_tables *tables,
			     const void *rows, uint32_t row, int column, struct st_arena *arena);
/* The column of that key, or -1. */
int st_table_find(const struct st_table *table, const char *key);
/* How reports show a column. */
struct st_column st_table_heading(const struct st_table_column *column);

/* Columns that are read from where the record has them. */
#define ST_MEMBER(type, member)                                                                    \
	.offset = offsetof(type, member), .size_bytes = sizeof(((type *)0)->member)
#define ST_ARRAY(type, member)                                                                     \
	.offset = offsetof(type, member), .size_bytes = sizeof(*((type *)0)->member),              \
	.is_array = true

struct st_cell st_read_row(const struct st_table_at *at);	/* number of the row itself */
struct st_cell st_read_number(const struct st_table_at *at);	/* of any size */
struct st_cell st_read_some(const struct st_table_at *at);	/* 0 is none */
struct st_cell st_read_reference(const struct st_table_at *at); /* ST_NO_ROW is none */
struct st_cell st_read_flag(const struct st_table_at *at);	/* arg: bits of which one is set */
struct st_cell st_read_text(const struct st_table_at *at);	/* st_string_id */
struct st_cell st_read_some_text(const struct st_table_at *at); /* 0 is none */
struct st_cell st_read_hex(const struct st_table_at *at);	/* an address */
struct st_cell st_read_itt_id(const struct st_table_at *at);	/* index into ids */
struct st_cell st_read_process(const struct st_table_at *at);	/* text of an index */
/* Of the thread whose index is there. */
struct st_cell st_read_track_tid(const struct st_table_at *at);
struct st_cell st_read_track_thread(const struct st_table_at *at);
struct st_cell st_read_track_pid(const struct st_table_at *at);
struct st_cell st_read_track_process_id(const struct st_table_at *at);
struct st_cell st_read_track_process(const struct st_table_at *at);

#define ST_ROW_NUMBER ST_INTEGER, .cell = st_read_row, .of_none = true
#define ST_NUMBER(type, member) ST_INTEGER, .cell = st_read_number, ST_MEMBER(type, member)
#define ST_SOME(type, member) ST_INTEGER, .cell = st_read_some, ST_MEMBER(type, member)
#define ST_REFERENCE(type, member) ST_INTEGER, .cell = st_read_reference, ST_MEMBER(type, member)
#define ST_FLAG(type, member, bits)                                                                \
	ST_INTEGER, .cell = st_read_flag, ST_MEMBER(type, member), .arg = bits
#define ST_NAME(type, member) ST_TEXT, .cell = st_read_text, ST_MEMBER(type, member)
#define ST_SOME_NAME(type, member) ST_TEXT, .cell = st_read_some_text, ST_MEMBER(type, member)
#define ST_HEX(type, member) ST_TEXT, .cell = st_read_hex, ST_MEMBER(type, member)
#define ST_ITT_ID(type, member) ST_TEXT, .cell = st_read_itt_id, ST_MEMBER(type, member)
#define ST_PROCESS_TEXT(type, member) ST_TEXT, .cell = st_read_process, ST_MEMBER(type, member)

/* What the record has, as it is. In the header because SQL reads plain numbers of all rows this way. */
static inline uint64_t st_member_value(const struct st_table_column *column, const void *item,
				       uint32_t row)
{
	const char *bytes = (const char *)item + column->offset;
	uint32_t four;
	uint64_t eight;

	if (column->is_array) {
		memcpy(&bytes, bytes, sizeof(bytes));
		bytes += (size_t)row * column->size_bytes;
	}
	switch (column->size_bytes) {
	case 0:
		return row;
	case 1:
		return *(const uint8_t *)bytes;
	case 2:
		return *(const uint16_t *)bytes;
	case 4:
		memcpy(&four, bytes, sizeof(four));
		return four;
	default:
		memcpy(&eight, bytes, sizeof(eight));
		return eight;
	}
}

/* For columns with a function of their own. */
static inline uint64_t st_table_value(const struct st_table_at *at)
{
	return st_member_value(at->column, at->item, at->row);
}
struct st_cell st_no_cell(void);
struct st_cell st_reference_cell(uint32_t row); /* none for ST_NO_ROW */
struct st_cell st_some_text_cell(const struct st_table_at *at, st_string_id id);
struct st_cell st_itt_id_cell(const struct st_table_at *at, uint32_t id);
struct st_cell st_hex_cell(const struct st_table_at *at, uint64_t address);
/* The word for a number, "unknown" where there is none. */
struct st_cell st_word_cell(const struct st_table_at *at, const char *const *words, size_t count);
struct st_cell st_buf_cell(const struct st_table_at *at, struct st_buf *buf); /* ends the buf */
/* Rows of one track lie together: range becomes those of a track, given as a value. */
void st_narrow_to_track(const struct st_tables *tables, const uint32_t *first_of_track,
			const struct st_cell *track, uint32_t range[2]);

/* Values of a counter: exact where it has whole ones; sums of whole values are written without a fraction. */
struct st_cell st_counter_value_cell(const struct st_counter *counter,
				     const struct st_counter_sample *sample);
struct st_cell st_counter_sum_cell(const struct st_counter *counter, double sum);
/* The two axes of a submission: its data holds the x elements, then the y elements. False: of no known histogram. */
struct st_histogram_axes {
	const struct st_object *histogram;
	struct st_text x, y;
};
bool st_histogram_axes(const struct st_result *result, const struct st_event_row *event,
		       struct st_histogram_axes *out);

/* Slices come first; SQL finds them by more than a range of rows (sql_slices.c), by these columns. */
enum st_slices_column {
	ST_SLICES_ROW,
	ST_SLICES_START_NS,
	ST_SLICES_END_NS,
	ST_SLICES_TRACK = 7,
	ST_SLICES_TID,
	ST_SLICES_THREAD,
	ST_SLICES_PID,
	ST_SLICES_PROCESS_ID,
	ST_SLICES_PROCESS,
	ST_SLICES_LABEL,
	ST_SLICES_TASK_TYPE,
	ST_SLICES_TASK_DOMAIN,
	ST_SLICES_TASK_FAMILY,
};

extern const struct st_table st_slices_table;
/* place_tables.c */
extern const struct st_table st_threads_table, st_processes_table, st_labels_table,
	st_not_entered_table, st_pauses_table;
/* sample_tables.c */
extern const struct st_table st_samples_table, st_samplers_table, st_python_codes_table,
	st_stack_nodes_table, st_stack_frames_table, st_functions_table;
/* operator_tables.c */
extern const struct st_table st_operators_table, st_memory_table, st_device_memory_table,
	st_operator_sources_table, st_python_calls_table, st_steps_table;
/* row_tables.c: by set */
extern const struct st_table st_row_tables[ST_ROW_SETS];
extern const struct st_table st_counters_table;
/* event_tables.c */
extern const struct st_table st_events_table, st_spans_table, st_objects_table,
	st_object_facts_table, st_sync_objects_table;
/* code_tables.c */
extern const struct st_table st_callers_table, st_code_table, st_code_maps_table;
/* about_tables.c */
extern const struct st_table st_quality_table, st_notes_table, st_info_table;

/* All that SQL has, in the order in which they are listed. */
enum { ST_TABLES = 45 };
extern const struct st_table *const st_all_tables[ST_TABLES];

#endif
