/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of results and what can be done to one as a whole; what the server is and can.
 */
#include "serve/http/answers.h"

#include <json-c/json.h>
#include <string.h>

#include "base/json_out.h"
#include "serve/http/assets.h"
#include "serve/http/events.h"
#include "serve/http/sample_traces.h"
#include "serve/http/server.h"

static void announce(struct st_exchange *exchange)
{
	struct st_server *server = exchange->server;

	st_catalog_scan(&server->catalog);
	st_events_send(server->events, "results", "{}", 2);
}

static void put_samples(struct st_json *json)
{
	st_json_put_array(json, "samples");
	for (const struct st_sample *sample = st_samples; sample->name; sample++) {
		st_json_object_begin(json);
		st_json_put_text(json, "name", sample->name);
		st_json_put_text(json, "summary", sample->summary);
		st_json_put_u64(json, "size_bytes", *sample->size_bytes);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

void st_get_meta(struct st_exchange *exchange, const struct st_route_parts *parts,
		 const json_object *body)
{
	const struct st_serve_config *config = &exchange->server->config;
	bool may = st_may_collect(exchange);
	struct st_json json;

	(void)parts;
	(void)body;
	st_json_init(&json, &exchange->reply.body);
	st_json_object_begin(&json);
	st_json_put_text(&json, "version", ST_VERSION);
	st_json_put_u64(&json, "api", 1);
	st_json_put_text(&json, "bundle", st_assets_id());
	st_json_put_text(&json, "data_directory", exchange->server->catalog.root);
	st_json_put_bool(&json, "remote", config->remote);
	st_json_put_bool(&json, "can_collect", may);
	if (!may)
		st_json_put_text(&json, "can_collect_why",
				 "Programs cannot be started from another machine unless strata "
				 "serve was started with --allow-remote-collect.");
	config->describe(&json);
	put_samples(&json);
	st_json_put_object(&json, "limits");
	st_json_put_u64(&json, "body_bytes", ST_HTTP_BODY_MAX);
	st_json_put_u64(&json, "page_rows", 100000);
	st_json_put_u64(&json, "quick_ms", (uint64_t)st_quick_ms());
	st_json_put_u64(&json, "workers", config->workers_max);
	st_json_object_end(&json);
	st_json_object_end(&json);
	st_buf_append_u8(&exchange->reply.body, '\n');
	st_exchange_ready(exchange);
}

void st_get_events(struct st_exchange *exchange, const struct st_route_parts *parts,
		   const json_object *body)
{
	(void)parts;
	(void)body;
	exchange->is_stream = true;
	exchange->reply.media_type = "text/event-stream";
	st_exchange_ready(exchange);
}

void st_get_results(struct st_exchange *exchange, const struct st_route_parts *parts,
		    const json_object *body)
{
	struct st_server *server = exchange->server;

	(void)parts;
	(void)body;
	st_catalog_scan(&server->catalog);
	st_catalog_write(&server->catalog, &exchange->reply.body);
	st_exchange_ready(exchange);
}

/* NULL: there is none, and that was said. */
static const struct st_entry *find(struct st_exchange *exchange, const char *id)
{
	const struct st_entry *entry = st_catalog_find(&exchange->server->catalog, id);

	if (entry && !entry->is_project)
		return entry;
	st_exchange_fail(exchange, 404, "result", "There is no such result.",
			 "It may have been renamed, moved or removed.");
	return NULL;
}

void st_get_result(struct st_exchange *exchange, const struct st_route_parts *parts,
		   const json_object *body)
{
	const struct st_entry *entry;
	struct st_json json;

	(void)body;
	st_catalog_scan(&exchange->server->catalog);
	entry = find(exchange, parts->texts[0]);
	if (!entry)
		return;
	st_json_init(&json, &exchange->reply.body);
	st_entry_write(entry, &json);
	st_buf_append_u8(&exchange->reply.body, '\n');
	st_exchange_ready(exchange);
}

static void reply_id(struct st_exchange *exchange, const char *id)
{
	struct st_json json;

	st_json_init(&json, &exchange->reply.body);
	st_json_object_begin(&json);
	st_json_put_text(&json, "id", id);
	st_json_object_end(&json);
	st_buf_append_u8(&exchange->reply.body, '\n');
	announce(exchange);
	st_exchange_ready(exchange);
}

void st_patch_result(struct st_exchange *exchange, const struct st_route_parts *parts,
		     const json_object *body)
{
	const struct st_entry *entry = find(exchange, parts->texts[0]);
	struct st_error err = {0};
	char id[ST_ENTRY_ID];

	if (!entry)
		return;
	if (st_catalog_rename(&exchange->server->catalog, entry, st_body_text(body, "name", ""), id,
			      &err))
		st_exchange_error(exchange, &err);
	else
		reply_id(exchange, id);
}

void st_delete_result(struct st_exchange *exchange, const struct st_route_parts *parts,
		      const json_object *body)
{
	const struct st_entry *entry = find(exchange, parts->texts[0]);
	struct st_error err = {0};

	(void)body;
	if (!entry)
		return;
	if (st_catalog_remove(&exchange->server->catalog, entry, &err))
		st_exchange_error(exchange, &err);
	else
		reply_id(exchange, parts->texts[0]);
}

void st_post_restore(struct st_exchange *exchange, const struct st_route_parts *parts,
		     const json_object *body)
{
	struct st_error err = {0};

	(void)body;
	if (st_catalog_restore(&exchange->server->catalog, parts->texts[0], &err))
		st_exchange_error(exchange, &err);
	else
		reply_id(exchange, parts->texts[0]);
}

void st_post_project(struct st_exchange *exchange, const struct st_route_parts *parts,
		     const json_object *body)
{
	struct st_error err = {0};
	char id[ST_ENTRY_ID];

	(void)parts;
	if (st_catalog_make_project(&exchange->server->catalog, st_body_text(body, "name", ""), id,
				    &err))
		st_exchange_error(exchange, &err);
	else
		reply_id(exchange, id);
}
