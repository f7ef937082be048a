/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that double when they are full.
 */
#ifndef ST_STORE_MODEL_GROW_H
#define ST_STORE_MODEL_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* array: the address of the pointer to the items. Room for item number count, counted from 0; false: no
 * memory, and the array is as it was. */
bool st_grow(void *array, uint32_t count, uint32_t *capacity, size_t item_bytes);

#endif
