/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks with names: code of a library that is loaded here, so its places are known.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

#include "named_fixture.h"

static void test_symbols(void **state)
{
	struct fixture *f = *state;
	uint64_t start = place(f, "part_plain"), after;
	uint32_t plain, call, nowhere, outside;
	struct st_named *named;

	map_part(f, f->process, PART_PATH);
	plain = leaf(f, "part_in_plain");
	/* A call as the last instruction of part_plain would return to the first byte behind it. */
	after = fake_node(f->fake, 0, ST_FRAME_CALL, start + 1);
	call = fake_node(f->fake, plain, ST_FRAME_CALL, start);
	nowhere = leaf(f, "part_in_nowhere");
	outside = fake_node(f->fake, 0, ST_FRAME_EXACT, 4096);
	named = open_named(f);
	assert_text(function_of(named, plain)->name, "part_plain");
	assert_text(named->modules[function_of(named, plain)->module].name, "named_part.so");
	assert_text(named->modules[function_of(named, plain)->module].path, PART_PATH);
	assert_int_equal(function_of(named, plain)->kind, ST_FUNCTION_NATIVE);
	assert_int_equal(function_of(named, plain)->flags, 0);
	assert_text(function_of(named, (uint32_t)after)->name, "part_plain");
	assert_int_equal(frame_of(named, (uint32_t)after)->function,
			 frame_of(named, plain)->function);
	assert_true(frame_of(named, call)->function != frame_of(named, plain)->function);
	assert_int_equal(frame_of(named, call)->parent, named->frame_of_node[plain]);
	/* Behind the end of the nearest symbol. */
	assert_text(function_of(named, nowhere)->name, "[named_part.so]");
	assert_int_equal(function_of(named, nowhere)->flags, ST_FUNCTION_NO_SYMBOL);
	assert_text(function_of(named, outside)->name, "[Outside any known module]");
	assert_int_equal(function_of(named, outside)->kind, ST_FUNCTION_UNKNOWN);
	assert_text(named->modules[function_of(named, outside)->module].name, "[Unknown]");
	assert_true(named->unknown_frames == 1);
	st_named_close(named);
}

static void test_demangled(void **state)
{
	struct fixture *f = *state;
	uint32_t cpp, rust, rust_new;
	struct st_named *named;

	map_part(f, f->process, PART_PATH);
	cpp = leaf(f, "part_in_cpp");
	rust = leaf(f, "part_in_rust");
	rust_new = leaf(f, "part_in_rust_new");
	named = open_named(f);
	assert_text(function_of(named, cpp)->name, "at::native::conv2d");
	assert_text(function_of(named, cpp)->full, "at::native::conv2d(int, int)");
	assert_text(function_of(named, cpp)->mangled, "_ZN2at6native6conv2dEii");
	assert_text(function_of(named, rust)->name, "core::fmt::write");
	assert_text(function_of(named, rust_new)->name, "mycrate::foo::bar");
	st_named_close(named);
}

static void test_lines_and_inlined(void **state)
{
	struct fixture *f = *state;
	uint32_t plain, inner;
	const struct st_named_frame *frame;
	struct st_named *named;

	map_part(f, f->process, PART_PATH);
	plain = leaf(f, "part_in_plain");
	inner = leaf(f, "part_in_innermost");
	named = open_named(f);
	assert_text(named->sources[frame_of(named, plain)->source], PART_SOURCE);
	assert_int_equal(frame_of(named, plain)->line, line_of("line of plain"));
	assert_int_equal(function_of(named, plain)->line, line_of("int part_plain(int x)"));
	frame = frame_of(named, inner);
	assert_text(named->functions[frame->function].name, "part_innermost");
	assert_text(named->sources[frame->source], PART_SOURCE);
	assert_int_equal(frame->line, line_of("line of innermost"));
	assert_int_equal(frame->flags, ST_NAMED_INLINED);
	frame = &named->frames[frame->parent];
	assert_text(named->functions[frame->function].name, "part_middle");
	assert_int_equal(frame->line, line_of("line of middle"));
	assert_int_equal(frame->flags, ST_NAMED_INLINED);
	assert_int_equal(frame->node, inner);
	frame = &named->frames[frame->parent];
	assert_text(named->functions[frame->function].name, "part_outer");
	assert_int_equal(frame->line, line_of("line of outer"));
	assert_int_equal(frame->flags, 0);
	assert_int_equal(frame->parent, 0);
	st_named_close(named);
}

static void test_stub(void **state)
{
	struct fixture *f = *state;
	uint64_t call = place(f, "part_call_of_stub");
	int32_t distance;
	uint32_t stub;
	struct st_named *named;

	memcpy(&distance, (const void *)(uintptr_t)(call + 1), sizeof(distance));
	map_part(f, f->process, PART_PATH);
	stub = fake_node(f->fake, 0, ST_FRAME_EXACT, call + 5 + (uint64_t)(int64_t)distance);
	named = open_named(f);
	assert_text(function_of(named, stub)->name, "getppid@plt");
	assert_int_equal(function_of(named, stub)->flags, 0);
	st_named_close(named);
}

static void test_python(void **state)
{
	struct fixture *f = *state;
	uint32_t main_code = fake_python_code(f->fake, f->process, "/src/train.py", "main", 10);
	uint32_t step_code =
		fake_python_code(f->fake, f->process, "/src/train.py", "Trainer.step", 3);
	uint32_t eval, outer, inner, inner_again;
	struct st_named *named;

	map_part(f, f->process, PART_PATH);
	eval = fake_node(f->fake, 0, ST_FRAME_CALL | ST_FRAME_EVAL, place(f, "part_in_plain"));
	outer = fake_python_node(f->fake, eval, main_code, 12);
	inner = fake_python_node(f->fake, outer, step_code, 5);
	inner_again = fake_python_node(f->fake, outer, step_code, 6);
	named = open_named(f);
	assert_int_equal(frame_of(named, eval)->flags, ST_NAMED_EVAL);
	assert_text(function_of(named, inner)->name, "Trainer.step");
	assert_int_equal(function_of(named, inner)->kind, ST_FUNCTION_PYTHON);
	assert_int_equal(function_of(named, inner)->line, 3);
	assert_int_equal(frame_of(named, inner)->line, 5);
	assert_int_equal(frame_of(named, inner_again)->line, 6);
	assert_int_equal(frame_of(named, inner)->function, frame_of(named, inner_again)->function);
	assert_text(named->sources[frame_of(named, inner)->source], "/src/train.py");
	assert_text(named->modules[function_of(named, inner)->module].name, "train.py");
	assert_int_equal(frame_of(named, inner)->parent, named->frame_of_node[outer]);
	assert_int_equal(frame_of(named, outer)->parent, named->frame_of_node[eval]);
	st_named_close(named);
}

static void test_pause(void **state)
{
	struct fixture *f = *state;
	uint32_t before, at, behind, after, caller;
	struct st_named *named;

	map_part(f, f->process, PART_PATH);
	before = leaf(f, "part_before_pause");
	at = leaf(f, "part_at_pause");
	behind = leaf(f, "part_behind_pause");
	after = leaf(f, "part_after_pause");
	caller = fake_node(f->fake, 0, ST_FRAME_CALL, place(f, "part_at_pause") + 1);
	named = open_named(f);
	assert_int_equal(frame_of(named, before)->flags, 0);
	assert_int_equal(frame_of(named, at)->flags, ST_NAMED_AT_PAUSE);
	assert_int_equal(frame_of(named, behind)->flags, ST_NAMED_AT_PAUSE);
	assert_int_equal(frame_of(named, after)->flags, 0);
	assert_int_equal(frame_of(named, caller)->flags, 0);
	st_named_close(named);
}

static void add_code(struct fixture *f, const char *name, int64_t from_ns, int64_t until_ns)
{
	f->fake->code[f->fake->code_count++] = (struct st_code){.process = f->process,
								.kind = ST_EVENT_JIT,
								.address = 0x5000,
								.size_bytes = 0x100,
								.from_ns = from_ns,
								.until_ns = until_ns,
								.name = fake_text(f->fake, name)};
}

static void test_jit_in_time(void **state)
{
	static const uint32_t lines[] = {0x10, 7, 0x20, 9};
	struct fixture *f = *state;
	uint32_t early, late;
	struct st_named *named;

	add_code(f, "kernel_a", 100, 200);
	f->fake->code[0].lines = lines;
	f->fake->code[0].line_count = 2;
	f->fake->code[0].source = fake_text(f->fake, "gen.c");
	add_code(f, "kernel_b", 200, 300);
	early = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x5010);
	late = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x5011);
	fake_sample(f->fake, 150, 1, early, 0);
	fake_sample(f->fake, 250, 1, late, 0);
	named = open_named(f);
	assert_text(function_of(named, early)->name, "kernel_a");
	assert_int_equal(function_of(named, early)->kind, ST_FUNCTION_JIT);
	assert_int_equal(frame_of(named, early)->line, 9);
	assert_text(named->sources[frame_of(named, early)->source], "gen.c");
	assert_text(function_of(named, late)->name, "kernel_b");
	assert_text(named->modules[function_of(named, late)->module].name, "[Dynamic code]");
	st_named_close(named);
}

static void test_jit_inlined(void **state)
{
	struct fixture *f = *state;
	uint32_t inside;
	struct st_named *named;
	const struct st_named_frame *frame;

	add_code(f, "whole", 100, 300);
	f->fake->code[0].method = 1;
	add_code(f, "part", 100, 300);
	f->fake->code[1].method = 2;
	f->fake->code[1].parent_method = 1;
	f->fake->code[1].address = 0x5020;
	f->fake->code[1].size_bytes = 0x10;
	inside = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x5028);
	fake_sample(f->fake, 150, 1, inside, 0);
	named = open_named(f);
	frame = frame_of(named, inside);
	assert_text(named->functions[frame->function].name, "part");
	assert_int_equal(frame->flags, ST_NAMED_INLINED);
	frame = &named->frames[frame->parent];
	assert_text(named->functions[frame->function].name, "whole");
	assert_int_equal(frame->parent, 0);
	st_named_close(named);
}

static void test_module_in_time(void **state)
{
	struct fixture *f = *state;
	uint64_t address = place(f, "part_in_plain");
	uint32_t first, second;
	struct st_named *named;

	map_part(f, f->process, PART_PATH);
	fake_code_map(f->fake, f->process, address - 64, address + 64, "/gone/other.so");
	f->fake->code_maps[1].from_ns = 1000;
	first = fake_node(f->fake, 0, ST_FRAME_EXACT, address);
	second = fake_node(f->fake, 0, ST_FRAME_EXACT, address + 1);
	fake_sample(f->fake, 500, 1, first, 0);
	fake_sample(f->fake, 1500, 1, second, 0);
	named = open_named(f);
	assert_text(function_of(named, first)->name, "part_plain");
	assert_text(function_of(named, second)->name, "[other.so]");
	assert_int_equal(named->modules_missing, 1);
	st_named_close(named);
}

static void test_code_replaced(void **state)
{
	struct fixture *f = *state;
	uint32_t node;
	struct st_named *named;

	add_code(f, "kernel_a", 100, 200);
	add_code(f, "kernel_a", 200, 300); /* made anew: the same */
	node = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x5010);
	fake_sample(f->fake, 150, 1, node, 0);
	fake_sample(f->fake, 250, 1, node, 0);
	named = open_named(f);
	assert_int_equal(named->note_count, 0);
	st_named_close(named);
	add_code(f, "kernel_b", 300, 400);
	fake_sample(f->fake, 350, 1, node, 0);
	named = open_named(f);
	assert_text(function_of(named, node)->name, "kernel_a");
	assert_int_equal(named->note_count, 1);
	assert_non_null(strstr(named->notes[0], "1 addresses"));
	st_named_close(named);
}

static void test_forked_child(void **state)
{
	struct fixture *f = *state;
	uint32_t child = fake_process(f->fake, "child", 200), node;
	struct st_named *named;

	f->fake->processes[child].parent = f->process;
	f->fake->processes[child].flags = ST_PROCESS_FORKED;
	map_part(f, f->process, PART_PATH);
	fake_track(f->fake, child, "main", 200);
	node = leaf(f, "part_in_plain");
	named = open_named(f);
	assert_text(function_of(named, node)->name, "part_plain");
	st_named_close(named);
}

static void test_without_inlined(void **state)
{
	const struct st_named_options options = {.inlines = false};
	struct fixture *f = *state;
	struct st_named *named = NULL;
	uint32_t inner;

	map_part(f, f->process, PART_PATH);
	inner = leaf(f, "part_in_innermost");
	fake_finish(f->fake);
	assert_int_equal(st_named_open(&named, f->fake, &options, NULL), ST_OK);
	assert_text(function_of(named, inner)->name, "part_outer");
	assert_int_equal(frame_of(named, inner)->line, line_of("line of outer"));
	assert_int_equal(frame_of(named, inner)->parent, 0);
	st_named_close(named);
}

static void test_nothing(void **state)
{
	struct fixture *f = *state;
	struct st_named *named = open_named(f);

	assert_int_equal(named->frame_count, 1);
	assert_int_equal(named->function_count > 0, 1);
	st_named_close(named);
	st_named_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_symbols, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_demangled, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_lines_and_inlined, named_setup,
						named_teardown),
		cmocka_unit_test_setup_teardown(test_stub, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_python, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_pause, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_jit_in_time, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_jit_inlined, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_module_in_time, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_code_replaced, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_forked_child, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_without_inlined, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_nothing, named_setup, named_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
