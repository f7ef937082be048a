// SPDX-License-Identifier: Apache-2.0
//
// Nasty names and every kind of loss.
#include "nasty_result.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *bytes;
	size_t size_bytes;
} names[NASTY_NAMES - 1] = {
	{"quote \" and \\ and ' and ,;", 26},
	{"line\nbreak\r\n\ttab", 16},
	{"emoji \xf0\x9f\x94\xa5 caf\xc3\xa9", 16},
	{"bad \xff\xfe\xc3 bytes \xed\xa0\x80", 17},
	{"", 0},
	{"nul\0inside", 10},
	{"\x1b[31mescape\x07", 12},
	{"iteration_7", 11},
};

static const char *const notes[] = {"trace.000.strata: torn at byte 81920",
				    "a note with a \x1b[0m control character"};

static void add_losses(struct st_result *fake)
{
	struct st_quality *quality = &fake->quality;

	quality->loss = (struct st_loss){.slices_dropped = 1,
					 .no_slot = 2,
					 .suspect = 3,
					 .labels_unknown = 9,
					 .labels_cut = 10,
					 .unmatched_ends = 14,
					 .events_dropped = 15,
					 .events_cut = 16};
	quality->spans_unfinished = 17;
	quality->copies = 20;
	quality->chunks_not_written = 4;
	quality->missing_segments = 5;
	quality->damaged_chunks = 6;
	quality->damaged_bytes = 7;
	quality->missing_names = 8;
	quality->unfinished = 11;
	quality->clipped = 12;
	quality->mismatched = 13;
	quality->notes = notes;
	quality->note_count = 2;
}

/* One of each kind. */
static void nasty_event_rows(struct st_result *fake, const struct st_event_row *common, uint32_t id,
			     uint32_t text, uint32_t data)
{
	for (uint32_t kind = 1; kind < ST_EVENT_KINDS; kind++) {
		struct st_event_row row = *common;

		row.kind = (uint16_t)kind;
		row.data = text;
		row.id = row.other = id;
		row.value = 0x1000;
		row.extra = 2;
		if (kind == ST_EVENT_METADATA || kind == ST_EVENT_HISTOGRAM)
			row.data = data;
		if (kind == ST_EVENT_METADATA)
			row.detail = 8;
		if (kind == ST_EVENT_HISTOGRAM)
			row.value = 8;
		if (kind == ST_EVENT_COUNTER_ADD || kind == ST_EVENT_COUNTER_SET)
			row.object = 0;
		if (kind == ST_EVENT_HISTOGRAM)
			row.object = 1;
		if (kind >= ST_EVENT_HEAP_ALLOCATE_BEGIN && kind <= ST_EVENT_HEAP_REALLOCATE_END)
			row.object = 2;
		if (kind == ST_EVENT_MARK || kind == ST_EVENT_MARK_OFF)
			row.object = 4;
		if (kind == ST_EVENT_TIMED_BEGIN)
			row.flags = ST_EVENT_TIME_ESTIMATED;
		fake_event(fake, row);
	}
}

void nasty_events(struct st_result *fake)
{
	static const double numbers[] = {0.5, -2.0};
	static const uint32_t lines[] = {8, 1, 16, 3};
	uint32_t domain = fake_text(fake, "dom\"ain\xff"), name = fake_text(fake, "na\nme");
	uint32_t id = fake_id(fake, 1, 2, 3), text = fake_blob(fake, "va\"lue\n\x1b\xff", 9);
	uint32_t data = fake_blob(fake, numbers, sizeof(numbers));
	const struct st_event_row common = {
		.time_ns = 5000, .slice = 0, .domain = domain, .name = name, .object = ST_NO_ROW};

	fake->python_functions[0] = (struct st_python_function){0, 3, domain, name};
	fake->python_functions[1] = (struct st_python_function){0, 0, 0, 0};
	fake->python_function_count = 2;
	fake->python_calls[0] = (struct st_python_calls){0, 7, UINT64_MAX, 1, UINT64_MAX, 1};
	fake->python_calls[1] = (struct st_python_calls){1, 7, 0, 0, 0, 0};
	fake->python_calls_count = 2;
	fake->moments[0] = (struct st_memory_moment){
		.time_ns = 5000, .row = ST_NO_ROW, .allocated = INT64_MAX, .address = UINT64_MAX};
	fake->moments[1] = (struct st_memory_moment){
		.time_ns = 5001, .row = 0, .allocated = 1, .address = 0x1000};
	fake->moment_count = 2;
	nasty_event_rows(fake, &common, id, text, data);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN);
	fake_off(fake, 0, 10, UINT64_MAX / 4, ST_OFF_SEVERAL);
	fake_off(fake, 0, 20, 30, ST_OFF_PREEMPTED);
	fake_off(fake, 0, 60, 0, ST_OFF_ENDED);
	fake_object(fake, ST_OBJECT_COUNTER, 8, "dom\"ain", "coun\nter");
	fake_object(fake, ST_OBJECT_HISTOGRAM, 8, "dom\"ain", "histo\ngram");
	fake->objects[1].type_y = 8;
	fake_object(fake, ST_OBJECT_HEAP_FUNCTION, 0, "dom\"ain", "mal\nloc");
	fake_object(fake, ST_OBJECT_CLOCK, 0, NULL, "");
	fake_object(fake, ST_OBJECT_OTHERS, 0, NULL, "");
	fake->facts[fake->fact_count++] = (struct st_object_fact){0, 5, 0, name};
	fake->sync_objects[fake->sync_object_count++] =
		(struct st_sync_object){0, 2, 0x1000, domain, name, 0, 0, 0, 0};
	fake->code[fake->code_count++] = (struct st_code){.kind = ST_EVENT_JIT,
							  .address = 0x4000,
							  .size_bytes = 16,
							  .from_ns = 1,
							  .until_ns = 2,
							  .name = name,
							  .method = 1000,
							  .lines = lines,
							  .line_count = 2};
	fake->code_maps[fake->code_map_count++] =
		(struct st_code_map){.start = 0x1000, .end = 0x2000, .path = name};
	fake->caller_count = 2; /* the first one is nobody */
	fake->callers[1] = (struct st_caller){.address = 0x1234, .place = name};
	fake->slice_callers[0] = 1;
	for (uint32_t kind = 1; kind < ST_SPAN_KINDS; kind++)
		fake_span(fake, (struct st_span){.begin_ns = 100,
						 .end_ns = 300,
						 .kind = kind,
						 .begin_track = 0,
						 .end_track = 1,
						 .slice = 0,
						 .domain = domain,
						 .name = name,
						 .object = 0,
						 .id = id,
						 .parent = id,
						 .event = 0,
						 .flags = ST_SLICE_UNFINISHED});
	fake_finish(fake);
}

struct st_result *nasty_create(void)
{
	struct st_result *fake = fake_create();
	char *longest = malloc(NASTY_LONG_BYTES);

	for (size_t i = 0; i < NASTY_NAMES - 1; i++)
		fake_label_bytes(fake, "dom\"ain", names[i].bytes, names[i].size_bytes);
	memset(longest, 'x', NASTY_LONG_BYTES);
	fake_label_bytes(fake, "D2", longest, NASTY_LONG_BYTES);
	free(longest);
	fake_label(fake, "PyTorch", "aten::conv2d");
	for (uint32_t process = 0; process < 2; process++) {
		fake_process(fake, process ? "after\nexec" : "before", 77);
		fake->processes[process].incarnation = process;
		fake_track(fake, process, process ? "na\"me\xff" : "", 77);
		for (uint32_t i = 0; i < NASTY_NAMES; i++) {
			uint32_t row = fake_slice(fake, i, 1000 * i, 1000 * i + 999, ST_NO_ROW);

			fake_slice(fake, NASTY_NAMES, 1000 * i + 1, 1000 * i + 2, row);
		}
	}
	fake->flags[0] = ST_SLICE_UNFINISHED | ST_SLICE_MISMATCHED;
	fake->info.command = "python3 \"a b\"\n\x1b[1m train.py with a very long command line that "
			     "does not fit on one line of one hundred columns at all";
	fake->info.event_cost_ns_x1000 = 25000;
	fake->info.strata_cpu_ns = 12345678;
	fake->info.size_bytes = 38000000;
	fake->info.stop_reason = "data-limit";
	for (uint32_t i = 0; i < 5; i++)
		fake->not_entered[i] = (struct st_not_entered_program){
			.pid = 90 + i, .reason = ST_NOT_ENTERED_STATIC, .count = i + 1};
	fake->not_entered_count = 5;
	fake->processes[1].end = ST_END_LEFT_RUNNING;
	add_losses(fake);
	fake_finish(fake);
	return fake;
}
