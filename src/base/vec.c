// SPDX-License-Identifier: Apache-2.0
//
// Growing arrays (base/vec.h).
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 16 };

bool st_vec_grow(void *array, size_t at, uint32_t *capacity, size_t item_bytes, bool zero)
{
	uint64_t wanted = *capacity ? (uint64_t)*capacity * 2 : FIRST_ITEMS;
	void *old, *grown;

	while (wanted <= at && wanted <= UINT32_MAX)
		wanted *= 2;
	if (wanted > UINT32_MAX || wanted > SIZE_MAX / item_bytes)
		return false;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, wanted * item_bytes);
	if (!grown)
		return false;
	if (zero)
		memset((char *)grown + *capacity * item_bytes, 0,
		       (wanted - *capacity) * item_bytes);
	memcpy(array, &grown, sizeof(grown));
	*capacity = (uint32_t)wanted;
	return true;
}
