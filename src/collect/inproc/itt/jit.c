/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that a program makes at run time, told by the JIT profiling interface, as ST_EVENT_JIT records.
 * All of it is copied during the call. It is recorded while paused too: code that is made in a pause may
 * run, and want a name, long after it.
 */
#include "collect/inproc/itt/jit.h"

#include <stdbool.h>
#include <string.h>

#include "collect/inproc/core/choose.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/state.h"

enum { TEXTS = 4, PARTS = 2 * TEXTS + 2, LINE_BYTES = 8, NUMBER_BYTES = 4 };

/* The record's data: method, class, source file, module, lines. */
struct method {
	const char *text[TEXTS];
	const struct jit_line *lines;
	uint32_t line_count;
};

static bool is_recording(void)
{
	const struct st_shm_header *header;

	if (!st_config.active || !st_group_wanted(ITT_GROUP_JIT) ||
	    atomic_load_explicit(&st_process->state, memory_order_relaxed) == ST_PROCESS_OFF ||
	    atomic_load_explicit(&st_shared.detached, memory_order_relaxed))
		return false;
	header = st_header();
	return !header || !(atomic_load_explicit(&header->control, memory_order_relaxed) &
			    (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED));
}

/* Texts get an eighth of the room each, lines all that is left. */
static void put(struct st_record *record, const struct method *method)
{
	uint32_t room = st_event_data_max(), text_max = room / 8, bytes[TEXTS], lines = 0;
	struct st_part parts[PARTS];
	uint32_t count = 0;

	room -= NUMBER_BYTES;
	for (int i = 0; i < TEXTS; i++) {
		size_t length = method->text[i] ? strnlen(method->text[i], text_max + 1) : 0;

		record->cut |= length > text_max;
		bytes[i] = (uint32_t)(length > text_max ? text_max : length);
		parts[count++] = (struct st_part){&bytes[i], NUMBER_BYTES};
		parts[count++] = (struct st_part){method->text[i], bytes[i]};
		room -= NUMBER_BYTES + bytes[i];
	}
	if (method->lines)
		lines = method->line_count;
	if (lines > room / LINE_BYTES) {
		lines = room / LINE_BYTES;
		record->cut = true;
	}
	parts[count++] = (struct st_part){&lines, NUMBER_BYTES};
	parts[count++] = (struct st_part){method->lines, lines * LINE_BYTES};
	record->mask |= ST_FIELD_DATA;
	record->parts = parts;
	record->part_count = count;
	st_event(record);
	record->parts = NULL;
}

/* A record without code says nothing. */
static bool put_head(struct st_record *record, const struct jit_head *head, struct method *method)
{
	if (!head->address || !head->size_bytes)
		return false;
	record->mask |= ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_ID;
	record->value = (uint64_t)(uintptr_t)head->address;
	record->extra = head->size_bytes;
	record->id.d1 = head->method;
	method->text[0] = head->name;
	method->lines = head->lines;
	method->line_count = head->line_count;
	put(record, method);
	return true;
}

static bool put_load(struct st_record *record, const struct jit_load *load)
{
	struct method method = {.text = {NULL, load->class_file, load->source_file, NULL}};

	return put_head(record, &load->head, &method);
}

static bool put_load_v2(struct st_record *record, const struct jit_load_v2 *load)
{
	struct method method = {.text = {NULL, load->class_file, load->source_file, load->module}};

	return put_head(record, &load->head, &method);
}

static bool put_load_v3(struct st_record *record, const struct jit_load_v3 *load)
{
	record->id.d3 = (uint32_t)load->architecture;
	return put_load_v2(record, &load->v2);
}

static bool put_inline_load(struct st_record *record, const struct jit_inline_load *load)
{
	struct method method = {.text = {NULL, load->class_file, load->source_file, NULL}};

	record->id.d2 = load->head.parent;
	return put_head(record, &load->head, &method);
}

static bool put_update(struct st_record *record, const struct jit_update *update)
{
	const struct method method = {.text = {NULL, update->data_format, NULL, NULL}};

	if (!update->address || !update->size_bytes)
		return false;
	record->mask |= ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_ID;
	record->value = (uint64_t)(uintptr_t)update->address;
	record->extra = update->size_bytes;
	record->id.d3 = (uint32_t)update->type;
	put(record, &method);
	return true;
}

/* Documented as a load, but LLVM gives the bare number. */
static bool put_unload(struct st_record *record, const uint32_t *method)
{
	record->mask |= ST_FIELD_ID;
	record->id.d1 = *method;
	st_event(record);
	return true;
}

__attribute__((visibility("default"))) unsigned int strata_jit_notify(unsigned int event,
								      const void *data)
{
	struct st_record record = {.kind = ST_EVENT_JIT, .detail = event};

	if (event == ST_JIT_ASK || !is_recording())
		return event == ST_JIT_ASK && is_recording();
	if (event == ST_JIT_SHUTDOWN) {
		st_event(&record);
		return 1;
	}
	if (!data)
		return 0;
	switch (event) {
	case ST_JIT_LOAD:
	case ST_JIT_UPDATE:
		return put_load(&record, data);
	case ST_JIT_UNLOAD:
		return put_unload(&record, data);
	case ST_JIT_INLINE_LOAD:
		return put_inline_load(&record, data);
	case ST_JIT_UPDATE_V2:
		return put_update(&record, data);
	case ST_JIT_LOAD_V2:
		return put_load_v2(&record, data);
	case ST_JIT_LOAD_V3:
		return put_load_v3(&record, data);
	default:
		return 0;
	}
}
