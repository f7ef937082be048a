// SPDX-License-Identifier: Apache-2.0
//
// Operators of a framework. A begin names only its signature, so that domain and name of every signature are
// kept here; a forked child goes on with those of its ancestor.
#include "collect/launch/drain/drain_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/operator.h"
#include "format/ring_record.h"
#include "format/signature.h"

static const uint32_t not_defined = UINT32_MAX; /* as a domain */
static const int64_t memory_max_bytes = INT64_C(1) << 62;

/* Entries up to that id, those that are new not defined. */
static bool reach(struct st_known_signatures *known, uint32_t id)
{
	if (!ST_VEC_ROOM(known->entries, id, known->capacity))
		return false;
	for (; known->count < id; known->count++)
		known->entries[known->count] = (struct st_known_signature){.domain = not_defined};
	return true;
}

bool st_drain_signature_ok(struct st_drain *drain, uint32_t id, const void *body, size_t size_bytes)
{
	struct st_signature_head head;

	if (id == 0 || id > ST_SHM_SIGNATURES_MAX || !st_signature_read(&head, body, size_bytes) ||
	    head.domain > ST_SHM_DOMAINS_MAX || head.name >= ST_TEXT_ID_FIRST ||
	    !reach(&drain->signatures, id))
		return false;
	drain->signatures.entries[id - 1] =
		(struct st_known_signature){.domain = head.domain, .name = head.name};
	return true;
}

/* For result.json: whoever reads it may show it on a terminal. */
static void keep_framework(struct st_drain *drain, const char *text, size_t size_bytes)
{
	char *out = drain->counts.framework;

	if (size_bytes >= ST_FRAMEWORK_BYTES)
		size_bytes = ST_FRAMEWORK_BYTES - 1;
	for (size_t i = 0; i < size_bytes; i++)
		out[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
	out[size_bytes] = '\0';
}

bool st_drain_define_operator_source(struct st_drain *drain, uint32_t id, const void *text,
				     size_t size_bytes)
{
	struct st_buf *out = &drain->definitions.records;
	const uint8_t *why = size_bytes ? memchr(text, 0, size_bytes) : NULL;
	size_t framework_bytes, record;

	if ((id & 0xff) > ST_OPERATORS_ITT || size_bytes > ST_SHM_TEXT_MAX || !why)
		return false;
	framework_bytes = (size_t)(why - (const uint8_t *)text);
	record = st_drain_define(drain, &drain->definitions, ST_DEF_OPERATOR_SOURCE);
	st_buf_append_u32(out, id & 0xff);
	st_buf_append_u32(out, id >> 8);
	st_definition_text(out, text, framework_bytes);
	st_definition_text(out, why + 1, size_bytes - framework_bytes - 1);
	st_drain_defined(&drain->definitions, record);
	drain->counts.operator_level = id & 0xff;
	keep_framework(drain, text, framework_bytes);
	return true;
}

void st_drain_take_operator(struct st_drain *drain, struct st_slot_reader *slot,
			    const uint64_t *payload, uint32_t payload_words)
{
	uint32_t id = (uint32_t)payload[0];
	int64_t sequence = (int64_t)(payload[0] >> 32) - 1;
	uint64_t flags = payload_words > 1 ? payload[1] : 0;
	const struct st_known_signatures *known = &drain->signatures;
	struct st_drain_slice open = {.signature = id, .begin = slot->time};

	if (!id || id > known->count || known->entries[id - 1].domain == not_defined ||
	    (flags & ~(uint64_t)ST_BEGIN_CLIPPED)) {
		st_drain_refuse(drain, "an operator of signature %" PRIu32, id);
		return;
	}
	open.domain = known->entries[id - 1].domain;
	open.name = open.family = known->entries[id - 1].name;
	st_open_begin(drain, slot, &open, NULL);
	st_slice_encoder_stack(&slot->encoder, slot->time, st_drain_operator_stack(drain, slot));
	st_slice_encoder_operator(&slot->encoder, slot->time, id, sequence);
	st_slice_encoder_begin(&slot->encoder, slot->time, open.domain, open.name, (uint32_t)flags);
	drain->counts.begins++;
	drain->counts.operators++;
}

void st_drain_take_memory(struct st_drain *drain, struct st_slot_reader *slot,
			  const uint64_t *payload, uint32_t payload_words)
{
	int64_t bytes = (int64_t)payload[1];
	uint64_t place = payload_words > 2 ? payload[2] : 0;

	if (!bytes || bytes > memory_max_bytes || bytes < -memory_max_bytes ||
	    place > ST_MEMORY_PLACE_MAX)
		st_drain_refuse(drain, "a block of %" PRId64 " bytes", bytes);
	else if (place)
		st_slice_encoder_device_block(&slot->encoder, slot->time, (uint32_t)place,
					      payload[0], bytes);
	else
		st_slice_encoder_block(&slot->encoder, slot->time, payload[0], bytes);
}

bool st_drain_inherit_signatures(struct st_drain *drain, const struct st_known_signatures *from)
{
	if (!from->count)
		return true;
	if (!reach(&drain->signatures, from->count))
		return false;
	memcpy(drain->signatures.entries, from->entries, from->count * sizeof(*from->entries));
	return true;
}

const struct st_known_signatures *st_drain_signatures(const struct st_drain *drain)
{
	return &drain->signatures;
}

void st_drain_give_signatures(struct st_drain *drain, struct st_known_signatures *out)
{
	*out = drain->signatures;
	memset(&drain->signatures, 0, sizeof(drain->signatures));
}
