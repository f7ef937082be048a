// SPDX-License-Identifier: Apache-2.0
//
// The hand-made names of fake_stacks.h, in place of those of st_resolve.
#include "fake_stacks.h"

#include <assert.h>
#include <string.h>

enum { MAX = 256 };

static struct st_result *result;
static struct st_named named;
static struct st_named_module modules[MAX];
static struct st_named_function functions[MAX];
static struct st_text sources[MAX];
static struct st_named_frame frames[MAX];
static uint32_t frame_of_node[MAX];

static struct st_text text_of(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

void fake_named_begin(struct st_result *fake)
{
	result = fake;
	memset(functions, 0, sizeof(functions));
	memset(frames, 0, sizeof(frames));
	modules[0] = (struct st_named_module){text_of(""), text_of(""), text_of("")};
	sources[0] = text_of("");
	functions[0] = (struct st_named_function){
		.name = text_of(""), .full = text_of(""), .mangled = text_of("")};
	frame_of_node[0] = 0;
	named = (struct st_named){.modules = modules,
				  .functions = functions,
				  .sources = sources,
				  .frames = frames,
				  .frame_of_node = frame_of_node,
				  .module_count = 1,
				  .function_count = 1,
				  .source_count = 1,
				  .frame_count = 1,
				  .node_count = 1};
}

void fake_named_end(void)
{
	result = NULL;
}

uint32_t fake_module(const char *name)
{
	assert(named.module_count < MAX);
	modules[named.module_count] =
		(struct st_named_module){text_of(name), text_of(name), text_of("")};
	return named.module_count++;
}

uint32_t fake_source(const char *path)
{
	assert(named.source_count < MAX);
	sources[named.source_count] = text_of(path);
	return named.source_count++;
}

uint32_t fake_function(const char *name, uint32_t module, enum st_function_kind kind, uint8_t flags)
{
	assert(named.function_count < MAX);
	functions[named.function_count] = (struct st_named_function){.name = text_of(name),
								     .full = text_of(name),
								     .mangled = text_of(""),
								     .module = module,
								     .kind = (uint8_t)kind,
								     .flags = flags};
	return named.function_count++;
}

void fake_function_at(uint32_t function, uint32_t source, uint32_t line)
{
	functions[function].source = source;
	functions[function].line = line;
}

uint32_t fake_frame(uint32_t caller, uint32_t function, uint32_t line, uint32_t flags)
{
	uint32_t node = fake_node(result, caller, 1, 0);

	assert(node == named.frame_count && node < MAX);
	frames[node] = (struct st_named_frame){.parent = caller,
					       .function = function,
					       .source = functions[function].source,
					       .line = line,
					       .node = node,
					       .flags = flags};
	frame_of_node[node] = node;
	named.frame_count = named.node_count = node + 1;
	return node;
}

enum st_status st_named_open(struct st_named **out, const struct st_result *of,
			     const struct st_named_options *options, struct st_error *err)
{
	static struct st_named empty = {.modules = modules,
					.functions = functions,
					.sources = sources,
					.frames = frames,
					.frame_of_node = frame_of_node,
					.module_count = 1,
					.function_count = 1,
					.source_count = 1,
					.frame_count = 1,
					.node_count = 1};

	(void)options;
	(void)err;
	*out = of == result ? &named : &empty;
	return ST_OK;
}

void st_named_close(struct st_named *closed)
{
	(void)closed;
}
