// SPDX-License-Identifier: Apache-2.0
//
// Symbols through elfutils, which knows separate debug files, compressed sections and prelinked tables.
// Each file is its own session of libdwfl: sessions place their modules side by side in one made-up
// address space, and files that come later could not be added without reporting all of them again.
#include "resolve/symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct file {
	struct file *next;
	Dwfl *session;
	Dwfl_Module *module; /* NULL: could not be read; not tried again */
	char path[];
};

struct st_symbols {
	struct file *files;
};

static char *debug_path; /* NULL: elfutils' own places, which are the usual ones */

/* Only what lies on this machine: a report must not wait for a network. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	return link ? dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found)
		    : -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

struct st_symbols *st_symbols_create(void)
{
	return calloc(1, sizeof(struct st_symbols));
}

void st_symbols_destroy(struct st_symbols *symbols)
{
	struct file *next;

	if (!symbols)
		return;
	for (struct file *file = symbols->files; file; file = next) {
		next = file->next;
		if (file->session)
			dwfl_end(file->session);
		free(file);
	}
	free(symbols);
}

static struct file *open_file(struct st_symbols *symbols, const char *path)
{
	size_t size = strlen(path) + 1;
	struct file *file = calloc(1, sizeof(*file) + size);

	if (!file)
		return NULL;
	memcpy(file->path, path, size);
	file->next = symbols->files;
	symbols->files = file;
	file->session = dwfl_begin(&callbacks);
	if (!file->session)
		return file;
	dwfl_report_begin(file->session);
	file->module = dwfl_report_offline(file->session, path, path, -1);
	dwfl_report_end(file->session, NULL, NULL);
	return file;
}

static struct file *file_of(struct st_symbols *symbols, const char *path)
{
	for (struct file *file = symbols->files; file; file = file->next)
		if (strcmp(file->path, path) == 0)
			return file;
	return open_file(symbols, path);
}

/* Where the loader would put a byte of the file, before it moves the whole. */
static bool address_of(Elf *elf, uint64_t file_offset, GElf_Addr *out)
{
	size_t count;

	if (elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    file_offset >= header.p_offset &&
		    file_offset - header.p_offset < header.p_filesz) {
			*out = header.p_vaddr + (file_offset - header.p_offset);
			return true;
		}
	}
	return false;
}

bool st_symbols_find(struct st_symbols *symbols, const char *path, uint64_t file_offset,
		     struct st_symbol *out)
{
	struct file *file = file_of(symbols, path);
	GElf_Addr bias, address;
	GElf_Off offset = 0;
	GElf_Sym symbol;
	Elf *elf;

	if (!file || !file->module)
		return false;
	elf = dwfl_module_getelf(file->module, &bias);
	if (!elf || !address_of(elf, file_offset, &address))
		return false;
	out->name = dwfl_module_addrinfo(file->module, address + bias, &offset, &symbol, NULL, NULL,
					 NULL);
	out->offset = offset;
	return out->name != NULL;
}
