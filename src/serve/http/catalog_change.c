/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes below the data directory: another name, into the trash and out of it again, a new project. Nothing is
 * overwritten, and nothing is deleted: the trash is a folder that its owner may empty.
 */
#include "serve/http/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/beneath.h"
#include "serve/http/secret.h"

static const char trash[] = ".strata-trash";

enum { NUMBERS = 1000 };

/* The folder that path lies in, below the root; *name is its last part. */
static int open_parent(const struct st_catalog *catalog, const char *path, const char **name)
{
	char parent[ST_ENTRY_PATH * 2];
	const char *slash = strrchr(path, '/');

	*name = slash ? slash + 1 : path;
	if (!slash)
		return openat(catalog->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	return st_beneath_open(catalog->root_fd, parent, O_RDONLY | O_DIRECTORY);
}

static enum st_status move(int from_fd, const char *from, int to_fd, const char *to,
			   struct st_error *err)
{
	if (renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE) == 0)
		return ST_OK;
	if (errno == EEXIST)
		return st_error_set(err, ST_EEXIST, 0, "there is a '%.200s' already", to);
	if (errno == ENOENT)
		return st_error_set(err, ST_ENOTFOUND, 0, "'%.200s' is gone", from);
	return st_error_set(err, ST_EIO, errno, "'%.200s' cannot be moved", from);
}

static enum st_status refuse_running(const struct st_entry *entry, struct st_error *err)
{
	if (strcmp(entry->state, "running") != 0)
		return ST_OK;
	return st_error_set(err, ST_EEXIST, 0, "%s is being collected; stop the collection first",
			    entry->path);
}

enum st_status st_catalog_rename(struct st_catalog *catalog, const struct st_entry *entry,
				 const char *name, char id[ST_ENTRY_ID], struct st_error *err)
{
	const char *last = st_entry_name(entry);
	char path[ST_ENTRY_PATH];
	enum st_status status = refuse_running(entry, err);
	int parent_fd;
	int size = snprintf(path, sizeof(path), "%.*s%s", (int)(last - entry->path), entry->path,
			    name);

	if (status)
		return status;
	if (!st_name_is_fine(name) || size < 0 || (size_t)size >= sizeof(path))
		return st_error_set(err, ST_EUSAGE, 0,
				    "'name': expected up to 100 letters, digits, '.', '_', '-', "
				    "'+', '=' or blanks, and no dot or dash first");
	if (entry->is_trace && !st_name_is_trace(name))
		return st_error_set(err, ST_EUSAGE, 0,
				    "'name': a trace keeps its ending .pt.trace.json");
	parent_fd = open_parent(catalog, entry->path, &last);
	if (parent_fd < 0)
		return st_error_set(err, ST_ENOTFOUND, errno, "%s", entry->path);
	status = move(parent_fd, last, parent_fd, name, err);
	close(parent_fd);
	if (!status)
		st_secret_digest(path, id, ST_ENTRY_ID - 1);
	return status;
}

/* Makes the folders above the last part of path, below folder_fd. Not 0: why one cannot be made. */
static int make_parents(int folder_fd, const char *path)
{
	char part[ST_ENTRY_PATH * 2];

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdirat(folder_fd, part, 0777) && errno != EEXIST)
			return errno;
	}
	return 0;
}

static enum st_status move_to_trash(struct st_catalog *catalog, const struct st_entry *entry,
				    const char *place, struct st_error *err)
{
	int code = make_parents(catalog->root_fd, place), parent_fd = -1;
	enum st_status status;
	const char *name;

	/* Not through a link: the trash is in the data directory. */
	if (!code) {
		parent_fd = open_parent(catalog, place, &name);
		code = errno;
	}
	if (parent_fd < 0)
		return st_error_set(err, ST_EIO, code, "the trash, %s, cannot be used", trash);
	status = move(catalog->root_fd, entry->path, parent_fd, name, err);
	close(parent_fd);
	return status;
}

enum st_status st_catalog_remove(struct st_catalog *catalog, const struct st_entry *entry,
				 struct st_error *err)
{
	char place[ST_ENTRY_PATH * 2];
	enum st_status status = refuse_running(entry, err);

	if (status)
		return status;
	/* Below its id, where a result that was removed earlier under the same name may be: that one stays. */
	for (int i = 0; i < NUMBERS; i++) {
		snprintf(place, sizeof(place), "%s/%s.%d/%s", trash, entry->id, i, entry->path);
		status = move_to_trash(catalog, entry, place, err);
		if (status != ST_EEXIST)
			return status;
	}
	return status;
}

/* The newest number below which something with that id lies; -1: none. */
static int newest_number(const struct st_catalog *catalog, const char *id)
{
	int newest = -1;

	for (int i = 0; i < NUMBERS; i++) {
		char place[ST_ENTRY_PATH];
		int fd;

		snprintf(place, sizeof(place), "%s/%s.%d", trash, id, i);
		fd = st_beneath_open(catalog->root_fd, place, O_PATH | O_DIRECTORY);
		if (fd < 0)
			break;
		close(fd);
		newest = i;
	}
	return newest;
}

/* The one entry of a folder; false: it is empty. */
static bool only_entry(int fd, char *name, size_t name_size)
{
	DIR *list = fdopendir(fd);
	struct dirent *one;
	bool found = false;

	while (list && !found && (one = readdir(list))) {
		found = one->d_name[0] != '.';
		if (found)
			snprintf(name, name_size, "%s", one->d_name);
	}
	if (list)
		closedir(list);
	return found;
}

/* Follows single entries down to the one whose path has the id: what was removed, as it was called. */
static bool trashed_path(const struct st_catalog *catalog, const char *place, const char *id,
			 char path[ST_ENTRY_PATH])
{
	size_t used = 0;

	path[0] = '\0';
	for (;;) {
		char folder[ST_ENTRY_PATH * 2], name[256], digest[ST_ENTRY_ID];
		int fd;

		snprintf(folder, sizeof(folder), "%s%s%s", place, used ? "/" : "", path);
		fd = st_beneath_open(catalog->root_fd, folder, O_RDONLY | O_DIRECTORY);
		if (fd < 0 || !only_entry(fd, name, sizeof(name)) ||
		    used + strlen(name) + 2 > ST_ENTRY_PATH)
			return false;
		used += (size_t)snprintf(path + used, ST_ENTRY_PATH - used, "%s%s", used ? "/" : "",
					 name);
		st_secret_digest(path, digest, ST_ENTRY_ID - 1);
		if (strcmp(digest, id) == 0)
			return true;
	}
}

/* Folders that held only what was taken out. */
static void remove_empty(const struct st_catalog *catalog, char *place, size_t keep)
{
	char *slash;

	while ((slash = strrchr(place, '/')) && (size_t)(slash - place) > keep) {
		*slash = '\0';
		if (unlinkat(catalog->root_fd, place, AT_REMOVEDIR))
			return;
	}
}

enum st_status st_catalog_restore(struct st_catalog *catalog, const char *id, struct st_error *err)
{
	char place[ST_ENTRY_PATH], path[ST_ENTRY_PATH], whole[ST_ENTRY_PATH * 3];
	int number = newest_number(catalog, id);
	enum st_status status;

	snprintf(place, sizeof(place), "%s/%s.%d", trash, id, number);
	if (number < 0 || !trashed_path(catalog, place, id, path))
		return st_error_set(err, ST_ENOTFOUND, 0, "the trash has no such result");
	make_parents(catalog->root_fd, path);
	snprintf(whole, sizeof(whole), "%s/%s", place, path);
	status = move(catalog->root_fd, whole, catalog->root_fd, path, err);
	if (!status)
		remove_empty(catalog, whole, strlen(trash));
	return status;
}

enum st_status st_catalog_make_project(struct st_catalog *catalog, const char *name,
				       char id[ST_ENTRY_ID], struct st_error *err)
{
	if (!st_name_is_fine(name))
		return st_error_set(err, ST_EUSAGE, 0,
				    "'name': expected up to 100 letters, digits, '.', '_', '-', "
				    "'+', '=' or blanks, and no dot or dash first");
	st_secret_digest(name, id, ST_ENTRY_ID - 1);
	if (mkdirat(catalog->root_fd, name, 0777) == 0)
		return ST_OK;
	if (errno == EEXIST)
		return st_error_set(err, ST_EEXIST, 0, "there is a '%s' already", name);
	return st_error_set(err, ST_EIO, errno, "'%s' cannot be created", name);
}

static bool is_known_project(const struct st_catalog *catalog, const char *project)
{
	for (uint32_t i = 0; i < catalog->count; i++)
		if (catalog->entries[i].is_project &&
		    strcmp(catalog->entries[i].path, project) == 0)
			return true;
	return false;
}

static bool is_promised(const struct st_catalog *catalog, const char *path)
{
	return catalog->is_promised && catalog->is_promised(catalog->promised_arg, path);
}

/* Nothing has that path, and nobody is about to create it. */
static bool is_free(const struct st_catalog *catalog, const char *path)
{
	struct stat about;

	return fstatat(catalog->root_fd, path, &about, AT_SYMLINK_NOFOLLOW) && errno == ENOENT &&
	       !is_promised(catalog, path);
}

enum st_status st_catalog_free_name(struct st_catalog *catalog, const char *project,
				    const char *suffix, char path[ST_ENTRY_PATH],
				    struct st_error *err)
{
	if (project[0] && !is_known_project(catalog, project))
		return st_error_set(err, ST_ENOTFOUND, 0, "there is no project '%.100s'", project);
	for (int i = 0; i < NUMBERS; i++) {
		snprintf(path, ST_ENTRY_PATH, "%s%sr%03d%s", project, project[0] ? "/" : "", i,
			 suffix);
		if (is_free(catalog, path))
			return ST_OK;
	}
	return st_error_set(err, ST_EEXIST, 0, "there are %d results already; move some away",
			    NUMBERS);
}

enum st_status st_catalog_free_place(struct st_catalog *catalog, const struct st_entry *trace,
				     char path[ST_ENTRY_PATH], struct st_error *err)
{
	const char *end = strstr(st_entry_name(trace), ".pt.trace.json");
	int size = end ? (int)(end - trace->path) : (int)strlen(trace->path);

	for (int i = 1; i <= NUMBERS; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%d", i);
		snprintf(path, ST_ENTRY_PATH, "%.*s%s", size, trace->path, number);
		if (is_free(catalog, path))
			return ST_OK;
	}
	return st_error_set(err, ST_EEXIST, 0, "there are %d imports already; move some away",
			    NUMBERS);
}
