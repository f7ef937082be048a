/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks with names: which files they come from, and what is kept of them.
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

#include "base/buf.h"
#include "named_fixture.h"
#include "resolve/elf_file.h"
#include "resolve/elf_symbols.h"

static void test_stripped(void **state)
{
	struct fixture *f = *state;
	uint32_t exported, hidden, behind_pause;
	struct st_named *named;
	char name[64];

	map_part(f, f->process, STRIPPED_PATH);
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

	map_part(f, f->process, STRIPPED_PATH);
	hidden = leaf(f, "part_in_hidden");
	named = open_searching(f, DEBUG_FOLDER);
	assert_text(function_of(named, hidden)->name, "hidden");
	assert_int_equal(function_of(named, hidden)->flags, 0);
	assert_text(named->sources[frame_of(named, hidden)->source], PART_SOURCE);
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
	named = open_searching(f, STRIPPED_FOLDER);
	assert_text(function_of(named, node)->name, "part_plain");
	assert_int_equal(named->modules_missing, 0);
	assert_int_equal(named->note_count, 0);
	st_named_close(named);
	named = open_searching(f, PART_PATH); /* a file of another name, but the same build */
	assert_text(function_of(named, node)->name, "part_plain");
	st_named_close(named);
}

static void test_other_build(void **state)
{
	struct fixture *f = *state;
	uint32_t node;
	struct st_named *named;

	map_part(f, f->process, PART_PATH);
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
	map_part(f, f->process, PART_PATH);
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

/* What was told when collecting serves without being told again. */
static void test_kept_search(void **state)
{
	struct fixture *f = *state;
	uint32_t node;
	struct st_named *named;

	map_part(f, f->process, "/no/such/folder/part.so");
	node = leaf(f, "part_in_plain");
	f->fake->info.options =
		"-quiet -search-dir '/some folder/it'\\''s' -search-dir named_stripped -knob a=b";
	f->fake->info.working_dir = ST_TEST_BUILD_DIR "/tests/unit";
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
	copy_file(PART_PATH, path);
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
	copy_file(PART_PATH, path);
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
	map_part(f, f->process, PART_PATH);
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

static void test_source_text(void **state)
{
	const char *const search[] = {ST_TEST_SOURCE_DIR "/tests"};
	const struct st_named_options options = {.source_search = search, .source_search_count = 1};
	struct st_error err = {0};
	struct st_source_text *text = st_source_text_open(NULL, NULL, PART_SOURCE, &err);
	char *folder = temporary_folder(), path[PATH_MAX];
	struct st_text line;

	(void)state;
	assert_non_null(text);
	line = st_source_text_line(text, line_of("line of outer"));
	assert_non_null(memmem(line.bytes, line.size_bytes, "part_middle(x)", 14));
	assert_int_equal(st_source_text_line(text, 0).size_bytes, 0);
	assert_int_equal(st_source_text_line(text, st_source_text_count(text) + 1).size_bytes, 0);
	st_source_text_close(text);
	assert_null(st_source_text_open(NULL, NULL, "/build/unit/named_part.c", &err));
	assert_int_equal(err.status, ST_ENOTFOUND);
	/* By the last parts of the path. */
	text = st_source_text_open(&options, NULL, "/build/unit/named_part.c", &err);
	assert_non_null(text);
	st_source_text_close(text);
	snprintf(path, sizeof(path), "%s/odd.py", folder);
	write_file(folder, "odd.py", "a\r\n\nlast", 8);
	text = st_source_text_open(NULL, NULL, path, &err);
	assert_non_null(text);
	assert_int_equal(st_source_text_count(text), 3);
	assert_text(st_source_text_line(text, 1), "a");
	assert_text(st_source_text_line(text, 2), "");
	assert_text(st_source_text_line(text, 3), "last");
	st_source_text_close(text);
	remove_folder(folder);
	free(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stripped, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_debug_file, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_moved, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_other_build, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_newer_file, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_kept_search, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_perf_map, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_jitdump, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_special_modules, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_kept, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_kept_damaged, named_setup, named_teardown),
		cmocka_unit_test_setup_teardown(test_source_text, named_setup, named_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
