/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages and progress. Each message is one write, so that lines of ours and lines of the
 * program do not mix in the middle.
 */
#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "cli/command.h"

enum { LINE_MAX_BYTES = 4096, WRAP_WIDTH = 100 };

void st_console_init(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* The lowest free descriptor is fd itself. Wrong direction on purpose: using it fails. */
		if (open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
			return;
	}
}

static void write_all(const char *text, size_t size)
{
	while (size > 0) {
		ssize_t done = write(STDERR_FILENO, text, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		size -= (size_t)done;
	}
}

static void say(const char *prefix, const char *fmt, va_list values)
{
	char text[1024];
	char line[LINE_MAX_BYTES];
	size_t used = 0;

	vsnprintf(text, sizeof(text), fmt, values);
	used = (size_t)snprintf(line, sizeof(line), "strata: %s", prefix);
	for (const char *at = text; *at && used + 6 < sizeof(line); at++) {
		unsigned char byte = (unsigned char)*at;

		if (byte < 0x20 || byte == 0x7f)
			used += (size_t)snprintf(line + used, sizeof(line) - used, "\\x%02x", byte);
		else
			line[used++] = (char)byte;
	}
	line[used++] = '\n';
	write_all(line, used);
}

void st_console_say(const char *fmt, ...)
{
	va_list values;

	va_start(values, fmt);
	say("", fmt, values);
	va_end(values);
}

void st_console_error(const char *fmt, ...)
{
	va_list values;

	va_start(values, fmt);
	say("error: ", fmt, values);
	va_end(values);
}

int st_console_fail(const struct st_error *err)
{
	/* Whoever read our output has gone: nothing to tell them. */
	if (err->status == ST_EIO && err->code == EPIPE)
		return ST_EXIT_FAILED;
	st_console_error("%s", err->text);
	return err->status == ST_EUSAGE ? ST_EXIT_USAGE : ST_EXIT_FAILED;
}

unsigned int st_console_width(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

void st_progress_init(struct st_progress *progress, bool quiet)
{
	progress->begin_ns = st_clock_mono_raw_ns();
	progress->on = !quiet && isatty(STDERR_FILENO);
	progress->shown = false;
}

void st_progress_show(void *arg, double fraction, const char *what)
{
	struct st_progress *progress = arg;
	char line[128];
	int size;

	if (!progress->on || st_clock_mono_raw_ns() - progress->begin_ns < 2000000000u)
		return;
	size = snprintf(line, sizeof(line), "\rstrata: %.60s %3.0f %%\033[K", what, fraction * 100);
	if (size > 0)
		write_all(line, (size_t)size);
	progress->shown = true;
}

void st_progress_fini(struct st_progress *progress)
{
	if (progress->shown)
		write_all("\r\033[K", 4);
	progress->shown = false;
}

void st_console_wrap(const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t size = strcspn(text, " ");

		if (column > indent && column + 1 + size > WRAP_WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)size, text);
		column += size;
		text += size;
		text += strspn(text, " ");
	}
	putchar('\n');
}
