/* SPDX-License-Identifier: Apache-2.0
 *
 * A library with code at known places, for test_named: marks are labels inside functions, which the test
 * looks up by name. Line numbers are taken by the test from this file, by the words in the comments.
 */
#include <unistd.h>

#define MARK(name) __asm__ volatile(".globl " #name "\n" #name ": nop")

int part_plain(int);
int part_outer(int x);
int part_spin(int x);
int part_calls(void);
int part_cpp(int x) __asm__("_ZN2at6native6conv2dEii");
int part_rust(int x) __asm__("_ZN4core3fmt5write17h0123456789abcdefE");
int part_rust_new(int x) __asm__("_RNvNtCs1234_7mycrate3foo3bar");

extern char part_end_mark[];

__attribute__((noinline)) int part_plain(int x)
{
	MARK(part_in_plain); /* line of plain */
	return x * 3 + PART_VARIANT;
}

static inline __attribute__((always_inline)) int part_innermost(int x)
{
	MARK(part_in_innermost); /* line of innermost */
	return x ^ 5;
}

static inline __attribute__((always_inline)) int part_middle(int x)
{
	return part_innermost(x + 1) + 2; /* line of middle */
}

__attribute__((noinline)) int part_outer(int x)
{
	x += 7;
	return part_middle(x); /* line of outer */
}

__attribute__((noinline)) int part_spin(int x)
{
	for (int i = 0; i < x; i++) {
		MARK(part_before_pause);
		__asm__ volatile(".globl part_at_pause\npart_at_pause: pause\n"
				 ".globl part_behind_pause\npart_behind_pause: nop\nnop\n"
				 ".globl part_after_pause\npart_after_pause: nop");
	}
	return x;
}

__attribute__((noinline)) int part_calls(void)
{
	MARK(part_in_calls);
	__asm__ volatile(".globl part_call_of_stub\npart_call_of_stub: call getppid@plt"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
	return getppid();
}

__attribute__((noinline)) static int hidden(int x)
{
	MARK(part_in_hidden);
	return x * 11;
}

__attribute__((noinline)) int part_cpp(int x)
{
	MARK(part_in_cpp);
	return hidden(x);
}

__attribute__((noinline)) int part_rust(int x)
{
	MARK(part_in_rust);
	return x + 1;
}

__attribute__((noinline)) int part_rust_new(int x)
{
	MARK(part_in_rust_new);
	return x + 2;
}

/* Code that no symbol and no unwind table covers. */
__asm__(".text\n.globl part_in_nowhere\n.zero 64, 0x90\npart_in_nowhere: nop\n.zero 64, 0x90\n");
