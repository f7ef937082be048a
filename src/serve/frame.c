/* SPDX-License-Identifier: Apache-2.0
 *
 * Framed messages over a socket.
 */
#include "serve/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SEND_WAIT_MS = 1000 };

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

void st_frame_in_init(struct st_frame_in *in)
{
	memset(in, 0, sizeof(*in));
	st_buf_init(&in->payload, ST_FRAME_MAX_BYTES);
	in->fd = -1;
}

void st_frame_in_next(struct st_frame_in *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
	in->header_bytes = 0;
	st_buf_clear(&in->payload);
}

void st_frame_in_fini(struct st_frame_in *in)
{
	st_frame_in_next(in);
	st_buf_fini(&in->payload);
}

uint32_t st_frame_in_kind(const struct st_frame_in *in)
{
	return in->header[1];
}

static void take_descriptor(struct st_frame_in *in, struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		if (in->fd >= 0)
			close(in->fd);
		memcpy(&in->fd, CMSG_DATA(part), sizeof(in->fd));
	}
}

/* Bytes read, 0 at the end, -1 when there are none now. */
static ssize_t receive(struct st_frame_in *in, int socket, void *to, size_t size_bytes)
{
	union control control;
	struct iovec part = {to, size_bytes};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		take_descriptor(in, &message);
	return got < 0 && errno != EAGAIN && errno != EWOULDBLOCK ? 0 : got;
}

enum st_frame_state st_frame_in_read(struct st_frame_in *in, int socket)
{
	for (;;) {
		bool in_header = in->header_bytes < sizeof(in->header);
		size_t left = in_header ? sizeof(in->header) - in->header_bytes
					: in->header[0] - in->payload.size_bytes;
		void *to = in_header ? (char *)in->header + in->header_bytes
				     : (char *)in->payload.data + in->payload.size_bytes;
		ssize_t got;

		if (!in_header && !left)
			return ST_FRAME_WHOLE;
		got = receive(in, socket, to, left);
		if (got <= 0)
			return got ? ST_FRAME_MORE : ST_FRAME_CLOSED;
		if (!in_header) {
			in->payload.size_bytes += (size_t)got;
			continue;
		}
		in->header_bytes += (size_t)got;
		if (in->header_bytes == sizeof(in->header) &&
		    (in->header[0] > ST_FRAME_MAX_BYTES ||
		     !st_buf_reserve(&in->payload, (size_t)in->header[0] + 1)))
			return ST_FRAME_BAD;
	}
}

bool st_frame_send(int socket, enum st_message_kind kind, const void *payload, size_t size_bytes,
		   int pass_fd)
{
	uint32_t header[2] = {(uint32_t)size_bytes, (uint32_t)kind};
	size_t done = 0, all = sizeof(header) + size_bytes;
	union control control;

	memset(&control, 0, sizeof(control));
	while (done < all) {
		size_t skipped = done < sizeof(header) ? done : sizeof(header);
		struct iovec parts[2] = {{(char *)header + skipped, sizeof(header) - skipped},
					 {(char *)(uintptr_t)payload + (done - skipped),
					  all - done - (sizeof(header) - skipped)}};
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
		ssize_t sent;

		if (!done && pass_fd >= 0) {
			struct cmsghdr *part = &control.align;

			message.msg_control = control.bytes;
			message.msg_controllen = sizeof(control.bytes);
			part->cmsg_level = SOL_SOCKET;
			part->cmsg_type = SCM_RIGHTS;
			part->cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(part), &pass_fd, sizeof(pass_fd));
		}
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			struct pollfd ready = {socket, POLLOUT, 0};

			/* Who does not read for so long is stopped or stuck, and shall not keep the sender from others. */
			if (poll(&ready, 1, SEND_WAIT_MS) == 0)
				return false;
			continue;
		}
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		done += (size_t)sent;
	}
	return true;
}
