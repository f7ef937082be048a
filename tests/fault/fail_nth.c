// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into strata by the fault tests: makes the N-th call of one kind fail, as a machine that runs
// out of memory, descriptors or disk does. Only in the program FAIL_PROGRAM names; its children and
// the profiled program see the real functions. Allocations fail only when strata's own code asks for them:
// json-c 0.16 does not survive a failed one of its own.
//   FAIL_KIND=alloc|open|write|map|socket  FAIL_NTH=N  FAIL_PROGRAM=strata  [FAIL_EVER=1: and all later ones]
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { ALLOC, OPEN, WRITE, MAP, SOCKET, NONE };

static enum kind wanted = NONE;
static long nth;
static bool ever;
static _Atomic long seen;

static uintptr_t text_begin, text_end;

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X))
			continue;
		text_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		text_end = text_begin + info->dlpi_phdr[i].p_memsz;
	}
	return 1; /* the first object is the program itself */
}

__attribute__((constructor)) static void read_plan(void)
{
	static const char *const names[] = {"alloc", "open", "write", "map", "socket"};
	const char *kind = getenv("FAIL_KIND"), *number = getenv("FAIL_NTH");
	const char *program = getenv("FAIL_PROGRAM");

	if (!kind || !number || !program || strcmp(program_invocation_short_name, program) != 0)
		return;
	dl_iterate_phdr(find_text, NULL);
	nth = strtol(number, NULL, 10);
	ever = getenv("FAIL_EVER") != NULL;
	for (int i = 0; i < NONE; i++)
		if (strcmp(kind, names[i]) == 0)
			wanted = (enum kind)i;
}

static bool fails(enum kind kind)
{
	long count;

	if (kind != wanted)
		return false;
	count = atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed) + 1;
	return count == nth || (ever && count > nth);
}

static bool alloc_fails(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	return at >= text_begin && at < text_end && fails(ALLOC);
}

/* glibc's own entry points under other names: no dlsym, which itself allocates. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	if (!alloc_fails(__builtin_return_address(0)))
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	if (!alloc_fails(__builtin_return_address(0)))
		return __libc_calloc(count, size);
	errno = ENOMEM;
	return NULL;
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size)
{
	if (!alloc_fails(__builtin_return_address(0)))
		return __libc_realloc(old, size);
	errno = ENOMEM;
	return NULL;
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
	if (!fails(OPEN))
		return (int)syscall(SYS_openat, folder, path, flags, mode);
	errno = EMFILE;
	return -1;
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list list;

	va_start(list, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_at(AT_FDCWD, path, flags, mode);
}

__attribute__((visibility("default"))) int openat(int folder, const char *path, int flags, ...)
{
	mode_t mode;
	va_list list;

	va_start(list, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_at(folder, path, flags, mode);
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *data, size_t size)
{
	/* What is said on stderr is not what is tested. */
	if (fd <= 2 || !fails(WRITE))
		return syscall(SYS_write, fd, data, size);
	errno = EIO;
	return -1;
}

__attribute__((visibility("default"))) void *mmap(void *at, size_t size, int protection, int flags,
						  int fd, off_t offset)
{
	if (!fails(MAP))
		return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
	if (!fails(SOCKET))
		return (int)syscall(SYS_socket, domain, type, protocol);
	errno = EMFILE;
	return -1;
}
