/* SPDX-License-Identifier: Apache-2.0
 *
 * Table files: kept and found again, made anew when they are not what they should be, and there even when
 * no folder is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/cache.h"
#include "unwind/rt/table.h"

enum { PATH_BYTES = 512 };

static char folder_path[PATH_BYTES];
static struct st_unwind_found first, second;

static int set_up(void **state)
{
	(void)state;
	snprintf(folder_path, sizeof(folder_path), "%s", "/tmp/test_unwind_cache_XXXXXX");
	return mkdtemp(folder_path) ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[PATH_BYTES * 2], inner[PATH_BYTES + 16];
	struct dirent *entry;
	DIR *dir;

	(void)state;
	snprintf(inner, sizeof(inner), "%s/unwind", folder_path);
	dir = opendir(inner);
	while (dir && (entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%.255s", inner, entry->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(inner);
	rmdir(folder_path);
	return 0;
}

/* The mapping of this program that holds this function. */
static struct st_unwind_want own_mapping(void)
{
	struct st_unwind_want want = {.path = "/proc/self/exe"};
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024], *at;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start = strtoull(line, &at, 16), end = strtoull(at + 1, &at, 16);

		if ((uintptr_t)own_mapping < start || (uintptr_t)own_mapping >= end)
			continue;
		want.start = start;
		want.file_offset = strtoull(at + 6, NULL, 16);
	}
	fclose(maps);
	assert_true(want.start != 0);
	return want;
}

static void get(struct st_unwind_folder *folder, const struct st_unwind_want *want,
		struct st_unwind_found *found)
{
	struct st_error err = {0};

	assert_int_equal(st_unwind_cache_get(folder, want, found, &err), ST_OK);
}

static struct st_unwind_folder *open_folder(const char *path)
{
	struct st_unwind_folder *folder;
	struct st_error err = {0};

	assert_int_equal(st_unwind_cache_open(&folder, path, &err), ST_OK);
	return folder;
}

static void check_table(const struct st_unwind_found *found)
{
	const struct st_unwind_table *table = st_unwind_map(found->path);
	uint64_t start, end;

	assert_non_null(table);
	assert_true(st_unwind_table_function(table, (uintptr_t)check_table - found->bias, &start,
					     &end));
	assert_int_equal(start + found->bias, (uintptr_t)check_table);
	st_unwind_unmap(table);
}

static void test_kept_and_found(void **state)
{
	struct st_unwind_want want = own_mapping();
	struct st_unwind_folder *folder = open_folder(folder_path);

	(void)state;
	get(folder, &want, &first);
	assert_true(first.built && first.kept);
	check_table(&first);
	st_unwind_cache_close(folder);
	folder = open_folder(folder_path);
	get(folder, &want, &second);
	assert_true(!second.built && second.kept);
	assert_string_equal(first.path, second.path);
	assert_int_equal(first.bias, second.bias);
	check_table(&second);
	st_unwind_cache_close(folder);
}

static void damage(const char *path, long offset, bool cut)
{
	int fd;

	assert_int_equal(chmod(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	if (cut)
		assert_int_equal(ftruncate(fd, offset), 0);
	else
		assert_int_equal(pwrite(fd, "\377", 1, offset), 1);
	close(fd);
}

static void test_damage_is_repaired(void **state)
{
	struct st_unwind_want want = own_mapping();
	struct st_unwind_folder *folder = open_folder(folder_path);
	const long places[] = {0, 20, 100, sizeof(struct st_unwind_table) + 5};

	(void)state;
	get(folder, &want, &first);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		for (int cut = 0; cut < 2; cut++) {
			damage(first.path, places[i], cut);
			get(folder, &want, &second);
			assert_true(second.built && second.kept);
			check_table(&second);
		}
	}
	st_unwind_cache_close(folder);
}

/* Neither a folder that cannot be made nor one that others may write to. */
static void test_without_a_folder(void **state)
{
	struct st_unwind_want want = own_mapping();
	char open_to_all[PATH_BYTES + 16];
	struct st_unwind_folder *folder = open_folder("/proc/self/nowhere");

	(void)state;
	get(folder, &want, &first);
	assert_true(first.built && !first.kept);
	check_table(&first);
	get(folder, &want, &second);
	assert_false(second.built);
	assert_string_equal(first.path, second.path);
	st_unwind_cache_close(folder);
	assert_null(st_unwind_map(first.path));
	snprintf(open_to_all, sizeof(open_to_all), "%s/unwind", folder_path);
	mkdir(open_to_all, 0700);
	assert_int_equal(chmod(open_to_all, 0777), 0);
	folder = open_folder(folder_path);
	get(folder, &want, &first);
	assert_true(first.built && !first.kept);
	check_table(&first);
	st_unwind_cache_close(folder);
	assert_int_equal(chmod(open_to_all, 0700), 0);
}

static void test_vdso(void **state)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct st_unwind_want want = {
		.path = "[vdso]", .memory = vdso, .memory_bytes = 8192, .start = (uintptr_t)vdso};
	struct st_unwind_folder *folder = open_folder(folder_path);

	(void)state;
	assert_non_null(vdso);
	get(folder, &want, &first);
	assert_int_equal(first.bias, (uintptr_t)vdso);
	st_unwind_cache_close(folder);
}

/* HOME of a user without one is not made. */
static void test_no_home(void **state)
{
	struct st_unwind_want want = own_mapping();
	char home[PATH_BYTES + 16], *kept = getenv("HOME");
	struct st_unwind_folder *folder;

	(void)state;
	kept = kept ? strdup(kept) : NULL;
	snprintf(home, sizeof(home), "%s/nobody", folder_path);
	unsetenv("STRATA_CACHE_DIR");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", home, 1);
	folder = open_folder(NULL);
	get(folder, &want, &first);
	if (geteuid() != 0) /* root has a folder of its own */
		assert_false(first.kept);
	assert_int_equal(access(home, F_OK), -1);
	st_unwind_cache_close(folder);
	if (kept)
		setenv("HOME", kept, 1);
	free(kept);
}

/* Of this program, for its owner alone. */
static void copy_program(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	char piece[4096];
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, piece, sizeof(piece))) > 0)
		assert_int_equal(write(to, piece, (size_t)n), n);
	close(from);
	close(to);
}

/* Programs that root starts change to other users, who must map tables too; but nobody else's secrets. */
static void test_other_users_read_what_they_may(void **state)
{
	struct st_unwind_want want = own_mapping();
	struct st_unwind_folder *folder;
	char copy[PATH_BYTES + 16];
	struct stat about;

	(void)state;
	if (geteuid() != 0)
		skip();
	folder = open_folder(folder_path);
	get(folder, &want, &first);
	assert_int_equal(stat(first.path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0444);
	assert_int_equal(unlink(first.path), 0);
	*strrchr(first.path, '/') = '\0';
	assert_int_equal(stat(first.path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0711);
	st_unwind_cache_close(folder);
	snprintf(copy, sizeof(copy), "%s/unwind/secret", folder_path);
	copy_program(copy);
	want.path = copy;
	folder = open_folder(folder_path);
	get(folder, &want, &second);
	assert_true(second.built && second.kept);
	st_unwind_cache_close(folder);
	assert_int_equal(stat(second.path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0400);
}

static void test_errors(void **state)
{
	struct st_unwind_want want = own_mapping();
	struct st_unwind_folder *folder = open_folder(folder_path);
	struct st_error err = {0};

	(void)state;
	want.file_offset = 1ull << 40;
	assert_int_equal(st_unwind_cache_get(folder, &want, &first, &err), ST_ECORRUPT);
	want.path = "/proc/self/cmdline";
	assert_int_not_equal(st_unwind_cache_get(folder, &want, &first, &err), ST_OK);
	want.path = "/proc/self/nowhere";
	assert_int_equal(st_unwind_cache_get(folder, &want, &first, &err), ST_EIO);
	st_unwind_cache_close(folder);
	st_unwind_cache_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept_and_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damage_is_repaired, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_a_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_vdso, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_home, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_users_read_what_they_may, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
