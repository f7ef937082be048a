// SPDX-License-Identifier: Apache-2.0
//
// The rows of OpenMP's parallel regions, and of what each process does outside of them; and what is counted of them beside their
// time.
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/row_sets.h"
#include "base/map.h"
#include "format/wait_kind.h"

const char st_openmp_serial[] = "[Serial - outside parallel regions]";

static struct st_text plain(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

/* A region is a sync object, for which its threads wait in the end: by process and address. */
struct regions {
	struct st_rows *rows;
	struct st_pair_map places;
	uint32_t *objects; /* by number of the place */
};

static bool find_regions(struct regions *regions)
{
	uint32_t count;
	const struct st_sync_object *objects =
		st_result_sync_objects(regions->rows->result, &count);

	st_pair_map_init(&regions->places);
	regions->objects = calloc((size_t)count + 1, sizeof(*regions->objects));
	for (uint32_t i = 0; regions->objects && i < count; i++)
		if (objects[i].attribute >> ST_SYNC_KIND_SHIFT == ST_WAIT_REGION) {
			uint32_t at = st_pair_map_add(&regions->places, objects[i].process,
						      objects[i].address);

			if (at < count)
				regions->objects[at] = i;
		}
	return regions->objects && !regions->places.failed;
}

/* "solve (grid.c:41)": the function, and the line if it is known. */
static void name_keys(struct st_rows *rows, struct st_text name)
{
	static const struct st_text unknown = {"[Unknown]", 9};
	struct st_text function = name, line = unknown;
	const char *at = memmem(name.bytes, name.size_bytes, " (", 2);

	if (at) {
		function.size_bytes = (size_t)(at - name.bytes);
		line = (struct st_text){at + 2, name.size_bytes - function.size_bytes - 3};
	}
	if (!line.size_bytes || !memchr(line.bytes, ':', line.size_bytes))
		line = unknown;
	st_rows_key(rows, ST_BY_REGION, name);
	st_rows_key(rows, ST_BY_FUNCTION, function);
	st_rows_key(rows, ST_BY_SOURCE_LINE, line);
	st_rows_key(rows, ST_BY_CATEGORY, plain("region"));
}

static void add_region(struct regions *regions, uint32_t index)
{
	struct st_rows *rows = regions->rows;
	const struct st_event_row *event = &st_result_events(rows->result)->rows[index];
	uint32_t process = st_rows_process_of(rows, event->track);
	uint32_t at = st_pair_map_add(&regions->places, process, event->value), count;

	st_result_sync_objects(rows->result, &count);
	st_rows_add(rows, &(struct st_new_row){.source = {ST_NO_ROW, index, 0, ST_NO_ROW},
					       .begin_ns = event->time_ns,
					       .end_ns = event->time_ns + (int64_t)event->extra,
					       .process = process,
					       .track = event->track});
	name_keys(rows,
		  at < count ? st_sync_object_text(rows->result, regions->objects[at], &rows->arena)
			     : plain("[Unknown]"));
	st_rows_key(rows, ST_BY_TASK_TYPE,
		    event->slice == ST_NO_ROW ? plain("[Outside any task]")
					      : st_slice_name(rows->result, event->slice));
}

struct stretch {
	uint32_t process;
	int64_t begin_ns, end_ns;
};

static int by_begin(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void add_serial(struct st_rows *rows, uint32_t process, int64_t begin_ns, int64_t end_ns)
{
	if (end_ns <= begin_ns)
		return;
	st_rows_add(rows,
		    &(struct st_new_row){.source = {ST_NO_ROW, ST_NO_ROW, ST_NO_ROW, ST_NO_ROW},
					 .begin_ns = begin_ns,
					 .end_ns = end_ns,
					 .process = process,
					 .track = ST_NO_ROW});
	name_keys(rows, plain(st_openmp_serial));
	st_rows_key(rows, ST_BY_TASK_TYPE, plain("[Outside any region]"));
}

/* From the begin of a process to its end, when no region was under way. */
static bool add_all_serial(struct st_rows *rows)
{
	uint32_t regions = rows->count, count;
	const struct st_process *processes = st_result_processes(rows->result, &count);
	struct stretch *stretches = calloc((size_t)regions + 1, sizeof(*stretches));
	bool done = stretches != NULL;

	for (uint32_t i = 0; stretches && i < regions; i++)
		stretches[i] = (struct stretch){rows->columns[ST_BY_PROCESS][i], rows->begin_ns[i],
						rows->end_ns[i]};
	if (stretches)
		qsort(stretches, regions, sizeof(*stretches), by_begin);
	for (uint32_t i = 0; stretches && i < regions;) {
		uint32_t process = stretches[i].process;
		int64_t done_ns = process < count ? processes[process].first_ns : 0;

		for (; i < regions && stretches[i].process == process; i++) {
			add_serial(rows, process, done_ns, stretches[i].begin_ns);
			if (stretches[i].end_ns > done_ns)
				done_ns = stretches[i].end_ns;
		}
		if (process < count)
			add_serial(rows, process, done_ns, processes[process].last_ns);
	}
	free(stretches);
	return done;
}

bool st_rows_fill_openmp(struct st_rows *rows)
{
	const struct st_events *events = st_result_events(rows->result);
	struct regions regions = {.rows = rows};
	bool done = find_regions(&regions);

	for (uint32_t i = 0; done && i < events->count && !rows->failed; i++)
		if (events->rows[i].kind == ST_EVENT_PARALLEL)
			add_region(&regions, i);
	st_pair_map_fini(&regions.places);
	free(regions.objects);
	return done && (rows->failed || add_all_serial(rows));
}

/* Measures ----------------------------------------------------------------------------------------- */

struct st_openmp_region st_openmp_region(const struct st_dataset *dataset, uint32_t row)
{
	const struct st_rows *rows = dataset->private_data;
	uint32_t index = rows->source[row].event;
	struct st_openmp_region region = {.threads = 1};
	const struct st_event_row *event;

	if (index == ST_NO_ROW)
		return region;
	event = &st_result_events(rows->result)->rows[index];
	region.is_parallel = true;
	region.threads =
		event->detail & ST_PARALLEL_THREADS ? event->detail & ST_PARALLEL_THREADS : 1;
	region.imbalance_ns =
		(uint64_t)((double)event->extra * (event->detail >> ST_PARALLEL_SHIFT) /
				   ST_PARALLEL_WHOLE +
			   0.5);
	region.wait_ns = region.imbalance_ns * region.threads;
	return region;
}

static uint64_t read_region(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	struct st_openmp_region region = st_openmp_region(dataset, row);

	if (arg == ST_REGION_THREAD_SUM)
		return region.threads;
	return arg == ST_IMBALANCE ? region.imbalance_ns : region.wait_ns;
}

#define SUM(how, what) .fold = ST_FOLD_SUM, .read = (how), .arg = (what)

const struct st_measure st_openmp_measures[ST_OPENMP_MEASURES] = {
	{ST_IMBALANCE, "imbalance", "imbalance_ns", "Imbalance Time", "ns",
	 SUM(read_region, ST_IMBALANCE), .is_time = true},
	{ST_REGION_WAIT, "region-wait", "region_wait_ns", "Wait Time at End", "ns",
	 SUM(read_region, ST_REGION_WAIT), .is_time = true},
	{ST_REGION_THREADS, "region-threads", "region_threads", "Region Threads", "",
	 ST_FOLD_AVERAGE, .part = ST_REGION_THREAD_SUM, .whole = ST_COUNT},
	{ST_REGION_THREAD_SUM, SUM(read_region, ST_REGION_THREAD_SUM)},
};
