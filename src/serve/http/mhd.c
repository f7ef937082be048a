/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that knows libmicrohttpd. It runs in our loop (no threads); a connection whose reply takes time is
 * suspended meanwhile, and its socket watched for the other side hanging up.
 */
#include "serve/http/mhd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/http/events.h"
#include "serve/http/peers.h"
#include "serve/http/server.h"

enum {
	CONNECTIONS_OF_ADDRESS =
		256, /* from other machines: one of them shall not keep out all others */
	CONNECTION_MEMORY = 48 << 10, /* for the headers of a request */
	CONNECTION_S = 60,	      /* without a byte either way */
	DISCARD_MAX = 8 * ST_HTTP_BODY_MAX,
	STREAM_BLOCK = 4096,
	FILE_BLOCK = 64 << 10,
};

struct st_mhd {
	struct MHD_Daemon *daemon;
	struct st_server *server;
	struct st_watch watch;
	struct st_peers peers;
	struct st_timer sweep;
	bool is_secure;
};

/* An exchange, with what belongs to its connection. */
struct connected {
	struct st_exchange exchange;
	struct st_mhd *mhd;
	struct MHD_Connection *connection;
	struct st_peer *peer;
	struct st_watch hang_up;
	struct st_stream_out *stream;
	char address[64];
	uint64_t discarded;
	unsigned int header_count, host_count, length_count;
	bool is_begun, is_handled, is_suspended, is_queued;
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
	const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);

	return value ? value : "";
}

/* What proxies add, by whatever name. */
static const char *forwarded_header(struct MHD_Connection *connection)
{
	static const char *const names[] = {"Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
					    "X-Real-IP", "Via"};
	const char *value = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !value[0]; i++)
		value = header(connection, names[i]);
	return value;
}

static enum MHD_Result count_header(void *arg, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct connected *connected = arg;

	(void)kind;
	(void)value;
	connected->header_count++;
	connected->host_count += strcasecmp(name, "Host") == 0;
	connected->length_count += strcasecmp(name, "Content-Length") == 0;
	return MHD_YES;
}

static void sweep(void *arg)
{
	struct st_mhd *mhd = arg;
	int64_t next_ms = st_peers_sweep(&mhd->peers, st_loop_now_ms());

	if (next_ms >= 0)
		st_loop_at(mhd->server->loop, &mhd->sweep, next_ms);
}

/* A connection comes or goes. */
static void on_connection(void *arg, struct MHD_Connection *connection, void **place,
			  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct st_mhd *mhd = arg;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*place)
			st_peers_leave(&mhd->peers, *place);
		free(*place);
		*place = NULL;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	*place = info ? calloc(1, sizeof(struct st_peer)) : NULL;
	if (*place) {
		st_peers_join(&mhd->peers, *place, info->connect_fd, st_loop_now_ms());
		sweep(mhd);
	}
}

static void tell_peer(const struct connected *connected, enum st_peer_state state)
{
	struct st_mhd *mhd = connected->mhd;

	if (!connected->peer)
		return;
	st_peer_set(connected->peer, state, connected->exchange.session != NULL, st_loop_now_ms());
	/* A later look is enough otherwise: nothing that changes shortens a deadline. */
	if (!mhd->sweep.is_set)
		sweep(mhd);
}

static void find_address(struct connected *connected)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connected->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct st_web_request *request = &connected->exchange.request;

	request->address = connected->address;
	if (!info || !info->client_addr)
		return;
	if (info->client_addr->sa_family == AF_INET) {
		const struct sockaddr_in *in =
			(const struct sockaddr_in *)(const void *)info->client_addr;

		inet_ntop(AF_INET, &in->sin_addr, connected->address, sizeof(connected->address));
		request->is_loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
	} else if (info->client_addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in =
			(const struct sockaddr_in6 *)(const void *)info->client_addr;

		inet_ntop(AF_INET6, &in->sin6_addr, connected->address, sizeof(connected->address));
		request->is_loopback =
			IN6_IS_ADDR_LOOPBACK(&in->sin6_addr) ||
			(IN6_IS_ADDR_V4MAPPED(&in->sin6_addr) && in->sin6_addr.s6_addr[12] == 127);
	}
}

static void wake_stream(void *arg)
{
	struct connected *connected = arg;

	if (connected->is_suspended) {
		connected->is_suspended = false;
		MHD_resume_connection(connected->connection);
	}
}

/* The reply has become ready after all. */
static void resume(struct st_exchange *exchange)
{
	struct connected *connected = exchange->connection;

	if (!connected->is_suspended)
		return;
	st_loop_forget(connected->mhd->server->loop, &connected->hang_up);
	connected->hang_up.fd = -1;
	connected->is_suspended = false;
	MHD_resume_connection(connected->connection);
}

static void hung_up(void *arg, uint32_t events)
{
	struct connected *connected = arg;

	(void)events;
	st_routes_abandon(&connected->exchange);
	if (!connected->exchange.is_ready)
		st_exchange_fail(&connected->exchange, 499, "cancelled", "", NULL);
	resume(&connected->exchange);
}

static struct connected *begin(struct st_mhd *mhd, struct MHD_Connection *connection,
			       const char *method, const char *path)
{
	struct connected *connected = calloc(1, sizeof(*connected));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct st_web_request *request;
	const char *wait_ms;

	if (!connected)
		return NULL;
	connected->peer = info ? info->socket_context : NULL;
	connected->mhd = mhd;
	connected->connection = connection;
	connected->hang_up = (struct st_watch){.fd = -1, .ready = hung_up, .arg = connected};
	connected->exchange.server = mhd->server;
	connected->exchange.connection = connected;
	st_reply_init(&connected->exchange.reply);
	request = &connected->exchange.request;
	wait_ms = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "wait_ms");
	request->wait_ms = wait_ms ? wait_ms : "";
	request->method = method;
	request->path = path;
	request->host = header(connection, "Host");
	request->origin = header(connection, "Origin");
	request->fetch_site = header(connection, "Sec-Fetch-Site");
	request->content_type = header(connection, "Content-Type");
	request->cookie = header(connection, "Cookie");
	request->authorization = header(connection, "Authorization");
	request->forwarded = forwarded_header(connection);
	request->accept_encoding = header(connection, "Accept-Encoding");
	request->content_length = strtoull(header(connection, "Content-Length"), NULL, 10);
	find_address(connected);
	return connected;
}

static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t capacity)
{
	struct connected *connected = arg;
	ssize_t got = st_events_read(connected->stream, to, capacity);

	(void)position;
	if (got < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (got == 0) {
		connected->is_suspended = true;
		MHD_suspend_connection(connected->connection);
	}
	return got;
}

static ssize_t read_file(void *arg, uint64_t position, char *to, size_t capacity)
{
	ssize_t got;

	do
		got = pread(*(int *)arg, to, capacity, (off_t)position);
	while (got < 0 && errno == EINTR);
	/* It became shorter since its size was told: the connection is closed, so that nobody takes it for whole. */
	return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void close_file(void *arg)
{
	close(*(int *)arg);
	free(arg);
}

/* The library's own way to send a file is in blocks of 4 KiB, each with a round of the loop. It is not mapped, because
 * whoever made it could end us by making it shorter. */
static struct MHD_Response *respond_with_file(struct st_web_reply *reply, uint64_t size_bytes)
{
	size_t block = size_bytes < FILE_BLOCK ? (size_t)size_bytes + 1 : FILE_BLOCK;
	int *fd = malloc(sizeof(*fd));
	struct MHD_Response *response;

	if (!fd)
		return NULL;
	*fd = reply->file_fd;
	response = MHD_create_response_from_callback(size_bytes, block, read_file, fd, close_file);
	if (response)
		reply->file_fd = -1;
	else
		free(fd);
	return response;
}

static struct MHD_Response *make_response(struct connected *connected)
{
	struct st_exchange *exchange = &connected->exchange;
	struct st_web_reply *reply = &exchange->reply;
	struct MHD_Response *response;
	struct stat about;

	if (exchange->is_stream) {
		connected->stream = st_events_join(exchange->server->events, exchange->session,
						   wake_stream, connected);
		if (connected->stream)
			return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK,
								 read_stream, connected, NULL);
		st_reply_problem(reply, 503, "busy", "Too many pages listen already.", NULL);
	}
	if (reply->fixed)
		return MHD_create_response_from_buffer(reply->fixed_bytes,
						       (void *)(uintptr_t)reply->fixed,
						       MHD_RESPMEM_PERSISTENT);
	if (reply->file_fd >= 0 && fstat(reply->file_fd, &about) == 0)
		return respond_with_file(reply, (uint64_t)about.st_size);
	if (reply->body.failed)
		st_reply_problem(reply, 507, "memory", "out of memory", NULL);
	/* The library frees the body: it is as long as an answer gets. */
	response = MHD_create_response_from_buffer(reply->body.size_bytes, reply->body.data,
						   MHD_RESPMEM_MUST_FREE);
	if (response)
		st_buf_init(&reply->body, SIZE_MAX / 4);
	return response;
}

static void add_headers(struct MHD_Response *response, const struct connected *connected)
{
	static const char policy[] =
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
		"connect-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
		"form-action 'self'";
	const struct st_web_reply *reply = &connected->exchange.reply;
	char text[192];

	MHD_add_response_header(response, "Content-Type", reply->media_type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	MHD_add_response_header(response, "X-Frame-Options", "DENY");
	/* What is no page of ours may do nothing at all, should a browser show it. */
	MHD_add_response_header(
		response, "Content-Security-Policy",
		reply->is_page ? policy : "default-src 'none'; frame-ancestors 'none'; sandbox");
	MHD_add_response_header(response, "Cache-Control",
				reply->is_lasting ? "public, max-age=31536000, immutable"
						  : "no-store");
	if (reply->is_gzip)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
	if (reply->fixed)
		MHD_add_response_header(response, "Vary", "Accept-Encoding");
	if (reply->cookie[0])
		MHD_add_response_header(response, "Set-Cookie", reply->cookie);
	if (reply->generation[0])
		MHD_add_response_header(response, "X-Strata-Generation", reply->generation);
	if (reply->file_name[0]) {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", reply->file_name);
		MHD_add_response_header(response, "Content-Disposition", text);
	}
	if (reply->retry_after_s) {
		snprintf(text, sizeof(text), "%u", reply->retry_after_s);
		MHD_add_response_header(response, "Retry-After", text);
	}
}

static enum MHD_Result queue(struct connected *connected)
{
	struct MHD_Response *response = make_response(connected);
	enum MHD_Result result;

	connected->is_queued = true;
	if (!response)
		return MHD_NO;
	add_headers(response, connected);
	result = MHD_queue_response(connected->connection,
				    (unsigned int)connected->exchange.reply.status, response);
	MHD_destroy_response(response);
	return result;
}

/* Takes a part of the body. False: more than anybody needs to send. */
static bool take_body(struct connected *connected, const char *data, size_t *size)
{
	struct st_buf *body = &connected->exchange.request.body;

	connected->discarded += *size;
	if (connected->exchange.is_ready)
		body->failed = true; /* it was refused already */
	if (body->size_bytes + *size >= body->max_bytes)
		body->failed = true;
	st_buf_append(body, data, *size);
	*size = 0;
	return connected->discarded <= DISCARD_MAX;
}

static bool has_small_body(const struct connected *connected)
{
	uint64_t length = connected->exchange.request.content_length;

	return (length || header(connected->connection, "Transfer-Encoding")[0]) &&
	       length <= DISCARD_MAX;
}

static void wait_for_reply(struct connected *connected)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connected->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	connected->is_suspended = true;
	connected->exchange.resume = resume;
	MHD_suspend_connection(connected->connection);
	if (!info)
		return;
	connected->hang_up.fd = info->connect_fd;
	if (!st_loop_watch(connected->mhd->server->loop, &connected->hang_up, EPOLLRDHUP))
		connected->hang_up.fd = -1;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **place)
{
	struct connected *connected = *place;

	(void)version;
	if (!connected) {
		connected = begin(arg, connection, method, path);
		*place = connected;
		if (!connected)
			return MHD_NO;
		MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, connected);
		/* Two names or two sizes mean that somebody in between may read the request differently. */
		if (connected->header_count > ST_HTTP_HEADERS_MAX || connected->host_count > 1 ||
		    connected->length_count > 1)
			st_exchange_fail(&connected->exchange, 431, "headers",
					 "More than 64 headers, or some of them twice.", NULL);
		else
			st_routes_begin(&connected->exchange);
		tell_peer(connected, ST_PEER_SENDS);
		/* A refusal before the body has come would close the connection under who still sends, who then might
		 * not read it. */
		return connected->exchange.is_ready && !has_small_body(connected) ? queue(connected)
										  : MHD_YES;
	}
	if (connected->is_queued)
		return MHD_YES;
	if (*size)
		return take_body(connected, data, size) ? MHD_YES : MHD_NO;
	if (!connected->is_handled && !connected->exchange.is_ready) {
		connected->is_handled = true;
		st_buf_append_u8(&connected->exchange.request.body, '\0');
		st_routes_answer(&connected->exchange);
		/* Now that it is known whose request it is. */
		tell_peer(connected, ST_PEER_WAITS);
	}
	if (connected->exchange.is_ready)
		return queue(connected);
	wait_for_reply(connected);
	return MHD_YES;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **place,
			 enum MHD_RequestTerminationCode why)
{
	struct connected *connected = *place;

	(void)arg;
	(void)connection;
	(void)why;
	if (!connected)
		return;
	*place = NULL;
	connected->exchange.session = NULL;
	tell_peer(connected, ST_PEER_RESTS);
	st_events_leave(connected->stream);
	st_routes_abandon(&connected->exchange);
	st_loop_forget(connected->mhd->server->loop, &connected->hang_up);
	st_reply_fini(&connected->exchange.reply);
	st_buf_fini(&connected->exchange.request.body);
	free(connected);
}

static void ignore(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
}

/* What the library says about broken connections is of no use to anybody; not a word of a request goes to a log. */
static void no_log(void *arg, const char *format, va_list values)
{
	(void)arg;
	(void)format;
	(void)values;
}

enum st_status st_mhd_create(struct st_mhd **out, struct st_server *server, int listen_fd,
			     const char *certificate, const char *key, struct st_error *err)
{
	struct st_mhd *mhd = calloc(1, sizeof(*mhd));
	struct MHD_OptionItem secure[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0,
		 (void *)(uintptr_t) "SECURE128:+SECURE192:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
		{MHD_OPTION_END, 0, NULL}};
	struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	const union MHD_DaemonInfo *info;

	*out = NULL;
	if (!mhd) {
		close(listen_fd);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	mhd->server = server;
	mhd->is_secure = certificate != NULL;
	mhd->sweep = (struct st_timer){.due = sweep, .arg = mhd};
	mhd->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
			(certificate ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, mhd, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, mhd,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, mhd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)ST_PEERS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned int)(certificate ? CONNECTIONS_OF_ADDRESS : 0),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)CONNECTION_S,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, certificate ? secure : none,
		MHD_OPTION_END);
	if (!mhd->daemon) {
		close(listen_fd);
		free(mhd);
		return st_error_set(err, ST_EIO, 0, "the server cannot be started%s",
				    certificate ? ": is the certificate one that fits the key?"
						: "");
	}
	info = MHD_get_daemon_info(mhd->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	mhd->watch = (struct st_watch){.fd = info ? info->epoll_fd : -1, .ready = ignore};
	if (mhd->watch.fd < 0 || !st_loop_watch(server->loop, &mhd->watch, EPOLLIN)) {
		st_mhd_destroy(mhd);
		return st_error_set(err, ST_EIO, errno, "the server cannot be started");
	}
	*out = mhd;
	return ST_OK;
}

void st_mhd_destroy(struct st_mhd *mhd)
{
	if (!mhd)
		return;
	st_loop_forget(mhd->server->loop, &mhd->watch);
	MHD_stop_daemon(mhd->daemon);
	st_loop_cancel(mhd->server->loop, &mhd->sweep);
	free(mhd);
}

int64_t st_mhd_run(struct st_mhd *mhd)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	MHD_run(mhd->daemon);
	return MHD_get_timeout(mhd->daemon, &wait_ms) == MHD_YES ? (int64_t)wait_ms : -1;
}
