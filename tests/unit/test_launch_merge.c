/* SPDX-License-Identifier: Apache-2.0
 *
 * Native and Python stacks become one. Stacks are drawn from the outermost frame inwards:
 *   native   n a function, E the evaluation function, C its cold part, R a function found by a scan
 *   python   P an entry frame, p another one, numbered as they come; _ the place of one that is not there
 *   merged   n, R as above; E an evaluation frame with Python frames, e one without; digits Python frames
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/launch/drain/merge.h"

enum {
	EVAL_START = 0x1000,
	EVAL_END = 0x2000,
	COLD_START = 0x8000,
	COLD_END = 0x8008,
	FRAMES = 32
};

static uint64_t native_word(char drawn)
{
	switch (drawn) {
	case 'E':
		return 0x1800;
	case 'C':
		return COLD_END; /* a call is the last instruction: the return address is the end */
	case 'R':
		return 0x5000 | ST_FRAME_WORD_RECOVERED;
	case 'S':
		return 0x5000 | ST_FRAME_WORD_EXACT;
	default:
		return 0x5000;
	}
}

static char drawn_frame(const struct st_merged_frame *frame)
{
	if (frame->kind == ST_FRAME_PYTHON) {
		assert_int_equal(frame->value >> 32, 7);
		return (char)('0' + (uint32_t)frame->value);
	}
	if (frame->kind & ST_FRAME_EVAL)
		return 'E';
	if (frame->kind & ST_FRAME_RECOVERED)
		return 'R';
	return frame->value == 0x5000 ? 'n' : 'e';
}

static uint32_t python_flags(char drawn)
{
	if (drawn == '_')
		return ST_PYTHON_FRAME_ENTRY | ST_PYTHON_FRAME_EMPTY;
	return drawn == 'P' ? ST_PYTHON_FRAME_ENTRY : 0;
}

static void check(const char *native, const char *python, uint32_t flags, const char *expected)
{
	uint64_t native_words[FRAMES], python_words[FRAMES];
	struct st_merged_frame frames[2 * FRAMES];
	char merged[2 * FRAMES + 1] = "";
	struct st_merge_input in = {
		.native = native_words,
		.python = python_words,
		.native_count = (uint32_t)strlen(native),
		.python_count = (uint32_t)strlen(python),
		.flags = flags,
		.eval = {EVAL_START, EVAL_END, COLD_START, COLD_END},
	};
	uint32_t count, found = 0;

	for (uint32_t i = 0; i < in.native_count; i++)
		native_words[in.native_count - 1 - i] = native_word(native[i]);
	for (uint32_t i = 0; i < in.python_count; i++)
		python_words[in.python_count - 1 - i] =
			st_word_python_frame(i + 1, 7, python_flags(python[i]));
	count = st_merge_frames(&in, frames, &found);
	assert_int_equal(count, in.native_count + in.python_count - (strchr(python, '_') != NULL));
	for (uint32_t i = 0; i < count; i++)
		merged[i] = drawn_frame(&frames[i]);
	if (*expected == '!') {
		assert_int_equal(found, ST_SAMPLE_MISMATCH);
		expected++;
	} else {
		assert_int_equal(found, 0);
	}
	assert_string_equal(merged, expected);
}

static void test_equal(void **state)
{
	(void)state;
	check("nn", "", 0, "nn");
	/* Up to 3.10 every frame is an entry: sorted() with a key written in Python. */
	check("nEnEnEn", "PPP", 0, "nE1nE2nE3n");
	/* From 3.11 on calls between Python functions need no native frame. */
	check("nEnnE", "PppPp", 0, "nE123nnE45");
	check("nE", "Ppp", 0, "nE123");
	/* The cold part of the evaluation function is one, too; by the address before the return address. */
	check("nCnE", "PP", 0, "nE1nE2");
	check("nE", "P", ST_SAMPLE_PYTHON_CUT, "nE1");
}

/* A frame is found by its return address, but the innermost and interrupted ones by the pc itself. */
static void test_address(void **state)
{
	uint64_t native[3] = {EVAL_END, EVAL_START, EVAL_START | ST_FRAME_WORD_EXACT};
	uint64_t python = st_word_python_frame(1, 7, ST_PYTHON_FRAME_ENTRY);
	struct st_merged_frame frames[4];
	struct st_merge_input in = {
		.native = native,
		.python = &python,
		.native_count = 3,
		.python_count = 1,
		.eval = {EVAL_START, EVAL_END, 0, 0},
	};
	uint32_t flags;

	(void)state;
	assert_int_equal(st_merge_frames(&in, frames, &flags), 4);
	assert_int_equal(flags, 0);
	assert_int_equal(frames[0].kind, ST_FRAME_EXACT | ST_FRAME_EVAL);
	assert_int_equal(frames[0].value, EVAL_START);
	assert_int_equal(frames[1].kind, ST_FRAME_PYTHON);
	assert_int_equal(frames[2].kind, ST_FRAME_CALL);
	assert_int_equal(frames[3].kind, ST_FRAME_EXACT);
	assert_int_equal(frames[3].value, EVAL_END);
	/* The last byte of the function as a return address lies in it. */
	native[1] = EVAL_END;
	native[2] = 0x5000;
	assert_int_equal(st_merge_frames(&in, frames, &flags), 4);
	assert_int_equal(frames[1].kind, ST_FRAME_CALL | ST_FRAME_EVAL);
}

/* The innermost evaluation frame has not linked its Python frame yet, or no longer. */
static void test_one_more(void **state)
{
	(void)state;
	check("nEnE", "P", 0, "nE1ne");
	check("nEnEnEn", "PpPp", 0, "nE12nE34nen");
	check("nE", "", 0, "ne");
	check("nE", "", ST_SAMPLE_PYTHON_TOP_UNKNOWN, "ne");
	check("EnE", "P", ST_SAMPLE_TRUNCATED, "E1ne");
}

/* From 3.12 on the frame that stands for the native one is there before and after the Python frame; a destructor may
 * run in between. */
static void test_empty_group(void **state)
{
	(void)state;
	check("nEnEn", "P_", 0, "nE1nen");
	check("nEnEnE", "P_Pp", 0, "nE1nenE34");
	check("nE", "_", 0, "ne");
	check("nEnEnE", "P_", 0, "nE1nene");
}

/* Coroutines on stacks of their own: the outer frames are those of whoever resumed them. */
static void test_many_more(void **state)
{
	(void)state;
	check("nEnEnEnE", "PpP", 0, "!nenenE12nE3");
	check("nEnEnE", "", 0, "nenene");
}

static void test_python_cut(void **state)
{
	(void)state;
	/* The entry of the outer group was cut off, too. */
	check("nEnEnEn", "ppPp", ST_SAMPLE_PYTHON_CUT, "nenE12nE34n");
	check("nEnEn", "P", ST_SAMPLE_PYTHON_CUT, "nenE1n");
	check("nEnE", "ppPp", ST_SAMPLE_PYTHON_CUT, "nE12nE34");
	check("nEn", "ppPpP", ST_SAMPLE_PYTHON_CUT | ST_SAMPLE_DEPTH_CUT, "1234nE5n");
	check("nEn", "ppPpP", ST_SAMPLE_PYTHON_CUT, "!1234nE5n");
}

static void test_native_cut(void **state)
{
	(void)state;
	check("nEnEn", "PpPpPP", ST_SAMPLE_TRUNCATED, "1234nE5nE6n");
	check("nEnE", "PPP", ST_SAMPLE_DEPTH_CUT, "1nE2nE3");
	check("nn", "Pp", ST_SAMPLE_TRUNCATED, "12nn");
	check("nEnE", "PP", ST_SAMPLE_TRUNCATED, "nE1nE2");
}

static void test_native_wrong(void **state)
{
	(void)state;
	/* The scan skipped callers: what is inside of it is right, and so is the outermost part. */
	check("nEnRnEn", "PPPP", ST_SAMPLE_RECOVERED, "!nE1nR23nE4n");
	check("nERn", "PpP", ST_SAMPLE_RECOVERED, "!nE12R3n");
	/* The innermost one of several scans. */
	check("nEREnRnEn", "PPPP", ST_SAMPLE_RECOVERED, "!nE1RE2nR3nE4n");
	/* A recovered stack with equal counts is as good as any. */
	check("nERnE", "PP", ST_SAMPLE_RECOVERED, "nE1RnE2");
	/* Nobody knows why. */
	check("nEnn", "PPp", 0, "!nE123nn");
	check("nEnEnn", "PPpP", 0, "!nE1nE234nn");
	check("nnn", "PpP", 0, "!123nnn");
	check("", "P", 0, "!1");
}

static void test_signal_frame(void **state)
{
	(void)state;
	check("nESn", "P", 0, "nE1nn");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal),	     cmocka_unit_test(test_address),
		cmocka_unit_test(test_one_more),     cmocka_unit_test(test_empty_group),
		cmocka_unit_test(test_many_more),    cmocka_unit_test(test_python_cut),
		cmocka_unit_test(test_native_cut),   cmocka_unit_test(test_native_wrong),
		cmocka_unit_test(test_signal_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
