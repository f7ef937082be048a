/* SPDX-License-Identifier: Apache-2.0
 *
 * What a walk needs of an interrupted thread: the seam between processors.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_REGISTERS_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_REGISTERS_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct st_registers {
	uint64_t pc, sp, fp, bx;
	const uint64_t *all; /* as unwind/rt/walk.h wants them */
};

static inline struct st_registers st_registers_of(const void *context)
{
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	struct st_registers registers;

#if defined(__x86_64__)
	registers.pc = (uint64_t)machine->gregs[REG_RIP];
	registers.sp = (uint64_t)machine->gregs[REG_RSP];
	registers.fp = (uint64_t)machine->gregs[REG_RBP];
	registers.bx = (uint64_t)machine->gregs[REG_RBX];
	registers.all = (const uint64_t *)machine->gregs;
#elif defined(__aarch64__)
	registers.pc = machine->pc;
	registers.sp = machine->sp;
	registers.fp = machine->regs[29];
	registers.bx = machine->regs[30];
	registers.all = NULL;
#else
#error "no registers known for this processor"
#endif
	return registers;
}

/* The caller's own. What its callers have left in the other registers is saved in its frame, which the walk passes. */
static inline __attribute__((always_inline)) struct st_registers st_registers_here(void)
{
	struct st_registers registers = {0};

#if defined(__x86_64__)
	/* Into memory: a register for a result might be one that is still to be read. */
	__asm__ volatile("leaq (%%rip), %%rax\n\tmovq %%rax, %0\n\tmovq %%rsp, %1\n\t"
			 "movq %%rbp, %2\n\tmovq %%rbx, %3"
			 : "=m"(registers.pc), "=m"(registers.sp), "=m"(registers.fp),
			   "=m"(registers.bx)
			 :
			 : "rax");
#elif defined(__aarch64__)
	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
			 : "=r"(registers.pc), "=r"(registers.sp), "=r"(registers.fp),
			   "=r"(registers.bx));
#endif
	return registers;
}

#endif
