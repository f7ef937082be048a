// SPDX-License-Identifier: Apache-2.0
//
// The meeting place. Its folder is 0700 and locked while we live, so that the next strata can tell an
// abandoned one; the token keeps strangers out of the abstract socket, which has no permissions.
#include "collect/launch/family/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum {
	BACKLOG = 4096,
	PENDING_MAX = 256,
	DESCRIPTORS_MAX = 8, /* room to receive, and close, more than the one we want */
	STALE_AFTER_S = 10,  /* a younger folder may not be locked yet */
	ACCEPT_MAX = 64,     /* per call: the drain must go on */
	RANDOM_CHARS = 6,    /* by mkdtemp, behind the process number */
};

enum {
	MESSAGE_MAX = sizeof(struct st_shm_arm) > sizeof(struct st_shm_hello)
			      ? sizeof(struct st_shm_arm)
			      : sizeof(struct st_shm_hello)
};

static const uint64_t pending_limit_ns = 5000000000u;
static const char folder_prefix[] = "strata-";
/* Everything that may stand in the folder. */
static const char *const file_names[] = {"s", (const char[]){ST_FLAG_PAUSED, '\0'},
					 (const char[]){ST_FLAG_RESUMED, '\0'}};

struct pending {
	int fd;
	uint64_t since_ns;
};

struct st_rendezvous {
	char folder[80];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char abstract[64];
	char token_hex[33];
	uint8_t token[16];
	int folder_fd, path_fd, abstract_fd, epoll_fd;
	struct pending pending[PENDING_MAX];
	unsigned int pending_count;
	uint64_t refused;
	bool crowded; /* there was no descriptor left for a hello */
};

static void remove_files(int folder_fd)
{
	for (size_t i = 0; i < sizeof(file_names) / sizeof(file_names[0]); i++)
		unlinkat(folder_fd, file_names[i], 0);
}

static void remove_stale(const char *base, const char *name)
{
	char path[512];
	struct stat st;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", base, name) >= (int)sizeof(path) - 2)
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    time(NULL) - st.st_mtime > STALE_AFTER_S && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		remove_files(fd);
		rmdir(path);
	}
	close(fd);
}

/* "strata-4711-aB3xY9": other folders whose names begin like that are not ours. */
static bool is_folder_name(const char *name)
{
	size_t digits, random;

	if (strncmp(name, folder_prefix, sizeof(folder_prefix) - 1) != 0)
		return false;
	name += sizeof(folder_prefix) - 1;
	digits = strspn(name, "0123456789");
	if (!digits || name[digits] != '-')
		return false;
	name += digits + 1;
	random = strspn(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
	return random == RANDOM_CHARS && !name[random];
}

static void remove_all_stale(const char *base)
{
	DIR *stream = opendir(base);
	struct dirent *entry;

	if (!stream)
		return;
	while ((entry = readdir(stream)) != NULL)
		if (is_folder_name(entry->d_name))
			remove_stale(base, entry->d_name);
	closedir(stream);
}

static bool make_folder_in(struct st_rendezvous *rendezvous, const char *base)
{
	if (!base || base[0] != '/' ||
	    snprintf(rendezvous->folder, sizeof(rendezvous->folder), "%s/%s%d-XXXXXX", base,
		     folder_prefix, (int)getpid()) >= (int)sizeof(rendezvous->folder) ||
	    !mkdtemp(rendezvous->folder)) {
		rendezvous->folder[0] = '\0';
		return false;
	}
	rendezvous->folder_fd = open(rendezvous->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rendezvous->folder_fd >= 0)
		flock(rendezvous->folder_fd, LOCK_EX | LOCK_NB);
	remove_all_stale(base);
	return true;
}

static int listen_on(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int code;

	if (fd < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)address, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	code = errno;
	close(fd);
	errno = code;
	return -1;
}

static enum st_status open_sockets(struct st_rendezvous *rendezvous, struct st_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length;

	snprintf(rendezvous->path, sizeof(rendezvous->path), "%s/s", rendezvous->folder);
	memcpy(address.sun_path, rendezvous->path, sizeof(rendezvous->path));
	rendezvous->path_fd = listen_on(&address, sizeof(address));
	if (rendezvous->path_fd < 0)
		return st_error_set(err, ST_EIO, errno, "cannot listen on %s", rendezvous->path);
	chmod(rendezvous->path, 0600);
	/* The name is told apart from others by the folder's random part. */
	snprintf(rendezvous->abstract, sizeof(rendezvous->abstract), "%s",
		 strrchr(rendezvous->folder, '/') + 1);
	length = strlen(rendezvous->abstract);
	memset(address.sun_path, 0, sizeof(address.sun_path));
	memcpy(address.sun_path + 1, rendezvous->abstract, length);
	/* Not having the twin only loses the processes that cannot see the folder. */
	rendezvous->abstract_fd = listen_on(
		&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	return ST_OK;
}

static bool watch(struct st_rendezvous *rendezvous, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 || epoll_ctl(rendezvous->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void make_token(struct st_rendezvous *rendezvous)
{
	if (getrandom(rendezvous->token, sizeof(rendezvous->token), 0) !=
	    (ssize_t)sizeof(rendezvous->token)) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		memcpy(rendezvous->token, &now, sizeof(rendezvous->token));
	}
	for (size_t i = 0; i < sizeof(rendezvous->token); i++)
		snprintf(rendezvous->token_hex + 2 * i, 3, "%02x", rendezvous->token[i]);
}

enum st_status st_rendezvous_create(struct st_rendezvous **out, struct st_error *err)
{
	struct st_rendezvous *rendezvous = calloc(1, sizeof(*rendezvous));
	enum st_status status;

	*out = NULL;
	if (!rendezvous)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	rendezvous->folder_fd = rendezvous->path_fd = rendezvous->abstract_fd = -1;
	make_token(rendezvous);
	rendezvous->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!make_folder_in(rendezvous, getenv("XDG_RUNTIME_DIR")) &&
	    !make_folder_in(rendezvous, getenv("TMPDIR")) && !make_folder_in(rendezvous, "/tmp"))
		status = st_error_set(
			err, ST_EIO, errno,
			"cannot create a run-time folder in XDG_RUNTIME_DIR, TMPDIR or /tmp");
	else
		status = open_sockets(rendezvous, err);
	if (!status && (rendezvous->epoll_fd < 0 || !watch(rendezvous, rendezvous->path_fd) ||
			!watch(rendezvous, rendezvous->abstract_fd)))
		status = st_error_set(err, ST_EIO, errno, "epoll");
	if (status) {
		st_rendezvous_destroy(rendezvous);
		return status;
	}
	*out = rendezvous;
	return ST_OK;
}

void st_rendezvous_destroy(struct st_rendezvous *rendezvous)
{
	if (!rendezvous)
		return;
	for (unsigned int i = 0; i < rendezvous->pending_count; i++)
		close(rendezvous->pending[i].fd);
	if (rendezvous->path_fd >= 0) {
		close(rendezvous->path_fd);
		unlink(rendezvous->path);
	}
	if (rendezvous->abstract_fd >= 0)
		close(rendezvous->abstract_fd);
	if (rendezvous->epoll_fd >= 0)
		close(rendezvous->epoll_fd);
	if (rendezvous->folder_fd >= 0)
		remove_files(rendezvous->folder_fd);
	if (rendezvous->folder[0])
		rmdir(rendezvous->folder);
	if (rendezvous->folder_fd >= 0)
		close(rendezvous->folder_fd);
	free(rendezvous);
}

int st_rendezvous_fd(const struct st_rendezvous *rendezvous)
{
	return rendezvous->epoll_fd;
}

const char *st_rendezvous_path(const struct st_rendezvous *rendezvous)
{
	return rendezvous->path;
}

const char *st_rendezvous_abstract(const struct st_rendezvous *rendezvous)
{
	return rendezvous->abstract;
}

const char *st_rendezvous_token(const struct st_rendezvous *rendezvous)
{
	return rendezvous->token_hex;
}

uint64_t st_rendezvous_refused(const struct st_rendezvous *rendezvous)
{
	return rendezvous->refused;
}

bool st_rendezvous_crowded(const struct st_rendezvous *rendezvous)
{
	return rendezvous->crowded;
}

/* The others keep their order: what a process says first must be heard first. */
static void drop_pending(struct st_rendezvous *rendezvous, unsigned int index)
{
	struct pending *at = &rendezvous->pending[index];

	close(at->fd); /* leaves the epoll set by itself */
	rendezvous->pending_count--;
	memmove(at, at + 1, (rendezvous->pending_count - index) * sizeof(*at));
}

static void accept_from(struct st_rendezvous *rendezvous, int listener, uint64_t now_ns)
{
	for (int i = 0; listener >= 0 && i < ACCEPT_MAX; i++) {
		int fd;

		if (rendezvous->pending_count == PENDING_MAX)
			return; /* they wait in the backlog; silent ones time out */
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			rendezvous->crowded |= errno == EMFILE || errno == ENFILE;
			return;
		}
		watch(rendezvous, fd);
		rendezvous->pending[rendezvous->pending_count++] =
			(struct pending){.fd = fd, .since_ns = now_ns};
	}
}

/* Takes the one descriptor out of a message; -1 and everything closed when it is not exactly one. *count:
 * how many there were. */
static int take_descriptor(struct msghdr *message, unsigned int *found)
{
	int fds[DESCRIPTORS_MAX];
	unsigned int count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		unsigned int n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (unsigned int i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (count < DESCRIPTORS_MAX)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	*found = count + ((message->msg_flags & MSG_CTRUNC) != 0);
	if (count == 1 && !(message->msg_flags & MSG_CTRUNC))
		return fds[0];
	while (count)
		close(fds[--count]);
	return -1;
}

static int open_pidfd(int socket_fd, pid_t pid)
{
	socklen_t size = sizeof(int);
	int fd = -1;

	/* The socket's own knowledge cannot name a stranger that took over the number. */
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0 && fd >= 0) {
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		return fd;
	}
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static bool has_what_it_brings(const struct st_arrival *arrival, unsigned int descriptors)
{
	return arrival->hello.flags & ST_HELLO_NO_MEMORY ? descriptors == 0 : arrival->fd >= 0;
}

static bool is_whole(const struct st_rendezvous *rendezvous, ssize_t size,
		     const struct st_arrival *arrival, unsigned int descriptors)
{
	if (arrival->arms)
		return size == (ssize_t)sizeof(arrival->arm) && descriptors <= 1 &&
		       memcmp(arrival->arm.token, rendezvous->token, sizeof(rendezvous->token)) ==
			       0;
	return size == (ssize_t)sizeof(arrival->hello) &&
	       has_what_it_brings(arrival, descriptors) && arrival->hello.process_token != 0 &&
	       memcmp(arrival->hello.token, rendezvous->token, sizeof(rendezvous->token)) == 0;
}

/* Judges one message; true when it is an arrival. Both kinds begin with magic and layout. */
static bool judge(struct st_rendezvous *rendezvous, int socket_fd, ssize_t size,
		  struct msghdr *message, struct st_arrival *arrival)
{
	struct ucred peer = {0};
	socklen_t peer_size = sizeof(peer);
	bool known_magic =
		size >= (ssize_t)offsetof(struct st_shm_hello, segment_index) &&
		(arrival->hello.magic == ST_SHM_MAGIC || arrival->hello.magic == ST_SHM_ARM_MAGIC);
	unsigned int descriptors = 0;

	arrival->arms = known_magic && arrival->hello.magic == ST_SHM_ARM_MAGIC;
	arrival->fd = take_descriptor(message, &descriptors);
	/* The kernel leaves out what it has no descriptor for; a hello brings one. */
	rendezvous->crowded |= arrival->fd < 0 && (message->msg_flags & MSG_CTRUNC);
	arrival->pidfd = -1;
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0)
		goto refuse;
	arrival->pid = peer.pid;
	arrival->uid = peer.uid;
	if (!known_magic || (peer.uid != geteuid() && geteuid() != 0))
		goto refuse;
	arrival->layout_differs = arrival->hello.layout_hash != ST_SHM_LAYOUT_HASH;
	if (arrival->layout_differs) {
		if (arrival->fd >= 0)
			close(arrival->fd);
		arrival->fd = -1;
		return true;
	}
	if (!is_whole(rendezvous, size, arrival, descriptors))
		goto refuse;
	arrival->pidfd = open_pidfd(socket_fd, arrival->pid);
	return true;
refuse:
	if (arrival->fd >= 0)
		close(arrival->fd);
	rendezvous->refused++;
	return false;
}

/* Reads from one client. True when it is done with: *arrived then says whether it was an arrival. */
static bool hear(struct st_rendezvous *rendezvous, const struct pending *client,
		 struct st_arrival *arrival, bool *arrived)
{
	alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
	struct iovec part = {.iov_base = &arrival->hello, .iov_len = MESSAGE_MAX};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t n;

	*arrived = false;
	memset(arrival, 0, sizeof(*arrival));
	n = recvmsg(client->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	if (n > 0 && (message.msg_flags & MSG_TRUNC))
		n = (ssize_t)MESSAGE_MAX + 1;
	if (n > 0)
		*arrived = judge(rendezvous, client->fd, n, &message, arrival);
	return true;
}

void st_rendezvous_flag(struct st_rendezvous *rendezvous, char name, bool on)
{
	const char path[] = {name, '\0'};
	int fd;

	if (!on) {
		unlinkat(rendezvous->folder_fd, path, 0);
		return;
	}
	/* If it cannot be made, a new process learns it when its hello is taken in. */
	fd = openat(rendezvous->folder_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

bool st_rendezvous_next(struct st_rendezvous *rendezvous, uint64_t now_ns,
			struct st_arrival *arrival)
{
	accept_from(rendezvous, rendezvous->path_fd, now_ns);
	accept_from(rendezvous, rendezvous->abstract_fd, now_ns);
	for (unsigned int i = 0; i < rendezvous->pending_count;) {
		struct pending *client = &rendezvous->pending[i];
		bool arrived;

		if (hear(rendezvous, client, arrival, &arrived)) {
			drop_pending(rendezvous, i);
			if (arrived)
				return true;
		} else if (now_ns - client->since_ns > pending_limit_ns) {
			rendezvous->refused++;
			drop_pending(rendezvous, i);
		} else {
			i++;
		}
	}
	return false;
}
