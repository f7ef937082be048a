/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects with a name that outlive any record: counters, histograms, heap functions, user events, marks,
 * pt regions, legacy frames, clock domains, tracks. They live in the arena of the names (intern.c), found
 * by a key, and are never freed; a forked child goes on with the copies and their ids.
 */
#ifndef ST_COLLECT_INPROC_CORE_OBJECT_H
#define ST_COLLECT_INPROC_CORE_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/itt_abi.h"
#include "collect/inproc/core/state.h"
#include "format/event_kind.h"

#pragma GCC visibility push(hidden)

struct st_intern_node;

/* What the program gets stands first, in the layout of the interface. */
struct st_itt_object {
	union {
		struct itt_counter counter;
		struct itt_histogram histogram;
		struct itt_clock_domain clock;
		struct itt_track track;
		struct itt_track_group group;
	};
	const struct st_itt_object *self; /* tells an object from other memory of the arena */
	struct st_intern_node *node;	  /* has the key as its text, the id in extra1 */
	struct st_itt_object *parent;
	struct st_object_head head; /* of the definition */
	_Atomic uint32_t told;	    /* bits: context metadata that is defined */
	_Atomic uint32_t stale;	    /* its definition is older than head.number */
};

_Static_assert(sizeof(struct st_itt_object) % 16 == 0, "the arena stays aligned");

/* What to look for, or to make. Texts need not be terminated. */
struct st_object_wish {
	enum st_object_kind kind;
	uint8_t key_type; /* part of the key */
	bool always_new;
	const char *name, *second; /* NULL: none */
	size_t name_bytes, second_bytes;
	struct st_itt_object *template; /* the rest: interface part, parent, types, numbers */
};

/* Not between st_thread_enter and st_thread_leave. Never NULL: beyond the bounds it is the object that stands for all others. */
struct st_itt_object *st_object_make(const struct st_object_wish *wish);
/* Without making one; NULL. */
struct st_itt_object *st_object_find(const struct st_object_wish *wish);
/* For intern.c, under the lock: pointers into the object itself. */
void st_object_fill(struct st_itt_object *object);

/* One of ours, or NULL. */
struct st_itt_object *st_object_own(const void *pointer);
/* Handles that are numbers: positive, one per object. */
int st_object_number(const struct st_itt_object *object);
struct st_itt_object *st_object_numbered(int number, enum st_object_kind kind);

/* Between st_thread_enter and st_thread_leave: the id in records, defined first if need be; 0 when that
 * is not possible now. NULL is 0. */
uint32_t st_object_id(struct st_itt_object *object);
/* Gives it other numbers; whoever uses it from now on defines it once more, if it cannot be done now. */
void st_object_redefine(struct st_itt_object *object, const uint64_t number[3]);
/* Outside: makes sure that it is defined, whether or not it will ever be used. */
void st_object_announce(struct st_itt_object *object);

#pragma GCC visibility pop

#endif
