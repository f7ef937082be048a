// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the tests of names.
#include "named_fixture.h"

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
#include <unistd.h>

#include <cmocka.h>

#include "resolve/elf_file.h"

char *temporary_folder(void)
{
	char *path = strdup("/tmp/strata-test-XXXXXX");

	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	return path;
}

void write_file(const char *folder, const char *name, const void *data, size_t size_bytes)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size_bytes, file), size_bytes);
	assert_int_equal(fclose(file), 0);
}

void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	assert_int_equal(rmdir(folder), 0);
}

/* The bytes of the build id, as the loader sees them. */
st_string_id build_id_of_part(struct fixture *f)
{
	struct st_elf_file file;
	st_string_id id;

	assert_true(st_elf_open(&file, PART_PATH));
	assert_int_equal(file.build_id_bytes, 20);
	id = fake_bytes(f->fake, file.build_id, file.build_id_bytes);
	st_elf_close(&file);
	return id;
}

/* Maps the code of the library at the place it has here, but from the file at path. */
void map_part(struct fixture *f, uint32_t process, const char *path)
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

int named_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fake = fake_create();
	f->process = fake_process(f->fake, "prog", 100);
	fake_track(f->fake, f->process, "main", 100);
	f->library = dlopen(PART_PATH, RTLD_NOW);
	assert_non_null(f->library);
	*state = f;
	return 0;
}

int named_teardown(void **state)
{
	struct fixture *f = *state;

	fake_destroy(f->fake);
	dlclose(f->library);
	free(f);
	return 0;
}

uint64_t place(const struct fixture *f, const char *symbol)
{
	void *found = dlsym(f->library, symbol);

	assert_non_null(found);
	return (uintptr_t)found;
}

uint32_t leaf(struct fixture *f, const char *symbol)
{
	return fake_node(f->fake, 0, ST_FRAME_EXACT, place(f, symbol));
}

struct st_named *open_named(const struct fixture *f)
{
	const struct st_named_options options = {.inlines = true};
	struct st_named *named = NULL;
	struct st_error err = {0};

	fake_finish(f->fake);
	assert_int_equal(st_named_open(&named, f->fake, &options, &err), ST_OK);
	assert_non_null(named);
	return named;
}

struct st_named *open_searching(const struct fixture *f, const char *search)
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
uint32_t line_of(const char *words)
{
	FILE *file = fopen(PART_SOURCE, "re");
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

const struct st_named_frame *frame_of(const struct st_named *named, uint32_t node)
{
	assert_true(node < named->node_count);
	return &named->frames[named->frame_of_node[node]];
}

const struct st_named_function *function_of(const struct st_named *named, uint32_t node)
{
	return &named->functions[frame_of(named, node)->function];
}

void assert_text(struct st_text text, const char *wanted)
{
	assert_int_equal(text.size_bytes, strlen(wanted));
	assert_memory_equal(text.bytes, wanted, text.size_bytes);
}
