/* SPDX-License-Identifier: Apache-2.0
 *
 * Who defines a function, and whose functions a library was bound to, without the loader's lock: that is held while constructors of
 * a library run, which may wait for threads that ask here. The list of libraries has a lock of its own, which nobody holds for long.
 */
#include <string.h>

#include "collect/waits/waits.h"

/* As DT_GNU_HASH has it. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Addresses, made by glibc, but for the kernel's own library: that is not looked through. */
static void read_dynamic(struct st_image *image, const ElfW(Dyn) * at)
{
	for (; at->d_tag != DT_NULL; at++) {
		if (at->d_tag == DT_RELASZ)
			image->slots[0].count = at->d_un.d_val / sizeof(ElfW(Rela));
		else if (at->d_tag == DT_PLTRELSZ)
			image->slots[1].count = at->d_un.d_val / sizeof(ElfW(Rela));
		else if (at->d_un.d_ptr < image->base)
			continue;
		else if (at->d_tag == DT_SYMTAB)
			image->symbols = (const ElfW(Sym) *)at->d_un.d_ptr;
		else if (at->d_tag == DT_STRTAB)
			image->names = (const char *)at->d_un.d_ptr;
		else if (at->d_tag == DT_GNU_HASH)
			image->hashes = (const uint32_t *)at->d_un.d_ptr;
		else if (at->d_tag == DT_RELA)
			image->slots[0].first = (const ElfW(Rela) *)at->d_un.d_ptr;
		else if (at->d_tag == DT_JMPREL)
			image->slots[1].first = (const ElfW(Rela) *)at->d_un.d_ptr;
	}
}

static const ElfW(Sym) * defined(const struct st_image *image, const char *name)
{
	enum { BITS = 64, HEAD_WORDS = 4 };
	uint32_t hash = hash_of(name);
	uint32_t buckets = image->hashes[0], first = image->hashes[1], words = image->hashes[2];
	const uint64_t *filter = (const uint64_t *)(const void *)(image->hashes + HEAD_WORDS);
	const uint32_t *bucket = (const uint32_t *)(const void *)(filter + words);
	uint64_t both = UINT64_C(1) << hash % BITS | UINT64_C(1)
							     << (hash >> image->hashes[3]) % BITS;
	uint32_t at;

	if (!buckets || !words || (filter[hash / BITS % words] & both) != both)
		return NULL;
	at = bucket[hash % buckets];
	if (at < first)
		return NULL;
	for (const uint32_t *chain = bucket + buckets - first;; at++) {
		const ElfW(Sym) *symbol = &image->symbols[at];

		if ((chain[at] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
		    !strcmp(image->names + symbol->st_name, name))
			return symbol;
		if (chain[at] & 1)
			return NULL;
	}
}

static bool is_in(const struct st_image *image, uintptr_t address)
{
	return address >= image->low && address < image->high;
}

struct search {
	const char *name, *beside;
	uintptr_t caller;
	struct st_copies *copies;
};

static int visit(struct dl_phdr_info *info, size_t size, void *closure)
{
	const struct search *search = closure;
	struct st_copies *copies = search->copies;
	struct st_image image = {.base = info->dlpi_addr, .low = UINTPTR_MAX};
	const ElfW(Sym) * symbol;

	(void)size;
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_DYNAMIC)
			read_dynamic(&image, (const ElfW(Dyn) *)at);
		if (part->p_type != PT_LOAD)
			continue;
		image.low = at < image.low ? at : image.low;
		image.high = at + part->p_memsz > image.high ? at + part->p_memsz : image.high;
	}
	if (!image.symbols || !image.names || is_in(&image, (uintptr_t)visit)) /* ourselves */
		return 0;
	if (is_in(&image, search->caller))
		copies->caller = image;
	symbol = image.hashes ? defined(&image, search->name) : NULL;
	if (symbol && copies->count < ST_COPIES_MAX)
		copies->copy[copies->count] = (struct st_copy){
			.low = image.low,
			.high = image.high,
			.function = (void *)(image.base + symbol->st_value),
			.is_whole = defined(&image, search->beside),
		};
	copies->count += symbol != NULL;
	return 0;
}

void st_find_copies(struct st_copies *copies, const char *name, const char *beside,
		    const void *caller)
{
	struct search search = {
		.name = name, .beside = beside, .caller = (uintptr_t)caller, .copies = copies};

	copies->count = 0;
	copies->caller = (struct st_image){0};
	dl_iterate_phdr(visit, &search);
}

const struct st_copy *st_copy_at(const struct st_copies *copies, uintptr_t address)
{
	for (uint32_t i = 0; i < copies->count && i < ST_COPIES_MAX; i++)
		if (address >= copies->copy[i].low && address < copies->copy[i].high)
			return &copies->copy[i];
	return NULL;
}

/* Of a pointer by which the library calls a function of another one: the function's name; NULL: it is something else. */
static const char *called_by(const struct st_image *image, const ElfW(Rela) * slot)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(slot->r_info);
	const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(slot->r_info)];

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
	    symbol->st_shndx != SHN_UNDEF)
		return NULL;
	return image->names + symbol->st_name;
}

/* A library does not go as long as it calls: its tables can be read without any lock. */
const struct st_copy *st_copy_bound(const struct st_copies *copies, bool (*is_wanted)(const char *),
				    bool *is_lazy)
{
	const struct st_image *caller = &copies->caller;
	const struct st_copy *bound = NULL;

	*is_lazy = false;
	for (size_t table = 0; table < ST_SLOT_TABLES; table++) {
		const ElfW(Rela) *slot = caller->slots[table].first;

		for (size_t i = 0; slot && i < caller->slots[table].count; i++, slot++) {
			const char *name = called_by(caller, slot);
			uintptr_t to;

			if (!name || !is_wanted(name))
				continue;
			to = __atomic_load_n((const uintptr_t *)(caller->base + slot->r_offset),
					     __ATOMIC_RELAXED);
			if (is_in(caller, to))
				*is_lazy = true;
			else if (!bound)
				bound = st_copy_at(copies, to);
		}
	}
	return bound;
}
