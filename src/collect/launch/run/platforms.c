// SPDX-License-Identifier: Apache-2.0
//
// Lays out the folders through which LD_PRELOAD names the collector (docs/internals/getting-in.md). A loader puts its own
// platform in the place of $PLATFORM. Where that is ours it finds a link to the collector, where it is the 32-bit one
// a library that is valid and empty, and nothing to complain about. The build compiles this file too.
#include "collect/launch/run/platforms.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const libraries[] = {"libstrata_collector.so", "libstrata_waits.so"};
static const char probe[] = "libstrata_probe.so";
enum { LIBRARIES = sizeof(libraries) / sizeof(*libraries) };

#if defined(__x86_64__)
/* What glibc calls a processor: the kernel's word, or its own for a few. */
static const char *const ours[] = {"x86_64", "haswell", "xeon_phi"};
static const char *const narrow[] = {"i386", "i486", "i586", "i686"};
enum { OUR_MACHINE = EM_X86_64, NARROW_MACHINE = EM_386 };
#else
static const char *const ours[] = {"aarch64"};
static const char *const narrow[] = {"v6l", "v7l", "v8l"};
enum { OUR_MACHINE = EM_AARCH64, NARROW_MACHINE = EM_ARM };
#endif

enum { SYMBOL_HASH_WORDS = 4 };

/* A shared library with nothing in it: a loader maps it, finds no symbol, needs nothing, runs nothing. Its one
 * segment is written to because loaders make addresses of the dynamic table absolute. */
#define EMPTY_LIBRARY(WIDTH)                                                                       \
	struct empty##WIDTH {                                                                      \
		Elf##WIDTH##_Ehdr head;                                                            \
		Elf##WIDTH##_Phdr segments[3];                                                     \
		Elf##WIDTH##_Dyn dynamic[6];                                                       \
		Elf##WIDTH##_Sym symbol;                                                           \
		Elf32_Word hash[SYMBOL_HASH_WORDS];                                                \
		char strings[16];                                                                  \
	};                                                                                         \
	static struct empty##WIDTH make##WIDTH(unsigned int machine) {                             \
		struct empty##WIDTH made = {                                                       \
			.head = {.e_type = ET_DYN,                                                 \
				 .e_machine = (Elf##WIDTH##_Half)machine,                          \
				 .e_version = EV_CURRENT,                                          \
				 .e_phoff = offsetof(struct empty##WIDTH, segments),               \
				 .e_ehsize = sizeof(Elf##WIDTH##_Ehdr),                            \
				 .e_phentsize = sizeof(Elf##WIDTH##_Phdr),                         \
				 .e_phnum = 3},                                                    \
			.segments = {{.p_type = PT_LOAD,                                           \
				      .p_filesz = sizeof(made),                                    \
				      .p_memsz = sizeof(made),                                     \
				      .p_flags = PF_R | PF_W,                                      \
				      .p_align = 0x10000},                                         \
				     {.p_type = PT_DYNAMIC,                                        \
				      .p_offset = offsetof(struct empty##WIDTH, dynamic),          \
				      .p_vaddr = offsetof(struct empty##WIDTH, dynamic),           \
				      .p_paddr = offsetof(struct empty##WIDTH, dynamic),           \
				      .p_filesz = sizeof(made.dynamic),                            \
				      .p_memsz = sizeof(made.dynamic),                             \
				      .p_flags = PF_R | PF_W,                                      \
				      .p_align = 8},                                               \
				     {.p_type = PT_GNU_STACK,                                      \
				      .p_flags = PF_R | PF_W,                                      \
				      .p_align = 16}},                                             \
			.dynamic = {{.d_tag = DT_HASH,                                             \
				     .d_un.d_ptr = offsetof(struct empty##WIDTH, hash)},           \
				    {.d_tag = DT_STRTAB,                                           \
				     .d_un.d_ptr = offsetof(struct empty##WIDTH, strings)},        \
				    {.d_tag = DT_SYMTAB,                                           \
				     .d_un.d_ptr = offsetof(struct empty##WIDTH, symbol)},         \
				    {.d_tag = DT_STRSZ, .d_un.d_val = sizeof(made.strings)},       \
				    {.d_tag = DT_SYMENT, .d_un.d_val = sizeof(made.symbol)}},      \
			.hash = {1, 1},                                                            \
		};                                                                                 \
                                                                                                   \
		memcpy(made.head.e_ident, ELFMAG, SELFMAG);                                        \
		made.head.e_ident[EI_CLASS] = ELFCLASS##WIDTH;                                     \
		made.head.e_ident[EI_DATA] = ELFDATA2LSB;                                          \
		made.head.e_ident[EI_VERSION] = EV_CURRENT;                                        \
		return made;                                                                       \
	}

EMPTY_LIBRARY(32)
EMPTY_LIBRARY(64)

/* Other users go through it: a program may become one of them. */
static bool make_folder(const char *path)
{
	if (mkdir(path, 0755) != 0)
		return errno == EEXIST;
	return chmod(path, 0755) == 0;
}

/* A loader may be reading the one that is there: a new one takes its place whole. */
static bool write_library(const char *path, const void *bytes, size_t size_bytes)
{
	char fresh[PATH_MAX];
	bool done;
	int fd;

	if (snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid()) >= (int)sizeof(fresh))
		return false;
	/* That of a run with the same number that was killed. */
	(void)unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return false;
	done = write(fd, bytes, size_bytes) == (ssize_t)size_bytes && fchmod(fd, 0755) == 0;
	done = close(fd) == 0 && done && rename(fresh, path) == 0;
	if (!done)
		(void)unlink(fresh);
	return done;
}

static bool make_ours(const char *folder, const char *platform)
{
	struct empty64 library = make64(OUR_MACHINE);
	char path[PATH_MAX], target[64];

	snprintf(path, sizeof(path), "%s/platform/%s", folder, platform);
	if (!make_folder(path))
		return false;
	for (size_t i = 0; i < LIBRARIES; i++) {
		snprintf(path, sizeof(path), "%s/platform/%s/%s", folder, platform, libraries[i]);
		snprintf(target, sizeof(target), "../../%s", libraries[i]);
		if (symlink(target, path) != 0 && errno != EEXIST)
			return false;
	}
	snprintf(path, sizeof(path), "%s/platform/%s/%s", folder, platform, probe);
	return write_library(path, &library, sizeof(library));
}

static bool make_narrow(const char *folder, const char *platform)
{
	struct empty32 library = make32(NARROW_MACHINE);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/platform/%s", folder, platform);
	if (!make_folder(path))
		return false;
	for (size_t i = 0; i < LIBRARIES; i++) {
		snprintf(path, sizeof(path), "%s/platform/%s/%s", folder, platform, libraries[i]);
		if (!write_library(path, &library, sizeof(library)))
			return false;
	}
	return true;
}

bool st_platforms_make(const char *folder)
{
	char path[PATH_MAX];
	bool done;

	if (strlen(folder) > PATH_MAX - 128) {
		errno = ENAMETOOLONG;
		return false;
	}
	snprintf(path, sizeof(path), "%s/not-libasan.so", folder);
	done = make_folder(folder) && make_folder(path);
	snprintf(path, sizeof(path), "%s/platform", folder);
	done = done && make_folder(path);
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours) && done; i++)
		done = make_ours(folder, ours[i]);
	for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow) && done; i++)
		done = make_narrow(folder, narrow[i]);
	return done;
}
