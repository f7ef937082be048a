/* SPDX-License-Identifier: Apache-2.0
 *
 * Where each version of CPython keeps what we read of it: offsets in bytes, of 64-bit release builds. One
 * row for a minor version; 3.13 and later say most of it themselves (_Py_DebugOffsets), and are believed
 * where what they say is plausible.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_LAYOUT_H
#define ST_COLLECT_INPROC_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/python_table.h"

#pragma GCC visibility push(hidden)

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

/* The CPython of this process. */
struct st_python_runtime {
	bool present;
	bool free_threaded;
	uint32_t version; /* PY_VERSION_HEX */
	bool known;	  /* there is a layout */
	struct st_python_layout layout;
	void *(*this_thread_state)(void);
	void *(*running_state)(void); /* up to 3.11: who holds the interpreter's lock */
	uint64_t code_type, string_type, bytes_type;
	uint64_t eval_start, eval_end;
};

/* Looks for CPython in the process; not in a signal handler. False: there is none. */
bool st_python_runtime_find(struct st_python_runtime *out);

/* The row of a version, NULL: not known. */
const struct st_python_layout *st_python_layout_of(uint32_t version);

/* Takes over what _Py_DebugOffsets at `words` say. False: they are not there, or make no sense. */
bool st_python_layout_refine(struct st_python_layout *layout, const uint64_t *words,
			     uint32_t version, bool *free_threaded);

#pragma GCC visibility pop

#endif
