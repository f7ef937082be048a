/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of an open result. Empty until the index holds them.
 */
#include "store/events.h"

static const struct st_events no_events;

const struct st_events *st_result_events(const struct st_result *result)
{
	(void)result;
	return &no_events;
}

#define NOTHING(type, name)                                                                        \
	const type *name(const struct st_result *result, uint32_t *count)                          \
	{                                                                                          \
		(void)result;                                                                      \
		*count = 0;                                                                        \
		return NULL;                                                                       \
	}

NOTHING(struct st_itt_id, st_result_ids)
NOTHING(struct st_span, st_result_spans)
NOTHING(struct st_sync_object, st_result_sync_objects)
NOTHING(struct st_object, st_result_objects)
NOTHING(struct st_object_fact, st_result_object_facts)
NOTHING(struct st_code, st_result_code)
NOTHING(struct st_code_map, st_result_code_maps)
NOTHING(struct st_caller, st_result_callers)

struct st_text st_result_blob(const struct st_result *result, uint32_t blob)
{
	(void)result, (void)blob;
	return (struct st_text){"", 0};
}

const uint32_t *st_result_slice_callers(const struct st_result *result)
{
	(void)result;
	return NULL;
}

uint32_t st_result_slice_event(const struct st_result *result, uint32_t slice, uint32_t kind)
{
	(void)result, (void)slice, (void)kind;
	return ST_NO_ROW;
}
