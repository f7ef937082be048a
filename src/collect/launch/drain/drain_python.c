// SPDX-License-Identifier: Apache-2.0
//
// What the handler tells of Python: the interpreter, and functions with their tables of lines. The target describes
// a function once; a ring buffer deletes the file where that stands, so the functions of a process are kept here
// then, and each file has those of its own samples. Input is a private copy and may be garbage, as in decode.c.
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/launch/drain/drain_state.h"
#include "format/ring_record.h"

enum {
	CODE_HEAD_WORDS = 3,
	/* Texts and tables of Python code, with what a definition needs besides. */
	CODE_RECORD_EXTRA_BYTES = 64,
	AGE_FIRST = 1024, /* files */
};

void st_known_codes_fini(struct st_known_codes *codes)
{
	for (uint32_t i = 0; i < codes->count; i++)
		free(codes->entries[i].record);
	free(codes->entries);
	st_id_map_fini(&codes->entry_of);
	memset(codes, 0, sizeof(*codes));
}

/* What no file since oldest has used goes. */
static void drop_before(struct st_known_codes *codes, uint32_t oldest)
{
	uint32_t kept = 0;

	st_id_map_clear(&codes->entry_of);
	for (uint32_t i = 0; i < codes->count; i++) {
		struct st_known_code *code = &codes->entries[i];

		if (code->told < oldest) {
			codes->bytes -= code->size_bytes;
			free(code->record);
			continue;
		}
		(void)st_id_map_put(&codes->entry_of, code->id, kept);
		codes->entries[kept++] = *code;
	}
	codes->count = kept;
}

static bool is_half_full(const struct st_known_codes *codes)
{
	return codes->count > ST_KNOWN_CODES_MAX / 2 || codes->bytes > ST_KNOWN_CODES_BYTES_MAX / 2;
}

/* Those that were not met for longest go, until half of the room is free: code that a program makes for ever has to
 * end somewhere. */
static void drop_old(struct st_known_codes *codes, uint32_t file)
{
	for (uint32_t age = AGE_FIRST; is_half_full(codes); age /= 4) {
		drop_before(codes, file > age ? file - age : 0);
		if (!age)
			break;
	}
	if (is_half_full(codes)) /* all of this file */
		st_known_codes_fini(codes);
}

static void remember(struct st_drain *drain, uint32_t id, const uint8_t *record, size_t size_bytes)
{
	struct st_known_codes *codes = &drain->codes;
	struct st_known_code *code;
	uint8_t *copy;
	uint32_t at;

	if (codes->count >= ST_KNOWN_CODES_MAX || codes->bytes > ST_KNOWN_CODES_BYTES_MAX)
		drop_old(codes, drain->file);
	copy = malloc(size_bytes);
	if (!copy)
		return;
	memcpy(copy, record, size_bytes);
	at = st_id_map_get(&codes->entry_of, id);
	if (at == ST_ID_NONE) {
		at = codes->count;
		if (!ST_VEC_ROOM(codes->entries, at, codes->capacity) ||
		    !st_id_map_put(&codes->entry_of, id, at)) {
			free(copy);
			return;
		}
		codes->entries[codes->count++] = (struct st_known_code){0};
	}
	code = &codes->entries[at];
	codes->bytes += size_bytes - code->size_bytes;
	free(code->record);
	*code = (struct st_known_code){
		.id = id, .told = drain->file, .size_bytes = (uint32_t)size_bytes, .record = copy};
}

void st_drain_use_code(struct st_drain *drain, uint32_t id)
{
	struct st_definition_batch *batch = &drain->passing;
	uint32_t at = st_id_map_get(&drain->codes.entry_of, id);
	struct st_known_code *code;
	size_t begin;

	if (!drain->shared->ring_buffer || at == ST_ID_NONE)
		return;
	code = &drain->codes.entries[at];
	if (code->told == drain->file)
		return;
	code->told = drain->file;
	begin = st_drain_define(drain, batch, ST_DEF_PYTHON_CODE);
	st_buf_append(&batch->records, code->record, code->size_bytes);
	st_drain_defined(batch, begin);
}

/* All that stay, of a process together, are bounded like other code. */
static bool may_stay(struct st_drain *drain, const struct st_drain_code *code)
{
	if (drain->code_bytes > ST_CODE_BYTES_MAX ||
	    drain->definitions_seen >= ST_DEFINITIONS_MAX) {
		drain->code_dropped++;
		return false;
	}
	drain->definitions_seen++;
	drain->code_bytes += (uint64_t)code->file_bytes + code->name_bytes + code->table_bytes +
			     CODE_RECORD_EXTRA_BYTES;
	return true;
}

void st_drain_define_code(struct st_drain *drain, const struct st_drain_code *code)
{
	struct st_definition_batch *batch = st_drain_passing(drain);
	struct st_buf *out = &batch->records;
	size_t record, body;

	if (!drain->shared->ring_buffer && !may_stay(drain, code))
		return;
	record = st_drain_define(drain, batch, ST_DEF_PYTHON_CODE);
	body = out->size_bytes;
	st_buf_append_u32(out, code->id);
	st_buf_append_u32(out, code->first_line);
	st_buf_append_u32(out, code->flags);
	st_definition_text(out, code->file, code->file_bytes);
	st_definition_text(out, code->name, code->name_bytes);
	st_definition_text(out, code->table, code->table_bytes);
	if (drain->shared->ring_buffer && !out->failed)
		remember(drain, code->id, out->data + body, out->size_bytes - body);
	st_drain_defined(batch, record);
}

static uint64_t padded(uint64_t bytes)
{
	return (bytes + 7) / 8;
}

bool st_drain_take_code(struct st_drain *drain, const uint64_t *payload, uint32_t payload_words)
{
	const uint64_t *text = payload + CODE_HEAD_WORDS;
	struct st_drain_code code = {0};

	if (payload_words < CODE_HEAD_WORDS)
		return false;
	code.id = (uint32_t)payload[0];
	code.first_line = (uint32_t)(payload[0] >> 32);
	code.file_bytes = (uint32_t)payload[1];
	code.name_bytes = (uint32_t)(payload[1] >> 32);
	code.table_bytes = (uint32_t)payload[2];
	code.flags = (uint32_t)(payload[2] >> 32);
	if (CODE_HEAD_WORDS + padded(code.file_bytes) + padded(code.name_bytes) +
		    padded(code.table_bytes) >
	    payload_words)
		return false;
	code.file = text;
	code.name = text + padded(code.file_bytes);
	code.table = text + padded(code.file_bytes) + padded(code.name_bytes);
	st_drain_define_code(drain, &code);
	return true;
}

/* Every thread tells it; one definition is enough. */
void st_drain_take_runtime(struct st_drain *drain, const uint64_t *payload)
{
	struct st_buf *out = &drain->definitions.records;
	size_t record;

	if (drain->python_runtime == payload[0] &&
	    !memcmp(drain->python_eval, payload + 1, sizeof(drain->python_eval)))
		return;
	if (drain->definitions_seen >= ST_DEFINITIONS_MAX)
		return;
	drain->definitions_seen++;
	drain->python_runtime = payload[0];
	memcpy(drain->python_eval, payload + 1, sizeof(drain->python_eval));
	record = st_drain_define(drain, &drain->definitions, ST_DEF_PYTHON_RUNTIME);
	st_buf_append_u32(out, (uint32_t)payload[0]);
	st_buf_append_u32(out, (uint32_t)(payload[0] >> 32));
	for (size_t i = 0; i < sizeof(drain->python_eval) / sizeof(drain->python_eval[0]); i++)
		st_buf_append_u64(out, drain->python_eval[i]);
	st_drain_defined(&drain->definitions, record);
}
