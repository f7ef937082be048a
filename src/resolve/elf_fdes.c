// SPDX-License-Identifier: Apache-2.0
//
// Bounds of functions without symbols (resolve/elf_symbols.h): the unwind tables that every library has
// say where each one begins and how long it is. The sorted table of .eh_frame_hdr is searched in place.
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "resolve/elf_symbols.h"
#include "unwind/cfi.h"

enum { HEADER_BYTES = 4, PE_RELATIVE_DATA_S4 = 0x3b, PE_OMIT = 0xff };

struct header { /* .eh_frame_hdr */
	uint64_t address;
	/* Pairs of i32: start of the function, place of its entry; both from address. */
	const uint8_t *table;
	uint64_t count;
};

static bool find_header(const struct st_elf_file *file, struct header *out, struct st_cfi *cfi)
{
	const uint8_t *bytes, *at, *stop;
	GElf_Phdr header;
	GElf_Ehdr head;
	size_t count, left, i;

	if (elf_getphdrnum(file->elf, &count) != 0 || !gelf_getehdr(file->elf, &head))
		return false;
	for (i = 0; i < count; i++)
		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_GNU_EH_FRAME)
			break;
	bytes = i < count ? st_elf_bytes_at(file, header.p_vaddr, &left) : NULL;
	if (!bytes)
		return false;
	stop = bytes + (left < header.p_filesz ? left : header.p_filesz);
	at = bytes + HEADER_BYTES;
	if (stop < at || bytes[0] != 1 || bytes[2] == PE_OMIT || bytes[3] != PE_RELATIVE_DATA_S4 ||
	    !st_cfi_pointer(&at, stop, bytes[1], header.p_vaddr + HEADER_BYTES, &cfi->address) ||
	    !st_cfi_pointer(&at, stop, bytes[2], 0, &out->count) ||
	    (uint64_t)(stop - at) / 8 < out->count)
		return false;
	out->address = header.p_vaddr;
	out->table = at;
	cfi->data = st_elf_bytes_at(file, cfi->address, &cfi->size_bytes);
	cfi->arch = st_unwind_arch_find(head.e_machine);
	return cfi->data && cfi->arch;
}

static uint64_t entry(const struct header *header, uint64_t index, size_t which)
{
	int32_t value;

	memcpy(&value, header->table + 8 * index + 4 * which, sizeof(value));
	return header->address + (uint64_t)(int64_t)value;
}

static void find_one(struct st_cfi *cfi, const struct header *header, struct st_bounds *bounds)
{
	uint64_t low, next;
	struct st_cfi_fde fde;

	low = ST_SEARCH(i, 0, header->count, entry(header, i, 0) <= bounds->address);
	if (!low || !st_cfi_fde(cfi, entry(header, low - 1, 1) - cfi->address, &fde, &next) ||
	    bounds->address < fde.start || bounds->address >= fde.end)
		return;
	bounds->start = fde.start;
	bounds->end = fde.end;
	bounds->kind = ST_BOUNDS_FDE;
}

void st_elf_find_fdes(const struct st_elf_file *file, struct st_bounds *bounds, size_t count)
{
	struct st_cfi *cfi = NULL;
	struct header header;

	for (size_t i = 0; i < count; i++) {
		if (bounds[i].kind != ST_BOUNDS_NONE)
			continue;
		if (!cfi) {
			cfi = calloc(1, sizeof(*cfi));
			if (!cfi || !find_header(file, &header, cfi))
				break;
		}
		find_one(cfi, &header, &bounds[i]);
	}
	free(cfi);
}
