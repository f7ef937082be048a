// SPDX-License-Identifier: Apache-2.0
//
// The rows of what threads did: one for each thread and class. They are sums, so where a row lies in time means nothing; but
// those of a part of the run lie in it.
#include <string.h>

#include "analyze/datasets/row_sets.h"
#include "analyze/datasets/thread_time.h"

static void add(struct st_rows *rows, uint32_t track, const struct st_thread_time *time,
		const char *class, uint64_t ns)
{
	if (!ns || rows->failed)
		return;
	st_rows_add(rows, &(struct st_new_row){
				  .source = {ST_NO_ROW, ST_NO_ROW, ST_NO_ROW, ST_NO_ROW},
				  .begin_ns = time->begin_ns,
				  .end_ns = time->begin_ns + (int64_t)ns,
				  .process = st_rows_process_of(rows, track),
				  .track = track,
			  });
	st_rows_key(rows, ST_BY_WAIT_CLASS, (struct st_text){class, strlen(class)});
}

bool st_rows_fill_thread_time(struct st_rows *rows)
{
	struct st_thread_times times;

	if (!st_thread_times_make(&times, &rows->sites, rows->within_ns))
		return false;
	for (uint32_t i = 0; i < times.count; i++) {
		const struct st_thread_time *time = &times.threads[i];

		if (!time->is_known)
			continue;
		add(rows, i, time, "Running", time->running_ns);
		for (unsigned int class = 0; class < ST_WAIT_CLASSES; class ++)
			add(rows, i, time, st_wait_class_word((enum st_wait_class) class),
			    time->class_ns[class]);
	}
	st_thread_times_fini(&times);
	return true;
}
