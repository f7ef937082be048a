/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-addressing tables of {hash, node}, replaced by larger ones as they fill; a replaced table is
 * left as it is, so that readers never need a lock. All of it is ordinary memory: a forked child goes
 * on with the copy. A store is published only after what it points to, and a slot that shows its hash
 * without its node counts as empty, so that a copy taken in the middle of an insertion is sound.
 */
#include "collect/inproc/core/intern.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/inproc/core/choose.h"
#include "collect/inproc/core/object.h"
#include "collect/inproc/core/state.h"

enum {
	ARENA_BYTES = 16 << 20,
	ARENA_OTHERS_PART = 16, /* one of 16 bytes is kept for domains and families */
	ARENA_OBJECTS_PART = 2, /* one of 2 is the most that objects take: labels need the rest */
	FIRST_SLOTS = 4096,
	FAMILY_TEXT_MAX = 255,
};

struct st_intern_index st_indexes[ST_INDEX_KINDS] = {
	[ST_INDEX_STRINGS] = {.max = ST_SHM_STRINGS_MAX},
	[ST_INDEX_DOMAINS] = {.max = ST_SHM_DOMAINS_MAX - 1},
	[ST_INDEX_FAMILIES] = {.max = ST_SHM_FAMILIES_MAX - 1},
	[ST_INDEX_OBJECTS] = {.max = ST_SHM_OBJECTS_MAX - 1},
};

static char *arena;
static size_t arena_used, arena_bytes, objects_used;

/* One byte of text and its NUL do not fit a flexible member of a static object portably. */
static char any_text[] = "*";
struct st_intern_node st_any_family = {.handle = {.strA = any_text, .extra1 = ST_ID_FAMILY},
				       .length = 1};
struct st_intern_node st_any_domain = {.domain = {.flags = 1, .nameA = any_text}, .length = 1};
struct st_intern_node st_off_domain = {.domain = {.flags = 0, .nameA = any_text}, .length = 1};

void st_text_cut(struct st_text_key *key)
{
	key->length = ST_SHM_TEXT_MAX;
	key->cut = 1;
	/* Not in the middle of a UTF-8 character; other bytes are cut where they are. */
	for (int i = 0; i < 3 && ((uint8_t)key->text[key->length] & 0xc0) == 0x80; i++)
		key->length--;
}

static void put_in(struct st_intern_table *table, uint64_t hash, struct st_intern_node *node)
{
	uint64_t at = hash & table->mask;

	while (atomic_load_explicit(&table->slots[at].node, memory_order_relaxed))
		at = (at + 1) & table->mask;
	atomic_store_explicit(&table->slots[at].hash, hash, memory_order_relaxed);
	/* Pairs with the acquire load in st_intern_find. */
	atomic_store_explicit(&table->slots[at].node, node, memory_order_release);
}

static void *map_memory(size_t size_bytes)
{
	return st_passive()
		       ? NULL
		       : st_map_lazily(size_bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

/* A table with room for one more, at most half full. */
static struct st_intern_table *grow(struct st_intern_index *index)
{
	struct st_intern_table *old = atomic_load_explicit(&index->table, memory_order_relaxed);
	uint64_t slots = old ? (old->mask + 1) * 4 : FIRST_SLOTS;
	struct st_intern_table *table;

	if (old && (uint64_t)index->count * 2 < old->mask)
		return old;
	table = map_memory(sizeof(*table) + slots * sizeof(struct st_slot));
	if (!table)
		return NULL;
	table->mask = slots - 1;
	for (uint64_t i = 0; old && i <= old->mask; i++) {
		struct st_intern_node *node =
			atomic_load_explicit(&old->slots[i].node, memory_order_relaxed);

		if (node)
			put_in(table,
			       atomic_load_explicit(&old->slots[i].hash, memory_order_relaxed),
			       node);
	}
	/* Pairs with the acquire load in st_intern_find. */
	atomic_store_explicit(&index->table, table, memory_order_release);
	return table;
}

static void make_arena(void)
{
	size_t share = st_passive() ? 0 : st_address_share();

	arena_bytes = share < ARENA_BYTES ? share : ARENA_BYTES;
	arena = arena_bytes ? map_memory(arena_bytes) : NULL;
}

void st_intern_prepare(void)
{
	if (!arena)
		make_arena();
	for (int kind = 0; kind < ST_INDEX_KINDS; kind++)
		grow(&st_indexes[kind]);
}

/* An object stands behind its node. */
static size_t node_bytes(enum st_index_kind kind, uint32_t length)
{
	size_t size_bytes = (sizeof(struct st_intern_node) + length + 1 + 15) & ~15ul;

	return size_bytes + (kind == ST_INDEX_OBJECTS ? sizeof(struct st_itt_object) : 0);
}

static void fill_object(struct st_intern_node *node, const struct st_itt_object *from)
{
	struct st_itt_object *object =
		(struct st_itt_object *)((char *)node + node_bytes(ST_INDEX_STRINGS, node->length));

	*object = *from;
	object->self = object;
	object->node = node;
	node->handle.extra2 = object;
	st_object_fill(object);
}

/* Domains and families have all of it. */
static bool has_place(enum st_index_kind kind, size_t size_bytes)
{
	size_t limit = arena_bytes;

	if (kind == ST_INDEX_STRINGS || kind == ST_INDEX_OBJECTS)
		limit -= arena_bytes / ARENA_OTHERS_PART;
	return arena_used + size_bytes <= limit &&
	       (kind != ST_INDEX_OBJECTS ||
		objects_used + size_bytes <= arena_bytes / ARENA_OBJECTS_PART);
}

static struct st_intern_node *new_node(enum st_index_kind kind, const struct st_text_key *key)
{
	size_t size_bytes = node_bytes(kind, key->length);
	struct st_intern_node *node;

	if (!arena)
		make_arena();
	if (!arena || !has_place(kind, size_bytes))
		return NULL;
	if (kind == ST_INDEX_OBJECTS)
		objects_used += size_bytes;
	node = (struct st_intern_node *)(arena + arena_used);
	arena_used += size_bytes;
	/* A child forked in the middle of this may find old bytes here. */
	memset(node, 0, sizeof(*node));
	memcpy(node->text, key->text, key->length);
	node->text[key->length] = '\0';
	node->length = key->length;
	node->cut = key->cut;
	if (kind == ST_INDEX_DOMAINS) {
		node->domain.flags = st_domain_wanted(node->text);
		node->domain.nameA = node->text;
	} else {
		node->handle.strA = node->text;
		node->handle.extra1 = kind == ST_INDEX_FAMILIES ? ST_ID_FAMILY : 0;
	}
	if (kind == ST_INDEX_OBJECTS)
		fill_object(node, key->object);
	return node;
}

static size_t highest_end(enum st_index_kind kind)
{
	struct st_intern_table *table =
		atomic_load_explicit(&st_indexes[kind].table, memory_order_acquire);
	size_t highest = 0;

	for (uint64_t i = 0; table && i <= table->mask; i++) {
		struct st_intern_node *node =
			atomic_load_explicit(&table->slots[i].node, memory_order_acquire);
		size_t end =
			node ? (size_t)((char *)node - arena) + node_bytes(kind, node->length) : 0;

		if (end > highest)
			highest = end;
	}
	return highest;
}

/* A fork copies page by page while other threads go on: a child may have a node and an older
 * arena_used. Once per process, before its first insertion. */
static void check_arena(void)
{
	size_t end = 0;

	if (st_process->arena_checked)
		return;
	st_process->arena_checked = true;
	for (int kind = 0; kind < ST_INDEX_KINDS; kind++) {
		size_t highest = highest_end((enum st_index_kind)kind);

		if (highest > end)
			end = highest;
	}
	if (end + sizeof(struct st_intern_node) > arena_used && end)
		arena_used = (end + 2 * 4096) & ~4095ul;
}

struct st_intern_node *st_intern_make(enum st_index_kind kind, const struct st_text_key *key)
{
	struct st_intern_index *index = &st_indexes[kind];
	struct st_intern_node *node;
	struct st_intern_table *table;

	if (!st_process_lock())
		return NULL;
	check_arena();
	node = st_intern_find(kind, key);
	if (!node && index->count < index->max) {
		table = grow(index);
		node = table ? new_node(kind, key) : NULL;
		if (node) {
			index->count++;
			put_in(table, key->hash, node);
		}
	}
	st_process_unlock();
	return node;
}

struct st_intern_node *st_intern_family(const struct st_text_key *key)
{
	char text[FAMILY_TEXT_MAX + 1];
	struct st_text_key family;
	struct st_intern_node *node;
	size_t length = 0;
	bool digits = false;

	for (uint32_t i = 0; i < key->length && length < FAMILY_TEXT_MAX; i++) {
		bool digit = key->text[i] >= '0' && key->text[i] <= '9';

		if (!digit || !digits)
			text[length++] = digit ? '*' : key->text[i];
		digits = digit;
	}
	text[length] = '\0';
	family = st_text_key(text, length);
	node = st_intern_find(ST_INDEX_FAMILIES, &family);
	if (!node)
		node = st_intern_make(ST_INDEX_FAMILIES, &family);
	return node ? node : &st_any_family;
}

bool st_intern_owns(const void *object)
{
	const char *at = object;

	return (arena && at >= arena && at < arena + arena_bytes) ||
	       object == (const void *)&st_any_family || object == (const void *)&st_any_domain ||
	       object == (const void *)&st_off_domain;
}

static uint32_t highest_in(enum st_index_kind kind)
{
	struct st_intern_table *table =
		atomic_load_explicit(&st_indexes[kind].table, memory_order_acquire);
	uint32_t highest = 0;

	for (uint64_t i = 0; table && i <= table->mask; i++) {
		struct st_intern_node *node =
			atomic_load_explicit(&table->slots[i].node, memory_order_acquire);
		uint32_t id = 0;

		if (node)
			id = (uint32_t)(kind == ST_INDEX_DOMAINS ? node->domain.extra1
								 : node->handle.extra1) &
			     ~(uint32_t)ST_ID_FAMILY;
		if (id > highest)
			highest = id;
	}
	return highest;
}

void st_intern_highest(uint32_t *strings, uint32_t *domains, uint32_t *objects)
{
	uint32_t labels = highest_in(ST_INDEX_STRINGS), families = highest_in(ST_INDEX_FAMILIES);
	uint32_t own = highest_in(ST_INDEX_DOMAINS), things = highest_in(ST_INDEX_OBJECTS);

	if (families > labels)
		labels = families;
	if (labels > *strings)
		*strings = labels;
	if (own > *domains)
		*domains = own;
	if (things > *objects)
		*objects = things;
}

/* A child that joins a strata of its own: nothing was defined there. */
void st_intern_undefine(void)
{
	for (int kind = 0; kind < ST_INDEX_KINDS; kind++) {
		struct st_intern_table *table =
			atomic_load_explicit(&st_indexes[kind].table, memory_order_acquire);

		for (uint64_t i = 0; table && i <= table->mask; i++) {
			struct st_intern_node *node =
				atomic_load_explicit(&table->slots[i].node, memory_order_acquire);
			int *id = !node			     ? NULL
				  : kind == ST_INDEX_DOMAINS ? &node->domain.extra1
							     : &node->handle.extra1;

			if (id)
				__atomic_and_fetch(id, (int)ST_ID_FAMILY, __ATOMIC_RELEASE);
		}
	}
	st_any_family.handle.extra1 &= (int)ST_ID_FAMILY;
	st_any_domain.domain.extra1 = 0;
	st_shared.strings = st_shared.domains = st_shared.objects = 0;
}

int st_intern_number(const void *object)
{
	const char *at = object;

	return arena && at >= arena && at < arena + arena_bytes ? (int)((at - arena) / 16) + 1 : 0;
}

void *st_intern_numbered(int number)
{
	size_t offset = (size_t)(number - 1) * 16;

	return arena && number > 0 && offset + sizeof(struct st_itt_object) <= arena_used
		       ? arena + offset
		       : NULL;
}
