/* SPDX-License-Identifier: Apache-2.0
 *
 * Where each version of CPython keeps what we read of it: offsets in bytes, of 64-bit release builds. One
 * row for a minor version; 3.13 and later say most of it themselves (_Py_DebugOffsets), and are believed
 * where what they say is plausible. Used inside the program and from outside.
 */
#ifndef ST_UNWIND_RT_PYTHON_LAYOUT_H
#define ST_UNWIND_RT_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum st_python_lines {
	ST_LINES_DELTAS, /* 3.8, 3.9: pairs of byte and line steps; the line changes behind the step */
	ST_LINES_RANGES,    /* 3.10: pairs of byte length and line step; -128: no line */
	ST_LINES_LOCATIONS, /* 3.11 on: entries of one head byte and what its kind needs */
};

/* Where a string object keeps its characters: behind the head of an ASCII one, or of any other. */
struct st_python_strings {
	uint16_t length, state, ascii_data, data;
};

enum { ST_PYTHON_ABSENT = 0xffff };
enum { ST_PYTHON_FRAME_BYTES_MAX = 112, ST_PYTHON_CODE_BYTES_MAX = 208 };
enum { ST_PYTHON_OBJECT_TYPE = 8, ST_PYTHON_OBJECT_SIZE = 16, ST_PYTHON_BYTES_HEAD = 32 };
/* Of a frame, 3.11 on. */
enum { ST_PYTHON_OWNER_GENERATOR = 1, ST_PYTHON_OWNER_SHIM = 3, ST_PYTHON_OWNER_SENTINEL = 4 };

struct st_python_layout {
	uint16_t minor;
	uint16_t lines;			   /* enum st_python_lines */
	uint16_t state_bytes;		   /* up to the last field we read */
	uint16_t state_frame, c_frame;	   /* state → frame, or → C frame → frame */
	uint16_t c_previous;		   /* C frame → the next outer one */
	uint16_t state_thread;		   /* up to 3.11: whose it is */
	uint16_t state_status, holds_lock; /* 3.12 on: bits, and the one that says it runs */
	uint16_t state_chunk;		   /* 3.11 on: frame stack; its top is the next word */
	uint16_t frame_begin, frame_bytes; /* what we read of a frame lies in [begin, bytes) */
	uint16_t frame_code, frame_back, frame_owner;
	uint16_t frame_globals;
	uint16_t frame_entry; /* 3.11: outermost frame of its native evaluation frame */
	uint16_t
		frame_place; /* up to 3.10 an int, in units of place_scale bytes; then an address */
	uint16_t place_scale;
	uint16_t code_bytes; /* up to the last field we read */
	uint16_t code_first_line, code_file, code_name, code_table;
	uint16_t code_version; /* 3.12 on */
	uint16_t code_begin, code_traceable;
	uint16_t code_tag; /* bits of the frame's reference to its code that are not the address */
	struct st_python_strings strings;
};

/* The row of a version, NULL: not known. */
const struct st_python_layout *st_python_layout_of(uint32_t version);

/* Takes over what _Py_DebugOffsets at `words` say. False: they are not there, or make no sense. */
bool st_python_layout_refine(struct st_python_layout *layout, const uint64_t *words,
			     uint32_t version, bool *free_threaded);

#pragma GCC visibility pop

#endif
