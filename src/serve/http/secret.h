/* SPDX-License-Identifier: Apache-2.0
 *
 * Random secrets, comparing them, hashes of names, and the passphrase: kept as a salted PBKDF2 hash in a file that only
 * its owner can read.
 */
#ifndef ST_SERVE_HTTP_SECRET_H
#define ST_SERVE_HTTP_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum {
	ST_SECRET_HEX = 33,    /* 128 bits as digits, and the end */
	ST_PASSPHRASE_MIN = 8, /* bytes */
	ST_PASSPHRASE_MAX = 512,
	ST_PASSPHRASE_HASH = 256, /* the text that is kept, with its end */
};

/* 128 bits from the operating system, as lower-case digits. False: there are none. */
bool st_secret_make(char out[ST_SECRET_HEX]);
/* In a time that does not depend on where they differ. */
bool st_secret_equal(const char *a, const char *b);
/* The first digits (at most 64) of the SHA-256 of a text. */
void st_secret_digest(const char *text, char *out, size_t digits);

/* "pbkdf2-sha256$ROUNDS$SALT$HASH" */
bool st_passphrase_hash(const char *passphrase, char out[ST_PASSPHRASE_HASH]);
/* Takes the time of a hash whatever the outcome. */
bool st_passphrase_fits(const char *passphrase, const char *hash);
/* The kept hash; "" when there is none. ST_EIO when there is one that cannot be used. */
enum st_status st_passphrase_load(int folder_fd, char out[ST_PASSPHRASE_HASH],
				  struct st_error *err);
enum st_status st_passphrase_save(int folder_fd, const char *hash, struct st_error *err);
void st_passphrase_forget(int folder_fd);

/* Our own folder for secrets ($XDG_CONFIG_HOME/strata/serve), made when missing; refused when others can write to it or
 * read it. Its descriptor, or -1; path for messages. */
int st_private_folder(char *path, size_t path_size, struct st_error *err);
/* Writes a file of the private folder in one go: all of it or nothing. */
enum st_status st_private_write(int folder_fd, const char *name, const void *bytes,
				size_t size_bytes, struct st_error *err);
/* Reads one; ST_ENOTFOUND: there is none. bytes end with NUL. */
enum st_status st_private_read(int folder_fd, const char *name, char *bytes, size_t capacity,
			       struct st_error *err);

#endif
