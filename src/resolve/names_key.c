// SPDX-License-Identifier: Apache-2.0
//
// Checksums of everything that names depend on (resolve/names_key.h).
#include "resolve/names_key.h"

#include <string.h>

#include "format/chunk.h"
#include "resolve/named.h"
#include "store/events.h"
#include "store/samples.h"

static uint32_t add(uint32_t crc, const void *data, size_t size_bytes)
{
	return size_bytes ? st_crc32c(crc, data, size_bytes) : crc;
}

static uint32_t add_text(uint32_t crc, const struct st_result *result, st_string_id id)
{
	struct st_text text = st_result_text(result, id);
	uint64_t size_bytes = text.size_bytes;

	return add(add(crc, &size_bytes, sizeof(size_bytes)), text.bytes, text.size_bytes);
}

static uint32_t nodes_crc(const struct st_result *result)
{
	const struct st_stack_nodes *nodes = st_result_stack_nodes(result);
	const struct st_samples *samples = st_result_samples(result);
	uint32_t crc = 0;

	if (nodes && nodes->count) {
		crc = add(crc, nodes->parent, nodes->count * sizeof(*nodes->parent));
		crc = add(crc, nodes->process, nodes->count * sizeof(*nodes->process));
		crc = add(crc, nodes->value, nodes->count * sizeof(*nodes->value));
		crc = add(crc, nodes->line, nodes->count * sizeof(*nodes->line));
		crc = add(crc, nodes->kind, nodes->count * sizeof(*nodes->kind));
	}
	if (samples && samples->count) {
		crc = add(crc, samples->node, samples->count * sizeof(*samples->node));
		crc = add(crc, samples->time_ns, samples->count * sizeof(*samples->time_ns));
	}
	return crc;
}

static uint32_t maps_crc(const struct st_result *result, uint32_t crc)
{
	uint32_t count;
	const struct st_code_map *maps = st_result_code_maps(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t numbers[] = {maps[i].process, maps[i].start, maps[i].end,
				      maps[i].file_offset, (uint64_t)maps[i].from_ns};

		crc = add(crc, numbers, sizeof(numbers));
		crc = add_text(crc, result, maps[i].path);
		crc = add_text(crc, result, maps[i].build_id);
	}
	return crc;
}

static uint32_t code_crc(const struct st_result *result, uint32_t crc)
{
	uint32_t count;
	const struct st_code *code = st_result_code(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t numbers[] = {code[i].process,
				      code[i].address,
				      code[i].size_bytes,
				      (uint64_t)code[i].from_ns,
				      (uint64_t)code[i].until_ns,
				      code[i].parent_method};

		crc = add(crc, numbers, sizeof(numbers));
		crc = add_text(crc, result, code[i].name);
		crc = add_text(crc, result, code[i].class_name);
		crc = add_text(crc, result, code[i].source);
		crc = add_text(crc, result, code[i].module);
		crc = add(crc, code[i].lines, 2 * sizeof(*code[i].lines) * code[i].line_count);
	}
	return crc;
}

static uint32_t python_crc(const struct st_result *result, uint32_t crc)
{
	uint32_t count;
	const struct st_python_code *codes = st_result_python_codes(result, &count);

	for (uint32_t i = 0; i < count; i++) {
		crc = add(crc, &codes[i].first_line, sizeof(codes[i].first_line));
		crc = add_text(crc, result, codes[i].file);
		crc = add_text(crc, result, codes[i].name);
	}
	return crc;
}

struct st_names_key st_names_key_of(const struct st_result *result,
				    const struct st_named_options *options)
{
	const struct st_stack_nodes *nodes = st_result_stack_nodes(result);
	struct st_names_key key = {.builder = ST_NAMES_BUILDER};

	key.node_count = nodes ? nodes->count : 0;
	key.nodes_crc = nodes_crc(result);
	key.code_crc = python_crc(result, code_crc(result, maps_crc(result, 0)));
	for (size_t i = 0; options && i < options->search_count; i++)
		key.search_crc =
			add(key.search_crc, options->search[i], strlen(options->search[i]) + 1);
	return key;
}
