// SPDX-License-Identifier: Apache-2.0
//
// Reports "markers", "metadata", "relations" and "heap": what programs report about a moment or about a
// task.
#include "analyze/reports/report_rows.h"

const struct st_rows_report st_markers_report = {
	.set = ST_ROWS_MARKERS,
	.defaults = {ST_BY_INSTANCE},
	.default_count = 1,
	.metrics = ST_LIST(ST_COUNT, ST_WALL_TOTAL, ST_WALL_AVG, ST_WALL_MAX),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Count",
		   [ST_WALL_TOTAL] = "Duration",
		   [ST_WALL_AVG] = "Average Duration"},
	.empty = "This result has no markers; programs record them with __itt_marker, "
		 "__itt_event_start or __itt_mark, or use strata -command mark.",
};

const struct st_rows_report st_metadata_report = {
	.set = ST_ROWS_METADATA,
	.defaults = {ST_BY_INSTANCE},
	.default_count = 1,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Count"},
	.empty = "This result has no metadata; programs attach it with __itt_metadata_add and "
		 "__itt_metadata_str_add.",
};

const struct st_rows_report st_relations_report = {
	.set = ST_ROWS_RELATIONS,
	.defaults = {ST_BY_HEAD, ST_BY_RELATION, ST_BY_TAIL},
	.default_count = 3,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Count"},
	.empty = "This result has no relations; programs record them with __itt_relation_add and "
		 "__itt_relation_add_to_current.",
};

const struct st_rows_report st_heap_report = {
	.rows_name = "heap calls",
	.set = ST_ROWS_HEAP,
	.defaults = {ST_BY_HEAP_FUNCTION, ST_BY_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT, ST_HEAP_ALLOCATIONS, ST_HEAP_REALLOCATIONS, ST_HEAP_FREES,
			   ST_HEAP_ALLOCATED, ST_HEAP_FREED, ST_HEAP_KEPT),
	.titles = {[ST_COUNT] = "Calls"},
	.empty = "This result has no heap calls; allocators report them with "
		 "__itt_heap_allocate_begin, __itt_heap_allocate_end and so on.",
};
