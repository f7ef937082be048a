/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks with names: code of a library that is loaded here, so its places are known (named_part.c).
 */
#include <dirent.h>
#include <dlfcn.h>
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

#include "base/buf.h"
#include "fake_result.h"
#include "resolve/elf_file.h"
#include "resolve/elf_symbols.h"
#include "resolve/named.h"
#include "store/samples.h"

static const char part_path[] = ST_TEST_BUILD_DIR "/tests/unit/named_part.so";
static const char part_source[] = ST_TEST_SOURCE_DIR "/tests/unit/named_part.c";
static const char stripped_path[] = ST_TEST_BUILD_DIR "/tests/unit/named_stripped/part.so";
static const char stripped_folder[] = ST_TEST_BUILD_DIR "/tests/unit/named_stripped";
static const char debug_folder[] = ST_TEST_BUILD_DIR "/tests/unit/named_stripped/debug";

static char *temporary_folder(void)
{
	char *path = strdup("/tmp/strata-test-XXXXXX");

	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	return path;
}

static void write_file(const char *folder, const char *name, const void *data, size_t size_bytes)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size_bytes, file), size_bytes);
	assert_int_equal(fclose(file), 0);
}

static void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	assert_int_equal(rmdir(folder), 0);
}

struct fixture {
	struct st_result *fake;
	uint32_t process;
	void *library;
};

/* The bytes of the build id, as the loader sees them. */
static st_string_id build_id_of_part(struct fixture *f)
{
	struct st_elf_file file;
	st_string_id id;

	assert_true(st_elf_open(&file, part_path));
	assert_int_equal(file.build_id_bytes, 20);
	id = fake_bytes(f->fake, file.build_id, file.build_id_bytes);
	st_elf_close(&file);
	return id;
}

/* Maps the code of the library at the place it has here, but from the file at path. */
static void map_part(struct fixture *f, uint32_t process, const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	uint32_t found = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		char *at = line;
		uint64_t start, end, offset;

		start = strtoull(at, &at, 16);
		end = strtoull(at + 1, &at, 16);
		if (at[3] != 'x' || !strstr(line, "named_part.so"))
			continue;
		offset = strtoull(at + 6, &at, 16);
		fake_code_map(f->fake, process, start, end, path);
		f->fake->code_maps[f->fake->code_map_count - 1].file_offset = offset;
		f->fake->code_maps[f->fake->code_map_count - 1].build_id = build_id_of_part(f);
		found++;
	}
	fclose(maps);
	assert_int_equal(found, 1);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fake = fake_create();
	f->process = fake_process(f->fake, "prog", 100);
	fake_track(f->fake, f->process, "main", 100);
	f->library = dlopen(part_path, RTLD_NOW);
	assert_non_null(f->library);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	fake_destroy(f->fake);
	dlclose(f->library);
	free(f);
	return 0;
}

static uint64_t place(const struct fixture *f, const char *symbol)
{
	void *found = dlsym(f->library, symbol);

	assert_non_null(found);
	return (uintptr_t)found;
}

static uint32_t leaf(struct fixture *f, const char *symbol)
{
	return fake_node(f->fake, 0, ST_FRAME_EXACT, place(f, symbol));
}

static struct st_named *open_named(const struct fixture *f)
{
	const struct st_named_options options = {.inlines = true};
	struct st_named *named = NULL;
	struct st_error err = {0};

	fake_finish(f->fake);
	assert_int_equal(st_named_open(&named, f->fake, &options, &err), ST_OK);
	assert_non_null(named);
	return named;
}

static struct st_named *open_searching(const struct fixture *f, const char *search)
{
	const struct st_named_options options = {
		.inlines = true, .search = &search, .search_count = 1};
	struct st_named *named = NULL;
	struct st_error err = {0};

	fake_finish(f->fake);
	assert_int_equal(st_named_open(&named, f->fake, &options, &err), ST_OK);
	assert_non_null(named);
	return named;
}

/* The line of named_part.c that holds some words. */
static uint32_t line_of(const char *words)
{
	FILE *file = fopen(part_source, "re");
	char line[512];
	uint32_t number = 0, found = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (strstr(line, words))
			found = number;
	}
	fclose(file);
	assert_true(found > 0);
	return found;
}

static const struct st_named_frame *frame_of(const struct st_named *named, uint32_t node)
{
	assert_true(node < named->node_count);
	return &named->frames[named->frame_of_node[node]];
}

static const struct st_named_function *function_of(const struct st_named *named, uint32_t node)
{
	return &named->functions[frame_of(named, node)->function];
}

static void assert_text(struct st_text text, const char *wanted)
{
	assert_int_equal(text.size_bytes, strlen(wanted));
	assert_memory_equal(text.bytes, wanted, text.size_bytes);
}

static void test_symbols(void **state)
{
	struct fixture *f = *state;
	uint64_t start = place(f, "part_plain"), after;
	uint32_t plain, call, nowhere, outside;
	struct st_named *named;

	map_part(f, f->process, part_path);
	plain = leaf(f, "part_in_plain");
	/* A call as the last instruction of part_plain would return to the first byte behind it. */
	after = fake_node(f->fake, 0, ST_FRAME_CALL, start + 1);
	call = fake_node(f->fake, plain, ST_FRAME_CALL, start);
	nowhere = leaf(f, "part_in_nowhere");
	outside = fake_node(f->fake, 0, ST_FRAME_EXACT, 4096);
	named = open_named(f);
	assert_text(function_of(named, plain)->name, "part_plain");
	assert_text(named->modules[function_of(named, plain)->module].name, "named_part.so");
	assert_text(named->modules[function_of(named, plain)->module].path, part_path);
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

	map_part(f, f->process, part_path);
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

	map_part(f, f->process, part_path);
	plain = leaf(f, "part_in_plain");
	inner = leaf(f, "part_in_innermost");
	named = open_named(f);
	assert_text(named->sources[frame_of(named, plain)->source], part_source);
	assert_int_equal(frame_of(named, plain)->line, line_of("line of plain"));
	assert_int_equal(function_of(named, plain)->line, line_of("int part_plain(int x)"));
	frame = frame_of(named, inner);
	assert_text(named->functions[frame->function].name, "part_innermost");
	assert_text(named->sources[frame->source], part_source);
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
	map_part(f, f->process, part_path);
	stub = fake_node(f->fake, 0, ST_FRAME_EXACT, call + 5 + (uint64_t)(int64_t)distance);
	named = open_named(f);
	assert_text(function_of(named, stub)->name, "getppid@plt");
	assert_int_equal(function_of(named, stub)->flags, 0);
	st_named_close(named);
}

static void test_stripped(void **state)
{
	struct fixture *f = *state;
	uint32_t exported, hidden, behind_pause;
	struct st_named *named;
	char name[64];

	map_part(f, f->process, stripped_path);
	exported = leaf(f, "part_in_plain");
	hidden = leaf(f, "part_in_hidden");
	behind_pause = leaf(f, "part_behind_pause");
	named = open_named(f);
	assert_text(function_of(named, exported)->name, "part_plain");
	assert_int_equal(function_of(named, hidden)->flags, ST_FUNCTION_NO_SYMBOL);
	assert_true(frame_of(named, hidden)->address >= function_of(named, hidden)->start);
	assert_true(frame_of(named, hidden)->address < function_of(named, hidden)->end);
	snprintf(name, sizeof(name), "func@0x%llx",
		 (unsigned long long)function_of(named, hidden)->start);
	assert_text(function_of(named, hidden)->name, name);
	assert_int_equal(frame_of(named, behind_pause)->flags, ST_NAMED_AT_PAUSE);
	st_named_close(named);
}

static void test_debug_file(void **state)
{
	struct fixture *f = *state;
	uint32_t hidden;
	struct st_named *named;

	map_part(f, f->process, stripped_path);
	hidden = leaf(f, "part_in_hidden");
	named = open_searching(f, debug_folder);
	assert_text(function_of(named, hidden)->name, "hidden");
	assert_int_equal(function_of(named, hidden)->flags, 0);
	assert_text(named->sources[frame_of(named, hidden)->source], part_source);
	st_named_close(named);
}

static void test_moved(void **state)
{
	struct fixture *f = *state;
	uint32_t node;
	struct st_named *named;

	map_part(f, f->process, "/no/such/folder/part.so");
	node = leaf(f, "part_in_plain");
	named = open_named(f);
	assert_text(function_of(named, node)->name, "[part.so]");
	assert_int_equal(named->modules_missing, 1);
	assert_int_equal(named->note_count, 1);
	assert_non_null(strstr(named->notes[0], "/no/such/folder/part.so"));
	st_named_close(named);
	named = open_searching(f, stripped_folder);
	assert_text(function_of(named, node)->name, "part_plain");
	assert_int_equal(named->modules_missing, 0);
	assert_int_equal(named->note_count, 0);
	st_named_close(named);
	named = open_searching(f, part_path); /* a file of another name, but the same build */
	assert_text(function_of(named, node)->name, "part_plain");
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

	map_part(f, f->process, part_path);
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

	map_part(f, f->process, part_path);
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

	map_part(f, f->process, part_path);
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

static void test_forked_child(void **state)
{
	struct fixture *f = *state;
	uint32_t child = fake_process(f->fake, "child", 200), node;
	struct st_named *named;

	f->fake->processes[child].parent = f->process;
	f->fake->processes[child].flags = ST_PROCESS_FORKED;
	map_part(f, f->process, part_path);
	fake_track(f->fake, child, "main", 200);
	node = leaf(f, "part_in_plain");
	named = open_named(f);
	assert_text(function_of(named, node)->name, "part_plain");
	st_named_close(named);
}

static void test_other_build(void **state)
{
	struct fixture *f = *state;
	uint32_t node;
	struct st_named *named;

	map_part(f, f->process, part_path);
	f->fake->code_maps[0].build_id = fake_text(f->fake, "another build id");
	node = leaf(f, "part_in_plain");
	named = open_named(f);
	assert_text(function_of(named, node)->name, "[named_part.so]");
	assert_int_equal(named->modules_changed, 1);
	assert_int_equal(named->no_symbol_frames, 1);
	st_named_close(named);
}

static void test_newer_file(void **state)
{
	struct fixture *f = *state;
	uint32_t node;
	struct st_named *named;

	/* Without a build id the time of the file decides. */
	map_part(f, f->process, part_path);
	f->fake->code_maps[0].build_id = 0;
	f->fake->info.started_at = "2001-02-03T04:05:06Z";
	node = leaf(f, "part_in_plain");
	named = open_named(f);
	assert_text(function_of(named, node)->name, "[named_part.so]");
	assert_int_equal(named->modules_changed, 1);
	st_named_close(named);
	f->fake->info.started_at = "2201-02-03T04:05:06Z";
	named = open_named(f);
	assert_text(function_of(named, node)->name, "part_plain");
	st_named_close(named);
}

static void test_perf_map(void **state)
{
	static const char text[] = "5000 100 old_function\n7000 10 lambda with blanks\n"
				   "bad line\n5080 80 new_function\n";
	struct fixture *f = *state;
	char *folder = temporary_folder();
	uint32_t before, after, blanks, behind;
	struct st_named *named;

	f->fake->info.path = folder;
	write_file(folder, "perf-100.map", text, strlen(text));
	before = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x507f);
	after = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x5080);
	blanks = fake_node(f->fake, 0, ST_FRAME_CALL, 0x7010);
	behind = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x7010);
	named = open_named(f);
	assert_text(function_of(named, before)->name, "old_function");
	assert_text(function_of(named, after)->name, "new_function");
	assert_text(function_of(named, blanks)->name, "lambda with blanks");
	assert_int_equal(function_of(named, blanks)->kind, ST_FUNCTION_JIT);
	assert_text(named->modules[function_of(named, blanks)->module].name, "[Dynamic code]");
	assert_int_equal(function_of(named, behind)->kind, ST_FUNCTION_UNKNOWN);
	st_named_close(named);
	remove_folder(folder);
	free(folder);
}

static void put(struct st_buf *out, uint32_t id, const struct st_buf *body)
{
	st_buf_append_u32(out, id);
	st_buf_append_u32(out, (uint32_t)(16 + body->size_bytes));
	st_buf_append_u64(out, 0);
	st_buf_append(out, body->data, body->size_bytes);
}

/* A jitdump with one piece of 16 bytes at 0x6000, of line 5 and from its byte 8 on of line 6. */
static void make_jitdump(struct st_buf *out)
{
	struct st_buf body;

	st_buf_init(out, 4096);
	st_buf_init(&body, 4096);
	st_buf_append_u32(out, 0x4a695444);
	st_buf_append_u32(out, 1);
	st_buf_append_u32(out, 40);
	for (int i = 0; i < 7; i++)
		st_buf_append_u32(out, 0);
	st_buf_append_u64(&body, 0x6000);
	st_buf_append_u64(&body, 2);
	for (uint32_t i = 0; i < 2; i++) {
		st_buf_append_u64(&body, 0x6000 + 8 * i);
		st_buf_append_u32(&body, 5 + i);
		st_buf_append_u32(&body, 0);
		st_buf_append(&body, "a.js", 5);
	}
	put(out, 2, &body);
	st_buf_clear(&body);
	st_buf_append_u64(&body, 0);
	st_buf_append_u64(&body, 0x6000);
	st_buf_append_u64(&body, 0x6000);
	st_buf_append_u64(&body, 16);
	st_buf_append_u64(&body, 1);
	st_buf_append(&body, "js_sum", 7);
	st_buf_append(&body, "0123456789abcdef", 16);
	put(out, 0, &body);
	st_buf_fini(&body);
}

static void test_jitdump(void **state)
{
	struct fixture *f = *state;
	char *folder = temporary_folder();
	uint32_t first, second;
	struct st_buf dump;
	struct st_named *named;

	make_jitdump(&dump);
	f->fake->info.path = folder;
	write_file(folder, "jit-100.dump", dump.data, dump.size_bytes);
	first = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x6007);
	second = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x6008);
	named = open_named(f);
	assert_text(function_of(named, first)->name, "js_sum");
	assert_int_equal(frame_of(named, first)->line, 5);
	assert_int_equal(frame_of(named, second)->line, 6);
	assert_text(named->sources[frame_of(named, second)->source], "a.js");
	st_named_close(named);
	/* Cut anywhere, it is read as far as it goes. */
	for (size_t size = 0; size < dump.size_bytes; size++) {
		write_file(folder, "jit-100.dump", dump.data, size);
		named = open_named(f);
		assert_int_equal(function_of(named, first)->kind, ST_FUNCTION_UNKNOWN);
		st_named_close(named);
	}
	st_buf_fini(&dump);
	remove_folder(folder);
	free(folder);
}

/* Its place in the vdso, by trying every byte. */
static uint64_t vdso_clock_gettime(uint64_t vdso)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(uintptr_t)vdso;
	size_t size_bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	struct st_elf_file file;
	uint64_t found = 0;

	assert_true(st_elf_open_memory(&file, header, size_bytes));
	for (uint64_t address = 0; address < size_bytes && !found; address++) {
		struct st_bounds bounds = {.address = address};

		st_elf_find_symbols(&file, &bounds, 1);
		if (bounds.name && strcmp(bounds.name, "clock_gettime") == 0)
			found = address;
	}
	st_elf_close(&file);
	assert_true(found > 0);
	return found;
}

static void test_special_modules(void **state)
{
	struct fixture *f = *state;
	const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	uint32_t anonymous, clock, kernel;
	char host[256] = "";
	struct st_named *named;
	uint64_t clock_at;

	assert_int_equal(gethostname(host, sizeof(host)), 0);
	f->fake->info.host = host;
	f->fake->info.started_at = "2201-02-03T04:05:06Z";
	fake_code_map(f->fake, f->process, 0x9000, 0xa000, "//anon");
	fake_code_map(f->fake, f->process, vdso, vdso + 0x4000, "[vdso]");
	anonymous = fake_node(f->fake, 0, ST_FRAME_EXACT, 0x9010);
	clock_at = vdso_clock_gettime(vdso);
	clock = fake_node(f->fake, 0, ST_FRAME_EXACT, vdso + clock_at);
	kernel = fake_node(f->fake, clock, ST_FRAME_KERNEL, 0xffffffff81000010ull);
	named = open_named(f);
	assert_text(function_of(named, anonymous)->name, "[Dynamic code]");
	assert_int_equal(function_of(named, anonymous)->kind, ST_FUNCTION_JIT);
	assert_text(function_of(named, clock)->name, "clock_gettime");
	assert_text(named->modules[function_of(named, clock)->module].name, "[vdso]");
	assert_int_equal(function_of(named, clock)->flags & ST_FUNCTION_SYSTEM, ST_FUNCTION_SYSTEM);
	assert_int_equal(function_of(named, kernel)->kind, ST_FUNCTION_KERNEL);
	assert_text(named->modules[function_of(named, kernel)->module].name, "[kernel]");
	assert_int_equal(function_of(named, kernel)->flags & ST_FUNCTION_SYSTEM,
			 ST_FUNCTION_SYSTEM);
	st_named_close(named);
}

static void copy_file(const char *from, const char *to)
{
	static char bytes[1 << 20];
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	size_t size;

	assert_non_null(in);
	assert_non_null(out);
	size = fread(bytes, 1, sizeof(bytes), in);
	assert_true(size > 0 && size < sizeof(bytes));
	assert_int_equal(fwrite(bytes, 1, size, out), size);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

static struct st_named *open_kept(const struct fixture *f, bool redo)
{
	const struct st_named_options options = {.inlines = true, .keep = true, .redo = redo};
	struct st_named *named = NULL;
	struct st_error err = {0};

	assert_int_equal(st_named_open(&named, f->fake, &options, &err), ST_OK);
	return named;
}

static void test_kept(void **state)
{
	struct fixture *f = *state;
	char *folder = temporary_folder(), path[PATH_MAX];
	uint32_t inner, python, other;
	const struct st_named_frame *frame;
	struct st_named *named;

	snprintf(path, sizeof(path), "%s/gone.so", folder);
	copy_file(part_path, path);
	f->fake->info.path = folder;
	map_part(f, f->process, path);
	inner = leaf(f, "part_in_innermost");
	python = fake_python_node(f->fake, inner,
				  fake_python_code(f->fake, f->process, "a.py", "f", 1), 2);
	fake_finish(f->fake);
	st_named_close(open_kept(f, false));
	assert_int_equal(unlink(path), 0);
	/* The binary is gone, the names are not. */
	named = open_kept(f, false);
	frame = frame_of(named, inner);
	assert_text(named->functions[frame->function].name, "part_innermost");
	assert_int_equal(frame->line, line_of("line of innermost"));
	assert_text(named->functions[named->frames[frame->parent].function].name, "part_middle");
	assert_text(function_of(named, python)->name, "f");
	assert_text(named->modules[function_of(named, inner)->module].path, path);
	st_named_close(named);
	/* Another stack: what is kept does not fit any more. */
	other = leaf(f, "part_in_plain");
	fake_finish(f->fake);
	named = open_kept(f, false);
	assert_text(function_of(named, other)->name, "[gone.so]");
	st_named_close(named);
	/* Asked to do it again, it looks at the files that are there now. */
	copy_file(part_path, path);
	named = open_kept(f, false);
	assert_text(function_of(named, other)->name, "[gone.so]");
	st_named_close(named);
	named = open_kept(f, true);
	assert_text(function_of(named, other)->name, "part_plain");
	st_named_close(named);
	remove_folder(folder);
	free(folder);
}

static void test_kept_damaged(void **state)
{
	struct fixture *f = *state;
	char *folder = temporary_folder(), path[PATH_MAX];
	static uint8_t bytes[1 << 20];
	uint32_t node;
	FILE *file;
	size_t size;

	f->fake->info.path = folder;
	map_part(f, f->process, part_path);
	node = leaf(f, "part_in_innermost");
	fake_finish(f->fake);
	st_named_close(open_kept(f, false));
	snprintf(path, sizeof(path), "%s/names.strata", folder);
	file = fopen(path, "re");
	assert_non_null(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_true(size > 200);
	for (size_t at = 0; at < size; at += 7) {
		struct st_named *named;

		bytes[at] ^= 0x41;
		write_file(folder, "names.strata", bytes, size - at % 3);
		bytes[at] ^= 0x41;
		named = open_named(f);
		assert_text(function_of(named, node)->name, "part_innermost");
		st_named_close(named);
	}
	remove_folder(folder);
	free(folder);
}

static void test_without_inlined(void **state)
{
	const struct st_named_options options = {.inlines = false};
	struct fixture *f = *state;
	struct st_named *named = NULL;
	uint32_t inner;

	map_part(f, f->process, part_path);
	inner = leaf(f, "part_in_innermost");
	fake_finish(f->fake);
	assert_int_equal(st_named_open(&named, f->fake, &options, NULL), ST_OK);
	assert_text(function_of(named, inner)->name, "part_outer");
	assert_int_equal(frame_of(named, inner)->line, line_of("line of outer"));
	assert_int_equal(frame_of(named, inner)->parent, 0);
	st_named_close(named);
}

static void test_source_text(void **state)
{
	const char *const search[] = {ST_TEST_SOURCE_DIR "/tests"};
	const struct st_named_options options = {.source_search = search, .source_search_count = 1};
	struct st_error err = {0};
	struct st_source_text *text = st_source_text_open(NULL, part_source, &err);
	char *folder = temporary_folder(), path[PATH_MAX];

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(st_source_text_line(text, line_of("line of outer")).bytes,
			       "part_middle(x)"));
	assert_int_equal(st_source_text_line(text, 0).size_bytes, 0);
	assert_int_equal(st_source_text_line(text, st_source_text_count(text) + 1).size_bytes, 0);
	st_source_text_close(text);
	assert_null(st_source_text_open(NULL, "/build/unit/named_part.c", &err));
	assert_int_equal(err.status, ST_ENOTFOUND);
	/* By the last parts of the path. */
	text = st_source_text_open(&options, "/build/unit/named_part.c", &err);
	assert_non_null(text);
	st_source_text_close(text);
	snprintf(path, sizeof(path), "%s/odd.py", folder);
	write_file(folder, "odd.py", "a\r\n\nlast", 8);
	text = st_source_text_open(NULL, path, &err);
	assert_non_null(text);
	assert_int_equal(st_source_text_count(text), 3);
	assert_text(st_source_text_line(text, 1), "a");
	assert_text(st_source_text_line(text, 2), "");
	assert_text(st_source_text_line(text, 3), "last");
	st_source_text_close(text);
	remove_folder(folder);
	free(folder);
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
		cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(test_demangled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_and_inlined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stub, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stripped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_python, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jit_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jit_inlined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_module_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forked_child, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_build, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_perf_map, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jitdump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_special_modules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_inlined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_source_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
