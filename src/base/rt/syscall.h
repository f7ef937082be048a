/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls without libc between: they touch no errno, are no cancellation points, cannot be
 * interposed by the program, and are safe in signal handlers and between vfork and exec.
 * A result in [-4095, -1] is a negated errno.
 */
#ifndef ST_BASE_RT_SYSCALL_H
#define ST_BASE_RT_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long st_syscall6(long number, const long args[6])
{
	long result;
	register long r10 __asm__("r10") = args[3];
	register long r8 __asm__("r8") = args[4];
	register long r9 __asm__("r9") = args[5];

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long st_syscall6(long number, const long args[6])
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = args[0];
	register long x1 __asm__("x1") = args[1];
	register long x2 __asm__("x2") = args[2];
	register long x3 __asm__("x3") = args[3];
	register long x4 __asm__("x4") = args[4];
	register long x5 __asm__("x5") = args[5];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "no system call convention known for this processor"
#endif

/* st_syscall(number, up to six integers or pointers) */
#define ST_SYSCALL_ARGS(a, b, c, d, e, f, ...)                                                     \
	((const long[6]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)})
#define st_syscall(number, ...)                                                                    \
	st_syscall6((number), ST_SYSCALL_ARGS(__VA_ARGS__, 0, 0, 0, 0, 0, 0))

static inline bool st_syscall_failed(long result)
{
	return result < 0 && result >= -4095;
}

#endif
