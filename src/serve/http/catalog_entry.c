/* SPDX-License-Identifier: Apache-2.0
 *
 * One entry of the list: what its result.json says, how large it is and whether it has changed. The result itself is not
 * opened here.
 */
#include "serve/http/catalog.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "serve/beneath.h"
#include "serve/http/secret.h"
#include "store/peek.h"

enum { JSON_MAX_BYTES = 4 << 20, JSON_DEPTH = 16, PLACE = 64 };

bool st_name_is_trace(const char *name)
{
	const char *at = strstr(name, ".pt.trace.json");

	return at && at != name &&
	       (strcmp(at, ".pt.trace.json") == 0 || strcmp(at, ".pt.trace.json.gz") == 0);
}

bool st_name_is_fine(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > 100 || name[0] == '.' || name[0] == '-' || name[0] == ' ' ||
	    name[length - 1] == ' ')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._-+= ", *name))
			return false;
	return true;
}

static int64_t time_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* What is made from the data (the index, the names) may come and go without the data being another. */
static bool is_data(const char *name)
{
	return strncmp(name, "trace.", 6) == 0 || strcmp(name, "definitions.strata") == 0 ||
	       strcmp(name, "result.json") == 0;
}

void st_entry_generation(int folder_fd, char out[17], uint64_t *size_bytes)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t sum = 0;
	struct dirent *one;
	char text[32];

	*size_bytes = 0;
	while (list && (one = readdir(list))) {
		struct stat about;
		char line[512], digest[17];

		if (one->d_name[0] == '.' ||
		    fstatat(fd, one->d_name, &about, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(about.st_mode))
			continue;
		*size_bytes += (uint64_t)about.st_size;
		if (!is_data(one->d_name))
			continue;
		snprintf(line, sizeof(line), "%s %" PRId64 " %" PRId64, one->d_name,
			 (int64_t)about.st_size, time_ns(&about.st_mtim));
		st_secret_digest(line, digest, 16);
		/* The order of a folder says nothing: a sum has none. */
		sum += strtoull(digest, NULL, 16);
	}
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	snprintf(text, sizeof(text), "%016" PRIx64, sum);
	memcpy(out, text, 17);
}

static void take_text(json_object *root, const char *key, char *out, size_t out_size)
{
	json_object *value;

	if (json_object_object_get_ex(root, key, &value) &&
	    json_object_is_type(value, json_type_string))
		snprintf(out, out_size, "%s", json_object_get_string(value));
}

static void take_exit(json_object *root, char *out, size_t out_size)
{
	json_object *end, *value;

	if (!json_object_object_get_ex(root, "exit", &end) ||
	    !json_object_is_type(end, json_type_object))
		return;
	if (json_object_object_get_ex(end, "code", &value))
		snprintf(out, out_size, "%d", json_object_get_int(value));
	else if (json_object_object_get_ex(end, "signal", &value))
		snprintf(out, out_size, "\"signal %d\"", json_object_get_int(value));
}

static json_object *read_json(int fd, off_t size)
{
	struct st_buf text;
	json_tokener *tokener = NULL;
	json_object *root = NULL;

	st_buf_init(&text, JSON_MAX_BYTES + 1);
	if (size > 0 && size < JSON_MAX_BYTES && st_buf_reserve(&text, (size_t)size))
		tokener = json_tokener_new_ex(JSON_DEPTH);
	if (tokener) {
		ssize_t got = read(fd, text.data, (size_t)size);

		if (got > 0)
			root = json_tokener_parse_ex(tokener, (const char *)text.data, (int)got);
		json_tokener_free(tokener);
	}
	st_buf_fini(&text);
	if (root && !json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		root = NULL;
	}
	return root;
}

static void take_facts(struct st_entry *entry, json_object *root)
{
	json_object *value;

	take_text(root, "state", entry->state, sizeof(entry->state));
	take_text(root, "type", entry->type, sizeof(entry->type));
	take_text(root, "command", entry->command, sizeof(entry->command));
	take_text(root, "started_at", entry->started_at, sizeof(entry->started_at));
	take_exit(root, entry->exit, sizeof(entry->exit));
	if (json_object_object_get_ex(root, "elapsed_ns", &value))
		entry->elapsed_ns = json_object_get_int64(value);
}

/* Says "running", but is the one who wrote it still there? */
static void check_running(struct st_entry *entry, int fd)
{
	struct st_error ignored;
	struct st_peek peek;
	char place[PLACE];

	if (strcmp(entry->state, "running") != 0)
		return;
	snprintf(place, sizeof(place), "/proc/self/fd/%d", fd);
	if (st_result_peek(&peek, place, &ignored))
		return;
	close(peek.folder_fd);
	if (peek.state == ST_PEEK_TORN)
		snprintf(entry->state, sizeof(entry->state), "torn");
}

static bool read_result(struct st_entry *entry, int fd, const struct st_entry *before)
{
	int json_fd = st_beneath_open(fd, "result.json", O_RDONLY | O_NONBLOCK);
	json_object *root;
	struct stat about;

	if (json_fd < 0)
		return false;
	if (fstat(json_fd, &about) || !S_ISREG(about.st_mode)) {
		close(json_fd);
		return false;
	}
	entry->changed_ns = time_ns(&about.st_mtim);
	entry->inode = (uint64_t)about.st_ino;
	if (before && before->changed_ns == entry->changed_ns && before->inode == entry->inode) {
		*entry = *before;
	} else {
		root = read_json(json_fd, about.st_size);
		snprintf(entry->state, sizeof(entry->state), "damaged");
		if (root)
			take_facts(entry, root);
		json_object_put(root);
	}
	close(json_fd);
	check_running(entry, fd);
	st_entry_generation(fd, entry->generation, &entry->size_bytes);
	return true;
}

static bool read_trace(struct st_entry *entry, const struct stat *about)
{
	time_t seconds = about->st_mtim.tv_sec;
	char text[96], digest[17];
	struct tm utc;

	entry->is_trace = true;
	entry->size_bytes = (uint64_t)about->st_size;
	snprintf(entry->state, sizeof(entry->state), "finished");
	snprintf(entry->type, sizeof(entry->type), "trace");
	snprintf(entry->command, sizeof(entry->command), "%s", st_entry_name(entry));
	if (gmtime_r(&seconds, &utc))
		strftime(entry->started_at, sizeof(entry->started_at), "%Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(text, sizeof(text), "%" PRIu64 " %" PRId64, entry->size_bytes,
		 time_ns(&about->st_mtim));
	st_secret_digest(text, digest, 16);
	memcpy(entry->generation, digest, sizeof(digest));
	return true;
}

bool st_entry_read(struct st_entry *entry, int fd, const struct st_entry *before)
{
	struct stat about;

	if (fstat(fd, &about))
		return false;
	if (S_ISREG(about.st_mode))
		return st_name_is_trace(entry->path) && read_trace(entry, &about);
	if (!S_ISDIR(about.st_mode))
		return false;
	if (!read_result(entry, fd, before))
		entry->is_project = true;
	return true;
}
