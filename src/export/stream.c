// SPDX-License-Identifier: Apache-2.0
//
// Buffers in front of a sink.
#include "export/stream.h"

enum { SPILL_BYTES = 256 << 10 };

void st_stream_init(struct st_stream *stream, struct st_sink *sink, const char *what)
{
	*stream = (struct st_stream){.sink = sink, .what = what};
	st_buf_init(&stream->out, SIZE_MAX / 4);
	st_buf_init(&stream->scratch, SIZE_MAX / 4);
}

void st_stream_fini(struct st_stream *stream)
{
	st_buf_fini(&stream->out);
	st_buf_fini(&stream->scratch);
}

enum st_status st_stream_no_memory(const struct st_stream *stream, struct st_error *err)
{
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for %s", stream->what);
}

static enum st_status pass_on(struct st_stream *stream, size_t above, struct st_error *err)
{
	enum st_status status = ST_OK;

	if (stream->out.failed || stream->scratch.failed)
		return st_stream_no_memory(stream, err);
	if (stream->out.size_bytes > above) {
		status = st_sink_write(stream->sink, stream->out.data, stream->out.size_bytes, err);
		st_buf_clear(&stream->out);
		if (stream->total)
			st_sink_progress(stream->sink, stream->done, stream->total);
	}
	return status;
}

enum st_status st_stream_spill(struct st_stream *stream, struct st_error *err)
{
	return pass_on(stream, SPILL_BYTES, err);
}

enum st_status st_stream_end(struct st_stream *stream, enum st_status status, struct st_error *err)
{
	if (!status)
		status = pass_on(stream, 0, err);
	st_stream_fini(stream);
	return status;
}

struct st_buf *st_stream_scratch(struct st_stream *stream)
{
	stream->scratch.size_bytes = 0;
	return &stream->scratch;
}

struct st_text st_stream_text(const struct st_stream *stream)
{
	return (struct st_text){(const char *)stream->scratch.data, stream->scratch.size_bytes};
}
