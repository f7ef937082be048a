// SPDX-License-Identifier: Apache-2.0
//
// Packets, interning and annotations of Perfetto's format (export/trace/perfetto_packet.h). A name is sent in
// the packet that is the first of its sequence to need it. It is only known while the event is written:
// what has to be interned is gathered beside it and stands behind it in the packet, whose fields readers
// take in any order.
#include "export/trace/perfetto_packet.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "base/json_out.h"
#include "base/vec.h"
#include "export/protobuf.h"

enum {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_NAME = 10,
	ANNOTATION_ENTRIES = 11,
	ANNOTATION_ELEMENTS = 12,
	ANNOTATION_TEXT_IID = 17,
};
enum {
	INTERNED_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_ANNOTATION_TEXTS = 29,
};
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };
/* What is no longer is no shorter when it is sent once and then named. */
enum { SHORT_TEXT_BYTES = 16 };

void st_pf_packet_begin(struct st_pf *pf, uint32_t flags)
{
	pf->packet = st_pb_begin(pf->out, ST_PF_TRACE_PACKET);
	st_pb_u64(pf->out, ST_PF_PACKET_SEQUENCE_ID, pf->sequence);
	st_pb_u64(pf->out, ST_PF_PACKET_SEQUENCE_FLAGS, flags);
}

void st_pf_packet_end(struct st_pf *pf)
{
	pf->out->failed |= pf->interned.failed;
	if (pf->interned.size_bytes) {
		size_t message = st_pb_begin(pf->out, ST_PF_PACKET_INTERNED_DATA);

		st_buf_append(pf->out, pf->interned.data, pf->interned.size_bytes);
		st_pb_end(pf->out, message);
		pf->interned.size_bytes = 0;
	}
	st_pb_end(pf->out, pf->packet);
}

static void add_interned(struct st_pf *pf, uint32_t field, uint64_t iid, struct st_text text)
{
	size_t entry = st_pb_begin(&pf->interned, field);

	st_pb_u64(&pf->interned, INTERNED_IID, iid);
	st_pb_text(&pf->interned, INTERNED_TEXT, text.bytes, text.size_bytes);
	st_pb_end(&pf->interned, entry);
}

/* The interning id of a text of the result: from `base` up, in the order of the texts. */
static uint64_t intern(struct st_pf *pf, uint32_t field, uint32_t *sent, st_string_id id)
{
	uint64_t iid = (field == INTERNED_ANNOTATION_NAMES ? ST_ARG_WORDS : 1) + (uint64_t)id;

	if (sent[id] != pf->sequence) {
		sent[id] = pf->sequence;
		add_interned(pf, field, iid, st_result_text(pf->walk.result, id));
	}
	return iid;
}

void st_pf_sequence_begin(struct st_pf *pf, uint32_t sequence)
{
	pf->sequence = sequence;
	st_pf_packet_begin(pf, ST_PF_STATE_CLEARED);
	st_pb_u64(pf->out, ST_PF_PACKET_FIRST_ON_SEQUENCE, 1);
	for (uint32_t word = 1; word < ST_ARG_WORDS; word++) {
		struct st_text name = {st_arg_words[word], strlen(st_arg_words[word])};

		add_interned(pf, INTERNED_ANNOTATION_NAMES, word, name);
	}
}

uint64_t st_pf_track(struct st_pf *pf, uint64_t parent, const char *name, struct st_text more)
{
	struct st_buf *out = pf->out, *title = st_stream_scratch(&pf->walk.stream);
	uint64_t uuid = pf->next_uuid++;
	size_t message;

	st_pf_packet_begin(pf, ST_PF_NEEDS_STATE);
	message = st_pb_begin(out, ST_PF_PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, ST_PF_TRACK_UUID, uuid);
	if (parent)
		st_pb_u64(out, ST_PF_TRACK_PARENT_UUID, parent);
	st_buf_append_text(title, name);
	if (more.size_bytes) {
		st_buf_append_text(title, ": ");
		st_buf_append(title, more.bytes, more.size_bytes);
	}
	st_pb_text(out, ST_PF_TRACK_NAME, title->data, title->size_bytes);
	st_pb_end(out, message);
	st_pf_packet_end(pf);
	return uuid;
}

void st_pf_event_begin(struct st_pf *pf, const struct st_pf_event *event)
{
	struct st_buf *out = pf->out;

	st_pf_packet_begin(pf, ST_PF_NEEDS_STATE);
	st_pb_u64(out, ST_PF_PACKET_TIMESTAMP, (uint64_t)event->time_ns + pf->shift_ns);
	pf->event = st_pb_begin(out, ST_PF_PACKET_TRACK_EVENT);
	st_pb_u64(out, ST_PF_EVENT_TYPE, event->type);
	st_pb_u64(out, ST_PF_EVENT_TRACK_UUID, event->track);
	if (event->type == ST_PF_SLICE_END || event->type == ST_PF_COUNTER)
		return;
	st_pb_u64(out, ST_PF_EVENT_CATEGORY_IIDS,
		  intern(pf, INTERNED_CATEGORIES, pf->categories_sent, event->category));
	if (!event->title.id && event->title.text.size_bytes)
		st_pb_text(out, ST_PF_EVENT_NAME, event->title.text.bytes,
			   event->title.text.size_bytes);
	else
		st_pb_u64(out, ST_PF_EVENT_NAME_IID,
			  intern(pf, INTERNED_EVENT_NAMES, pf->names_sent, event->title.id));
}

void st_pf_event_end(struct st_pf *pf)
{
	st_pb_end(pf->out, pf->event);
	st_pf_packet_end(pf);
}

/* Annotations -------------------------------------------------------------------------------------- */

static void add_name(struct st_pf *pf, const struct st_arg *arg)
{
	struct st_buf *scratch = st_stream_scratch(&pf->walk.stream);
	struct st_text name;

	if (!arg->repeat && (arg->word || !arg->key)) {
		if (arg->word)
			st_pb_u64(pf->out, ANNOTATION_NAME_IID, arg->word);
		return;
	}
	name = st_arg_name(arg, pf->walk.result, scratch);
	if (scratch->size_bytes) /* seldom enough not to be interned */
		st_pb_text(pf->out, ANNOTATION_NAME, name.bytes, name.size_bytes);
	else
		st_pb_u64(pf->out, ANNOTATION_NAME_IID,
			  intern(pf, INTERNED_ANNOTATION_NAMES, pf->keys_sent, arg->key));
}

/* The interning id of a text that a program gave as data: behind those of the texts of the result. 0: it is
 * not worth one. */
static uint64_t intern_blob(struct st_pf *pf, uint32_t blob, struct st_text text)
{
	uint64_t iid = 1 + (uint64_t)pf->text_count + blob;

	if (!blob || text.size_bytes <= SHORT_TEXT_BYTES)
		return 0;
	if (!ST_VEC_ROOM_ZERO(pf->blobs_sent, blob, pf->blob_capacity)) {
		pf->out->failed = true; /* seen when the packet is written out */
		return 0;
	}
	if (pf->blobs_sent[blob] != pf->sequence) {
		pf->blobs_sent[blob] = pf->sequence;
		add_interned(pf, INTERNED_ANNOTATION_TEXTS, iid, text);
	}
	return iid;
}

/* An annotation of a text that is no UTF-8, escaped. */
static void add_escaped(struct st_pf *pf, uint32_t field, enum st_arg_word word,
			struct st_text text)
{
	struct st_buf *escaped = st_stream_scratch(&pf->walk.stream);
	size_t message = st_pb_begin(pf->out, field);

	st_text_escape(escaped, text);
	st_pb_u64(pf->out, ANNOTATION_NAME_IID, word);
	st_pb_text(pf->out, ANNOTATION_TEXT, escaped->data, escaped->size_bytes);
	st_pb_end(pf->out, message);
}

/* Text that cannot stand as it is comes as { escaped: … }, so that nobody mistakes it for the original. */
static void add_any_text(struct st_pf *pf, struct st_text text, uint32_t blob)
{
	uint64_t iid;

	if (!st_utf8_is_valid(text.bytes, text.size_bytes)) {
		add_escaped(pf, ANNOTATION_ENTRIES, ST_ARG_ESCAPED, text);
		return;
	}
	iid = intern_blob(pf, blob, text);
	if (iid)
		st_pb_u64(pf->out, ANNOTATION_TEXT_IID, iid);
	else
		st_pb_text(pf->out, ANNOTATION_TEXT, text.bytes, text.size_bytes);
}

/* One value alone, any other number of them as a list. */
static void add_values(struct st_buf *out, const struct st_arg *arg)
{
	size_t count = st_arg_element_count(arg);

	for (size_t i = 0; i < count; i++) {
		struct st_element element = st_arg_element(arg, i);
		size_t message = 0;

		if (count > 1)
			message = st_pb_begin(out, ANNOTATION_ELEMENTS);
		if (element.form == ST_ELEMENT_DOUBLE)
			st_pb_double(out, ANNOTATION_DOUBLE, element.number);
		else if (element.form == ST_ELEMENT_SIGNED)
			st_pb_i64(out, ANNOTATION_INT, (int64_t)element.integer);
		else
			st_pb_u64(out, ANNOTATION_UINT, element.integer);
		if (count > 1)
			st_pb_end(out, message);
	}
}

static void add_value(struct st_pf *pf, const struct st_arg *arg)
{
	switch (arg->form) {
	case ST_ARG_IS_U64:
		st_pb_u64(pf->out, ANNOTATION_UINT, arg->number);
		break;
	case ST_ARG_IS_TEXT_ID:
		st_pb_u64(pf->out, ANNOTATION_TEXT_IID,
			  intern(pf, INTERNED_ANNOTATION_TEXTS, pf->texts_sent, arg->text_id));
		break;
	case ST_ARG_IS_VALUES:
		add_values(pf->out, arg);
		break;
	default:
		add_any_text(pf, arg->text, arg->blob);
		break;
	}
}

static uint32_t annotation_field(const struct st_pf *pf)
{
	if (!pf->open_count)
		return ST_PF_EVENT_ANNOTATIONS;
	return pf->open[pf->open_count - 1].is_list ? ANNOTATION_ELEMENTS : ANNOTATION_ENTRIES;
}

void st_pf_arg(void *to, const struct st_arg *arg)
{
	struct st_pf *pf = to;
	size_t message;

	if (arg->form == ST_ARG_IS_END) {
		st_pb_end(pf->out, pf->open[--pf->open_count].begin);
		return;
	}
	message = st_pb_begin(pf->out, annotation_field(pf));
	add_name(pf, arg);
	if (arg->form == ST_ARG_IS_GROUP || arg->form == ST_ARG_IS_LIST) {
		pf->open[pf->open_count].begin = message;
		pf->open[pf->open_count++].is_list = arg->form == ST_ARG_IS_LIST;
		return;
	}
	add_value(pf, arg);
	st_pb_end(pf->out, message);
}

void st_pf_check_name(struct st_pf *pf, struct st_text name)
{
	if (!st_utf8_is_valid(name.bytes, name.size_bytes))
		add_escaped(pf, ST_PF_EVENT_ANNOTATIONS, ST_ARG_NAME_BYTES, name);
}

void st_pf_flows(struct st_pf *pf, st_thing thing)
{
	const struct st_tie *ties;
	size_t count;

	if (!pf->walk.ties.flow_count)
		return;
	ties = st_ties_of(&pf->walk.ties, thing, &count);
	for (size_t i = 0; i < count; i++) {
		if (ties[i].flow)
			st_pb_fixed64(pf->out,
				      ties[i].end == ST_TIE_TARGET
					      ? ST_PF_EVENT_TERMINATING_FLOW_IDS
					      : ST_PF_EVENT_FLOW_IDS,
				      ties[i].flow);
	}
}
