// SPDX-License-Identifier: Apache-2.0
//
// Report "info": everything a result knows of the run itself. Rows are facts in sections; columns that
// do not concern a fact stay empty.
#include "analyze/reports/report_kinds.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/datasets/quality.h"
#include "analyze/tables/report_make.h"
#include "analyze/datasets/words.h"
#include "store/result.h"

enum column {
	SECTION,
	NAME,
	VALUE,
	PID,
	TID,
	END,
	START_NS,
	END_NS,
	COUNT,
	COLUMNS,
};

static const struct st_column columns[COLUMNS] = {
	[SECTION] = {"section", "Section", "", true},
	[NAME] = {"name", "Name", "", true},
	[VALUE] = {"value", "Value", "", false},
	[PID] = {"pid", "PID", "", false},
	[TID] = {"tid", "TID", "", false},
	[END] = {"end", "End", "", true},
	[START_NS] = {"start_ns", "Start Time", "ns", false},
	[END_NS] = {"end_ns", "End Time", "ns", false},
	[COUNT] = {"count", "Task Count", "", false},
};

static void add_run(struct st_report *report, const struct st_result_info *info)
{
	st_report_fact_text(report, "run", "command", info->command);
	st_report_fact_text(report, "run", "working_dir", info->working_dir);
	st_report_fact_text(report, "run", "type", info->type);
	st_report_fact_text(report, "run", "options", info->options);
	st_report_fact_text(report, "run", "state", info->state);
	st_report_fact_text(report, "run", "source", info->source);
	st_report_fact_text(report, "run", "started_at", info->started_at);
	st_report_fact_number(report, "run", "elapsed_ns",
			      info->elapsed_ns > 0 ? (uint64_t)info->elapsed_ns : 0);
	st_report_fact_number(report, "run", "collected_ns",
			      info->collected_ns > 0 ? (uint64_t)info->collected_ns : 0);
	if (info->has_exit)
		st_report_fact_text(
			report, "run", "end",
			st_words_wait_status(info->wait_status, st_report_arena(report)));
	st_report_fact_text(report, "run", "stop_reason", info->stop_reason);
	st_report_fact_text(report, "run", "result", info->path);
	st_report_fact_number(report, "run", "size_bytes", info->size_bytes);
	st_report_fact_text(report, "host", "host", info->host);
	st_report_fact_text(report, "host", "os", info->os);
	st_report_fact_text(report, "host", "cpu", info->cpu);
	st_report_fact_number(report, "host", "cpu_count", info->cpu_count);
	st_report_fact_text(report, "host", "clock", info->clock);
	st_report_fact_text(report, "strata", "version", info->strata_version);
	st_report_fact_number(report, "strata", "pair_cost_ps", info->event_cost_ns_x1000);
	st_report_fact_number(report, "strata", "cpu_ns", info->strata_cpu_ns);
	st_report_fact_number(report, "strata", "peak_rss_bytes", info->peak_rss_bytes);
}

static void add_processes(struct st_report *report, const struct st_result *result,
			  const struct st_dataset *dataset)
{
	struct st_arena *arena = st_report_arena(report);
	uint32_t process_count, track_count;
	const struct st_process *processes = st_result_processes(result, &process_count);
	const struct st_track *tracks = st_result_tracks(result, &track_count);
	uint64_t *counts = st_arena_calloc(arena, (size_t)process_count + 1, sizeof(*counts));

	for (uint32_t i = 0; counts && i < track_count; i++) {
		if (tracks[i].process < process_count)
			counts[tracks[i].process] += tracks[i].row_end - tracks[i].row_begin;
	}
	for (uint32_t i = 0; counts && i < process_count; i++) {
		struct st_cell *cells = st_report_fact(report, "process", "");

		cells[NAME] = st_cell_bytes(dataset->text(dataset, ST_BY_PROCESS, i, arena));
		cells[VALUE] = st_cell_bytes(st_result_text(result, processes[i].command_line));
		cells[PID] = st_cell_u64(processes[i].pid);
		cells[END] = st_cell_text(st_words_process_end(&processes[i], arena));
		cells[START_NS] = st_cell_i64(processes[i].first_ns);
		cells[END_NS] = st_cell_i64(processes[i].last_ns);
		cells[COUNT] = st_cell_u64(counts[i]);
	}
	for (uint32_t i = 0; i < track_count; i++) {
		struct st_cell *cells = st_report_fact(report, "thread", "");

		cells[NAME] = st_cell_bytes(dataset->text(dataset, ST_BY_THREAD, i, arena));
		if (tracks[i].process < process_count)
			cells[PID] = st_cell_u64(processes[tracks[i].process].pid);
		cells[TID] = st_cell_u64(tracks[i].tid);
		cells[START_NS] = st_cell_i64(tracks[i].first_ns);
		cells[END_NS] = st_cell_i64(tracks[i].last_ns);
		cells[COUNT] = st_cell_u64(tracks[i].row_end - tracks[i].row_begin);
		if (tracks[i].loss.slices_dropped)
			cells[VALUE] = st_cell_text(
				st_arena_printf(arena, "%llu dropped",
						(unsigned long long)tracks[i].loss.slices_dropped));
	}
}

static void add_not_entered(struct st_report *report, const struct st_result *result)
{
	uint32_t count;
	const struct st_not_entered_program *programs = st_result_not_entered(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct st_cell *cells = st_report_fact(report, "not_entered", "");

		cells[NAME] = st_cell_bytes(st_result_text(result, programs[i].executable));
		cells[VALUE] = st_cell_text(st_words_not_entered(programs[i].reason));
		cells[PID] = st_cell_u64(programs[i].pid);
		cells[START_NS] = st_cell_i64(programs[i].time_ns);
		cells[COUNT] = st_cell_u64(programs[i].count);
	}
}

static void add_pauses(struct st_report *report, const struct st_result *result)
{
	uint32_t count, process_count;
	const struct st_pause_window *pauses = st_result_pauses(result, &count);
	const struct st_process *processes = st_result_processes(result, &process_count);
	bool stopped = *st_result_info(result)->stop_reason;

	for (uint32_t i = 0; i < count; i++) {
		bool is_last = pauses[i].process == ST_NO_ROW &&
			       (i + 1 == count || pauses[i + 1].process != ST_NO_ROW);
		struct st_cell *cells;

		/* A stop is kept as the family's last pause, which never ends: nothing was paused. */
		if (stopped && is_last)
			continue;
		cells = st_report_fact(report, "pause", "family");

		cells[START_NS] = st_cell_i64(pauses[i].begin_ns);
		cells[END_NS] = st_cell_i64(pauses[i].end_ns);
		if (pauses[i].process < process_count) {
			cells[NAME] = st_cell_text("process");
			cells[PID] = st_cell_u64(processes[pauses[i].process].pid);
		}
	}
}

static void add_quality(struct st_report *report, const struct st_result *result)
{
	const struct st_quality *quality = st_result_quality(result);
	struct st_quality_item items[ST_QUALITY_ITEMS];

	st_quality_items(result, items);
	for (unsigned int i = 0; i < ST_QUALITY_ITEMS; i++)
		st_report_fact_number(report, "quality", items[i].key, items[i].value);
	for (size_t i = 0; i < quality->note_count; i++)
		st_report_fact_text(report, "note", "", quality->notes[i]);
}

/* Sizes of the files in the folder, as far as they can be seen. */
static void add_files(struct st_report *report, const struct st_result_info *info)
{
	struct st_arena *arena = st_report_arena(report);
	struct dirent **entries = NULL;
	int fd = open(info->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int count = fd < 0 ? -1 : scandirat(fd, ".", &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		struct stat st;

		if (fstatat(fd, entries[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode)) {
			const char *name = st_arena_printf(arena, "%s", entries[i]->d_name);

			st_report_fact_number(report, "file_bytes", name, (uint64_t)st.st_size);
		}
		free(entries[i]);
	}
	free(entries);
	if (fd >= 0)
		close(fd);
}

enum st_status st_report_info_build(const struct st_report_kind *kind,
				    const struct st_result *result,
				    const struct st_report_options *options, struct st_report *out,
				    struct st_error *err)
{
	const struct st_result_info *info = st_result_info(result);
	struct st_dataset dataset;
	enum st_status status = st_dataset_slices_init(&dataset, result, err);

	(void)kind;
	(void)options; /* none is accepted */
	if (status)
		return status;
	st_report_columns(out, columns, COLUMNS);
	add_run(out, info);
	add_files(out, info);
	add_processes(out, result, &dataset);
	add_not_entered(out, result);
	add_pauses(out, result);
	add_quality(out, result);
	st_dataset_slices_fini(&dataset);
	return ST_OK;
}
