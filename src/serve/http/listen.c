/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening.
 */
#include "serve/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http/guard.h"

enum { BACKLOG = 128 };

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* -1 and errno. Of all addresses: one socket for both families where there are both. */
static int bind_to(bool is_remote, bool is_six, uint16_t *port)
{
	union address address;
	socklen_t size = is_six ? sizeof(address.six) : sizeof(address.four);
	int fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0, code;

	if (fd < 0)
		return -1;
	memset(&address, 0, sizeof(address));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (is_six) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		address.six.sin6_family = AF_INET6;
		address.six.sin6_addr = in6addr_any;
		address.six.sin6_port = htons(*port);
	} else {
		address.four.sin_family = AF_INET;
		address.four.sin_addr.s_addr = htonl(is_remote ? INADDR_ANY : INADDR_LOOPBACK);
		address.four.sin_port = htons(*port);
	}
	if (bind(fd, &address.any, size) == 0 && listen(fd, BACKLOG) == 0 &&
	    getsockname(fd, &address.any, &size) == 0) {
		*port = ntohs(is_six ? address.six.sin6_port : address.four.sin_port);
		return fd;
	}
	code = errno;
	close(fd);
	errno = code;
	return -1;
}

static int bind_any(bool is_remote, uint16_t *port)
{
	int fd = is_remote ? bind_to(true, true, port) : -1;

	if (fd < 0 && (!is_remote || errno != EADDRINUSE))
		fd = bind_to(is_remote, false, port);
	return fd;
}

int st_listen(bool is_remote, uint16_t *port, struct st_error *err)
{
	int fd = bind_any(is_remote, port), code = errno;
	uint16_t other = 0;

	if (fd >= 0)
		return fd;
	if (code == EADDRINUSE) {
		fd = bind_any(is_remote, &other);
		if (fd >= 0)
			close(fd);
		st_error_set(err, ST_EIO, 0,
			     "port %u is used by another program; port %u is free: --web-port %u",
			     *port, other, other);
	} else if (code == EACCES) {
		st_error_set(err, ST_EIO, 0,
			     "port %u is for the administrator only; choose one from 1024 on, or "
			     "none",
			     *port);
	} else {
		st_error_set(err, ST_EIO, code, "cannot listen on port %u", *port);
	}
	return -1;
}

void st_listen_names(struct st_guard *guard)
{
	struct ifaddrs *all = NULL;
	char name[ST_GUARD_NAME_MAX];

	if (gethostname(name, sizeof(name)) == 0) {
		struct addrinfo hints = {.ai_flags = AI_CANONNAME}, *found = NULL;

		name[sizeof(name) - 1] = '\0';
		st_guard_add_name(guard, name);
		if (getaddrinfo(name, NULL, &hints, &found) == 0 && found && found->ai_canonname)
			st_guard_add_name(guard, found->ai_canonname);
		if (found)
			freeaddrinfo(found);
	}
	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		if (one->ifa_addr &&
		    (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6)) {
			socklen_t size = one->ifa_addr->sa_family == AF_INET
						 ? sizeof(struct sockaddr_in)
						 : sizeof(struct sockaddr_in6);

			if (getnameinfo(one->ifa_addr, size, name, sizeof(name), NULL, 0,
					NI_NUMERICHOST) == 0) {
				name[strcspn(name, "%")] = '\0';
				st_guard_add_name(guard, name);
			}
		}
	}
	freeifaddrs(all);
}
