// SPDX-License-Identifier: Apache-2.0
//
// Reads just enough of a program file: identification, machine, and the name of its loader.
#include "collect/launch/family/elf_look.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/rt/elf_engine.h"
#include "base/rt/elf_first.h"
#include "base/rt/elf_text.h"

#if defined(__x86_64__)
static const uint16_t our_machine = EM_X86_64;
#else
static const uint16_t our_machine = EM_AARCH64;
#endif

enum { INTERPRETER_MAX = 256, SCRIPT_LEVELS_MAX = 4, NOTES_MAX = 1024 };

/* Waits for nothing, whatever the path names. */
static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static enum st_elf_kind look_at_loader(int fd, const Elf64_Ehdr *head)
{
	char name[INTERPRETER_MAX];
	Elf64_Phdr header;
	ssize_t n;

	if (head->e_phentsize != sizeof(header))
		return ST_ELF_UNKNOWN;
	if (!st_elf_header(fd, head, PT_INTERP, 0, &header))
		return ST_ELF_STATIC;
	if (header.p_filesz == 0 || header.p_filesz > sizeof(name))
		return ST_ELF_UNKNOWN;
	n = pread(fd, name, header.p_filesz, (off_t)header.p_offset);
	if (n != (ssize_t)header.p_filesz)
		return ST_ELF_UNKNOWN;
	name[n - 1] = '\0';
	return strstr(name, "/ld-linux") ? ST_ELF_NATIVE : ST_ELF_OTHER_LIBC;
}

static enum st_elf_kind look_at(int fd)
{
	Elf64_Ehdr head = {0};
	ssize_t n = pread(fd, &head, sizeof(head), 0);

	if (n >= 2 && memcmp(head.e_ident, "#!", 2) == 0)
		return ST_ELF_SCRIPT;
	if (n < EI_NIDENT + 4 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return ST_ELF_UNKNOWN;
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != our_machine)
		return ST_ELF_OTHER_CLASS;
	return n == (ssize_t)sizeof(head) ? look_at_loader(fd, &head) : ST_ELF_UNKNOWN;
}

enum st_elf_kind st_elf_look(const char *path)
{
	int fd = open_file(path);
	enum st_elf_kind kind;

	if (fd < 0)
		return ST_ELF_UNKNOWN;
	kind = look_at(fd);
	close(fd);
	return kind;
}

/* The interpreter of a script into name; false when there is none to read. */
static bool script_interpreter(const char *path, char name[INTERPRETER_MAX])
{
	int fd = open_file(path);
	char line[INTERPRETER_MAX];
	size_t begin;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 2)
		return false;
	line[n] = '\0';
	begin = 2 + strspn(line + 2, " \t");
	line[begin + strcspn(line + begin, " \t\n")] = '\0';
	memcpy(name, line + begin, strlen(line + begin) + 1);
	return name[0] != '\0';
}

enum st_elf_kind st_elf_look_through(const char *path)
{
	char name[INTERPRETER_MAX];
	enum st_elf_kind kind = st_elf_look(path);

	for (int i = 0; kind == ST_ELF_SCRIPT && i < SCRIPT_LEVELS_MAX; i++) {
		if (!script_interpreter(i == 0 ? path : name, name))
			return ST_ELF_UNKNOWN;
		kind = st_elf_look(name);
	}
	return kind;
}

/* Asks about the header of a 64-bit file; false of any other. */
static bool ask(const char *path, bool (*question)(int fd, const Elf64_Ehdr *head))
{
	int fd = open_file(path);
	Elf64_Ehdr head;
	bool is;

	if (fd < 0)
		return false;
	is = pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	     memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	     question(fd, &head);
	close(fd);
	return is;
}

bool st_elf_is_sanitized(const char *path)
{
	return ask(path, st_elf_wants_to_be_first);
}

static bool is_engine(int fd, const Elf64_Ehdr *head)
{
	(void)head;
	return st_engine_is(fd);
}

bool st_elf_is_engine(const char *path)
{
	return ask(path, is_engine);
}

static bool has_go_note(int fd, const Elf64_Ehdr *head)
{
	char notes[NOTES_MAX];
	Elf64_Phdr segment;

	for (uint64_t i = 0; i < head->e_phnum && i < ST_ELF_HEADERS_MAX; i++) {
		off_t at = (off_t)(head->e_phoff + i * sizeof(segment));
		ssize_t n;

		if (head->e_phentsize != sizeof(segment) ||
		    pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			return false;
		if (segment.p_type != PT_NOTE)
			continue;
		n = pread(fd, notes, segment.p_filesz < NOTES_MAX ? segment.p_filesz : NOTES_MAX,
			  (off_t)segment.p_offset);
		if (n > 0 && st_elf_notes_are_go(notes, (uint64_t)n))
			return true;
	}
	return false;
}

bool st_elf_is_go(const char *path)
{
	return ask(path, has_go_note);
}

bool st_elf_raises_rights(const char *path, unsigned int uid, unsigned int gid)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != uid)
		return true;
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != gid)
		return true;
	return uid != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}
