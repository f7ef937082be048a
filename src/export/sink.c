// SPDX-License-Identifier: Apache-2.0
//
// Where output goes: standard output, a file, a compressed file, or a buffer. Files are written under
// a temporary name next to the target and renamed at the end; an existing name that is not a regular
// file (a pipe, a device) is written to directly.
#include "export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/leftover.h"

enum { BUFFER_BYTES = 64 << 10 };

struct st_sink {
	int fd;
	char *path, *temporary; /* temporary NULL: written in place */
	int leftover;		/* slot of base/leftover.h */
	struct st_buf *buf;	/* instead of fd */
	bool is_packed;
	z_stream pack;
	uint8_t *pending; /* not yet written */
	size_t pending_bytes;
	enum st_status failed; /* later writes do nothing */
	void (*progress)(void *arg, double fraction, const char *what);
	void *progress_arg;
	unsigned int shown_permille;
	const char *empty; /* why there is nothing in it */
	bool has_bytes;
};

void st_sink_set_empty(struct st_sink *sink, const char *why)
{
	sink->empty = why;
}

const char *st_sink_empty(const struct st_sink *sink)
{
	return sink->empty;
}

bool st_sink_is_unwritten(const struct st_sink *sink)
{
	return !sink->has_bytes;
}

void st_sink_set_progress(struct st_sink *sink,
			  void (*progress)(void *arg, double fraction, const char *what), void *arg)
{
	sink->progress = progress;
	sink->progress_arg = arg;
}

void st_sink_progress(struct st_sink *sink, uint64_t done, uint64_t total)
{
	double fraction = total ? (double)done / (double)total : 0;

	if (!sink->progress || (unsigned int)(fraction * 1000) == sink->shown_permille)
		return;
	sink->shown_permille = (unsigned int)(fraction * 1000);
	sink->progress(sink->progress_arg, fraction, "writing");
}

static const char *shown_name(const struct st_sink *sink)
{
	return sink->path ? sink->path : "standard output";
}

static enum st_status flush(struct st_sink *sink, struct st_error *err)
{
	size_t done = 0;

	while (done < sink->pending_bytes) {
		ssize_t n = write(sink->fd, sink->pending + done, sink->pending_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			sink->failed = ST_EIO;
			return st_error_set(err, ST_EIO, errno, "cannot write to %s",
					    shown_name(sink));
		}
		done += (size_t)n;
	}
	sink->pending_bytes = 0;
	return ST_OK;
}

static enum st_status put(struct st_sink *sink, const uint8_t *data, size_t size_bytes,
			  struct st_error *err)
{
	while (size_bytes) {
		size_t part = BUFFER_BYTES - sink->pending_bytes;
		enum st_status status;

		if (part > size_bytes)
			part = size_bytes;
		memcpy(sink->pending + sink->pending_bytes, data, part);
		sink->pending_bytes += part;
		data += part;
		size_bytes -= part;
		status = sink->pending_bytes == BUFFER_BYTES ? flush(sink, err) : ST_OK;
		if (status)
			return status;
	}
	return ST_OK;
}

static enum st_status pack(struct st_sink *sink, const void *data, size_t size_bytes, int mode,
			   struct st_error *err)
{
	uint8_t packed[16 << 10];
	int result;

	sink->pack.next_in = (Bytef *)(uintptr_t)data;
	sink->pack.avail_in = (uInt)size_bytes;
	do {
		enum st_status status;

		sink->pack.next_out = packed;
		sink->pack.avail_out = sizeof(packed);
		result = deflate(&sink->pack, mode);
		status = put(sink, packed, sizeof(packed) - sink->pack.avail_out, err);
		if (status)
			return status;
	} while (sink->pack.avail_out == 0 || (mode == Z_FINISH && result == Z_OK));
	return ST_OK;
}

static bool ends_in_gz(const char *path)
{
	size_t length = strlen(path);

	return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

static enum st_status open_file(struct st_sink *sink, struct st_error *err)
{
	struct stat st;
	const char *name = sink->path;

	if (stat(sink->path, &st) == 0 && S_ISDIR(st.st_mode))
		return st_error_set(err, ST_EUSAGE, EISDIR, "cannot write to %s", sink->path);
	if (stat(sink->path, &st) != 0 || S_ISREG(st.st_mode)) {
		size_t size = strlen(sink->path) + 32;

		sink->temporary = malloc(size);
		if (!sink->temporary)
			return st_error_set(err, ST_ENOMEM, 0, "out of memory");
		snprintf(sink->temporary, size, "%s.part-%ld", sink->path, (long)getpid());
		name = sink->temporary;
		sink->leftover = st_leftover_add(AT_FDCWD, name);
	}
	sink->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (sink->fd >= 0)
		return ST_OK;
	if (sink->temporary)
		st_leftover_forget(sink->leftover);
	st_error_set(err, ST_EIO, errno, "cannot write %s", sink->path);
	free(sink->temporary);
	sink->temporary = NULL;
	return ST_EIO;
}

static void sink_free(struct st_sink *sink)
{
	if (sink->is_packed)
		deflateEnd(&sink->pack);
	free(sink->pending);
	free(sink->path);
	free(sink->temporary);
	free(sink);
}

enum st_status st_sink_pack(struct st_sink *sink, struct st_error *err)
{
	if (sink->is_packed || sink->buf)
		return ST_OK;
	if (deflateInit2(&sink->pack, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	sink->is_packed = true;
	return ST_OK;
}

enum st_status st_sink_open(struct st_sink **out, const char *path, struct st_error *err)
{
	struct st_sink *sink = calloc(1, sizeof(*sink));
	bool is_stdout = strcmp(path, "-") == 0;
	enum st_status status = ST_ENOMEM;

	*out = NULL;
	if (!sink)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	sink->fd = STDOUT_FILENO;
	sink->pending = malloc(BUFFER_BYTES);
	sink->path = is_stdout ? NULL : strdup(path);
	if (!sink->pending || (!is_stdout && !sink->path)) {
		st_error_set(err, ST_ENOMEM, 0, "out of memory");
		goto fail;
	}
	status = !is_stdout && ends_in_gz(path) ? st_sink_pack(sink, err) : ST_OK;
	if (!status && !is_stdout)
		status = open_file(sink, err);
	if (status)
		goto fail;
	*out = sink;
	return ST_OK;
fail:
	sink_free(sink);
	return status;
}

enum st_status st_sink_open_buf(struct st_sink **out, struct st_buf *buf, struct st_error *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	(*out)->fd = -1;
	(*out)->buf = buf;
	return ST_OK;
}

enum st_status st_sink_write(struct st_sink *sink, const void *data, size_t size_bytes,
			     struct st_error *err)
{
	enum st_status status = ST_OK;

	if (sink->failed)
		return sink->failed;
	sink->has_bytes = sink->has_bytes || size_bytes > 0;
	if (sink->buf) {
		if (!st_buf_append(sink->buf, data, size_bytes))
			sink->failed = st_error_set(err, ST_ENOMEM, 0, "the output is too large");
		return sink->failed;
	}
	if (!sink->is_packed)
		return put(sink, data, size_bytes, err);
	for (size_t done = 0; done < size_bytes && !status;) {
		size_t part = size_bytes - done < 1 << 30 ? size_bytes - done : 1 << 30;

		status = pack(sink, (const uint8_t *)data + done, part, Z_NO_FLUSH, err);
		done += part;
	}
	return status;
}

enum st_status st_sink_close(struct st_sink *sink, bool keep, struct st_error *err)
{
	enum st_status status = ST_OK;

	if (!sink)
		return ST_OK;
	status = sink->failed;
	if (keep && !status && sink->is_packed)
		status = pack(sink, NULL, 0, Z_FINISH, err);
	if (keep && !status)
		status = flush(sink, err);
	if (sink->path && close(sink->fd) != 0 && !status)
		status = st_error_set(err, ST_EIO, errno, "cannot write %s", sink->path);
	if (sink->temporary && keep && !status && rename(sink->temporary, sink->path) != 0)
		status = st_error_set(err, ST_EIO, errno, "cannot write %s", sink->path);
	if (sink->temporary && (!keep || status))
		unlink(sink->temporary);
	if (sink->temporary)
		st_leftover_forget(sink->leftover);
	sink_free(sink);
	return status;
}

enum st_status st_sink_finish(struct st_sink *sink, enum st_status written, struct st_error *err)
{
	if (!written)
		return st_sink_close(sink, true, err);
	st_sink_close(sink, false, NULL);
	return written;
}
