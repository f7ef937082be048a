// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into strata by the fault tests: makes one call fail, as a machine that runs out of memory,
// descriptors or disk does, or a kernel that refuses. Only in the program FAIL_PROGRAM names; its children
// and the profiled program see the real functions. There are two ways to say which call:
//
//   FAIL_KIND=alloc|open|write|map|socket FAIL_NTH=N [FAIL_EVER=1: and all later ones]
//       the N-th call of a kind, whoever makes it (allocations: strata's own code only; json-c 0.16 does
//       not survive a failed one of its own)
//   FAIL_SITE=HEX FAIL_HIT=N
//       the N-th time that a place in strata's code makes its call. A place is the function called and
//       the chain of the innermost callers in strata itself.
//
// FAIL_RECORD=FILE writes every place that was passed, and how often: an array of struct place.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/rt/syscall.h"

enum kind { ALLOC, OPEN, WRITE, MAP, SOCKET, OTHER, NONE };
enum { PLACES_MAX = 16384, CHAIN_DEPTH = 5, FRAME_MAX_BYTES = 1 << 20 };

struct place {
	uint64_t id, count;
	char name[16];
};

static enum kind wanted = NONE;
static long nth;
static bool ever;
static _Atomic long seen;
static uint64_t site, site_hit, site_seen;
static struct place *places;
static bool by_site;
static uintptr_t text_begin, text_end;

/* As libc's wrappers give it. syscall() itself is one of the functions that fail here. */
static long raw(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

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

static void open_record(const char *path)
{
	size_t bytes = PLACES_MAX * sizeof(*places);
	int fd = (int)raw(
		st_syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	void *map;

	if (fd < 0 || raw(st_syscall(SYS_ftruncate, fd, bytes)) != 0)
		abort();
	map = (void *)raw(
		st_syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	if (map == MAP_FAILED)
		abort();
	raw(st_syscall(SYS_close, fd));
	places = map;
}

__attribute__((constructor)) static void read_plan(void)
{
	static const char *const names[] = {"alloc", "open", "write", "map", "socket"};
	const char *kind = getenv("FAIL_KIND"), *number = getenv("FAIL_NTH");
	const char *program = getenv("FAIL_PROGRAM"), *record = getenv("FAIL_RECORD");
	const char *where = getenv("FAIL_SITE"), *hit = getenv("FAIL_HIT");

	if (!program || strcmp(program_invocation_short_name, program) != 0)
		return;
	dl_iterate_phdr(find_text, NULL);
	if (record)
		open_record(record);
	if (where && hit) {
		site = strtoull(where, NULL, 16);
		site_hit = strtoull(hit, NULL, 10);
	}
	by_site = record || site;
	nth = number ? strtol(number, NULL, 10) : 0;
	ever = getenv("FAIL_EVER") != NULL;
	for (int i = 0; kind && number && i < OTHER; i++)
		if (strcmp(kind, names[i]) == 0)
			wanted = (enum kind)i;
}

static bool in_strata(uintptr_t at)
{
	return at >= text_begin && at < text_end;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* strata is built with frame pointers: each frame holds the next one and the address it returns to. */
static uint64_t place_of(const char *name, const uintptr_t *frame)
{
	uint64_t hash = 1;

	for (; *name; name++)
		hash = mix(hash, (uint64_t)*name);
	for (int depth = 0; depth < CHAIN_DEPTH; depth++) {
		const uintptr_t *next = (const uintptr_t *)frame[0];

		if (!in_strata(frame[1]))
			break;
		hash = mix(hash, frame[1] - text_begin);
		if (next <= frame || (uintptr_t)next - (uintptr_t)frame > FRAME_MAX_BYTES)
			break;
		frame = next;
	}
	return hash;
}

static void note(const char *name, uint64_t id)
{
	for (size_t i = 0; i < PLACES_MAX; i++) {
		struct place *place = &places[(id + i) % PLACES_MAX];

		if (place->id && place->id != id)
			continue;
		place->id = id;
		place->count++;
		for (size_t c = 0; name[c] && c + 1 < sizeof(place->name); c++)
			place->name[c] = name[c];
		return;
	}
	abort(); /* more places than there is room for: make more */
}

/* frame is that of the function that stands in for the real one. */
static bool fails(enum kind kind, const char *name, const void *frame)
{
	const uintptr_t *words = frame;
	bool ours = text_end && in_strata(words[1]);
	uint64_t id;
	long count;

	if (by_site && ours) {
		id = place_of(name, words);
		if (places)
			note(name, id);
		return id == site && ++site_seen == site_hit;
	}
	if (kind != wanted || (kind == ALLOC && !ours))
		return false;
	count = atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed) + 1;
	return count == nth || (ever && count > nth);
}

#define EXPORT __attribute__((visibility("default"), noinline))
#define FAILS(kind, name) fails(kind, name, __builtin_frame_address(0))

/* glibc's own entry points under other names: no dlsym, which itself allocates. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

EXPORT void *malloc(size_t size)
{
	if (!FAILS(ALLOC, "malloc"))
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}

EXPORT void *calloc(size_t count, size_t size)
{
	if (!FAILS(ALLOC, "calloc"))
		return __libc_calloc(count, size);
	errno = ENOMEM;
	return NULL;
}

EXPORT void *realloc(void *old, size_t size)
{
	if (!FAILS(ALLOC, "realloc"))
		return __libc_realloc(old, size);
	errno = ENOMEM;
	return NULL;
}

EXPORT char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = FAILS(ALLOC, "strdup") ? NULL : __libc_malloc(size);

	if (copy)
		memcpy(copy, text, size);
	else
		errno = ENOMEM;
	return copy;
}

EXPORT int asprintf(char **out, const char *fmt, ...)
{
	va_list list;
	int n;

	if (FAILS(ALLOC, "asprintf")) {
		errno = ENOMEM;
		return -1;
	}
	va_start(list, fmt);
	n = vasprintf(out, fmt, list);
	va_end(list);
	return n;
}

static int open_at(bool fail, int folder, const char *path, int flags, mode_t mode)
{
	if (!fail)
		return (int)raw(st_syscall(SYS_openat, folder, path, flags, mode));
	errno = EMFILE;
	return -1;
}

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list list;

	va_start(list, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_at(FAILS(OPEN, "open"), AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
	mode_t mode;
	va_list list;

	va_start(list, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_at(FAILS(OPEN, "openat"), folder, path, flags, mode);
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
	/* What is said on stderr is not what is tested. */
	if (fd == 2 || (fd <= 2 && !by_site) || !FAILS(WRITE, "write"))
		return raw(st_syscall(SYS_write, fd, data, size));
	errno = EIO;
	return -1;
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (!FAILS(MAP, "mmap"))
		return (void *)raw(st_syscall(SYS_mmap, at, size, protection, flags, fd, offset));
	errno = ENOMEM;
	return MAP_FAILED;
}

EXPORT int socket(int domain, int type, int protocol)
{
	if (!FAILS(SOCKET, "socket"))
		return (int)raw(st_syscall(SYS_socket, domain, type, protocol));
	errno = EMFILE;
	return -1;
}

EXPORT int fcntl(int fd, int command, ...)
{
	va_list list;
	long argument;

	va_start(list, command);
	argument = va_arg(list, long);
	va_end(list);
	if (!FAILS(OTHER, "fcntl"))
		return (int)raw(st_syscall(SYS_fcntl, fd, command, argument));
	errno = EINVAL;
	return -1;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	long argument;

	va_start(list, request);
	argument = va_arg(list, long);
	va_end(list);
	if (!FAILS(OTHER, "ioctl"))
		return (int)raw(st_syscall(SYS_ioctl, fd, request, argument));
	errno = EINVAL;
	return -1;
}

EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!FAILS(OTHER, "syscall"))
		return raw(st_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
	errno = ENOSYS;
	return -1;
}

/* RESULT name(parameters), which fails with code and gives failed. */
#define HOOK(result, name, parameters, arguments, code, failed)                                    \
	EXPORT result name parameters                                                              \
	{                                                                                          \
		static result(*real) parameters;                                                   \
                                                                                                   \
		if (!real)                                                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
		if (!FAILS(OTHER, #name))                                                          \
			return real arguments;                                                     \
		errno = code;                                                                      \
		return failed;                                                                     \
	}

/* clang-format off */
HOOK(char *, realpath, (const char *path, char *out), (path, out), ENOMEM, NULL)
HOOK(char *, getcwd, (char *out, size_t size), (out, size), ENOENT, NULL)
HOOK(FILE *, fopen, (const char *path, const char *mode), (path, mode), EMFILE, NULL)
HOOK(DIR *, opendir, (const char *path), (path), EMFILE, NULL)
HOOK(DIR *, fdopendir, (int fd), (fd), ENOMEM, NULL)
HOOK(int, scandirat, (int folder, const char *path, struct dirent ***list,
	int (*filter)(const struct dirent *), int (*compare)(const struct dirent **, const struct dirent **)),
	(folder, path, list, filter, compare), ENOMEM, -1)
HOOK(int, glob, (const char *pattern, int flags, int (*report)(const char *, int), glob_t *out),
	(pattern, flags, report, out), ENOMEM, GLOB_NOSPACE)
HOOK(int, dup, (int fd), (fd), EMFILE, -1)
HOOK(int, dup2, (int from, int to), (from, to), EMFILE, -1)
HOOK(int, dup3, (int from, int to, int flags), (from, to, flags), EMFILE, -1)
HOOK(int, pipe2, (int fds[2], int flags), (fds, flags), EMFILE, -1)
HOOK(int, epoll_create1, (int flags), (flags), EMFILE, -1)
HOOK(int, epoll_ctl, (int fd, int what, int other, struct epoll_event *event), (fd, what, other, event), ENOSPC, -1)
HOOK(int, epoll_wait, (int fd, struct epoll_event *events, int max, int ms), (fd, events, max, ms), EINTR, -1)
HOOK(int, poll, (struct pollfd *fds, nfds_t count, int ms), (fds, count, ms), ENOMEM, -1)
HOOK(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), EMFILE, -1)
HOOK(int, memfd_create, (const char *name, unsigned int flags), (name, flags), EMFILE, -1)
HOOK(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), EIO, -1)
HOOK(ssize_t, pread, (int fd, void *data, size_t size, off_t at), (fd, data, size, at), EIO, -1)
HOOK(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at), ENOSPC, -1)
HOOK(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence), ESPIPE, -1)
HOOK(int, ftruncate, (int fd, off_t size), (fd, size), EIO, -1)
HOOK(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), ENOSPC, -1)
HOOK(int, stat, (const char *path, struct stat *out), (path, out), EACCES, -1)
HOOK(int, lstat, (const char *path, struct stat *out), (path, out), EACCES, -1)
HOOK(int, fstat, (int fd, struct stat *out), (fd, out), EIO, -1)
HOOK(int, fstatat, (int folder, const char *path, struct stat *out, int flags), (folder, path, out, flags), EACCES, -1)
HOOK(int, fstatfs, (int fd, struct statfs *out), (fd, out), EIO, -1)
HOOK(int, statvfs, (const char *path, struct statvfs *out), (path, out), EACCES, -1)
HOOK(int, access, (const char *path, int mode), (path, mode), EACCES, -1)
HOOK(ssize_t, readlink, (const char *path, char *out, size_t size), (path, out, size), EACCES, -1)
HOOK(ssize_t, getxattr, (const char *path, const char *name, void *out, size_t size), (path, name, out, size), EACCES, -1)
HOOK(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, -1)
HOOK(char *, mkdtemp, (char *path), (path), ENOSPC, NULL)
HOOK(int, rename, (const char *from, const char *to), (from, to), ENOSPC, -1)
HOOK(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), ENOSPC, -1)
HOOK(int, unlink, (const char *path), (path), EROFS, -1)
HOOK(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), EROFS, -1)
HOOK(int, rmdir, (const char *path), (path), EROFS, -1)
HOOK(int, chmod, (const char *path, mode_t mode), (path, mode), EPERM, -1)
HOOK(int, fchmod, (int fd, mode_t mode), (fd, mode), EPERM, -1)
HOOK(int, flock, (int fd, int what), (fd, what), ENOLCK, -1)
HOOK(int, mprotect, (void *at, size_t size, int protection), (at, size, protection), ENOMEM, -1)
HOOK(pid_t, fork, (void), (), EAGAIN, -1)
HOOK(int, execve, (const char *path, char *const *argv, char *const *env), (path, argv, env), E2BIG, -1)
HOOK(int, chdir, (const char *path), (path), EACCES, -1)
HOOK(pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags), EINTR, -1)
HOOK(int, kill, (pid_t pid, int number), (pid, number), EPERM, -1)
HOOK(int, bind, (int fd, const struct sockaddr *at, socklen_t size), (fd, at, size), EACCES, -1)
HOOK(int, listen, (int fd, int backlog), (fd, backlog), EADDRINUSE, -1)
HOOK(int, connect, (int fd, const struct sockaddr *at, socklen_t size), (fd, at, size), ECONNREFUSED, -1)
HOOK(int, accept4, (int fd, struct sockaddr *at, socklen_t *size, int flags), (fd, at, size, flags), EMFILE, -1)
HOOK(ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags), ENOBUFS, -1)
HOOK(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags), ENOMEM, -1)
HOOK(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), ENOMEM, -1)
HOOK(int, getsockopt, (int fd, int level, int name, void *out, socklen_t *size), (fd, level, name, out, size), ENOPROTOOPT, -1)
HOOK(ssize_t, getrandom, (void *out, size_t size, unsigned int flags), (out, size, flags), ENOSYS, -1)
HOOK(int, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *out), (pid, size, out), EINVAL, -1)
/* clang-format on */
