/* SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines of connections. Closing one is shutting it down: the library notices, and closes it properly.
 */
#include "serve/http/peers.h"

#include <stddef.h>
#include <sys/socket.h>

/* NEW includes what TLS needs; the library closes by itself what sends or takes no byte at all for long. */
static const int64_t allowed_ms[] = {[ST_PEER_NEW] = 15000,
				     [ST_PEER_RESTS] = 60000,
				     [ST_PEER_SENDS] = 60000,
				     [ST_PEER_WAITS] = 60000};

static bool is_bounded(const struct st_peer *peer)
{
	return !peer->is_closed && (peer->state != ST_PEER_WAITS || !peer->is_trusted);
}

static void close_peer(struct st_peer *peer)
{
	peer->is_closed = true;
	shutdown(peer->fd, SHUT_RDWR);
}

static void make_room(struct st_peers *peers)
{
	struct st_peer *oldest = NULL;
	unsigned int staying = 0;

	for (struct st_peer *peer = peers->first; peer; peer = peer->next) {
		staying += !peer->is_closed;
		if (is_bounded(peer) && (!oldest || peer->since_ms <= oldest->since_ms))
			oldest = peer;
	}
	if (staying >= ST_PEERS_ROOM && oldest)
		close_peer(oldest);
}

void st_peers_join(struct st_peers *peers, struct st_peer *peer, int fd, int64_t now_ms)
{
	make_room(peers);
	*peer = (struct st_peer){.fd = fd, .since_ms = now_ms, .next = peers->first};
	peers->first = peer;
	peers->count++;
}

void st_peers_leave(struct st_peers *peers, struct st_peer *peer)
{
	for (struct st_peer **at = &peers->first; *at; at = &(*at)->next) {
		if (*at == peer) {
			*at = peer->next;
			peers->count--;
			return;
		}
	}
}

void st_peer_set(struct st_peer *peer, enum st_peer_state state, bool is_trusted, int64_t now_ms)
{
	peer->state = state;
	peer->is_trusted = is_trusted;
	peer->since_ms = now_ms;
}

int64_t st_peers_sweep(struct st_peers *peers, int64_t now_ms)
{
	int64_t next_ms = -1;

	for (struct st_peer *peer = peers->first; peer; peer = peer->next) {
		int64_t due_ms = peer->since_ms + allowed_ms[peer->state];

		if (!is_bounded(peer))
			continue;
		if (due_ms <= now_ms)
			close_peer(peer);
		else if (next_ms < 0 || due_ms < next_ms)
			next_ms = due_ms;
	}
	return next_ms;
}
