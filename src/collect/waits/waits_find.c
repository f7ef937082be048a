/* SPDX-License-Identifier: Apache-2.0
 *
 * Who defines a function, without the loader's lock: that is held while constructors of a library run, which may wait for
 * threads that ask here. The list of libraries has a lock of its own, which nobody holds for long.
 */
#include <link.h>
#include <string.h>

#include "collect/waits/waits.h"

struct search {
	const char *name;
	uint32_t hash;
	unsigned int count;
	void *found;
};

/* Of one library; the table of hashes has what it defines. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hashes;
};

/* As DT_GNU_HASH has it. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Addresses, made by glibc, but for the kernel's own library: that is not looked through. */
static void read_dynamic(struct tables *tables, const ElfW(Dyn) * at, uintptr_t base)
{
	for (; at->d_tag != DT_NULL; at++) {
		if (at->d_un.d_ptr < base)
			continue;
		if (at->d_tag == DT_SYMTAB)
			tables->symbols = (const ElfW(Sym) *)at->d_un.d_ptr;
		else if (at->d_tag == DT_STRTAB)
			tables->names = (const char *)at->d_un.d_ptr;
		else if (at->d_tag == DT_GNU_HASH)
			tables->hashes = (const uint32_t *)at->d_un.d_ptr;
	}
}

static const ElfW(Sym) * defined(const struct tables *tables, const char *name, uint32_t hash)
{
	enum { BITS = 64, HEAD_WORDS = 4 };
	uint32_t buckets = tables->hashes[0], first = tables->hashes[1], words = tables->hashes[2];
	const uint64_t *filter = (const uint64_t *)(const void *)(tables->hashes + HEAD_WORDS);
	const uint32_t *bucket = (const uint32_t *)(const void *)(filter + words);
	uint64_t both = UINT64_C(1) << hash % BITS | UINT64_C(1)
							     << (hash >> tables->hashes[3]) % BITS;
	uint32_t at;

	if (!buckets || !words || (filter[hash / BITS % words] & both) != both)
		return NULL;
	at = bucket[hash % buckets];
	if (at < first)
		return NULL;
	for (const uint32_t *chain = bucket + buckets - first;; at++) {
		const ElfW(Sym) *symbol = &tables->symbols[at];

		if ((chain[at] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
		    !strcmp(tables->names + symbol->st_name, name))
			return symbol;
		if (chain[at] & 1)
			return NULL;
	}
}

static int visit(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct search *search = closure;
	struct tables tables = {0};
	const ElfW(Sym) * symbol;

	(void)size;
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD &&
		    (uintptr_t)visit - info->dlpi_addr - part->p_vaddr < part->p_memsz)
			return 0; /* ourselves */
		if (part->p_type == PT_DYNAMIC)
			read_dynamic(&tables, (const ElfW(Dyn) *)(info->dlpi_addr + part->p_vaddr),
				     info->dlpi_addr);
	}
	if (!tables.symbols || !tables.names || !tables.hashes)
		return 0;
	symbol = defined(&tables, search->name, search->hash);
	if (symbol) {
		search->found = (void *)(info->dlpi_addr + symbol->st_value);
		search->count++;
	}
	return 0;
}

void *st_find_only(const char *name)
{
	struct search search = {.name = name, .hash = hash_of(name)};

	dl_iterate_phdr(visit, &search);
	return search.count == 1 ? search.found : NULL;
}
