/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact decimal digits of a double. A double is m * 2^e; with a negative e that is m * 5^-e / 10^-e,
 * so in both cases a large integer and a place for the point.
 */
#include <string.h>

#include "collect/inproc/itt/format.h"

enum { LIMBS = 88, LIMB = 1000000000, LIMB_DIGITS = 9, FIVES = 13, TWOS = 29 };

_Static_assert(LIMBS *LIMB_DIGITS <= sizeof(((struct st_decimal *)0)->digits), "all digits fit");

struct large {
	uint32_t limb[LIMBS]; /* base 10^9, lowest first */
	int count;
};

static void multiply(struct large *large, uint32_t by)
{
	uint64_t carry = 0;

	for (int i = 0; i < large->count; i++) {
		carry += (uint64_t)large->limb[i] * by;
		large->limb[i] = (uint32_t)(carry % LIMB);
		carry /= LIMB;
	}
	for (; carry && large->count < LIMBS; carry /= LIMB)
		large->limb[large->count++] = (uint32_t)(carry % LIMB);
}

static void multiply_often(struct large *large, uint32_t by, int times, int step)
{
	uint32_t power = 1;

	for (int i = 0; i < step; i++)
		power *= by;
	for (; times >= step; times -= step)
		multiply(large, power);
	for (; times > 0; times--)
		multiply(large, by);
}

void st_decimal_exact(struct st_decimal *out, double value)
{
	struct large large = {.count = 2};
	uint64_t bits, mantissa;
	int exponent, at = 0;

	memcpy(&bits, &value, sizeof(bits));
	mantissa = bits & ((1ull << 52) - 1);
	exponent = (int)(bits >> 52 & 0x7ff);
	if (exponent)
		mantissa |= 1ull << 52;
	else
		exponent = 1;
	exponent -= 1075;
	for (; mantissa && !(mantissa & 1); mantissa >>= 1)
		exponent++;
	large.limb[0] = (uint32_t)(mantissa % LIMB);
	large.limb[1] = (uint32_t)(mantissa / LIMB);
	if (exponent > 0)
		multiply_often(&large, 2, exponent, TWOS);
	else
		multiply_often(&large, 5, -exponent, FIVES);
	for (int i = large.count - 1; i >= 0; i--) {
		uint32_t limb = large.limb[i];

		for (int k = LIMB_DIGITS - 1; k >= 0; k--, limb /= 10)
			out->digits[at + k] = (char)('0' + limb % 10);
		at += LIMB_DIGITS;
	}
	out->point = at - (exponent < 0 ? -exponent : 0);
	for (out->count = 0; out->count < at && out->digits[out->count] == '0';)
		out->count++;
	/* Without leading zeros; zero itself has no digits. */
	memmove(out->digits, out->digits + out->count, (size_t)(at - out->count));
	out->point -= out->count;
	out->count = at - out->count;
	if (!out->count)
		out->point = 1;
}

static bool rounds_up(const struct st_decimal *decimal, int keep)
{
	if (keep < 0 || decimal->digits[keep] < '5')
		return false;
	if (decimal->digits[keep] > '5')
		return true;
	for (int i = keep + 1; i < decimal->count; i++)
		if (decimal->digits[i] != '0')
			return true;
	return keep > 0 && (decimal->digits[keep - 1] - '0') % 2;
}

void st_decimal_round(struct st_decimal *decimal, int keep)
{
	bool up;
	int at = keep;

	if (keep >= decimal->count)
		return;
	up = rounds_up(decimal, keep);
	decimal->count = keep > 0 ? keep : 0;
	if (!up)
		return;
	while (at > 0 && decimal->digits[at - 1] == '9')
		at--;
	if (at > 0) {
		decimal->digits[at - 1]++;
		for (; at < decimal->count; at++)
			decimal->digits[at] = '0';
		return;
	}
	decimal->digits[0] = '1'; /* 999 became 1000 */
	for (int i = 1; i < decimal->count; i++)
		decimal->digits[i] = '0';
	if (!decimal->count)
		decimal->count = 1;
	decimal->point++;
}
