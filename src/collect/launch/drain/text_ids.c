// SPDX-License-Identifier: Apache-2.0
//
// Ids for labels that travel as text inside records, because the process ran out of handles. The table
// is bounded: when full it is forgotten and the ids go on, so a label that comes again later is merely
// defined a second time. Texts are told apart by 128 bits of hash; keeping them would cost memory
// without bound.
#include "collect/launch/drain/drain_state.h"

#include <string.h>

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

void st_text_ids_init(struct st_text_ids *texts)
{
	st_pair_map_init(&texts->hashes);
	texts->next_id = ST_TEXT_ID_FIRST;
}

void st_text_ids_fini(struct st_text_ids *texts)
{
	st_pair_map_fini(&texts->hashes);
}

void st_text_ids_forget(struct st_text_ids *texts)
{
	st_pair_map_clear(&texts->hashes);
}

uint32_t st_text_ids_get(struct st_text_ids *texts, const void *bytes, size_t size_bytes,
			 bool *fresh)
{
	struct st_pair_map *hashes = &texts->hashes;
	uint64_t hash[2];
	uint32_t known, number;

	*fresh = false;
	if (hashes->count >= ST_TEXT_IDS_MAX)
		st_text_ids_forget(texts);
	if (texts->next_id == UINT32_MAX)
		return 0;
	hash_text(hash, bytes, size_bytes);
	known = hashes->count;
	number = st_pair_map_add(hashes, hash[0], hash[1]);
	if (hashes->failed) {
		hashes->failed = false; /* there may be memory for the next one */
		return 0;
	}
	*fresh = number == known;
	texts->next_id += *fresh;
	return texts->next_id - hashes->count + number;
}
