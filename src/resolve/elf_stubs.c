// SPDX-License-Identifier: Apache-2.0
//
// Stubs of the procedure linkage table (resolve/elf_symbols.h): each jumps through a slot that a relocation
// fills; the symbol of that relocation is what the stub calls. x86-64 only; elsewhere stubs have no name.
#include <string.h>

#include "resolve/elf_symbols.h"

enum { STUB_BYTES = 16, SMALL_STUB_BYTES = 8, JUMP_BYTES = 6 };

struct stub_section {
	uint64_t start, end, entry_bytes;
};

static size_t find_sections(const struct st_elf_file *file, struct stub_section out[3])
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
	size_t count = 0;

	for (size_t i = 0; i < 3; i++) {
		GElf_Shdr header;

		if (!st_elf_section(file, names[i], &header))
			continue;
		out[count].start = header.sh_addr;
		out[count].end = header.sh_addr + header.sh_size;
		out[count].entry_bytes = header.sh_entsize ? header.sh_entsize : STUB_BYTES;
		if (i == 2 && !header.sh_entsize)
			out[count].entry_bytes = SMALL_STUB_BYTES;
		count++;
	}
	return count;
}

/* The slot of jmp *slot(%rip), wherever that stands in the stub. */
static bool slot_of(const struct st_elf_file *file, uint64_t start, uint64_t end, uint64_t *out)
{
	size_t left;
	const uint8_t *bytes = st_elf_bytes_at(file, start, &left);

	if (left > end - start)
		left = end - start;
	for (size_t i = 0; bytes && i + JUMP_BYTES <= left; i++) {
		int32_t distance;

		if (bytes[i] != 0xff || bytes[i + 1] != 0x25)
			continue;
		memcpy(&distance, bytes + i + 2, sizeof(distance));
		*out = start + i + JUMP_BYTES + (uint64_t)(int64_t)distance;
		return true;
	}
	return false;
}

static const char *name_in(const struct st_elf_file *file, Elf_Scn *section,
			   const GElf_Shdr *header, uint64_t slot)
{
	Elf_Data *data = elf_getdata(section, NULL);
	Elf_Scn *symbols = elf_getscn(file->elf, header->sh_link);
	Elf_Data *symbol_data = symbols ? elf_getdata(symbols, NULL) : NULL;
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Shdr symbol_header;

	if (!data || !symbol_data || !gelf_getshdr(symbols, &symbol_header))
		return NULL;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		GElf_Rela relocation;
		GElf_Sym symbol;

		if (!gelf_getrela(data, (int)i, &relocation) || relocation.r_offset != slot)
			continue;
		if (!GELF_R_SYM(relocation.r_info) ||
		    !gelf_getsym(symbol_data, (int)GELF_R_SYM(relocation.r_info), &symbol))
			return NULL;
		return elf_strptr(file->elf, symbol_header.sh_link, symbol.st_name);
	}
	return NULL;
}

static const char *name_of_slot(const struct st_elf_file *file, uint64_t slot)
{
	static const char *const tables[] = {".rela.plt", ".rela.dyn"};

	for (size_t i = 0; i < 2; i++) {
		GElf_Shdr header;
		Elf_Scn *section = st_elf_section(file, tables[i], &header);
		const char *name = section ? name_in(file, section, &header, slot) : NULL;

		if (name && *name)
			return name;
	}
	return NULL;
}

static void find_stub(const struct st_elf_file *file, const struct stub_section *section,
		      struct st_bounds *bounds)
{
	uint64_t into = bounds->address - section->start, slot;
	uint64_t start = bounds->address - into % section->entry_bytes;
	const char *name;

	if (!slot_of(file, start, start + section->entry_bytes, &slot))
		return;
	name = name_of_slot(file, slot);
	if (!name)
		return;
	bounds->start = start;
	bounds->end = start + section->entry_bytes;
	bounds->name = name;
	bounds->kind = ST_BOUNDS_PLT;
}

void st_elf_find_stubs(const struct st_elf_file *file, struct st_bounds *bounds, size_t count)
{
	struct stub_section sections[3];
	size_t section_count = 0;
	GElf_Ehdr header;

	if (gelf_getehdr(file->elf, &header) && header.e_machine == EM_X86_64)
		section_count = find_sections(file, sections);
	for (size_t s = 0; s < section_count; s++)
		for (size_t i = 0; i < count; i++) {
			if (bounds[i].kind != ST_BOUNDS_NONE ||
			    bounds[i].address < sections[s].start)
				continue;
			if (bounds[i].address >= sections[s].end)
				break;
			find_stub(file, &sections[s], &bounds[i]);
		}
}
