/* SPDX-License-Identifier: Apache-2.0
 *
 * The connections that are open, and how long each may take for what: one that stands around, or sends a byte now and
 * then, keeps nobody else out. Who has logged in and waits for an answer is left alone.
 */
#ifndef ST_SERVE_HTTP_PEERS_H
#define ST_SERVE_HTTP_PEERS_H

#include <stdbool.h>
#include <stdint.h>

/* Beyond ROOM the one that has been at the same thing longest is closed. Some places more are there for those that are
 * being closed. */
enum { ST_PEERS_ROOM = 448, ST_PEERS_MAX = 512 };

enum st_peer_state {
	ST_PEER_NEW,   /* has not asked for anything yet */
	ST_PEER_RESTS, /* was answered; the connection is kept for the next request */
	ST_PEER_SENDS, /* the headers are there, the body is not */
	ST_PEER_WAITS  /* for its answer, or reads it */
};

struct st_peer {
	int fd;
	enum st_peer_state state;
	bool is_trusted; /* its request is of a session */
	bool is_closed;	 /* was told to go */
	int64_t since_ms;
	struct st_peer *next;
};

/* Zeroed: none. */
struct st_peers {
	struct st_peer *first;
	unsigned int count;
};

/* Peers are the caller's, who keeps them until they leave. */
void st_peers_join(struct st_peers *peers, struct st_peer *peer, int fd, int64_t now_ms);
void st_peers_leave(struct st_peers *peers, struct st_peer *peer);
void st_peer_set(struct st_peer *peer, enum st_peer_state state, bool is_trusted, int64_t now_ms);
/* Closes those that have taken too long. When to look again; -1: there is none to look at. */
int64_t st_peers_sweep(struct st_peers *peers, int64_t now_ms);

#endif
