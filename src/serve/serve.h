/* SPDX-License-Identifier: Apache-2.0
 *
 * strata serve: what it is told, and the server itself.
 */
#ifndef ST_SERVE_SERVE_H
#define ST_SERVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct st_json;
struct st_serve_verb;

struct st_serve_config {
	const char *data_directory;
	uint16_t port; /* 0: any that is free */
	bool remote, remote_collect, opens_browser, resets_passphrase;
	const char *base_url;		/* NULL: none */
	const char *certificate, *key;	/* files; NULL: one of our own */
	const char *const *source_dirs; /* ends with NULL */
	unsigned int workers_max;
	int64_t token_life_ms;
	/* The table of verbs is the worker's; the server only asks which there are. */
	const struct st_serve_verb *(*find_verb)(const char *name);
	const char *program; /* the file of strata, to be started again */
	/* Who has the tables of knobs and of what can be asked writes them: members of an object. */
	void (*describe)(struct st_json *json);
	/* A line for the person who started it; on standard output what is asked for, the rest on standard error. */
	void (*say)(const char *line);
	void (*print)(const char *line);
};

/* Serves until a signal ends it. ST_EUNSUPPORTED: this build or this machine has no server; the text says how to get
 * it. */
enum st_status st_serve_run(const struct st_serve_config *config, struct st_error *err);

/* What libstrata_serve.so exports, as st_serve_library; version is that of who loads it. */
typedef enum st_status st_serve_fn(const char *version, const struct st_serve_config *config,
				   struct st_error *err);

#endif
