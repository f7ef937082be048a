// SPDX-License-Identifier: Apache-2.0
//
// Names of places, pauses, and texts as keys.
#include "analyze/datasets/dataset_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static struct st_text make_text(char *bytes)
{
	return (struct st_text){bytes ? bytes : "", bytes ? strlen(bytes) : 0};
}

static struct st_text join_text(struct st_arena *arena, struct st_text name, const char *tail)
{
	size_t tail_bytes = strlen(tail);
	char *bytes = st_arena_alloc(arena, name.size_bytes + tail_bytes + 1);

	if (!bytes)
		return (struct st_text){"", 0};
	memcpy(bytes, name.bytes, name.size_bytes);
	memcpy(bytes + name.size_bytes, tail, tail_bytes + 1);
	return (struct st_text){bytes, name.size_bytes + tail_bytes};
}

struct st_text st_place_process(const struct st_result *result, uint32_t key,
				struct st_arena *arena)
{
	uint32_t count;
	const struct st_process *process = &st_result_processes(result, &count)[key];
	struct st_text name = st_result_text(result, process->name);
	char tail[64];

	if (process->incarnation)
		snprintf(tail, sizeof(tail), " (%u, exec %u)", process->pid, process->incarnation);
	else
		snprintf(tail, sizeof(tail), " (%u)", process->pid);
	if (!name.size_bytes)
		name = (struct st_text){"process", 7};
	return join_text(arena, name, tail);
}

static struct st_text thread_name(const struct st_result *result, uint32_t key)
{
	uint32_t count, process_count;
	const struct st_track *track = &st_result_tracks(result, &count)[key];
	const struct st_process *processes = st_result_processes(result, &process_count);
	struct st_text name = st_result_text(result, track->name);
	const char *word;

	if (name.size_bytes)
		return name;
	word = st_track_word(track,
			     track->process < process_count ? &processes[track->process] : NULL);
	return (struct st_text){word, strlen(word)};
}

struct st_text st_place_thread(const struct st_result *result, uint32_t key, struct st_arena *arena)
{
	static const struct st_text no_thread = {"[no thread]", 11};
	uint32_t count;
	const struct st_track *track = &st_result_tracks(result, &count)[key];
	char tail[32];

	if (key >= count)
		return no_thread;

	snprintf(tail, sizeof(tail), " (%u)", track->tid);
	return join_text(arena, thread_name(result, key), tail);
}

bool st_place_alias(const struct st_result *result, enum st_grouping grouping, uint32_t key,
		    unsigned int index, struct st_text *out, struct st_arena *arena)
{
	uint32_t count;

	if ((grouping != ST_BY_PROCESS && grouping != ST_BY_THREAD) || index > 1)
		return false;
	st_result_tracks(result, &count);
	if (grouping == ST_BY_THREAD && key >= count)
		return false;
	if (grouping == ST_BY_PROCESS) {
		const struct st_process *process = &st_result_processes(result, &count)[key];

		*out = index == 0 ? st_result_text(result, process->name)
				  : make_text(st_arena_printf(arena, "%u", process->pid));
	} else {
		const struct st_track *track = &st_result_tracks(result, &count)[key];

		*out = index == 0 ? thread_name(result, key)
				  : make_text(st_arena_printf(arena, "%u", track->tid));
	}
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct st_pause_window *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Windows of one process and of the whole family may overlap: sorted together, one pass tells their
 * union. */
bool st_pause_list_make(struct st_pause_list *out, const struct st_result *result,
			struct st_arena *arena)
{
	const struct st_pause_window *pauses = st_result_pauses(result, &out->count);

	out->pauses = st_arena_calloc(arena, (size_t)out->count + 1, sizeof(*pauses));
	if (!out->pauses)
		return false;
	if (out->count) {
		memcpy(out->pauses, pauses, out->count * sizeof(*pauses));
		qsort(out->pauses, out->count, sizeof(*pauses), by_begin);
	}
	return true;
}

uint64_t st_pause_list_recorded(const struct st_pause_list *list, uint32_t process,
				int64_t begin_ns, int64_t end_ns)
{
	int64_t covered_ns = begin_ns;
	uint64_t paused_ns = 0;

	for (uint32_t i = 0; i < list->count && covered_ns < end_ns; i++) {
		const struct st_pause_window *pause = &list->pauses[i];
		int64_t from = pause->begin_ns > covered_ns ? pause->begin_ns : covered_ns;
		int64_t to = pause->end_ns < end_ns ? pause->end_ns : end_ns;

		if ((pause->process != process && pause->process != ST_NO_ROW) || from >= to)
			continue;
		paused_ns += (uint64_t)(to - from);
		covered_ns = to;
	}
	return (uint64_t)(end_ns - begin_ns) - paused_ns;
}

void st_key_texts_init(struct st_key_texts *keys)
{
	memset(keys, 0, sizeof(*keys));
}

void st_key_texts_fini(struct st_key_texts *keys)
{
	free(keys->texts);
	st_map_fini(&keys->key_of);
	memset(keys, 0, sizeof(*keys));
}

struct st_text st_text_copy(struct st_arena *arena, struct st_text text)
{
	char *bytes = st_arena_copy(arena, text.bytes, text.size_bytes);

	return (struct st_text){bytes ? bytes : "", bytes ? text.size_bytes : 0};
}

struct st_text st_text_take(struct st_arena *arena, struct st_buf *buf)
{
	struct st_text text =
		st_text_copy(arena, (struct st_text){(char *)buf->data, buf->size_bytes});

	if (buf->failed)
		arena->failed = true;
	st_buf_fini(buf);
	return text;
}

static bool is_text(const void *texts, uint32_t number, const void *key)
{
	const struct st_text *known = (const struct st_text *)texts + number, *wanted = key;

	return known->size_bytes == wanted->size_bytes &&
	       (!known->size_bytes || memcmp(known->bytes, wanted->bytes, known->size_bytes) == 0);
}

uint32_t st_key_texts_add(struct st_key_texts *keys, struct st_text text)
{
	uint32_t hash = st_hash_bytes(text.bytes, text.size_bytes);
	uint32_t key = st_map_find(&keys->key_of, hash, is_text, keys->texts, &text);

	if (key != ST_ID_NONE)
		return key;
	if (!ST_VEC_ROOM(keys->texts, keys->count, keys->capacity) ||
	    !st_map_add(&keys->key_of, hash, keys->count)) {
		keys->failed = true;
		return 0;
	}
	return st_key_texts_append(keys, text);
}

uint32_t st_key_texts_append(struct st_key_texts *keys, struct st_text text)
{
	if (!ST_VEC_PUSH(keys->texts, keys->count, keys->capacity, text)) {
		keys->failed = true;
		return 0;
	}
	return keys->count - 1;
}
