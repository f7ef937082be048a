/* SPDX-License-Identifier: Apache-2.0
 *
 * What an open result holds besides slices: every event as it was recorded, in rows mapped from the
 * index, and what the index builder derives from them: spans (things with a begin and an end that do not
 * nest), sync objects, ids. Everything is borrowed until st_result_close; times are ns since the start
 * of collection.
 */
#ifndef ST_STORE_EVENTS_H
#define ST_STORE_EVENTS_H

#include <stdint.h>

#include "format/event_kind.h"
#include "store/result.h"

/* Flags of an event. */
enum {
	ST_EVENT_TIME_GIVEN = 1,     /* time_ns is the program's own, converted */
	ST_EVENT_TIME_ESTIMATED = 2, /* converted from a foreign clock domain */
	ST_EVENT_DATA_CUT = 4,	     /* its data was longer than what is kept */
	/* A use of a sync object told once more, through fsync: makes no span, is not to be counted. */
	ST_EVENT_REPEATED = 8,
};

/* Rows of one track lie together in the order in which they were recorded; those of the family (marks by
 * strata -command) come last. */
struct st_event_row {
	int64_t time_ns;
	uint64_t value, extra;
	uint32_t track; /* index, or ST_NO_ROW */
	uint32_t slice; /* innermost open slice of the track at this place, or ST_NO_ROW */
	st_string_id domain, name;
	uint32_t object;    /* index into objects, or ST_NO_ROW */
	uint32_t id, other; /* index into ids; 0: the null id */
	uint32_t data;	    /* index into blobs; 0: none */
	uint32_t detail;
	uint16_t kind; /* enum st_event_kind */
	uint16_t flags;
};
_Static_assert(sizeof(struct st_event_row) == 64, "event row is a file format");

struct st_itt_id {
	uint64_t d[3];
};

enum st_span_kind {
	ST_SPAN_OVERLAPPED = 1, /* overlapped task: same id, any thread */
	ST_SPAN_REGION = 2,	/* the same id; repeated begins and ends are ignored */
	ST_SPAN_FRAME = 3,	/* of its domain: by id, or the domain's current one */
	ST_SPAN_TIMED_TASK = 4, /* task with times of its own that do not fit the thread's order */
	ST_SPAN_USER_EVENT = 5, /* __itt_event_start … end on one thread */
	ST_SPAN_MARK = 6,	/* mark … mark_off, of the thread or (object's detail) global */
	ST_SPAN_WAIT = 7,	/* sync_prepare … acquired or cancel; a wait in the C library */
	ST_SPAN_HOLD = 8,	/* sync_acquired … releasing */
	ST_SPAN_KINDS
};

/* Flags of a span beyond ST_SLICE_UNFINISHED and ST_SLICE_CLIPPED. */
enum {
	ST_SPAN_CANCELLED = 8,	/* the wait was given up */
	ST_SPAN_ESTIMATED = 16, /* a time comes from a foreign clock domain */
};

#define ST_SPAN_TOLD 0x80000000u

struct st_span { /* sorted by kind, then begin */
	int64_t begin_ns,
		end_ns; /* a user event or mark that never ends has end == begin and is no span */
	uint32_t kind;
	uint32_t process; /* index */
	/* Index, or ST_NO_ROW. Of waits in the C library: who waits, and who let him go (himself: not known). */
	uint32_t begin_track, end_track;
	uint32_t slice; /* innermost open slice of begin_track at the begin, or ST_NO_ROW */
	st_string_id domain, name;
	uint32_t
		object; /* of events and marks: index into objects; of waits and holds: into sync objects */
	uint32_t id, parent; /* index into ids */
	/* Of the begin, or of the end when there is no begin; of a wait in the C library ST_SPAN_TOLD | its detail
	 * (format/wait_kind.h): it has no row. */
	uint32_t event;
	uint16_t flags;
	uint16_t
		lane; /* spans of one kind, process and domain that overlap lie in different lanes */
};
_Static_assert(sizeof(struct st_span) == 64, "span is a file format");

/* In the attribute of a sync object that the C library has: enum st_wait_kind. */
enum { ST_SYNC_KIND_SHIFT = 8, ST_SYNC_ATTRIBUTE_MASK = 0xff };

struct st_sync_object {
	uint32_t process;   /* index */
	uint32_t attribute; /* 1 barrier, 2 mutex; and see above */
	uint64_t address;
	st_string_id type, name; /* 0: not told */
	int64_t first_ns;
	uint64_t maker;	      /* of the C library's: address in the program that made it, or 0 */
	st_string_id made_at; /* the Python line, or from resolve/objects.h the function, or 0 */
	uint32_t generation;  /* how many of its kind have been at the address before it */
};

/* A counter named by domain and string (inc_v3 …) is an object too: made up by the reader. */
struct st_object {
	uint32_t process; /* index */
	uint8_t kind;	  /* enum st_object_kind */
	uint8_t type, type_y, flags;
	st_string_id name, domain;
	uint32_t parent; /* index into objects, or ST_NO_ROW */
	uint64_t number[3];
};

struct st_object_fact {	 /* context metadata of a counter */
	uint32_t object; /* index into objects */
	uint32_t type;	 /* ITT's context types: 1-8 text, 9-17 number */
	uint64_t number;
	st_string_id text;
};

/* Code that was loaded besides files: JIT methods, modules told by ITT. */
struct st_code {
	uint32_t process;
	uint32_t kind; /* ST_EVENT_JIT, _MODULE_LOAD, _MODULE_LOAD_SECTIONS */
	uint64_t address, size_bytes;
	int64_t from_ns, until_ns; /* until: unloaded, replaced, or the end of the process */
	st_string_id name, class_name, source, module;
	uint32_t method, parent_method; /* JIT ids */
	const uint32_t *lines;		/* pairs: end offset, line */
	uint32_t line_count;
};

struct st_code_map {
	uint32_t process;
	uint64_t start, end, file_offset;
	int64_t from_ns;
	st_string_id path, build_id; /* bytes of the id; empty: none or not known */
};

struct st_events {
	uint32_t count;
	const struct st_event_row *rows;
	const uint32_t *first_of_track; /* [track count + 1]; from the last one on: of the family */
};

const struct st_events *st_result_events(const struct st_result *result);
const struct st_itt_id *st_result_ids(const struct st_result *result, uint32_t *count);
struct st_text st_result_blob(const struct st_result *result, uint32_t blob);
const struct st_span *st_result_spans(const struct st_result *result, uint32_t *count);
const struct st_sync_object *st_result_sync_objects(const struct st_result *result,
						    uint32_t *count);
/* Gives one a name, until the result is closed; before anything was asked. False: no memory. */
bool st_result_name_sync_object(struct st_result *result, uint32_t object, struct st_text name);
/* The same of the place where it was made. */
bool st_result_place_sync_object(struct st_result *result, uint32_t object, struct st_text made_at);
const struct st_object *st_result_objects(const struct st_result *result, uint32_t *count);
const struct st_object_fact *st_result_object_facts(const struct st_result *result,
						    uint32_t *count);
const struct st_code *st_result_code(const struct st_result *result, uint32_t *count);
const struct st_code_map *st_result_code_maps(const struct st_result *result, uint32_t *count);

/* Who began a slice: an address, or 0. "libtorch_cpu.so+0x1234" in words where the file is known. */
struct st_caller {
	uint32_t process;
	uint64_t address;
	st_string_id place;
};
/* The caller of each slice is an index into this table; 0: not known. */
const uint32_t *st_result_slice_callers(const struct st_result *result);
const struct st_caller *st_result_callers(const struct st_result *result, uint32_t *count);
/* The ITT id and parent of a slice, and the Python line that began it: rows of the events table that say so,
 * or ST_NO_ROW. Found by binary search; ask for single slices, or walk the events instead. */
uint32_t st_result_slice_event(const struct st_result *result, uint32_t slice, uint32_t kind);

#endif
