/* SPDX-License-Identifier: Apache-2.0
 *
 * Where collectors say hello: a socket in a private folder, and an abstract twin for processes that
 * cannot see the folder. Nothing here ever waits for a client.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_RENDEZVOUS_H
#define ST_COLLECT_LAUNCH_FAMILY_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "format/shm.h"

struct st_rendezvous;

/* A process that said hello, or armed its sampler. The caller owns both descriptors. */
struct st_arrival {
	bool arms; /* arm is filled, else hello */
	union {
		struct st_shm_hello hello;
		struct st_shm_arm arm;
	};
	int fd;	   /* its shared memory, or a trigger event (-1: none); -1 when layout_differs */
	int pidfd; /* -1: it is gone already, or cannot be watched */
	pid_t pid; /* in our namespace; 0: not visible from here */
	uid_t uid;
	bool layout_differs; /* a collector of another build: only pid and uid are filled */
};

enum st_status st_rendezvous_create(struct st_rendezvous **out, struct st_error *err);
/* Closes and removes the folder. Accepts NULL. */
void st_rendezvous_destroy(struct st_rendezvous *rendezvous);

int st_rendezvous_fd(const struct st_rendezvous *rendezvous); /* readable when there is work */
const char *st_rendezvous_path(const struct st_rendezvous *rendezvous);
const char *st_rendezvous_abstract(const struct st_rendezvous *rendezvous);
const char *st_rendezvous_token(const struct st_rendezvous *rendezvous); /* 32 hex digits */
/* Whether a process could not be followed because we had no descriptor left. */
bool st_rendezvous_crowded(const struct st_rendezvous *rendezvous);
uint64_t st_rendezvous_refused(const struct st_rendezvous *rendezvous);

/* Tells processes that have not said hello yet (ST_FLAG_*), by a file beside the socket. */
void st_rendezvous_flag(struct st_rendezvous *rendezvous, char name, bool on);

/* The next process that said hello; false when there is none now. */
bool st_rendezvous_next(struct st_rendezvous *rendezvous, uint64_t now_ns,
			struct st_arrival *arrival);

#endif
