/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels and copies. A program may make its lists before anything is recorded, and another strata may record it
 * later: names are kept here as texts with numbers of our own, and get the collector's when a record is handed over.
 */
#include <string.h>

#include "collect/inproc/device/device.h"
#include "collect/ze/ze.h"

enum { SLOTS = 65536, NAMES_MAX = SLOTS / 2, TEXT_BYTES = 8 << 20 };

static const uint64_t fnv_basis = 0xcbf29ce484222325u, fnv_prime = 0x100000001b3u;

static struct name {
	uint64_t hash;
	uint32_t at, length; /* of its text; a length of 0: the slot is free */
	uint32_t id, generation;
} * names;
static char *texts;
static uint32_t name_count, text_bytes;
static uint32_t generation = 1;

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = fnv_basis;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * fnv_prime;
	return hash;
}

uint32_t ze_name(const char *text, size_t length)
{
	uint64_t hash = hash_of(text, length);
	uint32_t slot = (uint32_t)(hash % SLOTS);

	if (!length)
		return 0;
	while (names[slot].length) {
		const struct name *name = &names[slot];

		if (name->hash == hash && name->length == length &&
		    memcmp(texts + name->at, text, length) == 0)
			return slot + 1;
		slot = (slot + 1) % SLOTS;
	}
	if (name_count == NAMES_MAX || length > TEXT_BYTES - text_bytes)
		return 0;
	memcpy(texts + text_bytes, text, length);
	names[slot] = (struct name){.hash = hash, .at = text_bytes, .length = (uint32_t)length};
	text_bytes += (uint32_t)length;
	name_count++;
	return slot + 1;
}

uint32_t ze_name_id(uint32_t number)
{
	static const char other[] = "[other kernels]";
	struct name *name = number ? &names[number - 1] : NULL;

	if (!name)
		return strata_device_name(other, sizeof(other) - 1);
	if (!name->id || name->generation != generation) {
		name->id = strata_device_name(texts + name->at, name->length);
		name->generation = generation;
	}
	return name->id;
}

void ze_names_renew(void)
{
	generation++;
}

bool ze_names_start(void)
{
	names = ze_map(SLOTS * sizeof(*names));
	texts = ze_map(TEXT_BYTES);
	return names && texts;
}

void ze_names_forget(void)
{
	ze_unmap(names, SLOTS * sizeof(*names));
	ze_unmap(texts, TEXT_BYTES);
	names = NULL;
	texts = NULL;
	name_count = text_bytes = 0;
}
