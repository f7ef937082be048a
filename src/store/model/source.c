// SPDX-License-Identifier: Apache-2.0
//
// Finds and maps the files of a result folder (store/model/source.h). Knows names and sizes, not contents.
#include "store/model/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/model/notes.h"

enum { SEGMENTS_MAX = 100000 };

/* A ring buffer that runs for months comes to high numbers. */
static const unsigned long number_max = UINT32_MAX - 1;

static void map_file(struct st_source *source, struct st_source_file *file, struct st_notes *notes)
{
	struct stat about = {0};
	void *data;
	int fd = openat(source->dir_fd, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &about) || !S_ISREG(about.st_mode)) {
		if (fd >= 0 || errno != ENOENT)
			st_notes_add(notes, "cannot read %s: %s", file->name,
				     fd >= 0 ? "not a regular file" : strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	file->exists = true;
	source->size_bytes += (uint64_t)about.st_size;
	if (about.st_size > 0) {
		data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED) {
			st_notes_add(notes, "cannot map %s: %s", file->name, strerror(errno));
		} else {
			file->data = data;
			file->size_bytes = (size_t)about.st_size;
			file->mapped = true;
		}
	}
	close(fd);
}

/* "trace.", at least three digits, ".strata". */
static bool parse_trace_name(const char *name, uint32_t *number)
{
	static const char prefix[] = "trace.";
	char *end;
	unsigned long value;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return false;
	name += sizeof(prefix) - 1;
	if (name[0] < '0' || name[0] > '9')
		return false;
	value = strtoul(name, &end, 10);
	if (end - name < 3 || strcmp(end, ".strata") != 0 || value > number_max)
		return false;
	*number = (uint32_t)value;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct st_source_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static bool add_segment(struct st_source *source, const char *name)
{
	struct st_source_file *segments;
	uint32_t number;
	size_t count = source->segment_count;

	if (strlen(name) >= sizeof(segments->name) || !parse_trace_name(name, &number) ||
	    count >= SEGMENTS_MAX)
		return true;
	segments = realloc(source->segments, (count + 1) * sizeof(*segments));
	if (!segments)
		return false;
	source->segments = segments;
	memset(&segments[count], 0, sizeof(segments[count]));
	memcpy(segments[count].name, name, strlen(name));
	segments[count].number = number;
	source->segment_count++;
	return true;
}

static enum st_status list_segments(struct st_source *source, struct st_error *err)
{
	struct dirent *entry;
	bool ok = true;
	DIR *dir;
	int fd = dup(source->dir_fd);

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		st_error_set(err, ST_EIO, errno, "%s: cannot list the folder", source->path);
		if (fd >= 0)
			close(fd);
		return ST_EIO;
	}
	while (ok && (entry = readdir(dir)) != NULL)
		ok = add_segment(source, entry->d_name);
	closedir(dir);
	if (!ok)
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", source->path);
	if (source->segment_count)
		qsort(source->segments, source->segment_count, sizeof(*source->segments),
		      by_number);
	return ST_OK;
}

static void count_missing(struct st_source *source, struct st_notes *notes)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < source->segment_count; i++) {
		uint32_t number = source->segments[i].number;

		if (!i) {
			source->missing_first = number;
		} else if (number > next) {
			source->missing_segments += number - next;
			st_notes_add(notes, "%" PRIu32 " trace files before %s are missing",
				     number - next, source->segments[i].name);
		}
		next = number + 1;
	}
	if (!source->segment_count) {
		source->missing_segments = 1;
		st_notes_add(notes, "trace.000.strata is missing: the result has no slices");
	}
}

static enum st_status open_folder(struct st_source *source, struct st_error *err)
{
	source->dir_fd = open(source->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source->dir_fd >= 0)
		return ST_OK;
	if (errno == ENOENT)
		return st_error_set(err, ST_ENOTFOUND, 0, "%s: no such result folder",
				    source->path);
	if (errno == ENOTDIR)
		return st_error_set(err, ST_ENOTFOUND, 0, "%s is a file, not a result folder",
				    source->path);
	return st_error_set(err, ST_EIO, errno, "%s: cannot open the folder", source->path);
}

static void add_other_sizes(struct st_source *source)
{
	struct stat about;

	if (fstatat(source->dir_fd, "log.txt", &about, 0) == 0 && S_ISREG(about.st_mode))
		source->size_bytes += (uint64_t)about.st_size;
}

enum st_status st_source_open(struct st_source *source, const char *path, struct st_notes *notes,
			      struct st_error *err)
{
	enum st_status status;

	memset(source, 0, sizeof(*source));
	source->path = path;
	source->dir_fd = -1;
	status = open_folder(source, err);
	if (!status)
		status = list_segments(source, err);
	if (status)
		goto fail;
	for (uint32_t i = 0; i < source->segment_count; i++)
		map_file(source, &source->segments[i], notes);
	snprintf(source->definitions.name, sizeof(source->definitions.name), "definitions.strata");
	map_file(source, &source->definitions, notes);
	snprintf(source->json.name, sizeof(source->json.name), "result.json");
	map_file(source, &source->json, notes);
	add_other_sizes(source);
	if (!source->json.exists && !source->definitions.exists && !source->segment_count) {
		status = st_error_set(err, ST_ENOTFOUND, 0,
				      "%s is not a result folder: it has no result.json, "
				      "definitions.strata or trace.000.strata",
				      path);
		goto fail;
	}
	if (!source->definitions.exists)
		st_notes_add(notes, "definitions.strata is missing: names are unknown");
	count_missing(source, notes);
	return ST_OK;
fail:
	st_source_close(source);
	return status;
}

static void unmap_file(struct st_source_file *file)
{
	if (file->mapped)
		munmap((void *)(uintptr_t)file->data, file->size_bytes);
}

void st_source_close(struct st_source *source)
{
	if (!source)
		return;
	unmap_file(&source->json);
	unmap_file(&source->definitions);
	for (uint32_t i = 0; i < source->segment_count; i++)
		unmap_file(&source->segments[i]);
	free(source->segments);
	if (source->dir_fd >= 0)
		close(source->dir_fd);
	memset(source, 0, sizeof(*source));
	source->dir_fd = -1;
}
