/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks into a program file before it is executed: its class, machine, loader and first library, and whether it is
 * an engine for others. System calls only, 3 KiB of stack, no state: it runs in forked and vforked children and in handlers.
 */
#include "collect/inproc/core/exec.h"

#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rt/elf_engine.h"
#include "base/rt/elf_first.h"
#include "base/rt/elf_text.h"
#include "base/rt/syscall.h"
#include "collect/inproc/core/state.h"

enum {
	SCRIPT_DEPTH = 4,
	SCRIPT_LINE = 256,
	HEADERS_MAX = 64,
	PATH_BYTES = 1024,
	LOADER_BYTES_MAX = 4 << 20,
	VERDICTS = 64,
};

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#define OWN_LOADER "/lib64/ld-linux-x86-64.so.2"
#else
enum { OWN_MACHINE = EM_AARCH64 };
#define OWN_LOADER "/lib/ld-linux-aarch64.so.1"
#endif

/* The newest symbols this library needs. A C library without them does not leave it out, it refuses
 * to start the program. Its loader holds the name too (tests/unit/test_inproc_exports.c keeps it true). */
static const char needed_version[] = "GLIBC_2.34";

/* The loader of this process, to know another root's by; 0: not known. */
static struct {
	uint64_t device, inode;
} own_loader;

void st_exec_check_init(void)
{
	struct stat about = {0};

	if (st_syscall(SYS_newfstatat, AT_FDCWD, OWN_LOADER, &about, 0))
		return;
	own_loader.device = about.st_dev;
	own_loader.inode = about.st_ino;
}

static long read_at(int fd, void *to, size_t size_bytes, uint64_t offset)
{
	return st_syscall(SYS_pread64, fd, to, size_bytes, offset);
}

/* Behind a chroot or in another mount namespace there may be an older C library. */
static bool loader_is_new_enough(const char *path)
{
	struct stat about = {0};
	bool ok = true;
	long fd;

	if (st_passive())
		return true; /* as few system calls as can be */
	fd = st_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return true; /* the kernel will refuse the program anyway */
	if (!st_syscall(SYS_fstat, fd, &about) && own_loader.inode &&
	    (about.st_dev != own_loader.device || about.st_ino != own_loader.inode))
		ok = st_elf_holds((int)fd, needed_version, LOADER_BYTES_MAX);
	st_syscall(SYS_close, fd);
	return ok;
}

/* Only glibc's loader understands a library that was linked against glibc. */
static bool loader_is_ours(int fd, const Elf64_Phdr *interp)
{
	char path[PATH_BYTES];
	const char *name;
	size_t length = interp->p_filesz;

	if (!length || length > sizeof(path) ||
	    read_at(fd, path, length, interp->p_offset) != (long)length || path[length - 1])
		return true; /* too odd to judge: leave it as it is */
	name = strrchr(path, '/');
	return !strncmp(name ? name + 1 : path, "ld-linux", 8) && loader_is_new_enough(path);
}

static bool elf_refuses(int fd, const Elf64_Ehdr *head)
{
	Elf64_Phdr segment = {0};

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != OWN_MACHINE)
		return true;
	if (!st_passive() && st_engine_is(fd))
		return true;
	if (head->e_phentsize != sizeof(segment) || head->e_phnum > HEADERS_MAX)
		return false;
	for (uint64_t i = 0; i < head->e_phnum; i++) {
		if (read_at(fd, &segment, sizeof(segment), head->e_phoff + i * sizeof(segment)) !=
		    (long)sizeof(segment))
			return false;
		if (segment.p_type == PT_INTERP)
			return !loader_is_ours(fd, &segment) || st_elf_wants_to_be_first(fd, head);
	}
	return false; /* static: it reads no preload */
}

/* The interpreter of a script, in place; NULL when there is none. */
static char *script_interpreter(char *line, long length)
{
	char *at = line + 2, *end;

	line[length] = '\0';
	while (*at == ' ' || *at == '\t')
		at++;
	for (end = at; *end && *end != ' ' && *end != '\t' && *end != '\n'; end++)
		;
	*end = '\0';
	return *at ? at : NULL;
}

/* Programs are started again and again: what was found in which file. The name belongs to it, because engines are
 * known by theirs, and so does the root, in which another loader may be. A word holds all: hash and verdict. */
static _Atomic uint64_t verdicts[VERDICTS];

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* 0: no name. */
static uint64_t name_key(const char *path)
{
	uint64_t hash = path != NULL;

	for (; path && *path; path++)
		hash = mix(hash, (uint8_t)*path);
	return hash;
}

/* 0: the file is not known well enough. */
static uint64_t file_key(int fd, uint64_t name)
{
	struct stat file = {0}, root = {0};
	uint64_t hash;

	if (!name || st_passive() || st_syscall(SYS_fstat, fd, &file) ||
	    st_syscall(SYS_newfstatat, AT_FDCWD, "/", &root, 0))
		return 0;
	hash = mix(mix(mix(name, file.st_dev), file.st_ino), (uint64_t)file.st_size);
	hash = mix(mix(hash, (uint64_t)file.st_mtim.tv_sec), (uint64_t)file.st_mtim.tv_nsec);
	hash = mix(mix(hash, (uint64_t)file.st_ctim.tv_sec), (uint64_t)file.st_ctim.tv_nsec);
	hash = mix(mix(hash, root.st_dev), root.st_ino);
	return hash | 1;
}

static bool elf_file_refuses(int fd, const Elf64_Ehdr *head, uint64_t name)
{
	uint64_t key = file_key(fd, name), found;
	_Atomic uint64_t *verdict = &verdicts[key >> 1 & (VERDICTS - 1)];
	bool refuses;

	/* The lowest bit of the key is set: a word is even, and then refused, or odd. */
	found = atomic_load_explicit(verdict, memory_order_relaxed);
	if (key && (found | 1) == key)
		return !(found & 1);
	refuses = elf_refuses(fd, head);
	if (key)
		atomic_store_explicit(verdict, refuses ? key & ~1ull : key, memory_order_relaxed);
	return refuses;
}

static bool named_refuses(int fd, uint64_t name)
{
	union {
		Elf64_Ehdr elf;
		char line[SCRIPT_LINE + 1];
	} head = {.line = {0}};
	bool opened = false, refuses = false;

	for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
		long length = read_at(fd, head.line, SCRIPT_LINE, 0);
		char *interpreter;

		if (length >= (long)sizeof(head.elf) && !memcmp(head.line, ELFMAG, SELFMAG)) {
			refuses = elf_file_refuses(fd, &head.elf, name);
			break;
		}
		if (length < 3 || head.line[0] != '#' || head.line[1] != '!')
			break;
		interpreter = script_interpreter(head.line, length);
		if (opened)
			st_syscall(SYS_close, fd);
		opened = false;
		if (!interpreter)
			break;
		fd = (int)st_syscall(SYS_openat, AT_FDCWD, interpreter, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			break;
		opened = true;
		name = name_key(interpreter);
	}
	if (opened)
		st_syscall(SYS_close, fd);
	return refuses;
}

bool st_exec_fd_refuses(int fd)
{
	return named_refuses(fd, 0);
}

bool st_exec_refuses(int dirfd, const char *path)
{
	long fd = st_syscall(SYS_openat, dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool refuses;

	if (fd < 0)
		return false; /* it cannot be read; the kernel decides what becomes of it */
	refuses = named_refuses((int)fd, name_key(path));
	st_syscall(SYS_close, fd);
	return refuses;
}

/* A sandbox that lets programs start lets them open their files; other calls may be fatal in it. */
static bool can_be_executed(const char *path)
{
	long fd;

	if (!st_passive())
		return !st_syscall(SYS_faccessat, AT_FDCWD, path, X_OK);
	fd = st_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		st_syscall(SYS_close, fd);
	return fd >= 0;
}

bool st_exec_search_refuses(const char *file)
{
	const char *path = getenv("PATH"), *end;
	size_t length = strlen(file), part;
	char candidate[PATH_BYTES];

	if (strchr(file, '/'))
		return st_exec_refuses(AT_FDCWD, file);
	if (!path)
		path = "/bin:/usr/bin";
	for (; length; path = end + 1) {
		end = strchrnul(path, ':');
		part = (size_t)(end - path);
		if (part + length + 2 <= sizeof(candidate)) {
			memcpy(candidate, path, part);
			if (part)
				candidate[part++] = '/';
			memcpy(candidate + part, file, length + 1);
			if (can_be_executed(candidate))
				return st_exec_refuses(AT_FDCWD, candidate);
		}
		if (!*end)
			break;
	}
	return false;
}
