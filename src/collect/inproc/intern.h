/* SPDX-License-Identifier: Apache-2.0
 *
 * Names to objects: string handles and domains, found by text without a lock, made under the process
 * lock from arenas that are never freed. Bounded: ST_SHM_STRINGS_MAX labels or 15 MiB of them, then a
 * label shares the handle of its family (runs of digits become '*').
 */
#ifndef ST_COLLECT_INPROC_INTERN_H
#define ST_COLLECT_INPROC_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/itt_abi.h"

#pragma GCC visibility push(hidden)

enum { ST_ID_FAMILY = 1 << 30 }; /* in extra1: many labels share this handle */

enum st_index_kind {
	ST_INDEX_STRINGS = 0,
	ST_INDEX_DOMAINS = 1,
	ST_INDEX_FAMILIES = 2,
	ST_INDEX_KINDS
};

/* The object comes first: a handle of ours is a node. */
struct st_node {
	union {
		struct itt_string_handle handle;
		struct itt_domain domain;
	};
	uint32_t length;
	uint32_t cut; /* the text is only the beginning of the label */
	char text[];  /* NUL-terminated */
};

struct st_text_key {
	const char *text;
	uint32_t length;
	uint32_t cut;
	uint64_t hash;
};

/* What a label is looked up by; labels beyond ST_SHM_TEXT_MAX bytes are cut at a character. */
struct st_text_key st_text_key(const char *text, size_t length);
/* Any thread, no lock, no wait; NULL when there is no such name. */
struct st_node *st_intern_find(enum st_index_kind kind, const struct st_text_key *key);
/* Finds or makes; takes the lock. NULL when a bound is reached or the lock is not to be had. The caller
 * holds st_tls busy. */
struct st_node *st_intern_make(enum st_index_kind kind, const struct st_text_key *key);
/* The family of a label: never NULL, the last resort is "*". The caller holds st_tls busy. */
struct st_node *st_intern_family(const struct st_text_key *key);
/* Whether a handle or domain is one of ours. */
bool st_intern_owns(const void *object);
/* Raises the counts to the highest id found in any node. */
void st_intern_highest(uint32_t *strings, uint32_t *domains);

extern struct st_node st_any_family; /* "*" */
extern struct st_node st_any_domain; /* "*": domains beyond ST_SHM_DOMAINS_MAX */

#pragma GCC visibility pop

#endif
