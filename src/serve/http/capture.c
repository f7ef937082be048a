/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands whose output is wanted as a whole. It goes to files without names, so that nothing has to be read meanwhile
 * and a command never waits for us.
 */
#include "serve/http/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/http/loop.h"

enum { OUTPUT_MAX = 4 << 20 };

struct st_capture {
	struct st_loop *loop;
	struct st_child child;
	int out_fd, err_fd;
	void (*done)(void *arg, const struct st_captured *captured);
	void *arg;
};

int st_log_file(void)
{
	const char *base = getenv("TMPDIR");
	char path[512];
	int fd;

	if (!base || base[0] != '/' || strlen(base) > 400)
		base = "/tmp";
	snprintf(path, sizeof(path), "%s/strata-log-XXXXXX", base);
	fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

void st_tail_read(int fd, size_t max, struct st_buf *out)
{
	struct stat about;
	off_t at;
	size_t size;

	if (fstat(fd, &about) || about.st_size <= 0)
		return;
	size = (uint64_t)about.st_size > max ? max : (size_t)about.st_size;
	at = about.st_size - (off_t)size;
	if (!st_buf_reserve(out, size))
		return;
	while (size) {
		ssize_t got = pread(fd, out->data + out->size_bytes, size, at);

		if (got <= 0)
			return;
		out->size_bytes += (size_t)got;
		at += got;
		size -= (size_t)got;
	}
}

void st_last_line(const struct st_buf *text, char *out, size_t out_size)
{
	static const char before[] = "strata: error: ";
	const char *begin = (const char *)text->data;
	size_t size = text->size_bytes;

	while (size && (begin[size - 1] == '\n' || begin[size - 1] == '\0'))
		size--;
	for (size_t i = size; i-- > 0;) {
		if (begin[i] == '\n') {
			begin += i + 1;
			size -= i + 1;
			break;
		}
	}
	if (size > strlen(before) && memcmp(begin, before, strlen(before)) == 0) {
		begin += strlen(before);
		size -= strlen(before);
	}
	snprintf(out, out_size, "%.*s", (int)size, size ? begin : "");
}

static void close_files(struct st_capture *capture)
{
	if (capture->out_fd >= 0)
		close(capture->out_fd);
	if (capture->err_fd >= 0)
		close(capture->err_fd);
}

static void ended(void *arg, int status)
{
	struct st_capture *capture = arg;
	struct st_captured captured = {.status = status,
				       .is_ok = WIFEXITED(status) && WEXITSTATUS(status) == 0};

	st_buf_init(&captured.out, OUTPUT_MAX + 1);
	st_buf_init(&captured.err, OUTPUT_MAX + 1);
	st_tail_read(capture->out_fd, OUTPUT_MAX, &captured.out);
	st_tail_read(capture->err_fd, OUTPUT_MAX, &captured.err);
	if (st_buf_append_u8(&captured.out, '\0'))
		captured.out.size_bytes--;
	if (st_buf_append_u8(&captured.err, '\0'))
		captured.err.size_bytes--;
	capture->done(capture->arg, &captured);
	st_buf_fini(&captured.out);
	st_buf_fini(&captured.err);
	close_files(capture);
	free(capture);
}

struct st_capture *st_capture_start(struct st_loop *loop, const char *const *argv,
				    void (*done)(void *arg, const struct st_captured *captured),
				    void *arg, struct st_error *err)
{
	struct st_capture *capture = calloc(1, sizeof(*capture));
	enum st_status status;

	if (!capture) {
		st_error_set(err, ST_ENOMEM, 0, "out of memory");
		return NULL;
	}
	*capture = (struct st_capture){.loop = loop,
				       .child = {.ended = ended, .arg = capture},
				       .out_fd = st_log_file(),
				       .err_fd = st_log_file(),
				       .done = done,
				       .arg = arg};
	if (capture->out_fd < 0 || capture->err_fd < 0)
		status = st_error_set(err, ST_EIO, errno, "no temporary file for a command");
	else
		status = st_loop_spawn(
			loop, &capture->child,
			&(struct st_child_start){.argv = (char *const *)(uintptr_t)argv,
						 .folder_fd = -1,
						 .in_fd = -1,
						 .out_fd = capture->out_fd,
						 .err_fd = capture->err_fd,
						 .extra_fd = -1,
						 .own_group = true},
			err);
	if (!status)
		return capture;
	close_files(capture);
	free(capture);
	return NULL;
}

void st_capture_cancel(struct st_capture *capture)
{
	/* Its whole group: a tar that ssh feeds ends with it. */
	if (capture->child.pid)
		kill(-capture->child.pid, SIGTERM);
}

void st_capture_end(struct st_capture *capture)
{
	if (!capture)
		return;
	st_capture_cancel(capture);
	st_loop_abandon(capture->loop, &capture->child);
	close_files(capture);
	free(capture);
}
