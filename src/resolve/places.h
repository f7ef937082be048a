/* SPDX-License-Identifier: Apache-2.0
 *
 * Which code lay at an address of a process at a time: a mapped file, or a method of a JIT compiler.
 */
#ifndef ST_RESOLVE_PLACES_H
#define ST_RESOLVE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct st_result;
struct st_code_places;

enum { ST_PLACE_NONE = UINT32_MAX };

/* Borrows from result. NULL: no memory. */
struct st_code_places *st_code_places_create(const struct st_result *result);
void st_code_places_destroy(struct st_code_places *places);

/* Index into st_result_code_maps, or ST_PLACE_NONE. What was mapped last before the time wins; a mapping
 * that was only noticed later serves when there is no other. A forked child has those of its parent. */
uint32_t st_code_places_map(const struct st_code_places *places, uint32_t process, uint64_t address,
			    int64_t time_ns);
/* Index into st_result_code of the piece (no inlined one) that holds the address then, or
 * ST_PLACE_NONE. */
uint32_t st_code_places_code(const struct st_code_places *places, uint32_t process,
			     uint64_t address, int64_t time_ns);
/* Inlined pieces of a piece at an address, outermost first; returns how many. */
uint32_t st_code_places_inlined(const struct st_code_places *places, uint32_t code,
				uint64_t address, uint32_t *out, uint32_t max);

#endif
