/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and words of the ITT interface: typed numbers, arrays of them, ids, scopes, relations.
 */
#ifndef ST_ANALYZE_DATASETS_ITT_VALUES_H
#define ST_ANALYZE_DATASETS_ITT_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/definitions.h"

struct st_arena;
struct st_buf;
struct st_itt_id;

/* ITT's metadata types. */
enum st_value_type {
	ST_VALUE_UNKNOWN,
	ST_VALUE_U64,
	ST_VALUE_S64,
	ST_VALUE_U32,
	ST_VALUE_S32,
	ST_VALUE_U16,
	ST_VALUE_S16,
	ST_VALUE_FLOAT,
	ST_VALUE_DOUBLE,
	ST_VALUE_TYPES
};

/* A value as a record holds it (its bits, widened to 64): integers, sign kept; of floating point rounded
 * toward zero. And any type as a number. */
uint64_t st_value_integer(uint32_t type, uint64_t bits);
double st_value_number(uint32_t type, uint64_t bits);

const char *st_value_type_name(uint32_t type); /* "u64" …, "unknown" */
unsigned int st_value_bytes(uint32_t type);    /* of one element; 0 when the type is unknown */

/* Elements of an array, and the array as JSON: "[1,2,3]", one element alone without brackets. Bytes of an
 * unknown type, or that are no whole elements, as hexadecimal digits. */
size_t st_values_count(uint32_t type, struct st_text data);
double st_values_at(uint32_t type, struct st_text data, size_t index);
void st_values_write(struct st_buf *out, uint32_t type, struct st_text data);

/* "d1:d2:d3"; the null id is "". */
struct st_text st_itt_id_text(const struct st_itt_id *id, struct st_arena *arena);

const char *st_scope_name(uint32_t scope); /* "global", "process", "thread", "task", "marker" */
const char *st_relation_name(uint32_t relation); /* "dependent_on" … */
const char *st_context_name(uint32_t type); /* "name", "device", "units" …, of a counter's facts */

#endif
