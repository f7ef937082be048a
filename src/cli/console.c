/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages and progress. Each message is one write, so that lines of ours and lines of the
 * program do not mix in the middle.
 */
#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/leftover.h"
#include "base/rt/clock.h"
#include "cli/commands.h"
#include "request/command.h"
#include "request/options.h"

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

static bool is_control(char byte)
{
	return (unsigned char)byte < 0x20 || byte == 0x7f;
}

char st_console_harmless(char byte)
{
	return is_control(byte) ? '?' : byte;
}

static void say(const char *prefix, const char *fmt, va_list values)
{
	char text[1024];
	char line[LINE_MAX_BYTES];
	size_t used = 0;

	vsnprintf(text, sizeof(text), fmt, values);
	used = (size_t)snprintf(line, sizeof(line), "strata: %s", prefix);
	for (const char *at = text; *at && used + 6 < sizeof(line); at++) {
		if (is_control(*at))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "\\x%02x",
						 (unsigned char)*at);
		else
			line[used++] = *at;
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

static bool wants_colour(void)
{
	const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(refused && *refused) && term && strcmp(term, "dumb") != 0;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/* Whether the shell finds this program when only its name is typed. */
static bool is_on_path(const char *program)
{
	char path[PATH_MAX];

	return st_command_on_path(strrchr(program, '/') + 1, path, sizeof(path)) &&
	       is_same_file(path, program);
}

/* What a command that we print begins with, so that it can be pasted. */
static const char *own_name(const char *typed)
{
	return typed && strchr(typed, '/') && !is_on_path(typed) ? typed : NULL;
}

void st_console_equip(struct st_args *args)
{
	args->program = args->argc ? own_name(args->argv[0]) : NULL;
	args->progress = st_progress_show;
	args->screen_width = st_console_width(STDOUT_FILENO);
	args->has_colour = args->screen_width && wants_colour();
}

void st_console_say_lines(const char *word, const struct st_buf *lines)
{
	const char *at = (const char *)lines->data, *end = at + lines->size_bytes, *stop;

	for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
		st_console_say("%s: %.*s", word, (int)(stop - at), at);
}

/* What the handlers below know. */
static volatile sig_atomic_t line_shown;
static uint64_t progress_begin_ns; /* 0: nobody is to see any */
static void (*instead_of_end)(int number);
static const char *busy_what = "";
static uint64_t busy_begin_ns;

static void clear_line(void)
{
	if (line_shown)
		write_all("\r\033[K", 4);
	line_shown = 0;
}

static void on_end(int number)
{
	st_leftover_remove_all();
	clear_line();
	if (instead_of_end)
		instead_of_end(number);
	/* The handler is gone (SA_RESETHAND); the signal acts when it is let through again. */
	raise(number);
}

void st_console_catch_ends(void (*instead)(int number))
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND}, before;

	instead_of_end = instead;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

/* "\rstrata: what, 12 s", with nothing that a signal handler may not call. */
static void on_tick(int number)
{
	unsigned long long seconds = (st_clock_mono_raw_ns() - busy_begin_ns) / 1000000000u;
	char line[128] = "\rstrata: ", digits[24];
	size_t used = strlen(line), count = 0;
	int code = errno;

	(void)number;
	for (const char *at = busy_what; *at && used < 80; at++)
		line[used++] = *at;
	line[used++] = ',';
	line[used++] = ' ';
	do
		digits[count++] = (char)('0' + seconds % 10);
	while (seconds /= 10);
	while (count)
		line[used++] = digits[--count];
	memcpy(line + used, " s\033[K", 5);
	line_shown = 1;
	write_all(line, used + 5);
	errno = code;
}

void st_busy_begin(bool quiet, const char *what)
{
	static const struct itimerval times = {.it_value = {.tv_sec = 2},
					       .it_interval = {.tv_sec = 1}};
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};

	st_progress_begin(quiet);
	if (!progress_begin_ns)
		return;
	busy_what = what;
	busy_begin_ns = st_clock_mono_raw_ns();
	sigemptyset(&action.sa_mask);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &times, NULL);
}

void st_busy_end(void)
{
	static const struct itimerval none;

	setitimer(ITIMER_REAL, &none, NULL);
	st_progress_end();
}

void st_progress_begin(bool quiet)
{
	progress_begin_ns = !quiet && isatty(STDERR_FILENO) ? st_clock_mono_raw_ns() : 0;
}

void st_progress_show(void *unused, double fraction, const char *what)
{
	char line[128];
	int size;

	(void)unused;
	if (!progress_begin_ns || st_clock_mono_raw_ns() - progress_begin_ns < 2000000000u)
		return;
	size = snprintf(line, sizeof(line), "\rstrata: %.60s %3.0f %%\033[K", what, fraction * 100);
	line_shown = 1;
	if (size > 0)
		write_all(line, (size_t)size);
}

void st_progress_end(void)
{
	progress_begin_ns = 0;
	clear_line();
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
