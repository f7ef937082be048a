// SPDX-License-Identifier: Apache-2.0
//
// Names of JIT code (resolve/jit_sites.h). Compilers make the same method again and again, at other
// addresses: methods of one name and module are one function.
#include "resolve/jit_sites.h"

#include <stdlib.h>
#include <string.h>

#include "store/events.h"
#include "store/samples.h"

enum { INLINED_MAX = 64 };

static bool begins_with(struct st_text text, const char *begin)
{
	size_t length = strlen(begin);

	return text.size_bytes >= length && memcmp(text.bytes, begin, length) == 0;
}

/* Names that an import was told of come the same way as those of compilers, with the module they are of. */
static uint8_t kind_of(const struct st_jit_work *work, struct st_text module)
{
	uint32_t count;
	const struct st_sampler *samplers = st_result_samplers(work->result, &count);
	bool is_imported = false;

	for (uint32_t i = 0; i < count && !is_imported; i++)
		is_imported = samplers[i].rung == ST_RUNG_IMPORTED;
	if (!is_imported || begins_with(module, "/tmp/perf-"))
		return ST_FUNCTION_JIT;
	if (begins_with(module, "[kernel") || begins_with(module, "[guest.kernel"))
		return ST_FUNCTION_KERNEL;
	return module.size_bytes ? ST_FUNCTION_NATIVE : ST_FUNCTION_UNKNOWN;
}

uint32_t st_jit_function(struct st_jit_work *work, struct st_text module, struct st_text name,
			 uint32_t source)
{
	static const struct st_text dynamic = {"[Dynamic code]", 14}, none = {"", 0};
	struct st_names *names = work->names;
	struct st_named_function function = {.kind = kind_of(work, module), .source = source};
	st_string_id name_id;
	uint32_t found;

	function.module = st_names_module(names, module.size_bytes ? module : dynamic, none);
	if (!st_text_table_add(&names->texts, name.bytes, name.size_bytes, &name_id)) {
		names->failed = true;
		return 0;
	}
	found = st_id_map_get(&work->functions, st_id_pair(function.module, name_id));
	if (found != ST_ID_NONE)
		return found;
	function.name = function.full = st_text_table_get(&names->texts, name_id);
	function.mangled = none;
	found = st_names_function(names, &function);
	if (!st_id_map_put(&work->functions, st_id_pair(function.module, name_id), found))
		names->failed = true;
	return found;
}

static uint32_t source_of(const struct st_jit_work *work, const struct st_code *code)
{
	struct st_text path = st_result_text(work->result, code->source);

	return st_names_source(work->names, path.bytes, path.size_bytes);
}

static uint32_t function_of(struct st_jit_work *work, const struct st_code *code)
{
	struct st_text name = st_result_text(work->result, code->name);
	struct st_text class_name = st_result_text(work->result, code->class_name);
	struct st_text module = st_result_text(work->result, code->module);
	uint32_t source = source_of(work, code), function;
	char *joined;

	if (code->kind != ST_EVENT_JIT) { /* a module told by ITT: its path is all that is known */
		module = name;
		name = (struct st_text){"[code of a module]", 18};
	}
	if (!name.size_bytes)
		name = (struct st_text){"[unnamed method]", 16};
	if (!class_name.size_bytes)
		return st_jit_function(work, module, name, source);
	joined = malloc(class_name.size_bytes + 2 + name.size_bytes);
	if (!joined) {
		work->names->failed = true;
		return 0;
	}
	memcpy(joined, class_name.bytes, class_name.size_bytes);
	memcpy(joined + class_name.size_bytes, "::", 2);
	memcpy(joined + class_name.size_bytes + 2, name.bytes, name.size_bytes);
	name = (struct st_text){joined, class_name.size_bytes + 2 + name.size_bytes};
	function = st_jit_function(work, module, name, source);
	free(joined);
	return function;
}

static uint32_t line_at(const struct st_code *code, uint64_t address)
{
	for (uint32_t i = 0; i < code->line_count; i++)
		if (address - code->address < code->lines[2 * i])
			return code->lines[2 * i + 1];
	return 0;
}

uint32_t st_jit_site(struct st_jit_work *work, const struct st_code_places *places, uint32_t code,
		     uint64_t address)
{
	uint32_t count, inlined[INLINED_MAX], inlined_count;
	const struct st_code *codes = st_result_code(work->result, &count), *piece = &codes[code];
	struct st_site site = {.address = address - piece->address};
	bool is_new;
	uint32_t at = st_sites_get_code(work->sites, code, (uint32_t)site.address, &is_new);

	if (!is_new)
		return at;
	site.offset = site.address;
	site.function = function_of(work, piece);
	site.module = work->names->functions[site.function].module;
	site.source = source_of(work, piece);
	site.line = line_at(piece, address);
	site.inlined_first = work->sites->inlined_count;
	inlined_count = st_code_places_inlined(places, code, address, inlined, INLINED_MAX);
	for (uint32_t i = 0; i < inlined_count; i++) {
		const struct st_code *inner = &codes[inlined[i]];
		struct st_inlined row = {function_of(work, inner), site.source, site.line};

		if (!st_sites_add_inlined(work->sites, &row)) {
			work->names->failed = true;
			break;
		}
		site.inlined_count++;
		site.source = source_of(work, inner);
		site.line = line_at(inner, address);
	}
	work->sites->items[at] = site;
	return at;
}
