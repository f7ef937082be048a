// SPDX-License-Identifier: Apache-2.0
//
// What follows an opcode is in tables of a letter each: '.' nothing, 'm' ModRM, 'b' a byte, 'z' four bytes (two
// with 66), 'B' ModRM and a byte, 'Z' ModRM and four (two), 'w' two bytes, 'v' four bytes or eight with REX.W, 'a' an
// address of eight, 'e' three bytes, 'j' a jump of four bytes, 'x' not in 64-bit mode, 'p' prefix or escape, '6' and '7'
// the groups F6 and F7.
#include "unwind/x86_insn.h"

#include <string.h>

static const char one_byte[] = "mmmmbzxxmmmmbzxp" /* 00 */
			       "mmmmbzxxmmmmbzxx"
			       "mmmmbzpxmmmmbzpx"
			       "mmmmbzpxmmmmbzpx"
			       "pppppppppppppppp" /* 40: REX */
			       "................"
			       "xxpmppppzZbB...." /* 60 */
			       "bbbbbbbbbbbbbbbb"
			       "BZxBmmmmmmmmmmmm" /* 80 */
			       "..........x....."
			       "aaaa....bz......" /* a0 */
			       "bbbbbbbbvvvvvvvv"
			       "BBw.ppBZe.w..bx." /* c0 */
			       "mmmmxxx.mmmmmmmm"
			       "bbbbbbbbjjxb...." /* e0 */
			       "p.pp..67......mm";

static const char two_byte[] = "mmmmx.......xm.B" /* 0f 00 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmxxxxmmmmmmmm"
			       "........pxpxxxxx" /* 0f 38 and 0f 3a are maps of their own */
			       "mmmmmmmmmmmmmmmm" /* 40 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "BBBBmmm.mmmmmmmm"
			       "jjjjjjjjjjjjjjjj" /* 80 */
			       "mmmmmmmmmmmmmmmm"
			       "...mBmxx...mBmmm" /* a0 */
			       "mmmmmmmmmmBmmmmm"
			       "mmBmBBBm........" /* c0 */
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm" /* e0 */
			       "mmmmmmmmmmmmmmmm";

_Static_assert(sizeof(one_byte) == 257 && sizeof(two_byte) == 257, "a letter for each opcode");

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8, SIB_FOLLOWS = 4 };

struct decoder {
	const uint8_t *code, *at, *stop;
	struct st_x86_insn *insn;
	uint8_t rex;
};

/* Nearly all are of one or four bytes: a copy of any size is a call, and megabytes of code are decoded. */
static inline bool take(struct decoder *decoder, size_t size_bytes, int64_t *value)
{
	uint64_t raw = 0;
	unsigned int unused = 64 - 8 * (unsigned int)size_bytes;
	int32_t four;

	if ((size_t)(decoder->stop - decoder->at) < size_bytes)
		return false;
	if (size_bytes == 1) {
		*value = (int64_t)((uint64_t)*decoder->at++ << 56) >> 56;
		return true;
	}
	if (size_bytes == sizeof(four)) {
		memcpy(&four, decoder->at, sizeof(four));
		decoder->at += sizeof(four);
		*value = four;
		return true;
	}
	memcpy(&raw, decoder->at, size_bytes);
	decoder->at += size_bytes;
	*value = (int64_t)(raw << unused) >> unused;
	return true;
}

static inline bool take_modrm(struct decoder *decoder)
{
	struct st_x86_insn *insn = decoder->insn;
	unsigned int mod, rm;
	int64_t displacement = 0;
	size_t size = 0;

	if (decoder->at == decoder->stop)
		return false;
	insn->has_modrm = true;
	insn->modrm = *decoder->at++;
	mod = insn->modrm >> 6;
	rm = insn->modrm & 7;
	insn->reg = (uint8_t)((insn->modrm >> 3 & 7) | (decoder->rex & REX_R ? 8 : 0));
	insn->rm = (uint8_t)(rm | (decoder->rex & REX_B ? 8 : 0));
	if (mod == 3)
		return true;
	if (rm == SIB_FOLLOWS) {
		if (decoder->at == decoder->stop)
			return false;
		insn->sib = *decoder->at++;
		insn->rm = (uint8_t)((insn->sib & 7) | (decoder->rex & REX_B ? 8 : 0));
		/* An index of 4 means none, unless REX.X makes it r12. */
		if (decoder->rex & REX_X && (insn->sib >> 3 & 7) == 4)
			insn->sib &= 0xc7;
	}
	if (mod == 1)
		size = 1;
	else if (mod == 2 || (rm == 5 && mod == 0) ||
		 (rm == SIB_FOLLOWS && mod == 0 && (insn->sib & 7) == 5))
		size = 4;
	if (size && !take(decoder, size, &displacement))
		return false;
	insn->displacement = (int32_t)displacement;
	return true;
}

/* Bytes of the operand behind ModRM. */
static size_t operand_bytes(const struct st_x86_insn *insn, char shape)
{
	size_t word = insn->prefix_66 ? 2 : 4;

	switch (shape) {
	case 'b':
	case 'B':
		return 1;
	case 'z':
	case 'Z':
		return word;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'j':
		return 4;
	case 'v':
		return insn->wide ? 8 : word;
	case 'a':
		return 8;
	case '6':
	case '7': /* test has an immediate, the others of the group have none */
		return (insn->modrm >> 3 & 7) > 1 ? 0 : shape == '6' ? 1 : word;
	default:
		return 0;
	}
}

static bool take_operands(struct decoder *decoder, char shape)
{
	bool has_modrm =
		shape == 'm' || shape == 'B' || shape == 'Z' || shape == '6' || shape == '7';
	size_t size;

	if (shape == 'x' || shape == 'p' || (has_modrm && !take_modrm(decoder)))
		return false;
	if (shape == 'm' || shape == '.')
		return true;
	size = operand_bytes(decoder->insn, shape);
	return !size || take(decoder, size, &decoder->insn->immediate);
}

/* VEX of two or three bytes, EVEX of four: their bits are inverted REX bits. The letter of what follows; 'x': nothing
 * that is known. */
static char take_vex(struct decoder *decoder, uint8_t first)
{
	size_t bytes = first == 0xc5 ? 1 : first == 0xc4 ? 2 : 3;
	struct st_x86_insn *insn = decoder->insn;
	const uint8_t *at = decoder->at;
	char shape = 'm';

	if ((size_t)(decoder->stop - at) < bytes + 1)
		return 'x';
	decoder->rex = (uint8_t)(~at[0] >> 5 & (bytes == 1 ? REX_R : REX_R | REX_X | REX_B));
	insn->vex = true;
	insn->map = bytes == 1 ? ST_X86_0F : at[0] & (bytes == 2 ? 0x1f : 7);
	insn->wide = bytes > 1 && at[1] >> 7;
	insn->vex_register = (uint8_t)(~at[bytes > 1] >> 3 & 15);
	insn->opcode = at[bytes];
	decoder->at += bytes + 1;
	if (bytes == 1)
		decoder->rex = (uint8_t)(~at[0] >> 7 ? REX_R : 0);
	if (!insn->map || insn->map > 6)
		return 'x';
	if (insn->map == ST_X86_0F)
		shape = insn->opcode == 0x77 && bytes < 3 ? '.' : two_byte[insn->opcode];
	else if (insn->map == ST_X86_0F3A)
		shape = 'B';
	if (shape == 'j' || shape == 'p' || (shape == '.' && insn->opcode != 0x77))
		shape = 'm';
	return shape;
}

/* AMD's XOP looks like a VEX of three bytes with maps 8 to 10. */
static char take_xop(struct decoder *decoder)
{
	struct st_x86_insn *insn = decoder->insn;
	const uint8_t *at = decoder->at;

	if (decoder->stop - at < 3 || (at[0] & 0x1f) > 10)
		return 'x';
	insn->vex = true;
	insn->map = at[0] & 0x1f;
	insn->opcode = at[2];
	decoder->at += 3;
	return insn->map == 8 ? 'B' : insn->map == 9 ? 'm' : 'Z';
}

static char take_0f(struct decoder *decoder)
{
	struct st_x86_insn *insn = decoder->insn;

	if (decoder->at == decoder->stop)
		return 'x';
	insn->wide = decoder->rex & REX_W;
	insn->opcode = *decoder->at++;
	insn->map = ST_X86_0F;
	if (insn->opcode != 0x38 && insn->opcode != 0x3a)
		return two_byte[insn->opcode];
	insn->map = insn->opcode == 0x38 ? ST_X86_0F38 : ST_X86_0F3A;
	if (decoder->at == decoder->stop)
		return 'x';
	insn->opcode = *decoder->at++;
	return insn->map == ST_X86_0F38 ? 'm' : 'B';
}

static char take_one(struct decoder *decoder, uint8_t byte)
{
	struct st_x86_insn *insn = decoder->insn;

	insn->opcode = byte;
	insn->wide = decoder->rex & REX_W;
	insn->rm = (uint8_t)((byte & 7) | (decoder->rex & REX_B ? 8 : 0));
	return one_byte[byte];
}

/* Prefixes and opcode. */
static char take_opcode(struct decoder *decoder)
{
	struct st_x86_insn *insn = decoder->insn;

	while (decoder->at < decoder->stop) {
		uint8_t byte = *decoder->at++;

		if (byte == 0x0f)
			return take_0f(decoder);
		if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
			return take_vex(decoder, byte);
		if (byte == 0x8f && decoder->at < decoder->stop && (*decoder->at & 0x1f) >= 8)
			return take_xop(decoder);
		if ((byte & 0xf0) == 0x40) {
			decoder->rex = byte & 15;
			insn->has_rex = true;
			continue;
		}
		if (one_byte[byte] != 'p')
			return take_one(decoder, byte);
		insn->prefix_66 |= byte == 0x66;
		decoder->rex = 0; /* only counts right before the opcode */
		insn->has_rex = false;
	}
	return 'x';
}

/* One place for each step: functions that are called once become one. */
bool st_x86_decode(const uint8_t *code, size_t size_bytes, struct st_x86_insn *insn)
{
	struct decoder decoder = {code, code, code + size_bytes, insn, 0};

	if (size_bytes > ST_X86_LENGTH_MAX)
		decoder.stop = code + ST_X86_LENGTH_MAX;
	*insn = (struct st_x86_insn){0};
	if (!take_operands(&decoder, take_opcode(&decoder)))
		return false;
	insn->length = (uint8_t)(decoder.at - code);
	return true;
}
