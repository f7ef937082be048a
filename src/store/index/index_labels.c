// SPDX-License-Identifier: Apache-2.0
//
// From the ids in a record to a label: one probe of a hash table for a begin that was seen before. Two
// processes that use the same domain and name share the label.
#include "store/index/index_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/model/model.h"

enum { FIRST_SLOTS = 1024 };

static size_t place_of(const struct st_index_builder *builder, uint32_t process_id, uint32_t domain,
		       uint32_t name)
{
	uint64_t hash = (name + ((uint64_t)domain << 40)) * 0x9e3779b97f4a7c15ull;
	size_t mask = builder->label_slot_count - 1, at;

	hash ^= (uint64_t)process_id * 0xc2b2ae3d27d4eb4full;
	hash ^= hash >> 32;
	for (at = (size_t)hash & mask;; at = (at + 1) & mask) {
		const struct st_label_slot *slot = &builder->label_slots[at];

		if (!slot->label || (slot->name == name && slot->domain == domain &&
				     slot->process_id == process_id))
			return at;
	}
}

static bool grow_slots(struct st_index_builder *builder)
{
	struct st_label_slot *old = builder->label_slots;
	size_t old_count = builder->label_slot_count;
	size_t count = old_count ? old_count * 2 : FIRST_SLOTS;
	struct st_label_slot *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	builder->label_slots = slots;
	builder->label_slot_count = count;
	for (size_t i = 0; i < old_count; i++) {
		if (old[i].label)
			slots[place_of(builder, old[i].process_id, old[i].domain, old[i].name)] =
				old[i];
	}
	free(old);
	return true;
}

/* Counts every id once, however many labels it is part of. */
static void count_missing(struct st_index_builder *builder, struct st_id_map *seen, uint64_t key)
{
	if (st_id_map_get(seen, key) != ST_ID_NONE)
		return;
	builder->meta->missing_names++;
	if (!st_id_map_put(seen, key, 0))
		builder->no_memory = true;
}

static st_string_id missing_text(struct st_index_builder *builder, const char *what, uint32_t id)
{
	char text[64];

	snprintf(text, sizeof(text), "[%s %" PRIu32 " not recorded]", what, id);
	return st_model_add_text(builder->request->model, text);
}

/* Id 0 means that none was given: the empty text. */
struct st_index_label st_index_texts_of(struct st_index_builder *builder, uint32_t process_id,
					uint32_t domain, uint32_t name)
{
	const struct st_model *model = builder->request->model;
	struct st_index_label label = {0};

	if (domain && !st_model_domain(model, process_id, domain, &label.domain)) {
		label.domain = missing_text(builder, "domain", domain);
		count_missing(builder, &builder->missing_domains, st_id_pair(process_id, domain));
	}
	if (name && !st_model_string(model, process_id, name, &label.name)) {
		label.name = missing_text(builder, "name", name);
		count_missing(builder, &builder->missing_strings, st_id_pair(process_id, name));
	}
	return label;
}

static uint32_t add_label(struct st_index_builder *builder, struct st_index_label label)
{
	const struct st_text_table *texts = &builder->request->model->texts;
	struct st_index_meta *meta = builder->meta;
	uint64_t key = st_id_pair(label.domain, label.name);
	uint32_t id = st_id_map_get(&builder->labels, key);
	bool from_itt;

	if (id != ST_ID_NONE)
		return id;
	if (!st_id_map_put(&builder->labels, key, meta->label_count))
		return ST_ID_NONE;
	label.category = (uint16_t)st_category_of(st_text_table_get(texts, label.domain),
						  st_text_table_get(texts, label.name), &from_itt);
	label.from_itt = from_itt;
	return ST_VEC_PUSH(meta->labels, meta->label_count, meta->label_capacity, label)
		       ? meta->label_count - 1
		       : ST_ID_NONE;
}

uint32_t st_index_label_of(struct st_index_builder *builder, uint32_t process_id, uint32_t domain,
			   uint32_t name)
{
	struct st_label_slot *slot;
	uint32_t label;

	if (builder->label_used * 2 >= builder->label_slot_count && !grow_slots(builder))
		return ST_ID_NONE;
	slot = &builder->label_slots[place_of(builder, process_id, domain, name)];
	if (slot->label)
		return slot->label - 1;
	label = add_label(builder, st_index_texts_of(builder, process_id, domain, name));
	if (label == ST_ID_NONE)
		return ST_ID_NONE;
	*slot = (struct st_label_slot){
		.process_id = process_id, .domain = domain, .name = name, .label = label + 1};
	builder->label_used++;
	return label;
}
