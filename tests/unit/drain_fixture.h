/* SPDX-License-Identifier: Apache-2.0
 *
 * A drain over a hand-made segment whose sinks keep what is handed on, for the tests of the drain.
 */
#ifndef ST_TESTS_DRAIN_FIXTURE_H
#define ST_TESTS_DRAIN_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "collect/launch/drain/drain.h"
#include "fake_segment.h"
#include "format/chunk.h"
#include "format/definitions.h"
#include "format/samples.h"
#include "format/slices.h"

enum {
	RECORDS_MAX = 1 << 16,
	DEFINITIONS_MAX = 4096,
	RING_BYTES = 16384,
	PROCESS = 7,
	OPEN_MAX = 1 << 14,
	BODY_KEPT_BYTES = 512,
	SAMPLES_MAX = 4096,
	NODES_MAX = 4096,
};

struct seen_record {
	struct st_slice_record record;
	uint32_t track;
	uint8_t body[BODY_KEPT_BYTES]; /* of an event; record.body points here */
};

struct seen_definition {
	enum st_definition_type type;
	uint32_t id;
	uint64_t fields[8];
	char text[64];
	size_t text_bytes;
	uint8_t body[BODY_KEPT_BYTES]; /* the record as it came */
	size_t body_bytes;
	size_t records_before; /* slice records that were handed on earlier */
};

struct seen_sample {
	struct st_sample_record record;
	uint32_t track;
};

struct fixture {
	struct fake_segment segment;
	struct st_drain_shared shared;
	struct st_drain *drain;
	struct seen_record *records;
	size_t record_count, chunk_count;
	struct seen_record *calls; /* of ST_CHUNK_CALLS */
	size_t call_count;
	struct st_open_record open[OPEN_MAX]; /* all that were handed on */
	size_t open_count;
	size_t trace_definition_count; /* of definitions, those that came as trace chunks */
	struct seen_definition definitions[DEFINITIONS_MAX];
	size_t definition_count;
	struct seen_sample samples[SAMPLES_MAX];
	size_t sample_count;
	struct st_stack_node nodes[NODES_MAX]; /* by id */
	uint32_t node_count;
	uint64_t start;
};

/* For cmocka: *state is the fixture; two slots. */
int drain_setup(void **state);
int drain_teardown(void **state);
void drain_all(struct fixture *f);
/* The last one of that type and id, or NULL. */
const struct seen_definition *find_definition(const struct fixture *f, enum st_definition_type type,
					      uint32_t id);

#endif
