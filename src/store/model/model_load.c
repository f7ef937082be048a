// SPDX-License-Identifier: Apache-2.0
//
// Fills the model from definitions.strata: one function per kind of record. Records are read with the
// bounded cursor; one that is too short for its fields is counted as damage and left out.
#include "store/model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/model/segment.h"
#include "store/model/source.h"

enum { LIST_MAX = 1 << 20 };

static bool load_process(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint32_t pid = st_cursor_u32(body), parent_id = st_cursor_u32(body);
	uint32_t incarnation, flags, index;
	uint64_t first_ticks;
	struct st_text arguments, executable;
	struct st_process *process;
	st_string_id joined;

	st_cursor_u64(body); /* start_time: tells processes apart while recording, not later */
	incarnation = st_cursor_u32(body);
	flags = st_cursor_u32(body);
	first_ticks = st_cursor_u64(body);
	arguments = st_cursor_text(body);
	executable = st_cursor_text(body);
	if (body->failed)
		return true;
	index = st_model_process(model, process_id);
	if (index == ST_ID_NONE)
		return false;
	process = &model->processes[index];
	process->pid = pid;
	process->incarnation = incarnation;
	process->flags = flags;
	if (!st_model_keep_text(model, executable, &process->executable) ||
	    !st_model_keep_text(model, arguments, &joined))
		return false;
	model->more[index].is_defined = true;
	model->more[index].parent_id = parent_id;
	model->more[index].first_ticks = first_ticks;
	model->more[index].arguments = st_text_table_get(&model->texts, joined);
	st_model_saw_time(model, first_ticks);
	return st_process_describe(&model->texts, model->more[index].arguments, process);
}

static bool load_process_end(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint64_t ticks = st_cursor_u64(body);
	uint32_t how = st_cursor_u32(body), status = st_cursor_u32(body), index;

	if (body->failed)
		return true;
	index = st_model_process(model, process_id);
	if (index == ST_ID_NONE)
		return false;
	model->processes[index].end = (enum st_process_end)how;
	model->processes[index].wait_status = (int)status;
	model->more[index].has_end = true;
	model->more[index].end_ticks = ticks;
	st_model_saw_time(model, ticks);
	return true;
}

static bool load_name(struct st_model *model, struct st_id_map *map, uint32_t process_id,
		      struct st_cursor *body)
{
	uint32_t id = st_cursor_u32(body);
	struct st_text text = st_cursor_text(body);
	st_string_id kept;

	return body->failed || (st_model_keep_text(model, text, &kept) &&
				st_id_map_put(map, st_id_pair(process_id, id), kept));
}

static bool load_string(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	return load_name(model, &model->strings, process_id, body);
}

static bool load_domain(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	return load_name(model, &model->domains, process_id, body);
}

static bool load_thread_name(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	return load_name(model, &model->thread_names, process_id, body);
}

static bool load_inherit(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint32_t ancestor_id = st_cursor_u32(body), strings = st_cursor_u32(body);
	uint32_t domains = st_cursor_u32(body), objects = 0, index;

	if (body->at < body->end) /* version 1.0 had none */
		objects = st_cursor_u32(body);
	if (body->failed)
		return true;
	index = st_model_process(model, process_id);
	if (index == ST_ID_NONE)
		return false;
	model->more[index].ancestor_id = ancestor_id;
	model->more[index].inherited_strings = strings;
	model->more[index].inherited_domains = domains;
	model->more[index].inherited_objects = objects;
	return true;
}

static bool load_track(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint32_t track_id = st_cursor_u32(body), tid = st_cursor_u32(body);
	uint32_t kind = ST_TRACK_THREAD;
	uint64_t first_ticks = st_cursor_u64(body);
	struct st_text name = {"", 0};
	struct st_track_definition *track;

	if (body->at < body->end) { /* before version 1.6 every track was a thread */
		kind = st_cursor_u32(body);
		name = st_cursor_text(body);
	}
	if (body->failed)
		return true;
	track = st_model_track(model, process_id, track_id, true);
	if (!track)
		return false;
	track->is_defined = true;
	track->kind = kind < ST_TRACK_OTHER ? kind : ST_TRACK_OTHER;
	track->tid = tid;
	track->first_ticks = first_ticks;
	st_model_saw_time(model, first_ticks);
	return st_model_keep_text(model, name, &track->name);
}

static bool load_loss(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint32_t track_id = st_cursor_u32(body), index;
	struct st_loss loss = {0};
	struct st_track_definition *track;

	loss.slices_dropped = st_cursor_u64(body);
	loss.unmatched_ends = st_cursor_u64(body);
	loss.no_slot = st_cursor_u64(body);
	loss.labels_cut = st_cursor_u64(body);
	loss.labels_unknown = st_cursor_u64(body);
	loss.suspect = st_cursor_u64(body);
	if (body->at < body->end) { /* version 1.0 had none */
		loss.events_dropped = st_cursor_u64(body);
		loss.events_cut = st_cursor_u64(body);
	}
	if (body->at < body->end) /* version 1.1 had none */
		loss.samples_dropped = st_cursor_u64(body);
	if (body->failed)
		return true;
	if (!track_id) {
		index = st_model_process(model, process_id);
		if (index == ST_ID_NONE)
			return false;
		model->processes[index].loss = loss;
		model->more[index].has_loss = true;
		return true;
	}
	track = st_model_track(model, process_id, track_id, true);
	if (track)
		track->loss = loss;
	return track != NULL;
}

static bool load_not_entered(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_not_entered_program program = {.count = 1};
	struct st_text executable, command;
	uint64_t ticks, key;
	uint32_t known;

	(void)process_id;
	program.pid = st_cursor_u32(body);
	program.reason = (enum st_not_entered)st_cursor_u32(body);
	ticks = st_cursor_u64(body);
	executable = st_cursor_text(body);
	command = st_cursor_text(body);
	if (body->at < body->end) /* older results have none */
		program.cpu_ns = st_cursor_u64(body);
	if (body->failed)
		return true;
	if (!st_model_keep_text(model, executable, &program.executable))
		return false;
	/* One word without NUL is a command line already. */
	if (memchr(command.bytes, '\0', command.size_bytes)
		    ? !st_command_line(&model->texts, command, &program.command)
		    : !st_model_keep_text(model, command, &program.command))
		return false;
	st_model_saw_time(model, ticks);
	key = st_id_pair(program.executable, (uint32_t)program.reason);
	known = st_id_map_get(&model->not_entered_index, key);
	if (known != ST_ID_NONE) {
		model->not_entered[known].count++;
		model->not_entered[known].cpu_ns += program.cpu_ns;
		return true;
	}
	known = model->not_entered_count;
	if (known >= LIST_MAX ||
	    !ST_VEC_ROOM(model->not_entered_ticks, known, model->not_entered_ticks_capacity) ||
	    !ST_VEC_PUSH(model->not_entered, model->not_entered_count, model->not_entered_capacity,
			 program))
		return false;
	model->not_entered_ticks[known] = ticks;
	return st_id_map_put(&model->not_entered_index, key, known);
}

static bool load_note(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint32_t severity = st_cursor_u32(body);
	uint64_t ticks = st_cursor_u64(body);
	struct st_text text = st_cursor_text(body);

	(void)process_id;
	if (body->failed)
		return true;
	st_model_saw_time(model, ticks);
	if (severity)
		st_notes_add(&model->notes, "%.*s",
			     text.size_bytes > ST_NOTE_BYTES_MAX ? ST_NOTE_BYTES_MAX
								 : (int)text.size_bytes,
			     text.bytes);
	return true;
}

static bool load_control(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_family_control control = {.ticks = st_cursor_u64(body),
					    .kind = st_cursor_u32(body)};

	(void)process_id;
	if (body->failed || model->control_count >= LIST_MAX)
		return true;
	st_model_saw_time(model, control.ticks);
	return ST_VEC_PUSH(model->controls, model->control_count, model->control_capacity, control);
}

/* A type that is not here is skipped. */
static const struct {
	st_definition_loader *load;
	bool names_process; /* it is known from here on, whether it is defined or not */
} loaders[] = {
	[ST_DEF_PROCESS] = {load_process, false},
	[ST_DEF_PROCESS_END] = {load_process_end, false},
	[ST_DEF_STRING] = {load_string, false},
	[ST_DEF_DOMAIN] = {load_domain, false},
	[ST_DEF_INHERIT] = {load_inherit, false},
	[ST_DEF_THREAD] = {load_track, false},
	[ST_DEF_THREAD_NAME] = {load_thread_name, false},
	[ST_DEF_LOSS] = {load_loss, false},
	[ST_DEF_NOT_ENTERED] = {load_not_entered, false},
	[ST_DEF_NOTE] = {load_note, false},
	[ST_DEF_FAMILY_CONTROL] = {load_control, false},
	[ST_DEF_OBJECT] = {st_model_load_object, false},
	[ST_DEF_OBJECT_METADATA] = {st_model_load_fact, false},
	[ST_DEF_CODE_EVENT] = {st_model_load_code, false},
	[ST_DEF_CODE_MAP] = {st_model_load_map, false},
	[ST_DEF_FAMILY_MARK] = {st_model_load_mark, false},
	[ST_DEF_STACK_NODES] = {st_forest_load_nodes, true},
	[ST_DEF_PYTHON_CODE] = {st_forest_load_code, true},
	[ST_DEF_PYTHON_RUNTIME] = {st_forest_load_runtime, true},
	[ST_DEF_SAMPLER] = {st_forest_load_sampler, true},
	[ST_DEF_THREAD_CREATOR] = {st_forest_load_creator, true},
	[ST_DEF_SAMPLER_LOSS] = {st_forest_load_loss, true},
	[ST_DEF_SIGNATURE] = {st_model_load_signature, false},
	[ST_DEF_OPERATOR_SOURCE] = {st_model_load_operator_source, false},
	[ST_DEF_PYTHON_FUNCTION] = {st_model_load_python_function, false},
	[ST_DEF_PYTHON_CALLS] = {st_model_load_python_calls, false},
	[ST_DEF_FAMILY_DEMAND] = {st_model_load_demand, false},
};

struct load {
	struct st_model *model;
	uint32_t process_id; /* of the chunk */
	bool no_memory;
};

/* False: no memory. */
static bool load_record(const struct load *load, uint32_t type, struct st_cursor *body)
{
	if (type >= sizeof(loaders) / sizeof(loaders[0]) || !loaders[type].load)
		return true;
	if (loaders[type].names_process &&
	    st_model_process(load->model, load->process_id) == ST_ID_NONE)
		return false;
	return loaders[type].load(load->model, load->process_id, body);
}

/* False when a record did not have the fields it must have, or the last one was cut off. */
static bool load_records(struct load *load, const struct st_buf *raw)
{
	struct st_cursor payload = {.at = raw->data, .end = raw->data + raw->size_bytes}, body;
	enum st_definition_type type;
	bool good = true;

	while (st_definition_next(&payload, &type, &body) && !load->no_memory) {
		load->no_memory = !load_record(load, type, &body);
		good = good && !body.failed;
	}
	return good && !payload.failed;
}

static void load_head(struct st_model *model, const struct st_buf *raw)
{
	struct st_file_head head;

	if (raw->size_bytes < sizeof(head))
		return;
	memcpy(&head, raw->data, sizeof(head));
	if (head.file_kind == ST_FILE_DEFINITIONS)
		st_model_offer_head(model, &head);
}

static void load_chunk(struct load *load, struct st_chunk_walk *walk,
		       const struct st_chunk_view *view, const struct st_buf *raw)
{
	struct st_error why = {0};

	if (view->header.type == ST_CHUNK_FILE) {
		load_head(load->model, raw);
	} else if (view->header.type == ST_CHUNK_DEFINITIONS) {
		load->process_id = view->header.process;
		if (load_records(load, raw) || load->no_memory)
			return;
		st_error_set(&why, ST_ECORRUPT, 0, "it contains a truncated definition");
		st_walk_reject(walk, view, &why);
	}
}

static void resolve_parents(struct st_model *model)
{
	for (uint32_t i = 0; i < model->process_count; i++) {
		uint32_t parent_id = model->more[i].parent_id;

		if (parent_id && parent_id != model->processes[i].id)
			model->processes[i].parent =
				st_id_map_get(&model->process_index, parent_id);
	}
}

static bool is_ring_head(struct st_model *model, const struct st_buf *raw)
{
	struct st_file_head head;

	if (raw->size_bytes < sizeof(head))
		return false;
	memcpy(&head, raw->data, sizeof(head));
	return head.file_kind == ST_FILE_TRACE && head.flags & ST_FILE_RING_BUFFER &&
	       st_model_offer_head(model, &head);
}

/* Trace files of a ring buffer hold definitions too. What is damaged in them is said by the scan, which
 * walks them again; so notes are thrown away here. */
static void load_trace_file(struct load *load, struct st_unpacker *unpacker, struct st_buf *raw,
			    const struct st_source_file *file)
{
	struct st_notes notes = {0};
	struct st_chunk_view view;
	struct st_error ignored = {0};
	struct st_chunk_walk walk;
	bool is_ring = false;

	st_chunk_walk_init(&walk, file->name, file->data, file->size_bytes, &notes);
	while (!load->no_memory && st_chunk_walk_next(&walk, &view, &ignored) == ST_OK) {
		bool is_head = view.header.type == ST_CHUNK_FILE;

		if (!is_head && !is_ring)
			break;
		if (!is_head && view.header.type != ST_CHUNK_DEFINITIONS)
			continue;
		if (st_unpacker_read(unpacker, &view.header, view.packed, raw, &ignored)) {
			load->no_memory |= ignored.status == ST_ENOMEM;
			ignored.status = ST_OK;
		} else if (is_head) {
			is_ring = is_ring_head(load->model, raw);
		} else {
			load_chunk(load, &walk, &view, raw);
		}
	}
	st_notes_fini(&notes);
}

enum st_status st_model_load(struct st_model *model, const struct st_source *source,
			     enum st_writing writing, struct st_error *err)
{
	const struct st_source_file *file = &source->definitions;
	struct load load = {.model = model};
	struct st_unpacker *unpacker = NULL;
	struct st_chunk_view view;
	struct st_chunk_walk walk;
	struct st_buf raw;
	enum st_status status = st_unpacker_create(&unpacker, err);

	if (status)
		return status;
	st_buf_init(&raw, (size_t)ST_CHUNK_RAW_MAX + 1);
	st_chunk_walk_init(&walk, file->name, file->data, file->size_bytes, &model->notes);
	walk.writing = writing;
	while (!load.no_memory && (status = st_chunk_walk_next(&walk, &view, err)) == ST_OK) {
		struct st_error why = {0};

		if (st_unpacker_read(unpacker, &view.header, view.packed, &raw, &why) == ST_ENOMEM)
			load.no_memory = true;
		else if (why.status)
			st_walk_reject(&walk, &view, &why);
		else
			load_chunk(&load, &walk, &view, &raw);
	}
	model->damaged_chunks += walk.damaged_chunks;
	model->damaged_bytes += walk.damaged_bytes;
	for (uint32_t i = 0; i < source->segment_count && !load.no_memory; i++)
		load_trace_file(&load, unpacker, &raw, &source->segments[i]);
	resolve_parents(model);
	st_model_sort_maps(model);
	if (!load.no_memory && !st_forest_finish(model))
		load.no_memory = true;
	st_buf_fini(&raw);
	st_unpacker_destroy(unpacker);
	if (load.no_memory)
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory for its definitions",
				    file->name);
	return status == ST_ENOTFOUND ? ST_OK : status;
}
