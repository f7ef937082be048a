/* SPDX-License-Identifier: Apache-2.0
 *
 * The definitions ring: names of strings, domains and threads, apart from the events so that no flood
 * of events can push a name out. Written under the process lock; a full ring loses nothing, the caller
 * tries again at the next use and carries the text in the record meanwhile.
 */
#include "collect/inproc/core/state.h"
#include "collect/inproc/core/words.h"

bool st_define_parts(enum st_ring_definition kind, uint32_t id, const struct st_part *parts,
		     uint32_t part_count)
{
	struct st_shm_header *header = st_header();
	const uint64_t mask = ST_SHM_DEFINITIONS_BYTES / 8 - 1;
	struct st_part_reader reader = {.part = parts, .end = parts + part_count};
	uint64_t length = 0, words, head, tail, *data;

	if (!header)
		return false;
	for (uint32_t i = 0; i < part_count; i++)
		length += parts[i].size_bytes;
	words = 2 + (length + 7) / 8;
	data = (uint64_t *)((uint8_t *)header + ST_SHM_HEADER_BYTES);
	head = atomic_load_explicit(&header->definitions.head, memory_order_relaxed);
	/* Pairs with the drainer's release store: what it has read may be overwritten. */
	tail = atomic_load_explicit(&header->definitions.tail, memory_order_acquire);
	if (words * 8 > ST_SHM_DEFINITIONS_BYTES - (head - tail)) {
		atomic_fetch_add_explicit(&header->definitions_delayed, 1, memory_order_relaxed);
		return false;
	}
	data[(head / 8) & mask] = st_word_definition(kind, (uint32_t)words, id);
	data[(head / 8 + 1) & mask] = length;
	for (uint64_t i = 2; i < words; i++)
		data[(head / 8 + i) & mask] = st_part_word(&reader);
	/* Pairs with the drainer's acquire load: words before head. */
	atomic_store_explicit(&header->definitions.head, head + words * 8, memory_order_release);
	return true;
}

bool st_define(enum st_ring_definition kind, uint32_t id, const char *text, uint32_t length)
{
	return st_define_parts(kind, id, &(struct st_part){text, length}, 1);
}
