// SPDX-License-Identifier: Apache-2.0
//
// The build id of a mapped file, out of its notes. The file is the target's: anything may be in it, and
// it may be another one by now.
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/drain/drain_maps.h"
#include "unwind/elf_view.h"

enum { PATH_BYTES = 4096 + 32, HEADERS_MAX = 64, NOTES_BYTES = 4096 };

static bool read_at(int fd, void *out, size_t size_bytes, uint64_t offset)
{
	return offset <= INT64_MAX &&
	       pread(fd, out, size_bytes, (off_t)offset) == (ssize_t)size_bytes;
}

static size_t read_build_id(int fd, uint8_t *id)
{
	Elf64_Ehdr head;
	uint8_t notes[NOTES_BYTES];
	size_t found = 0;

	if (!read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
	    head.e_phnum > HEADERS_MAX)
		return 0;
	for (uint32_t i = 0; i < head.e_phnum && !found; i++) {
		Elf64_Phdr part;
		size_t size;

		if (!read_at(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)))
			return 0;
		size = part.p_filesz < NOTES_BYTES ? (size_t)part.p_filesz : NOTES_BYTES;
		if (part.p_type == PT_NOTE && read_at(fd, notes, size, part.p_offset))
			found = st_elf_notes_build_id(notes, size, id, ST_BUILD_ID_MAX);
	}
	return found;
}

int st_code_maps_open(pid_t pid, const char *path, uint64_t inode)
{
	char full[PATH_BYTES];
	struct stat about;
	int fd;

	if (snprintf(full, sizeof(full), "/proc/%d/root%s", (int)pid, path) >= (int)sizeof(full))
		return -1;
	/* Not blocking: a pipe may lie there by now. */
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) /* the process is gone, or its root cannot be seen */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && (uint64_t)about.st_ino == inode)
		return fd;
	close(fd);
	return -1;
}

void st_code_maps_file_id(int fd, struct st_build_id *id)
{
	id->size_bytes = read_build_id(fd, id->bytes);
}
