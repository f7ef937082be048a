// SPDX-License-Identifier: Apache-2.0
//
// Opens a result (store/result.h): reads its description and its definitions, gets an index, and builds
// the tables that reports use. The work itself is in the files around this one.
#include "store/result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/family.h"
#include "store/read/result_state.h"
#include "store/model/source.h"

static bool load_index(struct st_result *result, const struct st_source *source)
{
	struct st_index_key key = st_index_key_of(source);

	if (!st_index_load(&result->index, source->dir_fd, &key))
		return false;
	if (st_index_meta_read(&result->meta, &result->model, &result->index))
		return true;
	st_index_close(&result->index);
	return false;
}

static enum st_status get_index(struct st_result *result, const struct st_source *source,
				const struct st_result_options *options, struct st_error *err)
{
	struct st_index_request request = {.source = source,
					   .model = &result->model,
					   .writing = result->more.writing,
					   .options = options};

	if (!(options && options->rebuild_index) && load_index(result, source))
		return ST_OK;
	return st_index_build(&result->index, &result->meta, &request, err);
}

static bool make_labels(struct st_result *result)
{
	const struct st_index_meta *meta = &result->meta;

	result->labels = calloc((size_t)meta->label_count + 1, sizeof(*result->labels));
	if (!result->labels)
		return false;
	for (uint32_t i = 0; i < meta->label_count; i++) {
		struct st_label *label = &result->labels[i];

		label->domain = meta->labels[i].domain;
		label->name = meta->labels[i].name;
		label->category = meta->labels[i].category;
		label->from_itt = meta->labels[i].from_itt;
		if (!st_family_of(&result->model.texts, label->name, &label->family))
			return false;
	}
	return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_loss(struct st_loss *sum, const struct st_loss *loss)
{
	sum->slices_dropped += loss->slices_dropped;
	sum->unmatched_ends += loss->unmatched_ends;
	sum->no_slot += loss->no_slot;
	sum->labels_cut += loss->labels_cut;
	sum->labels_unknown += loss->labels_unknown;
	sum->suspect += loss->suspect;
	sum->events_dropped += loss->events_dropped;
	sum->events_cut += loss->events_cut;
	sum->samples_dropped += loss->samples_dropped;
}

/* Two tellings of the same losses, where one may be incomplete: the larger is nearer the truth. */
static void raise_loss(struct st_loss *loss, const struct st_loss *other)
{
	loss->slices_dropped = larger(loss->slices_dropped, other->slices_dropped);
	loss->unmatched_ends = larger(loss->unmatched_ends, other->unmatched_ends);
	loss->no_slot = larger(loss->no_slot, other->no_slot);
	loss->labels_cut = larger(loss->labels_cut, other->labels_cut);
	loss->labels_unknown = larger(loss->labels_unknown, other->labels_unknown);
	loss->suspect = larger(loss->suspect, other->suspect);
	loss->events_dropped = larger(loss->events_dropped, other->events_dropped);
	loss->events_cut = larger(loss->events_cut, other->events_cut);
	loss->samples_dropped = larger(loss->samples_dropped, other->samples_dropped);
}

static bool make_track(struct st_result *result, uint32_t index)
{
	const struct st_index_track *from = &result->meta.tracks[index];
	struct st_model *model = &result->model;
	struct st_track *track = &result->tracks[index];
	const struct st_track_definition *told;
	struct st_loss marks = {.slices_dropped = from->lost,
				.unmatched_ends = from->unmatched_ends};
	uint32_t name;

	track->process = st_model_process(model, from->process_id);
	if (track->process == ST_ID_NONE)
		return false;
	track->id = from->track_id;
	track->row_begin = from->row_begin;
	track->row_end = from->row_end;
	track->first_ns = from->first_ns;
	track->last_ns = from->last_ns;
	told = st_model_track(model, from->process_id, from->track_id, false);
	if (told) {
		track->kind = told->kind;
		track->tid = told->tid;
		track->name = told->name;
		track->loss = told->loss;
	}
	raise_loss(&track->loss, &marks);
	name = st_id_map_get(&model->thread_names, st_id_pair(from->process_id, track->tid));
	if (track->kind == ST_TRACK_THREAD && name != ST_ID_NONE)
		track->name = name;
	return true;
}

/* Sums of the tracks against what the process itself says it lost. */
static bool sum_losses(struct st_result *result)
{
	struct st_model *model = &result->model;
	struct st_loss *sums = calloc((size_t)model->process_count + 1, sizeof(*sums));

	if (!sums)
		return false;
	for (uint32_t i = 0; i < result->meta.track_count; i++)
		add_loss(&sums[result->tracks[i].process], &result->tracks[i].loss);
	for (uint32_t i = 0; i < model->process_count; i++) {
		raise_loss(&model->processes[i].loss, &sums[i]);
		add_loss(&result->quality.loss, &model->processes[i].loss);
	}
	free(sums);
	return true;
}

static void time_processes(struct st_result *result)
{
	struct st_model *model = &result->model;
	uint32_t hint = 0;

	for (uint32_t i = 0; i < model->process_count; i++) {
		struct st_process *process = &model->processes[i];
		const struct st_process_more *more = &model->more[i];

		process->first_ns = INT64_MAX;
		if (more->is_defined)
			process->first_ns =
				st_clock_map_ns(&result->meta.clock, &hint, more->first_ticks);
		process->last_ns =
			more->has_end ? st_clock_map_ns(&result->meta.clock, &hint, more->end_ticks)
				      : 0;
	}
	for (uint32_t i = 0; i < result->meta.track_count; i++) {
		const struct st_track *track = &result->tracks[i];
		struct st_process *process = &model->processes[track->process];

		if (track->first_ns < process->first_ns)
			process->first_ns = track->first_ns;
		if (track->last_ns > process->last_ns)
			process->last_ns = track->last_ns;
	}
	for (uint32_t i = 0; i < model->process_count; i++) {
		struct st_process *process = &model->processes[i];

		if (process->first_ns == INT64_MAX)
			process->first_ns = 0;
		if (!model->more[i].has_end && model->more[i].is_defined &&
		    process->last_ns < result->meta.last_ns)
			process->last_ns = result->meta.last_ns;
		if (process->last_ns < process->first_ns)
			process->last_ns = process->first_ns;
	}
}

static bool make_tracks(struct st_result *result)
{
	uint32_t count = result->meta.track_count;

	result->tracks = calloc((size_t)count + 1, sizeof(*result->tracks));
	if (!result->tracks)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!make_track(result, i))
			return false;
	time_processes(result);
	return sum_losses(result);
}

static bool make_windows(struct st_result *result)
{
	const struct st_pauses *pauses = &result->meta.pauses;

	result->windows = calloc((size_t)pauses->span_count + 1, sizeof(*result->windows));
	if (!result->windows)
		return false;
	for (uint32_t i = 0; i < pauses->span_count; i++) {
		struct st_pause_window *window = &result->windows[i];
		uint32_t id = pauses->spans[i].process_id;

		/* Every process of a window has a track, so it is known by now. */
		window->process = id == ST_PAUSE_FAMILY
					  ? ST_NO_ROW
					  : st_id_map_get(&result->model.process_index, id);
		window->begin_ns = pauses->spans[i].begin_ns;
		window->end_ns = pauses->spans[i].end_ns;
	}
	return true;
}

/* Files that a ring buffer dropped are no damage, but must be said. */
static void note_first_files(struct st_result *result, const struct st_source *source)
{
	struct st_notes *notes = &result->model.notes;
	const struct st_info_more *more = &result->more;

	if (!source->missing_first)
		return;
	if (!result->meta.is_ring && more->ring_buffer_s <= 0) {
		result->quality.missing_segments += source->missing_first;
		st_notes_add(notes, "%" PRIu32 " trace files before %s are missing",
			     source->missing_first, source->segments[0].name);
		return;
	}
	st_notes_add(notes,
		     "ring buffer: kept the last %g s; %" PRIu32 " file%s with %" PRIu64
		     " records dropped",
		     more->ring_buffer_s, source->missing_first,
		     source->missing_first == 1 ? "" : "s", more->records_dropped);
}

/* The first moment of which something is left, of a result whose first files a ring buffer dropped. */
static void find_kept(struct st_result *result, const struct st_source *source)
{
	const struct st_slices *slices = &result->slices;
	int64_t first_ns = INT64_MAX;

	if (!source->missing_first || (!result->meta.is_ring && result->more.ring_buffer_s <= 0))
		return;
	for (uint32_t i = 0; i < slices->count; i++) {
		if (slices->begin_ns[i] < first_ns)
			first_ns = slices->begin_ns[i];
	}
	for (uint32_t i = 0; i < result->samples.count; i++) {
		if (result->samples.time_ns[i] < first_ns)
			first_ns = result->samples.time_ns[i];
	}
	if (first_ns > 0 && first_ns < INT64_MAX)
		result->info.kept_from_ns = first_ns;
}

static void make_quality(struct st_result *result, const struct st_source *source)
{
	struct st_quality *quality = &result->quality;
	const struct st_index_meta *meta = &result->meta;
	struct st_notes *notes = &result->model.notes;

	quality->unfinished = meta->unfinished;
	quality->clipped = meta->clipped;
	quality->mismatched = meta->mismatched;
	quality->copies = meta->copies;
	quality->twins = meta->twins;
	quality->spans_unfinished = meta->spans_unfinished;
	quality->missing_names = meta->missing_names;
	quality->damaged_chunks = meta->damaged_chunks + result->model.damaged_chunks;
	quality->damaged_bytes = meta->damaged_bytes + result->model.damaged_bytes;
	quality->missing_segments = source->missing_segments;
	note_first_files(result, source);
	quality->chunks_not_written = result->more.chunks_not_written;
	st_notes_append(notes, &meta->notes);
	st_notes_close(notes);
	quality->notes = (const char *const *)notes->items;
	quality->note_count = notes->count;
}

/* What a killed strata could not write into result.json follows from the files. */
static void complete_info(struct st_result *result)
{
	struct st_result_info *info = &result->info;
	const struct st_model *model = &result->model;
	int64_t last_ns = result->meta.last_ns;
	bool unfinished;

	for (uint32_t i = 0; i < model->process_count; i++) {
		struct st_process *process = &model->processes[i];

		if (!(process->flags & ST_PROCESS_DIRECT))
			continue;
		if (!*info->command)
			info->command =
				st_text_table_get(&model->texts, process->command_line).bytes;
		/* Collecting ended before the program did; how it ended came into result.json. */
		if (process->end == ST_END_LEFT_RUNNING && info->has_exit) {
			process->end = ST_END_EXITED;
			process->wait_status = info->wait_status;
			continue;
		}
		if (process->end != ST_END_EXITED)
			continue;
		last_ns = process->last_ns;
		if (!info->has_exit) {
			info->has_exit = true;
			info->wait_status = process->wait_status;
		}
	}
	info->start_wall_ns = model->head.start_wall_ns;
	memcpy(info->id, model->head.result_id, sizeof(info->id));
	/* Until the end, result.json tells how it stood at some earlier time. */
	unfinished = strcmp(info->state, "finished") != 0;
	if (!info->collected_ns || (unfinished && info->collected_ns < result->meta.last_ns))
		info->collected_ns = result->meta.last_ns;
	if (!info->elapsed_ns || (unfinished && info->elapsed_ns < last_ns))
		info->elapsed_ns = last_ns;
}

static void make_slices(struct st_result *result)
{
	const struct st_index_columns *columns = &result->index.columns;

	result->slices = (struct st_slices){
		.count = result->index.shape.row_count,
		.begin_ns = columns->begin_ns,
		.end_ns = columns->end_ns,
		.self_ns = columns->self_ns,
		.label = columns->label,
		.track = columns->track,
		.parent = columns->parent,
		.depth = columns->depth,
		.flags = columns->flags,
	};
}

static bool make_events(struct st_result *result)
{
	uint32_t count = result->meta.track_count;

	result->first_of_track = calloc((size_t)count + 1, sizeof(*result->first_of_track));
	if (!result->first_of_track)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		result->first_of_track[i] = result->meta.tracks[i].event_begin;
		result->first_of_track[i + 1] = result->meta.tracks[i].event_end;
	}
	result->events = (struct st_events){
		.count = result->index.shape.event_count,
		.rows = result->index.columns.events,
		.first_of_track = result->first_of_track,
	};
	return st_code_table_build(&result->code, &result->model, &result->meta.clock);
}

static bool make_tables(struct st_result *result, const struct st_source *source)
{
	struct st_model *model = &result->model;
	uint32_t hint = 0;

	if (!make_labels(result) || !make_tracks(result) || !make_windows(result) ||
	    !make_events(result) || !st_samples_make(result) || !st_operators_make(result))
		return false;
	st_python_calls_make(result);
	for (uint32_t i = 0; i < model->not_entered_count; i++)
		model->not_entered[i].time_ns =
			st_clock_map_ns(&result->meta.clock, &hint, model->not_entered_ticks[i]);
	make_slices(result);
	complete_info(result);
	find_kept(result, source);
	make_quality(result, source);
	return true;
}

static enum st_status open_notes(struct st_result **out, struct st_source *source,
				 struct st_notes *notes, const struct st_result_options *options,
				 struct st_error *err)
{
	struct st_result *result = calloc(1, sizeof(*result));
	enum st_status status;

	*out = NULL;
	if (!result)
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", source->path);
	result->index.fd = result->index.dir_fd = -1;
	if (!st_model_init(&result->model)) {
		status = st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", source->path);
		goto fail;
	}
	st_notes_append(&result->model.notes, notes);
	status = st_info_read(&result->info, &result->more, source, &result->model, err);
	if (!status)
		status = st_model_load(&result->model, source, result->more.writing, err);
	if (!status)
		status = get_index(result, source, options, err);
	if (!status && !make_tables(result, source))
		status = st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", source->path);
	if (status)
		goto fail;
	*out = result;
	return ST_OK;
fail:
	st_result_close(result);
	return status;
}

/* Errors from inside speak of files; the user gave a folder. */
static void name_folder(struct st_error *err, const char *path)
{
	struct st_error inner;

	if (!err || strncmp(err->text, path, strlen(path)) == 0)
		return;
	inner = *err;
	st_error_set(err, inner.status, 0, "%.200s/%s", path, inner.text);
	err->code = inner.code;
}

enum st_status st_result_open_source(struct st_result **out, struct st_source *source,
				     const struct st_result_options *options, struct st_error *err)
{
	struct st_notes notes = {0};
	enum st_status status = open_notes(out, source, &notes, options, err);

	st_source_close(source);
	return status;
}

enum st_status st_result_open(struct st_result **out, const char *path,
			      const struct st_result_options *options, struct st_error *err)
{
	struct st_notes notes = {0};
	struct st_source source;
	enum st_status status;

	*out = NULL;
	status = st_source_open(&source, path, &notes, err);
	if (!status) {
		status = open_notes(out, &source, &notes, options, err);
		if (status)
			name_folder(err, path);
		st_source_close(&source);
	}
	st_notes_fini(&notes);
	return status;
}

void st_result_close(struct st_result *result)
{
	if (!result)
		return;
	st_index_close(&result->index);
	st_index_meta_fini(&result->meta);
	st_model_fini(&result->model);
	free(result->tracks);
	free(result->named_objects);
	free(result->labels);
	free(result->windows);
	free(result->first_of_track);
	free(result->samplers);
	free(result->demands);
	free(result->sample_first);
	free(result->signatures);
	st_code_table_fini(&result->code);
	free(result);
}

const struct st_result_info *st_result_info(const struct st_result *result)
{
	return &result->info;
}

const struct st_quality *st_result_quality(const struct st_result *result)
{
	return &result->quality;
}

const struct st_slices *st_result_slices(const struct st_result *result)
{
	return &result->slices;
}

const struct st_process *st_result_processes(const struct st_result *result, uint32_t *count)
{
	*count = result->model.process_count;
	return result->model.processes;
}

const struct st_track *st_result_tracks(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.track_count;
	return result->tracks;
}

const struct st_label *st_result_labels(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.label_count;
	return result->labels;
}

const struct st_slice_flow *st_result_flows(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.flow_count;
	return result->meta.tables.flows;
}

const struct st_not_entered_program *st_result_not_entered(const struct st_result *result,
							   uint32_t *count)
{
	*count = result->model.not_entered_count;
	return result->model.not_entered;
}

const struct st_pause_window *st_result_pauses(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.pauses.span_count;
	return result->windows;
}

struct st_text st_result_text(const struct st_result *result, st_string_id id)
{
	return st_text_table_get(&result->model.texts, id);
}

bool st_result_name_label(struct st_result *result, uint32_t label, const char *name)
{
	struct st_label renamed;

	if (label >= result->meta.label_count)
		return false;
	renamed = result->labels[label];
	if (!st_text_table_add(&result->model.texts, name, strlen(name), &renamed.name) ||
	    !st_family_of(&result->model.texts, renamed.name, &renamed.family))
		return false;
	renamed.category = st_category_of(st_result_text(result, renamed.domain),
					  st_result_text(result, renamed.name), &renamed.from_itt);
	result->labels[label] = renamed;
	return true;
}

uint32_t st_result_text_count(const struct st_result *result)
{
	return result->model.texts.count;
}

uint64_t st_result_wall_ns(const struct st_result *result, uint32_t row)
{
	const struct st_slices *slices = &result->slices;
	uint64_t wall = (uint64_t)(slices->end_ns[row] - slices->begin_ns[row]);
	uint32_t process_id;

	if (!(slices->flags[row] & ST_SLICE_CLIPPED) || !result->meta.pauses.merged_count)
		return wall;
	process_id = result->meta.tracks[slices->track[row]].process_id;
	return wall - st_pause_overlap_ns(st_pauses_of(&result->meta.pauses, process_id),
					  slices->begin_ns[row], slices->end_ns[row]);
}
