/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders of CPython's line tables. A table that ends inside an entry, or has an entry that cannot be,
 * gives no line rather than a wrong one.
 */
#include "store/python_lines.h"

#include <stdbool.h>

#include "format/sample_record.h"

struct reader {
	const uint8_t *at, *end;
	bool broken;
};

static uint32_t byte(struct reader *reader)
{
	if (reader->at == reader->end) {
		reader->broken = true;
		return 0;
	}
	return *reader->at++;
}

/* Pairs of a step in bytes and a step in lines; the line changes behind the step in bytes. */
static int64_t line_of_deltas(struct reader *reader, int64_t line, int64_t offset, bool cut)
{
	int64_t end = 0;

	while (reader->at < reader->end) {
		end += byte(reader);
		if (end > offset)
			return line;
		line += (int8_t)byte(reader);
	}
	return cut ? 0 : line;
}

/* Pairs of a length in bytes and a step in lines, which holds for these bytes; -128: they have no line. */
static int64_t line_of_ranges(struct reader *reader, int64_t line, int64_t offset)
{
	int64_t end = 0;

	while (reader->at < reader->end) {
		int8_t step;

		end += byte(reader);
		step = (int8_t)byte(reader);
		if (step != INT8_MIN)
			line += step;
		if (end > offset)
			return step == INT8_MIN ? 0 : line;
	}
	return 0;
}

/* Six bits a byte, lowest first; bit 6: another one follows. */
static uint32_t varint(struct reader *reader)
{
	uint32_t value = 0, part = 64;

	for (unsigned int shift = 0; part & 64; shift += 6) {
		part = byte(reader);
		if (shift >= 32) {
			reader->broken = true;
			return 0;
		}
		value |= (part & 63) << shift;
	}
	return value;
}

static int64_t signed_varint(struct reader *reader)
{
	uint32_t value = varint(reader);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum { KIND_TWO_BYTES = 10, KIND_LINE_ONLY = 13, KIND_LONG = 14, KIND_NONE = 15 };

/* The rest of an entry behind its head: columns, which nobody asks for, and the step in lines. */
static int64_t line_step(struct reader *reader, uint32_t kind)
{
	int64_t step = 0;
	int columns = kind < KIND_TWO_BYTES ? 1 : kind < KIND_LINE_ONLY ? 2 : 0;

	if (kind >= KIND_TWO_BYTES && kind < KIND_LINE_ONLY)
		step = kind - KIND_TWO_BYTES;
	else if (kind == KIND_LINE_ONLY || kind == KIND_LONG)
		step = signed_varint(reader);
	while (columns--)
		byte(reader);
	for (int i = 0; kind == KIND_LONG && i < 3; i++)
		varint(reader);
	return step;
}

/* The head byte has its top bit set: kind in bits 3-6, instructions - 1 in bits 0-2. */
static int64_t line_of_locations(struct reader *reader, int64_t line, int64_t offset)
{
	int64_t end = 0;

	while (reader->at < reader->end) {
		uint32_t head = byte(reader), kind = head >> 3 & 15;

		if (!(head & 128)) {
			reader->broken = true;
			return 0;
		}
		end += ((head & 7) + 1) * 2;
		line += line_step(reader, kind);
		if (end > offset)
			return kind == KIND_NONE ? 0 : line;
	}
	return 0;
}

uint32_t st_python_line_of(const struct st_python_line_table *table, uint32_t position)
{
	struct reader reader = {.at = table->bytes, .end = table->bytes + table->size_bytes};
	uint32_t minor = table->version >> 16;
	int64_t line = table->first_line;

	if (position == ST_PYTHON_POSITION_NONE)
		return table->first_line;
	if (minor < 0x30a)
		line = line_of_deltas(&reader, line, position,
				      table->flags & ST_PYTHON_CODE_TABLE_CUT);
	else if (minor == 0x30a)
		line = line_of_ranges(&reader, line, (int64_t)position * 2);
	else
		line = line_of_locations(&reader, line, (int64_t)position * 2);
	return reader.broken || line <= 0 || line > INT32_MAX ? 0 : (uint32_t)line;
}
