/* SPDX-License-Identifier: Apache-2.0
 *
 * libstrata.so: open a result, query it, get JSON. The basis of the Python package. It reads; it never records,
 * prints, handles signals or starts a thread.
 *
 * Any thread may call; calls of a process take turns. A result is closed when no call on it runs or waits. A child
 * forked while another thread is inside a call must not use the library. Texts are UTF-8 and end with NUL.
 */
#ifndef STRATA_STRATA_H
#define STRATA_STRATA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one when something below changes its meaning or goes; additions leave it as it is. */
enum { STRATA_ABI = 1 };

/* What functions return. A text says more. */
enum strata_status {
	STRATA_OK = 0,
	STRATA_USAGE,	/* the words, the SQL or the name is wrong */
	STRATA_MEMORY,	/* out of memory, or over a stated limit */
	STRATA_IO,	/* a system call failed, or the query was stopped */
	STRATA_CORRUPT, /* the result holds something impossible */
	STRATA_VERSION, /* written by a newer strata */
	STRATA_NOT_FOUND,
	STRATA_EXISTS,
	STRATA_UNSUPPORTED,
};

struct strata_result;

unsigned int strata_abi_version(void);
const char *strata_version(void); /* "0.1.0" */

/* Opens a result folder; NULL: the newest of the working folder. *error is set when something else than STRATA_OK is
 * returned: the reason, for strata_free, or NULL when there was no memory for it. May be NULL. */
int strata_open(const char *path, struct strata_result **out, char **error);
void strata_close(struct strata_result *result); /* accepts NULL */

/* One SELECT over the tables that strata_schema lists. memory_mb caps the query and its answer (0: 256). stop may be
 * NULL; else whatever thread sets it to something else than 0 ends the query.
 *
 * *out of these: the document (schema strata.report/1), or with a status other than STRATA_OK the reason; NULL when
 * there is no memory for it. It is the caller's, for strata_free. */
int strata_query_json(struct strata_result *result, const char *sql, unsigned int memory_mb,
		      const int *stop, char **out);

/* A report by the words that follow "strata report": its name, and options such as -group-by A,B. Not the ones that
 * say which result, which form and where to. */
int strata_report_json(struct strata_result *result, const char *const *words, size_t word_count,
		       char **out);
int strata_report_text(struct strata_result *result, const char *const *words, size_t word_count,
		       char **out);

/* Writes a file of another tool's form, by the words that follow "strata export": the format, -o FILE, and options such
 * as -time-filter BEGIN:END. *error as of strata_open. */
int strata_export(struct strata_result *result, const char *const *words, size_t word_count,
		  char **error);

/* Tables and columns of SQL, for people. NULL: out of memory. */
char *strata_schema(void);

void strata_free(void *text); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif
