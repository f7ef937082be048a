/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes in which the library is loaded but must do nothing, because no exec of ours was asked before they
 * started: a static launcher, or a raw system call, handed them the preload. An engine (base/rt/elf_engine.h), the
 * program inside one, and a program whose sanitizer stands behind us.
 */
#include "collect/inproc/core/stand_back.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "base/rt/elf_engine.h"
#include "base/rt/elf_first.h"
#include "base/rt/syscall.h"

static long read_link(const char *path, char out[ST_ENGINE_PATH_BYTES])
{
	long length = st_syscall(SYS_readlinkat, AT_FDCWD, path, out, ST_ENGINE_PATH_BYTES - 1);

	out[length > 0 ? length : 0] = '\0';
	return length;
}

/* Valgrind's own question, answered by the machine with nothing at all: the turns make a whole circle. */
static bool is_in_valgrind(void)
{
#if defined(__x86_64__)
	enum { RUNNING_ON_VALGRIND = 0x1001 };
	const uint64_t question[6] = {RUNNING_ON_VALGRIND};
	uint64_t answer = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
	return answer != 0;
#else
	return false;
#endif
}

/* The kernel names a process after the file that it was told to execute. The name of a program inside an engine is the
 * engine's; some others have another one as well (a file that is known by its descriptor only). */
static bool has_own_name(void)
{
	enum { NAME_BYTES = 16 };
	const char *file = (const char *)getauxval(AT_EXECFN);
	char name[NAME_BYTES] = "";

	return file && !st_syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0) &&
	       !strncmp(name, st_engine_name(file), NAME_BYTES - 1);
}

/* Engines show the program inside to itself as what the process executes; by the longer name they show
 * themselves. That one takes the kernel long. */
static bool is_inside_engine(const char *exe)
{
	char other[ST_ENGINE_PATH_BYTES];

	if (is_in_valgrind())
		return true;
	return !has_own_name() && read_link("/proc/thread-self/exe", other) > 0 &&
	       strcmp(exe, other) != 0;
}

static bool is_engine(const char *exe)
{
	bool is;
	long fd;

	if (!st_engine_text(st_engine_name(exe)))
		return false;
	fd = st_syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is = st_engine_is((int)fd);
	st_syscall(SYS_close, fd);
	return is;
}

/* The linker's name for where this library begins. */
extern const char __ehdr_start __attribute__((visibility("hidden")));

struct order {
	uint64_t own;
	bool behind, found;
};

/* Libraries come in the order in which symbols are looked for. Those of ours have a folder in their names that is called like
 * one (docs/internals/getting-in.md). */
static int look_for_sanitizer(struct dl_phdr_info *library, size_t size_bytes, void *arg)
{
	struct order *order = arg;

	(void)size_bytes;
	if (library->dlpi_addr == order->own)
		order->behind = true;
	else if (library->dlpi_name && !strstr(library->dlpi_name, "/libstrata_") &&
		 st_elf_name_is_first(library->dlpi_name, strlen(library->dlpi_name)))
		order->found = true;
	return order->found;
}

/* Its run-time was tricked into starting (docs/internals/getting-in.md), which is all we may ask of it. */
static bool is_before_sanitizer(void)
{
	struct order order = {.own = (uint64_t)&__ehdr_start};

	dl_iterate_phdr(look_for_sanitizer, &order);
	return order.found && order.behind;
}

bool st_must_stand_back(void)
{
	char exe[ST_ENGINE_PATH_BYTES];

	if (read_link("/proc/self/exe", exe) > 0 && (is_inside_engine(exe) || is_engine(exe)))
		return true;
	return is_before_sanitizer();
}
