/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between the server and its workers, over a socket pair: {u32 size, u32 kind, payload}, in the byte order of
 * the machine; a large answer travels as a file descriptor beside an empty payload.
 */
#ifndef ST_SERVE_FRAME_H
#define ST_SERVE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum st_message_kind {
	ST_FRAME_REQUEST = 1, /* to the worker: verb, NUL, JSON */
	ST_FRAME_ANSWER, /* from it: media type, NUL, file name, NUL, body unless a descriptor comes along */
	ST_FRAME_ERROR,	   /* u32 status (enum st_status), text */
	ST_FRAME_PROGRESS, /* JSON {fraction, what} */
	ST_FRAME_OPENED,   /* the result is open; nothing */
};

enum { ST_FRAME_MAX_BYTES = 4 << 20 };

/* A message as it comes in, piece by piece. Zeroed and st_buf_init'ed by st_frame_in_init. */
struct st_frame_in {
	uint32_t header[2];
	size_t header_bytes;
	struct st_buf payload;
	int fd; /* that came along, or -1; taken by who sets it to -1 */
};

enum st_frame_state { ST_FRAME_MORE, ST_FRAME_WHOLE, ST_FRAME_CLOSED, ST_FRAME_BAD };

void st_frame_in_init(struct st_frame_in *in);
void st_frame_in_fini(struct st_frame_in *in);
void st_frame_in_next(struct st_frame_in *in); /* forgets a whole message */
/* Reads what is there of the present message; ST_FRAME_MORE: nothing more for now (of a socket that does not wait). */
enum st_frame_state st_frame_in_read(struct st_frame_in *in, int socket);
uint32_t st_frame_in_kind(const struct st_frame_in *in);

/* Sends one message and waits until it is gone; pass_fd -1: none. False: the other side is gone. */
bool st_frame_send(int socket, enum st_message_kind kind, const void *payload, size_t size_bytes,
		   int pass_fd);

#endif
