/* SPDX-License-Identifier: Apache-2.0
 *
 * The key of an object is the head of its definition with what tells it apart, then its name, a NUL and
 * its second text: so one look-up serves all kinds, and the name is there for the program to read. Objects
 * that are always new get a serial number into the key.
 */
#include "collect/inproc/core/object.h"

#include <limits.h>
#include <string.h>

#include "collect/inproc/core/intern.h"
#include "collect/inproc/core/thread.h"

enum { NAME_MAX_BYTES = 2047, SECOND_MAX_BYTES = 511 };
enum { KEY_MAX_BYTES = sizeof(struct st_object_head) + NAME_MAX_BYTES + 1 + SECOND_MAX_BYTES };

static struct st_intern_node other_node;
static struct st_itt_object other = {
	.self = &other,
	.node = &other_node,
	.head = {.kind = ST_OBJECT_OTHERS},
};
static _Atomic uint64_t serial;

/* Not in the middle of a UTF-8 character. */
static uint32_t cut_length(const char *text, size_t length, uint32_t max)
{
	uint32_t end = max;

	if (length <= max)
		return (uint32_t)length;
	for (int i = 0; i < 3 && ((uint8_t)text[end] & 0xc0) == 0x80; i++)
		end--;
	return end;
}

/* Writes the key into `bytes` (KEY_MAX_BYTES). */
static struct st_text_key make_key(const struct st_object_wish *wish, char *bytes)
{
	struct st_object_head head;
	struct st_text_key key;
	uint32_t at = sizeof(head);
	bool cut = wish->name_bytes > NAME_MAX_BYTES || wish->second_bytes > SECOND_MAX_BYTES;

	memset(&head, 0, sizeof(head));
	head.kind = (uint8_t)wish->kind;
	head.type = wish->key_type;
	head.flags = wish->second != NULL;
	head.name_bytes = wish->name ? cut_length(wish->name, wish->name_bytes, NAME_MAX_BYTES) : 0;
	head.second_bytes =
		wish->second ? cut_length(wish->second, wish->second_bytes, SECOND_MAX_BYTES) : 0;
	if (wish->always_new)
		head.number[2] = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed) + 1;
	memcpy(bytes, &head, sizeof(head));
	if (head.name_bytes)
		memcpy(bytes + at, wish->name, head.name_bytes);
	at += head.name_bytes;
	bytes[at++] = '\0';
	if (head.second_bytes)
		memcpy(bytes + at, wish->second, head.second_bytes);
	at += head.second_bytes;
	key = st_text_key(bytes, at);
	key.cut = cut;
	key.object = wish->template;
	return key;
}

static const char *name_of(const struct st_itt_object *object)
{
	return object->node->text + sizeof(struct st_object_head);
}

static const char *second_of(const struct st_itt_object *object)
{
	return name_of(object) + object->head.name_bytes + 1;
}

void st_object_fill(struct st_itt_object *object)
{
	struct st_object_head key;

	memcpy(&key, object->node->text, sizeof(key));
	object->head.kind = key.kind;
	object->head.flags = key.flags;
	object->head.name_bytes = key.name_bytes;
	object->head.second_bytes = key.second_bytes;
	if (key.kind == ST_OBJECT_COUNTER) {
		object->counter.nameA = name_of(object);
		object->counter.domainA = key.flags ? second_of(object) : NULL;
	} else if (key.kind == ST_OBJECT_HISTOGRAM) {
		object->histogram.nameA = name_of(object);
	}
}

struct st_itt_object *st_object_find(const struct st_object_wish *wish)
{
	char bytes[KEY_MAX_BYTES];
	struct st_text_key key = make_key(wish, bytes);
	struct st_intern_node *node = st_intern_find(ST_INDEX_OBJECTS, &key);

	return node ? node->handle.extra2 : NULL;
}

struct st_itt_object *st_object_make(const struct st_object_wish *wish)
{
	char bytes[KEY_MAX_BYTES];
	struct st_text_key key = make_key(wish, bytes);
	struct st_intern_node *node = st_intern_find(ST_INDEX_OBJECTS, &key);
	struct st_hot *saved;

	if (!node && st_busy_enter(&saved)) {
		node = st_intern_make(ST_INDEX_OBJECTS, &key);
		st_busy_leave(saved);
	}
	return node ? node->handle.extra2 : &other;
}

struct st_itt_object *st_object_own(const void *pointer)
{
	const struct st_itt_object *object = pointer;

	if (pointer == &other)
		return &other;
	if (!pointer || (uintptr_t)pointer % 16 || !st_intern_owns(object) ||
	    !st_intern_owns((const char *)(object + 1) - 1) || object->self != object)
		return NULL;
	return (struct st_itt_object *)object;
}

int st_object_number(const struct st_itt_object *object)
{
	return object == &other ? INT_MAX : st_intern_number(object);
}

struct st_itt_object *st_object_numbered(int number, enum st_object_kind kind)
{
	struct st_itt_object *object =
		number == INT_MAX ? &other : st_object_own(st_intern_numbered(number));

	return object && (object == &other || object->head.kind == kind) ? object : NULL;
}

static bool define(struct st_itt_object *object, uint32_t id, uint32_t parent)
{
	struct st_object_head head = object->head;
	const struct st_part parts[3] = {
		{&head, sizeof(head)},
		{name_of(object), object->head.name_bytes},
		{second_of(object), object->head.second_bytes},
	};

	head.parent = parent;
	return st_define_parts(ST_DEFINE_OBJECT, id, parts, object == &other ? 1 : 3);
}

static uint32_t known_id(const struct st_itt_object *object)
{
	return (uint32_t)__atomic_load_n(&object->node->handle.extra1, __ATOMIC_ACQUIRE);
}

static uint32_t define_new(struct st_itt_object *object, uint32_t parent)
{
	uint32_t id = 0;

	if (!st_process_lock())
		return 0;
	id = known_id(object);
	if (!id && define(object, st_shared.objects + 1, parent)) {
		id = ++st_shared.objects;
		/* Whoever reads the id may publish a record with it at once. */
		__atomic_store_n(&object->node->handle.extra1, (int)id, __ATOMIC_RELEASE);
		if (object->node->cut)
			atomic_fetch_add_explicit(&st_header()->labels_cut, 1,
						  memory_order_relaxed);
	}
	st_process_unlock();
	return id;
}

static uint32_t define_again(struct st_itt_object *object, uint32_t id)
{
	if (!st_process_lock())
		return 0;
	if (atomic_load_explicit(&object->stale, memory_order_relaxed)) {
		if (define(object, id, object->parent ? known_id(object->parent) : 0))
			atomic_store_explicit(&object->stale, 0, memory_order_relaxed);
		else
			id = 0;
	}
	st_process_unlock();
	return id;
}

uint32_t st_object_id(struct st_itt_object *object)
{
	uint32_t id = object ? known_id(object) : 0, parent = 0;

	if (!object)
		return 0;
	if (ST_UNLIKELY(atomic_load_explicit(&object->stale, memory_order_relaxed)))
		return define_again(object, id);
	if (ST_LIKELY(id))
		return id;
	if (object->parent) {
		parent = known_id(object->parent);
		if (!parent)
			parent = define_new(object->parent, 0); /* parents have none */
	}
	return define_new(object, parent);
}

void st_object_redefine(struct st_itt_object *object, const uint64_t number[3])
{
	if (!st_process_lock())
		return;
	memcpy(object->head.number, number, sizeof(object->head.number));
	atomic_store_explicit(&object->stale, known_id(object) != 0, memory_order_relaxed);
	st_process_unlock();
	st_object_id(object);
}

void st_object_announce(struct st_itt_object *object)
{
	struct st_thread *thread;

	if (known_id(object))
		return;
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return;
	st_object_id(object);
	st_thread_leave(thread);
}
