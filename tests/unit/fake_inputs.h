/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of an operator as they are recorded, from words.
 */
#ifndef ST_TESTS_UNIT_FAKE_INPUTS_H
#define ST_TESTS_UNIT_FAKE_INPUTS_H

#include <stdint.h>

enum { FAKE_INPUTS_BYTES_MAX = 512 };

/* Inputs in words: "f2,3" a float tensor of 2 × 3, "f" one without sizes, "d" double, "i" long, "s" a scalar, "o" something
 * else, "u" an undefined tensor, "L2" a list of the two that follow, "n7" an integer, "(1,2" a list of integers; blanks
 * between. Gives the number of bytes, at most FAKE_INPUTS_BYTES_MAX. */
uint32_t fake_inputs(const char *words, uint8_t *out);

#endif
