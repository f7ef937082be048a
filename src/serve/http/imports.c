/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports of traces. The folder is named after the file and its generation, so that a trace that was written anew is
 * imported anew; whoever asks meanwhile waits for the same import.
 */
#include "serve/http/imports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/http/capture.h"
#include "serve/http/secret.h"
#include "serve/http/server.h"
#include "serve/http/temporary.h"

enum { LINE_MAX_BYTES = 1024 };

static const char partial_prefix[] = ".partial-";

/* A question that waits for an import. */
struct waiting {
	struct st_import *import;
	char job_id[ST_JOB_ID];
	struct st_subject subject;
	char verb[ST_JOB_ID * 2];
	char *json;
	struct waiting *next;
};

struct st_import {
	struct st_imports *imports;
	char folder[64];		 /* below the cache */
	char path[192];			 /* the result, below the cache */
	char partial[4200];		 /* where it is written first */
	char file[ST_ENTRY_PATH + 4200]; /* what is imported */
	struct st_turn_place turn;
	struct st_capture *capture;
	bool is_given_up; /* nobody waits for it, and it is being ended */
	struct waiting *waiting;
	struct st_import *next;
};

struct st_imports {
	struct st_server *server;
	char root[4096];
	int root_fd;
	char partial[4150]; /* folder in there of what is not whole yet; "": none */
	int lock_fd;	    /* of it: no other server takes it for one that was left */
	uint64_t number;    /* of the next import in it */
	struct st_import *running;
};

/* Where what is imported stays for the next server; false: nowhere, or the name is too long. */
static bool find_cache(char *path, size_t path_size)
{
	const char *own = getenv("STRATA_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int size = -1;

	if (own && own[0])
		size = snprintf(path, path_size, "%s/imports", own);
	else if (cache && cache[0] == '/')
		size = snprintf(path, path_size, "%s/strata/imports", cache);
	else if (home && home[0] == '/')
		size = snprintf(path, path_size, "%s/.cache/strata/imports", home);
	return size >= 0 && (size_t)size < path_size;
}

/* The folder, made if need be; -1: it cannot be used, or others could have put something into it. */
static int open_ours(char *path)
{
	struct stat about;
	int fd;

	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0777);
		*at = '/';
	}
	mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
	    !(about.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void make_cache(struct st_imports *imports)
{
	const struct st_server *server = imports->server;
	char line[LINE_MAX_BYTES];

	if (find_cache(imports->root, sizeof(imports->root))) {
		imports->root_fd = open_ours(imports->root);
		if (imports->root_fd >= 0)
			return;
		snprintf(line, sizeof(line),
			 "%.800s cannot be used, or others can write to it: imported traces are "
			 "kept until the server ends",
			 imports->root);
		server->config.say(line);
	}
	snprintf(imports->root, sizeof(imports->root), "%s/imports", st_pool_folder(server->pool));
	imports->root_fd = open_ours(imports->root);
}

enum st_status st_imports_create(struct st_imports **out, struct st_server *server,
				 struct st_error *err)
{
	struct st_imports *imports = calloc(1, sizeof(*imports));

	*out = NULL;
	if (!imports)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	imports->server = server;
	make_cache(imports);
	st_temporary_remove_left(imports->root_fd, partial_prefix);
	snprintf(imports->partial, sizeof(imports->partial), "%s/%sXXXXXX", imports->root,
		 partial_prefix);
	if (!st_temporary_hold(imports->partial, &imports->lock_fd))
		imports->partial[0] = '\0';
	*out = imports;
	return ST_OK;
}

void st_import_say(struct st_job *job, bool waits)
{
	st_job_progress(job, 0, waits ? "waiting for other imports" : "importing the trace");
}

void st_import_refuse(struct st_web_reply *reply)
{
	char text[120];

	snprintf(text, sizeof(text), "%d traces are waiting to be imported already.",
		 ST_IMPORTS_WAITING);
	st_reply_problem(reply, 503, "busy", text, "Try again when some of them are done.");
}

static void free_waiting(struct waiting *waiting)
{
	free(waiting->json);
	free(waiting);
}

static void free_import(struct st_import *import)
{
	for (struct st_import **at = &import->imports->running; *at; at = &(*at)->next) {
		if (*at == import) {
			*at = import->next;
			break;
		}
	}
	while (import->waiting) {
		struct waiting *next = import->waiting->next;

		free_waiting(import->waiting);
		import->waiting = next;
	}
	st_capture_end(import->capture);
	st_turns_give_back(&import->imports->server->import_turns, &import->turn);
	free(import);
}

void st_imports_destroy(struct st_imports *imports)
{
	if (!imports)
		return;
	while (imports->running)
		free_import(imports->running);
	/* What one that is just being ended still writes, the next server removes. */
	st_temporary_remove(imports->partial);
	if (imports->lock_fd >= 0)
		close(imports->lock_fd);
	if (imports->root_fd >= 0)
		close(imports->root_fd);
	free(imports);
}

static void hand_over(struct st_imports *imports, const struct st_import *import,
		      struct waiting *waiting, struct st_job *job)
{
	waiting->subject.folder_fd = imports->root_fd;
	waiting->subject.paths[0] = import->path;
	waiting->subject.counts[0] = 1;
	st_job_hand_over(job, &waiting->subject, waiting->verb, waiting->json);
}

static void fail(struct st_job *job, const char *why)
{
	struct st_web_reply reply;

	st_reply_init(&reply);
	st_reply_problem(&reply, 422, "import", why, NULL);
	st_job_finish(job, &reply);
}

/* Moves what is whole to its place; another server may have been first. */
static bool keep(const struct st_import *import, struct st_error *err)
{
	const struct st_imports *imports = import->imports;

	if ((mkdirat(imports->root_fd, import->folder, 0700) && errno != EEXIST) ||
	    (renameat(AT_FDCWD, import->partial, imports->root_fd, import->path) &&
	     errno != EEXIST && errno != ENOTEMPTY)) {
		st_error_set(err, ST_EIO, errno, "%.200s: cannot keep what is imported",
			     imports->root);
		return false;
	}
	return true;
}

static void imported(void *arg, const struct st_captured *captured)
{
	struct st_import *import = arg;
	struct st_imports *imports = import->imports;
	struct st_error err = {0};
	bool is_ok = captured->is_ok && keep(import, &err);

	import->capture = NULL;
	if (!captured->is_ok)
		st_last_line(&captured->err, err.text, sizeof(err.text));
	while (import->waiting) {
		struct waiting *waiting = import->waiting;
		struct st_job *job = st_pool_find(imports->server->pool, waiting->job_id);

		import->waiting = waiting->next;
		if (job && is_ok)
			hand_over(imports, import, waiting, job);
		else if (job)
			fail(job,
			     err.text[0] ? err.text : "strata import has ended without a word");
		free_waiting(waiting);
	}
	st_temporary_remove(import->partial);
	free_import(import);
}

/* It cannot be begun. err NULL: too many wait. */
static void refuse_all(struct st_import *import, const struct st_error *err)
{
	while (import->waiting) {
		struct waiting *waiting = import->waiting;
		struct st_job *job = st_pool_find(import->imports->server->pool, waiting->job_id);
		struct st_web_reply reply;

		import->waiting = waiting->next;
		free_waiting(waiting);
		if (!job)
			continue;
		st_reply_init(&reply);
		if (err)
			st_reply_error(&reply, err);
		else
			st_import_refuse(&reply);
		st_job_finish(job, &reply);
	}
	free_import(import);
}

/* One of those who wait gives up; the last one ends the import. */
static void give_up(void *arg)
{
	struct waiting *waiting = arg;
	struct st_import *import = waiting->import;

	for (struct waiting **at = &import->waiting; *at; at = &(*at)->next) {
		if (*at == waiting) {
			*at = waiting->next;
			break;
		}
	}
	free_waiting(waiting);
	if (import->waiting)
		return;
	if (!import->capture) {
		free_import(import);
		return;
	}
	/* What it has written is removed when it writes no more; the next one need not wait for that. */
	import->is_given_up = true;
	st_capture_cancel(import->capture);
	st_turns_give_back(&import->imports->server->import_turns, &import->turn);
}

/* The folder of an import: a hash of what is imported, and in it the result under the trace's own name. */
static void name_import(const struct st_imports *imports, const struct st_entry *entry,
			struct st_import *import)
{
	const char *name = st_entry_name(entry), *end = strstr(name, ".pt.trace.json");
	char text[ST_ENTRY_PATH + 4200], digest[33];

	snprintf(text, sizeof(text), "%s/%s %s " ST_VERSION, imports->server->catalog.root,
		 entry->path, entry->generation);
	st_secret_digest(text, digest, 32);
	snprintf(import->folder, sizeof(import->folder), "%s", digest);
	snprintf(import->path, sizeof(import->path), "%s/%.*s", digest,
		 (int)(end - name > 100 ? 100 : end - name), name);
}

/* Its turn has come. */
static void begin(void *arg)
{
	struct st_import *import = arg;
	struct st_imports *imports = import->imports;
	const char *argv[] = {imports->server->config.program,
			      "import",
			      import->file,
			      "-r",
			      import->partial,
			      "-quiet",
			      NULL};
	struct st_error err = {0};

	if (!imports->partial[0])
		st_error_set(&err, ST_EIO, 0, "%.200s: cannot keep what is imported",
			     imports->root);
	else
		import->capture =
			st_capture_start(imports->server->loop, argv, imported, import, &err);
	for (struct waiting *waiting = import->waiting; waiting; waiting = waiting->next) {
		struct st_job *job = st_pool_find(imports->server->pool, waiting->job_id);

		if (job)
			st_import_say(job, false);
	}
	if (!import->capture)
		refuse_all(import, &err);
}

static struct st_import *make(struct st_imports *imports, const struct st_entry *entry,
			      const struct st_import *named)
{
	struct st_import *import = calloc(1, sizeof(*import));

	if (!import)
		return NULL;
	*import = *named;
	import->imports = imports;
	import->turn = (struct st_turn_place){.begin = begin, .arg = import};
	snprintf(import->partial, sizeof(import->partial), "%s/%llu", imports->partial,
		 (unsigned long long)imports->number++);
	snprintf(import->file, sizeof(import->file), "%s/%s", imports->server->catalog.root,
		 entry->path);
	import->next = imports->running;
	imports->running = import;
	return import;
}

static void queue(struct st_imports *imports, const struct st_entry *entry,
		  const struct st_import *named, struct waiting *waiting, struct st_job *job)
{
	struct st_turns *turns = &imports->server->import_turns;
	struct st_import *import = imports->running;
	bool is_new;

	while (import && (import->is_given_up || strcmp(import->path, named->path) != 0))
		import = import->next;
	is_new = !import;
	if (is_new)
		import = make(imports, entry, named);
	if (!import) {
		struct st_web_reply reply;

		st_reply_init(&reply);
		st_reply_problem(&reply, 507, "memory", "out of memory", NULL);
		st_job_finish(job, &reply);
		free_waiting(waiting);
		return;
	}
	waiting->import = import;
	waiting->next = import->waiting;
	import->waiting = waiting;
	st_job_on_cancel(job, give_up, waiting);
	if (is_new ? turns->running == turns->at_once : import->turn.state == ST_TURN_WAITS)
		st_import_say(job, true);
	if (is_new && !st_turns_take(turns, &import->turn))
		refuse_all(import, NULL);
}

struct st_job *st_imports_ask(struct st_imports *imports, const struct st_entry *entry,
			      const struct st_subject *subject, const char *verb, const char *json)
{
	struct st_job *job = st_pool_begin(imports->server->pool, "importing the trace");
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	struct st_import *named = calloc(1, sizeof(*named));
	struct stat about;

	if (waiting)
		waiting->json = strdup(json);
	if (!job || !waiting || !waiting->json || !named) {
		if (waiting)
			free_waiting(waiting);
		free(named);
		if (job)
			st_job_cancel(job);
		return NULL;
	}
	waiting->subject = *subject;
	memcpy(waiting->subject.generation, entry->generation, sizeof(entry->generation));
	memcpy(waiting->job_id, st_job_id(job), sizeof(waiting->job_id));
	snprintf(waiting->verb, sizeof(waiting->verb), "%s", verb);
	name_import(imports, entry, named);
	if (fstatat(imports->root_fd, named->path, &about, AT_SYMLINK_NOFOLLOW) == 0) {
		hand_over(imports, named, waiting, job);
		free_waiting(waiting);
	} else {
		queue(imports, entry, named, waiting, job);
	}
	free(named);
	return job;
}
