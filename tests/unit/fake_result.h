/* SPDX-License-Identifier: Apache-2.0
 *
 * A result made by hand: implements the accessors of store/result.h over arrays that a test fills, so
 * that tests of the question engine and of the exporters need no files. Linked instead of st_store.
 */
#ifndef ST_TESTS_UNIT_FAKE_RESULT_H
#define ST_TESTS_UNIT_FAKE_RESULT_H

#include "store/events.h"
#include "store/result.h"

enum { FAKE_MAX = 300000, FAKE_SMALL = 64, FAKE_EVENTS = 4096 };

struct st_result {
	struct st_result_info info;
	struct st_quality quality;
	struct st_slices slices;
	struct st_process processes[FAKE_SMALL];
	struct st_track tracks[FAKE_SMALL];
	struct st_label labels[FAKE_SMALL];
	struct st_not_entered_program not_entered[FAKE_SMALL];
	struct st_pause_window pauses[FAKE_SMALL];
	struct st_text texts[4 * FAKE_SMALL];
	uint32_t process_count, track_count, label_count, not_entered_count, pause_count,
		text_count;
	int64_t *begin_ns, *end_ns;
	uint64_t *self_ns;
	uint32_t *label, *track, *parent;
	uint16_t *depth, *flags;
	/* Events: rows of one track together, in the order of the tracks. */
	struct st_events events;
	struct st_event_row *event_rows;
	uint32_t first_of_track[FAKE_SMALL + 1];
	struct st_span *spans;
	struct st_itt_id ids[FAKE_SMALL];
	struct st_text blobs[FAKE_SMALL];
	struct st_sync_object sync_objects[FAKE_SMALL];
	struct st_object objects[FAKE_SMALL];
	struct st_object_fact facts[FAKE_SMALL];
	struct st_code code[FAKE_SMALL];
	struct st_code_map code_maps[FAKE_SMALL];
	struct st_caller callers[FAKE_SMALL];
	uint32_t *slice_callers; /* by slice; only given out when there are callers */
	uint32_t span_count, id_count, blob_count, sync_object_count, object_count, fact_count,
		code_count, code_map_count, caller_count;
};

struct st_result *fake_create(void);
void fake_destroy(struct st_result *fake);
st_string_id fake_bytes(struct st_result *fake, const void *bytes, size_t size_bytes);
st_string_id fake_text(struct st_result *fake, const char *text);
uint32_t fake_process(struct st_result *fake, const char *name, uint32_t pid);
uint32_t fake_track(struct st_result *fake, uint32_t process, const char *name, uint32_t tid);
/* family NULL: the name with each run of digits folded. */
uint32_t fake_label(struct st_result *fake, const char *domain, const char *name);
uint32_t fake_label_bytes(struct st_result *fake, const char *domain, const void *name,
			  size_t size_bytes);
/* Appends to the newest track; rows must come in order of begin, parents first. */
uint32_t fake_slice(struct st_result *fake, uint32_t label, int64_t begin_ns, int64_t end_ns,
		    uint32_t parent);
/* Appends an event; rows of a track must come together, tracks in order. */
uint32_t fake_event(struct st_result *fake, struct st_event_row row);
uint32_t fake_span(struct st_result *fake, struct st_span span); /* by kind, then begin */
uint32_t fake_id(struct st_result *fake, uint64_t d1, uint64_t d2, uint64_t d3);
uint32_t fake_blob(struct st_result *fake, const void *bytes, size_t size_bytes);
uint32_t fake_object(struct st_result *fake, uint8_t kind, uint8_t type, const char *domain,
		     const char *name);
/* Self times, depths and counts, once every slice is there. */
void fake_finish(struct st_result *fake);

#endif
