// SPDX-License-Identifier: Apache-2.0
//
// Names of result folders: the next free one, and the newest one there is. A number counts as taken
// when any analysis type used it (r000hs, r001ta …), so that results sort by age.
#include "store/writer.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

enum { NUMBERS_MAX = 100000, PATH_BYTES_MAX = 4096 };

static const char placeholder[] = "@@@";

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* pattern with its placeholder replaced by number; malloc'd. */
static char *with_number(const char *pattern, const char *at, unsigned int number)
{
	char *name = NULL;

	if (asprintf(&name, "%.*s%03u%s", (int)(at - pattern), pattern, number,
		     at + strlen(placeholder)) < 0)
		return NULL;
	return name;
}

/* The number of a name that starts with prefix, goes on with digits and ends in letters; -1 if it is
 * not such a name. */
static long number_of(const char *name, const char *prefix, size_t prefix_bytes)
{
	char *end;
	long number;

	if (strncmp(name, prefix, prefix_bytes) != 0 || !isdigit((unsigned char)name[prefix_bytes]))
		return -1;
	number = strtol(name + prefix_bytes, &end, 10);
	for (; *end; end++)
		if (!isalpha((unsigned char)*end))
			return -1;
	return number;
}

/* Marks every number in use beside the pattern. */
static void collect_taken(const char *pattern, const char *at, uint8_t *taken)
{
	const char *slash = memrchr(pattern, '/', (size_t)(at - pattern));
	const char *prefix = slash ? slash + 1 : pattern;
	char dir[PATH_BYTES_MAX] = ".";
	struct dirent *entry;
	DIR *stream;

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", slash == pattern ? 1 : (int)(slash - pattern),
			 pattern);
	stream = opendir(dir);
	if (!stream)
		return;
	while ((entry = readdir(stream)) != NULL) {
		long number = number_of(entry->d_name, prefix, (size_t)(at - prefix));

		if (number >= 0 && number < NUMBERS_MAX)
			taken[number] = 1;
	}
	closedir(stream);
}

static enum st_status expand(const char *pattern, const char *at, char **out, struct st_error *err)
{
	uint8_t *taken = calloc(NUMBERS_MAX, 1);

	if (!taken)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	/* A slash behind the placeholder means that only the full path can say what is free. */
	if (!strchr(at, '/'))
		collect_taken(pattern, at, taken);
	for (unsigned int number = 0; number < NUMBERS_MAX; number++) {
		char *name;

		if (taken[number])
			continue;
		name = with_number(pattern, at, number);
		if (name && !exists(name)) {
			free(taken);
			*out = name;
			return ST_OK;
		}
		free(name);
	}
	free(taken);
	return st_error_set(err, ST_EEXIST, 0, "%s: all %d numbers are in use", pattern,
			    NUMBERS_MAX);
}

/* A name that exists is refused; the text offers a free one made from it. */
static enum st_status refuse(const char *name, struct st_error *err)
{
	struct st_error ignored = {0};
	char *pattern = NULL, *free_name = NULL;

	if (asprintf(&pattern, "%s_%s", name, placeholder) > 0)
		st_result_name(pattern, &free_name, &ignored);
	st_error_set(err, ST_EEXIST, 0, "%s already exists%s%s%s", name, free_name ? "; " : "",
		     free_name ? free_name : "", free_name ? " is free" : "");
	free(pattern);
	free(free_name);
	return ST_EEXIST;
}

enum st_status st_result_name(const char *pattern, char **out, struct st_error *err)
{
	const char *at;
	char *name;
	size_t length;
	enum st_status status = ST_OK;

	*out = NULL;
	name = strdup(pattern);
	if (!name)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	for (length = strlen(name); length > 1 && name[length - 1] == '/'; length--)
		name[length - 1] = '\0';
	if (length == 0) {
		free(name);
		return st_error_set(err, ST_EUSAGE, 0, "the name of the result folder is empty");
	}
	at = strstr(name, placeholder);
	if (at) {
		status = expand(name, at, out, err);
		free(name);
		return status;
	}
	if (exists(name)) {
		status = refuse(name, err);
		free(name);
		return status;
	}
	*out = name;
	return ST_OK;
}

static bool newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

enum st_status st_result_newest(const char *dir, char **out, struct st_error *err)
{
	struct timespec best = {0};
	struct dirent *entry;
	char *best_name = NULL;
	DIR *stream;

	*out = NULL;
	stream = opendir(dir);
	if (!stream)
		return st_error_set(err, ST_EIO, errno, "cannot read the folder %s", dir);
	while ((entry = readdir(stream)) != NULL) {
		char path[PATH_BYTES_MAX];
		struct stat st;

		snprintf(path, sizeof(path), "%s/result.json", entry->d_name);
		if (entry->d_name[0] == '.' || fstatat(dirfd(stream), path, &st, 0) != 0)
			continue;
		if (best_name && !newer(&st.st_mtim, &best))
			continue;
		free(best_name);
		best_name = strdup(entry->d_name);
		best = st.st_mtim;
	}
	closedir(stream);
	if (!best_name)
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "no result in %s: record one with \"strata -collect tasks -- "
				    "program\", or give one with -r",
				    strcmp(dir, ".") == 0 ? "this folder" : dir);
	if (strcmp(dir, ".") == 0) {
		*out = best_name;
		return ST_OK;
	}
	if (asprintf(out, "%s/%s", dir, best_name) < 0)
		*out = NULL;
	free(best_name);
	return *out ? ST_OK : st_error_set(err, ST_ENOMEM, 0, "out of memory");
}
