/* SPDX-License-Identifier: Apache-2.0
 *
 * What the names of a result were made from. They are rebuilt if anything differs.
 */
#ifndef ST_RESOLVE_NAMES_KEY_H
#define ST_RESOLVE_NAMES_KEY_H

#include <stdint.h>

struct st_named_options;
struct st_result;

enum { ST_NAMES_BUILDER = 1 }; /* +1 whenever the same result would get other names */

struct st_names_key {
	uint32_t builder;
	uint32_t node_count;
	uint32_t nodes_crc; /* over the columns of the stack nodes and the times of samples */
	uint32_t code_crc;  /* over mapped files, JIT code and Python functions, with their texts */
	uint32_t
		search_crc; /* over the search folders; 0: none. Not compared when none are asked for. */
	uint32_t reserved;
};
_Static_assert(sizeof(struct st_names_key) == 24, "names key is a file format");

struct st_names_key st_names_key_of(const struct st_result *result,
				    const struct st_named_options *options);

#endif
