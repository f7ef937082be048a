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

#endif
