/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable mappings of a process: what is read out of /proc/PID/maps, when it is read again, and what
 * becomes of it in the definitions.
 */
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/launch/drain/drain_maps.h"
#include "drain_fixture.h"
#include "format/event_kind.h"
#include "format/ring_record.h"

static const uint64_t second = 1000000000u;

static void take(struct st_code_maps *maps, const char *text)
{
	st_code_maps_take(maps, text, strlen(text));
}

static void test_lines(void **state)
{
	static const char text[] =
		"1000-2000 r--p 00000000 08:02 77                         /usr/lib/a.so\n"
		"2000-5000 r-xp 00001000 08:02 77                         /usr/lib/a.so\n"
		"5000-6000 rw-p 00000000 00:00 0 \n"
		"6000-7000 rwxp 00000000 00:00 0 \n"
		"7000-8000 r-xp 00000000 fe:01 78                         /opt/with blanks/b "
		"(deleted)\n"
		"nonsense\n"
		"9000-8000 r-xp 00000000 00:00 0 \n"
		"7ffc0000-7ffc2000 r-xp 00000000 00:00 0                  [vdso]\n"
		"a0000000-a1000000 r-xp 00000000 00:00 0";
	struct st_code_maps maps = {0};

	(void)state;
	take(&maps, text);
	assert_int_equal(maps.count, 4); /* the last line is cut off */
	assert_int_equal(maps.ranges[0].start, 0x2000);
	assert_int_equal(maps.ranges[0].end, 0x5000);
	assert_int_equal(maps.ranges[0].file_offset, 0x1000);
	assert_int_equal(maps.ranges[0].inode, 77);
	assert_string_equal(maps.paths + maps.ranges[0].path_at, "/usr/lib/a.so");
	assert_int_equal(maps.ranges[1].path_at, 0); /* code made at run time */
	assert_string_equal(maps.paths + maps.ranges[2].path_at, "/opt/with blanks/b");
	assert_string_equal(maps.paths + maps.ranges[3].path_at, "[vdso]");
	assert_false(maps.ranges[3].is_file);
	st_code_maps_fini(&maps);
}

static struct st_code_range range(uint64_t start, uint64_t end, uint64_t offset, uint64_t inode)
{
	return (struct st_code_range){
		.start = start, .end = end, .file_offset = offset, .inode = inode};
}

/* Mappings that the kernel tells one by one: what lies under a new one is gone. */
static void test_added_mappings(void **state)
{
	struct st_code_maps maps = {0};
	struct st_code_range news = range(0x9000, 0xa000, 0, 80);

	(void)state;
	take(&maps, "2000-5000 r-xp 00001000 08:02 77 /a\n6000-7000 r-xp 00000000 08:02 78 /b\n");
	assert_true(st_code_maps_add(&maps, &news, "/c"));
	assert_false(st_code_maps_add(&maps, &news, "/c"));
	assert_int_equal(maps.count, 3);
	assert_string_equal(maps.paths + maps.ranges[2].path_at, "/c");
	assert_string_equal(maps.paths + maps.ranges[0].path_at, "/a");
	/* A part of a known one is nothing new; the same place of the file elsewhere is. */
	news = range(0x3000, 0x4000, 0x2000, 77);
	assert_false(st_code_maps_add(&maps, &news, "/a"));
	assert_int_equal(maps.gone_count, 0);
	news = range(0x4000, 0x6800, 0, 0);
	assert_true(st_code_maps_add(&maps, &news, "//anon"));
	assert_int_equal(maps.count, 2);
	assert_false(maps.ranges[0].is_file);
	assert_int_equal(maps.ranges[0].start, 0x4000);
	assert_int_equal(maps.gone_count, 2);
	assert_int_equal(maps.gone[1].start, 0x6000);
	maps.gone_count = 0;
	/* A reading in which one is missing. */
	take(&maps, "4000-6800 rwxp 00000000 00:00 0 \n");
	assert_int_equal(maps.gone_count, 1);
	assert_int_equal(maps.gone[0].start, 0x9000);
	st_code_maps_fini(&maps);
}

static void test_what_waits_is_read_within_limits(void **state)
{
	struct st_code_maps maps = {0};

	(void)state;
	take(&maps, "2000-5000 r-xp 00000000 08:02 77 /a\n");
	assert_true(maps.ranges[0].is_new);
	st_code_maps_want(&maps, 0);
	st_code_maps_want(&maps, 0x2000);
	st_code_maps_want(&maps, 0x4fff);
	assert_false(st_code_maps_due(&maps, second));
	st_code_maps_want(&maps, 0x5000);
	assert_true(st_code_maps_due(&maps, second));
	take(&maps, "2000-5000 r-xp 00000000 08:02 77 /a\n5000-6000 r-xp 0 08:02 78 /b\n");
	assert_false(maps.ranges[0].is_new);
	assert_true(maps.ranges[1].is_new);
	assert_int_equal(maps.unknown, 0);
	assert_false(st_code_maps_due(&maps, second));
	/* Where nothing lies is not asked for twice. */
	st_code_maps_want(&maps, 0x9000);
	take(&maps, "2000-5000 r-xp 00000000 08:02 77 /a\n");
	assert_int_equal(maps.unknown, 1);
	st_code_maps_want(&maps, 0x9000);
	assert_false(st_code_maps_due(&maps, second));
	st_code_maps_fini(&maps);
}

/* No process can make us read more than eight times and once a second. */
static void test_readings_are_limited(void **state)
{
	struct st_code_maps maps = {0};
	uint64_t reads = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t now = second + i * (10 * second / 10000);

		st_code_maps_want(&maps, 1 + i); /* never there */
		if (st_code_maps_due(&maps, now)) {
			assert_true(st_code_maps_read(&maps, getpid(), now));
			reads++;
		}
	}
	assert_int_equal(reads, 8 + 9);
	assert_int_equal(maps.unknown + maps.waiting, 10000);
	st_code_maps_fini(&maps);
}

/* The notes of this program as the loader has them in memory. */
static int find_own_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct st_text *out = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + part->p_vaddr);
		const char *end = at + part->p_memsz;

		while (part->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;

			if (note->n_type == NT_GNU_BUILD_ID && !memcmp(note + 1, "GNU", 4)) {
				out->bytes = (const char *)(note + 1) + 4;
				out->size_bytes = note->n_descsz;
			}
			at += sizeof(*note) + ((note->n_namesz + 3u) & ~3u) +
			      ((note->n_descsz + 3u) & ~3u);
		}
	}
	return 1; /* only the program itself, which comes first */
}

/* Bytes of the build id of a process' file. */
static size_t build_id(const char *path, uint64_t inode, uint8_t *bytes)
{
	int fd = st_code_maps_open(getpid(), path, inode);
	struct st_build_id id = {.size_bytes = 0};

	if (fd < 0)
		return 0;
	st_code_maps_file_id(fd, &id);
	close(fd);
	memcpy(bytes, id.bytes, id.size_bytes);
	return id.size_bytes;
}

static void test_build_ids(void **state)
{
	struct st_text own = {0};
	uint8_t id[ST_BUILD_ID_MAX];
	char path[PATH_MAX] = "";
	struct stat about;

	(void)state;
	dl_iterate_phdr(find_own_id, &own);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(build_id(path, about.st_ino, id), own.size_bytes);
	if (own.size_bytes)
		assert_memory_equal(id, own.bytes, own.size_bytes);
	/* Another file under that name, none, and one that is no program. */
	assert_int_equal(build_id(path, about.st_ino + 1, id), 0);
	assert_int_equal(build_id("/no/such/file", 1, id), 0);
	assert_int_equal(stat("/etc/passwd", &about), 0);
	assert_int_equal(build_id("/etc/passwd", about.st_ino, id), 0);
}

static const struct seen_definition *map_of(const struct fixture *f, uint64_t address)
{
	for (size_t i = 0; i < f->definition_count; i++) {
		const struct seen_definition *d = &f->definitions[i];
		struct st_cursor body = {.at = d->body, .end = d->body + d->body_bytes};
		uint64_t start = st_cursor_u64(&body), end = st_cursor_u64(&body);

		if (d->type == ST_DEF_CODE_MAP && address >= start && address < end)
			return d;
	}
	return NULL;
}

static void test_callers_are_mapped(void **state)
{
	struct fixture *f = *state;
	uint64_t here = (uint64_t)(uintptr_t)&test_callers_are_mapped;
	uint64_t there = (uint64_t)(uintptr_t)&memcpy;
	uint64_t words[] = {st_word_ext(ST_EXT_CALLER, 2, 1),
			    here,
			    st_word_slice(ST_WORD_BEGIN, 1, 1, 1),
			    st_word_ext(ST_EXT_EVENT, 3, 1),
			    st_word_event(ST_EVENT_TASK_FN, ST_FIELD_VALUE, 0),
			    there};
	const struct seen_definition *d;
	char path[PATH_MAX] = "";
	struct st_cursor body;
	struct st_text text;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	fake_segment_own(&f->segment, 0, 1, f->start);
	assert_false(st_drain_wants_maps(f->drain));
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	st_drain_cycle(f->drain, second, NULL);
	assert_true(st_drain_wants_maps(f->drain));
	st_drain_read_maps(f->drain, getpid());
	assert_false(st_drain_wants_maps(f->drain));
	drain_all(f);
	d = map_of(f, here);
	assert_non_null(d);
	body = (struct st_cursor){.at = d->body + 32, .end = d->body + d->body_bytes};
	text = st_cursor_text(&body);
	assert_int_equal(text.size_bytes, strlen(path));
	assert_memory_equal(text.bytes, path, text.size_bytes);
	assert_non_null(map_of(f, there));
	assert_int_equal(st_drain_counts(f->drain)->callers_unknown, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added_mappings),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_what_waits_is_read_within_limits),
		cmocka_unit_test(test_readings_are_limited),
		cmocka_unit_test(test_build_ids),
		cmocka_unit_test_setup_teardown(test_callers_are_mapped, drain_setup,
						drain_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
