/* SPDX-License-Identifier: Apache-2.0
 *
 * An event in the trace: the body of a ST_MARK_EVENT of format/slices.h. Varints: kind, mask, detail,
 * then the fields of the mask in the order of its bits (ids: three varints; DATA: length and bytes).
 * Encoder and decoder stand here together so that they cannot drift apart.
 */
#ifndef ST_FORMAT_EVENT_H
#define ST_FORMAT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/event_kind.h"

struct st_event {
	uint32_t kind; /* enum st_event_kind, or a later one */
	uint32_t mask; /* enum st_event_field */
	uint32_t detail;
	uint32_t domain, name;
	uint32_t object, clock;
	uint64_t id[3], other[3];
	uint64_t value, extra, time;
	const void *data; /* borrowed */
	size_t data_bytes;
};

/* From the words of a ring, head word first; false when they cannot be an event. Data points into words. */
bool st_event_from_words(struct st_event *out, const uint64_t *words, uint32_t word_count);

/* Appends the body; out->failed when there is no room. */
void st_event_encode(const struct st_event *event, struct st_buf *out);
/* Whole body or ST_ECORRUPT. Bits of the mask beyond ST_FIELDS_ALL are damage; unknown kinds are not. */
enum st_status st_event_decode(struct st_event *out, const void *body, size_t body_bytes,
			       struct st_error *err);

#endif
