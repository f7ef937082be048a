// SPDX-License-Identifier: Apache-2.0
//
// Fills the model from definitions.strata: one function per kind of record. Records are read with the
// bounded cursor; one that is too short for its fields is counted as damage and left out.
#include "store/model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/slices.h"
#include "store/model/segment.h"
#include "store/model/source.h"

enum { LIST_MAX = 1 << 20 };

struct load {
	struct st_model *model;
	uint32_t process_id; /* of the chunk */
	bool no_memory;
};

static void saw_time(struct load *load, uint64_t ticks)
{
	if (ticks > load->model->last_ticks)
		load->model->last_ticks = ticks;
}

static st_string_id keep_text(struct load *load, struct st_text text)
{
	st_string_id id;

	if (!st_text_table_add(&load->model->texts, text.bytes, text.size_bytes, &id))
		load->no_memory = true;
	return id;
}

/* The process of the chunk; sets *index. False: no memory. */
static bool find_process(struct load *load, uint32_t *index)
{
	*index = st_model_process(load->model, load->process_id);
	if (*index == ST_ID_NONE)
		load->no_memory = true;
	return *index != ST_ID_NONE;
}

static void load_process(struct load *load, struct st_cursor *body)
{
	struct st_model *model = load->model;
	uint32_t pid = st_cursor_u32(body), parent_id = st_cursor_u32(body);
	uint32_t incarnation, flags, index;
	uint64_t first_ticks;
	struct st_text arguments, executable;
	struct st_process *process;

	st_cursor_u64(body); /* start_time: tells processes apart while recording, not later */
	incarnation = st_cursor_u32(body);
	flags = st_cursor_u32(body);
	first_ticks = st_cursor_u64(body);
	arguments = st_cursor_text(body);
	executable = st_cursor_text(body);
	if (body->failed || !find_process(load, &index))
		return;
	process = &model->processes[index];
	process->pid = pid;
	process->incarnation = incarnation;
	process->flags = flags;
	process->executable = keep_text(load, executable);
	model->more[index].is_defined = true;
	model->more[index].parent_id = parent_id;
	model->more[index].first_ticks = first_ticks;
	model->more[index].arguments = st_text_table_get(&model->texts, keep_text(load, arguments));
	saw_time(load, first_ticks);
	if (!st_process_describe(&model->texts, model->more[index].arguments, process))
		load->no_memory = true;
}

static void load_process_end(struct load *load, struct st_cursor *body)
{
	uint64_t ticks = st_cursor_u64(body);
	uint32_t how = st_cursor_u32(body), status = st_cursor_u32(body), index;

	if (body->failed || !find_process(load, &index))
		return;
	load->model->processes[index].end = (enum st_process_end)how;
	load->model->processes[index].wait_status = (int)status;
	load->model->more[index].has_end = true;
	load->model->more[index].end_ticks = ticks;
	saw_time(load, ticks);
}

static void load_name(struct load *load, struct st_id_map *map, struct st_cursor *body)
{
	uint32_t id = st_cursor_u32(body);
	struct st_text text = st_cursor_text(body);

	if (body->failed)
		return;
	if (!st_id_map_put(map, st_id_pair(load->process_id, id), keep_text(load, text)))
		load->no_memory = true;
}

static void load_inherit(struct load *load, struct st_cursor *body)
{
	uint32_t ancestor_id = st_cursor_u32(body), strings = st_cursor_u32(body);
	uint32_t domains = st_cursor_u32(body), objects = 0, index;

	if (body->at < body->end) /* version 1.0 had none */
		objects = st_cursor_u32(body);
	if (body->failed || !find_process(load, &index))
		return;
	load->model->more[index].ancestor_id = ancestor_id;
	load->model->more[index].inherited_strings = strings;
	load->model->more[index].inherited_domains = domains;
	load->model->more[index].inherited_objects = objects;
}

static void load_thread(struct load *load, struct st_cursor *body)
{
	uint32_t track_id = st_cursor_u32(body), tid = st_cursor_u32(body);
	uint64_t first_ticks = st_cursor_u64(body);
	struct st_thread_definition *thread;

	if (body->failed)
		return;
	thread = st_model_thread(load->model, load->process_id, track_id, true);
	if (!thread) {
		load->no_memory = true;
		return;
	}
	thread->is_defined = true;
	thread->tid = tid;
	thread->first_ticks = first_ticks;
	saw_time(load, first_ticks);
}

static void load_loss(struct load *load, struct st_cursor *body)
{
	uint32_t track_id = st_cursor_u32(body), index;
	struct st_loss loss = {0};
	struct st_thread_definition *thread;

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
		return;
	if (!track_id) {
		if (find_process(load, &index)) {
			load->model->processes[index].loss = loss;
			load->model->more[index].has_loss = true;
		}
		return;
	}
	thread = st_model_thread(load->model, load->process_id, track_id, true);
	if (!thread)
		load->no_memory = true;
	else
		thread->loss = loss;
}

static bool grow_not_entered(struct st_model *model)
{
	uint32_t capacity = model->not_entered_capacity ? model->not_entered_capacity * 2 : 8;
	void *grown;

	grown = realloc(model->not_entered, capacity * sizeof(*model->not_entered));
	if (!grown)
		return false;
	model->not_entered = grown;
	grown = realloc(model->not_entered_ticks, capacity * sizeof(*model->not_entered_ticks));
	if (!grown)
		return false;
	model->not_entered_ticks = grown;
	model->not_entered_capacity = capacity;
	return true;
}

static void load_not_entered(struct load *load, struct st_cursor *body)
{
	struct st_model *model = load->model;
	struct st_not_entered_program program = {.count = 1};
	struct st_text command;
	uint64_t ticks, key;
	uint32_t known;

	program.pid = st_cursor_u32(body);
	program.reason = (enum st_not_entered)st_cursor_u32(body);
	ticks = st_cursor_u64(body);
	program.executable = keep_text(load, st_cursor_text(body));
	command = st_cursor_text(body);
	if (body->failed)
		return;
	/* One word without NUL is a command line already. */
	if (!memchr(command.bytes, '\0', command.size_bytes))
		program.command = keep_text(load, command);
	else if (!st_command_line(&model->texts, command, &program.command))
		load->no_memory = true;
	saw_time(load, ticks);
	key = st_id_pair(program.executable, (uint32_t)program.reason);
	known = st_id_map_get(&model->not_entered_index, key);
	if (known != ST_ID_NONE) {
		model->not_entered[known].count++;
		return;
	}
	if (model->not_entered_count >= LIST_MAX ||
	    (model->not_entered_count == model->not_entered_capacity && !grow_not_entered(model)) ||
	    !st_id_map_put(&model->not_entered_index, key, model->not_entered_count)) {
		load->no_memory = true;
		return;
	}
	model->not_entered_ticks[model->not_entered_count] = ticks;
	model->not_entered[model->not_entered_count++] = program;
}

static void load_note(struct load *load, struct st_cursor *body)
{
	uint32_t severity = st_cursor_u32(body);
	uint64_t ticks = st_cursor_u64(body);
	struct st_text text = st_cursor_text(body);

	if (body->failed)
		return;
	saw_time(load, ticks);
	if (severity)
		st_notes_add(&load->model->notes, "%.*s",
			     text.size_bytes > ST_NOTE_BYTES_MAX ? ST_NOTE_BYTES_MAX
								 : (int)text.size_bytes,
			     text.bytes);
}

static void load_control(struct load *load, struct st_cursor *body)
{
	struct st_model *model = load->model;
	struct st_family_control control = {.ticks = st_cursor_u64(body),
					    .kind = st_cursor_u32(body)};

	if (body->failed || model->control_count >= LIST_MAX)
		return;
	if (model->control_count == model->control_capacity) {
		uint32_t capacity = model->control_capacity ? model->control_capacity * 2 : 8;
		void *grown = realloc(model->controls, capacity * sizeof(control));

		if (!grown) {
			load->no_memory = true;
			return;
		}
		model->controls = grown;
		model->control_capacity = capacity;
	}
	model->controls[model->control_count++] = control;
	saw_time(load, control.ticks);
}

static void load_thread_name(struct load *load, struct st_cursor *body)
{
	load_name(load, &load->model->thread_names, body);
}

/* What comes with events and operators: objects, code, marks of the family, signatures. */
static void load_event_record(struct load *load, enum st_definition_type type,
			      struct st_cursor *body)
{
	struct st_model *model = load->model;
	bool ok = true;

	switch ((int)type) {
	case ST_DEF_OBJECT:
		ok = st_model_load_object(model, load->process_id, body);
		break;
	case ST_DEF_OBJECT_METADATA:
		ok = st_model_load_fact(model, load->process_id, body);
		break;
	case ST_DEF_CODE_EVENT:
		ok = st_model_load_code(model, load->process_id, body);
		break;
	case ST_DEF_CODE_MAP:
		ok = st_model_load_map(model, load->process_id, body);
		break;
	case ST_DEF_FAMILY_MARK:
		ok = st_model_load_mark(model, body);
		break;
	case ST_DEF_SIGNATURE:
		ok = st_model_load_signature(model, load->process_id, body);
		break;
	case ST_DEF_OPERATOR_SOURCE:
		ok = st_model_load_operator_source(model, load->process_id, body);
		break;
	case ST_DEF_PYTHON_FUNCTION:
		ok = st_model_load_python_function(model, load->process_id, body);
		break;
	case ST_DEF_PYTHON_CALLS:
		ok = st_model_load_python_calls(model, load->process_id, body);
		break;
	default:
		break;
	}
	if (!ok)
		load->no_memory = true;
}

static void load_record(struct load *load, enum st_definition_type type, struct st_cursor *body)
{
	switch (type) {
	case ST_DEF_PROCESS:
		load_process(load, body);
		break;
	case ST_DEF_PROCESS_END:
		load_process_end(load, body);
		break;
	case ST_DEF_STRING:
		load_name(load, &load->model->strings, body);
		break;
	case ST_DEF_DOMAIN:
		load_name(load, &load->model->domains, body);
		break;
	case ST_DEF_INHERIT:
		load_inherit(load, body);
		break;
	case ST_DEF_THREAD:
		load_thread(load, body);
		break;
	case ST_DEF_THREAD_NAME:
		load_thread_name(load, body);
		break;
	case ST_DEF_LOSS:
		load_loss(load, body);
		break;
	case ST_DEF_NOT_ENTERED:
		load_not_entered(load, body);
		break;
	case ST_DEF_NOTE:
		load_note(load, body);
		break;
	case ST_DEF_FAMILY_CONTROL:
		load_control(load, body);
		break;
	case ST_DEF_OBJECT:
	case ST_DEF_OBJECT_METADATA:
	case ST_DEF_CODE_EVENT:
	case ST_DEF_CODE_MAP:
	case ST_DEF_FAMILY_MARK:
	case ST_DEF_SIGNATURE:
	case ST_DEF_OPERATOR_SOURCE:
	case ST_DEF_PYTHON_FUNCTION:
	case ST_DEF_PYTHON_CALLS:
		load_event_record(load, type, body);
		break;
	case ST_DEF_STACK_NODES:
	case ST_DEF_PYTHON_CODE:
	case ST_DEF_PYTHON_RUNTIME:
	case ST_DEF_SAMPLER:
	case ST_DEF_THREAD_CREATOR:
	case ST_DEF_SAMPLER_LOSS:
		if (!st_forest_load(load->model, load->process_id, type, body))
			load->no_memory = true;
		break;
	}
}

/* False when a record did not have the fields it must have, or the last one was cut off. */
static bool load_records(struct load *load, const struct st_buf *raw)
{
	struct st_cursor payload = {.at = raw->data, .end = raw->data + raw->size_bytes}, body;
	enum st_definition_type type;
	bool good = true;

	while (st_definition_next(&payload, &type, &body) && !load->no_memory) {
		load_record(load, type, &body);
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
