/* SPDX-License-Identifier: Apache-2.0
 *
 * log.txt of a result, its last part when it is long. Read anew with each request: it may still grow.
 */
#include "serve/log_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "serve/beneath.h"
#include "serve/verbs.h"

enum { LOG_MAX_BYTES = 256 << 10 };

/* The last bytes of the file, from the begin of a line on. */
static enum st_status read_end(int fd, uint64_t size_bytes, struct st_buf *text,
			       struct st_error *err)
{
	uint64_t at = size_bytes > LOG_MAX_BYTES ? size_bytes - LOG_MAX_BYTES : 0;
	size_t wanted = (size_t)(size_bytes - at);
	uint8_t *line;

	if (!st_buf_reserve(text, wanted + 1))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	while (wanted) {
		ssize_t got = pread(fd, text->data + text->size_bytes, wanted, (off_t)at);

		if (got < 0)
			return st_error_set(err, ST_EIO, errno, "the log cannot be read");
		if (!got)
			break;
		text->size_bytes += (size_t)got;
		wanted -= (size_t)got;
		at += (uint64_t)got;
	}
	line = size_bytes > LOG_MAX_BYTES ? memchr(text->data, '\n', text->size_bytes) : NULL;
	if (line) {
		size_t cut = (size_t)(line - text->data) + 1;

		text->size_bytes -= cut;
		memmove(text->data, text->data + cut, text->size_bytes);
	}
	return ST_OK;
}

static int open_log(const char *folder)
{
	int folder_fd = st_beneath_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY), fd;

	if (folder_fd < 0)
		return -1;
	fd = st_beneath_open(folder_fd, "log.txt", O_RDONLY | O_NONBLOCK);
	close(folder_fd);
	return fd;
}

enum st_status st_verb_log(struct st_verb_call *call, struct st_error *err)
{
	int fd = open_log(call->paths[0]);
	enum st_status status = ST_OK;
	struct stat about = {0};
	struct st_buf text;
	struct st_json json;
	bool exists = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);

	st_buf_init(&text, LOG_MAX_BYTES + 1);
	if (exists)
		status = read_end(fd, (uint64_t)about.st_size, &text, err);
	if (fd >= 0)
		close(fd);
	if (!status) {
		st_json_init(&json, call->out);
		st_json_object_begin(&json);
		st_json_put_bool(&json, "exists", exists);
		st_json_put_bytes(&json, "text", text.size_bytes ? (const char *)text.data : "",
				  text.size_bytes);
		st_json_put_u64(&json, "size_bytes", exists ? (uint64_t)about.st_size : 0);
		st_json_put_bool(&json, "is_cut",
				 exists && (uint64_t)about.st_size > text.size_bytes);
		st_json_object_end(&json);
		st_buf_append_u8(call->out, '\n');
	}
	st_buf_fini(&text);
	return status;
}
