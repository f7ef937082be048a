/* SPDX-License-Identifier: Apache-2.0
 *
 * What tables over sets of rows (row_tables.c) share with those of devices (device_columns.c): cells that every row has.
 */
#ifndef ST_ANALYZE_TABLES_ROW_CELLS_H
#define ST_ANALYZE_TABLES_ROW_CELLS_H

#include "analyze/tables/table.h"

const struct st_dataset *st_row_dataset(const struct st_table_at *at);
struct st_row_source st_row_source(const struct st_table_at *at);
struct st_cell st_row_name_cell(const struct st_table_at *at);
struct st_cell st_row_wall_cell(const struct st_table_at *at);
struct st_cell st_row_start_cell(const struct st_table_at *at);
/* Text of a grouping (arg). */
struct st_cell st_row_key_cell(const struct st_table_at *at);
struct st_cell st_row_track_cell(const struct st_table_at *at);
struct st_cell st_row_process_id_cell(const struct st_table_at *at);
struct st_cell st_row_number_cell(const struct st_table_at *at);

#define ROW_AND_NAME(name, words)                                                                  \
	{"row", "row number", ST_ROW_NUMBER}, {name, words, ST_TEXT, .cell = st_row_name_cell},    \
	{                                                                                          \
		"wall_ns", "duration, without paused time if clipped", ST_INTEGER,                 \
			.cell = st_row_wall_cell                                                   \
	}
#define START(heading)                                                                             \
	{                                                                                          \
		"start_ns", "time since the start of collection", ST_INTEGER,                      \
			.cell = st_row_start_cell, .title = (heading), .unit = "ns"                \
	}
#define KEY(name, words, heading, grouping)                                                        \
	{                                                                                          \
		name, words, ST_TEXT, .cell = st_row_key_cell, .arg = (grouping),                  \
				      .title = (heading)                                           \
	}
#define PROCESS KEY("process", "process as shown in reports", "Process", ST_BY_PROCESS)
#define THREAD KEY("thread", "thread as shown in reports", "Thread", ST_BY_THREAD)

enum { ST_KERNELS_COLUMNS = 24, ST_GAPS_COLUMNS = 12 };
extern const struct st_table_column st_kernels_columns[ST_KERNELS_COLUMNS],
	st_gaps_columns[ST_GAPS_COLUMNS];
enum { ST_OPENMP_COLUMNS = 14 };
extern const struct st_table_column st_openmp_columns[ST_OPENMP_COLUMNS];

#endif
