/* SPDX-License-Identifier: Apache-2.0
 *
 * Where "strata -command" reaches a running collection: a socket "control" in the result folder, or an
 * abstract one named by the result's id where the file system has no sockets. One connection is one
 * request and one answer. Nothing here ever waits for a client.
 *
 * Request, one packet: "strata.command/1 DEVICE INODE VERB[ TEXT]", device and inode of the result
 * folder that is meant, in decimal: a copy of the folder must not steer the collection it was copied
 * from. Answer, one packet: "ok[ TEXT]" or "error TEXT".
 */
#ifndef ST_COLLECT_LAUNCH_RUN_CONTROL_H
#define ST_COLLECT_LAUNCH_RUN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"

#define ST_CONTROL_FILE "control"
#define ST_CONTROL_PROTOCOL "strata.command/1"

enum {
	ST_CONTROL_TEXT_MAX = 4096, /* bytes of a mark's text */
	ST_CONTROL_REQUEST_MAX = ST_CONTROL_TEXT_MAX + 128,
	ST_CONTROL_ANSWER_MAX = 16 << 10,
	ST_CONTROL_VERB_BYTES = 16,
};

struct st_control;

struct st_control_request {
	char verb[ST_CONTROL_VERB_BYTES];
	char text[ST_CONTROL_TEXT_MAX + 1];
};

/* The folder is that of the result; id_hex the result's id. */
enum st_status st_control_create(struct st_control **out, const char *folder, const char *id_hex,
				 struct st_error *err);
/* Closes and removes the socket; clients that wait learn that the collection has ended. Accepts NULL. */
void st_control_destroy(struct st_control *control);
int st_control_fd(const struct st_control *control); /* readable when there is work */

/* The next request that can be one; whatever cannot is answered with an error. False when there is none
 * now. Each must be answered before the next is taken. */
bool st_control_next(struct st_control *control, uint64_t now_ns,
		     struct st_control_request *request);
void st_control_answer(struct st_control *control, bool done, const char *text);

/* The two addresses; for the server and the client. folder_fd is the open result folder. */
socklen_t st_control_path_address(struct sockaddr_un *out, int folder_fd);
socklen_t st_control_abstract_address(struct sockaddr_un *out, const char *id_hex);

#endif
