/* SPDX-License-Identifier: Apache-2.0
 *
 * What a writer writes into: a buffer that is passed on to the sink whenever it has become large, and a second one for
 * texts that are put together first. Appending never fails at once: whether memory was enough is seen when the
 * buffer is passed on.
 */
#ifndef ST_EXPORT_STREAM_H
#define ST_EXPORT_STREAM_H

#include "base/buf.h"
#include "export/export.h"

struct st_stream {
	struct st_sink *sink;
	const char *what; /* "the export", for the text when memory is out */
	struct st_buf out, scratch;
	uint64_t done, total; /* for the progress; total 0: nothing is said */
};

void st_stream_init(struct st_stream *stream, struct st_sink *sink, const char *what);
void st_stream_fini(struct st_stream *stream);
enum st_status st_stream_no_memory(const struct st_stream *stream, struct st_error *err);
/* Passes the buffer on when it has become large. */
enum st_status st_stream_spill(struct st_stream *stream, struct st_error *err);
/* Passes on what is left unless status says that something failed before; then fini. Returns the first failure. */
enum st_status st_stream_end(struct st_stream *stream, enum st_status status, struct st_error *err);
/* What scratch holds, as a text; scratch is emptied by st_stream_scratch, which hands it out for the next one. */
struct st_buf *st_stream_scratch(struct st_stream *stream);
struct st_text st_stream_text(const struct st_stream *stream);

#endif
