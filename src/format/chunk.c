// SPDX-License-Identifier: Apache-2.0
//
// Packs payloads into chunks, checks chunks, and unpacks them again. Structures are copied to and from
// the file as they lie in memory, so a big-endian machine is refused at compile time.
#include "format/chunk.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/buf.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file format is little-endian and is copied straight from memory"
#endif

enum { PACK_LEVEL = 3 };

struct st_packer {
	ZSTD_CCtx *context;
};

struct st_unpacker {
	ZSTD_DCtx *context;
};

enum st_status st_packer_create(struct st_packer **out, struct st_error *err)
{
	struct st_packer *packer;

	*out = NULL;
	packer = calloc(1, sizeof(*packer));
	if (!packer)
		return st_error_set(err, ST_ENOMEM, 0, "chunk compressor: out of memory");
	packer->context = ZSTD_createCCtx();
	if (!packer->context) {
		free(packer);
		return st_error_set(err, ST_ENOMEM, 0, "chunk compressor: out of memory");
	}
	*out = packer;
	return ST_OK;
}

void st_packer_destroy(struct st_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->context);
	free(packer);
}

static uint32_t chunk_crc(const struct st_chunk_header *header, const void *packed)
{
	struct st_chunk_header copy = *header;

	copy.crc = 0;
	return st_crc32c(st_crc32c(0, &copy, sizeof(copy)), packed, header->packed_bytes);
}

enum st_status st_packer_append(struct st_packer *packer, struct st_chunk_header *header,
				const void *payload, size_t payload_bytes, struct st_buf *out,
				struct st_error *err)
{
	size_t packed_bytes = 0;
	uint8_t *packed;

	if (payload_bytes > ST_CHUNK_RAW_MAX)
		return st_error_set(err, ST_ENOMEM, 0, "chunk of %zu bytes: the limit is %d",
				    payload_bytes, ST_CHUNK_RAW_MAX);
	if (!st_buf_reserve(out, sizeof(*header) + payload_bytes))
		return st_error_set(err, ST_ENOMEM, 0, "chunk of %zu bytes: no room to compress it",
				    payload_bytes);
	packed = out->data + out->size_bytes + sizeof(*header);
	/* The space is exactly the plain size: whatever does not shrink makes zstd fail and stays plain. */
	if (payload_bytes)
		packed_bytes = ZSTD_compressCCtx(packer->context, packed, payload_bytes, payload,
						 payload_bytes, PACK_LEVEL);
	header->flags &= ~(uint32_t)ST_CHUNK_PLAIN;
	if (!payload_bytes || ZSTD_isError(packed_bytes) || packed_bytes >= payload_bytes) {
		header->flags |= ST_CHUNK_PLAIN;
		packed_bytes = payload_bytes;
		if (payload_bytes)
			memcpy(packed, payload, payload_bytes);
	}
	header->magic = ST_CHUNK_MAGIC;
	header->major = ST_FORMAT_MAJOR;
	header->minor = ST_FORMAT_MINOR;
	header->raw_bytes = (uint32_t)payload_bytes;
	header->packed_bytes = (uint32_t)packed_bytes;
	header->crc = chunk_crc(header, packed);
	memcpy(out->data + out->size_bytes, header, sizeof(*header));
	out->size_bytes += sizeof(*header) + packed_bytes;
	return ST_OK;
}

static enum st_status check_sizes(const struct st_chunk_header *header, struct st_error *err)
{
	if (header->raw_bytes > ST_CHUNK_RAW_MAX || header->packed_bytes > ST_CHUNK_RAW_MAX)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "chunk of %u bytes (%u packed): the limit is %d",
				    header->raw_bytes, header->packed_bytes, ST_CHUNK_RAW_MAX);
	if ((header->flags & ST_CHUNK_PLAIN) && header->raw_bytes != header->packed_bytes)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "uncompressed chunk with two sizes, %u and %u",
				    header->raw_bytes, header->packed_bytes);
	return ST_OK;
}

enum st_status st_chunk_check(const void *data, size_t size_bytes, struct st_chunk_header *header,
			      struct st_error *err)
{
	const uint8_t *packed = (const uint8_t *)data + sizeof(*header);
	uint32_t crc;

	memset(header, 0, sizeof(*header));
	if (size_bytes < sizeof(*header))
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "only %zu bytes of a %zu-byte chunk header", size_bytes,
				    sizeof(*header));
	memcpy(header, data, sizeof(*header));
	if (header->magic != ST_CHUNK_MAGIC)
		return st_error_set(err, ST_ECORRUPT, 0, "not a chunk (magic is %08x)",
				    header->magic);
	if (header->major > ST_FORMAT_MAJOR)
		return st_error_set(
			err, ST_EVERSION, 0,
			"format version %u.%u is newer than this strata can read (%d.%d)",
			header->major, header->minor, ST_FORMAT_MAJOR, ST_FORMAT_MINOR);
	if (header->major < ST_FORMAT_MAJOR)
		return st_error_set(err, ST_ECORRUPT, 0, "invalid format version %u.%u",
				    header->major, header->minor);
	if (check_sizes(header, err))
		return ST_ECORRUPT;
	if (header->packed_bytes > size_bytes - sizeof(*header))
		return st_error_set(err, ST_ENOTFOUND, 0, "only %zu of %u bytes of a chunk",
				    size_bytes - sizeof(*header), header->packed_bytes);
	crc = chunk_crc(header, packed);
	if (crc != header->crc)
		return st_error_set(err, ST_ECORRUPT, 0, "checksum is %08x, expected %08x", crc,
				    header->crc);
	return ST_OK;
}

enum st_status st_unpacker_create(struct st_unpacker **out, struct st_error *err)
{
	struct st_unpacker *unpacker;

	*out = NULL;
	unpacker = calloc(1, sizeof(*unpacker));
	if (!unpacker)
		return st_error_set(err, ST_ENOMEM, 0, "chunk decompressor: out of memory");
	unpacker->context = ZSTD_createDCtx();
	if (!unpacker->context) {
		free(unpacker);
		return st_error_set(err, ST_ENOMEM, 0, "chunk decompressor: out of memory");
	}
	*out = unpacker;
	return ST_OK;
}

void st_unpacker_destroy(struct st_unpacker *unpacker)
{
	if (!unpacker)
		return;
	ZSTD_freeDCtx(unpacker->context);
	free(unpacker);
}

enum st_status st_unpacker_read(struct st_unpacker *unpacker, const struct st_chunk_header *header,
				const void *packed, struct st_buf *raw, struct st_error *err)
{
	size_t bytes;

	st_buf_clear(raw);
	if (check_sizes(header, err))
		return ST_ECORRUPT;
	/* One byte more than needed, so that data is never NULL, even for an empty payload. */
	if (!st_buf_reserve(raw, (size_t)header->raw_bytes + 1))
		return st_error_set(err, ST_ENOMEM, 0,
				    "chunk of %u bytes: no room to decompress it",
				    header->raw_bytes);
	if (header->flags & ST_CHUNK_PLAIN) {
		if (header->raw_bytes)
			memcpy(raw->data, packed, header->raw_bytes);
	} else {
		bytes = ZSTD_decompressDCtx(unpacker->context, raw->data, header->raw_bytes, packed,
					    header->packed_bytes);
		if (ZSTD_isError(bytes))
			return st_error_set(err,
					    ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation
						    ? ST_ENOMEM
						    : ST_ECORRUPT,
					    0, "cannot decompress the chunk: %s",
					    ZSTD_getErrorName(bytes));
		if (bytes != header->raw_bytes)
			return st_error_set(err, ST_ECORRUPT, 0,
					    "chunk decompresses to %zu bytes instead of %u", bytes,
					    header->raw_bytes);
	}
	raw->size_bytes = header->raw_bytes;
	return ST_OK;
}
