// SPDX-License-Identifier: Apache-2.0
//
// Ids for labels that travel as text inside records, because the process ran out of handles. The table
// is bounded: when full it is forgotten and the ids go on, so a label that comes again later is merely
// defined a second time. Texts are told apart by 128 bits of hash; keeping them would cost memory
// without bound.
#include "collect/launch/drain/drain_state.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 29;
	x *= 0x9fb21c651e98df25u;
	x ^= x >> 32;
	return x;
}

static void hash_text(uint64_t hash[2], const uint8_t *bytes, size_t size_bytes)
{
	uint64_t a = 0x243f6a8885a308d3u ^ size_bytes, b = 0x13198a2e03707344u + size_bytes;
	uint64_t word;

	for (; size_bytes >= 8; bytes += 8, size_bytes -= 8) {
		memcpy(&word, bytes, 8);
		a = mix(a ^ word);
		b = mix(b + word * 0x9e3779b97f4a7c15u);
	}
	word = 0;
	if (size_bytes)
		memcpy(&word, bytes, size_bytes);
	hash[0] = mix(a ^ word);
	hash[1] = mix(b + word * 0x9e3779b97f4a7c15u);
}

static struct st_text_entry *find(struct st_text_entry *entries, uint32_t capacity,
				  const uint64_t hash[2])
{
	uint32_t at = (uint32_t)hash[0] & (capacity - 1);

	while (entries[at].id && (entries[at].hash[0] != hash[0] || entries[at].hash[1] != hash[1]))
		at = (at + 1) & (capacity - 1);
	return &entries[at];
}

static bool grow(struct st_text_ids *texts)
{
	uint32_t capacity = texts->capacity ? texts->capacity * 2 : FIRST_CAPACITY;
	struct st_text_entry *entries = calloc(capacity, sizeof(*entries));

	if (!entries)
		return false;
	for (uint32_t i = 0; i < texts->capacity; i++)
		if (texts->entries[i].id)
			*find(entries, capacity, texts->entries[i].hash) = texts->entries[i];
	free(texts->entries);
	texts->entries = entries;
	texts->capacity = capacity;
	return true;
}

void st_text_ids_init(struct st_text_ids *texts)
{
	memset(texts, 0, sizeof(*texts));
	texts->next_id = ST_TEXT_ID_FIRST;
}

void st_text_ids_fini(struct st_text_ids *texts)
{
	free(texts->entries);
	memset(texts, 0, sizeof(*texts));
}

void st_text_ids_forget(struct st_text_ids *texts)
{
	if (texts->count)
		memset(texts->entries, 0, texts->capacity * sizeof(*texts->entries));
	texts->count = 0;
}

uint32_t st_text_ids_get(struct st_text_ids *texts, const void *bytes, size_t size_bytes,
			 bool *fresh)
{
	struct st_text_entry *entry;
	uint64_t hash[2];

	*fresh = false;
	if (texts->count >= ST_TEXT_IDS_MAX)
		st_text_ids_forget(texts);
	if (texts->count * 2 >= texts->capacity && !grow(texts))
		return 0;
	hash_text(hash, bytes, size_bytes);
	entry = find(texts->entries, texts->capacity, hash);
	if (entry->id)
		return entry->id;
	if (texts->next_id == UINT32_MAX)
		return 0;
	memcpy(entry->hash, hash, sizeof(hash));
	entry->id = texts->next_id++;
	texts->count++;
	*fresh = true;
	return entry->id;
}
