// SPDX-License-Identifier: Apache-2.0
//
// Binaries and debug files by path, search folder, build id and debug link (resolve/find_file.h). Never
// by network: a report must not wait for one.
#include "resolve/find_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static const char debug_root[] = "/usr/lib/debug";

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool was_changed_later(const struct st_elf_file *file, int64_t not_after_s)
{
	struct stat status;

	return not_after_s && fstat(file->fd, &status) == 0 && status.st_mtime > not_after_s;
}

/* Tries one place. A file that was recorded without a build id must at least be as old as the run. */
static enum st_found try_binary(struct st_elf_file *file, const char *path,
				const struct st_wanted *wanted)
{
	bool good;

	if (!st_elf_open(file, path))
		return ST_FOUND_MISSING;
	good = wanted->build_id.size_bytes ? st_elf_has_build_id(file, wanted->build_id.bytes,
								 wanted->build_id.size_bytes)
					   : !was_changed_later(file, wanted->not_after_s);
	if (good)
		return ST_FOUND;
	st_elf_close(file);
	return ST_FOUND_CHANGED;
}

static bool join(char out[PATH_MAX], const char *folder, const char *rest)
{
	int length = snprintf(out, PATH_MAX, "%s/%s", folder, rest + strspn(rest, "/"));

	return length > 0 && length < PATH_MAX;
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A search entry that is a file serves a module of the same name, or any whose build id it has. */
static bool try_search(struct st_elf_file *file, const char *place, const struct st_wanted *wanted)
{
	const char *path = wanted->path.bytes;
	char joined[PATH_MAX];

	if (is_folder(place))
		return (join(joined, place, path) &&
			try_binary(file, joined, wanted) == ST_FOUND) ||
		       (join(joined, place, last_part(path)) &&
			try_binary(file, joined, wanted) == ST_FOUND);
	if (!wanted->build_id.size_bytes && strcmp(last_part(place), last_part(path)) != 0)
		return false;
	return try_binary(file, place, wanted) == ST_FOUND;
}

enum st_found st_find_binary(struct st_elf_file *file, const struct st_wanted *wanted,
			     const struct st_named_options *options)
{
	enum st_found at_its_place;

	if (memchr(wanted->path.bytes, '\0', wanted->path.size_bytes))
		return ST_FOUND_MISSING;
	at_its_place = try_binary(file, wanted->path.bytes, wanted);
	if (at_its_place == ST_FOUND)
		return ST_FOUND;
	for (size_t i = 0; options && i < options->search_count; i++)
		if (try_search(file, options->search[i], wanted))
			return ST_FOUND;
	return at_its_place;
}

static bool try_debug(struct st_elf_file *debug, const char *path, const struct st_elf_file *file,
		      const uint32_t *crc)
{
	GElf_Shdr header;

	if (!st_elf_open(debug, path))
		return false;
	if (!st_elf_section_of_type(debug, SHT_SYMTAB, &header) &&
	    !st_elf_section(debug, ".debug_info", &header)) {
		st_elf_close(debug); /* the stripped file itself, given as a place to look */
		return false;
	}
	if (file->build_id) {
		if (st_elf_has_build_id(debug, file->build_id, file->build_id_bytes))
			return true;
	} else if (crc) {
		if (crc32_z(0, debug->bytes, debug->size_bytes) == *crc)
			return true;
	}
	st_elf_close(debug);
	return false;
}

static bool try_build_id(struct st_elf_file *debug, const char *root,
			 const struct st_elf_file *file)
{
	char path[PATH_MAX];
	int length;

	if (file->build_id_bytes < 2 || file->build_id_bytes > 64)
		return false;
	length = snprintf(path, sizeof(path), "%s/.build-id/%02x/", root, file->build_id[0]);
	for (size_t i = 1; i < file->build_id_bytes && length > 0 && length < PATH_MAX; i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x",
				   file->build_id[i]);
	if (length <= 0 || length >= PATH_MAX)
		return false;
	length += snprintf(path + length, sizeof(path) - (size_t)length, ".debug");
	return length < PATH_MAX && try_debug(debug, path, file, NULL);
}

/* Beside the file, in .debug beside it, and below /usr/lib/debug. */
static bool try_link(struct st_elf_file *debug, const struct st_elf_file *file, const char *link,
		     const uint32_t *crc)
{
	const char *slash = file->path ? strrchr(file->path, '/') : NULL;
	char path[PATH_MAX];
	int folder_length = slash ? (int)(slash - file->path) : 0;

	if (!slash)
		return false;
	if (snprintf(path, sizeof(path), "%.*s/%s", folder_length, file->path, link) < PATH_MAX &&
	    strcmp(path, file->path) != 0 && try_debug(debug, path, file, crc))
		return true;
	if (snprintf(path, sizeof(path), "%.*s/.debug/%s", folder_length, file->path, link) <
		    PATH_MAX &&
	    try_debug(debug, path, file, crc))
		return true;
	return snprintf(path, sizeof(path), "%s%.*s/%s", debug_root, folder_length, file->path,
			link) < PATH_MAX &&
	       try_debug(debug, path, file, crc);
}

static bool try_search_debug(struct st_elf_file *debug, const char *place,
			     const struct st_elf_file *file, const char *link, const uint32_t *crc)
{
	char path[PATH_MAX];

	if (!is_folder(place))
		return try_debug(debug, place, file, crc);
	return try_build_id(debug, place, file) ||
	       (link && join(path, place, last_part(link)) && try_debug(debug, path, file, crc));
}

bool st_find_debug(struct st_elf_file *debug, const struct st_elf_file *file,
		   const struct st_named_options *options)
{
	uint32_t crc = 0;
	const char *link = st_elf_debuglink(file, &crc);

	for (size_t i = 0; options && i < options->search_count; i++)
		if (try_search_debug(debug, options->search[i], file, link, link ? &crc : NULL))
			return true;
	if (try_build_id(debug, debug_root, file))
		return true;
	return link && try_link(debug, file, link, &crc);
}
