/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads parts of an ELF file, or of one that lies in memory (vdso). The file is the target's and may change or
 * shrink at any time: everything is read by pread, nothing is mapped.
 */
#ifndef ST_UNWIND_ELF_VIEW_H
#define ST_UNWIND_ELF_VIEW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ST_ELF_VIEW_HEADERS_MAX = 64, ST_ELF_VIEW_BUILD_ID_MAX = 32 };

struct st_elf_view {
	int fd;		       /* -1: memory */
	const uint8_t *memory; /* borrowed */
	uint64_t size_bytes;
	uint16_t machine;
	uint64_t section_offset;
	uint32_t section_count;
	uint32_t header_count;
	Elf64_Phdr headers[ST_ELF_VIEW_HEADERS_MAX];
	uint32_t build_id_bytes; /* 0: none */
	uint8_t build_id[ST_ELF_VIEW_BUILD_ID_MAX];
};

/* A piece of the file in memory of its own; data is NULL when there is none. */
struct st_elf_part {
	uint8_t *data;
	uint64_t address; /* ELF virtual address, 0 for parts without */
	size_t size_bytes;
};

enum st_status st_elf_view_open(struct st_elf_view *view, const char *path, struct st_error *err);
enum st_status st_elf_view_open_memory(struct st_elf_view *view, const void *memory,
				       size_t size_bytes, struct st_error *err);
void st_elf_view_close(struct st_elf_view *view);

/* The build id among notes, as they stand in a file; 0: there is none, or no room for it. */
size_t st_elf_notes_build_id(const uint8_t *notes, size_t size_bytes, uint8_t *id, size_t room);

bool st_elf_view_read(const struct st_elf_view *view, uint64_t offset, void *out,
		      size_t size_bytes);
/* The program header of this type; NULL: none. */
const Elf64_Phdr *st_elf_view_header(const struct st_elf_view *view, uint32_t type);
/* How many bytes of the file lie at an address, and where. */
bool st_elf_view_locate(const struct st_elf_view *view, uint64_t address, uint64_t *offset,
			uint64_t *size_bytes);
/* Reads file bytes into part->data (malloc). False: not in the file, or no memory. */
bool st_elf_view_load(const struct st_elf_view *view, uint64_t offset, size_t size_bytes,
		      struct st_elf_part *part);
void st_elf_part_fini(struct st_elf_part *part);
/* The section header with this type (and address, when not 0). */
bool st_elf_view_section(const struct st_elf_view *view, uint32_t type, uint64_t address,
			 Elf64_Shdr *out);

#endif
