// SPDX-License-Identifier: Apache-2.0
//
// Code that was loaded besides files, of hand-made results: JIT methods in time, modules, maps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "open_fixture.h"

enum { PROCESS_END = 10000, LOAD = 13, UNLOAD = 14, UPDATE = 15, INLINE = 16, UPDATE_V2 = 17 };

static int setup(void **state)
{
	struct fixture *f;

	fixture_setup(state);
	f = *state;
	maker_process_end(&f->m, PROCESS_END, ST_END_EXITED, 0);
	maker_define(&f->m, 1);
	return 0;
}

static void open_result(struct fixture *f)
{
	maker_define(&f->m, 1);
	fixture_open_whole(f);
}

static const char *text(const struct fixture *f, st_string_id id)
{
	return st_result_text(f->result, id).bytes;
}

struct method {
	uint32_t event, id, parent;
	uint64_t address, size_bytes, type;
	const char *name;
	const uint32_t *lines;
	uint32_t line_count;
};

static void jit(struct fixture *f, uint64_t time, struct method method)
{
	struct st_event event = {.kind = ST_EVENT_JIT,
				 .mask = ST_FIELD_ID | ST_FIELD_VALUE | ST_FIELD_EXTRA |
					 ST_FIELD_DATA,
				 .detail = method.event,
				 .value = method.address,
				 .extra = method.size_bytes,
				 .id = {method.id, method.parent, method.type}};
	struct st_buf data;

	st_buf_init(&data, 1 << 20);
	st_definition_text(&data, method.name ? method.name : "",
			   method.name ? strlen(method.name) : 0);
	st_definition_text(&data, "Class", 5);
	st_definition_text(&data, "file.js", 7);
	st_definition_text(&data, "", 0);
	st_buf_append_u32(&data, method.line_count);
	for (uint32_t i = 0; i < 2 * method.line_count; i++)
		st_buf_append_u32(&data, method.lines[i]);
	event.data = data.data;
	event.data_bytes = data.size_bytes;
	maker_code_event(&f->m, time, &event);
	st_buf_fini(&data);
}

static void need_code(const struct fixture *f, uint32_t at, uint64_t address, int64_t from_ns,
		      int64_t until_ns)
{
	assert_in_range(at, 0, f->code_count - 1);
	assert_int_equal(f->code[at].address, address);
	assert_int_equal(f->code[at].from_ns, from_ns);
	assert_int_equal(f->code[at].until_ns, until_ns);
}

static void test_methods(void **state)
{
	static const uint32_t lines[] = {4, 10, 16, 12};
	struct fixture *f = *state;

	jit(f, 100, (struct method){LOAD, 1, 0, 0x1000, 0x100, 0, "first", lines, 2});
	jit(f, 110, (struct method){LOAD, 2, 0, 0x2000, 0x100, 0, "second", NULL, 0});
	/* Lies over the first only. */
	jit(f, 200, (struct method){LOAD, 3, 0, 0x10ff, 0x10, 0, "third", NULL, 0});
	jit(f, 300, (struct method){UNLOAD, 2, 0, 0, 0, 0, NULL, NULL, 0});
	jit(f, 310, (struct method){LOAD, 2, 0, 0x2000, 0x100, 0, NULL, NULL, 0});
	/* No address, no size: ignored. */
	jit(f, 320, (struct method){LOAD, 4, 0, 0, 16, 0, "x", NULL, 0});
	jit(f, 330, (struct method){LOAD, 5, 0, 0x3000, 0, 0, "x", NULL, 0});
	open_result(f);
	assert_int_equal(f->code_count, 4);
	need_code(f, 0, 0x1000, 100, 200);
	assert_string_equal(text(f, f->code[0].name), "first");
	assert_string_equal(text(f, f->code[0].class_name), "Class");
	assert_string_equal(text(f, f->code[0].source), "file.js");
	assert_int_equal(f->code[0].method, 1);
	assert_int_equal(f->code[0].line_count, 2);
	assert_int_equal(f->code[0].lines[2], 16);
	assert_int_equal(f->code[0].lines[3], 12);
	need_code(f, 1, 0x2000, 110, 300);
	need_code(f, 2, 0x10ff, 200, PROCESS_END);
	need_code(f, 3, 0x2000, 310, PROCESS_END);
	assert_string_equal(text(f, f->code[3].name), "second");
}

static void test_pieces_and_updates(void **state)
{
	struct fixture *f = *state;

	/* Two pieces of one method; the second has no name of its own. */
	jit(f, 100, (struct method){LOAD, 1, 0, 0x1000, 0x10, 0, "method", NULL, 0});
	jit(f, 110, (struct method){LOAD, 1, 0, 0x5000, 0x10, 0, NULL, NULL, 0});
	jit(f, 120, (struct method){LOAD, 2, 0, 0x6000, 0x10, 0, "moved", NULL, 0});
	jit(f, 200, (struct method){UPDATE, 2, 0, 0x7000, 0x20, 0, NULL, NULL, 0});
	jit(f, 300, (struct method){UPDATE_V2, 0, 0, 0x7000, 0x20, 1, NULL, NULL, 0});
	jit(f, 400, (struct method){UPDATE_V2, 0, 0, 0x5000, 0x10, 2, NULL, NULL, 0});
	jit(f, 500, (struct method){2, 0, 0, 0, 0, 0, NULL, NULL, 0});
	open_result(f);
	assert_int_equal(f->code_count, 4);
	need_code(f, 0, 0x1000, 100, PROCESS_END);
	need_code(f, 1, 0x5000, 110, 400); /* became data */
	assert_string_equal(text(f, f->code[1].name), "method");
	need_code(f, 2, 0x6000, 120, 200);
	need_code(f, 3, 0x7000, 200, PROCESS_END);
	assert_string_equal(text(f, f->code[3].name), "moved");
	assert_int_equal(f->code[3].size_bytes, 0x20);
}

/* Inlined methods lie in their parent without ending it, end with it, and may be told first. */
static void test_inlined(void **state)
{
	struct fixture *f = *state;

	jit(f, 90, (struct method){INLINE, 11, 10, 0x1010, 0x10, 0, "inner", NULL, 0});
	jit(f, 100, (struct method){LOAD, 10, 0, 0x1000, 0x100, 0, "outer", NULL, 0});
	jit(f, 101, (struct method){INLINE, 12, 11, 0x1014, 4, 0, "innermost", NULL, 0});
	jit(f, 300, (struct method){UNLOAD, 10, 0, 0, 0, 0, NULL, NULL, 0});
	open_result(f);
	assert_int_equal(f->code_count, 3);
	need_code(f, 0, 0x1010, 90, 300);
	assert_int_equal(f->code[0].parent_method, 10);
	need_code(f, 1, 0x1000, 100, 300);
	need_code(f, 2, 0x1014, 101, 300);
	assert_int_equal(f->code[2].parent_method, 11);
}

static void test_modules(void **state)
{
	static const char sections[] = "module.so\0.text\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				       "\0\x40\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				       ".data\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				       "\0\x80\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	struct fixture *f = *state;
	struct st_event event = {.kind = ST_EVENT_MODULE_LOAD,
				 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_DATA,
				 .value = 0x1000,
				 .extra = 0x3000,
				 .data = "/lib/x.so",
				 .data_bytes = 9};

	maker_code_event(&f->m, 10, &event);
	event.kind = ST_EVENT_MODULE_UNLOAD;
	event.mask = ST_FIELD_VALUE;
	maker_code_event(&f->m, 20, &event);
	event = (struct st_event){.kind = ST_EVENT_MODULE_LOAD_SECTIONS,
				  .mask = ST_FIELD_ID | ST_FIELD_VALUE | ST_FIELD_EXTRA |
					  ST_FIELD_DATA,
				  .id = {5},
				  .value = 4096,
				  .extra = 2,
				  .data = sections,
				  .data_bytes = sizeof(sections)};
	maker_code_event(&f->m, 30, &event);
	event = (struct st_event){.kind = ST_EVENT_MODULE_UNLOAD_SECTIONS,
				  .mask = ST_FIELD_ID | ST_FIELD_DATA,
				  .id = {5},
				  .data = "module.so",
				  .data_bytes = 9};
	maker_code_event(&f->m, 40, &event);
	open_result(f);
	assert_int_equal(f->code_count, 3);
	need_code(f, 0, 0x1000, 10, 20);
	assert_int_equal(f->code[0].size_bytes, 0x2000);
	assert_int_equal(f->code[0].kind, ST_EVENT_MODULE_LOAD);
	assert_string_equal(text(f, f->code[0].name), "/lib/x.so");
	need_code(f, 1, 0x4000, 30, 40);
	assert_int_equal(f->code[1].size_bytes, 0x100);
	assert_string_equal(text(f, f->code[1].name), "module.so");
	assert_string_equal(text(f, f->code[1].class_name), ".text");
	need_code(f, 2, 0x8000, 30, 40);
	assert_string_equal(text(f, f->code[2].class_name), ".data");
}

static void test_processes_do_not_mix(void **state)
{
	struct fixture *f = *state;

	jit(f, 100, (struct method){LOAD, 1, 0, 0x1000, 0x10, 0, "mine", NULL, 0});
	maker_define(&f->m, 1);
	maker_process(&f->m, 200, 0, 0, 0);
	jit(f, 200, (struct method){LOAD, 1, 0, 0x1000, 0x10, 0, "other", NULL, 0});
	maker_define(&f->m, 2);
	open_result(f);
	assert_int_equal(f->code_count, 2);
	need_code(f, 0, 0x1000, 100, PROCESS_END);
	assert_int_equal(f->code[1].process, 1);
}

static void test_maps(void **state)
{
	struct fixture *f = *state;
	const struct st_code_map *maps;
	uint32_t count;

	maker_code_map(&f->m, 0x5000, 0x6000, 0x1000, "/b");
	maker_code_map(&f->m, 0x1000, 0x2000, 0, "/a");
	maker_code_map(&f->m, 0x9000, 0x9000, 0, "/empty");
	open_result(f);
	maps = st_result_code_maps(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(maps[0].start, 0x1000);
	assert_string_equal(text(f, maps[0].path), "/a");
	assert_int_equal(maps[1].file_offset, 0x1000);
}

/* Every definition cut off at every byte: damage or nothing, never more than that. */
static void test_cut_off(void **state)
{
	static const char data[] = "\4\0\0\0name\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\2\0\0";
	struct fixture *f = *state;

	for (size_t bytes = 0; bytes <= sizeof(data); bytes++) {
		struct st_event event = {.kind = ST_EVENT_JIT,
					 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_DATA,
					 .detail = LOAD,
					 .value = 0x1000 + 16 * bytes,
					 .extra = 16,
					 .data = data,
					 .data_bytes = bytes};

		maker_code_event(&f->m, 10, &event);
	}
	maker_define(&f->m, 1);
	maker_end(&f->m);
	assert_int_equal(maker_open(&f->m, &f->result, &f->err), ST_OK);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 1);
	f->code = st_result_code(f->result, &f->code_count);
	assert_string_equal(text(f, f->code[f->code_count - 1].name), "name");
	assert_int_equal(f->code[f->code_count - 1].line_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_methods, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_pieces_and_updates, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_inlined, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_modules, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_processes_do_not_mix, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_maps, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_cut_off, setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
