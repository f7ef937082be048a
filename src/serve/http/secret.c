/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets and where they are kept.
 */
#include "serve/http/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SALT_BYTES = 16, HASH_BYTES = 32, ROUNDS = 600000, ROUNDS_MAX = 10000000 };

static const char passphrase_file[] = "passphrase";

static void to_hex(const uint8_t *bytes, size_t count, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * count] = '\0';
}

static bool from_hex(const char *text, uint8_t *out, size_t count)
{
	for (size_t i = 0; i < 2 * count; i++) {
		const char *digits = "0123456789abcdef";
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;

		if (!at)
			return false;
		if (i % 2)
			out[i / 2] = (uint8_t)(out[i / 2] | (at - digits));
		else
			out[i / 2] = (uint8_t)((at - digits) << 4);
	}
	return true;
}

bool st_secret_make(char out[ST_SECRET_HEX])
{
	uint8_t bytes[16];

	out[0] = '\0';
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	to_hex(bytes, sizeof(bytes), out);
	return true;
}

bool st_secret_equal(const char *a, const char *b)
{
	size_t length = strlen(a);

	return length && strlen(b) == length && gnutls_memcmp(a, b, length) == 0;
}

void st_secret_digest(const char *text, char *out, size_t digits)
{
	uint8_t hash[HASH_BYTES] = {0};
	char all[2 * HASH_BYTES + 1];

	gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), hash);
	to_hex(hash, sizeof(hash), all);
	snprintf(out, digits + 1, "%s", all);
}

static bool derive(const char *passphrase, const uint8_t *salt, unsigned int rounds,
		   uint8_t out[HASH_BYTES])
{
	gnutls_datum_t key = {(unsigned char *)(uintptr_t)passphrase,
			      (unsigned int)strlen(passphrase)};
	gnutls_datum_t salted = {(unsigned char *)(uintptr_t)salt, SALT_BYTES};

	return gnutls_pbkdf2(GNUTLS_MAC_SHA256, &key, &salted, rounds, out, HASH_BYTES) == 0;
}

bool st_passphrase_hash(const char *passphrase, char out[ST_PASSPHRASE_HASH])
{
	uint8_t salt[SALT_BYTES], hash[HASH_BYTES];
	char salt_hex[2 * SALT_BYTES + 1], hash_hex[2 * HASH_BYTES + 1];

	out[0] = '\0';
	if (getrandom(salt, sizeof(salt), 0) != (ssize_t)sizeof(salt) ||
	    !derive(passphrase, salt, ROUNDS, hash))
		return false;
	to_hex(salt, sizeof(salt), salt_hex);
	to_hex(hash, sizeof(hash), hash_hex);
	snprintf(out, ST_PASSPHRASE_HASH, "pbkdf2-sha256$%d$%s$%s", ROUNDS, salt_hex, hash_hex);
	return true;
}

/* Takes the kept text apart; false: it is not one of ours. */
static bool read_hash(const char *text, unsigned long *rounds, uint8_t *salt, uint8_t *hash)
{
	static const char kind[] = "pbkdf2-sha256$";
	char *rest;

	if (strncmp(text, kind, strlen(kind)) != 0)
		return false;
	*rounds = strtoul(text + strlen(kind), &rest, 10);
	if (*rounds < 1 || *rounds > ROUNDS_MAX || *rest != '$' ||
	    strlen(rest) < 2 + 2 * SALT_BYTES)
		return false;
	return from_hex(rest + 1, salt, SALT_BYTES) && rest[1 + 2 * SALT_BYTES] == '$' &&
	       from_hex(rest + 2 + 2 * SALT_BYTES, hash, HASH_BYTES);
}

bool st_passphrase_fits(const char *passphrase, const char *hash)
{
	uint8_t salt[SALT_BYTES] = {0}, kept[HASH_BYTES] = {0}, now[HASH_BYTES];
	unsigned long rounds = ROUNDS;
	bool is_known = read_hash(hash, &rounds, salt, kept);

	return derive(passphrase, salt, (unsigned int)rounds, now) &&
	       gnutls_memcmp(now, kept, HASH_BYTES) == 0 && is_known;
}

enum st_status st_private_write(int folder_fd, const char *name, const void *bytes,
				size_t size_bytes, struct st_error *err)
{
	char temporary[128];
	int fd, code = 0;

	snprintf(temporary, sizeof(temporary), ".%s.%d", name, (int)getpid());
	fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return st_error_set(err, ST_EIO, errno, "cannot write %s", name);
	errno = ENOSPC; /* what a short write means */
	if (write(fd, bytes, size_bytes) != (ssize_t)size_bytes || fsync(fd))
		code = errno;
	close(fd);
	if (!code && renameat(folder_fd, temporary, folder_fd, name))
		code = errno;
	if (!code)
		return ST_OK;
	unlinkat(folder_fd, temporary, 0);
	return st_error_set(err, ST_EIO, code, "cannot write %s", name);
}

enum st_status st_private_read(int folder_fd, const char *name, char *bytes, size_t capacity,
			       struct st_error *err)
{
	int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat about;
	ssize_t got;

	bytes[0] = '\0';
	if (fd < 0 && errno == ENOENT)
		return st_error_set(err, ST_ENOTFOUND, 0, "there is no %s", name);
	if (fd < 0)
		return st_error_set(err, ST_EIO, errno, "cannot read %s", name);
	if (fstat(fd, &about) || !S_ISREG(about.st_mode) || (about.st_mode & 077)) {
		close(fd);
		return st_error_set(err, ST_EIO, 0,
				    "%s can be read by others; make it yours alone: chmod 600",
				    name);
	}
	got = read(fd, bytes, capacity - 1);
	close(fd);
	if (got < 0)
		return st_error_set(err, ST_EIO, errno, "cannot read %s", name);
	bytes[got] = '\0';
	return ST_OK;
}

enum st_status st_passphrase_load(int folder_fd, char out[ST_PASSPHRASE_HASH], struct st_error *err)
{
	uint8_t salt[SALT_BYTES], hash[HASH_BYTES];
	unsigned long rounds;
	enum st_status status =
		st_private_read(folder_fd, passphrase_file, out, ST_PASSPHRASE_HASH, err);

	if (status == ST_ENOTFOUND)
		return ST_OK;
	if (status)
		return status;
	out[strcspn(out, "\n")] = '\0';
	if (read_hash(out, &rounds, salt, hash))
		return ST_OK;
	return st_error_set(err, ST_EIO, 0,
			    "the kept passphrase is damaged; set a new one with "
			    "--reset-passphrase");
}

enum st_status st_passphrase_save(int folder_fd, const char *hash, struct st_error *err)
{
	char line[ST_PASSPHRASE_HASH + 1];

	snprintf(line, sizeof(line), "%s\n", hash);
	return st_private_write(folder_fd, passphrase_file, line, strlen(line), err);
}

void st_passphrase_forget(int folder_fd)
{
	unlinkat(folder_fd, passphrase_file, 0);
}

/* Makes every missing part of the path. */
static void make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	mkdir(path, 0700);
}

int st_private_folder(char *path, size_t path_size, struct st_error *err)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	struct stat about;
	int fd, size;

	if (config && config[0] == '/')
		size = snprintf(path, path_size, "%s/strata/serve", config);
	else if (home && home[0] == '/')
		size = snprintf(path, path_size, "%s/.config/strata/serve", home);
	else
		size = -1;
	if (size < 0 || (size_t)size >= path_size) {
		st_error_set(err, ST_EUSAGE, 0,
			     "no folder for the certificate and the passphrase: set HOME or "
			     "XDG_CONFIG_HOME");
		return -1;
	}
	make_folders(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		st_error_set(err, ST_EIO, errno, "%.300s: cannot be used", path);
		return -1;
	}
	if (fstat(fd, &about) || about.st_uid != geteuid() || (about.st_mode & 077)) {
		close(fd);
		st_error_set(err, ST_EUSAGE, 0,
			     "%.300s can be read by others; make it yours alone: chmod 700", path);
		return -1;
	}
	return fd;
}
