// SPDX-License-Identifier: Apache-2.0
//
// Encoder and decoder of the slice columns. The encoder runs in the drain, once per record at up to
// millions a second, so it writes straight into buffers that it has made room in; the decoder runs in
// the index builder and checks every byte it takes, because the file may be damaged or hostile.
#include "format/slices.h"

#include <string.h>

#include "format/chunk.h"
#include "format/event.h"
#include "format/varint.h"

enum {
	OP_BITS = 2,
	OP_MASK = (1 << OP_BITS) - 1,
	DOMAIN_IN_EXTRAS = 63,
	COLUMN_COUNT = 4,
	HEAD_BYTES = COLUMN_COUNT * 4,
	/* The most one record adds to each column: varints of 32 and 64 bits. */
	NAME_MAX_BYTES = ST_VARINT32_MAX_BYTES,
	TIME_MAX_BYTES = ST_VARINT64_MAX_BYTES,
	EXTRAS_MAX_BYTES = 20,
	SHORT_MAX = (1 << 28) - 1, /* four bytes as a varint; put_short writes them at once */
	SPARE_BYTES = 4,
	FIRST_RECORDS = 1024, /* a power of two: buffers grow by doubling */
	/* Twice what a chunk holds, so that a caller that tests after every batch is safe. All columns
	 * full give a payload that is still under ST_CHUNK_RAW_MAX. */
	RECORDS_MAX = 2 * ST_CHUNK_RECORDS_MAX,
	/* The same for the bodies of events: a chunk is full at the first, and fails beyond the second. */
	EVENTS_FULL_BYTES = 1 << 20,
	EVENTS_MAX_BYTES = 5 << 19,
};

_Static_assert(RECORDS_MAX *(1 + NAME_MAX_BYTES + TIME_MAX_BYTES + EXTRAS_MAX_BYTES) + HEAD_BYTES +
			       EVENTS_MAX_BYTES <=
		       ST_CHUNK_RAW_MAX,
	       "a full encoder fits into a chunk");

void st_slice_encoder_init(struct st_slice_encoder *enc)
{
	memset(enc, 0, sizeof(*enc));
	st_buf_init(&enc->ops, RECORDS_MAX);
	st_buf_init(&enc->names, RECORDS_MAX * NAME_MAX_BYTES + SPARE_BYTES);
	st_buf_init(&enc->times, RECORDS_MAX * TIME_MAX_BYTES + SPARE_BYTES);
	st_buf_init(&enc->extras, RECORDS_MAX * EXTRAS_MAX_BYTES + SPARE_BYTES);
	st_buf_init(&enc->events, EVENTS_MAX_BYTES);
}

void st_slice_encoder_fini(struct st_slice_encoder *enc)
{
	if (!enc)
		return;
	st_buf_fini(&enc->ops);
	st_buf_fini(&enc->names);
	st_buf_fini(&enc->times);
	st_buf_fini(&enc->extras);
	st_buf_fini(&enc->events);
	memset(enc, 0, sizeof(*enc));
}

void st_slice_encoder_clear(struct st_slice_encoder *enc)
{
	st_buf_clear(&enc->ops);
	st_buf_clear(&enc->names);
	st_buf_clear(&enc->times);
	st_buf_clear(&enc->extras);
	st_buf_clear(&enc->events);
	enc->first_time = 0;
	enc->last_time = 0;
	enc->record_count = 0;
	enc->begin_count = 0;
	enc->event_count = 0;
	memset(enc->callers, 0, sizeof(enc->callers));
	enc->last_sequence = 0;
	enc->stack = 0;
	enc->last_block = 0;
	enc->place = 0;
}

/* Room for more records in all columns at once, so that a record has one thing to test: whatever still
 * fits into ops fits into the others too. Hence ops grows last, and exactly as far. */
static bool make_room(struct st_slice_encoder *enc)
{
	size_t target = enc->ops.capacity_bytes ? enc->ops.capacity_bytes * 2 : FIRST_RECORDS;
	size_t records = target - enc->ops.size_bytes;

	if (st_buf_reserve(&enc->names, records * NAME_MAX_BYTES + SPARE_BYTES) &&
	    st_buf_reserve(&enc->times, records * TIME_MAX_BYTES + SPARE_BYTES) &&
	    st_buf_reserve(&enc->extras, records * EXTRAS_MAX_BYTES + SPARE_BYTES) &&
	    st_buf_reserve(&enc->ops, records))
		return true;
	enc->ops.failed = true;
	return false;
}

static void put_varint(struct st_buf *buf, uint64_t value)
{
	buf->size_bytes = (size_t)(st_varint_put(buf->data + buf->size_bytes, value) - buf->data);
}

/* The same up to SHORT_MAX. Lengths differ from record to record, so a loop would be mispredicted all
 * the time: 28 bits are spread over four bytes without a branch. May write up to SPARE_BYTES behind
 * the end. */
static inline void put_short(struct st_buf *buf, uint32_t value)
{
	static const uint32_t continuation[] = {0, 0x80, 0x8080, 0x808080};
	unsigned int more = 0u + (value > 0x7f) + (value > 0x3fff) + (value > 0x1fffff);
	uint32_t spread = (value & 0x7f) | (value & 0x3f80) << 1 | (value & 0x1fc000) << 2 |
			  (value & 0xfe00000) << 3;

	spread |= continuation[more];
	memcpy(buf->data + buf->size_bytes, &spread, sizeof(spread));
	buf->size_bytes += more + 1;
}

static inline void put_op(struct st_slice_encoder *enc, uint32_t domain, enum st_slice_op op)
{
	enc->ops.data[enc->ops.size_bytes++] = (uint8_t)(domain << OP_BITS | op);
	enc->record_count++;
}

/* Op and time of any record; false when no more fits, and then the record is not there at all. */
static bool put_record(struct st_slice_encoder *enc, uint64_t time, enum st_slice_op op,
		       uint32_t domain)
{
	bool in_extras = domain >= DOMAIN_IN_EXTRAS;

	if (enc->ops.size_bytes == enc->ops.capacity_bytes && !make_room(enc))
		return false;
	if (!enc->record_count)
		enc->first_time = enc->last_time = time;
	if (time < enc->last_time)
		time = enc->last_time;
	put_varint(&enc->times, time - enc->last_time);
	enc->last_time = time;
	put_op(enc, in_extras ? DOMAIN_IN_EXTRAS : domain, op);
	if (in_extras)
		put_varint(&enc->extras, domain);
	return true;
}

__attribute__((noinline, cold)) static void begin_slowly(struct st_slice_encoder *enc,
							 uint64_t time, uint32_t domain,
							 uint32_t name, uint32_t flags)
{
	if (!put_record(enc, time, flags ? ST_SLICE_BEGIN_FLAGGED : ST_SLICE_BEGIN, domain))
		return;
	put_varint(&enc->names, name);
	if (flags)
		put_varint(&enc->extras, flags);
	enc->begin_count++;
}

__attribute__((noinline, cold)) static void end_slowly(struct st_slice_encoder *enc, uint64_t time,
						       uint32_t domain)
{
	put_record(enc, time, ST_SLICE_END, domain);
}

/* What nearly every record is: not the first of its chunk, with room in the columns, a domain that fits
 * into the op, and a short time since the last. (An encoder that has failed is full for good.) */
static inline bool is_common(const struct st_slice_encoder *enc, uint64_t time, uint32_t domain)
{
	return enc->ops.size_bytes != enc->ops.capacity_bytes && enc->record_count &&
	       domain < DOMAIN_IN_EXTRAS && time - enc->last_time <= SHORT_MAX;
}

void st_slice_encoder_begin(struct st_slice_encoder *enc, uint64_t time, uint32_t domain,
			    uint32_t name, uint32_t flags)
{
	if (__builtin_expect(!is_common(enc, time, domain) || flags || name > SHORT_MAX, 0)) {
		begin_slowly(enc, time, domain, name, flags);
		return;
	}
	put_short(&enc->times, (uint32_t)(time - enc->last_time));
	put_short(&enc->names, name);
	enc->last_time = time;
	put_op(enc, domain, ST_SLICE_BEGIN);
	enc->begin_count++;
}

void st_slice_encoder_end(struct st_slice_encoder *enc, uint64_t time, uint32_t domain)
{
	if (__builtin_expect(!is_common(enc, time, domain), 0)) {
		end_slowly(enc, time, domain);
		return;
	}
	put_short(&enc->times, (uint32_t)(time - enc->last_time));
	enc->last_time = time;
	put_op(enc, domain, ST_SLICE_END);
}

void st_slice_encoder_mark(struct st_slice_encoder *enc, uint64_t time, enum st_slice_mark mark,
			   uint64_t value)
{
	if (!put_record(enc, time, ST_SLICE_MARK, 0))
		return;
	put_varint(&enc->extras, (uint64_t)mark);
	put_varint(&enc->extras, value);
}

void st_slice_encoder_caller(struct st_slice_encoder *enc, uint64_t time, uint32_t name,
			     uint64_t caller)
{
	uint64_t *slot = &enc->callers[name % ST_CALLER_SLOTS];

	if (__builtin_expect(*slot == caller, 1))
		return;
	*slot = caller;
	st_slice_encoder_mark(enc, time, ST_MARK_CALLER, caller);
}

void st_slice_encoder_operator(struct st_slice_encoder *enc, uint64_t time, uint32_t signature,
			       int64_t sequence)
{
	uint64_t delta;

	st_slice_encoder_mark(enc, time, ST_MARK_SIGNATURE, signature);
	if (sequence < 0)
		return;
	delta = (uint64_t)sequence - (uint64_t)enc->last_sequence;
	st_slice_encoder_mark(enc, time, ST_MARK_SEQUENCE, st_zigzag((int64_t)delta));
	enc->last_sequence = sequence;
}

void st_slice_encoder_stack(struct st_slice_encoder *enc, uint64_t time, uint32_t node)
{
	if (__builtin_expect(enc->stack == node, 1))
		return;
	enc->stack = node;
	st_slice_encoder_mark(enc, time, ST_MARK_STACK, node);
}

void st_slice_encoder_memory(struct st_slice_encoder *enc, uint64_t time, const uint64_t bytes[3])
{
	static const enum st_slice_mark marks[] = {ST_MARK_ALLOCATED, ST_MARK_FREED, ST_MARK_PEAK};

	for (unsigned int i = 0; i < 3; i++)
		if (bytes[i])
			st_slice_encoder_mark(enc, time, marks[i], bytes[i]);
}

static void put_block(struct st_slice_encoder *enc, uint64_t time, enum st_slice_mark mark,
		      uint64_t address, int64_t bytes)
{
	int64_t delta = (int64_t)(address - enc->last_block);

	st_slice_encoder_mark(enc, time, ST_MARK_BLOCK, st_zigzag(delta));
	st_slice_encoder_mark(enc, time, mark, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
	enc->last_block = address;
}

void st_slice_encoder_block(struct st_slice_encoder *enc, uint64_t time, uint64_t address,
			    int64_t bytes)
{
	put_block(enc, time, bytes < 0 ? ST_MARK_FREED : ST_MARK_ALLOCATED, address, bytes);
}

void st_slice_encoder_device_block(struct st_slice_encoder *enc, uint64_t time, uint32_t place,
				   uint64_t address, int64_t bytes)
{
	if (enc->place != place)
		st_slice_encoder_mark(enc, time, ST_MARK_DEVICE, place);
	enc->place = place;
	put_block(enc, time, bytes < 0 ? ST_MARK_DEVICE_FREED : ST_MARK_DEVICE_ALLOCATED, address,
		  bytes);
}

void st_slice_encoder_event(struct st_slice_encoder *enc, uint64_t time,
			    const struct st_event *event)
{
	size_t before = enc->events.size_bytes;

	st_event_encode(event, &enc->events);
	if (enc->events.failed)
		return;
	st_slice_encoder_mark(enc, time, ST_MARK_EVENT, enc->events.size_bytes - before);
	enc->event_count++;
}

bool st_slice_encoder_is_full(const struct st_slice_encoder *enc)
{
	return enc->record_count >= ST_CHUNK_RECORDS_MAX ||
	       enc->events.size_bytes >= EVENTS_FULL_BYTES;
}

bool st_slice_encoder_finish(struct st_slice_encoder *enc, struct st_chunk_header *header,
			     struct st_buf *out)
{
	const struct st_buf *columns[COLUMN_COUNT] = {&enc->ops, &enc->names, &enc->times,
						      &enc->extras};

	header->first_time = enc->first_time;
	header->last_time = enc->last_time;
	header->record_count = enc->record_count;
	header->begin_count = enc->begin_count;
	header->event_count = enc->event_count;
	if (enc->ops.failed || enc->events.failed)
		return false;
	for (unsigned int i = 0; i < COLUMN_COUNT; i++)
		st_buf_append_u32(out, (uint32_t)columns[i]->size_bytes);
	for (unsigned int i = 0; i < COLUMN_COUNT; i++)
		st_buf_append(out, columns[i]->data, columns[i]->size_bytes);
	st_buf_append(out, enc->events.data, enc->events.size_bytes);
	return !out->failed;
}

enum st_status st_slice_decoder_init(struct st_slice_decoder *dec,
				     const struct st_chunk_header *header, const void *payload,
				     size_t payload_bytes, struct st_error *err)
{
	uint32_t sizes[COLUMN_COUNT];
	const uint8_t *at = payload;
	uint64_t sum = HEAD_BYTES;

	memset(dec, 0, sizeof(*dec));
	if (payload_bytes < HEAD_BYTES)
		return st_error_set(err, ST_ECORRUPT, 0, "slice chunk of %zu bytes has no columns",
				    payload_bytes);
	memcpy(sizes, at, sizeof(sizes));
	for (unsigned int i = 0; i < COLUMN_COUNT; i++)
		sum += sizes[i];
	if (sum > payload_bytes)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "columns of a slice chunk add up to %llu bytes instead of %zu",
				    (unsigned long long)sum, payload_bytes);
	if (sizes[0] != header->record_count || header->begin_count > header->record_count ||
	    header->event_count > header->record_count - header->begin_count)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "slice chunk contains %u records, its header says %u with %u "
				    "begins and %u events",
				    sizes[0], header->record_count, header->begin_count,
				    header->event_count);
	if (header->first_time > header->last_time)
		return st_error_set(err, ST_ECORRUPT, 0, "slice chunk ends before it begins");
	dec->ops = at + HEAD_BYTES;
	dec->ops_end = dec->names = dec->ops + sizes[0];
	dec->names_end = dec->times = dec->names + sizes[1];
	dec->times_end = dec->extras = dec->times + sizes[2];
	dec->extras_end = dec->events = dec->extras + sizes[3];
	dec->events_end = at + payload_bytes;
	dec->time = header->first_time;
	dec->next_sequence = -1;
	return ST_OK;
}

/* What a mark says of the next begin. */
static bool take_operator_mark(struct st_slice_decoder *dec, uint32_t mark, uint64_t value)
{
	if (mark == ST_MARK_SIGNATURE) {
		dec->next_signature = (uint32_t)value;
		return value <= UINT32_MAX;
	}
	dec->last_sequence = (int64_t)((uint64_t)dec->last_sequence + (uint64_t)st_unzigzag(value));
	dec->next_sequence = dec->last_sequence < 0 ? -1 : dec->last_sequence;
	return true;
}

/* What tells of memory. */
static bool take_memory_mark(struct st_slice_decoder *dec, uint32_t mark,
			     struct st_slice_record *out)
{
	switch (mark) {
	case ST_MARK_BLOCK:
		dec->last_block += (uint64_t)st_unzigzag(out->value);
		dec->has_next_block = true;
		return true;
	case ST_MARK_DEVICE:
		dec->place = (uint32_t)out->value;
		return out->value <= ST_MEMORY_PLACE_MAX;
	case ST_MARK_ALLOCATED:
	case ST_MARK_FREED:
	case ST_MARK_DEVICE_ALLOCATED:
	case ST_MARK_DEVICE_FREED:
		out->address = dec->has_next_block ? dec->last_block : 0;
		out->place = dec->place;
		dec->has_next_block = false;
		return true;
	default:
		return true;
	}
}

static bool decode_mark(struct st_slice_decoder *dec, struct st_slice_record *out)
{
	uint32_t mark;

	if (!st_varint_get_u32(&dec->extras, dec->extras_end, &mark) ||
	    !st_varint_get(&dec->extras, dec->extras_end, &out->value))
		return false;
	out->mark = (enum st_slice_mark)mark;
	if (mark == ST_MARK_CALLER) {
		dec->next_caller = out->value;
		dec->has_next_caller = true;
	}
	if (mark == ST_MARK_STACK) {
		dec->stack = (uint32_t)out->value;
		return out->value <= UINT32_MAX;
	}
	if (mark == ST_MARK_SIGNATURE || mark == ST_MARK_SEQUENCE)
		return take_operator_mark(dec, mark, out->value);
	if (!take_memory_mark(dec, mark, out))
		return false;
	if (mark != ST_MARK_EVENT)
		return true;
	if (out->value > (uint64_t)(dec->events_end - dec->events))
		return false;
	out->body = dec->events;
	dec->events += out->value;
	return true;
}

static uint64_t caller_of(struct st_slice_decoder *dec, uint32_t name)
{
	uint64_t *slot = &dec->callers[name % ST_CALLER_SLOTS];

	if (__builtin_expect(dec->has_next_caller, 0)) {
		*slot = dec->next_caller;
		dec->has_next_caller = false;
	}
	return *slot;
}

/* An operator has no caller. */
static void take_operator(struct st_slice_decoder *dec, struct st_slice_record *out)
{
	out->signature = dec->next_signature;
	out->sequence = dec->next_sequence;
	out->stack = dec->stack;
	dec->next_signature = 0;
	dec->next_sequence = -1;
}

static bool damage(struct st_slice_decoder *dec, const char *what, struct st_error *err)
{
	st_error_set(err, ST_ECORRUPT, 0, "slice chunk: %s, %zu records before its end", what,
		     (size_t)(dec->ops_end - dec->ops));
	dec->ops = dec->ops_end;
	dec->names = dec->names_end;
	dec->times = dec->times_end;
	dec->extras = dec->extras_end;
	dec->events = dec->events_end;
	return false;
}

bool st_slice_decoder_next(struct st_slice_decoder *dec, struct st_slice_record *out,
			   struct st_error *err)
{
	enum st_slice_op op;
	uint64_t dt;

	if (dec->ops == dec->ops_end) {
		if (dec->names != dec->names_end || dec->times != dec->times_end ||
		    dec->extras != dec->extras_end || dec->events != dec->events_end)
			damage(dec, "columns are longer than its records", err);
		return false;
	}
	op = *dec->ops & OP_MASK;
	out->op = op;
	out->domain = *dec->ops >> OP_BITS;
	out->name = 0;
	out->flags = 0;
	out->mark = 0;
	out->value = 0;
	out->address = 0;
	out->caller = 0;
	out->signature = 0;
	out->sequence = -1;
	out->stack = 0;
	out->body = NULL;
	if (!st_varint_get(&dec->times, dec->times_end, &dt) || dt > UINT64_MAX - dec->time)
		return damage(dec, "a time is damaged", err);
	dec->time += dt;
	out->time = dec->time;
	if (out->domain == DOMAIN_IN_EXTRAS &&
	    !st_varint_get_u32(&dec->extras, dec->extras_end, &out->domain))
		return damage(dec, "a domain is damaged", err);
	switch (op) {
	case ST_SLICE_BEGIN_FLAGGED:
		if (!st_varint_get_u32(&dec->extras, dec->extras_end, &out->flags))
			return damage(dec, "flags are damaged", err);
		out->op = ST_SLICE_BEGIN;
		__attribute__((fallthrough));
	case ST_SLICE_BEGIN:
		if (!st_varint_get_u32(&dec->names, dec->names_end, &out->name))
			return damage(dec, "a name is damaged", err);
		if (__builtin_expect(dec->next_signature != 0, 0))
			take_operator(dec, out);
		else
			out->caller = caller_of(dec, out->name);
		break;
	case ST_SLICE_MARK:
		if (!decode_mark(dec, out))
			return damage(dec, "a mark is damaged", err);
		break;
	case ST_SLICE_END:
		break;
	}
	dec->ops++;
	return true;
}
