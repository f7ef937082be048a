/* SPDX-License-Identifier: Apache-2.0
 *
 * The payload of ST_CHUNK_SLICES: the records of one track, split into columns because columns pack
 * four times cheaper and smaller than rows.
 *
 *   u32 ops_bytes, u32 names_bytes, u32 times_bytes, u32 extras_bytes, then the four columns.
 *   ops     one byte a record: bits 0-1 enum st_slice_op, bits 2-7 domain id, 63 = in the extras column
 *   names   varint name id of each begin
 *   times   varint ticks since the previous record; the first since header.first_time
 *   extras  for each record that needs them, in order: varint domain (if 63); for ST_SLICE_MARK varint
 *           enum st_slice_mark, then its varint value; for ST_SLICE_BEGIN_FLAGGED varint flags
 *   events  what is left of the payload: the bodies of the ST_MARK_EVENTs, in order (format/event.h)
 *
 * Operators: ST_MARK_SIGNATURE and ST_MARK_SEQUENCE say what the next begin is; such a begin has no caller.
 *
 * Callers: a table of ST_CALLER_SLOTS addresses, all 0 at the beginning of a chunk; the caller of a begin
 * is in slot name % ST_CALLER_SLOTS, and ST_MARK_CALLER, right before a begin, sets that slot.
 *
 * Encoder and decoder stand here together so that they cannot drift apart.
 */
#ifndef ST_FORMAT_SLICES_H
#define ST_FORMAT_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/ring_record.h"

struct st_chunk_header;
struct st_event;

enum st_slice_op {
	ST_SLICE_BEGIN = 0,
	ST_SLICE_END = 1,
	ST_SLICE_MARK = 2,
	ST_SLICE_BEGIN_FLAGGED = 3
};

enum st_slice_mark {
	ST_MARK_UNMATCHED_END = 1, /* value: domain */
	ST_MARK_LOST = 2,	   /* value: slices dropped just before */
	ST_MARK_PAUSE = 3,     /* this process pauses; value 0 = ITT, 1 = the family by strata */
	ST_MARK_RESUME = 4,    /* as above */
	ST_MARK_DETACH = 5,    /* value 0 */
	ST_MARK_TRACK_END = 6, /* the thread ended (value 1: cleanly, 0: noticed by strata) */
	ST_MARK_EVENT = 7,     /* value: bytes of its body in the events column */
	ST_MARK_CALLER = 8,    /* value: address that the next begin was called from */
	ST_MARK_SIGNATURE = 9, /* value: signature id of the next begin */
	/* value: zigzag, sequence number of the next begin less the previous one of this chunk (from 0) */
	ST_MARK_SEQUENCE = 10,
	/* value: bytes; belong to the slice that is open innermost here */
	ST_MARK_ALLOCATED = 11,
	ST_MARK_FREED = 12,
	ST_MARK_PEAK =
		13, /* held above the time of the previous record, when more than at both ends */
	/* value: stack node (format/samples.h) of the operators that begin from here on in this chunk; 0: not known,
	 * as at the beginning of a chunk */
	ST_MARK_STACK = 14,
	/* value: zigzag, address of the block that the next ALLOCATED or FREED tells of, less the previous one of
	 * this chunk (from 0) */
	ST_MARK_BLOCK = 15,
	/* value 0, only in ST_CHUNK_CALLS: open calls of all threads of the process end here */
	ST_MARK_CALLS_STOP = 16,
	/* value: how many open slices of its domain, the innermost ones, the next end leaves open */
	ST_MARK_LEAVES_OPEN = 17,
	/* value: ST_MEMORY_PLACE of the blocks that ON_DEVICE marks tell of from here on in this chunk */
	ST_MARK_DEVICE = 18,
	/* as ALLOCATED and FREED, of a device's memory; each has a BLOCK before it */
	ST_MARK_DEVICE_ALLOCATED = 19,
	ST_MARK_DEVICE_FREED = 20,
};

/* Flags of a begin are ST_BEGIN_CLIPPED of format/ring_record.h. */

struct st_slice_record {
	enum st_slice_op op; /* a decoder gives ST_SLICE_BEGIN for flagged ones too */
	uint32_t domain;
	uint32_t name;	/* begin */
	uint32_t flags; /* begin */
	enum st_slice_mark mark;
	uint64_t value;	     /* mark */
	uint64_t address;    /* ST_MARK_ALLOCATED, _FREED: the block's; 0: they are sums */
	uint32_t place;	     /* ST_MARK_DEVICE_ALLOCATED, _FREED: ST_MEMORY_PLACE */
	uint64_t caller;     /* begin; 0: not known */
	uint32_t signature;  /* begin of an operator; 0: it is none */
	int64_t sequence;    /* begin of an operator; -1: none */
	uint32_t stack;	     /* begin of an operator: node; 0: not known */
	const uint8_t *body; /* ST_MARK_EVENT: value bytes */
	uint64_t time;	     /* ticks */
};

struct st_slice_encoder {
	struct st_buf ops, names, times, extras, events;
	uint64_t first_time, last_time;
	uint32_t record_count, begin_count, event_count;
	uint64_t callers[ST_CALLER_SLOTS];
	int64_t last_sequence;
	uint32_t stack;
	uint64_t last_block;
	uint32_t place;
};

void st_slice_encoder_init(struct st_slice_encoder *enc);
void st_slice_encoder_fini(struct st_slice_encoder *enc);
void st_slice_encoder_clear(struct st_slice_encoder *enc);
/* time must not be before that of the previous call; it is raised to it if it is. */
void st_slice_encoder_begin(struct st_slice_encoder *enc, uint64_t time, uint32_t domain,
			    uint32_t name, uint32_t flags);
void st_slice_encoder_end(struct st_slice_encoder *enc, uint64_t time, uint32_t domain);
void st_slice_encoder_mark(struct st_slice_encoder *enc, uint64_t time, enum st_slice_mark mark,
			   uint64_t value);
/* Says who calls the begin that comes next, which has this name. Costs nothing while it stays the same. */
void st_slice_encoder_caller(struct st_slice_encoder *enc, uint64_t time, uint32_t name,
			     uint64_t caller);
/* Says that the begin that comes next is an operator; sequence -1: it has none. */
void st_slice_encoder_operator(struct st_slice_encoder *enc, uint64_t time, uint32_t signature,
			       int64_t sequence);
/* The stack of the operators that begin from here on. Costs nothing while it stays the same. */
void st_slice_encoder_stack(struct st_slice_encoder *enc, uint64_t time, uint32_t node);
/* Memory that the innermost open slice took: bytes allocated, freed, and most that was held between. */
void st_slice_encoder_memory(struct st_slice_encoder *enc, uint64_t time, const uint64_t bytes[3]);
/* One block that it took, or gave back: bytes below 0. */
void st_slice_encoder_block(struct st_slice_encoder *enc, uint64_t time, uint64_t address,
			    int64_t bytes);
/* The same of a device's memory. */
void st_slice_encoder_device_block(struct st_slice_encoder *enc, uint64_t time, uint32_t place,
				   uint64_t address, int64_t bytes);
void st_slice_encoder_event(struct st_slice_encoder *enc, uint64_t time,
			    const struct st_event *event);
/* As many records or bytes as a chunk should have: finish it. */
bool st_slice_encoder_is_full(const struct st_slice_encoder *enc);
/* Appends the payload to out and fills first_time, last_time and the counts of header. */
bool st_slice_encoder_finish(struct st_slice_encoder *enc, struct st_chunk_header *header,
			     struct st_buf *out);

struct st_slice_decoder {
	const uint8_t *ops, *ops_end, *names, *names_end, *times, *times_end, *extras, *extras_end;
	const uint8_t *events, *events_end;
	uint64_t time;
	uint64_t callers[ST_CALLER_SLOTS];
	uint64_t next_caller;
	bool has_next_caller;
	uint32_t next_signature;
	int64_t next_sequence, last_sequence;
	uint32_t stack;
	uint64_t last_block;
	bool has_next_block;
	uint32_t place;
};

enum st_status st_slice_decoder_init(struct st_slice_decoder *dec,
				     const struct st_chunk_header *header, const void *payload,
				     size_t payload_bytes, struct st_error *err);
/* True and *out, or false at the end or at damage (then *err says so and err->status is not ST_OK;
 * the caller sets err->status to ST_OK before). */
bool st_slice_decoder_next(struct st_slice_decoder *dec, struct st_slice_record *out,
			   struct st_error *err);

#endif
