// SPDX-License-Identifier: Apache-2.0
//
// Growing arrays (store/model/grow.h).
#include "store/model/grow.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 16 };

bool st_grow(void *array, uint32_t count, uint32_t *capacity, size_t item_bytes)
{
	uint32_t larger = *capacity ? *capacity * 2 : FIRST_ITEMS;
	void *old, *grown;

	if (count < *capacity)
		return true;
	memcpy(&old, array, sizeof(old));
	grown = larger > *capacity ? realloc(old, (size_t)larger * item_bytes) : NULL;
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*capacity = larger;
	return true;
}
