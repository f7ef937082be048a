/* SPDX-License-Identifier: Apache-2.0
 *
 * strata command: asks a running collection to do something, and waits for its answer. The other side is
 * collect/launch/run/control.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "request/locate.h"
#include "request/options.h"
#include "collect/launch/run/control.h"
#include "store/peek.h"
#include "store/writer.h"

enum {
	ANSWER_MS = 10000,
	/* A result is complete within moments, but the disk may be slow. */
	END_MS = 120000,
};

struct request {
	const struct st_verb *verb;
	char *path;	    /* of the result; owned */
	struct st_buf text; /* of a mark, not terminated; or how status is to be told */
	bool quiet;
};

const struct st_verb st_verbs[] = {
	{"pause", "Stop recording in all processes of the program until resume."},
	{"resume", "Resume recording; also ends -start-paused."},
	{"mark", "Add a marker with the given text to the result."},
	{"status", "Show the state of the collection (-format text or json)."},
	{"stop", "Stop the collection and complete the result; the program keeps running."},
	{"detach", "Same as stop."},
	{NULL, NULL},
};

static enum st_status find_verb(const char *typed, struct request *request, struct st_error *err)
{
	char near[160];

	request->verb = st_row_find(st_verbs, sizeof(*st_verbs), typed);
	if (request->verb)
		return ST_OK;
	st_row_near(st_verbs, sizeof(*st_verbs), typed, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown command verb '%.80s'%s", typed,
			    near[0] ? near
				    : "; expected pause, resume, mark, status, stop or detach");
}

static bool is_verb(const struct request *request, const char *name)
{
	return strcmp(request->verb->name, name) == 0;
}

static bool is_result(const char *word)
{
	struct st_buf path;
	struct stat about;
	bool is;

	st_buf_init(&path, 1 << 16);
	st_buf_printf(&path, "%s/result.json", word);
	st_buf_append_u8(&path, '\0');
	is = !path.failed && stat((const char *)path.data, &about) == 0;
	st_buf_fini(&path);
	return is;
}

/* The words of a mark are its text; the last one may name the result instead. */
static enum st_status take_text(struct request *request, char *const *words, size_t count,
				struct st_error *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += strlen(words[i]) + (i > 0);
		if (i)
			st_buf_append_u8(&request->text, ' ');
		st_buf_append_text(&request->text, words[i]);
	}
	if (bytes > ST_CONTROL_TEXT_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "mark: the text is longer than %d bytes",
				    ST_CONTROL_TEXT_MAX);
	if (!count)
		st_buf_append_text(&request->text, "mark");
	return request->text.failed ? st_error_set(err, ST_ENOMEM, 0, "out of memory") : ST_OK;
}

static enum st_status take_format(const struct st_args *args, struct request *request,
				  struct st_error *err)
{
	const char *format = st_args_value(args, ST_OPT_FORMAT);

	if (!format)
		format = "text";
	else if (!is_verb(request, "status"))
		return st_error_set(err, ST_EUSAGE, 0,
				    "-format is only valid with status, not with %s",
				    request->verb->name);
	if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-format: expected text or json for status, not '%.40s'",
				    format);
	if (is_verb(request, "status") && !st_buf_append_text(&request->text, format))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	return ST_OK;
}

static enum st_status take_result(const struct st_args *args, struct request *request,
				  const char *word, struct st_error *err)
{
	const char *given;
	enum st_status status = st_locate_name(&given, args, word, err);

	if (status)
		return status;
	if (!given)
		return st_result_newest(".", &request->path, err);
	request->path = strdup(given);
	return request->path ? ST_OK : st_error_set(err, ST_ENOMEM, 0, "out of memory");
}

static enum st_status parse_request(const struct st_args *args, struct request *request,
				    struct st_error *err)
{
	const char *typed = st_args_value(args, ST_OPT_COMMAND), *word = NULL;
	char **words = args->words;
	size_t count = args->word_count;
	enum st_status status;

	if (!typed && count) {
		typed = *words++;
		count--;
	}
	if (!typed)
		return st_error_set(err, ST_EUSAGE, 0,
				    "command requires a verb: strata command "
				    "pause|resume|mark|status|stop|detach [-r RESULT]");
	status = find_verb(typed, request, err);
	if (status)
		return status;
	request->quiet = st_args_flag(args, ST_OPT_QUIET, false);
	if (is_verb(request, "mark")) {
		if (count && !st_args_has(args, ST_OPT_RESULT_DIR) && is_result(words[count - 1]))
			word = words[--count];
		status = take_text(request, words, count, err);
		count = 0;
	} else if (count) {
		word = *words++;
		count--;
	}
	if (!status && count)
		return st_error_set(err, ST_EUSAGE, 0,
				    "unexpected argument '%.80s': only one result can be given",
				    *words);
	if (!status)
		status = take_format(args, request, err);
	return status ? status : take_result(args, request, word, err);
}

static enum st_status ended(const char *path, struct st_error *err)
{
	return st_error_set(err, ST_ENOTFOUND, 0, "%s: this collection has already ended", path);
}

static enum st_status torn(const char *path, struct st_error *err)
{
	return st_error_set(err, ST_ENOTFOUND, 0,
			    "%s is incomplete: the strata that recorded it was killed, so nothing "
			    "is being recorded",
			    path);
}

/* Whether result.json now says why there is no answer: an error then. */
static enum st_status look_again(const char *path, struct st_error *err)
{
	struct st_peek peek;
	enum st_status status = st_result_peek(&peek, path, err);

	if (status)
		return status;
	close(peek.folder_fd);
	if (peek.state == ST_PEEK_FINISHED)
		return ended(path, err);
	return peek.state == ST_PEEK_TORN ? torn(path, err) : ST_OK;
}

static enum st_status nobody(const char *path, struct st_error *err)
{
	enum st_status status = look_again(path, err);

	if (status)
		return status;
	return st_error_set(err, ST_ENOTFOUND, 0,
			    "%s: no running collection writes to this folder; commands work only "
			    "on the original result folder, on the machine that records it",
			    path);
}

static enum st_status reach(int fd, const struct st_peek *peek, const char *path,
			    struct st_error *err)
{
	struct sockaddr_un address;
	socklen_t size = st_control_path_address(&address, peek->folder_fd);

	if (connect(fd, (const struct sockaddr *)&address, size) == 0)
		return ST_OK;
	if (errno == EACCES || errno == EPERM)
		return st_error_set(err, ST_EIO, 0, "%s: the collection belongs to another user",
				    path);
	if (errno == ENOENT || errno == ENOTDIR) {
		size = st_control_abstract_address(&address, peek->id_hex);
		if (connect(fd, (const struct sockaddr *)&address, size) == 0)
			return ST_OK;
	}
	if (errno == EAGAIN)
		return st_error_set(err, ST_EIO, 0, "%s: too many commands at once; try again",
				    path);
	return nobody(path, err);
}

static enum st_status send_request(int fd, const struct st_peek *peek,
				   const struct request *request, struct st_error *err)
{
	struct st_buf packet;
	struct stat about;
	ssize_t sent = -1;

	if (fstat(peek->folder_fd, &about) != 0)
		return st_error_set(err, ST_EIO, errno, "%s", request->path);
	st_buf_init(&packet, ST_CONTROL_REQUEST_MAX);
	st_buf_printf(&packet, "%s %llu %llu %s", ST_CONTROL_PROTOCOL,
		      (unsigned long long)about.st_dev, (unsigned long long)about.st_ino,
		      request->verb->name);
	if (request->text.size_bytes) {
		st_buf_append_u8(&packet, ' ');
		st_buf_append(&packet, request->text.data, request->text.size_bytes);
	}
	if (!packet.failed)
		sent = send(fd, packet.data, packet.size_bytes, MSG_NOSIGNAL);
	st_buf_fini(&packet);
	if (packet.failed)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
		return st_error_set(err, ST_EIO, errno, "%s: cannot send the command",
				    request->path);
	return ST_OK;
}

/* The server's texts hold paths, which may hold anything: nothing of them steers a terminal. */
static void print_answer(const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if ((byte < 0x20 && byte != '\n') || byte == 0x7f)
			printf("\\x%02x", byte);
		else
			putchar(byte);
	}
	putchar('\n');
}

/* The other side closed without an answer: it has just finished, or died, or had too much to do. */
static enum st_status hung_up(const char *path, struct st_error *err)
{
	enum st_status status = look_again(path, err);

	return status ? status : st_error_set(err, ST_EIO, 0, "%s: no response; try again", path);
}

static enum st_status take_answer(int fd, const struct request *request, const struct st_peek *peek,
				  struct st_error *err)
{
	bool ends = is_verb(request, "stop") || is_verb(request, "detach");
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	char answer[ST_CONTROL_ANSWER_MAX + 1];
	ssize_t n;
	int ready;

	do
		ready = poll(&wait, 1, ends ? END_MS : ANSWER_MS);
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return st_error_set(err, ST_EIO, 0,
				    "%s: strata (pid %llu) does not respond; is it suspended?",
				    request->path, (unsigned long long)peek->strata_pid);
	n = ready < 0 ? -1 : recv(fd, answer, sizeof(answer) - 1, 0);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return hung_up(request->path, err);
	if (n < 0)
		return st_error_set(err, ST_EIO, errno, "%s: no response", request->path);
	answer[n] = '\0';
	if (strncmp(answer, "error ", 6) == 0)
		return st_error_set(err, ST_EIO, 0, "%s: %s", request->path, answer + 6);
	if (strncmp(answer, "ok", 2) != 0 || (answer[2] && answer[2] != ' '))
		return st_error_set(err, ST_EIO, 0, "%s: unexpected response: not from strata",
				    request->path);
	if (is_verb(request, "status"))
		print_answer(answer[2] ? answer + 3 : "");
	else if (!request->quiet)
		st_console_say("%s: %s", request->path, answer[2] ? answer + 3 : "done");
	return ST_OK;
}

static enum st_status ask(const struct request *request, struct st_error *err)
{
	struct st_peek peek;
	enum st_status status = st_result_peek(&peek, request->path, err);
	int fd;

	if (status)
		return status;
	if (peek.state == ST_PEEK_FINISHED) {
		close(peek.folder_fd);
		return ended(request->path, err);
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		status = st_error_set(err, ST_EIO, errno, "cannot create a socket");
	else
		status = reach(fd, &peek, request->path, err);
	if (!status)
		status = send_request(fd, &peek, request, err);
	if (!status)
		status = take_answer(fd, request, &peek, err);
	if (fd >= 0)
		close(fd);
	close(peek.folder_fd);
	return status;
}

int st_cmd_command(const struct st_args *args)
{
	struct st_error err = {0};
	struct request request = {0};
	enum st_status status;

	st_buf_init(&request.text, ST_CONTROL_TEXT_MAX);
	status = parse_request(args, &request, &err);
	if (status == ST_OK)
		status = ask(&request, &err);
	st_buf_fini(&request.text);
	free(request.path);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
