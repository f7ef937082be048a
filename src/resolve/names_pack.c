// SPDX-License-Identifier: Apache-2.0
//
// Names as bytes (resolve/names_pack.h): counts, then texts, modules, functions, sources, notes, sites,
// inlined functions, and the site of each node. Texts are numbers of the table of texts.
#include "resolve/names_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { COUNTS = 9 };
enum count { TEXTS, MODULES, FUNCTIONS, SOURCES, NOTES, SITES, INLINED, UNKNOWN, NODES };

static void put_text(struct st_buf *out, struct st_text_table *texts, struct st_text text)
{
	st_string_id id;

	/* Kept already: found again by its bytes. */
	st_text_table_add(texts, text.bytes, text.size_bytes, &id);
	st_buf_append_u32(out, id);
}

static void put_functions(const struct st_names *names, struct st_text_table *texts,
			  struct st_buf *out)
{
	for (uint32_t i = 0; i < names->function_count; i++) {
		const struct st_named_function *function = &names->functions[i];

		put_text(out, texts, function->name);
		put_text(out, texts, function->full);
		put_text(out, texts, function->mangled);
		st_buf_append_u32(out, function->module);
		st_buf_append_u32(out, function->source);
		st_buf_append_u32(out, function->line);
		st_buf_append_u64(out, function->start);
		st_buf_append_u64(out, function->end);
		st_buf_append_u32(out, function->kind | (uint32_t)function->flags << 8);
	}
}

static void put_sites(const struct st_sites *sites, struct st_buf *out)
{
	for (uint32_t i = 0; i < sites->count; i++) {
		const struct st_site *site = &sites->items[i];

		st_buf_append_u32(out, site->module);
		st_buf_append_u32(out, site->function);
		st_buf_append_u64(out, site->address);
		st_buf_append_u32(out, site->source);
		st_buf_append_u32(out, site->line);
		st_buf_append_u32(out, site->inlined_first);
		st_buf_append_u32(out, site->inlined_count);
		st_buf_append_u32(out, site->flags);
	}
	for (uint32_t i = 0; i < sites->inlined_count; i++) {
		st_buf_append_u32(out, sites->inlined[i].function);
		st_buf_append_u32(out, sites->inlined[i].source);
		st_buf_append_u32(out, sites->inlined[i].line);
	}
}

bool st_names_pack(const struct st_resolved *resolved, uint32_t node_count, struct st_buf *out)
{
	struct st_names *names = resolved->names;
	struct st_text_table *texts = &names->texts;
	const uint32_t counts[COUNTS] = {[TEXTS] = texts->count,
					 [MODULES] = names->module_count,
					 [FUNCTIONS] = names->function_count,
					 [SOURCES] = names->source_count,
					 [NOTES] = names->note_count,
					 [SITES] = resolved->sites.count,
					 [INLINED] = resolved->sites.inlined_count,
					 [UNKNOWN] = resolved->unknown,
					 [NODES] = node_count};

	for (size_t i = 0; i < COUNTS; i++)
		st_buf_append_u32(out, counts[i]);
	st_buf_append_u64(out, names->named.modules_missing);
	st_buf_append_u64(out, names->named.modules_changed);
	for (uint32_t i = 0; i < counts[TEXTS]; i++)
		st_definition_text(out, texts->texts[i].bytes, texts->texts[i].size_bytes);
	for (uint32_t i = 0; i < names->module_count; i++) {
		put_text(out, texts, names->modules[i].path);
		put_text(out, texts, names->modules[i].build_id);
	}
	put_functions(names, texts, out);
	for (uint32_t i = 0; i < names->source_count; i++)
		put_text(out, texts, names->sources[i]);
	for (uint32_t i = 0; i < names->note_count; i++)
		put_text(out, texts, (struct st_text){names->notes[i], strlen(names->notes[i])});
	put_sites(&resolved->sites, out);
	for (uint32_t i = 0; i < node_count; i++)
		st_buf_append_u32(out, resolved->site_of_node[i]);
	return !out->failed && texts->count == counts[TEXTS];
}

struct unpack {
	struct st_cursor in;
	struct st_resolved *out;
	uint32_t counts[COUNTS];
};

/* A number below a limit. */
static uint32_t take_below(struct unpack *unpack, uint32_t limit)
{
	uint32_t value = st_cursor_u32(&unpack->in);

	if (value >= limit) {
		unpack->in.failed = true;
		return 0;
	}
	return value;
}

static struct st_text take_text(struct unpack *unpack)
{
	uint32_t id = take_below(unpack, unpack->counts[TEXTS]);

	return st_text_table_get(&unpack->out->names->texts, id);
}

static bool take_texts(struct unpack *unpack)
{
	struct st_text_table *texts = &unpack->out->names->texts;

	for (uint32_t i = 0; i < unpack->counts[TEXTS] && !unpack->in.failed; i++) {
		struct st_text text = st_cursor_text(&unpack->in);
		st_string_id id;

		if (unpack->in.failed ||
		    !st_text_table_add(texts, text.bytes, text.size_bytes, &id) || id != i)
			return false;
	}
	return !unpack->in.failed;
}

/* The empty ones, which every table begins with, are there already; the same texts give the same number. */
static bool take_tables(struct unpack *unpack)
{
	struct st_names *names = unpack->out->names;

	for (uint32_t i = 0; i < unpack->counts[MODULES] && !unpack->in.failed; i++) {
		struct st_text path = take_text(unpack), id = take_text(unpack);

		if (st_names_module(names, path, id) != i)
			return false;
	}
	for (uint32_t i = 0; i < unpack->counts[FUNCTIONS] && !unpack->in.failed; i++) {
		struct st_named_function function = {.name = take_text(unpack)};
		uint32_t kind;

		function.full = take_text(unpack);
		function.mangled = take_text(unpack);
		function.module = take_below(unpack, unpack->counts[MODULES]);
		function.source = take_below(unpack, unpack->counts[SOURCES]);
		function.line = st_cursor_u32(&unpack->in);
		function.start = st_cursor_u64(&unpack->in);
		function.end = st_cursor_u64(&unpack->in);
		kind = st_cursor_u32(&unpack->in);
		function.kind = (uint8_t)kind;
		function.flags = (uint8_t)(kind >> 8);
		if (i && st_names_function(names, &function) != i)
			return false;
	}
	for (uint32_t i = 0; i < unpack->counts[SOURCES] && !unpack->in.failed; i++) {
		struct st_text path = take_text(unpack);

		if (st_names_source(names, path.bytes, path.size_bytes) != i)
			return false;
	}
	for (uint32_t i = 0; i < unpack->counts[NOTES] && !unpack->in.failed; i++)
		st_names_note(names, "%s", take_text(unpack).bytes);
	return !unpack->in.failed && !names->failed;
}

static bool take_sites(struct unpack *unpack)
{
	struct st_sites *sites = &unpack->out->sites;
	const uint32_t *counts = unpack->counts;

	for (uint32_t i = 0; i < counts[SITES] && !unpack->in.failed; i++) {
		struct st_site site = {.module = take_below(unpack, counts[MODULES])};

		site.function = take_below(unpack, counts[FUNCTIONS]);
		site.address = st_cursor_u64(&unpack->in);
		site.source = take_below(unpack, counts[SOURCES]);
		site.line = st_cursor_u32(&unpack->in);
		site.inlined_first = st_cursor_u32(&unpack->in);
		site.inlined_count = st_cursor_u32(&unpack->in);
		site.flags = st_cursor_u32(&unpack->in);
		if (site.inlined_first > counts[INLINED] ||
		    site.inlined_count > counts[INLINED] - site.inlined_first ||
		    !ST_VEC_ROOM(sites->items, i, sites->capacity))
			return false;
		sites->items[i] = site;
		sites->count = i + 1;
	}
	for (uint32_t i = 0; i < counts[INLINED] && !unpack->in.failed; i++) {
		struct st_inlined row = {.function = take_below(unpack, counts[FUNCTIONS])};

		row.source = take_below(unpack, counts[SOURCES]);
		row.line = st_cursor_u32(&unpack->in);
		if (!st_sites_add_inlined(sites, &row))
			return false;
	}
	return !unpack->in.failed && sites->count == counts[SITES];
}

/* Whether a number is a site or a function depends on the node; frames.c looks at both limits. */
static bool take_nodes(struct unpack *unpack, uint32_t node_count)
{
	uint32_t most = unpack->counts[SITES] > unpack->counts[FUNCTIONS]
				? unpack->counts[SITES]
				: unpack->counts[FUNCTIONS];
	uint32_t *site_of_node = calloc((size_t)node_count + 1, sizeof(*site_of_node));

	unpack->out->site_of_node = site_of_node;
	if (!site_of_node || unpack->counts[NODES] != node_count)
		return false;
	for (uint32_t i = 0; i < node_count; i++)
		site_of_node[i] = take_below(unpack, most);
	return !unpack->in.failed;
}

bool st_names_unpack(struct st_resolved *out, const struct st_buf *bytes, size_t at,
		     uint32_t node_count)
{
	struct unpack unpack = {
		.in = {.at = bytes->data + at, .end = bytes->data + bytes->size_bytes}, .out = out};

	for (size_t i = 0; i < COUNTS; i++)
		unpack.counts[i] = st_cursor_u32(&unpack.in);
	if (unpack.in.failed || !unpack.counts[SITES] ||
	    unpack.counts[UNKNOWN] >= unpack.counts[FUNCTIONS])
		return false;
	out->names = st_names_create(node_count);
	out->unknown = unpack.counts[UNKNOWN];
	if (!out->names)
		return false;
	out->names->named.modules_missing = st_cursor_u64(&unpack.in);
	out->names->named.modules_changed = st_cursor_u64(&unpack.in);
	return take_texts(&unpack) && take_tables(&unpack) && take_sites(&unpack) &&
	       take_nodes(&unpack, node_count);
}
