/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of loaded libraries (GOT) hold the addresses of functions that were found by name. Where the loader has finished
 * with them and made them read-only, they are made writable for the moment of the change. Only what the library's own
 * relocations name is touched.
 */
#include "collect/inproc/torch/torch_got.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "base/rt/syscall.h"

enum { PAGE_BYTES = 4096 };

#if defined(__x86_64__)
enum { SLOT_RELOCATION = R_X86_64_JUMP_SLOT, DATA_RELOCATION = R_X86_64_GLOB_DAT };
#else
enum { SLOT_RELOCATION = R_AARCH64_JUMP_SLOT, DATA_RELOCATION = R_AARCH64_GLOB_DAT };
#endif

struct search {
	const struct st_got_change *change;
	uint32_t found;
};

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * lazy, *others;
	size_t lazy_bytes, others_bytes;
	size_t relative; /* at the beginning of the others: they name no symbol */
	const uint32_t *hashes;
	uint32_t imported; /* the symbol's place among those of other libraries; 0: it is its own */
	uintptr_t base, relro_start, relro_end;
};

static void read_dynamic(struct tables *tables, const ElfW(Dyn) * at)
{
	for (; at->d_tag != DT_NULL; at++) {
		/* glibc has made addresses of them. */
		uintptr_t value = at->d_un.d_ptr;

		if (at->d_tag == DT_SYMTAB)
			tables->symbols = (const ElfW(Sym) *)value;
		else if (at->d_tag == DT_STRTAB)
			tables->names = (const char *)value;
		else if (at->d_tag == DT_JMPREL)
			tables->lazy = (const ElfW(Rela) *)value;
		else if (at->d_tag == DT_PLTRELSZ)
			tables->lazy_bytes = value;
		else if (at->d_tag == DT_RELA)
			tables->others = (const ElfW(Rela) *)value;
		else if (at->d_tag == DT_RELASZ)
			tables->others_bytes = value;
		else if (at->d_tag == DT_RELACOUNT)
			tables->relative = value;
		else if (at->d_tag == DT_GNU_HASH)
			tables->hashes = (const uint32_t *)value;
	}
}

/* Names of a large library lie on tens of thousands of pages. The table of hashes has only what the library defines, and
 * begins behind all that it does not. */
static void find_imported(struct tables *tables, const char *name)
{
	uint32_t defined = tables->hashes ? tables->hashes[1] : 0;

	for (uint32_t i = 1; i < defined; i++)
		if (!strcmp(tables->names + tables->symbols[i].st_name, name)) {
			tables->imported = i;
			return;
		}
}

static bool set_slot(const struct tables *tables, void **slot, void *to)
{
	uintptr_t at = (uintptr_t)slot, page = at & ~(uintptr_t)(PAGE_BYTES - 1);
	bool locked = at >= tables->relro_start && at < tables->relro_end;

	if (locked && st_syscall(SYS_mprotect, page, PAGE_BYTES, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
	if (locked)
		st_syscall(SYS_mprotect, page, PAGE_BYTES, PROT_READ);
	return true;
}

static void look_through(struct search *search, const struct tables *tables,
			 const ElfW(Rela) * relocations, size_t bytes)
{
	const struct st_got_change *change = search->change;

	for (size_t i = 0; relocations && i < bytes / sizeof(*relocations); i++) {
		const ElfW(Rela) *one = &relocations[i];
		uint64_t type = ELF64_R_TYPE(one->r_info), index = ELF64_R_SYM(one->r_info);
		void **slot = (void **)(tables->base + one->r_offset), *now;

		if ((type != SLOT_RELOCATION && type != DATA_RELOCATION) ||
		    (tables->imported && index != tables->imported) ||
		    strcmp(tables->names + tables->symbols[index].st_name, change->symbol) != 0)
			continue;
		now = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (now == change->to ||
		    ((!change->from || now == change->from) && set_slot(tables, slot, change->to)))
			search->found++;
	}
}

static int visit(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct search *search = closure;
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct tables tables = {.base = info->dlpi_addr};
	size_t relative_bytes;

	(void)size;
	if (!name || strncmp(name + 1, search->change->prefix, strlen(search->change->prefix)) != 0)
		return 0;
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_DYNAMIC)
			read_dynamic(&tables, (const ElfW(Dyn) *)(tables.base + part->p_vaddr));
		if (part->p_type == PT_GNU_RELRO) {
			tables.relro_start = tables.base + part->p_vaddr;
			tables.relro_end = tables.relro_start + part->p_memsz;
		}
	}
	if (!tables.symbols || !tables.names)
		return 0;
	find_imported(&tables, search->change->symbol);
	relative_bytes = tables.relative * sizeof(*tables.others);
	look_through(search, &tables, tables.lazy, tables.lazy_bytes);
	if (relative_bytes < tables.others_bytes)
		look_through(search, &tables, tables.others + tables.relative,
			     tables.others_bytes - relative_bytes);
	return 0;
}

uint32_t st_got_change(const struct st_got_change *change)
{
	struct search search = {.change = change};

	dl_iterate_phdr(visit, &search);
	return search.found;
}
