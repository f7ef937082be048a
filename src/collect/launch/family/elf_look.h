/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks whether the dynamic loader would load our library into a program file.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_ELF_LOOK_H
#define ST_COLLECT_LAUNCH_FAMILY_ELF_LOOK_H

#include <stdbool.h>
#include <stddef.h>

enum st_elf_kind {
	ST_ELF_NATIVE = 1,  /* dynamic, our class, glibc's loader */
	ST_ELF_STATIC,	    /* no loader at all */
	ST_ELF_OTHER_LIBC,  /* another loader: ours would stop it from starting */
	ST_ELF_OTHER_CLASS, /* 32 bits, or another processor */
	ST_ELF_SCRIPT,	    /* #! */
	ST_ELF_UNKNOWN,
};

enum st_elf_kind st_elf_look(const char *path);
/* The same for what really runs: follows "#!" lines to the interpreter. */
enum st_elf_kind st_elf_look_through(const char *path);
/* Whether its sanitizer ends it when our preload comes before it; ITT still finds us. */
bool st_elf_is_sanitized(const char *path);
/* Whether it runs other programs' code itself (base/rt/elf_engine.h): valgrind, qemu … */
bool st_elf_is_engine(const char *path);
/* Whether the Go linker made it. */
bool st_elf_is_go(const char *path);
/* Whether the kernel would run it with raised rights, for a user with these ids. */
bool st_elf_raises_rights(const char *path, unsigned int uid, unsigned int gid);

#endif
