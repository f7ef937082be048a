/* SPDX-License-Identifier: Apache-2.0
 *
 * syscall(): only those of futex are looked at, and those by which a process locks itself up. All others, some of which never
 * return, get libc's own with every argument and the return address as they came.
 */
#include <sys/syscall.h>

	.text
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	endbr64
	cmpq	$SYS_futex, %rdi
	je	st_wait_futex
	cmpq	$SYS_seccomp, %rdi
	je	st_wait_locks_up
	cmpq	$SYS_prctl, %rdi
	je	st_wait_locks_up
	movq	st_real(%rip), %rax
	testq	%rax, %rax
	je	st_syscall_early
	jmpq	*%rax
	.cfi_endproc
	.size	syscall, .-syscall

/* In front of the constructor: every register as it came, then where %r11 says. */
	.hidden	st_first
	.globl	st_first
	.type	st_first, @function
	.p2align 4
st_first:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rsp
	subq	$192, %rsp
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movq	%rax, 48(%rsp)
	movq	%r11, 56(%rsp)
	movaps	%xmm0, 64(%rsp)
	movaps	%xmm1, 80(%rsp)
	movaps	%xmm2, 96(%rsp)
	movaps	%xmm3, 112(%rsp)
	movaps	%xmm4, 128(%rsp)
	movaps	%xmm5, 144(%rsp)
	movaps	%xmm6, 160(%rsp)
	movaps	%xmm7, 176(%rsp)
	call	st_real_find
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	movq	48(%rsp), %rax
	movq	56(%rsp), %r11
	movaps	64(%rsp), %xmm0
	movaps	80(%rsp), %xmm1
	movaps	96(%rsp), %xmm2
	movaps	112(%rsp), %xmm3
	movaps	128(%rsp), %xmm4
	movaps	144(%rsp), %xmm5
	movaps	160(%rsp), %xmm6
	movaps	176(%rsp), %xmm7
	movq	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	jmpq	*(%r11)
	.cfi_endproc
	.size	st_first, .-st_first

	.section .note.GNU-stack, "", @progbits
