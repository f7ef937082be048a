// SPDX-License-Identifier: Apache-2.0
//
// The hand-made names of fake_named.h.
#include "fake_named.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct st_text text_of(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

static bool is_text(struct st_text text, const char *wanted)
{
	return text.size_bytes == strlen(wanted) && !memcmp(text.bytes, wanted, text.size_bytes);
}

struct fake_named *fake_named_create(struct st_result *fake)
{
	struct fake_named *n = calloc(1, sizeof(*n));

	assert(n);
	n->fake = fake;
	n->modules[0] = (struct st_named_module){text_of(""), text_of(""), text_of("")};
	n->functions[0].name = n->functions[0].full = n->functions[0].mangled = text_of("");
	n->sources[0] = text_of("");
	n->named = (struct st_named){.modules = n->modules,
				     .functions = n->functions,
				     .sources = n->sources,
				     .frames = n->frames,
				     .frame_of_node = n->frame_of_node,
				     .module_count = 1,
				     .function_count = 1,
				     .source_count = 1,
				     .frame_count = 1,
				     .node_count = 1};
	return n;
}

void fake_named_destroy(struct fake_named *named)
{
	free(named);
}

static uint32_t module_of(struct fake_named *n, const char *name)
{
	uint32_t i;

	for (i = 0; i < n->named.module_count; i++)
		if (is_text(n->modules[i].name, name))
			return i;
	assert(i < FAKE_SMALL);
	n->modules[i] = (struct st_named_module){text_of(name), text_of(name), text_of("")};
	return n->named.module_count++;
}

static uint32_t source_of(struct fake_named *n, const char *path)
{
	uint32_t i;

	for (i = 0; i < n->named.source_count; i++)
		if (is_text(n->sources[i], path))
			return i;
	assert(i < FAKE_SMALL);
	n->sources[i] = text_of(path);
	return n->named.source_count++;
}

uint32_t fake_function(struct fake_named *named, enum st_function_kind kind, const char *module,
		       const char *name, const char *source)
{
	uint32_t function = named->named.function_count++;

	assert(function < 4 * FAKE_SMALL);
	named->functions[function] = (struct st_named_function){.name = text_of(name),
								.full = text_of(name),
								.mangled = text_of(name),
								.module = module_of(named, module),
								.source = source_of(named, source),
								.start = 0x1000ull * function,
								.end = 0x1000ull * (function + 1),
								.kind = (uint8_t)kind};
	return function;
}

static uint32_t add_frame(struct fake_named *n, uint32_t parent, uint32_t function, uint32_t line)
{
	uint32_t frame = n->named.frame_count++;

	assert(frame < FAKE_FRAMES);
	n->frames[frame] = (struct st_named_frame){.parent = parent,
						   .function = function,
						   .source = n->functions[function].source,
						   .line = line,
						   .address = n->functions[function].start + line};
	return frame;
}

uint32_t fake_call(struct fake_named *named, uint32_t parent, uint32_t function, uint32_t line)
{
	const struct st_named_function *of = &named->functions[function];
	uint8_t kind = of->kind == ST_FUNCTION_KERNEL ? ST_FRAME_KERNEL : ST_FRAME_CALL;
	uint32_t frame = add_frame(named, named->frame_of_node[parent], function, line), node;

	if (of->kind == ST_FUNCTION_PYTHON) {
		node = fake_node(named->fake, parent, ST_FRAME_PYTHON, (uint64_t)line << 32);
		named->fake->node_columns.line[node] = line;
	} else {
		node = fake_node(named->fake, parent, kind, named->frames[frame].address);
	}
	assert(node < FAKE_FRAMES);
	named->frames[frame].node = node;
	named->frame_of_node[node] = frame;
	named->named.node_count = node + 1;
	return node;
}

void fake_inlined(struct fake_named *named, uint32_t function, uint32_t line)
{
	uint32_t node = named->named.node_count - 1;
	uint32_t frame = add_frame(named, named->frame_of_node[node], function, line);

	named->frames[frame].node = node;
	named->frames[frame].flags = ST_NAMED_INLINED;
	named->frame_of_node[node] = frame;
}
