// SPDX-License-Identifier: Apache-2.0
//
// Jitdump files, version 1, little-endian (resolve/dynamic.h): records of code that was loaded or moved and
// of the lines in it. The lines of a piece come before the piece.
#include <string.h>

#include "base/vec.h"
#include "resolve/dynamic_state.h"

enum { JIT_MAGIC = 0x4a695444, HEAD_BYTES = 40, RECORD_BYTES = 16 };
enum { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2, CODE_CLOSE = 3 };

struct record {
	uint32_t id, size_bytes;
	const uint8_t *body;
	size_t body_bytes;
};

static uint64_t number(const struct record *record, size_t at, size_t size_bytes)
{
	uint64_t value = 0;

	if (at + size_bytes <= record->body_bytes)
		memcpy(&value, record->body + at, size_bytes);
	return value;
}

/* u32 pid, u32 tid, u64 vma, u64 address, u64 size, u64 index, name, code. */
static bool take_load(struct st_dynamic_codes *codes, uint32_t process, const struct record *record,
		      struct st_dynamic_code *lines)
{
	enum { NAME_AT = 40 };
	struct st_dynamic_code code = {.start = number(record, 16, 8),
				       .size_bytes = number(record, 24, 8)};
	const char *name = (const char *)record->body + NAME_AT;

	if (record->body_bytes <= NAME_AT)
		return true;
	if (lines->start == code.start) {
		code.first_line = lines->first_line;
		code.line_count = lines->line_count;
	}
	lines->line_count = 0;
	return st_text_table_add(&codes->texts, name, strnlen(name, record->body_bytes - NAME_AT),
				 &code.name) &&
	       st_dynamic_add(codes, process, &code);
}

/* u32 pid, u32 tid, u64 vma, u64 old address, u64 new address, u64 size, u64 index. */
static bool take_move(struct st_dynamic_codes *codes, uint32_t process, const struct record *record)
{
	uint64_t from = number(record, 16, 8);

	for (uint32_t i = codes->count; i > 0; i--) {
		struct st_dynamic_code code = codes->items[i - 1];

		if (code.start != from)
			continue;
		code.start = number(record, 24, 8);
		code.line_count = 0; /* their addresses are the old ones */
		return st_dynamic_add(codes, process, &code);
	}
	return true;
}

/* u64 address, u64 count, then u64 address, u32 line, u32 discriminator, file name. */
static bool take_lines(struct st_dynamic_codes *codes, const struct record *record,
		       struct st_dynamic_code *lines)
{
	uint64_t count = number(record, 8, 8);
	size_t at = 16;

	*lines = (struct st_dynamic_code){.start = number(record, 0, 8),
					  .first_line = codes->line_count};
	for (; count > 0 && at + 17 <= record->body_bytes; count--) {
		struct st_dynamic_line line = {.address = number(record, at, 8),
					       .line = (uint32_t)number(record, at + 8, 4)};
		const char *file = (const char *)record->body + at + 16;
		size_t length = strnlen(file, record->body_bytes - at - 16);

		if (!st_text_table_add(&codes->texts, file, length, &line.file) ||
		    !ST_VEC_PUSH(codes->lines, codes->line_count, codes->line_capacity, line))
			return false;
		lines->line_count++;
		at += 16 + length + 1;
	}
	return true;
}

static bool take_record(struct st_dynamic_codes *codes, uint32_t process,
			const struct record *record, struct st_dynamic_code *lines)
{
	switch (record->id) {
	case CODE_LOAD:
		return take_load(codes, process, record, lines);
	case CODE_MOVE:
		return take_move(codes, process, record);
	case CODE_DEBUG_INFO:
		return take_lines(codes, record, lines);
	default:
		return true;
	}
}

bool st_jitdump_read(struct st_dynamic_codes *codes, uint32_t process, const uint8_t *bytes,
		     size_t size_bytes)
{
	struct st_dynamic_code lines = {0};
	uint32_t magic, head_bytes;
	size_t at;

	if (size_bytes < HEAD_BYTES)
		return true;
	memcpy(&magic, bytes, sizeof(magic));
	memcpy(&head_bytes, bytes + 8, sizeof(head_bytes));
	if (magic != JIT_MAGIC || head_bytes < HEAD_BYTES)
		return true;
	for (at = head_bytes; at < size_bytes && size_bytes - at >= RECORD_BYTES;) {
		struct record record;

		memcpy(&record.id, bytes + at, 4);
		memcpy(&record.size_bytes, bytes + at + 4, 4);
		if (record.size_bytes < RECORD_BYTES || record.size_bytes > size_bytes - at ||
		    record.id == CODE_CLOSE)
			break;
		record.body = bytes + at + RECORD_BYTES;
		record.body_bytes = record.size_bytes - RECORD_BYTES;
		if (!take_record(codes, process, &record, &lines))
			return false;
		at += record.size_bytes;
	}
	return true;
}
