// SPDX-License-Identifier: Apache-2.0
//
// Encoder and decoder of what devices did. The encoder runs in the drain; the decoder in the index builder, where
// every byte may be damaged or hostile.
#include "format/device.h"

#include <string.h>

#include "format/chunk.h"
#include "format/varint.h"

enum {
	HEAD_BYTES = (ST_DEVICE_COLUMNS - 1) * 4, /* the last column ends with the payload */
	RECORDS_MAX = 8 << 10,
	/* Twelve numbers of any record and nine of kernels, of which most are of 32 bits. */
	RECORD_MAX_BYTES = 5 * ST_VARINT64_MAX_BYTES + 16 * ST_VARINT32_MAX_BYTES,
	FLAGS_SHIFT = 4,
	KIND_MASK = 15,
	AXES = 3,
};

_Static_assert((int)ST_DEVICE_KINDS <= (int)KIND_MASK, "kinds fit");
_Static_assert((uint64_t)RECORDS_MAX *RECORD_MAX_BYTES + HEAD_BYTES <= ST_CHUNK_RAW_MAX,
	       "a full encoder fits into a chunk");

static void put(struct st_device_encoder *enc, enum st_device_column column, uint64_t value)
{
	uint8_t bytes[ST_VARINT64_MAX_BYTES];

	st_buf_append(&enc->columns[column], bytes, (size_t)(st_varint_put(bytes, value) - bytes));
}

void st_device_encoder_init(struct st_device_encoder *enc)
{
	memset(enc, 0, sizeof(*enc));
	for (unsigned int i = 0; i < ST_DEVICE_COLUMNS; i++)
		st_buf_init(&enc->columns[i], (size_t)RECORDS_MAX * AXES * ST_VARINT64_MAX_BYTES);
}

void st_device_encoder_fini(struct st_device_encoder *enc)
{
	if (!enc)
		return;
	for (unsigned int i = 0; i < ST_DEVICE_COLUMNS; i++)
		st_buf_fini(&enc->columns[i]);
	memset(enc, 0, sizeof(*enc));
}

void st_device_encoder_clear(struct st_device_encoder *enc)
{
	for (unsigned int i = 0; i < ST_DEVICE_COLUMNS; i++)
		st_buf_clear(&enc->columns[i]);
	enc->record_count = enc->last_correlation = 0;
}

static void put_kernel(struct st_device_encoder *enc, const struct st_device_record *record)
{
	for (unsigned int i = 0; i < AXES; i++) {
		put(enc, ST_DEVICE_GRID, record->grid[i]);
		put(enc, ST_DEVICE_BLOCK, record->block[i]);
	}
	put(enc, ST_DEVICE_SHARED, record->registers);
	put(enc, ST_DEVICE_SHARED, record->shared_static);
	put(enc, ST_DEVICE_SHARED, record->shared_dynamic);
}

void st_device_encoder_add(struct st_device_encoder *enc, const struct st_device_record *record)
{
	uint64_t end = record->end < record->begin ? record->begin : record->end;

	if (enc->record_count >= RECORDS_MAX) {
		enc->columns[0].failed = true;
		return;
	}
	if (!enc->record_count) {
		enc->first_begin = enc->last_begin = enc->first_time = record->begin;
		enc->last_time = end;
	}
	put(enc, ST_DEVICE_WHAT, record->kind | (uint64_t)record->flags << FLAGS_SHIFT);
	put(enc, ST_DEVICE_BEGIN, st_zigzag((int64_t)(record->begin - enc->last_begin)));
	put(enc, ST_DEVICE_LASTED, end - record->begin);
	put(enc, ST_DEVICE_DOMAIN, record->domain);
	put(enc, ST_DEVICE_NAME, record->name);
	put(enc, ST_DEVICE_DEVICE, record->device);
	put(enc, ST_DEVICE_WHERE, record->where);
	put(enc, ST_DEVICE_CONTEXT, record->context);
	put(enc, ST_DEVICE_CORRELATION,
	    st_zigzag((int64_t)record->correlation - (int64_t)enc->last_correlation));
	put(enc, ST_DEVICE_VALUE, record->value);
	put(enc, ST_DEVICE_GRAPH, record->graph);
	put(enc, ST_DEVICE_GRAPH_NODE, record->graph_node);
	if (st_device_has_launch(record->kind))
		put_kernel(enc, record);
	enc->last_begin = record->begin;
	enc->last_correlation = record->correlation;
	enc->first_time = record->begin < enc->first_time ? record->begin : enc->first_time;
	enc->last_time = end > enc->last_time ? end : enc->last_time;
	enc->record_count++;
}

bool st_device_encoder_is_full(const struct st_device_encoder *enc)
{
	return enc->record_count >= RECORDS_MAX;
}

bool st_device_encoder_finish(struct st_device_encoder *enc, struct st_chunk_header *header,
			      struct st_buf *out)
{
	header->first_time = enc->first_time;
	header->last_time = enc->last_time;
	header->record_count = enc->record_count;
	header->begin_count = header->track ? enc->record_count : 0;
	for (unsigned int i = 0; i < ST_DEVICE_COLUMNS; i++)
		if (enc->columns[i].failed)
			return false;
	for (unsigned int i = 0; i + 1 < ST_DEVICE_COLUMNS; i++)
		st_buf_append_u32(out, (uint32_t)enc->columns[i].size_bytes);
	st_buf_append_u64(out, enc->first_begin);
	for (unsigned int i = 0; i < ST_DEVICE_COLUMNS; i++)
		st_buf_append(out, enc->columns[i].data, enc->columns[i].size_bytes);
	return !out->failed;
}

enum st_status st_device_decoder_init(struct st_device_decoder *dec,
				      const struct st_chunk_header *header, const void *payload,
				      size_t payload_bytes, struct st_error *err)
{
	uint32_t sizes[ST_DEVICE_COLUMNS - 1];
	const uint8_t *at = payload;
	uint64_t sum = HEAD_BYTES + sizeof(dec->begin);

	memset(dec, 0, sizeof(*dec));
	if (payload_bytes < sum)
		return st_error_set(err, ST_ECORRUPT, 0, "device chunk of %zu bytes has no columns",
				    payload_bytes);
	memcpy(sizes, at, sizeof(sizes));
	for (unsigned int i = 0; i + 1 < ST_DEVICE_COLUMNS; i++)
		sum += sizes[i];
	if (sum > payload_bytes)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "columns of a device chunk add up to %llu bytes instead of %zu",
				    (unsigned long long)sum, payload_bytes);
	if (header->first_time > header->last_time)
		return st_error_set(err, ST_ECORRUPT, 0, "device chunk ends before it begins");
	memcpy(&dec->begin, at + HEAD_BYTES, sizeof(dec->begin));
	dec->at[0] = at + HEAD_BYTES + sizeof(dec->begin);
	for (unsigned int i = 0; i + 1 < ST_DEVICE_COLUMNS; i++)
		dec->end[i] = dec->at[i + 1] = dec->at[i] + sizes[i];
	dec->end[ST_DEVICE_COLUMNS - 1] = at + payload_bytes;
	return ST_OK;
}

static bool get(struct st_device_decoder *dec, enum st_device_column column, uint64_t most,
		uint64_t *out)
{
	return st_varint_get(&dec->at[column], dec->end[column], out) && *out <= most;
}

static bool get_u32(struct st_device_decoder *dec, enum st_device_column column, uint32_t *out)
{
	return st_varint_get_u32(&dec->at[column], dec->end[column], out);
}

static bool get_u16(struct st_device_decoder *dec, enum st_device_column column, uint16_t *out)
{
	uint64_t value;

	if (!get(dec, column, UINT16_MAX, &value))
		return false;
	*out = (uint16_t)value;
	return true;
}

static bool get_kernel(struct st_device_decoder *dec, struct st_device_record *out)
{
	for (unsigned int i = 0; i < AXES; i++)
		if (!get_u32(dec, ST_DEVICE_GRID, &out->grid[i]) ||
		    !get_u16(dec, ST_DEVICE_BLOCK, &out->block[i]))
			return false;
	return get_u16(dec, ST_DEVICE_SHARED, &out->registers) &&
	       get_u32(dec, ST_DEVICE_SHARED, &out->shared_static) &&
	       get_u32(dec, ST_DEVICE_SHARED, &out->shared_dynamic);
}

static bool get_times(struct st_device_decoder *dec, struct st_device_record *out)
{
	uint64_t step, lasted, correlation;

	if (!get(dec, ST_DEVICE_BEGIN, UINT64_MAX, &step) ||
	    !get(dec, ST_DEVICE_LASTED, UINT64_MAX, &lasted) ||
	    !get(dec, ST_DEVICE_CORRELATION, UINT64_MAX, &correlation))
		return false;
	dec->begin += (uint64_t)st_unzigzag(step);
	dec->correlation += (uint32_t)st_unzigzag(correlation);
	out->begin = dec->begin;
	out->correlation = dec->correlation;
	if (lasted > UINT64_MAX - out->begin)
		return false;
	out->end = out->begin + lasted;
	return true;
}

bool st_device_decoder_next(struct st_device_decoder *dec, struct st_device_record *out,
			    struct st_error *err)
{
	uint64_t what;

	memset(out, 0, sizeof(*out));
	if (dec->at[ST_DEVICE_WHAT] == dec->end[ST_DEVICE_WHAT])
		return false;
	if (get(dec, ST_DEVICE_WHAT, (ST_DEVICE_FLAGS_ALL << FLAGS_SHIFT) | KIND_MASK, &what) &&
	    (what & KIND_MASK) && (what & KIND_MASK) < ST_DEVICE_KINDS) {
		out->kind = (uint8_t)(what & KIND_MASK);
		out->flags = (uint8_t)(what >> FLAGS_SHIFT);
		if (get_times(dec, out) && get_u32(dec, ST_DEVICE_DOMAIN, &out->domain) &&
		    get_u32(dec, ST_DEVICE_NAME, &out->name) &&
		    get_u16(dec, ST_DEVICE_DEVICE, &out->device) &&
		    get_u32(dec, ST_DEVICE_WHERE, &out->where) &&
		    get_u32(dec, ST_DEVICE_CONTEXT, &out->context) &&
		    get(dec, ST_DEVICE_VALUE, UINT64_MAX, &out->value) &&
		    get_u32(dec, ST_DEVICE_GRAPH, &out->graph) &&
		    get(dec, ST_DEVICE_GRAPH_NODE, UINT64_MAX, &out->graph_node) &&
		    (!st_device_has_launch(out->kind) || get_kernel(dec, out)))
			return true;
	}
	st_error_set(err, ST_ECORRUPT, 0, "device chunk: a record is damaged");
	dec->at[ST_DEVICE_WHAT] = dec->end[ST_DEVICE_WHAT];
	return false;
}
