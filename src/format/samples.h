/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples on disk. Stacks are a tree per process: a node is a frame and its parent (the caller), numbered
 * from 1 as they come, parents first; node 0 is the empty stack. Nodes stand in definitions.strata
 * (ST_DEF_STACK_NODES), so that no dropped trace file takes stacks along; a sample is a few bytes.
 *
 * Payload of ST_CHUNK_SAMPLES, one track, times ascending:
 *   u32 times_bytes, u32 nodes_bytes, u32 weights_bytes, then four columns
 *   times    varint ticks since the previous sample; the first since header.first_time
 *   nodes    zigzag varint: node less the previous sample's node
 *   weights  varint ns
 *   flags    varint (enum st_sample_flag)
 *
 * Body of ST_DEF_STACK_NODES: u32 first id, u32 count, then for each node: varint id less parent (parent is
 * always smaller), u8 enum st_frame_kind | ST_FRAME_*, then for native and kernel frames the zigzag
 * varint of the address less the previous such address of this body, for Python frames varint code id
 * and varint position.
 *
 * A stack of a Python program, from the outermost frame: native frames; a native frame of the
 * evaluation function; right inside it (as its descendants) the Python frames that it runs; native frames; and so on.
 * A reader shows either the evaluation frames or the Python frames that stand for them.
 */
#ifndef ST_FORMAT_SAMPLES_H
#define ST_FORMAT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/definitions.h"
#include "format/sample_record.h"

struct st_chunk_header;

enum st_frame_kind {
	ST_FRAME_CALL = 1,   /* native: value is a return address; look up value - 1 */
	ST_FRAME_EXACT = 2,  /* native: value is an interrupted pc */
	ST_FRAME_PYTHON = 3, /* value is code id | position << 32 */
	ST_FRAME_KERNEL = 4, /* value is an address of the kernel */
	ST_FRAME_KIND_MASK = 0x0f,
	ST_FRAME_EVAL =
		0x40, /* native frame of a Python evaluation function whose Python frames follow */
	ST_FRAME_RECOVERED = 0x80, /* found by a scan */
};

struct st_stack_node {
	uint32_t parent;
	uint8_t kind; /* enum st_frame_kind | ST_FRAME_* */
	uint64_t value;
};

struct st_sample_record {
	uint64_t time; /* ticks */
	uint64_t weight_ns;
	uint32_t node;
	uint32_t flags;
};

struct st_sample_encoder {
	struct st_buf times, nodes, weights, flags;
	uint64_t first_time, last_time;
	uint32_t last_node, record_count;
};

void st_sample_encoder_init(struct st_sample_encoder *enc);
void st_sample_encoder_fini(struct st_sample_encoder *enc);
void st_sample_encoder_clear(struct st_sample_encoder *enc);
/* A time before that of the previous call is raised to it. */
void st_sample_encoder_add(struct st_sample_encoder *enc, const struct st_sample_record *sample);
bool st_sample_encoder_is_full(const struct st_sample_encoder *enc);
/* Appends the payload to out and fills first_time, last_time and record_count of header. */
bool st_sample_encoder_finish(struct st_sample_encoder *enc, struct st_chunk_header *header,
			      struct st_buf *out);

struct st_sample_decoder {
	const uint8_t *times, *times_end, *nodes, *nodes_end, *weights, *weights_end, *flags,
		*flags_end;
	uint64_t time;
	uint32_t node;
};
enum st_status st_sample_decoder_init(struct st_sample_decoder *dec,
				      const struct st_chunk_header *header, const void *payload,
				      size_t payload_bytes, struct st_error *err);
/* True and *out, or false at the end or at damage (as st_slice_decoder_next). */
bool st_sample_decoder_next(struct st_sample_decoder *dec, struct st_sample_record *out,
			    struct st_error *err);

/* Nodes: begin a body with st_definition_begin(ST_DEF_STACK_NODES) and st_stack_nodes_begin, add, end. */
struct st_node_encoder {
	struct st_buf *out;
	size_t count_at;
	uint32_t next_id, count;
	uint64_t last_address;
};
void st_stack_nodes_begin(struct st_node_encoder *enc, struct st_buf *out, uint32_t first_id);
void st_stack_nodes_add(struct st_node_encoder *enc, const struct st_stack_node *node);
void st_stack_nodes_end(struct st_node_encoder *enc);

struct st_node_decoder {
	struct st_cursor body;
	uint32_t next_id, left;
	uint64_t last_address;
};
bool st_node_decoder_init(struct st_node_decoder *dec, struct st_cursor *body);
/* False at the end, or at damage (dec->body.failed). A parent that is not smaller than the node is damage. */
bool st_node_decoder_next(struct st_node_decoder *dec, uint32_t *id, struct st_stack_node *out);

#endif
