/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts collections and follows them to their end. What they print goes to a file without a name, so that a program
 * never waits for us and does not notice when we end.
 */
#include "serve/http/collections.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_check.h"
#include "base/json_out.h"
#include "base/quote.h"
#include "format/analysis.h"
#include "serve/http/capture.h"
#include "serve/http/events.h"
#include "serve/http/route.h"
#include "serve/http/server.h"
#include "serve/http/temporary.h"

enum { LOG_BYTES = 32 << 10 };

static const char far_name[] = "r"; /* of a result on another host, in its folder */

struct st_collections {
	struct st_server *server;
	struct st_collection *first; /* the newest */
	unsigned int count;
};

/* Its folder appears a moment after it was started. */
static bool is_promised(const void *arg, const char *path)
{
	const struct st_collections *collections = arg;
	const struct st_collection *one = collections->first;

	while (one && (one->state >= ST_COLLECTION_DONE || strcmp(one->path, path) != 0))
		one = one->next;
	return one != NULL;
}

struct st_collections *st_collections_create(struct st_server *server)
{
	struct st_collections *collections = calloc(1, sizeof(*collections));

	if (!collections)
		return NULL;
	collections->server = server;
	server->catalog.is_promised = is_promised;
	server->catalog.promised_arg = collections;
	/* Of servers that ended while they fetched or imported; the other hosts still have what was not fetched. */
	st_temporary_remove_left(server->catalog.root_fd, ST_INCOMING_PREFIX);
	return collections;
}

static void free_collection(struct st_collection *collection)
{
	st_loop_abandon(collection->server->loop, &collection->child);
	st_loop_abandon(collection->server->loop, &collection->packing);
	if (collection->log_fd >= 0)
		close(collection->log_fd);
	if (collection->incoming_fd >= 0)
		close(collection->incoming_fd);
	st_capture_end(collection->asking);
	free(collection->live);
	free(collection->command);
	free(collection);
}

void st_collections_destroy(struct st_collections *collections)
{
	while (collections && collections->first) {
		struct st_collection *next = collections->first->next;

		free_collection(collections->first);
		collections->first = next;
	}
	free(collections);
}

struct st_collection *st_collections_find(struct st_collections *collections, const char *id)
{
	struct st_collection *one = collections->first;

	while (one && strcmp(one->id, id) != 0)
		one = one->next;
	return one;
}

struct st_collection *st_collections_first(struct st_collections *collections)
{
	return collections->first;
}

static void announce(const struct st_collection *collection)
{
	struct st_buf text;

	st_buf_init(&text, 1 << 20);
	st_collection_write(collection, false, &text);
	if (!text.failed)
		st_events_send(collection->server->events, "collection", (const char *)text.data,
			       text.size_bytes);
	st_buf_fini(&text);
	if (st_catalog_scan(&collection->server->catalog))
		st_events_send(collection->server->events, "results", "{}", 2);
}

static void finish(struct st_collection *collection, bool is_ok)
{
	collection->state = is_ok ? ST_COLLECTION_DONE : ST_COLLECTION_FAILED;
	collection->ended_ms = st_loop_now_ms();
	announce(collection);
}

/* Its last words on why there is no result. */
static void explain(struct st_collection *collection)
{
	struct st_buf log;

	st_buf_init(&log, LOG_BYTES + 1);
	st_tail_read(collection->log_fd, LOG_BYTES, &log);
	st_last_line(&log, collection->why, sizeof(collection->why));
	st_buf_fini(&log);
}

static bool has_result(const struct st_collection *collection)
{
	struct stat about;

	return fstatat(collection->server->catalog.root_fd, collection->path, &about,
		       AT_SYMLINK_NOFOLLOW) == 0;
}

/* Nothing of what was fetched stays but the result. */
static void remove_incoming(struct st_collection *collection)
{
	if (collection->incoming_fd < 0)
		return;
	st_temporary_remove_at(collection->server->catalog.root_fd, collection->incoming);
	close(collection->incoming_fd);
	collection->incoming_fd = -1;
}

/* Why it was not fetched, and where it still is. */
static void explain_fetch(struct st_collection *collection)
{
	char why[200];

	explain(collection);
	snprintf(why, sizeof(why), "%.199s", collection->why);
	snprintf(collection->why, sizeof(collection->why),
		 "the result could not be fetched from %.60s%s%s; it is still there, in %.100s",
		 collection->host, why[0] ? ": " : "", why, collection->far_path);
}

/* Runs a command on the other host. words ends with NULL. */
static enum st_status start_far(struct st_collection *collection, struct st_child *child,
				const char *const *words, int out_fd, struct st_error *err)
{
	struct st_argv command = {0}, ssh = {0};
	enum st_status status;

	for (; *words; words++)
		st_argv_add(&command, *words);
	st_ssh_words(&ssh, collection->host, NULL, &command);
	status = ssh.failed ? st_error_set(err, ST_ENOMEM, 0, "out of memory")
			    : st_loop_spawn(collection->server->loop, child,
					    &(struct st_child_start){.argv = ssh.words,
								     .folder_fd = -1,
								     .in_fd = -1,
								     .out_fd = out_fd,
								     .err_fd = collection->log_fd,
								     .extra_fd = -1,
								     .own_group = true},
					    err);
	st_argv_free(command.words);
	st_argv_free(ssh.words);
	return status;
}

/* Nothing of what was fetched stays there, and no folder without a result. Nobody waits for it. */
static void remove_far(struct st_collection *collection, bool is_fetched)
{
	const char *const whole[] = {"rm", "-rf", "--", collection->far_folder, NULL};
	const char *const empty[] = {"rmdir", "--ignore-fail-on-non-empty", "--",
				     collection->far_folder, NULL};
	struct st_child child = {0};
	struct st_error ignored = {0};

	start_far(collection, &child, is_fetched ? whole : empty, -1, &ignored);
	st_loop_abandon(collection->server->loop, &child);
}

/* One of the two that fetch has ended. Both must end well: a tar that is cut off where a file ends looks whole to the one
 * that unpacks it. */
static void fetched(void *arg, int status)
{
	struct st_collection *collection = arg;
	int root = collection->server->catalog.root_fd;
	char from[256];
	bool is_ok;

	collection->is_fetch_ok &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (--collection->fetching)
		return;
	snprintf(from, sizeof(from), "%s/%s", collection->incoming, far_name);
	is_ok = collection->is_fetch_ok &&
		renameat2(root, from, root, collection->path, RENAME_NOREPLACE) == 0;
	remove_incoming(collection);
	if (!is_ok)
		explain_fetch(collection);
	remove_far(collection, is_ok);
	finish(collection, is_ok);
}

/* The tar that unpacks, fed by in_fd. */
static enum st_status start_unpack(struct st_collection *collection, int in_fd,
				   struct st_error *err)
{
	struct st_server *server = collection->server;
	char place[4300];
	const char *const argv[] = {"tar", "-C", place, "--no-same-owner", "-xf", "-", NULL};

	snprintf(collection->incoming, sizeof(collection->incoming), ST_INCOMING_PREFIX "%s",
		 collection->id);
	snprintf(place, sizeof(place), "%s/%s", server->catalog.root, collection->incoming);
	if (mkdirat(server->catalog.root_fd, collection->incoming, 0700))
		return st_error_set(err, ST_EIO, errno, "cannot create %.200s", place);
	collection->incoming_fd = openat(server->catalog.root_fd, collection->incoming,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (collection->incoming_fd < 0)
		return st_error_set(err, ST_EIO, errno, "cannot open %.200s", place);
	/* Ours, and of the tar that goes on without us: no other server takes it for one that was left. */
	flock(collection->incoming_fd, LOCK_EX | LOCK_NB);
	collection->child.ended = fetched;
	return st_loop_spawn(server->loop, &collection->child,
			     &(struct st_child_start){.argv = (char *const *)(uintptr_t)argv,
						      .folder_fd = -1,
						      .in_fd = in_fd,
						      .out_fd = -1,
						      .err_fd = collection->log_fd,
						      .extra_fd = collection->incoming_fd,
						      .own_group = true},
			     err);
}

/* The tar that packs, on the other host. */
static enum st_status start_pack(struct st_collection *collection, int out_fd, struct st_error *err)
{
	const char *const words[] = {"tar",    "-C", collection->far_folder, "-cf", "-",
				     far_name, NULL};

	collection->packing = (struct st_child){.ended = fetched, .arg = collection};
	return start_far(collection, &collection->packing, words, out_fd, err);
}

static void fetch(struct st_collection *collection)
{
	struct st_error err = {0};
	int ends[2] = {-1, -1};
	enum st_status status = ST_OK;

	collection->state = ST_COLLECTION_FETCHING;
	collection->fetching = 2;
	collection->is_fetch_ok = true;
	if (pipe2(ends, O_CLOEXEC))
		status = st_error_set(&err, ST_EIO, errno, "cannot fetch the result");
	if (!status)
		status = start_pack(collection, ends[1], &err);
	if (!status)
		status = start_unpack(collection, ends[0], &err);
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	if (status) {
		snprintf(collection->why, sizeof(collection->why), "%.390s", err.text);
		st_loop_abandon(collection->server->loop, &collection->packing);
		remove_incoming(collection);
		finish(collection, false);
	}
}

static void ended(void *arg, int status)
{
	struct st_collection *collection = arg;

	collection->status = status;
	if (collection->host[0] && WIFEXITED(status) && WEXITSTATUS(status) != 255) {
		fetch(collection);
		announce(collection);
		return;
	}
	if (!has_result(collection))
		explain(collection);
	finish(collection, has_result(collection));
}

/* The suffix of result folders of that type. */
static const char *suffix_of(const json_object *ask)
{
	const struct st_analysis *analysis =
		st_analysis_find(st_body_text(ask, "type", "hotspots"));

	return analysis ? analysis->suffix : "hs";
}

/* The words for here, or for there in the words of ssh. Both lists are the caller's, also after a failure. */
static enum st_status find_words(struct st_collection *collection, const json_object *ask,
				 struct st_argv *argv, struct st_argv *environment,
				 struct st_error *err)
{
	struct st_server *server = collection->server;
	bool is_far = collection->host[0] != '\0';
	char place[ST_ENTRY_PATH + 4200];
	struct st_argv far = {0}, folder = {0};
	struct st_buf line;
	enum st_status status;

	snprintf(place, sizeof(place), "%s/%s", server->catalog.root, collection->path);
	if (is_far) {
		/* Other users of that host have no business in a result, which they could read in /tmp. */
		st_argv_add(&folder, "mkdir");
		st_argv_add(&folder, "-m");
		st_argv_add(&folder, "700");
		st_argv_add(&folder, collection->far_folder);
		/* What is set there is set by env: ssh passes nothing on. */
		st_argv_add(&far, "env");
		status = st_collect_environment(&far, ask, false, err);
		st_argv_add(&far, "strata");
		if (!status)
			status = st_collect_words(&far, ask, collection->far_path, err);
		if (!status)
			st_ssh_words(argv, collection->host, &folder, &far);
	} else {
		st_argv_add(argv, server->config.program);
		status = st_collect_words(argv, ask, place, err);
		if (!status)
			status = st_collect_environment(environment, ask, true, err);
	}
	if (!status && (argv->failed || environment->failed))
		status = st_error_set(err, ST_ENOMEM, 0, "the command line is too long");
	st_buf_init(&line, 1 << 20);
	if (!status)
		st_quote_command(&line, (int)argv->count, argv->words);
	st_buf_append_u8(&line, '\0');
	if (line.failed)
		status = st_error_set(err, ST_ENOMEM, 0, "the command line is too long");
	collection->command = (char *)line.data; /* to be freed, also when it has no end */
	st_argv_free(folder.words);
	st_argv_free(far.words);
	return status;
}

static enum st_status prepare(struct st_collection *collection, const json_object *ask,
			      struct st_error *err)
{
	const char *host = st_body_text(ask, "host", "");
	const char *project = st_body_text(ask, "project", "");
	char secret[ST_SECRET_HEX];

	if (host[0] && !st_host_is_fine(host))
		return st_error_set(err, ST_EUSAGE, 0,
				    "'host': expected a name as ssh takes it, not '%.80s'", host);
	if (!st_secret_make(secret))
		return st_error_set(err, ST_EIO, 0, "the system gives no random numbers");
	snprintf(collection->id, sizeof(collection->id), "%.16s", secret);
	snprintf(collection->host, sizeof(collection->host), "%s", host);
	snprintf(collection->far_folder, sizeof(collection->far_folder), "/tmp/strata-%s", secret);
	snprintf(collection->far_path, sizeof(collection->far_path), "%s/%s",
		 collection->far_folder, far_name);
	collection->log_fd = st_log_file();
	if (collection->log_fd < 0)
		return st_error_set(err, ST_EIO, errno, "no temporary file for the log");
	st_catalog_scan(&collection->server->catalog);
	return st_catalog_free_name(&collection->server->catalog, project, suffix_of(ask),
				    collection->path, err);
}

static enum st_status start(struct st_collection *collection, const json_object *ask,
			    struct st_error *err)
{
	struct st_argv argv = {0}, environment = {0};
	enum st_status status = prepare(collection, ask, err);

	if (!status)
		status = find_words(collection, ask, &argv, &environment, err);
	if (!status)
		status = st_loop_spawn(collection->server->loop, &collection->child,
				       &(struct st_child_start){.argv = argv.words,
								.environment = environment.words,
								.folder_fd = -1,
								.in_fd = -1,
								.out_fd = collection->log_fd,
								.err_fd = collection->log_fd,
								.extra_fd = -1,
								.own_group = true},
				       err);
	st_argv_free(argv.words);
	st_argv_free(environment.words);
	return status;
}

/* The oldest that has ended makes place. */
static bool make_room(struct st_collections *collections)
{
	struct st_collection **oldest = NULL;

	if (collections->count < ST_COLLECTIONS_MAX)
		return true;
	for (struct st_collection **at = &collections->first; *at; at = &(*at)->next)
		if ((*at)->state >= ST_COLLECTION_DONE)
			oldest = at;
	if (!oldest)
		return false;
	struct st_collection *gone = *oldest;

	*oldest = gone->next;
	free_collection(gone);
	collections->count--;
	return true;
}

enum st_status st_collections_start(struct st_collections *collections, const json_object *ask,
				    struct st_collection **out, struct st_error *err)
{
	struct st_collection *collection;
	enum st_status status;

	*out = NULL;
	if (!make_room(collections))
		return st_error_set(err, ST_EEXIST, 0, "%d collections run already",
				    ST_COLLECTIONS_MAX);
	collection = calloc(1, sizeof(*collection));
	if (!collection)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	collection->server = collections->server;
	collection->child = (struct st_child){.ended = ended, .arg = collection};
	collection->log_fd = -1;
	collection->incoming_fd = -1;
	collection->is_attached = json_object_object_get(ask, "attach_pid") != NULL;
	collection->started_ms = st_loop_now_ms();
	status = start(collection, ask, err);
	if (status) {
		free_collection(collection);
		return status;
	}
	collection->next = collections->first;
	collections->first = collection;
	collections->count++;
	*out = collection;
	announce(collection);
	return ST_OK;
}

static void write_log(const struct st_collection *collection, struct st_json *json)
{
	struct st_buf log;

	st_buf_init(&log, LOG_BYTES + 1);
	st_tail_read(collection->log_fd, LOG_BYTES, &log);
	st_json_put_bytes(json, "log", log.data, log.size_bytes);
	st_buf_fini(&log);
}

/* What the list of results says about it, once it is whole; NULL: it is not. */
static const struct st_entry *complete_entry(const struct st_collection *collection)
{
	struct st_catalog *catalog = &collection->server->catalog;
	const struct st_entry *entry;
	char id[ST_ENTRY_ID];

	st_secret_digest(collection->path, id, ST_ENTRY_ID - 1);
	st_catalog_scan(catalog);
	entry = st_catalog_find(catalog, id);
	return entry && strcmp(entry->state, "finished") == 0 ? entry : NULL;
}

void st_collection_stopped(struct st_collection *collection)
{
	const struct st_entry *entry;

	if (collection->recorded_ns || collection->state != ST_COLLECTION_RUNNING)
		return;
	entry = complete_entry(collection);
	collection->recorded_ns =
		entry && entry->elapsed_ns > 0
			? entry->elapsed_ns
			: (st_loop_now_ms() - collection->started_ms + 1) * 1000000;
	announce(collection);
}

/* strata hands the signal on to the program that it started, and to no other one. */
enum st_status st_collection_end_program(struct st_collection *collection, struct st_error *err)
{
	if (collection->host[0])
		return st_error_set(err, ST_EUSAGE, 0,
				    "the program runs on %.200s: end it there, with kill",
				    collection->host);
	if (collection->is_attached)
		return st_error_set(err, ST_EUSAGE, 0,
				    "the program was not started from here: end it where it was");
	if (kill(collection->child.pid, SIGTERM))
		return st_error_set(err, ST_EIO, errno, "cannot end the program");
	return ST_OK;
}

static void refreshed(void *arg, const struct st_captured *captured)
{
	struct st_collection *collection = arg;
	const char *text = (const char *)captured->out.data;
	size_t size = captured->out.size_bytes;

	collection->asking = NULL;
	/* One that has just begun, or has ended meanwhile, has no answer. */
	if (!captured->is_ok || !size || !st_json_is_value(text, size)) {
		if (!collection->host[0] && complete_entry(collection))
			st_collection_stopped(collection);
		return;
	}
	while (size && text[size - 1] == '\n')
		size--;
	free(collection->live);
	collection->live = strndup(text, size);
	announce(collection);
}

void st_collection_refresh(struct st_collection *collection)
{
	struct st_error ignored;
	char **argv;

	if (collection->asking || collection->recorded_ns ||
	    collection->state != ST_COLLECTION_RUNNING)
		return;
	argv = st_collection_command(collection, "status", NULL, &ignored);
	if (argv)
		collection->asking =
			st_capture_start(collection->server->loop, (const char *const *)argv,
					 refreshed, collection, &ignored);
	st_argv_free(argv);
}

void st_collection_write(const struct st_collection *collection, bool has_log, struct st_buf *out)
{
	static const char *const states[] = {"running", "fetching", "finished", "failed"};
	int64_t until = collection->ended_ms ? collection->ended_ms : st_loop_now_ms();
	char result[ST_ENTRY_ID];
	struct st_json json;

	st_secret_digest(collection->path, result, ST_ENTRY_ID - 1);
	st_json_init(&json, out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "id", collection->id);
	st_json_put_text(&json, "state", states[collection->state]);
	st_json_put_text(&json, "host", collection->host);
	st_json_put_text(&json, "command", collection->command);
	st_json_put_text(&json, "result", result);
	st_json_put_text(&json, "result_path", collection->path);
	st_json_put_i64(&json, "elapsed_ns", (until - collection->started_ms) * 1000000);
	if (collection->recorded_ns)
		st_json_put_i64(&json, "recorded_ns", collection->recorded_ns);
	st_json_put_bool(&json, "can_end", !collection->host[0] && !collection->is_attached);
	st_json_key(&json, "exit");
	if (collection->state < ST_COLLECTION_DONE || !WIFEXITED(collection->status))
		st_json_null(&json);
	else
		st_json_i64(&json, WEXITSTATUS(collection->status));
	st_json_key(&json, "signal");
	if (collection->state >= ST_COLLECTION_DONE && WIFSIGNALED(collection->status))
		st_json_i64(&json, WTERMSIG(collection->status));
	else
		st_json_null(&json);
	if (collection->why[0])
		st_json_put_text(&json, "why", collection->why);
	if (collection->live) {
		st_json_key(&json, "live");
		st_json_value(&json, collection->live, strlen(collection->live));
	}
	if (has_log)
		write_log(collection, &json);
	st_json_object_end(&json);
	st_buf_append_u8(out, '\n');
}

char **st_collection_command(const struct st_collection *collection, const char *verb,
			     const char *text, struct st_error *err)
{
	const struct st_server *server = collection->server;
	bool is_far = collection->host[0] != '\0';
	struct st_argv words = {0}, ssh = {0};
	char place[ST_ENTRY_PATH + 4200];

	snprintf(place, sizeof(place), "%s/%s", server->catalog.root, collection->path);
	st_argv_add(&words, is_far ? "strata" : server->config.program);
	st_argv_add(&words, "command");
	st_argv_add(&words, verb);
	if (text)
		st_argv_add(&words, text);
	st_argv_add(&words, "-r");
	st_argv_add(&words, is_far ? collection->far_path : place);
	if (strcmp(verb, "status") == 0) {
		st_argv_add(&words, "-format");
		st_argv_add(&words, "json");
	}
	if (is_far && !words.failed) {
		st_ssh_words(&ssh, collection->host, NULL, &words);
		st_argv_free(words.words);
		words = ssh;
	}
	if (!words.failed)
		return words.words;
	st_argv_free(words.words);
	st_error_set(err, ST_ENOMEM, 0, "out of memory");
	return NULL;
}
