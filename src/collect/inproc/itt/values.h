/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of the interface's types, read from wherever the program has them: unaligned too.
 */
#ifndef ST_COLLECT_INPROC_ITT_VALUES_H
#define ST_COLLECT_INPROC_ITT_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collect/inproc/core/itt_abi.h"

/* 0: not known. */
static inline uint32_t st_type_bytes(int type)
{
	static const uint8_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};

	return type > 0 && type <= ITT_TYPE_DOUBLE ? sizes[type] : 0;
}

/* One value as 64 bits: signed ones keep their value, a float becomes a double. */
static inline bool st_value_read(int type, const void *at, uint64_t *value)
{
	uint32_t u32;
	uint16_t u16;
	float narrow;
	double wide;

	switch (type) {
	case ITT_TYPE_U64:
	case ITT_TYPE_S64:
	case ITT_TYPE_DOUBLE:
		memcpy(value, at, 8);
		return true;
	case ITT_TYPE_U32:
	case ITT_TYPE_S32:
		memcpy(&u32, at, 4);
		*value = type == ITT_TYPE_U32 ? u32 : (uint64_t)(int64_t)(int32_t)u32;
		return true;
	case ITT_TYPE_U16:
	case ITT_TYPE_S16:
		memcpy(&u16, at, 2);
		*value = type == ITT_TYPE_U16 ? u16 : (uint64_t)(int64_t)(int16_t)u16;
		return true;
	case ITT_TYPE_FLOAT:
		memcpy(&narrow, at, 4);
		wide = narrow;
		memcpy(value, &wide, 8);
		return true;
	default:
		return false;
	}
}

#endif
