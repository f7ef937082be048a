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

static bool is_use(const void *uses, uint32_t number, const void *key)
{
	const struct st_label_use *known = (const struct st_label_use *)uses + number,
				  *wanted = key;

	return known->name == wanted->name && known->domain == wanted->domain &&
	       known->process_id == wanted->process_id;
}

uint32_t st_index_label_of(struct st_index_builder *builder, uint32_t process_id, uint32_t domain,
			   uint32_t name)
{
	struct st_label_use use = {.process_id = process_id, .domain = domain, .name = name};
	uint32_t hash = st_hash_pair(st_id_pair(process_id, domain), name);
	uint32_t known = st_map_find(&builder->label_map, hash, is_use, builder->label_uses, &use);

	if (known != ST_ID_NONE)
		return builder->label_uses[known].label;
	use.label = add_label(builder, st_index_texts_of(builder, process_id, domain, name));
	if (use.label == ST_ID_NONE || !st_map_add(&builder->label_map, hash, builder->use_count) ||
	    !ST_VEC_PUSH(builder->label_uses, builder->use_count, builder->use_capacity, use))
		return ST_ID_NONE;
	return use.label;
}
