/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans while they are being put together; shared by index_spans.c, index_sync.c and index_lanes.c.
 */
#ifndef ST_STORE_INDEX_INDEX_SPANS_H
#define ST_STORE_INDEX_INDEX_SPANS_H

#include "store/index/index_build.h"

struct st_span_builder {
	struct st_index_builder *builder;
	struct st_span *spans; /* end_ns ST_SPAN_OPEN while it has not ended; kind 0: taken back */
	uint32_t count, capacity;
};

#define ST_SPAN_OPEN INT64_MIN

/* A span that begins with this event, at the row's time; ST_NO_ROW: no memory. */
uint32_t st_spans_begin(struct st_span_builder *spans, enum st_span_kind kind, uint32_t row);
void st_spans_end(struct st_span_builder *spans, uint32_t span, uint32_t row);
/* index_sync.c: sync objects, waits and holds. Needs the wide events sorted. */
bool st_spans_add_sync(struct st_span_builder *spans);
/* Not before its begin. */
void st_span_close_at(struct st_span *span, int64_t ns);
/* index_lanes.c: ends what is open, takes out what is no span, clips, sorts and gives lanes. */
bool st_spans_complete(struct st_span_builder *spans);

#endif
