/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows were taken from the headers of each version and are checked against the interpreters by
 * tests/e2e/test_python_walk.py.
 */
#include "unwind/rt/python_layout.h"

#include <stddef.h>
#include <string.h>

#define OLD_STRINGS                                                                                \
	{                                                                                          \
		.length = 16, .state = 32, .ascii_data = 48, .data = 72                            \
	}
#define NEW_STRINGS                                                                                \
	{                                                                                          \
		.length = 16, .state = 32, .ascii_data = 40, .data = 56                            \
	}
/* Frames that are objects, one for each native evaluation frame. */
#define UP_TO_3_10                                                                                 \
	.state_bytes = 184, .state_frame = 24, .c_frame = ST_PYTHON_ABSENT, .state_thread = 176,   \
	.state_status = ST_PYTHON_ABSENT, .state_chunk = ST_PYTHON_ABSENT, .frame_begin = 24,      \
	.frame_code = 32, .frame_back = 24, .frame_owner = ST_PYTHON_ABSENT, .frame_globals = 48,  \
	.frame_entry = ST_PYTHON_ABSENT, .code_bytes = 128, .code_first_line = 40,                 \
	.code_file = 104, .code_name = 112, .code_table = 120, .code_version = ST_PYTHON_ABSENT,   \
	.strings = OLD_STRINGS
#define FROM_3_12                                                                                  \
	.lines = ST_LINES_LOCATIONS, .state_bytes = 248, .state_thread = ST_PYTHON_ABSENT,         \
	.state_chunk = 232, .frame_code = 0, .frame_back = 8, .frame_entry = ST_PYTHON_ABSENT,     \
	.frame_globals = 24, .frame_place = 56, .code_first_line = 68, .code_file = 112,           \
	.code_name = 128, .code_table = 136, .code_version = 92, .strings = NEW_STRINGS

static const struct st_python_layout layouts[] = {
	{.minor = 8,
	 .lines = ST_LINES_DELTAS,
	 .frame_bytes = 112,
	 .frame_place = 104,
	 .place_scale = 1,
	 UP_TO_3_10},
	{.minor = 9,
	 .lines = ST_LINES_DELTAS,
	 .frame_bytes = 112,
	 .frame_place = 104,
	 .place_scale = 1,
	 UP_TO_3_10},
	{.minor = 10,
	 .lines = ST_LINES_RANGES,
	 .frame_bytes = 104,
	 .frame_place = 96,
	 .place_scale = 2,
	 UP_TO_3_10},
	{.minor = 11,
	 .lines = ST_LINES_LOCATIONS,
	 .state_bytes = 312,
	 .state_frame = 56,
	 .c_frame = 8,
	 .c_previous = 16,
	 .state_thread = 152,
	 .state_status = ST_PYTHON_ABSENT,
	 .state_chunk = 296,
	 .frame_bytes = 72,
	 .frame_code = 32,
	 .frame_back = 48,
	 .frame_globals = 8,
	 .frame_owner = 69,
	 .frame_entry = 68,
	 .frame_place = 56,
	 .code_bytes = 172,
	 .code_first_line = 72,
	 .code_file = 112,
	 .code_name = 128,
	 .code_table = 136,
	 .code_version = ST_PYTHON_ABSENT,
	 .code_begin = 184,
	 .code_traceable = 168,
	 .strings = OLD_STRINGS},
	{.minor = 12,
	 .state_frame = 56,
	 .c_frame = 0,
	 .c_previous = 8,
	 .state_status = 24,
	 .holds_lock = 1 << 4,
	 .frame_bytes = 72,
	 .frame_owner = 70,
	 .code_bytes = 180,
	 .code_begin = 192,
	 .code_traceable = 176,
	 FROM_3_12},
	{.minor = 13,
	 .state_frame = 72,
	 .c_frame = ST_PYTHON_ABSENT,
	 .state_status = 32,
	 .holds_lock = 1 << 5,
	 .frame_bytes = 72,
	 .frame_owner = 70,
	 .code_bytes = 188,
	 .code_begin = 200,
	 .code_traceable = 184,
	 FROM_3_12},
	{.minor = 14,
	 .state_frame = 72,
	 .c_frame = ST_PYTHON_ABSENT,
	 .state_status = 32,
	 .holds_lock = 1 << 4,
	 .frame_bytes = 80,
	 .frame_owner = 74,
	 .code_bytes = 196,
	 .code_begin = 208,
	 .code_traceable = 192,
	 .code_tag = 3,
	 FROM_3_12},
};

/* Where _Py_DebugOffsets have what: index of a 64-bit word. The groups grow between versions. */
enum { OFFSETS_VERSION = 1, OFFSETS_FREE_THREADED = 2 };
static const struct {
	uint16_t minor;
	uint16_t thread, frame, code; /* first word of the group */
} debug_offsets[] = {
	{13, 19, 28, 34},
	{14, 22, 31, 39},
};
enum { THREAD_FRAME = 4, THREAD_CHUNK = 7, THREAD_STATUS = 8 };
enum { FRAME_PREVIOUS = 1, FRAME_CODE = 2, FRAME_PLACE = 3, FRAME_OWNER = 5 };
enum { CODE_FILE = 1, CODE_NAME = 3, CODE_TABLE = 4, CODE_FIRST_LINE = 5, CODE_BEGIN = 9 };

const struct st_python_layout *st_python_layout_of(uint32_t version)
{
	for (size_t i = 0; version >> 24 == 3 && i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == (version >> 16 & 255))
			return &layouts[i];
	return NULL;
}

static bool take(uint16_t *field, uint64_t offset, uint32_t size_bytes, uint32_t limit)
{
	if (offset > limit - size_bytes)
		return false;
	*field = (uint16_t)offset;
	return true;
}

bool st_python_layout_refine(struct st_python_layout *layout, const uint64_t *words,
			     uint32_t version, bool *free_threaded)
{
	struct st_python_layout found = *layout;
	const uint64_t *thread, *frame, *code;
	size_t row = 0;

	while (row < sizeof(debug_offsets) / sizeof(*debug_offsets) &&
	       debug_offsets[row].minor != layout->minor)
		row++;
	if (row == sizeof(debug_offsets) / sizeof(*debug_offsets) || memcmp(words, "xdebugpy", 8) ||
	    words[OFFSETS_VERSION] >> 16 != version >> 16)
		return false;
	*free_threaded = words[OFFSETS_FREE_THREADED] != 0;
	thread = words + debug_offsets[row].thread;
	frame = words + debug_offsets[row].frame;
	code = words + debug_offsets[row].code;
	/* What they do not name (the top of the frame stack, the first traceable instruction, the version of a
	 * code) stays where the table has it, relative to its neighbour where that has moved. */
	if (!take(&found.state_frame, thread[THREAD_FRAME], 8, found.state_bytes) ||
	    !take(&found.state_chunk, thread[THREAD_CHUNK], 16, found.state_bytes) ||
	    !take(&found.state_status, thread[THREAD_STATUS], 4, found.state_bytes) ||
	    !take(&found.frame_back, frame[FRAME_PREVIOUS], 8, found.frame_bytes) ||
	    !take(&found.frame_code, frame[FRAME_CODE], 8, found.frame_bytes) ||
	    !take(&found.frame_place, frame[FRAME_PLACE], 8, found.frame_bytes) ||
	    !take(&found.frame_owner, frame[FRAME_OWNER], 1, found.frame_bytes) ||
	    !take(&found.code_file, code[CODE_FILE], 8, found.code_bytes) ||
	    !take(&found.code_name, code[CODE_NAME], 8, found.code_bytes) ||
	    !take(&found.code_table, code[CODE_TABLE], 8, found.code_bytes) ||
	    !take(&found.code_first_line, code[CODE_FIRST_LINE], 4, found.code_bytes) ||
	    code[CODE_BEGIN] < found.code_bytes || code[CODE_BEGIN] > ST_PYTHON_CODE_BYTES_MAX + 64)
		return false;
	found.code_traceable =
		(uint16_t)(found.code_traceable + code[CODE_BEGIN] - found.code_begin);
	found.code_begin = (uint16_t)code[CODE_BEGIN];
	if (found.code_traceable + 4 > found.code_bytes)
		found.code_bytes = (uint16_t)(found.code_traceable + 4);
	if (found.code_bytes > ST_PYTHON_CODE_BYTES_MAX)
		return false;
	*layout = found;
	return true;
}
