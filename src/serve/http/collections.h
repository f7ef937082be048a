/* SPDX-License-Identifier: Apache-2.0
 *
 * Collections that were started from the page: strata collect as a child process, here or by ssh on another host.
 */
#ifndef ST_SERVE_HTTP_COLLECTIONS_H
#define ST_SERVE_HTTP_COLLECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "serve/http/catalog.h"
#include "serve/http/loop.h"
#include "serve/http/secret.h"

struct json_object;
struct st_capture;
struct st_collections;
struct st_server;

enum { ST_COLLECTIONS_MAX = 64, ST_HOST_MAX = 256 };

enum st_collection_state {
	ST_COLLECTION_RUNNING,
	ST_COLLECTION_FETCHING, /* from the other host */
	ST_COLLECTION_DONE,
	ST_COLLECTION_FAILED
};

struct st_collection {
	struct st_server *server;
	char id[17];
	enum st_collection_state state;
	char host[ST_HOST_MAX];	  /* "": this one */
	char path[ST_ENTRY_PATH]; /* of the result, below the data directory */
	char far_folder[64];	  /* on the other host, for nobody else to read */
	char far_path[72];	  /* of the result, in it */
	char *command;		  /* the equal command line */
	struct st_child child;
	struct st_child packing; /* on the other host, while it is fetched */
	unsigned int fetching;	 /* of the two processes of a fetch */
	bool is_fetch_ok;	 /* of those that have ended */
	int log_fd;
	char incoming
		[64];	 /* folder that what is fetched is unpacked in, below the data directory */
	int incoming_fd; /* of it, locked; -1: none */
	int64_t started_ms, ended_ms;
	int status;		   /* of waitpid */
	char why[500];		   /* it failed */
	bool is_attached;	   /* to a program that somebody else started */
	int64_t recorded_ns;	   /* collecting has ended before the program did; 0: it goes on */
	char *live;		   /* what strata command status said last; NULL: nothing yet */
	struct st_capture *asking; /* it is being asked */
	struct st_collection *next;
};

struct st_collections *st_collections_create(struct st_server *server);
/* Running ones are left alone: their results are completed without us. */
void st_collections_destroy(struct st_collections *collections);
enum st_status st_collections_start(struct st_collections *collections,
				    const struct json_object *ask, struct st_collection **out,
				    struct st_error *err);
struct st_collection *st_collections_find(struct st_collections *collections, const char *id);
struct st_collection *st_collections_first(struct st_collections *collections);
/* has_log: with the end of its log. */
void st_collection_write(const struct st_collection *collection, bool has_log, struct st_buf *out);
/* Asks a running one how it is; who listens to events is told. */
void st_collection_refresh(struct st_collection *collection);
/* It was asked to stop and did; the program may go on. */
void st_collection_stopped(struct st_collection *collection);
/* Asks the program to end, as kill does. The collection follows. */
enum st_status st_collection_end_program(struct st_collection *collection, struct st_error *err);
/* The words of "strata command VERB", on the host where it runs; argv is the caller's to free with st_argv_free. */
char **st_collection_command(const struct st_collection *collection, const char *verb,
			     const char *text, struct st_error *err);

/* Lists of arguments that grow. Failed: some are missing, because there is no memory or there are too many. */
struct st_argv {
	char **words;
	uint32_t count, capacity;
	bool failed;
};
void st_argv_add(struct st_argv *argv, const char *word); /* NULL: it failed before */
void st_argv_free(char **words);
/* The words of strata collect for what is asked: collect_args.c. */
enum st_status st_collect_words(struct st_argv *argv, const struct json_object *ask,
				const char *result_dir, struct st_error *err);
/* "NAME=VALUE" for each member of environment, behind ours; NULL in err's favour. */
enum st_status st_collect_environment(struct st_argv *argv, const struct json_object *ask,
				      bool with_ours, struct st_error *err);
bool st_host_is_fine(const char *host);
/* ssh HOST COMMAND, where the words are quoted for the shell there. first: what must succeed before; NULL: nothing. */
void st_ssh_words(struct st_argv *argv, const char *host, const struct st_argv *first,
		  const struct st_argv *command);

#endif
