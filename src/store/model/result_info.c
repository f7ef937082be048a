// SPDX-License-Identifier: Apache-2.0
//
// Reads result.json with json-c. Nothing in it is needed to show slices, so any problem with it is
// noted and skipped.
#include "store/model/result_info.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "base/buf.h"
#include "base/quote.h"
#include "store/model/model.h"
#include "store/peek.h"
#include "store/model/source.h"

enum {
	JSON_MAX_BYTES = 16 << 20,
	JSON_MAX_DEPTH = 32,
	STAT_MAX_BYTES = 4096,
	PIECE_BYTES = 16 << 10,
	OPTIONS_MAX_BYTES = 64 << 10
};

static const char schema_prefix[] = "strata.result/";
enum { SCHEMA_NUMBER = 1 };

static const char *keep_text(struct st_model *model, const char *text, size_t size_bytes)
{
	st_string_id id;

	st_text_table_add(&model->info_texts, text, size_bytes, &id);
	return st_text_table_get(&model->info_texts, id).bytes;
}

static const char *get_text(json_object *root, const char *key, struct st_model *model)
{
	json_object *value;

	if (!json_object_object_get_ex(root, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return "";
	return keep_text(model, json_object_get_string(value),
			 (size_t)json_object_get_string_len(value));
}

static uint64_t get_number(json_object *root, const char *key)
{
	json_object *value;
	int64_t number;

	if (!json_object_object_get_ex(root, key, &value))
		return 0;
	if (json_object_is_type(value, json_type_double)) {
		double d = json_object_get_double(value);

		return d > 0 && d < 9e18 ? (uint64_t)d : 0;
	}
	if (!json_object_is_type(value, json_type_int))
		return 0;
	number = json_object_get_int64(value);
	return number > 0 ? (uint64_t)number : 0;
}

/* Field 22 of /proc/PID/stat: the fields behind the last ')' are free of surprises. */
static uint64_t process_start_time(uint64_t pid)
{
	char path[64], text[STAT_MAX_BYTES];
	const char *at;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

static bool writer_is_alive(json_object *root)
{
	uint64_t pid = get_number(root, "strata_pid");
	uint64_t start_time = get_number(root, "strata_start_time");

	return pid && start_time && process_start_time(pid) == start_time;
}

static enum st_status check_schema(const char *schema, struct st_model *model, const char *name,
				   struct st_error *err)
{
	size_t length = sizeof(schema_prefix) - 1;
	long number;

	if (strncmp(schema, schema_prefix, length) != 0) {
		st_notes_add(&model->notes, "%s has no \"schema\": \"%s%d\"", name, schema_prefix,
			     SCHEMA_NUMBER);
		return ST_OK;
	}
	number = strtol(schema + length, NULL, 10);
	if (number > SCHEMA_NUMBER)
		return st_error_set(err, ST_EVERSION, 0,
				    "%s: %.64s is newer than this strata can read (%s%d)", name,
				    schema, schema_prefix, SCHEMA_NUMBER);
	return ST_OK;
}

static json_object *parse(const struct st_source_file *file, struct st_model *model)
{
	json_tokener *tokener;
	json_object *root = NULL;

	if (file->size_bytes > JSON_MAX_BYTES) {
		st_notes_add(&model->notes, "%s is too large (%zu bytes) and was not read",
			     file->name, file->size_bytes);
		return NULL;
	}
	tokener = json_tokener_new_ex(JSON_MAX_DEPTH);
	if (!tokener)
		return NULL;
	if (file->size_bytes)
		root = json_tokener_parse_ex(tokener, (const char *)file->data,
					     (int)file->size_bytes);
	if (!root || !json_object_is_type(root, json_type_object)) {
		st_notes_add(&model->notes, "%s is damaged (%s): command and machine are unknown",
			     file->name,
			     file->size_bytes
				     ? json_tokener_error_desc(json_tokener_get_error(tokener))
				     : "it is empty");
		json_object_put(root);
		root = NULL;
	}
	json_tokener_free(tokener);
	return root;
}

static void read_texts(struct st_result_info *info, json_object *root, struct st_model *model)
{
	const struct {
		const char **to;
		const char *key;
	} texts[] = {
		{&info->state, "state"},
		{&info->type, "type"},
		{&info->command, "command"},
		{&info->working_dir, "working_dir"},
		{&info->source, "source"},
		{&info->strata_version, "strata_version"},
		{&info->host, "host"},
		{&info->os, "os"},
		{&info->cpu, "cpu"},
		{&info->clock, "clock"},
		{&info->started_at, "started_at"},
		{&info->stop_reason, "stop_reason"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i].to = root ? get_text(root, texts[i].key, model) : "";
}

static void append_option(struct st_buf *out, const char *name, json_object *value)
{
	bool is_text = json_object_is_type(value, json_type_string);
	bool off = json_object_is_type(value, json_type_boolean) && !json_object_get_boolean(value);

	st_buf_printf(out, "%s-%s%s", out->size_bytes ? " " : "", off ? "no-" : "", name);
	if (is_text) {
		st_buf_append_u8(out, ' ');
		st_quote_word(out, json_object_get_string(value));
	}
}

/* The options of the command line, as somebody would type them again. */
static const char *read_options(json_object *root, struct st_model *model)
{
	json_object *options;
	struct st_buf text;
	const char *kept;

	if (!json_object_object_get_ex(root, "options", &options) ||
	    !json_object_is_type(options, json_type_object))
		return "";
	st_buf_init(&text, OPTIONS_MAX_BYTES);
	json_object_object_foreach(options, name, value)
	{
		size_t count = json_object_is_type(value, json_type_array)
				       ? json_object_array_length(value)
				       : 0;

		for (size_t i = 0; i < count; i++)
			append_option(&text, name, json_object_array_get_idx(value, i));
		if (!json_object_is_type(value, json_type_array))
			append_option(&text, name, value);
	}
	kept = keep_text(model, (const char *)text.data, text.size_bytes);
	st_buf_fini(&text);
	return kept;
}

static void read_machine(struct st_machine_info *out, json_object *root)
{
	json_object *machine, *value;
	uint64_t target_ns;

	if (!json_object_object_get_ex(root, "machine", &machine) ||
	    !json_object_is_type(machine, json_type_object))
		return;
	target_ns = get_number(machine, "target_cpu_ns");
	out->cpu_count = (uint32_t)get_number(machine, "cpu_count");
	if (json_object_object_get_ex(machine, "allowed_only", &value))
		out->allowed_only = json_object_get_boolean(value);
	out->busy_ns = get_number(machine, "busy_ns");
	out->idle_ns = get_number(machine, "idle_ns");
	out->stolen_ns = get_number(machine, "stolen_ns");
	out->has_own = target_ns;
	out->own_ns = target_ns + get_number(machine, "strata_cpu_ns");
	if (json_object_object_get_ex(machine, "cpu_limit", &value))
		out->cpu_limit = json_object_get_double(value);
	out->throttled_ns = get_number(machine, "throttled_ns");
}

static void read_numbers(struct st_result_info *info, struct st_info_more *more, json_object *root)
{
	json_object *value;

	info->cpu_count = (uint32_t)get_number(root, "cpu_count");
	info->elapsed_ns = (int64_t)get_number(root, "elapsed_ns");
	info->collected_ns = (int64_t)get_number(root, "collected_ns");
	info->event_cost_ns_x1000 = get_number(root, "event_cost_ps");
	info->fresh_mib_ns = get_number(root, "fresh_mib_ns");
	info->strata_cpu_ns = get_number(root, "strata_cpu_ns");
	info->target_cpu_ns = get_number(root, "target_cpu_ns");
	info->peak_rss_bytes = get_number(root, "peak_rss_bytes");
	read_machine(&info->machine, root);
	more->chunks_not_written = get_number(root, "chunks_not_written");
	if (json_object_object_get_ex(root, "creation", &value) &&
	    json_object_is_type(value, json_type_object))
		info->creation_ns =
			get_number(value, "processes") * get_number(value, "process_cost_ns") +
			get_number(value, "threads") * get_number(value, "thread_cost_ns");
	if (json_object_object_get_ex(root, "sampling", &value) &&
	    json_object_is_type(value, json_type_object)) {
		info->unarmed_threads = get_number(value, "unarmed_threads");
		if (json_object_object_get_ex(value, "threads", &value) &&
		    json_object_is_type(value, json_type_object))
			info->switches_ns =
				get_number(value, "switches") * get_number(value, "switch_cost_ns");
	}
	if (json_object_object_get_ex(root, "ring_buffer", &value) &&
	    json_object_is_type(value, json_type_object)) {
		more->records_dropped = get_number(value, "records_dropped");
		if (json_object_object_get_ex(value, "seconds", &value))
			more->ring_buffer_s = json_object_get_double(value);
	}
	if (json_object_object_get_ex(root, "wait_status", &value) &&
	    json_object_is_type(value, json_type_int)) {
		info->has_exit = true;
		info->wait_status = json_object_get_int(value);
	}
}

/* What went wrong while recording: every error, else the one sentence. */
static void read_problems(json_object *root, struct st_model *model)
{
	const char *problem = get_text(root, "problem", model);
	json_object *errors;
	size_t count = 0;

	if (json_object_object_get_ex(root, "errors", &errors) &&
	    json_object_is_type(errors, json_type_array))
		count = json_object_array_length(errors);
	for (size_t i = 0; i < count; i++) {
		json_object *text = json_object_array_get_idx(errors, i);

		if (json_object_is_type(text, json_type_string))
			st_notes_add(&model->notes, "%s", json_object_get_string(text));
	}
	if (!count && *problem)
		st_notes_add(&model->notes, "%s", problem);
}

/* Losses that no record of the trace can tell, because nothing of these processes is in it. */
static void read_process_losses(json_object *root, struct st_model *model)
{
	json_object *loss;
	uint64_t refused, unseen;

	if (!json_object_object_get_ex(root, "loss", &loss))
		return;
	refused = get_number(loss, "processes_refused");
	unseen = get_number(loss, "family_events_lost");
	if (refused)
		st_notes_add(&model->notes,
			     "%" PRIu64 " processes above the limit were not recorded", refused);
	if (unseen)
		st_notes_add(&model->notes,
			     "%" PRIu64 " forks, execs or exits were missed: the list of programs "
			     "that were not recorded may be incomplete",
			     unseen);
}

/* The last component of the path, without slashes at its end. */
static const char *name_of(const char *path, struct st_model *model)
{
	size_t end = strlen(path), begin;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/';)
		begin--;
	return keep_text(model, path + begin, end - begin);
}

enum st_status st_info_read(struct st_result_info *info, struct st_info_more *more,
			    const struct st_source *source, struct st_model *model,
			    struct st_error *err)
{
	enum st_status status = ST_OK;
	json_object *root = NULL;

	memset(info, 0, sizeof(*info));
	memset(more, 0, sizeof(*more));
	info->path = keep_text(model, source->path, strlen(source->path));
	info->name = name_of(source->path, model);
	info->size_bytes = source->size_bytes;
	if (source->json.exists)
		root = parse(&source->json, model);
	else
		st_notes_add(&model->notes,
			     "result.json is missing: command and machine are unknown");
	read_texts(info, root, model);
	info->options = "";
	if (root) {
		status = check_schema(get_text(root, "schema", model), model, source->json.name,
				      err);
		info->options = read_options(root, model);
		read_numbers(info, more, root);
		read_process_losses(root, model);
		read_problems(root, model);
		if (strcmp(info->state, "finished") == 0)
			more->writing = ST_WRITING_CLOSED;
		else if (strcmp(info->state, "running") == 0 && writer_is_alive(root))
			more->writing = ST_WRITING_NOW;
	}
	if (more->writing == ST_WRITING_TORN)
		info->state = "torn";
	json_object_put(root);
	return status;
}

/* The object in an open file, or NULL. */
static json_object *read_object(int fd)
{
	json_object *root = NULL;
	json_tokener *tokener;
	struct st_buf text;
	ssize_t n = 1;

	st_buf_init(&text, JSON_MAX_BYTES);
	while (n > 0 && st_buf_reserve(&text, PIECE_BYTES)) {
		n = read(fd, text.data + text.size_bytes, PIECE_BYTES);
		if (n > 0)
			text.size_bytes += (size_t)n;
	}
	tokener = n == 0 && text.size_bytes ? json_tokener_new_ex(JSON_MAX_DEPTH) : NULL;
	if (tokener) {
		root = json_tokener_parse_ex(tokener, (const char *)text.data,
					     (int)text.size_bytes);
		json_tokener_free(tokener);
	}
	st_buf_fini(&text);
	if (root && !json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		root = NULL;
	}
	return root;
}

static void peek_object(struct st_peek *out, json_object *root)
{
	json_object *value;

	if (json_object_object_get_ex(root, "result_id", &value))
		snprintf(out->id_hex, sizeof(out->id_hex), "%s", json_object_get_string(value));
	out->strata_pid = get_number(root, "strata_pid");
	if (json_object_object_get_ex(root, "state", &value) &&
	    strcmp(json_object_get_string(value), "finished") == 0)
		out->state = ST_PEEK_FINISHED;
	else
		out->state = writer_is_alive(root) ? ST_PEEK_RUNNING : ST_PEEK_TORN;
}

enum st_status st_result_peek(struct st_peek *out, const char *path, struct st_error *err)
{
	json_object *root;
	int fd;

	memset(out, 0, sizeof(*out));
	out->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->folder_fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? st_error_set(err, ST_ENOTFOUND, 0, "%s: no such result folder",
					      path)
			       : st_error_set(err, ST_EIO, errno, "%s", path);
	fd = openat(out->folder_fd, "result.json", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	root = fd >= 0 ? read_object(fd) : NULL;
	if (fd >= 0)
		close(fd);
	if (!root) {
		close(out->folder_fd);
		out->folder_fd = -1;
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "%s is not a result folder: it has no readable result.json",
				    path);
	}
	peek_object(out, root);
	json_object_put(root);
	return ST_OK;
}
