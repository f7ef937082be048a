// SPDX-License-Identifier: Apache-2.0
//
// What an undamaged result means: nesting, names, processes, pauses, losses. Every expected value
// follows from the few records the test itself writes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/definitions.h"
#include "format/ring_record.h"
#include "result_maker.h"

struct fixture {
	struct result_maker m;
	struct st_result *result;
	const struct st_slices *slices;
	const struct st_quality *quality;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	maker_init(&f->m);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	st_result_close(f->result);
	maker_fini(&f->m);
	free(f);
	return 0;
}

static void open_result(struct fixture *f)
{
	struct st_error err = {0};

	if (maker_open(&f->m, &f->result, &err))
		fail_msg("%s", err.text);
	f->slices = st_result_slices(f->result);
	f->quality = st_result_quality(f->result);
}

static void begin(struct fixture *f, uint64_t time, uint32_t domain, uint32_t name)
{
	st_slice_encoder_begin(&f->m.slices, time, domain, name, 0);
}

static void end(struct fixture *f, uint64_t time, uint32_t domain)
{
	st_slice_encoder_end(&f->m.slices, time, domain);
}

static void mark(struct fixture *f, uint64_t time, enum st_slice_mark kind, uint64_t value)
{
	st_slice_encoder_mark(&f->m.slices, time, kind, value);
}

static void expect_row(struct fixture *f, uint32_t row, int64_t begin_ns, int64_t end_ns,
		       uint64_t self_ns)
{
	assert_true(row < f->slices->count);
	assert_int_equal(f->slices->begin_ns[row], begin_ns);
	assert_int_equal(f->slices->end_ns[row], end_ns);
	assert_int_equal(f->slices->self_ns[row], self_ns);
}

static void test_nesting(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	maker_usual(&f->m);
	begin(f, 100, 1, 1);
	begin(f, 110, 1, 2);
	end(f, 130, 1);
	begin(f, 140, 1, 3);
	/* The second chunk goes on where the first one stopped. */
	maker_chunk(&f->m, 1, 1);
	begin(f, 145, 1, 2);
	end(f, 150, 1);
	end(f, 160, 1);
	end(f, 200, 1);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
	open_result(f);
	assert_int_equal(f->slices->count, 4);
	expect_row(f, 0, 100, 200, 60);
	expect_row(f, 1, 110, 130, 20);
	expect_row(f, 2, 140, 160, 15);
	expect_row(f, 3, 145, 150, 5);
	assert_int_equal(f->slices->parent[0], ST_NO_ROW);
	assert_int_equal(f->slices->parent[1], 0);
	assert_int_equal(f->slices->parent[2], 0);
	assert_int_equal(f->slices->parent[3], 2);
	assert_int_equal(f->slices->depth[3], 2);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(f->slices->flags[i], 0);
		assert_int_equal(f->slices->track[i], 0);
		assert_string_equal(label_domain(f->result, i), "d");
	}
	assert_string_equal(label_name(f->result, 0), "a");
	assert_string_equal(label_name(f->result, 3), "b");
	const struct st_label *labels = st_result_labels(f->result, &count);

	assert_int_equal(count, 3);
	assert_string_equal(st_result_text(f->result, labels[f->slices->label[2]].family).bytes,
			    "c_*_*");
	assert_string_equal(st_result_text(f->result, labels[f->slices->label[0]].family).bytes,
			    "a");
	assert_int_equal(f->quality->note_count, 0);
	assert_int_equal(f->quality->damaged_chunks, 0);
	assert_int_equal(st_result_wall_ns(f->result, 0), 100);
	assert_string_equal(st_result_info(f->result)->state, "finished");
}

static void test_two_tracks_are_contiguous(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	maker_usual(&f->m);
	maker_text(&f->m, ST_DEF_THREAD_NAME, 101, "old");
	maker_text(&f->m, ST_DEF_THREAD_NAME, 101, "worker");
	maker_define(&f->m, 1);
	/* Track 2 is first in the file, and comes second all the same. */
	begin(f, 10, 1, 1);
	end(f, 20, 1);
	maker_chunk(&f->m, 1, 2);
	begin(f, 5, 1, 2);
	maker_chunk(&f->m, 1, 1);
	begin(f, 30, 1, 1);
	end(f, 40, 1);
	maker_chunk(&f->m, 1, 2);
	end(f, 50, 1);
	maker_chunk(&f->m, 1, 1);
	maker_numbers(&f->m, ST_DEF_THREAD, "448", 2u, 101u, (uint64_t)7);
	maker_define(&f->m, 1);
	open_result(f);
	assert_int_equal(f->slices->count, 3);
	expect_row(f, 0, 5, 50, 45);
	expect_row(f, 1, 10, 20, 10);
	expect_row(f, 2, 30, 40, 10);
	const struct st_track *tracks = st_result_tracks(f->result, &count);

	assert_int_equal(count, 2);
	assert_int_equal(tracks[0].id, 1);
	assert_int_equal(tracks[1].tid, 101);
	assert_int_equal(tracks[1].row_begin, 1);
	assert_int_equal(tracks[1].row_end, 3);
	assert_int_equal(tracks[1].first_ns, 7);
	assert_string_equal(st_result_text(f->result, tracks[1].name).bytes, "worker");
	assert_int_equal(tracks[0].name, 0);
}

static void test_mixed_domains(void **state)
{
	struct fixture *f = *state;

	maker_usual(&f->m);
	begin(f, 0, 1, 1);
	begin(f, 10, 2, 2);
	end(f, 20, 1); /* closes the outer one, below the other domain's */
	begin(f, 25, 1, 3);
	end(f, 30, 1);
	end(f, 40, 2);
	begin(f, 50, 1, 1);
	end(f, 60, 2); /* nothing of domain 2 is open: closes the innermost */
	end(f, 70, 1); /* nothing at all is open */
	maker_chunk(&f->m, 1, 1);
	open_result(f);
	/* The inner one lies half in the outer: only that half is not the outer's own. */
	expect_row(f, 0, 0, 20, 10);
	expect_row(f, 1, 10, 40, 25);
	expect_row(f, 2, 25, 30, 5);
	expect_row(f, 3, 50, 60, 10);
	assert_int_equal(f->slices->flags[0], ST_SLICE_MISMATCHED);
	assert_int_equal(f->slices->flags[1], 0);
	assert_int_equal(f->slices->parent[2], 1);
	assert_int_equal(f->slices->flags[3], ST_SLICE_MISMATCHED);
	assert_int_equal(f->quality->mismatched, 2);
	assert_int_equal(f->quality->loss.unmatched_ends, 1);
}

static void test_unfinished(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	maker_usual(&f->m);
	begin(f, 10, 1, 1);
	begin(f, 20, 1, 2);
	mark(f, 30, ST_MARK_TRACK_END, 1);
	maker_chunk(&f->m, 1, 1);
	begin(f, 15, 1, 1);
	maker_chunk(&f->m, 1, 2);
	maker_process_end(&f->m, 90, ST_END_EXITED, 9);
	maker_define(&f->m, 1);
	/* A process whose end nobody saw: up to the last time known, which is 120. */
	maker_process(&f->m, 200, 1, ST_PROCESS_FORKED, 40);
	maker_define(&f->m, 2);
	begin(f, 50, 0, 0);
	maker_chunk(&f->m, 2, 1);
	maker_calibration(&f->m, 120, 120);
	maker_end(&f->m);
	open_result(f);
	expect_row(f, 0, 10, 30, 10);
	expect_row(f, 1, 20, 30, 10);
	expect_row(f, 2, 15, 90, 75);
	expect_row(f, 3, 50, 120, 70);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(f->slices->flags[i], ST_SLICE_UNFINISHED);
	assert_int_equal(f->quality->unfinished, 4);
	assert_string_equal(label_name(f->result, 3), "");
	const struct st_process *processes = st_result_processes(f->result, &count);

	assert_int_equal(count, 2);
	assert_int_equal(processes[0].last_ns, 90);
	assert_int_equal(processes[0].wait_status, 9);
	assert_int_equal(processes[0].end, ST_END_EXITED);
	assert_int_equal(processes[1].parent, 0);
	assert_int_equal(processes[1].first_ns, 40);
	assert_int_equal(processes[1].last_ns, 120);
	/* What result.json does not say is taken from the direct child. */
	assert_true(st_result_info(f->result)->has_exit);
	assert_int_equal(st_result_info(f->result)->wait_status, 9);
	assert_int_equal(st_result_info(f->result)->elapsed_ns, 90);
	assert_string_equal(st_result_info(f->result)->command, "prog arg");
}

static void test_inherited_names(void **state)
{
	struct fixture *f = *state;

	maker_usual(&f->m);
	maker_process(&f->m, 200, 1, ST_PROCESS_FORKED, 0);
	maker_numbers(&f->m, ST_DEF_INHERIT, "444", 1u, 2u, 1u);
	maker_text(&f->m, ST_DEF_STRING, 3, "child's own");
	maker_define(&f->m, 2);
	maker_process(&f->m, 300, 2, ST_PROCESS_FORKED, 0);
	maker_numbers(&f->m, ST_DEF_INHERIT, "444", 2u, 3u, 1u);
	maker_define(&f->m, 3);
	/* A circle must not hang. */
	maker_numbers(&f->m, ST_DEF_INHERIT, "444", 5u, 100u, 100u);
	maker_define(&f->m, 4);
	maker_numbers(&f->m, ST_DEF_INHERIT, "444", 4u, 100u, 100u);
	maker_define(&f->m, 5);
	for (uint32_t process = 2; process <= 4; process++) {
		begin(f, 1, 1, 2);
		end(f, 2, 1);
		begin(f, 3, 1, 3);
		end(f, 4, 1);
		begin(f, 5, 2, 4);
		end(f, 6, 2);
		maker_chunk(&f->m, process, 1);
	}
	open_result(f);
	assert_string_equal(label_name(f->result, 0), "b");
	assert_string_equal(label_domain(f->result, 0), "d");
	assert_string_equal(label_name(f->result, 1), "child's own");
	assert_string_equal(label_name(f->result, 2), "[name 4 not recorded]");
	assert_string_equal(label_domain(f->result, 2), "[domain 2 not recorded]");
	assert_string_equal(label_name(f->result, 3), "b");
	assert_string_equal(label_name(f->result, 4), "child's own");
	assert_string_equal(label_name(f->result, 5), "[name 4 not recorded]");
	assert_string_equal(label_name(f->result, 6), "[name 2 not recorded]");
	assert_int_equal(f->slices->label[0], f->slices->label[3]);
	assert_int_equal(f->quality->missing_names, 2 + 2 + 5);
}

static void test_pauses(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	maker_usual(&f->m);
	/* Track 2 is only in the way: the pause is called by the other thread, later in the file. */
	begin(f, 10, 1, 1); /* around both pauses */
	begin(f, 20, 1, 2); /* ends inside the first pause */
	end(f, 45, 1);
	begin(f, 70, 1, 3); /* untouched */
	end(f, 80, 1);
	end(f, 110, 1);
	st_slice_encoder_begin(&f->m.slices, 115, 1, 1, ST_BEGIN_CLIPPED);
	end(f, 118, 1);
	begin(f, 130, 1, 2); /* never ends; stopped at 150 */
	maker_chunk(&f->m, 1, 2);
	mark(f, 40, ST_MARK_PAUSE, 0);
	mark(f, 41, ST_MARK_PAUSE, 1);
	mark(f, 60, ST_MARK_RESUME, 0);
	maker_chunk(&f->m, 1, 1);
	maker_numbers(&f->m, ST_DEF_FAMILY_CONTROL, "84", (uint64_t)55, (uint32_t)ST_MARK_PAUSE);
	maker_numbers(&f->m, ST_DEF_FAMILY_CONTROL, "84", (uint64_t)65, (uint32_t)ST_MARK_RESUME);
	maker_numbers(&f->m, ST_DEF_FAMILY_CONTROL, "84", (uint64_t)150, (uint32_t)ST_MARK_DETACH);
	maker_define(&f->m, 0);
	maker_calibration(&f->m, 200, 200);
	open_result(f);
	expect_row(f, 0, 10, 110, 45);
	assert_int_equal(f->slices->flags[0], ST_SLICE_CLIPPED);
	/* 100 less [40, 65); children have 20 and 10. */
	assert_int_equal(st_result_wall_ns(f->result, 0), 75);
	expect_row(f, 1, 20, 40, 20);
	assert_int_equal(f->slices->flags[1], ST_SLICE_CLIPPED);
	expect_row(f, 2, 70, 80, 10);
	assert_int_equal(f->slices->flags[2], 0);
	expect_row(f, 3, 115, 118, 3);
	assert_int_equal(f->slices->flags[3], ST_SLICE_CLIPPED);
	assert_int_equal(st_result_wall_ns(f->result, 3), 3);
	expect_row(f, 4, 130, 150, 20);
	assert_int_equal(f->slices->flags[4], ST_SLICE_CLIPPED | ST_SLICE_UNFINISHED);
	assert_int_equal(f->quality->clipped, 4);
	const struct st_pause_window *windows = st_result_pauses(f->result, &count);

	assert_int_equal(count, 3);
	assert_int_equal(windows[0].process, ST_NO_ROW);
	assert_int_equal(windows[0].begin_ns, 55);
	assert_int_equal(windows[0].end_ns, 65);
	assert_int_equal(windows[1].begin_ns, 150);
	assert_int_equal(windows[1].end_ns, 200);
	assert_int_equal(windows[2].process, 0);
	assert_int_equal(windows[2].begin_ns, 40);
	assert_int_equal(windows[2].end_ns, 60);
}

static void test_started_paused(void **state)
{
	struct fixture *f = *state;

	maker_usual(&f->m);
	mark(f, 50, ST_MARK_RESUME, 0);
	begin(f, 60, 1, 1);
	mark(f, 70, ST_MARK_DETACH, 0);
	maker_chunk(&f->m, 1, 1);
	maker_calibration(&f->m, 100, 100);
	open_result(f);
	uint32_t count;
	const struct st_pause_window *windows = st_result_pauses(f->result, &count);

	assert_int_equal(count, 2);
	assert_int_equal(windows[0].begin_ns, 0);
	assert_int_equal(windows[0].end_ns, 50);
	assert_int_equal(windows[1].begin_ns, 70);
	expect_row(f, 0, 60, 70, 10);
}

static void test_losses(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	maker_usual(&f->m);
	mark(f, 10, ST_MARK_LOST, 5);
	mark(f, 20, ST_MARK_UNMATCHED_END, 1);
	mark(f, 21, ST_MARK_UNMATCHED_END, 1);
	maker_chunk(&f->m, 1, 1);
	/* Cumulative: the second one replaces the first. The process's figure holds its tracks'. */
	maker_numbers(&f->m, ST_DEF_LOSS, "4888888", 1u, (uint64_t)6, (uint64_t)1, (uint64_t)0,
		      (uint64_t)0, (uint64_t)0, (uint64_t)0);
	maker_numbers(&f->m, ST_DEF_LOSS, "4888888", 1u, (uint64_t)7, (uint64_t)1, (uint64_t)0,
		      (uint64_t)0, (uint64_t)0, (uint64_t)0);
	maker_numbers(&f->m, ST_DEF_LOSS, "4888888", 0u, (uint64_t)7, (uint64_t)1, (uint64_t)3,
		      (uint64_t)4, (uint64_t)5, (uint64_t)6);
	maker_define(&f->m, 1);
	open_result(f);
	const struct st_track *tracks = st_result_tracks(f->result, &count);

	assert_int_equal(count, 1);
	assert_int_equal(tracks[0].loss.slices_dropped, 7);
	assert_int_equal(tracks[0].loss.unmatched_ends, 2);
	assert_int_equal(f->quality->loss.slices_dropped, 7);
	assert_int_equal(f->quality->loss.unmatched_ends, 2);
	assert_int_equal(f->quality->loss.no_slot, 3);
	assert_int_equal(f->quality->loss.labels_cut, 4);
	assert_int_equal(f->quality->loss.labels_unknown, 5);
	assert_int_equal(f->quality->loss.suspect, 6);
}

static void test_texts_are_bytes(void **state)
{
	struct fixture *f = *state;
	static const char odd[] = "a\0\xff\"\n\xf0\x9f\x94\xa5";
	char *large = malloc(64 << 10);
	uint32_t count;

	memset(large, 'x', 64 << 10);
	maker_process(&f->m, 100, 0, 0, 0);
	maker_bytes(&f->m, ST_DEF_STRING, 1, odd, sizeof(odd) - 1);
	maker_bytes(&f->m, ST_DEF_STRING, 2, large, 64 << 10);
	maker_bytes(&f->m, ST_DEF_STRING, 3, "", 0);
	maker_define(&f->m, 1);
	for (uint32_t i = 1; i <= 3; i++) {
		begin(f, i * 10, 0, i);
		end(f, i * 10 + 5, 0);
	}
	maker_chunk(&f->m, 1, 1);
	open_result(f);
	const struct st_label *labels = st_result_labels(f->result, &count);
	struct st_text text;

	assert_int_equal(count, 3);
	text = st_result_text(f->result, labels[0].name);
	assert_int_equal(text.size_bytes, sizeof(odd) - 1);
	assert_memory_equal(text.bytes, odd, sizeof(odd));
	text = st_result_text(f->result, labels[1].name);
	assert_int_equal(text.size_bytes, 64 << 10);
	assert_memory_equal(text.bytes, large, 64 << 10);
	assert_int_equal(labels[2].name, 0);
	assert_int_equal(st_result_text(f->result, UINT32_MAX).size_bytes, 0);
	assert_true(st_result_text_count(f->result) > 2);
	free(large);
}

static void test_process_names(void **state)
{
	static const struct {
		const char *arguments;
		size_t size;
		const char *executable, *name, *line;
	} cases[] = {
#define ARGS(text) text, sizeof(text) - 1
		{ARGS("ls\0-l"), "/bin/ls", "ls", "ls -l"},
		{ARGS("python3\0-u\0/x/train.py\0--lr\0a b"), "/usr/bin/python3.11", "train.py",
		 "python3 -u /x/train.py --lr 'a b'"},
		{ARGS("python\0-m\0torch.distributed.run\0x.py"), "/usr/bin/python3",
		 "torch.distributed.run", "python -m torch.distributed.run x.py"},
		{ARGS("python\0-X\0dev\0-W\0error\0t.py"), "/usr/bin/python3", "t.py",
		 "python -X dev -W error t.py"},
		{ARGS("python3\0-c\0it's\0x.py"), "/usr/bin/python3.11", "python3.11",
		 "python3 -c 'it'\\''s' x.py"},
		{ARGS("bash\0launch.sh"), "/bin/bash", "launch.sh", "bash launch.sh"},
		{ARGS("sh\0-c\0exit 3"), "/bin/dash", "dash", "sh -c 'exit 3'"},
		{ARGS("shred\0x"), "/bin/shred", "shred", "shred x"},
		{ARGS("python3\0-"), "/usr/bin/python3", "python3", "python3 -"},
		{ARGS(""), "/opt/tool", "tool", "/opt/tool"},
		{ARGS("x\0"), "", "x", "x"},
		{ARGS("a\0\0b"), "/bin/a", "a", "a '' b"},
#undef ARGS
	};
	struct fixture *f = *state;
	uint32_t count;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		maker_process_as(&f->m, i, cases[i].arguments, cases[i].size, cases[i].executable);
		maker_define(&f->m, i + 1);
	}
	open_result(f);
	const struct st_process *processes = st_result_processes(f->result, &count);

	assert_int_equal(count, sizeof(cases) / sizeof(cases[0]));
	for (uint32_t i = 0; i < count; i++) {
		assert_string_equal(st_result_text(f->result, processes[i].name).bytes,
				    cases[i].name);
		assert_string_equal(st_result_text(f->result, processes[i].command_line).bytes,
				    cases[i].line);
		assert_string_equal(st_result_text(f->result, processes[i].executable).bytes,
				    cases[i].executable);
	}
}

static void not_entered(struct fixture *f, uint32_t pid, uint32_t reason, const char *executable)
{
	size_t at = st_definition_begin(&f->m.records, ST_DEF_NOT_ENTERED);

	st_buf_append_u32(&f->m.records, pid);
	st_buf_append_u32(&f->m.records, reason);
	st_buf_append_u64(&f->m.records, 77);
	st_definition_text(&f->m.records, executable, strlen(executable));
	st_definition_text(&f->m.records, "tool\0a b", 8);
	st_definition_end(&f->m.records, at);
	f->m.record_count++;
}

static void test_not_entered_and_notes(void **state)
{
	struct fixture *f = *state;
	uint32_t count;
	size_t at;

	not_entered(f, 1, ST_NOT_ENTERED_STATIC, "/bin/tool");
	not_entered(f, 2, ST_NOT_ENTERED_STATIC, "/bin/tool");
	not_entered(f, 3, ST_NOT_ENTERED_SETUID, "/bin/tool");
	at = st_definition_begin(&f->m.records, ST_DEF_NOTE);
	st_buf_append_u32(&f->m.records, 1);
	st_buf_append_u64(&f->m.records, 5);
	st_definition_text(&f->m.records, "disk\nfull", 9);
	st_definition_end(&f->m.records, at);
	at = st_definition_begin(&f->m.records, ST_DEF_NOTE);
	st_buf_append_u32(&f->m.records, 0);
	st_buf_append_u64(&f->m.records, 5);
	st_definition_text(&f->m.records, "only for the log", 16);
	st_definition_end(&f->m.records, at);
	/* Unknown records and bytes behind known fields are passed over. */
	maker_numbers(&f->m, 999, "88", (uint64_t)1, (uint64_t)2);
	maker_numbers(&f->m, ST_DEF_PROCESS_END, "8444", (uint64_t)50, 1u, 0u, 99u);
	maker_define(&f->m, 0);
	maker_end(&f->m);
	open_result(f);
	const struct st_not_entered_program *programs = st_result_not_entered(f->result, &count);

	assert_int_equal(count, 2);
	assert_int_equal(programs[0].count, 2);
	assert_int_equal(programs[0].pid, 1);
	assert_int_equal(programs[0].time_ns, 77);
	assert_int_equal(programs[1].reason, ST_NOT_ENTERED_SETUID);
	assert_string_equal(st_result_text(f->result, programs[0].command).bytes, "tool 'a b'");
	assert_int_equal(f->quality->note_count, 1);
	assert_string_equal(f->quality->notes[0], "disk?full");
	assert_int_equal(f->quality->damaged_chunks, 0);
}

static void test_unknown_process_and_chunk_types(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	maker_raw_chunk(&f->m, (struct st_chunk_header){.type = 4711}, "whatever", 8);
	begin(f, 10, 1, 1);
	end(f, 20, 1);
	maker_chunk(&f->m, 9, 4);
	open_result(f);
	expect_row(f, 0, 10, 20, 10);
	const struct st_process *processes = st_result_processes(f->result, &count);

	assert_int_equal(count, 1);
	assert_string_equal(st_result_text(f->result, processes[0].name).bytes,
			    "[process 9 not recorded]");
	assert_int_equal(processes[0].first_ns, 10);
}

static void test_deep_stack(void **state)
{
	struct fixture *f = *state;
	const uint32_t depth = 70000, per_chunk = 10000;

	maker_usual(&f->m);
	for (uint32_t i = 0; i < depth; i++) {
		begin(f, i, 1, 1);
		if (i % per_chunk == per_chunk - 1)
			maker_chunk(&f->m, 1, 1);
	}
	for (uint32_t i = 0; i < depth; i++) {
		end(f, depth + i, i % 2 ? 1 : 2);
		if (i % per_chunk == per_chunk - 1)
			maker_chunk(&f->m, 1, 1);
	}
	open_result(f);
	assert_int_equal(f->slices->count, depth);
	expect_row(f, 0, 0, 2 * (int64_t)depth - 1, 2);
	assert_int_equal(f->slices->depth[depth - 1], UINT16_MAX);
	assert_int_equal(f->slices->parent[depth - 1], depth - 2);
	assert_int_equal(f->quality->mismatched, depth / 2);
	assert_int_equal(f->quality->unfinished, 0);
}

/* Processes of which nothing was recorded can only be told by result.json. */
static void test_processes_that_left_nothing(void **state)
{
	struct fixture *f = *state;

	f->m.json = "{\"schema\": \"strata.result/1\", \"state\": \"finished\","
		    " \"loss\": {\"processes_refused\": 7, \"family_events_lost\": 2}}";
	maker_usual(&f->m);
	maker_end(&f->m);
	open_result(f);
	assert_true(has_note(f->result, "7 processes above the limit were not recorded"));
	assert_true(has_note(f->result, "2 forks, execs or exits were missed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_processes_that_left_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nesting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_tracks_are_contiguous, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mixed_domains, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unfinished, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inherited_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pauses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_started_paused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_texts_are_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_entered_and_notes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_process_and_chunk_types, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_deep_stack, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
