/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a program insists on a library of its own being the first that is loaded. The run-time of the
 * address sanitizer does: it ends the program when a preload comes before it. The compiler names it as
 * the program's first needed library, so only that one is looked at. System calls and a little stack
 * only, because the collector asks between vfork and exec.
 */
#ifndef ST_BASE_RT_ELF_FIRST_H
#define ST_BASE_RT_ELF_FIRST_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/rt/syscall.h"

enum { ST_ELF_DYNAMIC_MAX = 64, ST_ELF_NAME_BYTES = 64, ST_ELF_HEADERS_MAX = 64 };

/* Of a library's path or name, `length` bytes long. */
static inline bool st_elf_name_is_first(const char *name, size_t length)
{
	static const char *const runtimes[] = {"libasan.so", "libclang_rt.asan"};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		size_t want = strlen(runtimes[i]);

		for (size_t at = 0; at + want <= length; at++)
			if (!memcmp(name + at, runtimes[i], want))
				return true;
	}
	return false;
}

/* The first program header of this type that holds this address (0: any). */
static inline bool st_elf_header(int fd, const Elf64_Ehdr *head, uint32_t type, uint64_t address,
				 Elf64_Phdr *out)
{
	for (uint64_t i = 0; i < head->e_phnum && i < ST_ELF_HEADERS_MAX; i++) {
		uint64_t at = head->e_phoff + i * sizeof(*out);

		if (st_syscall(SYS_pread64, fd, out, sizeof(*out), at) != (long)sizeof(*out))
			return false;
		if (out->p_type == type && (!address || (address >= out->p_vaddr &&
							 address - out->p_vaddr < out->p_filesz)))
			return true;
	}
	return false;
}

/* Where the names are, and which of them is needed first; false when nothing is needed. */
static inline bool st_elf_first_needed(int fd, uint64_t offset, uint64_t *strings, uint64_t *name)
{
	Elf64_Dyn table[ST_ELF_DYNAMIC_MAX] = {{0}};
	long got = st_syscall(SYS_pread64, fd, table, sizeof(table), offset);
	bool needed = false;

	*strings = 0;
	for (long i = 0; i < got / (long)sizeof(*table) && table[i].d_tag != DT_NULL; i++) {
		if (table[i].d_tag == DT_STRTAB)
			*strings = table[i].d_un.d_ptr;
		if (table[i].d_tag == DT_NEEDED && !needed) {
			*name = table[i].d_un.d_val;
			needed = true;
		}
	}
	return needed && *strings;
}

/* `head` is that of a 64-bit file of our machine. */
static inline bool st_elf_wants_to_be_first(int fd, const Elf64_Ehdr *head)
{
	char text[ST_ELF_NAME_BYTES] = {0};
	uint64_t strings, name = 0;
	Elf64_Phdr segment = {0};
	long got;

	if (head->e_phentsize != sizeof(segment) ||
	    !st_elf_header(fd, head, PT_DYNAMIC, 0, &segment) ||
	    !st_elf_first_needed(fd, segment.p_offset, &strings, &name) ||
	    !st_elf_header(fd, head, PT_LOAD, strings, &segment))
		return false;
	got = st_syscall(SYS_pread64, fd, text, sizeof(text),
			 segment.p_offset + (strings - segment.p_vaddr) + name);
	return got > 0 && st_elf_name_is_first(text, strnlen(text, (size_t)got));
}

#endif
