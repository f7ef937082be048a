/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that leads to the page, and the program of the desktop that opens it (serve/http/browser.h).
 */
#include "serve/http/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "export/markup.h"
#include "serve/http/loop.h"

enum { PAGE_MAX_BYTES = 16 << 10 };

/* No script is needed for it, and none could be forbidden. */
static void fill_page(struct st_buf *page, const char *address)
{
	st_buf_append_text(page, "<!doctype html>\n<meta charset=\"utf-8\">\n"
				 "<meta name=\"referrer\" content=\"no-referrer\">\n"
				 "<meta http-equiv=\"refresh\" content=\"0; url=");
	st_markup_escape(page, address, strlen(address));
	st_buf_append_text(page, "\">\n<title>Strata</title>\n<a href=\"");
	st_markup_escape(page, address, strlen(address));
	st_buf_append_text(page, "\">Open Strata</a>\n");
}

static enum st_status write_page(const char *path, const char *address, struct st_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	enum st_status status = ST_OK;
	struct st_buf page;

	if (fd < 0)
		return st_error_set(err, ST_EIO, errno, "cannot create %.300s", path);
	st_buf_init(&page, PAGE_MAX_BYTES);
	fill_page(&page, address);
	if (page.failed || write(fd, page.data, page.size_bytes) != (ssize_t)page.size_bytes)
		status = st_error_set(err, ST_EIO, errno, "cannot write %.300s", path);
	close(fd);
	st_buf_fini(&page);
	return status;
}

enum st_status st_browser_open(struct st_loop *loop, const char *path, const char *address,
			       struct st_error *err)
{
	const char *const argv[] = {"xdg-open", path, NULL};
	enum st_status status = write_page(path, address, err);
	struct st_child child = {0};

	if (!status)
		status = st_loop_spawn(
			loop, &child,
			&(struct st_child_start){.argv = (char *const *)(uintptr_t)argv,
						 .folder_fd = -1,
						 .in_fd = -1,
						 .out_fd = -1,
						 .err_fd = -1,
						 .extra_fd = -1,
						 .own_group = true},
			err);
	st_loop_abandon(loop, &child);
	return status;
}
