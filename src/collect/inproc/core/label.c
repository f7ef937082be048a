/* SPDX-License-Identifier: Apache-2.0
 *
 * Creators and ids. An id is given when its definition is published, never before, so that ids are
 * dense and every id in a record has its definition in front of it. Where a definition cannot be had
 * (full ring, bounds reached), the text travels in the event ring.
 */
#include "collect/inproc/core/label.h"

#include <string.h>

#include "collect/inproc/core/choose.h"
#include "collect/inproc/core/thread.h"

/* Pairs: whoever reads the id may publish a record with it at once. */
static void set_id(int *extra1, uint32_t id)
{
	__atomic_store_n(extra1, (int)id, __ATOMIC_RELEASE);
}

static uint32_t get_id(const int *extra1)
{
	return (uint32_t)__atomic_load_n(extra1, __ATOMIC_ACQUIRE);
}

static struct st_intern_node *find_or_make(enum st_index_kind kind, const struct st_text_key *key)
{
	struct st_intern_node *node = st_intern_find(kind, key);

	return node ? node : st_intern_make(kind, key);
}

static __attribute__((noinline)) struct itt_domain *domain_slow(const struct st_text_key *key)
{
	struct st_intern_node *node = NULL;
	struct st_hot *saved;

	if (st_busy_enter(&saved)) {
		node = st_intern_make(ST_INDEX_DOMAINS, key);
		st_busy_leave(saved);
	}
	if (node)
		return &node->domain;
	return st_domain_wanted(key->text) ? &st_any_domain.domain : &st_off_domain.domain;
}

struct itt_domain *st_domain_create(const char *name)
{
	struct st_text_key key;
	struct st_intern_node *node;

	if (!name)
		return NULL;
	key = st_text_key(name, strlen(name));
	node = st_intern_find(ST_INDEX_DOMAINS, &key);
	return ST_LIKELY(node) ? &node->domain : domain_slow(&key);
}

/* A label that shares a handle leaves its text in the ring, for the begin that is about to come. */
static void put_shared_text(struct st_intern_node *family, const struct st_text_key *key)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);
	uint32_t length = key->length;
	bool again;

	if (!thread)
		return;
	again = thread->text_family == family && thread->text_hash == key->hash;
	if (again && !thread->text_ambiguous)
		goto out;
	if (thread->text_family == family) {
		/* Two handles of one family are made before either is used: which one a begin means
		 * cannot be told. */
		thread->text_ambiguous = true;
		goto out;
	}
	thread->text_family = NULL;
	if (atomic_load_explicit(thread->hot.control, memory_order_relaxed) ||
	    !st_thread_catch_up(thread))
		goto out;
	if (length > thread->ring_bytes / 4)
		length = (uint32_t)thread->ring_bytes / 4;
	if (st_ring_put_text(thread, key->text, length)) {
		thread->text_family = family;
		thread->text_hash = key->hash;
		thread->text_ambiguous = false;
		if (key->cut || length < key->length)
			atomic_fetch_add_explicit(&st_header()->labels_cut, 1,
						  memory_order_relaxed);
	}
out:
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

static __attribute__((noinline)) struct itt_string_handle *
string_slow(const struct st_text_key *key)
{
	struct st_intern_node *node;
	struct st_hot *saved;

	if (!st_busy_enter(&saved))
		return &st_any_family.handle;
	node = st_intern_make(ST_INDEX_STRINGS, key);
	if (node) {
		st_busy_leave(saved);
		return &node->handle;
	}
	node = st_intern_family(key);
	st_busy_leave(saved);
	put_shared_text(node, key);
	return &node->handle;
}

struct itt_string_handle *st_string_handle_create(const char *name)
{
	struct st_text_key key;
	struct st_intern_node *node;

	if (ST_UNLIKELY(!name))
		return NULL;
	key = st_text_key(name, strlen(name));
	node = st_intern_find(ST_INDEX_STRINGS, &key);
	return ST_LIKELY(node) ? &node->handle : string_slow(&key);
}

/* Publishes the definition of a node that has none; 0 when that is not possible now. */
static uint32_t define_node(struct st_intern_node *node, enum st_ring_definition kind,
			    uint32_t mark)
{
	bool domain = kind == ST_DEFINE_DOMAIN;
	int *extra1 = domain ? &node->domain.extra1 : &node->handle.extra1;
	uint32_t *count = domain ? &st_shared.domains : &st_shared.strings;
	uint32_t id = get_id(extra1) & ~mark;

	if (id)
		return id;
	if (!st_process_lock())
		return 0;
	id = get_id(extra1) & ~mark;
	if (!id && st_define(kind, *count + 1, domain ? node->domain.nameA : node->handle.strA,
			     node->length)) {
		id = ++*count;
		set_id(extra1, id | mark);
		if (node->cut)
			atomic_fetch_add_explicit(&st_header()->labels_cut, 1,
						  memory_order_relaxed);
	}
	st_process_unlock();
	return id;
}

uint32_t st_domain_of(const struct itt_domain *domain)
{
	struct itt_domain *object = (struct itt_domain *)domain;
	struct st_intern_node *node = (struct st_intern_node *)object;
	struct st_text_key key;
	uint32_t id;

	if (!domain)
		return 0;
	id = get_id(&domain->extra1);
	if (id)
		return id;
	if (!st_intern_owns(domain)) {
		if (!domain->nameA)
			return 0;
		key = st_text_key(domain->nameA, strlen(domain->nameA));
		node = find_or_make(ST_INDEX_DOMAINS, &key);
		if (!node)
			node = &st_any_domain;
	}
	id = define_node(node, ST_DEFINE_DOMAIN, 0);
	if (id && &node->domain != domain)
		set_id(&object->extra1, id);
	return id;
}

static struct st_itt_label shared_label(struct st_thread *thread, struct st_intern_node *family)
{
	struct st_itt_label label = {.name = define_node(family, ST_DEFINE_STRING, ST_ID_FAMILY)};

	label.text_in_ring = thread->text_family == family && !thread->text_ambiguous;
	label.unknown = !label.text_in_ring;
	if (thread->text_family == family)
		thread->text_family = NULL;
	return label;
}

struct st_itt_label st_label_of_text(struct st_thread *thread, const char *text, uint32_t length)
{
	struct st_text_key key = st_text_key(text, length);
	struct st_intern_node *node = find_or_make(ST_INDEX_STRINGS, &key);
	struct st_itt_label label = {0};

	if (node)
		label.name = define_node(node, ST_DEFINE_STRING, 0);
	else
		label.name = define_node(st_intern_family(&key), ST_DEFINE_STRING, ST_ID_FAMILY);
	if (node && label.name)
		return label;
	label.text = key.text;
	label.text_length = key.length;
	thread->text_family = NULL; /* the text that goes into the ring now is the latest */
	return label;
}

struct st_itt_label st_label_of(struct st_thread *thread, struct itt_string_handle *handle)
{
	struct st_itt_label label = {0};
	uint32_t id;

	if (!handle)
		return label;
	id = get_id(&handle->extra1);
	if (id && !(id & ST_ID_FAMILY)) {
		label.name = id;
		return label;
	}
	if (id && st_intern_owns(handle))
		return shared_label(thread, (struct st_intern_node *)handle);
	if (!handle->strA)
		return label;
	if (st_intern_owns(handle)) {
		struct st_intern_node *node = (struct st_intern_node *)handle;

		label.name = define_node(node, ST_DEFINE_STRING, 0);
		if (!label.name) {
			label.text = node->text;
			label.text_length = node->length;
			thread->text_family = NULL;
		}
		return label;
	}
	label = st_label_of_text(thread, handle->strA, (uint32_t)strnlen(handle->strA, UINT32_MAX));
	if (label.name && !label.text)
		set_id(&handle->extra1, label.name);
	return label;
}

static void count_unknown(void)
{
	atomic_fetch_add_explicit(&st_header()->labels_unknown, 1, memory_order_relaxed);
}

uint32_t st_name_or_family(const char *text, size_t length, bool *shared)
{
	struct st_text_key key = st_text_key(text, length);
	struct st_intern_node *node = find_or_make(ST_INDEX_STRINGS, &key);

	*shared = !node;
	return node ? define_node(node, ST_DEFINE_STRING, 0)
		    : define_node(st_intern_family(&key), ST_DEFINE_STRING, ST_ID_FAMILY);
}

uint32_t st_name_of_text(const char *text, size_t length)
{
	bool shared;
	uint32_t id = st_name_or_family(text, length, &shared);

	if (shared || !id)
		count_unknown();
	return id;
}

uint32_t st_name_of(struct itt_string_handle *handle)
{
	bool shared = false;
	uint32_t id;

	if (!handle)
		return 0;
	id = get_id(&handle->extra1);
	if (ST_LIKELY(id && !(id & ST_ID_FAMILY)))
		return id;
	if (st_intern_owns(handle)) {
		shared = id & ST_ID_FAMILY;
		id = define_node((struct st_intern_node *)handle, ST_DEFINE_STRING,
				 id & ST_ID_FAMILY);
	} else if (handle->strA) {
		id = st_name_or_family(handle->strA, strlen(handle->strA), &shared);
		if (id && !shared)
			set_id(&handle->extra1, id);
	} else {
		return 0;
	}
	if (shared || !id)
		count_unknown();
	return id;
}

void st_label_retry_name(struct st_thread *thread)
{
	const struct st_intern_node *node = thread->name_pending;

	if (!st_process_lock())
		return;
	if (st_define(ST_DEFINE_THREAD_NAME, thread->tid, node->handle.strA, node->length))
		thread->name_pending = NULL;
	st_process_unlock();
}

void st_label_thread(const char *name, size_t length)
{
	struct st_text_key key;
	struct st_thread *thread;

	if (!name)
		return;
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return;
	key = st_text_key(name, length);
	thread->name_pending = find_or_make(ST_INDEX_STRINGS, &key);
	if (thread->name_pending)
		st_label_retry_name(thread);
	st_thread_identify(thread);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}
