/* SPDX-License-Identifier: Apache-2.0
 *
 * How errors are returned: a status code up the call chain, and a text in a struct the caller owns.
 * Only cli/ prints the text and only cli/ turns a status into an exit code.
 */
#ifndef ST_BASE_ERROR_H
#define ST_BASE_ERROR_H

enum st_status {
	ST_OK = 0,
	ST_EUSAGE,   /* what the user typed is wrong */
	ST_ENOMEM,   /* out of memory, or over a stated limit */
	ST_EIO,	     /* a system call failed; errno is in st_error.code */
	ST_ECORRUPT, /* a file or shared memory holds something impossible */
	ST_EVERSION, /* written by a newer major version, or by another layout */
	ST_ENOTFOUND,
	ST_EEXIST,
	ST_EUNSUPPORTED, /* cannot be done on this machine; the text says why and what to do */
};

struct st_error {
	enum st_status status;
	int code; /* errno, or 0 */
	char text[512];
};

/* Fills err (which may be NULL) and returns status, so that callers can write "return st_error_set(…)".
 * If code is not 0, ": strerror(code)" is appended to the text. */
enum st_status st_error_set(struct st_error *err, enum st_status status, int code, const char *fmt,
			    ...) __attribute__((format(printf, 4, 5)));

#endif
