// SPDX-License-Identifier: Apache-2.0
#include "unwind/elf_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/big_memory.h"

enum { NOTES_MAX_BYTES = 8192, NOTE_ALIGN = 4, SECTIONS_MAX = 65535 };

bool st_elf_view_read(const struct st_elf_view *view, uint64_t offset, void *out, size_t size_bytes)
{
	uint8_t *at = out;

	if (offset > view->size_bytes || size_bytes > view->size_bytes - offset)
		return false;
	if (view->fd < 0) {
		memcpy(out, view->memory + offset, size_bytes);
		return true;
	}
	while (size_bytes) {
		ssize_t got = pread(view->fd, at, size_bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		size_bytes -= (size_t)got;
	}
	return true;
}

const Elf64_Phdr *st_elf_view_header(const struct st_elf_view *view, uint32_t type)
{
	for (uint32_t i = 0; i < view->header_count; i++)
		if (view->headers[i].p_type == type)
			return &view->headers[i];
	return NULL;
}

bool st_elf_view_locate(const struct st_elf_view *view, uint64_t address, uint64_t *offset,
			uint64_t *size_bytes)
{
	for (uint32_t i = 0; i < view->header_count; i++) {
		const Elf64_Phdr *header = &view->headers[i];
		uint64_t skip = address - header->p_vaddr;

		if (header->p_type != PT_LOAD || address < header->p_vaddr ||
		    skip >= header->p_filesz || header->p_offset > view->size_bytes ||
		    skip >= view->size_bytes - header->p_offset)
			continue;
		*offset = header->p_offset + skip;
		*size_bytes = header->p_filesz - skip;
		if (*size_bytes > view->size_bytes - *offset)
			*size_bytes = view->size_bytes - *offset;
		return true;
	}
	return false;
}

bool st_elf_view_load(const struct st_elf_view *view, uint64_t offset, size_t size_bytes,
		      struct st_elf_part *part)
{
	*part = (struct st_elf_part){0};
	if (!size_bytes || offset > view->size_bytes || size_bytes > view->size_bytes - offset)
		return false;
	part->data = st_big_memory(size_bytes);
	if (!part->data)
		return false;
	part->size_bytes = size_bytes;
	if (st_elf_view_read(view, offset, part->data, size_bytes))
		return true;
	st_elf_part_fini(part);
	return false;
}

void st_elf_part_fini(struct st_elf_part *part)
{
	free(part->data);
	*part = (struct st_elf_part){0};
}

bool st_elf_view_section(const struct st_elf_view *view, uint32_t type, uint64_t address,
			 Elf64_Shdr *out)
{
	for (uint32_t i = 0; i < view->section_count; i++) {
		if (!st_elf_view_read(view, view->section_offset + i * sizeof(*out), out,
				      sizeof(*out)))
			return false;
		if (address ? out->sh_addr == address && out->sh_type != SHT_NOBITS &&
				      out->sh_type != SHT_NULL && out->sh_size
			    : out->sh_type == type)
			return true;
	}
	return false;
}

size_t st_elf_notes_build_id(const uint8_t *notes, size_t size_bytes, uint8_t *id, size_t room)
{
	size_t at = 0;

	while (size_bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, description, next;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		description = name + (((uint64_t)note.n_namesz + NOTE_ALIGN - 1) & ~3ull);
		next = description + (((uint64_t)note.n_descsz + NOTE_ALIGN - 1) & ~3ull);
		if (next > size_bytes)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz && note.n_descsz <= room) {
			memcpy(id, notes + description, note.n_descsz);
			return note.n_descsz;
		}
		at = (size_t)next;
	}
	return 0;
}

static void read_build_id(struct st_elf_view *view)
{
	uint8_t notes[NOTES_MAX_BYTES];

	for (uint32_t i = 0; i < view->header_count; i++) {
		const Elf64_Phdr *header = &view->headers[i];
		size_t size = header->p_filesz < sizeof(notes) ? header->p_filesz : sizeof(notes);

		if (header->p_type == PT_NOTE &&
		    st_elf_view_read(view, header->p_offset, notes, size))
			view->build_id_bytes = (uint32_t)st_elf_notes_build_id(
				notes, size, view->build_id, sizeof(view->build_id));
		if (view->build_id_bytes)
			return;
	}
}

static enum st_status read_headers(struct st_elf_view *view, const char *name, struct st_error *err)
{
	Elf64_Ehdr head;
	uint32_t count;

	if (!st_elf_view_read(view, 0, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return st_error_set(err, ST_ECORRUPT, 0, "%s is not an ELF file", name);
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return st_error_set(err, ST_EUNSUPPORTED, 0, "%s is not 64-bit little-endian",
				    name);
	view->machine = head.e_machine;
	count = head.e_phnum < ST_ELF_VIEW_HEADERS_MAX ? head.e_phnum : ST_ELF_VIEW_HEADERS_MAX;
	if (head.e_phentsize != sizeof(*view->headers) || !count ||
	    !st_elf_view_read(view, head.e_phoff, view->headers, count * sizeof(*view->headers)))
		return st_error_set(err, ST_ECORRUPT, 0, "%s has no program headers", name);
	view->header_count = count;
	if (head.e_shentsize == sizeof(Elf64_Shdr) && head.e_shoff <= view->size_bytes &&
	    head.e_shnum <= (view->size_bytes - head.e_shoff) / sizeof(Elf64_Shdr)) {
		view->section_offset = head.e_shoff;
		view->section_count = head.e_shnum;
	}
	read_build_id(view);
	return ST_OK;
}

enum st_status st_elf_view_open(struct st_elf_view *view, const char *path, struct st_error *err)
{
	struct stat about;
	enum st_status status;

	*view = (struct st_elf_view){
		.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
	if (view->fd < 0)
		return st_error_set(err, ST_EIO, errno, "%s", path);
	if (fstat(view->fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < 0)
		status = st_error_set(err, ST_EUNSUPPORTED, 0, "%s is not a regular file", path);
	else {
		view->size_bytes = (uint64_t)about.st_size;
		status = read_headers(view, path, err);
	}
	if (status)
		st_elf_view_close(view);
	return status;
}

enum st_status st_elf_view_open_memory(struct st_elf_view *view, const void *memory,
				       size_t size_bytes, struct st_error *err)
{
	*view = (struct st_elf_view){.fd = -1, .memory = memory, .size_bytes = size_bytes};
	return read_headers(view, "the image", err);
}

void st_elf_view_close(struct st_elf_view *view)
{
	if (view->fd >= 0)
		close(view->fd);
	view->fd = -1;
	view->memory = NULL;
	view->size_bytes = 0;
}
