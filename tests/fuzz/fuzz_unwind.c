/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: everything that unwinding reads out of foreign hands. The first byte chooses: an ELF file to build a
 * table from; a table, with its header made right so that its content is reached, and a stack to walk by it; code to
 * read rules off. Nothing may read outside its bytes, and what a builder makes must pass the check.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/build.h"
#include "unwind/derive.h"
#include "unwind/rt/table.h"
#include "unwind/rt/walk.h"

enum { FRAMES_MAX = 64, STACK_BYTES = 1024, BASE = 0x400000, CODE_AT = 0x1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Code is whatever the input holds. */
struct code {
	const uint8_t *bytes;
	size_t size_bytes;
};

static bool read_code(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	const struct code *code = arg;
	uint64_t offset = address - BASE;

	if (address < BASE || offset > code->size_bytes || size_bytes > code->size_bytes - offset)
		return false;
	memcpy(out, code->bytes + offset, size_bytes);
	return true;
}

static void walk_by(const struct st_unwind_table *table, const uint8_t *data, size_t size_bytes)
{
	uint8_t *stack = malloc(STACK_BYTES); /* its own block: a read outside is seen */
	struct st_unwind_module module = {BASE, BASE + (1u << 24), BASE, table};
	struct code code = {data, size_bytes};
	uint64_t frames[FRAMES_MAX];
	struct st_walk walk = {.modules = {&module, 1},
			       .stack_low = 0x7ff000000000ull,
			       .stack_high = 0x7ff000000000ull + STACK_BYTES,
			       .stack = stack,
			       .read_code = read_code,
			       .arg = &code,
			       .frames = frames,
			       .frames_max = FRAMES_MAX,
			       .recover = true};

	if (!stack)
		return;
	for (size_t i = 0; i < STACK_BYTES; i++)
		stack[i] = size_bytes ? data[(i * 7 + 3) % size_bytes] : 0;
	for (uint32_t i = 0; i + 8 <= size_bytes && i < 64; i += 8) {
		uint32_t pc, fp;

		memcpy(&pc, data + i, sizeof(pc));
		memcpy(&fp, data + i + 4, sizeof(fp));
		walk.pc = BASE + table->base + pc % (table->span_bytes + 16u);
		walk.sp = walk.stack_low + (fp >> 8) % STACK_BYTES;
		walk.fp = fp & 1 ? walk.stack_low + fp % STACK_BYTES : UINT64_MAX - fp % 32;
		walk.bx = UINT64_MAX;
		st_walk_run(&walk);
		require(walk.frame_count >= 1 && walk.frame_count <= FRAMES_MAX);
	}
	free(stack);
}

/* `sound`: made by us, so that answers must make sense too. */
static void look_up(const struct st_unwind_table *table, bool sound)
{
	uint64_t start, end;

	for (uint32_t i = 0; i < 64; i++) {
		uint64_t address = table->base + (uint64_t)table->span_bytes * i / 63;

		if (st_unwind_table_function(table, address, &start, &end))
			require(!sound || (start <= address && end > address));
		st_unwind_table_gap(table, address, &start, &end);
		st_unwind_table_is_start(table, address);
	}
}

static void fuzz_elf(const uint8_t *data, size_t size_bytes)
{
	struct st_unwind_image image;
	struct st_error err = {0};

	if (st_unwind_build_memory(&image, data, size_bytes, &err))
		return;
	require(st_unwind_table_check(image.data, image.size_bytes) == image.table);
	look_up(image.table, true);
	walk_by(image.table, data, size_bytes);
	st_unwind_image_fini(&image);
}

static void fuzz_table(const uint8_t *data, size_t size_bytes)
{
	struct st_unwind_table *table;

	if (size_bytes < sizeof(*table))
		return;
	table = malloc(size_bytes);
	if (!table)
		return;
	memcpy(table, data, size_bytes);
	table->magic = ST_UNWIND_MAGIC;
	table->version = ST_UNWIND_VERSION;
	table->file_bytes = size_bytes;
	table->page_count = (table->span_bytes >> ST_UNWIND_PAGE_SHIFT) + 1;
	table->header_check =
		st_unwind_checksum(table, offsetof(struct st_unwind_table, header_check));
	if (st_unwind_table_check(table, size_bytes)) {
		look_up(table, false);
		walk_by(table, data, size_bytes);
	}
	free(table);
}

static void check_row(void *arg, uint64_t address, const struct st_unwind_rule *rule)
{
	uint64_t *last = arg;

	require(address >= CODE_AT && address >= *last && rule->cfa != ST_CFA_GAP);
	*last = address;
}

static void fuzz_code(const uint8_t *data, size_t size_bytes)
{
	struct st_derive *derive = st_derive_create(62);
	uint8_t *code = malloc(size_bytes + !size_bytes);
	uint64_t last = 0;

	if (derive && code) {
		memcpy(code, data, size_bytes);
		st_derive_run(derive, code, size_bytes, CODE_AT, check_row, &last);
		require(last < CODE_AT + size_bytes + 1);
	}
	free(code);
	st_derive_destroy(derive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	if (!size_bytes)
		return 0;
	switch (data[0] % 3) {
	case 0:
		fuzz_elf(data + 1, size_bytes - 1);
		break;
	case 1:
		fuzz_table(data + 1, size_bytes - 1);
		break;
	default:
		fuzz_code(data + 1, size_bytes - 1);
	}
	return 0;
}
