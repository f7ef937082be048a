/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow. An array is three variables or fields of its owner: a pointer to the items, a uint32_t count
 * and a uint32_t capacity, all zero at first; free() ends it. What fails leaves everything as it was, so the
 * caller may go on with what is there. An array with a maximum is asked for room only below it:
 *
 *	if (list->count >= ITEMS_MAX || !ST_VEC_PUSH(list->items, list->count, list->capacity, item))
 *		list->failed = true;
 *
 * Arguments are evaluated more than once.
 */
#ifndef ST_BASE_VEC_H
#define ST_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for item number at, counted from 0; new room is not cleared. False: no memory. */
#define ST_VEC_ROOM(items, at, capacity)                                                           \
	((at) < (capacity) || st_vec_grow(&(items), (at), &(capacity), sizeof(*(items)), false))

/* As ST_VEC_ROOM, and new room is zero: for arrays that are filled in any order. */
#define ST_VEC_ROOM_ZERO(items, at, capacity)                                                      \
	((at) < (capacity) || st_vec_grow(&(items), (at), &(capacity), sizeof(*(items)), true))

/* Appends a value, which may be a compound literal. False: no memory. */
#define ST_VEC_PUSH(items, count, capacity, ...)                                                   \
	(ST_VEC_ROOM(items, count, capacity) && ((items)[(count)++] = (__VA_ARGS__), true))

/* array: the address of the pointer to the items. At least doubles. */
bool st_vec_grow(void *array, size_t at, uint32_t *capacity, size_t item_bytes, bool zero);

#endif
