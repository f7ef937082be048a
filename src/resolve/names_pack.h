/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of names.strata behind its key, without the chunks round them.
 */
#ifndef ST_RESOLVE_NAMES_PACK_H
#define ST_RESOLVE_NAMES_PACK_H

#include "base/buf.h"
#include "resolve/resolved.h"

bool st_names_pack(const struct st_resolved *resolved, uint32_t node_count, struct st_buf *out);
/* From byte `at` of the buffer. False: impossible bytes, or no memory; *out is to be freed in any case. */
bool st_names_unpack(struct st_resolved *out, const struct st_buf *bytes, size_t at,
		     uint32_t node_count);

#endif
