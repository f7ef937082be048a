/* SPDX-License-Identifier: Apache-2.0
 *
 * Unwind tables against elfutils, which decodes the same .eh_frame on its own: for every row of real libraries
 * both are evaluated with invented registers and memory, and must name the same places. Paths of more
 * libraries (libpython, libtorch_cpu) come in STRATA_TEST_UNWIND_FILES, separated by colons.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/build.h"
#include "unwind/rt/arch.h"

enum { STACK = 16, ROWS_COMPARED = 60000 };

/* Values that no two different expressions give by accident. */
static uint64_t fake_register(uint64_t number)
{
	return 0x7000000000ull + number * 0x123450000ull;
}

static uint64_t fake_memory(uint64_t address)
{
	return (address * 0x9e3779b97f4a7c15ull) >> 16;
}

struct place {
	enum { PLACE_SAME, PLACE_UNDEFINED, PLACE_AT, PLACE_VALUE, PLACE_ODD } kind;
	uint64_t value;
};

/* One operation; false: one that this evaluator does not know. */
static bool evaluate_one(const Dwarf_Op *op, uint64_t cfa, uint64_t pc, uint64_t *stack, int *top)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		uint64_t number = op->atom - DW_OP_breg0;

		stack[(*top)++] = (number == 16 ? pc : fake_register(number)) + op->number;
	} else if (op->atom == DW_OP_bregx) {
		stack[(*top)++] = fake_register(op->number) + op->number2;
	} else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		stack[(*top)++] = op->atom - DW_OP_lit0;
	} else if (op->atom == DW_OP_call_frame_cfa) {
		stack[(*top)++] = cfa;
	} else if (op->atom == DW_OP_plus_uconst && *top) {
		stack[*top - 1] += op->number;
	} else if (op->atom == DW_OP_deref && *top) {
		stack[*top - 1] = fake_memory(stack[*top - 1]);
	} else if (*top >= 2) {
		uint64_t right = stack[--*top], *left = &stack[*top - 1];

		if (op->atom == DW_OP_plus)
			*left += right;
		else if (op->atom == DW_OP_and)
			*left &= right;
		else if (op->atom == DW_OP_shl)
			*left <<= right;
		else if (op->atom == DW_OP_ge)
			*left = *left >= right;
		else
			return false;
	} else {
		return false;
	}
	return *top < STACK;
}

static struct place evaluate(const Dwarf_Op *ops, size_t count, uint64_t cfa, uint64_t pc)
{
	uint64_t stack[STACK + 1] = {0};
	struct place place = {PLACE_AT, 0};
	int top = 0;

	for (size_t i = 0; i < count; i++) {
		if (ops[i].atom == DW_OP_stack_value)
			place.kind = PLACE_VALUE;
		else if (!evaluate_one(&ops[i], cfa, pc, stack, &top))
			return (struct place){PLACE_ODD, 0};
	}
	if (top < 1)
		return (struct place){PLACE_ODD, 0};
	place.value = stack[top - 1];
	return place;
}

static struct place their_register(Dwarf_Frame *frame, int number, uint64_t cfa, uint64_t pc)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
		return (struct place){PLACE_ODD, 0};
	if (!count)
		return (struct place){ops ? PLACE_UNDEFINED : PLACE_SAME, 0};
	return evaluate(ops, count, cfa, pc);
}

static uint64_t our_register(const struct st_unwind_rule *rule)
{
	const struct st_unwind_arch *arch = &st_unwind_arch_x86_64;

	switch (rule->cfa_register) {
	case ST_REGISTER_SP:
		return fake_register(arch->sp);
	case ST_REGISTER_FP:
		return fake_register(arch->fp);
	case ST_REGISTER_BX:
		return fake_register(arch->bx);
	default:
		for (uint32_t i = 0; i < arch->register_count; i++)
			if (arch->context[i] == rule->cfa_register - ST_REGISTER_CONTEXT)
				return fake_register(i);
		return 0;
	}
}

static uint64_t our_cfa(const struct st_unwind_rule *rule, uint64_t pc)
{
	uint64_t base = our_register(rule) + (uint64_t)(int64_t)rule->cfa_offset;

	if (rule->cfa == ST_CFA_PLT)
		return base + ((pc & 15) >= (uint64_t)rule->cfa_add ? 8 : 0);
	return rule->cfa == ST_CFA_DEREF ? fake_memory(base) + (uint64_t)(int64_t)rule->cfa_add
					 : base;
}

static struct place our_place(uint8_t kind, int32_t offset, uint64_t cfa)
{
	uint64_t distance = (uint64_t)(int64_t)offset;

	switch (kind) {
	case ST_SAVED_SAME:
		return (struct place){PLACE_SAME, 0};
	case ST_SAVED_CFA:
		return (struct place){PLACE_AT, cfa + distance};
	case ST_SAVED_FP:
		return (struct place){PLACE_AT, fake_register(st_unwind_arch_x86_64.fp) + distance};
	default:
		return (struct place){PLACE_UNDEFINED, 0};
	}
}

/* "Lost" is what we say of anything that cannot be followed. */
static bool same_place(struct place ours, struct place theirs)
{
	if (ours.kind == PLACE_UNDEFINED)
		return theirs.kind != PLACE_AT && theirs.kind != PLACE_SAME;
	return ours.kind == theirs.kind && ours.value == theirs.value;
}

struct tally {
	uint32_t compared, unknown, different;
};

static bool same_rule(const struct st_unwind_rule *rule, Dwarf_Frame *frame, uint64_t pc)
{
	Dwarf_Op *ops;
	size_t count;
	struct place cfa, bx;
	bool is_signal;

	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (rule->cfa == ST_CFA_SIGNAL || is_signal)
		return rule->cfa == ST_CFA_SIGNAL && is_signal;
	if (rule->cfa == ST_CFA_END)
		return their_register(frame, 16, 0, pc).kind == PLACE_UNDEFINED;
	if (dwarf_frame_cfa(frame, &ops, &count) != 0)
		return false;
	cfa = evaluate(ops, count, 0, pc);
	bx = their_register(frame, 3, cfa.value, pc);
	/* elfutils takes rbx for undefined where nothing is said; the ABI makes the callee keep it. */
	if (bx.kind == PLACE_UNDEFINED && rule->bx == ST_SAVED_SAME)
		bx.kind = PLACE_SAME;
	return cfa.kind == PLACE_AT && cfa.value == our_cfa(rule, pc) &&
	       same_place(our_place(rule->ra, rule->ra_offset, cfa.value),
			  their_register(frame, 16, cfa.value, pc)) &&
	       same_place(our_place(rule->fp, rule->fp_offset, cfa.value),
			  their_register(frame, 6, cfa.value, pc)) &&
	       same_place(our_place(rule->bx, rule->bx_offset, cfa.value), bx);
}

static void describe(const struct st_unwind_rule *rule, Dwarf_Frame *frame, uint64_t pc)
{
	uint64_t cfa = our_cfa(rule, pc);

	printf("different at %#lx: cfa kind %d register %d offset %d;", (unsigned long)pc,
	       rule->cfa, rule->cfa_register, rule->cfa_offset);
	for (int i = 0; i < 3; i++) {
		static const int numbers[] = {16, 6, 3};
		struct place theirs = their_register(frame, numbers[i], cfa, pc);

		printf(" r%d %d at cfa%+ld", numbers[i], (int)theirs.kind,
		       (long)(theirs.value - cfa));
	}
	printf(", ours ra %d%+d fp %d%+d bx %d%+d\n", rule->ra, rule->ra_offset, rule->fp,
	       rule->fp_offset, rule->bx, rule->bx_offset);
}

static void compare_at(const struct st_unwind_table *table, Dwarf_CFI *cfi, uint64_t pc,
		       struct tally *tally)
{
	const struct st_unwind_rule *rule = st_unwind_table_rule(table, pc);
	Dwarf_Frame *frame = NULL;

	if (!rule)
		return;
	if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) {
		/* Padding behind a function that is not worth a row. */
		uint64_t start, end;

		if (!st_unwind_table_function(table, pc, &start, &end) || end - pc > 16)
			tally->different++;
		return;
	}
	tally->compared++;
	if (rule->cfa == ST_CFA_UNKNOWN) {
		tally->unknown++;
	} else if (!same_rule(rule, frame, pc)) {
		if (tally->different++ < 5)
			describe(rule, frame, pc);
	}
	free(frame);
}

/* Every row of a small table, an even choice of a large one: its first and its last byte. */
static void compare_file(const char *path)
{
	struct st_unwind_image image;
	struct st_error err = {0};
	struct tally tally = {0};
	Dwarf_CFI *cfi;
	uint32_t step;
	Elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(st_unwind_build_file(&image, path, ST_BUILD_NO_DERIVED, &err), ST_OK);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	step = image.table->row_count / ROWS_COMPARED + 1;
	for (uint32_t row = 0; row + 1 < image.table->row_count; row += step) {
		const uint32_t *rows = st_unwind_table_rows(image.table);

		compare_at(image.table, cfi, image.table->base + rows[row], &tally);
		compare_at(image.table, cfi, image.table->base + rows[row + 1] - 1, &tally);
	}
	printf("%s: %u places compared, %u without an expressible rule, %u different\n", path,
	       tally.compared, tally.unknown, tally.different);
	assert_int_equal(tally.different, 0);
	assert_true(tally.compared > 1000);
	assert_true(tally.unknown < 20);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	st_unwind_image_fini(&image);
}

static int file_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char **wanted = arg;

	(void)size;
	if (!strstr(info->dlpi_name, wanted[0]))
		return 0;
	wanted[1] = strdup(info->dlpi_name);
	return 1;
}

static void compare_loaded(const char *name)
{
	const char *wanted[2] = {name, NULL};

	dl_iterate_phdr(file_of, wanted);
	assert_non_null(wanted[1]);
	compare_file(wanted[1]);
	free((void *)(uintptr_t)wanted[1]);
}

static void test_system_libraries(void **state)
{
	(void)state;
	elf_version(EV_CURRENT);
	compare_loaded("libc.so");
	compare_loaded("libdw");
	compare_loaded("ld-linux");
}

static void test_given_files(void **state)
{
	const char *files = getenv("STRATA_TEST_UNWIND_FILES");
	char *copy, *at, *next;

	(void)state;
	if (!files || !*files) {
		print_message("STRATA_TEST_UNWIND_FILES names no more files\n");
		return;
	}
	copy = strdup(files);
	for (at = copy; at; at = next) {
		next = strchr(at, ':');
		if (next)
			*next++ = '\0';
		compare_file(at);
	}
	free(copy);
}

/* Function bounds, and addresses of the file against addresses of the process. */
static void test_function_bounds(void **state)
{
	Elf64_Ehdr *vdso = (Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct st_unwind_image image;
	struct st_error err = {0};
	uint64_t start, end, bias;

	(void)state;
	assert_int_equal(st_unwind_build_file(&image, "/proc/self/exe", 0, &err), ST_OK);
	assert_true(st_unwind_table_check(image.data, image.size_bytes) == image.table);
	assert_null(st_unwind_table_check(image.data, image.size_bytes - 1));
	bias = _r_debug.r_map->l_addr;
	assert_true(st_unwind_table_function(
		image.table, (uintptr_t)test_function_bounds - bias + 20, &start, &end));
	assert_int_equal(start + bias, (uintptr_t)test_function_bounds);
	assert_true(end > start + 20);
	assert_true(st_unwind_table_is_start(image.table, start));
	assert_false(st_unwind_table_is_start(image.table, start + 1));
	assert_false(st_unwind_table_function(image.table, 0, &start, &end));
	assert_false(st_unwind_table_function(image.table, UINT64_MAX, &start, &end));
	st_unwind_image_fini(&image);
	assert_non_null(vdso);
	assert_int_equal(st_unwind_build_memory(&image, vdso, 8192, &err), ST_OK);
	assert_true(image.table->function_count > 0);
	st_unwind_image_fini(&image);
}

static void test_what_is_no_elf(void **state)
{
	struct st_unwind_image image;
	struct st_error err = {0};

	(void)state;
	assert_int_equal(st_unwind_build_file(&image, "/proc/self/cmdline", 0, &err), ST_ECORRUPT);
	assert_int_equal(st_unwind_build_file(&image, "/proc/self/nowhere", 0, &err), ST_EIO);
	assert_int_equal(st_unwind_build_file(&image, "/dev/null", 0, &err), ST_EUNSUPPORTED);
	assert_int_equal(st_unwind_build_memory(&image, "\177ELF", 4, &err), ST_ECORRUPT);
	assert_null(image.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_libraries),
		cmocka_unit_test(test_given_files),
		cmocka_unit_test(test_function_bounds),
		cmocka_unit_test(test_what_is_no_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
