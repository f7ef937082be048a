/* SPDX-License-Identifier: Apache-2.0
 *
 * What runs on devices, and the calls that drive them, whichever maker's they are. Both are known only when they are
 * over, and are told later than what happened around them: whole, in no order. The payload of ST_CHUNK_DEVICE has those of
 * one track, a column of varints for each field:
 *
 *   u32 bytes of each column but the last, u64 ticks that the first begin counts from, then the columns in the order of
 *   enum st_device_column.
 *
 * Encoder and decoder stand together so that they cannot drift apart.
 */
#ifndef ST_FORMAT_DEVICE_H
#define ST_FORMAT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/device_record.h"

struct st_chunk_header;

enum st_device_column {
	ST_DEVICE_WHAT, /* kind | flags << 4 */
	ST_DEVICE_BEGIN, /* zigzag ticks since the previous record's begin; the first since the head's */
	ST_DEVICE_LASTED, /* ticks */
	ST_DEVICE_DOMAIN,
	ST_DEVICE_NAME,
	ST_DEVICE_DEVICE,
	ST_DEVICE_WHERE,
	ST_DEVICE_CONTEXT,
	ST_DEVICE_CORRELATION, /* zigzag, less the previous one */
	ST_DEVICE_VALUE,
	ST_DEVICE_GRAPH,
	ST_DEVICE_GRAPH_NODE,
	ST_DEVICE_GRID,	  /* three for each kernel; so the following */
	ST_DEVICE_BLOCK,  /* three */
	ST_DEVICE_SHARED, /* registers, static and dynamic memory */
	ST_DEVICE_COLUMNS
};

struct st_device_encoder {
	struct st_buf columns[ST_DEVICE_COLUMNS];
	uint64_t first_time, last_time; /* of all, not in order */
	uint64_t first_begin, last_begin;
	uint32_t last_correlation, record_count;
};

void st_device_encoder_init(struct st_device_encoder *enc);
void st_device_encoder_fini(struct st_device_encoder *enc);
void st_device_encoder_clear(struct st_device_encoder *enc);
void st_device_encoder_add(struct st_device_encoder *enc, const struct st_device_record *record);
bool st_device_encoder_is_full(const struct st_device_encoder *enc);
/* Appends the payload to out and fills the times and counts of header, whose track is set: what has none is no slice. */
bool st_device_encoder_finish(struct st_device_encoder *enc, struct st_chunk_header *header,
			      struct st_buf *out);

struct st_device_decoder {
	const uint8_t *at[ST_DEVICE_COLUMNS], *end[ST_DEVICE_COLUMNS];
	uint64_t begin;
	uint32_t correlation;
};

enum st_status st_device_decoder_init(struct st_device_decoder *dec,
				      const struct st_chunk_header *header, const void *payload,
				      size_t payload_bytes, struct st_error *err);
/* True and *out, or false at the end or at damage (then *err says so and err->status is not ST_OK; the caller sets
 * err->status to ST_OK before). */
bool st_device_decoder_next(struct st_device_decoder *dec, struct st_device_record *out,
			    struct st_error *err);

#endif
