/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the C library that wait inside of it: streams that have to be read on, and shells. A stream that has
 * something in its buffer is not waited for, as a rule, and no clock is read.
 */
#include <stdlib.h>

#include "collect/waits/waits.h"

ST_WRAPPER char *__fgets_chk(char *to, size_t room_bytes, int size_bytes, FILE *stream);
ST_WRAPPER size_t __fread_chk(void *to, size_t room_bytes, size_t item_bytes, size_t count,
			      FILE *stream);
ST_WRAPPER ssize_t __getdelim(char **line, size_t *size_bytes, int delimiter, FILE *stream);

/* Whoever wants nothing may name no stream. */
static inline size_t buffered(const FILE *stream)
{
	return ST_LIKELY(stream) ? (size_t)(stream->_IO_read_end - stream->_IO_read_ptr) : SIZE_MAX;
}

static inline uint64_t descriptor(const FILE *stream)
{
	return stream->_fileno >= 0 ? (uint64_t)stream->_fileno + 1 : 0;
}

/* A stream's errors and ends are its own business. */
#define DONE(result) ((void)(result), ST_WAIT_DONE)
#define READS(enough, call)                                                                        \
	(ST_LIKELY(enough) ? (call) : ST_WAITED(ST_WAIT_READ, descriptor(stream), DONE, call))

ST_WRAPPER char *fgets(char *to, int size_bytes, FILE *stream)
{
	return READS(buffered(stream), ST_REAL(fgets)(to, size_bytes, stream));
}

ST_WRAPPER char *__fgets_chk(char *to, size_t room_bytes, int size_bytes, FILE *stream)
{
	return READS(buffered(stream), ST_REAL(__fgets_chk)(to, room_bytes, size_bytes, stream));
}

ST_WRAPPER size_t fread(void *to, size_t item_bytes, size_t count, FILE *stream)
{
	return READS(buffered(stream) >= item_bytes * count,
		     ST_REAL(fread)(to, item_bytes, count, stream));
}

ST_WRAPPER size_t __fread_chk(void *to, size_t room_bytes, size_t item_bytes, size_t count,
			      FILE *stream)
{
	return READS(buffered(stream) >= item_bytes * count,
		     ST_REAL(__fread_chk)(to, room_bytes, item_bytes, count, stream));
}

ST_WRAPPER ssize_t getline(char **line, size_t *size_bytes, FILE *stream)
{
	return READS(buffered(stream), ST_REAL(getline)(line, size_bytes, stream));
}

ST_WRAPPER ssize_t getdelim(char **line, size_t *size_bytes, int delimiter, FILE *stream)
{
	return READS(buffered(stream), ST_REAL(getdelim)(line, size_bytes, delimiter, stream));
}

ST_WRAPPER ssize_t __getdelim(char **line, size_t *size_bytes, int delimiter, FILE *stream)
{
	return READS(buffered(stream), ST_REAL(__getdelim)(line, size_bytes, delimiter, stream));
}

ST_WRAPPER int fgetc(FILE *stream)
{
	return READS(buffered(stream), ST_REAL(fgetc)(stream));
}

ST_WRAPPER int getc(FILE *stream)
{
	return READS(buffered(stream), ST_REAL(getc)(stream));
}

ST_WRAPPER int(system)(const char *command)
{
	if (!command)
		return ST_REAL(system)(command);
	return ST_WAITED(ST_WAIT_CHILD, 0, st_outcome_of_errno, ST_REAL(system)(command));
}

ST_WRAPPER int pclose(FILE *stream)
{
	return ST_WAITED(ST_WAIT_CHILD, 0, st_outcome_of_errno, ST_REAL(pclose)(stream));
}
