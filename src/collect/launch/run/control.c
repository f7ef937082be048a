// SPDX-License-Identifier: Apache-2.0
//
// The socket side of "strata -command": accepts, checks who asks and what, hands on one request at a
// time. Bytes from a client are hostile; there are at most CLIENTS_MAX of them, each for a few seconds.
#include "collect/launch/run/control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CLIENTS_MAX = 8,
	ACCEPT_MAX = 16, /* per call: the drain must go on */
	BACKLOG = 64,
};

static const uint64_t client_limit_ns = 5000000000u;

struct client {
	int fd;
	uint64_t since_ns;
	bool trusted; /* our user, or root */
};

struct st_control {
	int folder_fd, listen_fd, epoll_fd;
	bool has_file;
	dev_t device;
	ino_t inode;
	struct client clients[CLIENTS_MAX];
	unsigned int client_count;
	int asking_fd; /* whose request was handed out; -1: nobody's */
};

/* Through /proc the path is short, whatever the folder is called: an address holds 107 bytes. */
static socklen_t path_address(struct sockaddr_un *out, int folder_fd, const char *name)
{
	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	snprintf(out->sun_path, sizeof(out->sun_path), "/proc/self/fd/%d/%s", folder_fd, name);
	return sizeof(*out);
}

socklen_t st_control_path_address(struct sockaddr_un *out, int folder_fd)
{
	return path_address(out, folder_fd, ST_CONTROL_FILE);
}

socklen_t st_control_abstract_address(struct sockaddr_un *out, const char *id_hex)
{
	int length;

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	length = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "strata-control-%.32s",
			  id_hex);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool listen_at(struct st_control *control, const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int code;

	if (fd < 0)
		return false;
	fchmod(fd, 0600); /* before the bind: nobody else may ever connect */
	if (bind(fd, (const struct sockaddr *)address, size) == 0 && listen(fd, BACKLOG) == 0) {
		control->listen_fd = fd;
		return true;
	}
	code = errno;
	close(fd);
	errno = code;
	return false;
}

/* Where another file has the new name, that stays. Network file systems cannot say so to a rename. */
static bool rename_alone(int folder_fd, const char *from, const char *to)
{
	if (renameat2(folder_fd, from, folder_fd, to, RENAME_NOREPLACE) == 0)
		return true;
	if ((errno != EINVAL && errno != ENOSYS) || linkat(folder_fd, from, folder_fd, to, 0) != 0)
		return false;
	unlinkat(folder_fd, from, 0);
	return true;
}

/* The file comes under its name when somebody listens: who sees it is never refused. */
static bool listen_in_folder(struct st_control *control)
{
	static const char unnamed[] = ST_CONTROL_FILE ".new";
	struct sockaddr_un address;
	socklen_t size = path_address(&address, control->folder_fd, unnamed);

	if (!listen_at(control, &address, size))
		return false;
	if (rename_alone(control->folder_fd, unnamed, ST_CONTROL_FILE))
		return true;
	unlinkat(control->folder_fd, unnamed, 0);
	close(control->listen_fd);
	control->listen_fd = -1;
	return false;
}

static bool watch(const struct st_control *control, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static enum st_status open_all(struct st_control *control, const char *folder, const char *id_hex,
			       struct st_error *err)
{
	struct sockaddr_un address;
	socklen_t size;
	struct stat st;

	control->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (control->folder_fd < 0 || fstat(control->folder_fd, &st) != 0)
		return st_error_set(err, ST_EIO, errno, "%s", folder);
	control->device = st.st_dev;
	control->inode = st.st_ino;
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (control->epoll_fd < 0)
		return st_error_set(err, ST_EIO, errno, "epoll");
	control->has_file = listen_in_folder(control);
	if (!control->has_file) {
		size = st_control_abstract_address(&address, id_hex);
		if (!listen_at(control, &address, size))
			return st_error_set(err, ST_EIO, errno, "cannot listen for -command");
	}
	if (!watch(control, control->listen_fd))
		return st_error_set(err, ST_EIO, errno, "epoll");
	return ST_OK;
}

enum st_status st_control_create(struct st_control **out, const char *folder, const char *id_hex,
				 struct st_error *err)
{
	struct st_control *control = calloc(1, sizeof(*control));
	enum st_status status;

	*out = NULL;
	if (!control)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	control->folder_fd = control->listen_fd = control->epoll_fd = control->asking_fd = -1;
	status = open_all(control, folder, id_hex, err);
	if (status)
		st_control_destroy(control);
	else
		*out = control;
	return status;
}

void st_control_destroy(struct st_control *control)
{
	if (!control)
		return;
	if (control->has_file)
		unlinkat(control->folder_fd, ST_CONTROL_FILE, 0);
	for (unsigned int i = 0; i < control->client_count; i++)
		close(control->clients[i].fd);
	if (control->asking_fd >= 0)
		close(control->asking_fd);
	if (control->listen_fd >= 0)
		close(control->listen_fd);
	if (control->epoll_fd >= 0)
		close(control->epoll_fd);
	if (control->folder_fd >= 0)
		close(control->folder_fd);
	free(control);
}

int st_control_fd(const struct st_control *control)
{
	return control->epoll_fd;
}

static void send_answer(int fd, bool done, const char *text)
{
	char packet[ST_CONTROL_ANSWER_MAX];
	int size = snprintf(packet, sizeof(packet), "%s%s%s", done ? "ok" : "error",
			    text[0] ? " " : "", text);

	if (size >= (int)sizeof(packet))
		size = (int)sizeof(packet) - 1;
	/* A client that is gone, or does not read, has had its chance. */
	send(fd, packet, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool is_trusted(int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

/* A socket closed with something unread resets the other end, which then never sees the answer. */
static void refuse(int fd)
{
	char unread[1];

	send_answer(fd, false, "too many commands at once; try again");
	recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
	close(fd);
}

static void accept_clients(struct st_control *control, uint64_t now_ns)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (control->client_count == CLIENTS_MAX || !watch(control, fd)) {
			refuse(fd);
			continue;
		}
		control->clients[control->client_count++] =
			(struct client){.fd = fd, .since_ns = now_ns, .trusted = is_trusted(fd)};
	}
}

/* Reads a decimal number and the blank behind it. */
static bool take_number(const char **at, uint64_t *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*out = strtoull(*at, &end, 10);
	if (errno || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

/* Takes a packet apart; the sentence that says what is wrong with it, or NULL. */
static const char *parse(const struct st_control *control, const char *packet,
			 struct st_control_request *request)
{
	static const char head[] = ST_CONTROL_PROTOCOL " ";
	const char *at = packet + sizeof(head) - 1;
	uint64_t device, inode;
	size_t length;

	if (strncmp(packet, head, sizeof(head) - 1) != 0 || !take_number(&at, &device) ||
	    !take_number(&at, &inode))
		return "this version of strata does not know this command";
	if (device != (uint64_t)control->device || inode != (uint64_t)control->inode)
		return "this folder is a copy: the collection writes to a different folder";
	length = strcspn(at, " ");
	if (length == 0 || length >= sizeof(request->verb))
		return "this version of strata does not know this command";
	memcpy(request->verb, at, length);
	request->verb[length] = '\0';
	at += length + (at[length] == ' ');
	length = strlen(at);
	if (length > ST_CONTROL_TEXT_MAX)
		return "the text is too long";
	memcpy(request->text, at, length + 1);
	return NULL;
}

/* True when the client is done with; *asked then says whether it left a request. */
static bool hear(struct st_control *control, const struct client *client,
		 struct st_control_request *request, bool *asked)
{
	char packet[ST_CONTROL_REQUEST_MAX + 1];
	const char *wrong;
	ssize_t n = recv(client->fd, packet, ST_CONTROL_REQUEST_MAX, MSG_DONTWAIT | MSG_TRUNC);

	*asked = false;
	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	if (n == 0)
		return true;
	if (n > ST_CONTROL_REQUEST_MAX) {
		wrong = "the text is too long";
	} else {
		packet[n] = '\0';
		wrong = strlen(packet) != (size_t)n
				? "this version of strata does not know this command"
				: parse(control, packet, request);
	}
	if (!client->trusted)
		wrong = "the collection belongs to another user";
	if (wrong)
		send_answer(client->fd, false, wrong);
	*asked = !wrong;
	return true;
}

static void forget(struct st_control *control, unsigned int i)
{
	control->clients[i] = control->clients[--control->client_count];
}

bool st_control_next(struct st_control *control, uint64_t now_ns,
		     struct st_control_request *request)
{
	accept_clients(control, now_ns);
	for (unsigned int i = 0; i < control->client_count;) {
		struct client client = control->clients[i];
		bool asked;

		if (hear(control, &client, request, &asked)) {
			forget(control, i);
			if (asked) {
				control->asking_fd = client.fd;
				return true;
			}
			close(client.fd);
		} else if (now_ns - client.since_ns > client_limit_ns) {
			forget(control, i);
			close(client.fd);
		} else {
			i++;
		}
	}
	return false;
}

void st_control_answer(struct st_control *control, bool done, const char *text)
{
	if (control->asking_fd < 0)
		return;
	send_answer(control->asking_fd, done, text);
	close(control->asking_fd);
	control->asking_fd = -1;
}
