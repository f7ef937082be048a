// SPDX-License-Identifier: Apache-2.0
//
// The executable mappings of a followed process (drain_maps.h). Anonymous ones are kept too, as known:
// code made at run time calls as well, and must not make us read the maps for ever.
#include "collect/launch/drain/drain_maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/search.h"
#include "base/rt/clock.h"

enum { MAPS_MAX_BYTES = 8 << 20, READ_BYTES = 64 << 10, READS_AT_ONCE = 8 };

static const uint64_t second_ns = 1000000000u;

void st_code_maps_fini(struct st_code_maps *maps)
{
	free(maps->ranges);
	free(maps->paths);
	memset(maps, 0, sizeof(*maps));
}

static bool contains(const struct st_code_range *range, uint64_t address)
{
	return address >= range->start && address < range->end;
}

/* The first range that ends behind the address, or count. */
static uint32_t lower_bound(const struct st_code_maps *maps, uint64_t address)
{
	return ST_SEARCH(i, 0, maps->count, maps->ranges[i].end <= address);
}

bool st_code_maps_has_file(const struct st_code_maps *maps, uint64_t start, uint64_t end)
{
	for (uint32_t i = lower_bound(maps, start); i < maps->count && maps->ranges[i].start < end;
	     i++)
		if (maps->ranges[i].path_at)
			return true;
	return false;
}

static bool find(struct st_code_maps *maps, uint64_t address)
{
	uint32_t at;

	if (maps->hit < maps->count && contains(&maps->ranges[maps->hit], address))
		return true;
	at = lower_bound(maps, address);
	if (at == maps->count || !contains(&maps->ranges[at], address))
		return false;
	maps->hit = at;
	return true;
}

static uint32_t missing_kept(const struct st_code_maps *maps)
{
	return maps->missing_count < ST_MAPS_MISSING_MAX ? maps->missing_count
							 : ST_MAPS_MISSING_MAX;
}

void st_code_maps_want(struct st_code_maps *maps, uint64_t address)
{
	uint32_t at;

	if (!address || find(maps, address))
		return;
	for (uint32_t i = 0; i < missing_kept(maps); i++)
		if (maps->missing[i].address == address)
			return;
	at = maps->missing_count++ % ST_MAPS_MISSING_MAX;
	if (maps->missing_count > ST_MAPS_MISSING_MAX && maps->missing[at].waits) {
		maps->waiting--; /* pushed out before anybody read */
		maps->unknown++;
	}
	maps->missing[at].address = address;
	maps->missing[at].waits = true;
	maps->waiting++;
}

bool st_code_maps_due(const struct st_code_maps *maps, uint64_t now_ns)
{
	if (!maps->waiting && !maps->asked)
		return false;
	return maps->reads < READS_AT_ONCE + (now_ns - maps->first_read_ns) / second_ns;
}

/* One line: "start-end perms offset major:minor inode   path". False: not an executable mapping. */
static bool parse_line(char *line, struct st_code_range *out, const char **path)
{
	char *at = line, *end;
	unsigned long major, minor;

	memset(out, 0, sizeof(*out));
	out->start = strtoull(at, &end, 16);
	if (*end != '-')
		return false;
	out->end = strtoull(end + 1, &end, 16);
	if (strlen(end) < 6 || end[0] != ' ' || end[3] != 'x')
		return false;
	out->file_offset = strtoull(end + 6, &end, 16);
	major = strtoul(end, &end, 16);
	if (*end != ':')
		return false;
	minor = strtoul(end + 1, &end, 16);
	out->device = (uint32_t)(major << 20 | minor);
	out->inode = strtoull(end, &end, 10);
	*path = end + strspn(end, " ");
	return out->end > out->start;
}

/* The kernel says so behind the path of a file that is no longer there under its name. */
static size_t path_length(const char *path)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path);

	if (length > sizeof(suffix) - 1 && !strcmp(path + length - (sizeof(suffix) - 1), suffix))
		length -= sizeof(suffix) - 1;
	return length;
}

static bool was_there(const struct st_code_maps *maps, const struct st_code_range *range)
{
	uint32_t at = lower_bound(maps, range->start);
	const struct st_code_range *old;

	if (!maps->ranges || at == maps->count)
		return false;
	old = &maps->ranges[at];
	return old->start == range->start && old->end == range->end &&
	       old->file_offset == range->file_offset && old->inode == range->inode &&
	       old->device == range->device;
}

static void add_range(const struct st_code_maps *maps, struct st_code_range *range,
		      const char *path, struct st_buf *ranges, struct st_buf *paths)
{
	size_t count = ranges->size_bytes / sizeof(*range);
	const struct st_code_range *last =
		count ? (const struct st_code_range *)ranges->data + count - 1 : NULL;

	if (count >= ST_MAPS_MAX || (last && last->end > range->start))
		return;
	range->is_file = path[0] == '/';
	if (path[0]) {
		range->path_at = (uint32_t)paths->size_bytes;
		st_buf_append(paths, path, path_length(path));
		st_buf_append_u8(paths, 0);
	}
	range->is_new = !was_there(maps, range);
	st_buf_append(ranges, range, sizeof(*range));
}

/* Who waited is answered now, or never: what the maps do not hold now was unmapped before. */
static void settle_missing(struct st_code_maps *maps)
{
	for (uint32_t i = 0; i < missing_kept(maps); i++) {
		if (!maps->missing[i].waits)
			continue;
		maps->missing[i].waits = false;
		if (!find(maps, maps->missing[i].address))
			maps->unknown++;
	}
	maps->waiting = 0;
}

static void tell_gone(struct st_code_maps *maps, const struct st_code_range *range)
{
	if (maps->gone_count < ST_MAPS_GONE_MAX)
		maps->gone[maps->gone_count++] =
			(struct st_code_span){.start = range->start, .end = range->end};
}

/* Which of the ranges before are not among the new ones. */
static void find_gone(struct st_code_maps *maps, const struct st_code_maps *now)
{
	for (uint32_t i = 0; i < maps->count; i++)
		if (!was_there(now, &maps->ranges[i]))
			tell_gone(maps, &maps->ranges[i]);
}

/* A part of what is known, at the same place of the same file: its protection was changed. */
static bool is_part(const struct st_code_range *whole, const struct st_code_range *part)
{
	return part->start >= whole->start && part->end <= whole->end &&
	       part->inode == whole->inode && part->is_file == whole->is_file &&
	       (!part->is_file ||
		part->file_offset - whole->file_offset == part->start - whole->start);
}

/* Where the path stands now; 0: no room. */
static uint32_t keep_path(struct st_code_maps *maps, const char *path)
{
	size_t length = path_length(path), at = maps->paths_bytes ? maps->paths_bytes : 1;
	char *paths;

	if (!length || length >= READ_BYTES || at + length + 1 > MAPS_MAX_BYTES)
		return 0;
	paths = realloc(maps->paths, at + length + 1);
	if (!paths)
		return 0;
	paths[0] = '\0';
	memcpy(paths + at, path, length);
	paths[at + length] = '\0';
	maps->paths = paths;
	maps->paths_bytes = at + length + 1;
	return (uint32_t)at;
}

bool st_code_maps_add(struct st_code_maps *maps, const struct st_code_range *range,
		      const char *path)
{
	uint32_t at = lower_bound(maps, range->start), end = at;
	struct st_code_range *ranges, added = *range;

	if (range->end <= range->start)
		return false;
	added.is_file = path[0] == '/' && path[1] != '/'; /* "//anon" */
	if (at < maps->count && is_part(&maps->ranges[at], &added))
		return false;
	while (end < maps->count && maps->ranges[end].start < range->end)
		tell_gone(maps, &maps->ranges[end++]);
	if (maps->count - (end - at) >= ST_MAPS_MAX)
		return false;
	ranges = realloc(maps->ranges, (maps->count + 1) * sizeof(*ranges));
	if (!ranges)
		return false;
	maps->ranges = ranges;
	memmove(&ranges[at + 1], &ranges[end], (maps->count - end) * sizeof(*ranges));
	maps->count = maps->count - (end - at) + 1;
	added.path_at = added.is_file ? keep_path(maps, path) : 0;
	added.is_new = true;
	ranges[at] = added;
	maps->hit = 0;
	return true;
}

void st_code_maps_take(struct st_code_maps *maps, const char *text, size_t size_bytes)
{
	struct st_buf ranges, paths, line;
	const char *end = text + size_bytes;

	st_buf_init(&ranges, ST_MAPS_MAX * sizeof(struct st_code_range));
	st_buf_init(&paths, MAPS_MAX_BYTES + 1);
	st_buf_init(&line, READ_BYTES);
	st_buf_append_u8(&paths, 0);
	while (text < end && !ranges.failed && !paths.failed) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		struct st_code_range range;
		const char *path;

		if (!stop)
			break; /* cut off */
		st_buf_clear(&line);
		st_buf_append(&line, text, (size_t)(stop - text));
		st_buf_append_u8(&line, 0);
		if (!line.failed && parse_line((char *)line.data, &range, &path))
			add_range(maps, &range, path, &ranges, &paths);
		text = stop + 1;
	}
	st_buf_fini(&line);
	if (ranges.failed || paths.failed) {
		st_buf_fini(&ranges);
		st_buf_fini(&paths);
		return;
	}
	find_gone(maps, &(struct st_code_maps){
				.ranges = (struct st_code_range *)ranges.data,
				.count = (uint32_t)(ranges.size_bytes / sizeof(*maps->ranges))});
	free(maps->ranges);
	free(maps->paths);
	maps->ranges = (struct st_code_range *)ranges.data;
	maps->count = (uint32_t)(ranges.size_bytes / sizeof(*maps->ranges));
	maps->paths = (char *)paths.data;
	maps->paths_bytes = paths.size_bytes;
	maps->hit = 0;
	settle_missing(maps);
}

uint64_t st_code_maps_own_vdso(void)
{
	struct st_code_maps maps = {0};
	uint64_t size = 0;

	if (st_code_maps_read(&maps, getpid(), 0))
		for (uint32_t i = 0; i < maps.count; i++)
			if (strcmp(maps.paths + maps.ranges[i].path_at, "[vdso]") == 0)
				size = maps.ranges[i].end - maps.ranges[i].start;
	st_code_maps_fini(&maps);
	return size;
}

bool st_code_maps_read(struct st_code_maps *maps, pid_t pid, uint64_t now_ns)
{
	struct st_buf text;
	char path[64];
	ssize_t n = -1;
	bool ok;
	int fd;

	if (!maps->reads)
		maps->first_read_ns = now_ns;
	maps->reads++;
	maps->asked = false;
	maps->read_ns = st_clock_mono_raw_ns();
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	st_buf_init(&text, MAPS_MAX_BYTES);
	while (fd >= 0 && st_buf_reserve(&text, READ_BYTES)) {
		n = read(fd, text.data + text.size_bytes, READ_BYTES);
		if (n <= 0)
			break;
		text.size_bytes += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	ok = n == 0 && text.size_bytes > 0;
	if (ok)
		st_code_maps_take(maps, (const char *)text.data, text.size_bytes);
	st_buf_fini(&text);
	return ok;
}
