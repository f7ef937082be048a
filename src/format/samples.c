// SPDX-License-Identifier: Apache-2.0
//
// Encoders and decoders of samples and of stack nodes. The encoders run in the drain; the decoders in the
// index builder, where every byte may be damaged or hostile.
#include "format/samples.h"

#include <string.h>

#include "format/chunk.h"
#include "format/varint.h"

enum {
	COLUMN_COUNT = 4,
	HEAD_BYTES = (COLUMN_COUNT - 1) * 4, /* the last column ends with the payload */
	/* As with slices: full at the first, and room for a caller that tests after every batch. */
	RECORDS_MAX = 2 * ST_CHUNK_RECORDS_MAX,
	RECORD_MAX_BYTES = 2 * ST_VARINT64_MAX_BYTES + 2 * ST_VARINT32_MAX_BYTES,
	NODES_HEAD_BYTES = 8,
	COUNT_OFFSET = 4,
};

_Static_assert((uint64_t)RECORDS_MAX *RECORD_MAX_BYTES + HEAD_BYTES <= ST_CHUNK_RAW_MAX,
	       "a full encoder fits into a chunk");

static void put_varint(struct st_buf *buf, uint64_t value)
{
	uint8_t bytes[ST_VARINT64_MAX_BYTES];

	st_buf_append(buf, bytes, (size_t)(st_varint_put(bytes, value) - bytes));
}

void st_sample_encoder_init(struct st_sample_encoder *enc)
{
	memset(enc, 0, sizeof(*enc));
	st_buf_init(&enc->times, (size_t)RECORDS_MAX * ST_VARINT64_MAX_BYTES);
	st_buf_init(&enc->nodes, (size_t)RECORDS_MAX * ST_VARINT32_MAX_BYTES);
	st_buf_init(&enc->weights, (size_t)RECORDS_MAX * ST_VARINT64_MAX_BYTES);
	st_buf_init(&enc->flags, (size_t)RECORDS_MAX * ST_VARINT32_MAX_BYTES);
}

void st_sample_encoder_fini(struct st_sample_encoder *enc)
{
	if (!enc)
		return;
	st_buf_fini(&enc->times);
	st_buf_fini(&enc->nodes);
	st_buf_fini(&enc->weights);
	st_buf_fini(&enc->flags);
	memset(enc, 0, sizeof(*enc));
}

void st_sample_encoder_clear(struct st_sample_encoder *enc)
{
	st_buf_clear(&enc->times);
	st_buf_clear(&enc->nodes);
	st_buf_clear(&enc->weights);
	st_buf_clear(&enc->flags);
	enc->first_time = 0;
	enc->last_time = 0;
	enc->last_node = 0;
	enc->record_count = 0;
}

void st_sample_encoder_add(struct st_sample_encoder *enc, const struct st_sample_record *sample)
{
	uint64_t time = sample->time;

	if (enc->record_count >= RECORDS_MAX) {
		enc->times.failed = true;
		return;
	}
	if (!enc->record_count)
		enc->first_time = enc->last_time = time;
	if (time < enc->last_time)
		time = enc->last_time;
	put_varint(&enc->times, time - enc->last_time);
	put_varint(&enc->nodes, st_zigzag((int64_t)sample->node - (int64_t)enc->last_node));
	put_varint(&enc->weights, sample->weight_ns);
	put_varint(&enc->flags, sample->flags);
	enc->last_time = time;
	enc->last_node = sample->node;
	enc->record_count++;
}

bool st_sample_encoder_is_full(const struct st_sample_encoder *enc)
{
	return enc->record_count >= ST_CHUNK_RECORDS_MAX;
}

bool st_sample_encoder_finish(struct st_sample_encoder *enc, struct st_chunk_header *header,
			      struct st_buf *out)
{
	const struct st_buf *columns[COLUMN_COUNT] = {&enc->times, &enc->nodes, &enc->weights,
						      &enc->flags};

	header->first_time = enc->first_time;
	header->last_time = enc->last_time;
	header->record_count = enc->record_count;
	for (unsigned int i = 0; i < COLUMN_COUNT; i++)
		if (columns[i]->failed)
			return false;
	for (unsigned int i = 0; i + 1 < COLUMN_COUNT; i++)
		st_buf_append_u32(out, (uint32_t)columns[i]->size_bytes);
	for (unsigned int i = 0; i < COLUMN_COUNT; i++)
		st_buf_append(out, columns[i]->data, columns[i]->size_bytes);
	return !out->failed;
}

enum st_status st_sample_decoder_init(struct st_sample_decoder *dec,
				      const struct st_chunk_header *header, const void *payload,
				      size_t payload_bytes, struct st_error *err)
{
	uint32_t sizes[COLUMN_COUNT - 1];
	const uint8_t *at = payload;
	uint64_t sum = HEAD_BYTES;

	memset(dec, 0, sizeof(*dec));
	if (payload_bytes < HEAD_BYTES)
		return st_error_set(err, ST_ECORRUPT, 0, "sample chunk of %zu bytes has no columns",
				    payload_bytes);
	memcpy(sizes, at, sizeof(sizes));
	for (unsigned int i = 0; i + 1 < COLUMN_COUNT; i++)
		sum += sizes[i];
	if (sum > payload_bytes)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "columns of a sample chunk add up to %llu bytes instead of %zu",
				    (unsigned long long)sum, payload_bytes);
	if (header->first_time > header->last_time)
		return st_error_set(err, ST_ECORRUPT, 0, "sample chunk ends before it begins");
	dec->times = at + HEAD_BYTES;
	dec->times_end = dec->nodes = dec->times + sizes[0];
	dec->nodes_end = dec->weights = dec->nodes + sizes[1];
	dec->weights_end = dec->flags = dec->weights + sizes[2];
	dec->flags_end = at + payload_bytes;
	dec->time = header->first_time;
	return ST_OK;
}

static bool damage(struct st_sample_decoder *dec, const char *what, struct st_error *err)
{
	st_error_set(err, ST_ECORRUPT, 0, "sample chunk: %s, %zu bytes before its end", what,
		     (size_t)(dec->flags_end - dec->flags));
	dec->times = dec->times_end;
	dec->nodes = dec->nodes_end;
	dec->weights = dec->weights_end;
	dec->flags = dec->flags_end;
	return false;
}

bool st_sample_decoder_next(struct st_sample_decoder *dec, struct st_sample_record *out,
			    struct st_error *err)
{
	uint64_t dt, step;
	int64_t node;

	if (dec->times == dec->times_end) {
		if (dec->nodes != dec->nodes_end || dec->weights != dec->weights_end ||
		    dec->flags != dec->flags_end)
			damage(dec, "columns are longer than its times", err);
		return false;
	}
	if (!st_varint_get(&dec->times, dec->times_end, &dt) || dt > UINT64_MAX - dec->time)
		return damage(dec, "a time is damaged", err);
	if (!st_varint_get(&dec->nodes, dec->nodes_end, &step))
		return damage(dec, "a stack is damaged", err);
	if (st_unzigzag(step) > UINT32_MAX || st_unzigzag(step) < -(int64_t)UINT32_MAX)
		return damage(dec, "a stack is damaged", err);
	node = (int64_t)dec->node + st_unzigzag(step);
	if (node < 0 || node > UINT32_MAX)
		return damage(dec, "a stack is damaged", err);
	if (!st_varint_get(&dec->weights, dec->weights_end, &out->weight_ns))
		return damage(dec, "a weight is damaged", err);
	if (!st_varint_get_u32(&dec->flags, dec->flags_end, &out->flags))
		return damage(dec, "flags are damaged", err);
	dec->time += dt;
	dec->node = (uint32_t)node;
	out->time = dec->time;
	out->node = dec->node;
	return true;
}

void st_stack_nodes_begin(struct st_node_encoder *enc, struct st_buf *out, uint32_t first_id)
{
	*enc = (struct st_node_encoder){.out = out, .next_id = first_id};
	st_buf_append_u32(out, first_id);
	enc->count_at = out->size_bytes;
	st_buf_append_u32(out, 0);
}

static bool has_address(uint8_t kind)
{
	return (kind & ST_FRAME_KIND_MASK) != ST_FRAME_PYTHON;
}

void st_stack_nodes_add(struct st_node_encoder *enc, const struct st_stack_node *node)
{
	put_varint(enc->out, (uint64_t)enc->next_id - node->parent);
	st_buf_append_u8(enc->out, node->kind);
	if (has_address(node->kind)) {
		put_varint(enc->out, st_zigzag((int64_t)(node->value - enc->last_address)));
		enc->last_address = node->value;
	} else {
		put_varint(enc->out, (uint32_t)node->value);
		put_varint(enc->out, node->value >> 32);
	}
	enc->next_id++;
	enc->count++;
}

void st_stack_nodes_end(struct st_node_encoder *enc)
{
	if (!enc->out->failed)
		memcpy(enc->out->data + enc->count_at, &enc->count, sizeof(enc->count));
}

bool st_node_decoder_init(struct st_node_decoder *dec, struct st_cursor *body)
{
	memset(dec, 0, sizeof(*dec));
	dec->next_id = st_cursor_u32(body);
	dec->left = st_cursor_u32(body);
	/* Node 0 is the empty stack, and ids do not wrap round. */
	if (!dec->next_id || dec->left > UINT32_MAX - dec->next_id)
		body->failed = true;
	dec->body = *body;
	return !body->failed;
}

static bool damaged_node(struct st_node_decoder *dec)
{
	dec->body.failed = true;
	dec->left = 0;
	return false;
}

bool st_node_decoder_next(struct st_node_decoder *dec, uint32_t *id, struct st_stack_node *out)
{
	struct st_cursor *body = &dec->body;
	uint64_t back, value;
	uint32_t code, position;

	if (!dec->left || body->failed)
		return false;
	if (!st_varint_get(&body->at, body->end, &back) || !back || back > dec->next_id ||
	    body->at == body->end)
		return damaged_node(dec);
	out->parent = dec->next_id - (uint32_t)back;
	out->kind = *body->at++;
	if ((out->kind & ST_FRAME_KIND_MASK) < ST_FRAME_CALL ||
	    (out->kind & ST_FRAME_KIND_MASK) > ST_FRAME_KERNEL)
		return damaged_node(dec);
	if (has_address(out->kind)) {
		if (!st_varint_get(&body->at, body->end, &value))
			return damaged_node(dec);
		dec->last_address += (uint64_t)st_unzigzag(value);
		out->value = dec->last_address;
	} else {
		if (!st_varint_get_u32(&body->at, body->end, &code) ||
		    !st_varint_get_u32(&body->at, body->end, &position))
			return damaged_node(dec);
		out->value = code | (uint64_t)position << 32;
	}
	*id = dec->next_id++;
	dec->left--;
	return true;
}
