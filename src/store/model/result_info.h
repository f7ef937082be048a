/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads result.json (docs/format/result_json.md) into struct st_result_info. A missing or broken file
 * is a note, not a failure; only a newer schema is refused.
 */
#ifndef ST_STORE_MODEL_RESULT_INFO_H
#define ST_STORE_MODEL_RESULT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/result.h"
#include "store/model/segment.h"

struct st_model;
struct st_source;

struct st_info_more { /* what result.json says beyond struct st_result_info */
	uint64_t chunks_not_written;
	double ring_buffer_s;	  /* only the last seconds were kept; 0: everything */
	uint64_t records_dropped; /* by the ring buffer */
	enum st_writing writing;
};

/* Texts and notes are kept in the model. */
enum st_status st_info_read(struct st_result_info *info, struct st_info_more *more,
			    const struct st_source *source, struct st_model *model,
			    struct st_error *err);

#endif
