// SPDX-License-Identifier: Apache-2.0
//
// The folder must belong to us and not be writable by others: a target maps what lies in it, and a file that
// shrinks under a mapping would kill the target. Files appear by rename and are never written again. Root's
// programs change to other users (su, setpriv), who must be able to map tables too: its folder can be entered by
// everybody, and the table of a file that everybody may read can be read by everybody.
#include "unwind/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unwind/build.h"
#include "unwind/code.h"

enum { KEY_BYTES = 2 * ST_UNWIND_BUILD_ID_MAX + 64, MEMORY_FILES_MAX = 4096 };
enum { OWN_FOLDER = 0700, SHARED_FOLDER = 0711, OWN_TABLE = 0400, SHARED_TABLE = 0444 };

static const char root_folder[] = "/var/cache/strata";

struct memory_file {
	char key[KEY_BYTES];
	int fd;
};

struct st_unwind_folder {
	char path[PATH_MAX]; /* empty: none can be used */
	struct memory_file *files;
	size_t file_count;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Makes every folder of a path; what exists already is fine. */
static bool make_folders(char *path)
{
	const mode_t mode = geteuid() == 0 ? SHARED_FOLDER : OWN_FOLDER;

	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(path, mode) == 0)
			(void)chmod(path, mode); /* whatever the umask is */
		else if (errno != EEXIST && errno != EISDIR &&
			 (!slash || (errno != EACCES && errno != EROFS)))
			return false;
		if (!slash)
			return true;
		*slash = '/';
	}
}

static bool is_ours(const char *path)
{
	struct stat about;

	return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
	       !(about.st_mode & (S_IWGRP | S_IWOTH)) && access(path, W_OK | X_OK) == 0;
}

bool st_unwind_cache_place(char *out, size_t size_bytes)
{
	const char *own = getenv("STRATA_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int length = -1;

	if (own && *own)
		length = snprintf(out, size_bytes, "%s", own);
	else if (cache && *cache == '/')
		length = snprintf(out, size_bytes, "%s/strata", cache);
	else if (geteuid() == 0 && access("/var/cache", W_OK | X_OK) == 0)
		length = snprintf(out, size_bytes, "%s", root_folder);
	/* A home that is not there stays so: some users have none on purpose. */
	else if (home && *home == '/' && access(home, F_OK) == 0)
		length = snprintf(out, size_bytes, "%s/.cache/strata", home);
	return length > 0 && (size_t)length < size_bytes;
}

static bool choose_folder(char *out, size_t size_bytes, const char *folder)
{
	char place[PATH_MAX];
	int length;

	if (!folder && !st_unwind_cache_place(place, sizeof(place)))
		return false;
	length = snprintf(out, size_bytes, "%s/unwind", folder ? folder : place);
	return length > 0 && (size_t)length < size_bytes - KEY_BYTES - 32;
}

/* Targets change their working folder: the name must not depend on it. */
static bool make_absolute(char *path)
{
	char whole[PATH_MAX];

	if (!realpath(path, whole) || strlen(whole) >= PATH_MAX - KEY_BYTES - 32)
		return false;
	memcpy(path, whole, strlen(whole) + 1);
	return true;
}

enum st_status st_unwind_cache_open(struct st_unwind_folder **out, const char *folder,
				    struct st_error *err)
{
	struct st_unwind_folder *cache = calloc(1, sizeof(*cache));

	*out = cache;
	if (!cache)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	if (!choose_folder(cache->path, sizeof(cache->path), folder) ||
	    !make_folders(cache->path) || !make_absolute(cache->path) || !is_ours(cache->path))
		cache->path[0] = '\0';
	else if (geteuid() == 0)
		(void)chmod(cache->path, SHARED_FOLDER);
	return ST_OK;
}

void st_unwind_cache_close(struct st_unwind_folder *folder)
{
	if (!folder)
		return;
	for (size_t i = 0; i < folder->file_count; i++)
		close(folder->files[i].fd);
	free(folder->files);
	free(folder);
}

static const struct st_unwind_table *map_fd(int fd, bool whole)
{
	const struct st_unwind_table *table;
	struct stat about;
	void *bytes;

	if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != geteuid() ||
	    about.st_size < (off_t)sizeof(*table))
		return NULL;
	bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	table = st_unwind_table_check(bytes, (size_t)about.st_size);
	if (table && table->file_bytes == (uint64_t)about.st_size &&
	    (!whole || table->content_check ==
			       st_unwind_checksum(table + 1, table->file_bytes - sizeof(*table))))
		return table;
	munmap(bytes, (size_t)about.st_size);
	return NULL;
}

const struct st_unwind_table *st_unwind_map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct st_unwind_table *table = fd < 0 ? NULL : map_fd(fd, false);

	if (fd >= 0)
		close(fd);
	return table;
}

void st_unwind_unmap(const struct st_unwind_table *table)
{
	if (table)
		munmap((void *)(uintptr_t)table, table->file_bytes);
}

/* No more is told of a file than it tells itself. */
static mode_t mode_of(const struct st_unwind_want *want)
{
	struct stat about;

	if (geteuid() != 0)
		return OWN_TABLE;
	if (want->memory)
		return SHARED_TABLE;
	return stat(want->path, &about) == 0 && about.st_mode & S_IROTH ? SHARED_TABLE : OWN_TABLE;
}

static void hex(char *out, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

/* What the table of a mapping is called. A file without a build id is known by where it lies and when it was
 * written, one in memory by its bytes. */
static enum st_status key_of(const struct st_unwind_want *want, char *key, struct st_error *err)
{
	struct st_elf_view view;
	struct stat about;
	enum st_status status;

	if (want->build_id_bytes && want->build_id_bytes <= ST_UNWIND_BUILD_ID_MAX) {
		hex(key, want->build_id, want->build_id_bytes);
		return ST_OK;
	}
	status = want->memory
			 ? st_elf_view_open_memory(&view, want->memory, want->memory_bytes, err)
			 : st_elf_view_open(&view, want->path, err);
	if (status)
		return status;
	if (view.build_id_bytes)
		hex(key, view.build_id, view.build_id_bytes);
	else if (want->memory)
		snprintf(key, KEY_BYTES, "memory-%" PRIx64 "-%zx",
			 st_unwind_checksum(want->memory, want->memory_bytes), want->memory_bytes);
	else if (fstat(view.fd, &about) == 0)
		snprintf(key, KEY_BYTES,
			 "file-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "%09ld",
			 (uint64_t)about.st_dev, (uint64_t)about.st_ino, (uint64_t)about.st_size,
			 (uint64_t)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
	else
		status = st_error_set(err, ST_EIO, errno, "%s", want->path);
	st_elf_view_close(&view);
	return status;
}

static bool write_all(int fd, const void *data, size_t size_bytes)
{
	const uint8_t *at = data;

	while (size_bytes) {
		ssize_t wrote = write(fd, at, size_bytes);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		at += wrote;
		size_bytes -= (size_t)wrote;
	}
	return true;
}

/* A file in the folder, complete or not there at all. */
static bool keep(const struct st_unwind_folder *folder, const char *path,
		 const struct st_unwind_image *image, mode_t mode)
{
	char temporary[PATH_MAX];
	bool done;
	int fd;

	if (!folder->path[0] || snprintf(temporary, sizeof(temporary), "%s/new-XXXXXX",
					 folder->path) >= (int)sizeof(temporary))
		return false;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write_all(fd, image->data, image->size_bytes) && fchmod(fd, mode) == 0;
	done = close(fd) == 0 && done;
	if (done && rename(temporary, path) == 0)
		return true;
	unlink(temporary);
	return false;
}

static bool name_memory_file(const struct memory_file *file, struct st_unwind_found *found)
{
	return snprintf(found->path, sizeof(found->path), "/proc/%d/fd/%d", (int)getpid(),
			file->fd) > 0;
}

static enum st_status keep_in_memory(struct st_unwind_folder *folder, const char *key,
				     const struct st_unwind_image *image,
				     struct st_unwind_found *found, struct st_error *err)
{
	struct memory_file *more, *file;
	int fd;

	if (folder->file_count == MEMORY_FILES_MAX)
		return st_error_set(err, ST_ENOMEM, 0, "more than %d unwind tables in memory",
				    MEMORY_FILES_MAX);
	more = realloc(folder->files, (folder->file_count + 1) * sizeof(*more));
	if (!more)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	folder->files = more;
	fd = memfd_create("strata-unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || !write_all(fd, image->data, image->size_bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return st_error_set(err, ST_EIO, code,
				    "cannot create a memory file for an unwind table");
	}
	file = &folder->files[folder->file_count++];
	snprintf(file->key, sizeof(file->key), "%s", key);
	file->fd = fd;
	name_memory_file(file, found);
	return ST_OK;
}

static bool bias_of(const struct st_unwind_table *table, const struct st_unwind_want *want,
		    struct st_unwind_found *found)
{
	return st_unwind_table_bias(table, want->start, want->file_offset, &found->bias);
}

static enum st_status no_bias(const struct st_unwind_want *want, struct st_error *err)
{
	return st_error_set(err, ST_ECORRUPT, 0, "%s: offset %#" PRIx64 " is not in a code segment",
			    want->path ? want->path : "image", want->file_offset);
}

/* Whether a kept table serves; *status tells of a table that is there but not for this mapping. */
static bool look_up(struct st_unwind_folder *folder, const char *key,
		    const struct st_unwind_want *want, struct st_unwind_found *found,
		    bool *right_place)
{
	const struct st_unwind_table *table = NULL;
	int fd;

	for (size_t i = 0; i < folder->file_count && !table; i++) {
		if (strcmp(folder->files[i].key, key) != 0)
			continue;
		table = map_fd(folder->files[i].fd, false);
		name_memory_file(&folder->files[i], found);
	}
	if (!table && folder->path[0]) {
		snprintf(found->path, sizeof(found->path), "%.*s/%s.unw", PATH_MAX - KEY_BYTES - 32,
			 folder->path, key);
		fd = open(found->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		table = fd < 0 ? NULL : map_fd(fd, true);
		if (table && mode_of(want) == SHARED_TABLE)
			(void)fchmod(fd, SHARED_TABLE); /* an earlier version kept it to itself */
		found->kept = table;
		if (fd >= 0)
			close(fd);
	}
	if (!table)
		return false;
	*right_place = bias_of(table, want, found);
	st_unwind_unmap(table);
	return true;
}

enum st_status st_unwind_cache_get(struct st_unwind_folder *folder,
				   const struct st_unwind_want *want, struct st_unwind_found *found,
				   struct st_error *err)
{
	struct st_unwind_image image = {0};
	char key[KEY_BYTES];
	bool right_place = false;
	enum st_status status;
	uint64_t begun = now_ns();

	*found = (struct st_unwind_found){0};
	status = key_of(want, key, err);
	if (status)
		return status;
	if (look_up(folder, key, want, found, &right_place))
		return right_place ? ST_OK : no_bias(want, err);
	status = want->memory
			 ? st_unwind_build_memory(&image, want->memory, want->memory_bytes, err)
			 : st_unwind_build_file(&image, want->path, 0, err);
	if (status)
		return status;
	found->built = true;
	found->kept = keep(folder, found->path, &image, mode_of(want));
	if (!bias_of(image.table, want, found))
		status = no_bias(want, err);
	else if (!found->kept)
		status = keep_in_memory(folder, key, &image, found, err);
	found->build_ns = now_ns() - begun;
	st_unwind_image_fini(&image);
	return status;
}

enum st_status st_unwind_cache_code(struct st_unwind_folder *folder,
				    const struct st_unwind_code *codes, size_t count,
				    struct st_unwind_found *found, struct st_error *err)
{
	struct st_unwind_image image = {0};
	uint64_t begun = now_ns();
	enum st_status status;

	*found = (struct st_unwind_found){.built = true};
	status = st_unwind_build_code(&image, codes, count, err);
	if (!status)
		status = keep_in_memory(folder, "", &image, found, err);
	found->build_ns = now_ns() - begun;
	st_unwind_image_fini(&image);
	return status;
}
