// SPDX-License-Identifier: Apache-2.0
//
// Calls of Python functions, as the collector has added them up: which functions there are, and what their calls on
// each thread have come to since the last time.
#include "collect/launch/drain/drain_state.h"

#include <inttypes.h>
#include <string.h>

#include "format/ring_record.h"
#include "format/varint.h"

enum { FUNCTION_HEAD_BYTES = 8, HEAD_WORDS = 2, ROW_WORDS = 5 };

static const uint32_t function_id_max = 1 << 20;
/* No sum of calls or ticks comes near it. */
static const uint64_t figure_max = 1ull << 62;

bool st_drain_define_python_function(struct st_drain *drain, uint32_t id, const void *text,
				     size_t size_bytes)
{
	struct st_buf *out = &drain->definitions.records;
	uint32_t head[2];
	size_t record;

	if (!id || id > function_id_max || size_bytes < FUNCTION_HEAD_BYTES)
		return false;
	memcpy(head, text, sizeof(head));
	size_bytes -= FUNCTION_HEAD_BYTES;
	if (head[1] > size_bytes)
		return false;
	text = (const char *)text + FUNCTION_HEAD_BYTES;
	record = st_drain_define(drain, &drain->definitions, ST_DEF_PYTHON_FUNCTION);
	st_buf_append_u32(out, id);
	st_buf_append_u32(out, head[0]);
	st_definition_text(out, text, head[1]);
	st_definition_text(out, (const char *)text + head[1], size_bytes - head[1]);
	st_drain_defined(&drain->definitions, record);
	return true;
}

static bool row_ok(const uint64_t *row)
{
	if (row[0] > function_id_max)
		return false;
	for (uint32_t i = 1; i < ROW_WORDS; i++)
		if (row[i] > figure_max)
			return false;
	return true;
}

void st_drain_take_python_calls(struct st_drain *drain, const struct st_slot_reader *slot,
				const uint64_t *payload, uint32_t payload_words)
{
	struct st_buf *out = &drain->definitions.records;
	uint32_t rows = (payload_words - HEAD_WORDS) / ROW_WORDS;
	size_t record;

	if (payload[0] > UINT32_MAX || payload[1] > figure_max ||
	    rows * ROW_WORDS + HEAD_WORDS != payload_words) {
		st_drain_refuse(drain, "calls of Python in %" PRIu32 " words", payload_words);
		return;
	}
	for (uint32_t i = 0; i < rows; i++) {
		if (!row_ok(payload + HEAD_WORDS + (size_t)i * ROW_WORDS)) {
			st_drain_refuse(drain, "calls of Python, row %" PRIu32, i);
			return;
		}
	}
	record = st_drain_define(drain, &drain->definitions, ST_DEF_PYTHON_CALLS);
	st_buf_append_u32(out, (uint32_t)payload[0]);
	st_buf_append_u32(out, rows);
	st_buf_append_u64(out, slot->time);
	st_buf_append_u64(out, payload[1]);
	for (uint32_t i = HEAD_WORDS; i < payload_words; i++) {
		uint8_t bytes[ST_VARINT64_MAX_BYTES];

		st_buf_append(out, bytes, (size_t)(st_varint_put(bytes, payload[i]) - bytes));
	}
	st_drain_defined(&drain->definitions, record);
}
