/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the protobuf wire format into a buffer, field by field: what an exporter needs of it and no
 * more. Messages nest between st_pb_begin and st_pb_end. A failed append is kept by the buffer, so that
 * a caller writes a whole message and tests once.
 */
#ifndef ST_EXPORT_PROTOBUF_H
#define ST_EXPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct st_buf;

/* Field types uint32, uint64, bool, enum, and int32 and int64 that are not negative. */
void st_pb_u64(struct st_buf *out, uint32_t field, uint64_t value);
void st_pb_i64(struct st_buf *out, uint32_t field, int64_t value); /* int32 and int64 */
void st_pb_fixed64(struct st_buf *out, uint32_t field, uint64_t value);
void st_pb_double(struct st_buf *out, uint32_t field, double value);
/* Text of any bytes: a string must be UTF-8, so what is not becomes U+FFFD. */
void st_pb_text(struct st_buf *out, uint32_t field, const void *bytes, size_t size_bytes);
/* Opens a message; the value goes to st_pb_end, innermost first. */
size_t st_pb_begin(struct st_buf *out, uint32_t field);
void st_pb_end(struct st_buf *out, size_t begin);

#endif
