// SPDX-License-Identifier: Apache-2.0
//
// Source files by line (resolve/named.h): at their own place, or below a source search folder by as
// many of the last parts of the path as match, the longest match first.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resolve/named.h"
#include "resolve/source_rule.h"

enum { SOURCE_MAX_BYTES = 64 << 20 };

struct st_source_text {
	char *bytes;
	size_t *begins; /* of each line, and the end */
	uint32_t count;
};

struct lookup {
	const struct st_named_options *options; /* may be NULL */
	const struct st_named *named;
	const char *path; /* as it was recorded */
	size_t size_bytes;
	bool is_refused; /* it is there, but it is not to be shown */
};

static int open_regular(struct lookup *lookup, const char *place)
{
	struct stat status;
	int fd = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > SOURCE_MAX_BYTES) {
		close(fd);
		return -1;
	}
	if (lookup->options && lookup->options->own_sources_only &&
	    !st_source_may_be_shown(fd, lookup->options, lookup->named, lookup->path)) {
		lookup->is_refused = true;
		close(fd);
		return -1;
	}
	lookup->size_bytes = (size_t)status.st_size;
	return fd;
}

/* folder/a/b/c.c, then folder/b/c.c, then folder/c.c. */
static int open_below(struct lookup *lookup, const char *folder)
{
	char place[PATH_MAX];

	for (const char *rest = lookup->path; rest; rest = strchr(rest, '/')) {
		int fd;

		rest += strspn(rest, "/");
		if (snprintf(place, sizeof(place), "%s/%s", folder, rest) >= (int)sizeof(place))
			continue;
		fd = open_regular(lookup, place);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* A search folder may also name the file itself. */
static int open_source(struct lookup *lookup)
{
	const struct st_named_options *options = lookup->options;
	const char *path = lookup->path;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int fd;

	for (size_t i = 0; options && i < options->source_search_count; i++) {
		const char *place = options->source_search[i];
		const char *last = strrchr(place, '/');

		fd = open_below(lookup, place);
		if (fd < 0 && strcmp(last ? last + 1 : place, name) == 0)
			fd = open_regular(lookup, place);
		if (fd >= 0)
			return fd;
	}
	return open_regular(lookup, path);
}

static bool read_all(int fd, char *bytes, size_t *size_bytes)
{
	size_t have = 0;

	while (have < *size_bytes) {
		ssize_t got = read(fd, bytes + have, *size_bytes - have);

		if (got < 0)
			return false;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	*size_bytes = have;
	return true;
}

static bool split(struct st_source_text *text, size_t size_bytes)
{
	size_t lines = 1;

	for (size_t i = 0; i < size_bytes; i++)
		lines += text->bytes[i] == '\n';
	text->begins = malloc((lines + 2) * sizeof(*text->begins));
	if (!text->begins)
		return false;
	text->begins[0] = 0;
	for (size_t i = 0; i < size_bytes; i++)
		if (text->bytes[i] == '\n')
			text->begins[++text->count] = i + 1;
	if (text->begins[text->count] < size_bytes)
		text->begins[++text->count] = size_bytes + 1; /* as if a line end followed */
	return true;
}

struct st_source_text *st_source_text_open(const struct st_named_options *options,
					   const struct st_named *named, const char *path,
					   struct st_error *err)
{
	struct lookup lookup = {.options = options, .named = named, .path = path};
	struct st_source_text *text;
	int fd = open_source(&lookup);
	size_t size_bytes = lookup.size_bytes;
	bool ok;

	if (fd < 0 && lookup.is_refused) {
		st_error_set(err, ST_EUNSUPPORTED, 0,
			     "source file %s is not shown: it is no Python file, and no module of "
			     "the result on this machine names it in its debug information",
			     path);
		return NULL;
	}
	if (fd < 0) {
		st_error_set(err, ST_ENOTFOUND, 0,
			     "source file %s not found; use -source-search-dir to locate it", path);
		return NULL;
	}
	text = calloc(1, sizeof(*text));
	if (text)
		text->bytes = malloc(size_bytes + 1);
	ok = text && text->bytes && read_all(fd, text->bytes, &size_bytes) &&
	     split(text, size_bytes);
	close(fd);
	if (ok)
		return text;
	st_source_text_close(text);
	st_error_set(err, ST_EIO, 0, "cannot read source file %s", path);
	return NULL;
}

void st_source_text_close(struct st_source_text *text)
{
	if (!text)
		return;
	free(text->bytes);
	free(text->begins);
	free(text);
}

uint32_t st_source_text_count(const struct st_source_text *text)
{
	return text->count;
}

struct st_text st_source_text_line(const struct st_source_text *text, uint32_t line)
{
	struct st_text out = {"", 0};

	if (line < 1 || line > text->count)
		return out;
	out.bytes = text->bytes + text->begins[line - 1];
	out.size_bytes = text->begins[line] - text->begins[line - 1] - 1;
	if (out.size_bytes && out.bytes[out.size_bytes - 1] == '\r')
		out.size_bytes--;
	return out;
}
