/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of operators, ranges and modules are known by their hash alone: names of kinds that programs have must not
 * share one. Each kind here is one where products of words are weak: characters in the same places of two words, words
 * that overlap as a whole, texts that repeat, lengths that make up for characters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/inproc/core/intern.h"
#include "collect/inproc/torch/torch.h"

enum { NAMES_MAX = 1 << 18, NAME_BYTES = 64 };

static struct {
	uint64_t hash;
	char text[NAME_BYTES];
} * names;
static size_t name_count;

static int by_hash(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	char *text = names[name_count].text;
	va_list args;
	int length;

	assert_true(name_count < NAMES_MAX);
	va_start(args, format);
	length = vsnprintf(text, NAME_BYTES, format, args);
	va_end(args);
	assert_in_range(length, 0, NAME_BYTES - 1);
	names[name_count++].hash = st_operator_hash(text, (uint32_t)length, ST_SCOPE_USER);
}

/* The same name may have been added twice. */
static void expect_own_hashes(void)
{
	qsort(names, name_count, sizeof(*names), by_hash);
	for (size_t i = 1; i < name_count; i++)
		if (names[i].hash == names[i - 1].hash)
			assert_string_equal(names[i].text, names[i - 1].text);
}

static int setup(void **state)
{
	(void)state;
	names = calloc(NAMES_MAX, sizeof(*names));
	name_count = 0;
	return names ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(names);
	return 0;
}

static void test_numbers(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++) {
		add("%d", i);
		add("%05d", i);
		add("step_%03d", i);
		add("layer_%d", i);
		add("Epoch %d of training", i);
	}
	expect_own_hashes();
}

static void test_paths(void **state)
{
	static const char *const roots[] = {"Net", "GPT", "ViT", "T5", "UNet", "Model", "ResNet"};

	(void)state;
	for (size_t root = 0; root < sizeof(roots) / sizeof(*roots); root++)
		for (int i = 0; i < 100; i++)
			for (int k = 0; k < 20; k++) {
				add("%s.%d.%d", roots[root], i, k);
				add("%s.layers.%d.fc%d", roots[root], i, k);
				add("%s.h.%d.attn.%d.proj", roots[root], i, k);
				add("%s.encoder.blocks.%d.mlp.layers.%d.weight", roots[root], i, k);
			}
	expect_own_hashes();
}

/* Two characters that are the highest of their words, or the lowest, and any two in between. */
static void test_two_places(void **state)
{
	(void)state;
	for (int length = 2; length <= 34; length++)
		for (int first = 0; first < length; first++)
			for (int other = first + 1; other < length; other += 5)
				for (int i = 0; i < 36; i++) {
					char text[NAME_BYTES];

					memset(text, 'x', sizeof(text));
					text[first] = (char)('0' + i % 6);
					text[other] = (char)('0' + i / 6);
					add("%.*s", length, text);
				}
	expect_own_hashes();
}

static void test_repetition(void **state)
{
	(void)state;
	for (int length = 1; length < 60; length++)
		for (int character = '!'; character < 'z'; character++) {
			char text[NAME_BYTES] = {0};

			memset(text, character, (size_t)length);
			add("%s", text);
			text[0]--; /* what one more of them might make up for */
			add("%s", text);
			text[0] = (char)(text[0] + 2);
			add("%s", text);
		}
	expect_own_hashes();
}

static void test_words_that_change_places(void **state)
{
	static const char *const words[] = {"encoder.", "decoder.", "layers_0", "layers_1"};

	(void)state;
	for (int i = 0; i < 256; i++) {
		add("%s%s%s%s", words[i & 3], words[i >> 2 & 3], words[i >> 4 & 3], words[i >> 6]);
		add("%s%s%s", words[i & 3], words[i >> 2 & 3], words[i >> 4 & 3]);
		add("%s%s", words[i & 3], words[i >> 2 & 3]);
	}
	expect_own_hashes();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_repetition, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words_that_change_places, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
