/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends every event of the JIT interface through the library that INTEL_JIT_PROFILER64 names, with a task
 * around, and prints the base of all addresses it tells. tests/e2e/test_jit.py knows the rest.
 */
#include <stdio.h>
#include <string.h>

#include "itt_static_part.h"
#include "jit_static_part.h"

static struct line_number lines[] = {{16, 101}, {40, 103}, {64, 102}};

static void send_loads(char *base)
{
	struct method_load plain = {.method_id = 1,
				    .method_name = "plain",
				    .address = base,
				    .size = 64,
				    .line_count = 3,
				    .lines = lines,
				    .class_file_name = "Plain",
				    .source_file_name = "plain.cpp"};
	struct method_load_v2 v2 = {.method_id = 2,
				    .method_name = "second \xc3\xbc",
				    .address = base + 0x1000,
				    .size = 0x100,
				    .source_file_name = "second.cpp",
				    .module_name = "module2"};
	struct method_load_v3 v3 = {.method_id = 3,
				    .method_name = "third",
				    .address = base + 0x2000,
				    .size = 0x200,
				    .module_name = "module3",
				    .architecture = 2};
	struct method_inline_load inlined = {.method_id = 4,
					     .parent_method_id = 1,
					     .method_name = "inlined",
					     .address = base + 16,
					     .size = 8,
					     .line_count = 1,
					     .lines = lines,
					     .source_file_name = "plain.h"};

	jit_notify(13, &plain);
	jit_notify(21, &v2);
	jit_notify(22, &v3);
	jit_notify(16, &inlined);
	/* All of this is only valid during the calls. */
	memset(&plain, 0xff, sizeof(plain));
	memset(lines, 0xff, sizeof(lines));
}

static void send_changes(char *base)
{
	struct method_load update = {.method_id = 1, .address = base + 0x3000, .size = 32};
	struct method_update update_v2 = {base + 0x4000, 48, 1, "raw"};
	struct method_load replaced = {
		.method_id = 5, .method_name = "replaces", .address = base + 0x1080, .size = 0x40};
	unsigned int method = 3;

	jit_notify(15, &update);
	jit_notify(17, &update_v2);
	jit_notify(14, &method);
	jit_notify(13, &replaced); /* overlaps the second one, which is gone from now on */
	jit_notify(2, NULL);
}

int main(void)
{
	static char base[0x8000];

	if (!itt_part_load() || !jit_part_load() || !jit_initialize()) {
		puts("nobody listens");
		return 1;
	}
	itt_task_begin(itt_domain_create("jit"), itt_string_handle_create("compile"));
	send_loads(base);
	itt_task_end(itt_domain_create("jit"));
	send_changes(base);
	printf("%llu\n", (unsigned long long)(uintptr_t)base);
	return 0;
}
