/* SPDX-License-Identifier: Apache-2.0
 *
 * The walker on real stacks of this process and on tables and stacks that lie. Functions are run one instruction
 * at a time; at each one the walk must reach the entry through the same outer frames, by CFI and by rules read off
 * the code alone.
 */
#include <elf.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#include "../programs/unwind_probe.h"
#include "format/sample_record.h"
#include "unwind/build.h"
#include "unwind/code.h"
#include "unwind/rt/walk.h"

enum { MODULES_MAX = 64, FRAMES_MAX = 128, NAME_BYTES = 512, TRAP_FLAG = 0x100 };

static struct st_unwind_module modules[MODULES_MAX];
static uint32_t module_count;
static uint64_t stack_high;

static bool read_memory(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	struct iovec here = {out, size_bytes}, there = {(void *)(uintptr_t)address, size_bytes};

	(void)arg;
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size_bytes;
}

static void add_mapping(const char *line, uint32_t flags)
{
	struct st_unwind_module *module = &modules[module_count];
	struct st_unwind_image image;
	struct st_error err = {0};
	unsigned long start, end, offset;
	char *at, path[NAME_BYTES];

	start = strtoul(line, &at, 16);
	end = strtoul(at + 1, &at, 16);
	if (at[3] != 'x' || module_count == MODULES_MAX)
		return;
	offset = strtoul(at + 6, NULL, 16);
	at = strpbrk(line, "/[");
	if (!at)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
	/* The functions under test are in the program itself: only there CFI is done without. */
	if (!strstr(path, "test_unwind_walk"))
		flags = 0;
	if (path[0] == '/' ? st_unwind_build_file(&image, path, flags, &err)
			   : st_unwind_build_memory(&image, (void *)start, end - start, &err))
		return;
	*module = (struct st_unwind_module){.start = start, .end = end, .table = image.table};
	if (st_unwind_table_bias(image.table, start, offset, &module->bias))
		module_count++;
}

static void find_modules(uint32_t flags)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[NAME_BYTES + 128];

	module_count = 0;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (!strstr(line, "[vsyscall]"))
			add_mapping(line, flags);
	fclose(maps);
	assert_true(module_count >= 3);
}

static int set_up(void **state)
{
	pthread_attr_t about;
	void *low;
	size_t size;

	(void)state;
	assert_int_equal(pthread_getattr_np(pthread_self(), &about), 0);
	pthread_attr_getstack(&about, &low, &size);
	pthread_attr_destroy(&about);
	stack_high = (uint64_t)(uintptr_t)low + size;
	find_modules(0);
	return 0;
}

static struct st_walk walk_of(const ucontext_t *context, uint64_t *frames)
{
	const greg_t *registers = context->uc_mcontext.gregs;

	return (struct st_walk){.modules = {modules, module_count},
				.pc = (uint64_t)registers[REG_RIP],
				.sp = (uint64_t)registers[REG_RSP],
				.fp = (uint64_t)registers[REG_RBP],
				.bx = (uint64_t)registers[REG_RBX],
				.context = (const uint64_t *)registers,
				.stack_low = (uint64_t)registers[REG_RSP],
				.stack_high = stack_high,
				.stack = (const uint8_t *)(uintptr_t)registers[REG_RSP],
				.read_code = read_memory,
				.frames = frames,
				.frames_max = FRAMES_MAX};
}

/* ---- one instruction at a time ---- */

static uint64_t outer[FRAMES_MAX];
static uint32_t outer_count, outer_flags;
static volatile uint32_t steps, bad_steps;
static volatile uint64_t first_bad;

static void on_step(int number, siginfo_t *info, void *arg)
{
	uint64_t frames[FRAMES_MAX];
	struct st_walk walk = walk_of(arg, frames);
	bool right;

	(void)number;
	(void)info;
	st_walk_run(&walk);
	/* All but the frame that calls the function under test, whose own address moves on. */
	right = walk.flags == outer_flags && walk.frame_count >= outer_count &&
		!memcmp(frames + walk.frame_count - outer_count + 1, outer + 1,
			(outer_count - 1) * sizeof(*outer));
	steps++;
	if (!right && !bad_steps++)
		first_bad = walk.pc - modules[0].bias;
}

static volatile int sink;

static __attribute__((noinline)) int leaf_plain(int value)
{
	return value * 3 + sink;
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) int with_frame(int value)
{
	int sum = leaf_plain(value);

	return sum + leaf_plain(sum);
}

static __attribute__((noinline, optimize("omit-frame-pointer"))) int without_frame(int value)
{
	volatile int values[16];

	for (int i = 0; i < 16; i++)
		values[i] = leaf_plain(value + i);
	return values[value & 15] + with_frame(value);
}

static __attribute__((noinline)) int realigned(int value)
{
	__attribute__((aligned(64))) volatile unsigned char bytes[128];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)without_frame(value + i);
	return bytes[value & 7];
}

static __attribute__((noinline)) int of_any_size(int value)
{
	volatile unsigned char *bytes = __builtin_alloca((size_t)(value & 63) + 1);

	bytes[0] = (unsigned char)with_frame(value);
	return bytes[0] + without_frame(value);
}

static __attribute__((noinline)) int early_out(int value, int depth)
{
	if (!value)
		return depth;
	if (depth & 1)
		return with_frame(value) + early_out(value - 1, depth + 1);
	return early_out(value - 1, depth + 1) * 2 + of_any_size(value);
}

static __attribute__((noinline)) int tail(int value)
{
	sink = value;
	return without_frame(value);
}

static int compare_ints(const void *left, const void *right)
{
	return leaf_plain(*(const int *)left) - leaf_plain(*(const int *)right);
}

static void work_plain(void)
{
	sink = realigned(3) + of_any_size(17) + early_out(4, 0) + tail(5);
}

/* Through libc and a function pointer. */
static void work_library(void)
{
	int values[] = {5, 3, 9, 1};
	char text[32];

	qsort(values, 4, sizeof(*values), compare_ints);
	snprintf(text, sizeof(text), "%d", values[2]);
	sink = (unsigned char)text[0];
}

static __attribute__((noinline)) void run_stepped(void (*work)(void))
{
	ucontext_t here;
	struct st_walk walk;

	getcontext(&here);
	walk = walk_of(&here, outer);
	st_walk_run(&walk);
	outer_count = walk.frame_count;
	outer_flags = walk.flags;
	steps = bad_steps = 0;
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
	work();
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
}

static void step_through(void (*work)(void), uint32_t least)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;

	sigaction(SIGTRAP, &action, &before);
	run_stepped(work);
	sigaction(SIGTRAP, &before, NULL);
	if (bad_steps)
		printf("%u of %u steps wrong, first at %#lx\n", bad_steps, steps,
		       (unsigned long)first_bad);
	assert_true(steps > least);
	assert_int_equal(bad_steps, 0);
}

static void test_every_instruction(void **state)
{
	(void)state;
	step_through(work_plain, 500);
	assert_int_equal(outer_flags, 0);
	step_through(work_library, 500);
}

static void test_every_instruction_without_cfi(void **state)
{
	(void)state;
	/* Without CFI nobody says that _start is the end: the walk goes as far as it goes, but always the same way. */
	find_modules(ST_BUILD_NO_CFI);
	step_through(work_plain, 500);
	assert_true(outer_count > 5);
	find_modules(0);
}

/* ---- signals ---- */

static uint64_t nested[FRAMES_MAX];
static uint32_t nested_count, nested_flags;

static void on_inner(int number, siginfo_t *info, void *arg)
{
	struct st_walk walk = walk_of(arg, nested);

	(void)number;
	(void)info;
	st_walk_run(&walk);
	nested_count = walk.frame_count;
	nested_flags = walk.flags;
}

static void on_outer(int number)
{
	(void)number;
	raise(SIGUSR2);
}

static void test_through_a_signal_frame(void **state)
{
	struct sigaction inner = {.sa_sigaction = on_inner, .sa_flags = SA_SIGINFO};
	struct sigaction outer_action = {.sa_handler = on_outer};
	uint32_t exact = 0;

	(void)state;
	sigaction(SIGUSR2, &inner, NULL);
	sigaction(SIGUSR1, &outer_action, NULL);
	raise(SIGUSR1);
	assert_int_equal(nested_flags, 0);
	for (uint32_t i = 0; i < nested_count; i++)
		exact += (nested[i] & ST_FRAME_WORD_EXACT) != 0;
	assert_int_equal(exact, 1);
	assert_false(nested[0] & ST_FRAME_WORD_EXACT);
}

/* ---- code without any rule ---- */

static __attribute__((noinline)) void look_here(struct st_walk *walk, uint64_t *frames,
						uint32_t most)
{
	ucontext_t here;

	getcontext(&here);
	*walk = walk_of(&here, frames);
	walk->frames_max = most;
	st_walk_run(walk);
}

static uint64_t jit_frames[FRAMES_MAX];
static struct st_walk jit_walk;

static void on_jit(int number, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;

	(void)number;
	(void)info;
	jit_walk = walk_of(context, jit_frames);
	jit_walk.recover = true;
	st_walk_run(&jit_walk);
	context->uc_mcontext.gregs[REG_RIP] += 2; /* behind the ud2 */
}

/* A leaf in anonymous memory: pushes, room for locals, rbp as a plain register, and a fault to look at it. */
static void *make_leaf(unsigned int pushes, uint8_t locals)
{
	static const uint8_t push[][2] = {{0x55},	{0x53},	      {0x41, 0x54},
					  {0x41, 0x55}, {0x41, 0x56}, {0x41, 0x57}};
	static const uint8_t pop[][2] = {{0x5d},       {0x5b},	     {0x41, 0x5c},
					 {0x41, 0x5d}, {0x41, 0x5e}, {0x41, 0x5f}};
	static const uint8_t body[] = {0xbd, 0x00, 0x04, 0,
				       0,    0x0f, 0x0b}; /* mov ebp, 0x400; ud2 */
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = code;

	if (code == MAP_FAILED)
		return NULL;
	for (unsigned int i = 0; i < pushes; i++) {
		memcpy(at, push[i], 2);
		at += i < 2 ? 1 : 2;
	}
	memcpy(at, (uint8_t[]){0x48, 0x83, 0xec, locals}, 4);
	at += 4;
	memcpy(at, body, sizeof(body));
	at += sizeof(body);
	memcpy(at, (uint8_t[]){0x48, 0x83, 0xc4, locals}, 4);
	at += 4;
	for (unsigned int i = pushes; i-- > 0;) {
		memcpy(at, pop[i], 2);
		at += i < 2 ? 1 : 2;
	}
	*at = 0xc3;
	return code;
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) void
call_leaf(void (*leaf)(void))
{
	leaf();
	sink++;
}

static void test_leaf_in_anonymous_memory(void **state)
{
	struct sigaction action = {.sa_sigaction = on_jit, .sa_flags = SA_SIGINFO}, before;

	(void)state;
	sigaction(SIGILL, &action, &before);
	for (unsigned int pushes = 1; pushes <= 6; pushes++) {
		void *leaf = make_leaf(pushes, (uint8_t)(8 * (pushes * 2 % 7)));

		assert_non_null(leaf);
		call_leaf((void (*)(void))leaf);
		assert_int_equal(jit_walk.flags, ST_SAMPLE_RECOVERED);
		assert_true(jit_frames[1] & ST_FRAME_WORD_RECOVERED);
		assert_true((jit_frames[1] & ~ST_FRAME_WORD_RECOVERED) - (uintptr_t)call_leaf < 64);
		assert_true(jit_frames[2] - (uintptr_t)test_leaf_in_anonymous_memory < 512);
		munmap(leaf, 4096);
	}
	sigaction(SIGILL, &before, NULL);
}

static void insert_module(const struct st_unwind_module *module)
{
	uint32_t at = module_count++;

	assert_true(at < MODULES_MAX);
	for (; at && modules[at - 1].start > module->start; at--)
		modules[at] = modules[at - 1];
	modules[at] = *module;
}

/* The caller's table is not there yet: the stack ends, it does not go on without the caller. */
static void test_leaf_whose_caller_has_no_table(void **state)
{
	struct sigaction action = {.sa_sigaction = on_jit, .sa_flags = SA_SIGINFO}, before;
	struct st_unwind_module *own = modules, hidden, rest;
	void *leaf = make_leaf(3, 16);

	assert_non_null(leaf);
	while ((uintptr_t)call_leaf < own->start || (uintptr_t)call_leaf >= own->end)
		own++;
	hidden = rest = *own;
	hidden.start = own->end = (uintptr_t)call_leaf - 16;
	hidden.end = rest.start = (uintptr_t)call_leaf + 64;
	hidden.table = NULL;
	insert_module(&hidden);
	insert_module(&rest);
	sigaction(SIGILL, &action, &before);
	call_leaf((void (*)(void))leaf);
	sigaction(SIGILL, &before, NULL);
	assert_int_equal(jit_walk.flags, ST_SAMPLE_TRUNCATED | ST_SAMPLE_NO_TABLE);
	assert_int_equal(jit_walk.frame_count, 1);
	set_up(state);
	munmap(leaf, 4096);
}

static void (*known_leaf)(void);

static void work_leaf(void)
{
	call_leaf(known_leaf);
}

/* The same leaves when their start and size are known: exact at each instruction, and nothing is scanned. */
static void test_leaf_with_rules_of_its_code(void **state)
{
	for (unsigned int pushes = 1; pushes <= 6; pushes++) {
		uint8_t *leaf = make_leaf(pushes, (uint8_t)(8 * (pushes * 2 % 7)));
		struct st_unwind_code code = {(uint64_t)(uintptr_t)leaf, leaf, 64};
		struct st_unwind_image image;
		struct st_error err = {0};

		assert_non_null(leaf);
		memcpy(memmem(leaf, 64, "\x0f\x0b", 2), "\x66\x90", 2); /* no fault: a nop */
		assert_int_equal(st_unwind_build_code(&image, &code, 1, &err), ST_OK);
		assert_ptr_equal(st_unwind_table_check(image.data, image.size_bytes), image.table);
		insert_module(&(struct st_unwind_module){.start = code.address,
							 .end = code.address + code.size_bytes,
							 .table = image.table});
		known_leaf = (void (*)(void))leaf;
		step_through(work_leaf, 2 * pushes + 4);
		set_up(state);
		st_unwind_image_fini(&image);
		munmap(leaf, 4096);
	}
}

/* Code between pieces that are told of is found like any other in no file: by indirect calls only. */
static void test_leaf_between_known_pieces(void **state)
{
	struct sigaction action = {.sa_sigaction = on_jit, .sa_flags = SA_SIGINFO}, before;
	uint8_t *leaf = make_leaf(3, 16);
	const uint8_t back = 0xc3;
	struct st_unwind_code codes[2] = {{(uintptr_t)leaf - 64, &back, 1},
					  {(uintptr_t)leaf + 1024, &back, 1}};
	struct st_unwind_image image;
	struct st_error err = {0};

	assert_non_null(leaf);
	assert_int_equal(st_unwind_build_code(&image, codes, 2, &err), ST_OK);
	insert_module(&(struct st_unwind_module){
		.start = codes[0].address, .end = codes[1].address + 1, .table = image.table});
	sigaction(SIGILL, &action, &before);
	call_leaf((void (*)(void))leaf);
	sigaction(SIGILL, &before, NULL);
	assert_int_equal(jit_walk.flags, ST_SAMPLE_RECOVERED);
	assert_true((jit_frames[1] & ~ST_FRAME_WORD_RECOVERED) - (uintptr_t)call_leaf < 64);
	set_up(state);
	st_unwind_image_fini(&image);
	munmap(leaf, 4096);
}

/* The return address into the program's entry, left over in the frame of a leaf. */
static void test_leftover_of_the_entry(void **state)
{
	struct sigaction action = {.sa_sigaction = on_jit, .sa_flags = SA_SIGINFO}, before;
	/* mov rax, imm64; push rax; ud2; pop rax; ret */
	uint8_t code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x0f, 0x0b, 0x58, 0xc3};
	uint64_t frames[FRAMES_MAX], entry;
	uint8_t *leaf = make_leaf(1, 0);
	struct st_walk walk;

	(void)state;
	assert_non_null(leaf);
	look_here(&walk, frames, FRAMES_MAX);
	assert_int_equal(walk.flags, 0);
	entry = frames[walk.frame_count - 1];
	memcpy(code + 2, &entry, sizeof(entry));
	memcpy(leaf, code, sizeof(code));
	sigaction(SIGILL, &action, &before);
	call_leaf((void (*)(void))leaf);
	sigaction(SIGILL, &before, NULL);
	assert_int_equal(jit_walk.flags, ST_SAMPLE_RECOVERED);
	assert_true((jit_frames[1] & ~ST_FRAME_WORD_RECOVERED) - (uintptr_t)call_leaf < 64);
	munmap(leaf, 4096);
}

/* ---- limits and lies ---- */

static void test_limits(void **state)
{
	uint64_t frames[FRAMES_MAX + 1];
	struct st_walk walk;

	(void)state;
	look_here(&walk, frames, FRAMES_MAX);
	assert_int_equal(walk.flags, 0);
	assert_true(walk.frame_count > 4);
	frames[3] = 0x1234;
	look_here(&walk, frames, 3);
	assert_int_equal(walk.flags, ST_SAMPLE_TRUNCATED | ST_SAMPLE_DEPTH_CUT);
	assert_int_equal(walk.frame_count, 3);
	assert_int_equal(frames[3], 0x1234);
	look_here(&walk, frames, 0);
	assert_int_equal(walk.flags, ST_SAMPLE_TRUNCATED | ST_SAMPLE_DEPTH_CUT);
}

static void test_missing_tables(void **state)
{
	const struct st_unwind_table *kept = modules[0].table;
	uint64_t frames[FRAMES_MAX];
	struct st_walk walk;

	(void)state;
	modules[0].table = NULL;
	look_here(&walk, frames, FRAMES_MAX);
	modules[0].table = kept;
	assert_int_equal(walk.flags, ST_SAMPLE_TRUNCATED | ST_SAMPLE_NO_TABLE);
	assert_int_equal(walk.missing_pc, walk.pc);
	assert_int_equal(walk.frame_count, 1);
}

/* The same sequence in each run. */
static int next_random(void)
{
	static uint64_t state = 7;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (int)(state >> 33);
}

/* Random changes of rows, rules and pages of a table that passed its check, and of the stack. */
static void test_hostile_tables(void **state)
{
	struct st_unwind_module kept = modules[0];
	size_t size = kept.table->file_bytes;
	uint8_t *copy = mmap(NULL, (size + 4095) & ~4095ull, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t frames[FRAMES_MAX], stack[64];
	struct st_walk walk;

	(void)state;
	assert_true(copy != MAP_FAILED);
	for (int round = 0; round < 2000; round++) {
		memcpy(copy, kept.table, size);
		for (int i = 0; i < 200; i++)
			copy[sizeof(*kept.table) +
			     (size_t)next_random() % (size - sizeof(*kept.table))] =
				(uint8_t)next_random();
		for (int i = 0; i < 64; i++)
			stack[i] = next_random() % 2 ? kept.start + (uint64_t)next_random() %
									    (kept.end - kept.start)
						     : UINT64_MAX - (uint64_t)(next_random() % 64);
		modules[0].table = (const struct st_unwind_table *)copy;
		walk = (struct st_walk){.modules = {modules, module_count},
					.pc = stack[0],
					.sp = (uintptr_t)stack,
					.fp = next_random() % 2 ? UINT64_MAX - 4
								: (uintptr_t)&stack[9],
					.bx = UINT64_MAX,
					.stack_low = (uintptr_t)stack,
					.stack_high = (uintptr_t)(stack + 64),
					.stack = (const uint8_t *)stack,
					.read_code = read_memory,
					.frames = frames,
					.frames_max = FRAMES_MAX,
					.recover = true};
		st_walk_run(&walk);
		assert_true(walk.frame_count >= 1 && walk.frame_count <= FRAMES_MAX);
	}
	modules[0] = kept;
	munmap(copy, (size + 4095) & ~4095ull);
}

/* ---- against libunwind, sampled ---- */

static int spin_for_probe(double cpu_s)
{
	clock_t stop = clock() + (clock_t)(cpu_s * CLOCKS_PER_SEC);
	int values[512], sum = 0;

	while (clock() < stop) {
		for (int i = 0; i < 512; i++)
			values[i] = (int)(((unsigned int)i * 2654435761u) >> 7);
		qsort(values, 512, sizeof(*values), compare_ints);
		sum += values[3] + realigned(3) + early_out(9, 0);
	}
	return sum;
}

static void test_same_as_libunwind(void **state)
{
	struct probe_result result;

	(void)state;
	assert_int_equal(probe_start(1000, UINT64_MAX), 0);
	sink = spin_for_probe(0.4);
	probe_stop(&result);
	printf("%lu samples, %lu complete; libunwind agrees in %lu, not in %lu; anonymous leaves "
	       "right %lu of "
	       "%lu; derived rules right %lu of %lu\n",
	       result.samples, result.complete, result.libunwind.right, result.libunwind.wrong,
	       result.anonymous_leaf.right,
	       result.anonymous_leaf.right + result.anonymous_leaf.wrong +
		       result.anonymous_leaf.none,
	       result.derived.right + result.derived_leaf.right,
	       result.derived.right + result.derived.wrong + result.derived.none +
		       result.derived_leaf.right + result.derived_leaf.wrong +
		       result.derived_leaf.none);
	assert_true(result.samples >= 20);
	assert_int_equal(result.complete, result.samples);
	assert_int_equal(result.libunwind.wrong, 0);
	assert_int_equal(result.libunwind.right, result.complete);
	assert_int_equal(result.unflagged, 0);
}

int main(void)
{
	const struct CMUnitTest live[] = {
		cmocka_unit_test(test_every_instruction),
		cmocka_unit_test(test_every_instruction_without_cfi),
		cmocka_unit_test(test_through_a_signal_frame),
		cmocka_unit_test(test_leaf_in_anonymous_memory),
		cmocka_unit_test(test_leaf_whose_caller_has_no_table),
		cmocka_unit_test(test_leaf_with_rules_of_its_code),
		cmocka_unit_test(test_leaf_between_known_pieces),
		cmocka_unit_test(test_leftover_of_the_entry),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_missing_tables),
		cmocka_unit_test(test_same_as_libunwind),
	};
	const struct CMUnitTest hostile[] = {
		cmocka_unit_test(test_hostile_tables),
	};
	int failed = cmocka_run_group_tests(hostile, set_up, NULL);

#ifdef __SANITIZE_ADDRESS__
	(void)live; /* its red zones lie in the stacks that are walked there */
#else
	failed += cmocka_run_group_tests(live, set_up, NULL);
#endif
	return failed;
}
