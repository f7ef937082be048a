/* SPDX-License-Identifier: Apache-2.0
 *
 * LEB128 numbers: seven bits a byte, lowest first, the top bit set on all but the last byte; at most
 * ten bytes. Inline, because the encoder and the decoder of slices do this several times a record.
 */
#ifndef ST_FORMAT_VARINT_H
#define ST_FORMAT_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ST_VARINT32_MAX_BYTES = 5, ST_VARINT64_MAX_BYTES = 10 };

/* Returns the place behind it; the caller has made room. */
static inline uint8_t *st_varint_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Small numbers of both signs become small: 0, -1, 1, -2 … are 0, 1, 2, 3 … */
static inline uint64_t st_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value < 0 ? -1 : 0);
}

static inline int64_t st_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* A varint that is cut off or longer than 64 bits is damage: false. */
static inline bool st_varint_get_slow(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	const uint8_t *p = *at;
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && p < end; shift += 7) {
		uint8_t byte = *p++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = p;
			*out = value;
			return true;
		}
	}
	return false;
}

/* Lengths differ from number to number, so no branch on the length: eight bytes are loaded and what
 * belongs to the number is squeezed together. Near the end, and for longer numbers, byte by byte. */
static inline bool st_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	uint64_t word, stop;

	if (__builtin_expect(end - *at < 8, 0))
		return st_varint_get_slow(at, end, out);
	memcpy(&word, *at, sizeof(word));
	stop = ~word & 0x8080808080808080ull;
	if (__builtin_expect(!stop, 0))
		return st_varint_get_slow(at, end, out);
	*at += __builtin_ctzll(stop) / 8 + 1;
	word &= (stop ^ (stop - 1)) & 0x7f7f7f7f7f7f7f7full;
	word = (word & 0x007f007f007f007full) | (word & 0x7f007f007f007f00ull) >> 1;
	word = (word & 0x00003fff00003fffull) | (word & 0x3fff00003fff0000ull) >> 2;
	*out = (word & 0x000000000fffffffull) | (word & 0x0fffffff00000000ull) >> 4;
	return true;
}

static inline bool st_varint_get_u32(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
	uint64_t value;

	if (!st_varint_get(at, end, &value) || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

#endif
