/* SPDX-License-Identifier: Apache-2.0
 *
 * A hand-made result whose stacks point into a library that is loaded here (named_part.c), for the tests of
 * names.
 */
#ifndef ST_TESTS_UNIT_NAMED_FIXTURE_H
#define ST_TESTS_UNIT_NAMED_FIXTURE_H

#include "fake_result.h"
#include "resolve/named.h"
#include "store/samples.h"

#define PART_PATH ST_TEST_BUILD_DIR "/tests/unit/named_part.so"
#define PART_SOURCE ST_TEST_SOURCE_DIR "/tests/unit/named_part.c"
#define STRIPPED_PATH ST_TEST_BUILD_DIR "/tests/unit/named_stripped/part.so"
#define STRIPPED_FOLDER ST_TEST_BUILD_DIR "/tests/unit/named_stripped"
#define DEBUG_FOLDER ST_TEST_BUILD_DIR "/tests/unit/named_stripped/debug"

struct fixture {
	struct st_result *fake;
	uint32_t process;
	void *library;
};

char *temporary_folder(void);
void write_file(const char *folder, const char *name, const void *data, size_t size_bytes);
void remove_folder(const char *folder);
st_string_id build_id_of_part(struct fixture *f);
void map_part(struct fixture *f, uint32_t process, const char *path);
int named_setup(void **state);
int named_teardown(void **state);
uint64_t place(const struct fixture *f, const char *symbol);
uint32_t leaf(struct fixture *f, const char *symbol);
struct st_named *open_named(const struct fixture *f);
struct st_named *open_searching(const struct fixture *f, const char *search);
uint32_t line_of(const char *words);
const struct st_named_frame *frame_of(const struct st_named *named, uint32_t node);
const struct st_named_function *function_of(const struct st_named *named, uint32_t node);
void assert_text(struct st_text text, const char *wanted);

#endif
