// SPDX-License-Identifier: Apache-2.0
//
// Events and objects of a followed process: everything ITT reports beyond nested tasks. They are checked and passed
// on without being understood, but for code (modules, JIT), which belongs to the definitions, and formatted metadata,
// whose text is made here.
#include "collect/launch/drain/drain_state.h"

#include <inttypes.h>
#include <string.h>

#include "collect/launch/drain/formatted.h"
#include "format/conversion.h"
#include "format/event.h"
#include "format/ring_record.h"

enum {
	/* One more than there are objects: the one that stands for all others. */
	OBJECT_ID_MAX = ST_SHM_OBJECTS_MAX + 1,
	RECORD_EXTRA_BYTES = 512, /* of an event in the definitions, besides its data */
};

static bool is_code(uint32_t kind)
{
	return kind >= ST_EVENT_MODULE_LOAD && kind <= ST_EVENT_JIT;
}

/* Whether an honest collector could have written it. */
static bool can_be(const struct st_event *event)
{
	return event->kind > 0 && event->kind < ST_EVENT_KINDS &&
	       event->domain <= ST_SHM_DOMAINS_MAX && event->name < ST_TEXT_ID_FIRST &&
	       event->object <= OBJECT_ID_MAX && event->clock <= OBJECT_ID_MAX;
}

/* Code stays for the whole result, so that it is bounded for each process. */
static void define_code(struct st_drain *drain, const struct st_slot_reader *slot,
			const struct st_event *event)
{
	struct st_buf *out = &drain->definitions.records;
	size_t record, size_at;
	uint32_t size_bytes;

	if (drain->code_bytes > ST_CODE_BYTES_MAX) {
		drain->code_dropped++;
		return;
	}
	record = st_drain_define(drain, &drain->definitions, ST_DEF_CODE_EVENT);
	st_buf_append_u64(out, slot->time);
	st_buf_append_u32(out, slot->tid);
	size_at = out->size_bytes;
	st_buf_append_u32(out, 0);
	st_event_encode(event, out);
	if (!out->failed) {
		size_bytes = (uint32_t)(out->size_bytes - size_at - sizeof(size_bytes));
		memcpy(out->data + size_at, &size_bytes, sizeof(size_bytes));
	}
	st_drain_defined(&drain->definitions, record);
	drain->code_bytes += event->data_bytes + RECORD_EXTRA_BYTES;
}

/* What the collector copied becomes the text that readers know. */
static void take_formatted(struct st_slot_reader *slot, struct st_event event)
{
	char text[ST_CONVERSION_TEXT_BYTES + 1];
	struct st_formatted made =
		st_format_arguments(text, ST_CONVERSION_TEXT_BYTES, event.data, event.data_bytes);

	if (made.cut)
		atomic_fetch_add_explicit(&slot->ring->events_cut, 1, memory_order_relaxed);
	event.data = text;
	event.data_bytes = made.length;
	st_slice_encoder_event(&slot->encoder, slot->time, &event);
}

void st_drain_take_event(struct st_drain *drain, struct st_slot_reader *slot,
			 const uint64_t *payload, uint32_t payload_words)
{
	struct st_event event;

	if (!st_event_from_words(&event, payload, payload_words) || !can_be(&event)) {
		st_drain_refuse(drain, "an event of %" PRIu32 " words", payload_words);
		return;
	}
	drain->counts.events++;
	if (event.kind == ST_EVENT_TASK_FN || event.kind == ST_EVENT_TIMED_BEGIN)
		st_code_maps_want(&drain->maps, event.value);
	if (event.kind == ST_EVENT_JIT)
		st_drain_jit_event(drain, &event);
	if (is_code(event.kind))
		define_code(drain, slot, &event);
	else if (event.kind == ST_EVENT_METADATA_FORMATTED && (event.mask & ST_FIELD_DATA))
		take_formatted(slot, event);
	else
		st_slice_encoder_event(&slot->encoder, slot->time, &event);
}

void st_drain_tell_caller(struct st_slot_reader *slot, uint32_t ring_name, uint32_t name)
{
	uint64_t *known = &slot->callers[ring_name % ST_CALLER_SLOTS];

	if (slot->has_caller)
		*known = slot->next_caller;
	slot->has_caller = false;
	st_slice_encoder_caller(&slot->encoder, slot->time, name, *known);
}

void st_drain_forget_callers(struct st_slot_reader *slot)
{
	memset(slot->callers, 0, sizeof(slot->callers));
	slot->has_caller = false;
}

bool st_drain_object_ok(uint32_t id, const void *body, size_t size_bytes)
{
	struct st_object_head head;

	if (id == 0 || id > OBJECT_ID_MAX || size_bytes < sizeof(head))
		return false;
	memcpy(&head, body, sizeof(head));
	return head.kind > 0 && head.kind < ST_OBJECT_KINDS && head.parent <= OBJECT_ID_MAX &&
	       (uint64_t)head.name_bytes + head.second_bytes <= size_bytes - sizeof(head);
}

bool st_drain_object_metadata_ok(uint32_t id, const void *body, size_t size_bytes)
{
	struct st_object_metadata head;

	if (id == 0 || id > OBJECT_ID_MAX || size_bytes < sizeof(head))
		return false;
	memcpy(&head, body, sizeof(head));
	return head.text_bytes <= size_bytes - sizeof(head);
}
