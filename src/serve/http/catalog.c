/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of results, by looking into the folders. What a result.json says is read again only when it has changed.
 */
#include "serve/http/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "base/vec.h"
#include "serve/beneath.h"
#include "serve/http/secret.h"

/* A home folder may have any number of files in it: after so many, the list says that it is cut. */
enum { PROJECT_DEPTH = 2, LOOKS_MAX = 50000 };

enum st_status st_catalog_open(struct st_catalog *catalog, const char *folder, struct st_error *err)
{
	char *absolute = realpath(folder, NULL);

	memset(catalog, 0, sizeof(*catalog));
	catalog->root_fd = -1;
	if (!absolute || strlen(absolute) >= sizeof(catalog->root)) {
		int code = errno;

		free(absolute);
		return st_error_set(err, ST_EUSAGE, code, "--data-directory: %.300s", folder);
	}
	snprintf(catalog->root, sizeof(catalog->root), "%s", absolute);
	free(absolute);
	catalog->root_fd = open(catalog->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (catalog->root_fd < 0)
		return st_error_set(err, ST_EUSAGE, errno, "--data-directory: %.300s", folder);
	st_catalog_scan(catalog);
	return ST_OK;
}

void st_catalog_close(struct st_catalog *catalog)
{
	if (catalog->root_fd >= 0)
		close(catalog->root_fd);
	free(catalog->entries);
	memset(catalog, 0, sizeof(*catalog));
	catalog->root_fd = -1;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct st_entry *)a)->path, ((const struct st_entry *)b)->path);
}

struct scan {
	struct st_catalog *catalog;
	struct st_entry *entries;
	uint32_t count, capacity;
	unsigned int looks;
	bool is_cut;
};

static const struct st_entry *before(const struct scan *scan, const struct st_entry *entry)
{
	const struct st_catalog *catalog = scan->catalog;

	return catalog->count ? bsearch(entry, catalog->entries, catalog->count,
					sizeof(*catalog->entries), by_path)
			      : NULL;
}

/* How many entries the folder has, whatever they are. */
static unsigned int scan_folder(struct scan *scan, const char *folder, unsigned int depth);

static void scan_one(struct scan *scan, const char *folder, const char *name, unsigned int depth)
{
	struct st_entry entry = {0};
	int size = snprintf(entry.path, sizeof(entry.path), "%s%s%s", folder, folder[0] ? "/" : "",
			    name);
	int fd;
	bool is_entry;

	if (name[0] == '.' || size < 0 || (size_t)size >= sizeof(entry.path))
		return;
	if (scan->count >= ST_CATALOG_MAX || scan->looks++ >= LOOKS_MAX) {
		scan->is_cut = true;
		return;
	}
	fd = st_beneath_open(scan->catalog->root_fd, entry.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	is_entry = st_entry_read(&entry, fd, before(scan, &entry));
	close(fd);
	if (!is_entry || (entry.is_project && depth >= PROJECT_DEPTH))
		return;
	st_secret_digest(entry.path, entry.id, ST_ENTRY_ID - 1);
	if (!ST_VEC_PUSH(scan->entries, scan->count, scan->capacity, entry)) {
		scan->is_cut = true;
	} else if (entry.is_project) {
		uint32_t own = scan->count;

		/* A folder with other things in it is no project of ours; an empty one waits for its first result. */
		if (scan_folder(scan, entry.path, depth + 1) && scan->count == own)
			scan->count--;
	}
}

/* At most PROJECT_DEPTH deep. NOLINTNEXTLINE(misc-no-recursion) */
static unsigned int scan_folder(struct scan *scan, const char *folder, unsigned int depth)
{
	int fd = folder[0]
			 ? st_beneath_open(scan->catalog->root_fd, folder, O_RDONLY | O_DIRECTORY)
			 : openat(scan->catalog->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	unsigned int seen = 0;
	struct dirent *one;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return 1;
	}
	while ((one = readdir(list))) {
		seen += one->d_name[0] != '.';
		/* A folder may hold the files of a whole dataset: they cost no more than to be named. */
		if (one->d_type == DT_DIR || one->d_type == DT_UNKNOWN ||
		    (one->d_type == DT_REG && st_name_is_trace(one->d_name)))
			scan_one(scan, folder, one->d_name, depth);
	}
	closedir(list);
	return seen;
}

static void find_version(struct st_catalog *catalog, char out[17])
{
	struct st_buf text;

	st_buf_init(&text, SIZE_MAX / 4);
	st_catalog_write(catalog, &text);
	st_buf_append_u8(&text, '\0');
	if (!text.failed)
		st_secret_digest((const char *)text.data, out, 16);
	st_buf_fini(&text);
}

bool st_catalog_scan(struct st_catalog *catalog)
{
	struct scan scan = {.catalog = catalog};
	char version[17] = "";

	scan_folder(&scan, "", 0);
	if (scan.count)
		qsort(scan.entries, scan.count, sizeof(*scan.entries), by_path);
	free(catalog->entries);
	catalog->entries = scan.entries;
	catalog->count = scan.count;
	catalog->capacity = scan.capacity;
	catalog->is_cut = scan.is_cut;
	find_version(catalog, version);
	if (strcmp(version, catalog->version) == 0)
		return false;
	memcpy(catalog->version, version, sizeof(version));
	return true;
}

static const struct st_entry *find(const struct st_catalog *catalog, const char *id)
{
	for (uint32_t i = 0; i < catalog->count; i++)
		if (strcmp(catalog->entries[i].id, id) == 0)
			return &catalog->entries[i];
	return NULL;
}

const struct st_entry *st_catalog_find(struct st_catalog *catalog, const char *id)
{
	const struct st_entry *entry = find(catalog, id);

	if (entry)
		return entry;
	st_catalog_scan(catalog);
	return find(catalog, id);
}

const char *st_entry_name(const struct st_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');

	return slash ? slash + 1 : entry->path;
}

void st_entry_write(const struct st_entry *entry, struct st_json *json)
{
	const char *name = st_entry_name(entry);

	st_json_object_begin(json);
	st_json_put_text(json, "id", entry->id);
	st_json_put_text(json, "name", name);
	st_json_put_bytes(json, "project", entry->path,
			  name > entry->path ? (size_t)(name - entry->path) - 1 : 0);
	st_json_put_text(json, "kind", entry->is_trace ? "trace" : "result");
	st_json_put_text(json, "state", entry->state);
	st_json_put_text(json, "type", entry->type);
	st_json_put_text(json, "command", entry->command);
	st_json_put_text(json, "started_at", entry->started_at);
	st_json_put_i64(json, "elapsed_ns", entry->elapsed_ns);
	st_json_put_u64(json, "size_bytes", entry->size_bytes);
	st_json_key(json, "exit");
	if (entry->exit[0])
		st_json_value(json, entry->exit, strlen(entry->exit));
	else
		st_json_null(json);
	st_json_put_text(json, "generation", entry->generation);
	st_json_object_end(json);
}

void st_catalog_write(const struct st_catalog *catalog, struct st_buf *out)
{
	struct st_json json;

	st_json_init(&json, out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "data_directory", catalog->root);
	st_json_put_array(&json, "projects");
	for (uint32_t i = 0; i < catalog->count; i++)
		if (catalog->entries[i].is_project)
			st_json_text(&json, catalog->entries[i].path);
	st_json_array_end(&json);
	st_json_put_array(&json, "results");
	for (uint32_t i = 0; i < catalog->count; i++)
		if (!catalog->entries[i].is_project)
			st_entry_write(&catalog->entries[i], &json);
	st_json_array_end(&json);
	st_json_put_bool(&json, "is_cut", catalog->is_cut);
	st_json_object_end(&json);
	st_buf_append_u8(out, '\n');
}
