// SPDX-License-Identifier: Apache-2.0
//
// The tables of collect/import/out.h.
#include "collect/import/out.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

enum {
	PROCESSES_MAX = 1 << 22,
	THREADS_MAX = 1 << 22,
	SAMPLES_MAX = 1 << 30,
	OPS_MAX = 1 << 30,
	NODES_MAX = 4 << 20, /* of one process */
	LIST_MAX = 1 << 20,  /* of mappings and of names, as many as a reader takes */
	SYMBOL_BYTES = 16,
};
static const uint64_t symbols_begin = 1ull << 44;

bool st_import_out_init(struct st_import_out *out)
{
	memset(out, 0, sizeof(*out));
	out->type = "hotspots";
	out->clock = "perf";
	return st_text_table_init(&out->texts);
}

static void ids_fini(struct st_import_ids *ids)
{
	st_id_map_fini(&ids->of);
	free(ids->texts);
}

void st_import_out_fini(struct st_import_out *out)
{
	for (uint32_t i = 0; i < out->process_count; i++) {
		struct st_import_process *process = &out->processes[i];

		st_key_table_fini(&process->nodes);
		st_id_map_fini(&process->symbol_index);
		free(process->maps);
		free(process->history);
		free(process->symbols);
		free(process->creators);
		ids_fini(&process->slices.names);
		ids_fini(&process->slices.domains);
		ids_fini(&process->slices.signatures);
		ids_fini(&process->slices.codes);
	}
	for (uint32_t i = 0; i < out->thread_count; i++) {
		free(out->threads[i].samples);
		free(out->threads[i].ops);
	}
	free(out->processes);
	free(out->threads);
	st_id_map_fini(&out->process_of);
	st_id_map_fini(&out->thread_of);
	st_text_table_fini(&out->texts);
	memset(out, 0, sizeof(*out));
}

st_string_id st_import_text(struct st_import_out *out, const void *bytes, size_t size_bytes)
{
	st_string_id id = 0;

	if (!st_text_table_add(&out->texts, bytes, size_bytes, &id))
		out->no_memory = true;
	return id;
}

static uint32_t add_process(struct st_import_out *out, uint32_t pid, uint64_t time)
{
	uint32_t at = out->process_count;

	if (at >= PROCESSES_MAX || !ST_VEC_ROOM(out->processes, at, out->process_capacity) ||
	    !st_id_map_put(&out->process_of, pid, at)) {
		out->no_memory = true;
		return ST_IMPORT_NONE;
	}
	memset(&out->processes[at], 0, sizeof(out->processes[at]));
	out->processes[at].pid = pid;
	out->processes[at].parent = ST_IMPORT_NONE;
	out->processes[at].first = time;
	return out->process_count++;
}

uint32_t st_import_process_of(struct st_import_out *out, uint32_t pid, uint64_t time)
{
	uint32_t at = st_id_map_get(&out->process_of, pid);

	return at == ST_ID_NONE ? add_process(out, pid, time) : at;
}

static void end_process(struct st_import_process *process, uint64_t time, bool by_exec)
{
	process->has_end = true;
	process->ends_by_exec = by_exec;
	process->end = time;
}

uint32_t st_import_exec(struct st_import_out *out, uint32_t pid, uint64_t time)
{
	uint32_t before = st_id_map_get(&out->process_of, pid), at = add_process(out, pid, time);

	if (at == ST_IMPORT_NONE || before == ST_ID_NONE)
		return at;
	end_process(&out->processes[before], time, true);
	out->processes[at].parent = out->processes[before].parent;
	out->processes[at].incarnation = out->processes[before].incarnation + 1;
	return at;
}

static bool copy_maps(struct st_import_process *to, const struct st_import_process *from,
		      uint64_t time)
{
	for (uint32_t i = 0; i < from->map_count; i++) {
		if (!ST_VEC_ROOM(to->maps, i, to->map_capacity) ||
		    !ST_VEC_ROOM(to->history, i, to->history_capacity))
			return false;
		to->maps[i] = from->maps[i];
		to->maps[i].time = time;
		to->history[i] = to->maps[i];
		to->map_count = to->history_count = i + 1;
	}
	to->map_generation++;
	return true;
}

void st_import_fork(struct st_import_out *out, uint32_t pid, uint32_t parent_pid, uint64_t time)
{
	uint32_t parent = st_import_process_of(out, parent_pid, time), at;

	if (parent == ST_IMPORT_NONE)
		return;
	at = add_process(out, pid, time);
	if (at == ST_IMPORT_NONE)
		return;
	out->processes[at].parent = parent;
	out->processes[at].was_forked = true;
	out->processes[at].name = out->processes[parent].name;
	if (!copy_maps(&out->processes[at], &out->processes[parent], time))
		out->no_memory = true;
}

void st_import_exit(struct st_import_out *out, uint32_t pid, uint64_t time)
{
	uint32_t at = st_id_map_get(&out->process_of, pid);

	if (at != ST_ID_NONE)
		end_process(&out->processes[at], time, false);
}

uint32_t st_import_thread_of(struct st_import_out *out, uint32_t pid, uint32_t tid, uint64_t time)
{
	uint32_t process = st_import_process_of(out, pid, time), at;

	if (process == ST_IMPORT_NONE)
		return ST_IMPORT_NONE;
	at = st_id_map_get(&out->thread_of, st_id_pair(process, tid));
	if (at != ST_ID_NONE)
		return at;
	at = st_import_track(out, process, ST_TRACK_THREAD, tid);
	if (at == ST_IMPORT_NONE || !st_id_map_put(&out->thread_of, st_id_pair(process, tid), at)) {
		out->no_memory = true;
		return ST_IMPORT_NONE;
	}
	out->threads[at].first = out->threads[at].last = time;
	return at;
}

uint32_t st_import_track(struct st_import_out *out, uint32_t process, enum st_track_kind kind,
			 uint32_t tid)
{
	uint32_t at = out->thread_count;

	if (at >= THREADS_MAX || !ST_VEC_ROOM(out->threads, at, out->thread_capacity)) {
		out->no_memory = true;
		return ST_IMPORT_NONE;
	}
	out->threads[at] =
		(struct st_import_thread){.process = process,
					  .tid = tid,
					  .kind = kind,
					  .track = ++out->processes[process].thread_count};
	return out->thread_count++;
}

uint32_t st_import_id(struct st_import_out *out, struct st_import_ids *ids, st_string_id text)
{
	uint32_t at = st_id_map_get(&ids->of, text);

	if (at != ST_ID_NONE)
		return at;
	if (!st_id_map_put(&ids->of, text, ids->count + 1) ||
	    !ST_VEC_PUSH(ids->texts, ids->count, ids->capacity, text)) {
		out->no_memory = true;
		return 0;
	}
	return ids->count;
}

void st_import_op(struct st_import_out *out, uint32_t thread_index, const struct st_import_op *op)
{
	struct st_import_thread *thread = &out->threads[thread_index];

	if (thread->op_count >= OPS_MAX ||
	    !ST_VEC_PUSH(thread->ops, thread->op_count, thread->op_capacity, *op)) {
		out->no_memory = true;
		return;
	}
	if (thread->op_count == 1)
		thread->first = op->time;
	thread->last = op->time;
	out->processes[thread->process].slice_count +=
		op->kind == ST_IMPORT_BEGIN || op->kind == ST_IMPORT_CALL;
}

void st_import_creator(struct st_import_out *out, uint32_t pid, const struct st_import_creator *by)
{
	uint32_t at = st_import_process_of(out, pid, by->time);
	struct st_import_process *process;

	if (at == ST_IMPORT_NONE)
		return;
	process = &out->processes[at];
	if (process->creator_count >= LIST_MAX)
		return;
	if (ST_VEC_ROOM(process->creators, process->creator_count, process->creator_capacity))
		process->creators[process->creator_count++] = *by;
	else
		out->no_memory = true;
}

/* Number of the first mapping that ends behind an address. */
static uint32_t first_behind(const struct st_import_process *process, uint64_t address)
{
	return ST_SEARCH(i, 0, process->map_count, process->maps[i].end <= address);
}

struct st_import_map *st_import_map_at(struct st_import_process *process, uint64_t address)
{
	uint32_t at = first_behind(process, address);

	if (at == process->map_count || process->maps[at].start > address)
		return NULL;
	return &process->maps[at];
}

static bool insert(struct st_import_process *process, uint32_t at, const struct st_import_map *map)
{
	if (!ST_VEC_ROOM(process->maps, process->map_count, process->map_capacity))
		return false;
	memmove(&process->maps[at + 1], &process->maps[at],
		(process->map_count - at) * sizeof(*map));
	process->maps[at] = *map;
	process->map_count++;
	return true;
}

/* What lies under the new mapping is no more; what sticks out on either side stays. */
static bool place_map(struct st_import_process *process, const struct st_import_map *map)
{
	uint32_t at = first_behind(process, map->start), end;

	if (at < process->map_count && process->maps[at].start < map->start) {
		struct st_import_map left = process->maps[at], *rest = &process->maps[at];

		left.end = map->start;
		rest->offset += map->start - rest->start;
		rest->start = map->start;
		if (!insert(process, at, &left))
			return false;
		at++;
	}
	for (end = at; end < process->map_count && process->maps[end].end <= map->end; end++)
		;
	if (end < process->map_count && process->maps[end].start < map->end) {
		process->maps[end].offset += map->end - process->maps[end].start;
		process->maps[end].start = map->end;
	}
	if (at < end && end < process->map_count)
		memmove(&process->maps[at], &process->maps[end],
			(process->map_count - end) * sizeof(*map));
	process->map_count -= end - at;
	return insert(process, at, map);
}

void st_import_map(struct st_import_out *out, uint32_t pid, const struct st_import_map *map)
{
	uint32_t at = st_import_process_of(out, pid, map->time);
	struct st_import_process *process;

	if (at == ST_IMPORT_NONE || map->end <= map->start)
		return;
	process = &out->processes[at];
	if (process->history_count >= LIST_MAX) {
		out->counts.skipped++;
		return;
	}
	process->map_generation++;
	if (!place_map(process, map) ||
	    !ST_VEC_PUSH(process->history, process->history_count, process->history_capacity, *map))
		out->no_memory = true;
}

uint64_t st_import_symbol(struct st_import_out *out, uint32_t process_index, st_string_id name,
			  st_string_id module)
{
	struct st_import_process *process = &out->processes[process_index];
	uint64_t key = st_id_pair(name, module);
	uint32_t at = st_id_map_get(&process->symbol_index, key);

	if (at == ST_ID_NONE) {
		at = process->symbol_count;
		if (at >= LIST_MAX ||
		    !ST_VEC_ROOM(process->symbols, at, process->symbol_capacity) ||
		    !st_id_map_put(&process->symbol_index, key, at)) {
			out->no_memory = true;
			return 0;
		}
		process->symbols[at] = (struct st_import_symbol){.name = name, .module = module};
		process->symbol_count++;
	}
	return symbols_begin + (uint64_t)at * SYMBOL_BYTES;
}

uint32_t st_import_node(struct st_import_out *out, uint32_t process, uint32_t parent, uint8_t kind,
			uint64_t value)
{
	struct st_key_table *nodes = &out->processes[process].nodes;
	uint32_t at;

	if (nodes->count >= NODES_MAX) {
		at = st_key_table_find(nodes, parent, kind, value);
		return at == ST_ID_NONE ? parent : at + 1;
	}
	at = st_key_table_add(nodes, parent, kind, value);
	if (at == ST_ID_NONE) {
		out->no_memory = true;
		return 0;
	}
	return at + 1;
}

void st_import_sample(struct st_import_out *out, uint32_t thread_index,
		      const struct st_sample_record *sample)
{
	struct st_import_thread *thread = &out->threads[thread_index];

	if (thread->sample_count >= SAMPLES_MAX ||
	    !ST_VEC_PUSH(thread->samples, thread->sample_count, thread->sample_capacity, *sample)) {
		out->no_memory = true;
		return;
	}
	thread->last = sample->time;
	out->processes[thread->process].sample_count++;
}
