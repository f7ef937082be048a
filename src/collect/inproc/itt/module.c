/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that a program loads by itself, past the system's loader.
 */
#include <string.h>

#include "collect/inproc/itt/bind.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/core/thread.h"

static void module_load(void *start, void *end, const char *path)
{
	struct st_part part = {path, 0};

	if (path)
		part.size_bytes = (uint32_t)strnlen(path, st_event_data_max() + 1);
	st_event(&(struct st_record){.kind = ST_EVENT_MODULE_LOAD,
				     .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA |
					     (path ? ST_FIELD_DATA : 0),
				     .value = (uintptr_t)start,
				     .extra = (uintptr_t)end,
				     .parts = &part,
				     .part_count = 1});
}

static void module_unload(void *start)
{
	st_event(&(struct st_record){
		.kind = ST_EVENT_MODULE_UNLOAD, .mask = ST_FIELD_VALUE, .value = (uintptr_t)start});
}

/* Name, NUL and five numbers of each section, as many whole sections as fit. */
static uint32_t pack_sections(const struct itt_module *module, char *out, uint32_t capacity,
			      bool *cut)
{
	uint32_t used = 0;

	for (size_t i = 0; module->section_array && i < module->section_number; i++) {
		const struct itt_section *section = &module->section_array[i];
		const uint64_t numbers[5] = {(uint64_t)section->type, section->flags,
					     (uintptr_t)section->start_addr, section->size,
					     section->file_offset};
		size_t length = section->name ? strnlen(section->name, capacity) : 0;

		if (used + length + 1 + sizeof(numbers) > capacity) {
			*cut = true;
			break;
		}
		if (length)
			memcpy(out + used, section->name, length);
		out[used + length] = '\0';
		memcpy(out + used + length + 1, numbers, sizeof(numbers));
		used += (uint32_t)(length + 1 + sizeof(numbers));
	}
	return used;
}

static struct st_part module_name(const struct itt_module *module)
{
	const char *name = module->module_name;

	return (struct st_part){name, name ? (uint32_t)strnlen(name, st_event_data_max() / 2) : 0};
}

static void module_load_with_sections(struct itt_module *module)
{
	struct st_thread *thread = module ? st_thread_enter(ST_LOSS_EVENT) : NULL;
	struct st_part parts[3];
	struct st_record record = {.kind = ST_EVENT_MODULE_LOAD_SECTIONS,
				   .mask = ST_FIELD_ID | ST_FIELD_VALUE | ST_FIELD_EXTRA |
					   ST_FIELD_DATA,
				   .parts = parts,
				   .part_count = 3};

	if (!thread)
		return;
	record.id = module->module_id;
	record.detail = (uint32_t)module->module_type;
	record.value = module->module_size;
	record.extra = module->section_array ? module->section_number : 0;
	parts[0] = module_name(module);
	parts[1] = (struct st_part){"", 1};
	parts[2] = (struct st_part){thread->scratch, pack_sections(module, thread->scratch,
								   ST_SCRATCH_BYTES, &record.cut)};
	st_event_put(thread, &record);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static void module_unload_with_sections(struct itt_module *module)
{
	struct st_record record = {.kind = ST_EVENT_MODULE_UNLOAD_SECTIONS,
				   .mask = ST_FIELD_ID | ST_FIELD_DATA,
				   .part_count = 1};
	struct st_part part;

	if (!module)
		return;
	part = module_name(module);
	record.parts = &part;
	record.id = module->module_id;
	st_event(&record);
}

static const struct st_binding rows[] = {
	ST_BIND("module_load", module_load),
	ST_BIND("module_unload", module_unload),
	ST_BIND("module_load_with_sections", module_load_with_sections),
	ST_BIND("module_unload_with_sections", module_unload_with_sections),
};
const struct st_bindings st_calls_module = ST_BINDINGS(rows);
