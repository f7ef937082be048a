/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program file says of itself in words: a text somewhere in it, or the name of a note. System calls and a
 * little stack only, because the collector asks between vfork and exec.
 */
#ifndef ST_BASE_RT_ELF_TEXT_H
#define ST_BASE_RT_ELF_TEXT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/rt/syscall.h"

enum { ST_ELF_TEXT_MAX = 32, ST_ELF_TEXT_BLOCK = 1024 };

/* Whether the text is in the first `max_bytes` of a file; it has at most ST_ELF_TEXT_MAX bytes. */
static inline bool st_elf_holds(int fd, const char *text, uint64_t max_bytes)
{
	char block[ST_ELF_TEXT_MAX + ST_ELF_TEXT_BLOCK] = {0};
	size_t length = strlen(text);
	char *fresh = block + length;

	for (uint64_t at = 0; at < max_bytes; at += ST_ELF_TEXT_BLOCK) {
		long got = st_syscall(SYS_pread64, fd, fresh, ST_ELF_TEXT_BLOCK, at);

		if (got <= 0)
			return false;
		if (memmem(block, length + (size_t)got, text, length))
			return true;
		/* It may lie across two blocks. */
		memcpy(block, block + ST_ELF_TEXT_BLOCK, length);
	}
	return false;
}

/* Whether one of these notes is the Go linker's. */
static inline bool st_elf_notes_are_go(const char *at, uint64_t left)
{
	Elf64_Nhdr note;

	while (left >= sizeof(note) + 4) {
		uint64_t size_bytes;

		memcpy(&note, at, sizeof(note));
		size_bytes = sizeof(note) + ((note.n_namesz + 3ull) & ~3ull) +
			     ((note.n_descsz + 3ull) & ~3ull);
		if (note.n_namesz == 4 && !memcmp(at + sizeof(note), "Go\0", 4))
			return true;
		if (size_bytes > left)
			break;
		at += size_bytes;
		left -= size_bytes;
	}
	return false;
}

#endif
