/* SPDX-License-Identifier: Apache-2.0
 *
 * The payload of ST_CHUNK_DEFINITIONS: framed records { u16 type, u16 zero, u32 body_bytes, body }.
 * Readers skip types they do not know and bytes behind the fields they know. Bodies are little-endian
 * fields in the order of the comments; "text" is u32 byte length + bytes, any bytes. The process a
 * record speaks of is the chunk header's, unless a field says otherwise.
 */
#ifndef ST_FORMAT_DEFINITIONS_H
#define ST_FORMAT_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

enum st_definition_type {
	/* u32 pid, u32 parent_process (dense id or 0), u64 start_time (/proc stat field 22), u32 incarnation
	 * (+1 at each exec of the same pid), u32 flags (ST_PROCESS_*), u64 first_time ticks,
	 * text command line (arguments joined by NUL), text executable path. A later record of the same
	 * process replaces the earlier one. */
	ST_DEF_PROCESS = 1,
	/* u64 time ticks, u32 how (enum st_process_end), u32 status (wait status of the direct child, else 0) */
	ST_DEF_PROCESS_END = 2,
	ST_DEF_STRING = 3, /* u32 id, text */
	ST_DEF_DOMAIN = 4, /* u32 id, text */
	/* u32 ancestor process (dense id), u32 strings, u32 domains, u32 objects: ids 1 … n mean what they
	 * mean there */
	ST_DEF_INHERIT = 5,
	/* A track: u32 track, u32 tid (of a track that is no thread a number that its producer gives), u64 first_time
	 * ticks; since 1.6 u32 enum st_track_kind, text name; absent: a thread, named by its tid */
	ST_DEF_THREAD = 6,
	ST_DEF_THREAD_NAME = 7, /* u32 tid, text; the last one wins; of all threads of that tid */
	/* u32 track (0: the process), then u64: slices dropped, unmatched ends, lost_no_slot, labels cut,
	 * labels unknown, suspect ring positions, events dropped, events cut, samples dropped; cumulative, the
	 * last one wins */
	ST_DEF_LOSS = 8,
	/* u32 pid, u32 reason (enum st_not_entered), u64 time ticks, text executable path, text command; u64 CPU time in ns as
	 * far as it was seen, absent in older results */
	ST_DEF_NOT_ENTERED = 9,
	ST_DEF_NOTE = 10, /* u32 severity (0 info, 1 warning, 2 error), u64 time ticks, text */
	/* u64 time ticks, u32 kind (ST_MARK_PAUSE / _RESUME for the family, ST_MARK_DETACH = stopped) */
	ST_DEF_FAMILY_CONTROL = 11,
	ST_DEF_OBJECT = 12, /* u32 id, u32 zero, then the bytes of ST_DEFINE_OBJECT */
	ST_DEF_OBJECT_METADATA =
		13, /* u32 object id, u32 zero, then the bytes of ST_DEFINE_OBJECT_METADATA */
	/* u64 time ticks, u32 tid, u32 body bytes, body of an event (format/event.h): modules and JIT code */
	ST_DEF_CODE_EVENT = 14,
	/* A file mapped for execution: u64 start, u64 end, u64 file offset, u64 time first seen ticks, text
	 * path, text build id (bytes) */
	ST_DEF_CODE_MAP = 15,
	ST_DEF_FAMILY_MARK = 16, /* u64 time ticks, text: strata -command mark */
	ST_DEF_STACK_NODES = 17, /* format/samples.h: a run of nodes of the process's stack tree */
	/* u32 id, u32 first line, u32 flags (ST_PYTHON_CODE_*), text file, text name, text line table */
	ST_DEF_PYTHON_CODE = 18,
	/* u32 PY_VERSION_HEX, u32 flags, u64 start and end of the evaluation function, u64 start and end of its
	 * cold part */
	ST_DEF_PYTHON_RUNTIME = 19,
	/* How the process is sampled; the last one wins: u32 rung, u32 trigger, u32 ST_ARM_* flags, u32 zero,
	 * u64 period ns, u64 time ticks, text why no better rung ("" when it is the best) */
	ST_DEF_SAMPLER = 20,
	/* u32 tid, u32 tid of the thread that created it, u64 time ticks */
	ST_DEF_THREAD_CREATOR = 21,
	/* What was lost while sampling, of the process; cumulative, the last one wins: u64 samples dropped (rings
	 * were full), samples not taken (the thread was inside the collector, or had no slot), ticks spent in the
	 * handler, stack nodes refused (tree full), samples before the first table was ready, ns of table
	 * building, tables built, tables found in the cache */
	ST_DEF_SAMPLER_LOSS = 22,
	ST_DEF_SIGNATURE =
		23, /* u32 id, u32 zero, then the bytes of ST_DEFINE_SIGNATURE (format/operator.h) */
	/* How operators of the process are recorded; the last one wins: u32 enum st_operator_level, u32 flags, text of the
	 * framework and its version, text why no better level ("" when it is the best) */
	ST_DEF_OPERATOR_SOURCE = 24,
	ST_DEF_PYTHON_FUNCTION = 25, /* u32 id, u32 first line, text file, text name */
	/* What calls on a thread have come to since the previous such record: u32 tid, u32 rows, u64 time ticks, u64 calls
	 * that are in no row, then for each row the varints function id, calls, calls that were not recursive, ticks in
	 * itself, ticks in all */
	ST_DEF_PYTHON_CALLS = 26,
	/* What the threads of all processes came to between two looks at them: u64 time ticks of the first look, u64 of the
	 * second, u64 ns for which they ran, u64 ns for which they were ready to run and waited for a CPU, u32 threads */
	ST_DEF_FAMILY_DEMAND = 27,
};

/* What a track is: a row of slices. */
enum st_track_kind {
	ST_TRACK_THREAD = 0, /* of the operating system: tid is its id */
	ST_TRACK_DEVICE_STREAM = 1,
	ST_TRACK_DEVICE_QUEUE = 2,
	ST_TRACK_PROCESS = 3, /* what belongs to the process as a whole */
	ST_TRACK_COUNTER = 4,
	ST_TRACK_OTHER = 5, /* of a later version */
	ST_TRACK_KINDS
};

enum { ST_PROCESS_DIRECT = 1, ST_PROCESS_FORKED = 2 };

enum st_process_end {
	ST_END_EXITED = 1,	 /* direct child: status is its wait status */
	ST_END_GONE = 2,	 /* another process: it ended, its status cannot be known */
	ST_END_EXEC = 3,	 /* the same pid goes on as the next incarnation */
	ST_END_LEFT_RUNNING = 4, /* it still ran when the collection ended */
};

enum st_not_entered {
	ST_NOT_ENTERED_STATIC = 1,
	ST_NOT_ENTERED_SETUID = 2,
	ST_NOT_ENTERED_OTHER_LIBC = 3,
	ST_NOT_ENTERED_OTHER_CLASS = 4,
	ST_NOT_ENTERED_ENVIRONMENT = 5, /* its environment had been emptied */
	ST_NOT_ENTERED_LAYOUT = 6,	/* a collector of another build said hello */
	ST_NOT_ENTERED_UNKNOWN = 7,
	ST_NOT_ENTERED_SANITIZER = 8, /* its sanitizer must be the first library */
	ST_NOT_ENTERED_MEMORY = 9,    /* a limit leaves no room for what it would record into */
	ST_NOT_ENTERED_ENGINE = 10,   /* it runs other programs' code itself */
	ST_NOT_ENTERED_GO = 11,	      /* its run time has all signals to itself */
};

/* Writing: begin, fields with st_buf_append_*, end. */
size_t st_definition_begin(struct st_buf *out, enum st_definition_type type);
void st_definition_text(struct st_buf *out, const void *bytes, size_t size_bytes);
void st_definition_end(struct st_buf *out, size_t begin);

/* Reading: next record of a payload; fields are read with the cursor, which never runs over its end and
 * gives 0 / empty text once it has failed. */
struct st_cursor {
	const uint8_t *at, *end;
	bool failed;
};
struct st_text {
	const char *bytes; /* borrowed, not terminated */
	size_t size_bytes;
};

static inline bool st_text_begins(struct st_text text, const char *word)
{
	size_t length = strlen(word);

	return text.size_bytes >= length && memcmp(text.bytes, word, length) == 0;
}

static inline bool st_text_equals(struct st_text text, const char *word)
{
	return text.size_bytes == strlen(word) && st_text_begins(text, word);
}

static inline bool st_text_holds(struct st_text text, const char *part)
{
	return memmem(text.bytes, text.size_bytes, part, strlen(part)) != NULL;
}

bool st_definition_next(struct st_cursor *payload, enum st_definition_type *type,
			struct st_cursor *body);
uint16_t st_cursor_u16(struct st_cursor *cursor);
uint32_t st_cursor_u32(struct st_cursor *cursor);
uint64_t st_cursor_u64(struct st_cursor *cursor);
struct st_text st_cursor_text(struct st_cursor *cursor);

#endif
