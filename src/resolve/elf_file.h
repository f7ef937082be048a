/* SPDX-License-Identifier: Apache-2.0
 *
 * An ELF file of this machine, open for reading: its build id, where its bytes lie in memory, its
 * sections. Mapped; nothing is read that is not asked for.
 */
#ifndef ST_RESOLVE_ELF_FILE_H
#define ST_RESOLVE_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_elf_segment { /* PT_LOAD */
	uint64_t address, offset, file_bytes, memory_bytes;
	bool executable;
};

struct st_elf_file {
	Elf *elf; /* NULL: not open */
	int fd;
	char *path;
	const uint8_t *bytes; /* of the whole file */
	size_t size_bytes;
	struct st_elf_segment *segments;
	size_t segment_count;
	const uint8_t *build_id;
	size_t build_id_bytes;
};

/* False: no such file, or none that can be read as ELF; *file is empty then. */
bool st_elf_open(struct st_elf_file *file, const char *path);
/* The same of an image in memory, such as the vdso. */
bool st_elf_open_memory(struct st_elf_file *file, const void *bytes, size_t size_bytes);
void st_elf_close(struct st_elf_file *file); /* also an empty one */

bool st_elf_has_build_id(const struct st_elf_file *file, const void *id, size_t id_bytes);
/* Virtual address of a byte of the file. */
bool st_elf_address(const struct st_elf_file *file, uint64_t file_offset, uint64_t *out);
/* The bytes from a virtual address on, as far as they are in the file; NULL: none. */
const uint8_t *st_elf_bytes_at(const struct st_elf_file *file, uint64_t address, size_t *left);
/* A section by name; NULL: there is none. */
Elf_Scn *st_elf_section(const struct st_elf_file *file, const char *name, GElf_Shdr *header);
/* The first section of a type (SHT_SYMTAB …). */
Elf_Scn *st_elf_section_of_type(const struct st_elf_file *file, uint32_t type, GElf_Shdr *header);
/* Name and checksum of .gnu_debuglink. */
const char *st_elf_debuglink(const struct st_elf_file *file, uint32_t *crc);

#endif
