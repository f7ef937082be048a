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
					 .unmatched_ends = 14};
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
