// SPDX-License-Identifier: Apache-2.0
//
// ELF files through libelf, mapped (resolve/elf_file.h).
#include "resolve/elf_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_segments(struct st_elf_file *file)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return false;
	file->segments = calloc(count + 1, sizeof(*file->segments));
	if (!file->segments)
		return false;
	for (size_t i = 0; i < count && i < 4096; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		file->segments[file->segment_count++] =
			(struct st_elf_segment){.address = header.p_vaddr,
						.offset = header.p_offset,
						.file_bytes = header.p_filesz,
						.memory_bytes = header.p_memsz,
						.executable = (header.p_flags & PF_X) != 0};
	}
	return true;
}

/* Notes are looked for in the program headers: section headers may have been stripped. */
static void find_build_id(struct st_elf_file *file)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && !file->build_id; i++) {
		GElf_Phdr header;
		GElf_Nhdr note;
		size_t at = 0, name, description;
		Elf_Data *data;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_NOTE ||
		    header.p_offset > file->size_bytes ||
		    header.p_filesz > file->size_bytes - header.p_offset)
			continue;
		data = elf_getdata_rawchunk(file->elf, (int64_t)header.p_offset, header.p_filesz,
					    header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		while (data && (at = gelf_getnote(data, at, &note, &name, &description)) > 0) {
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
			    memcmp((const char *)data->d_buf + name, "GNU", 4) != 0)
				continue;
			file->build_id = (const uint8_t *)data->d_buf + description;
			file->build_id_bytes = note.n_descsz;
			break;
		}
	}
}

static bool take(struct st_elf_file *file)
{
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !read_segments(file)) {
		st_elf_close(file);
		return false;
	}
	file->bytes = (const uint8_t *)elf_rawfile(file->elf, &file->size_bytes);
	if (!file->bytes) {
		st_elf_close(file);
		return false;
	}
	find_build_id(file);
	return true;
}

bool st_elf_open(struct st_elf_file *file, const char *path)
{
	struct stat status;

	memset(file, 0, sizeof(*file));
	elf_version(EV_CURRENT);
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return false;
	file->path = strdup(path);
	/* A named pipe or a device of that name must not be waited for. */
	if (file->path && fstat(file->fd, &status) == 0 && S_ISREG(status.st_mode))
		file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	return take(file);
}

bool st_elf_open_memory(struct st_elf_file *file, const void *bytes, size_t size_bytes)
{
	memset(file, 0, sizeof(*file));
	elf_version(EV_CURRENT);
	file->fd = -1;
	file->elf = elf_memory((char *)(uintptr_t)bytes, size_bytes);
	return take(file);
}

void st_elf_close(struct st_elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->path && file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->segments);
	memset(file, 0, sizeof(*file));
}

bool st_elf_has_build_id(const struct st_elf_file *file, const void *id, size_t id_bytes)
{
	return file->build_id && file->build_id_bytes == id_bytes &&
	       memcmp(file->build_id, id, id_bytes) == 0;
}

bool st_elf_address(const struct st_elf_file *file, uint64_t file_offset, uint64_t *out)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct st_elf_segment *segment = &file->segments[i];

		if (file_offset < segment->offset ||
		    file_offset - segment->offset >= segment->file_bytes)
			continue;
		*out = segment->address + (file_offset - segment->offset);
		return true;
	}
	return false;
}

const uint8_t *st_elf_bytes_at(const struct st_elf_file *file, uint64_t address, size_t *left)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct st_elf_segment *segment = &file->segments[i];
		uint64_t into = address - segment->address;

		if (address < segment->address || into >= segment->file_bytes ||
		    segment->offset > file->size_bytes ||
		    segment->file_bytes > file->size_bytes - segment->offset)
			continue;
		*left = segment->file_bytes - into;
		return file->bytes + segment->offset + into;
	}
	return NULL;
}

Elf_Scn *st_elf_section(const struct st_elf_file *file, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		const char *its_name;

		if (!gelf_getshdr(section, header))
			continue;
		its_name = elf_strptr(file->elf, names, header->sh_name);
		if (its_name && strcmp(its_name, name) == 0)
			return section;
	}
	return NULL;
}

Elf_Scn *st_elf_section_of_type(const struct st_elf_file *file, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section)) != NULL)
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

const char *st_elf_debuglink(const struct st_elf_file *file, uint32_t *crc)
{
	GElf_Shdr header;
	Elf_Scn *section = st_elf_section(file, ".gnu_debuglink", &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	size_t length;

	if (!data || !data->d_buf)
		return NULL;
	length = strnlen(data->d_buf, data->d_size);
	length = (length + 4) & ~(size_t)3;
	if (length + 4 > data->d_size)
		return NULL;
	memcpy(crc, (const uint8_t *)data->d_buf + length, 4);
	return data->d_buf;
}
