// SPDX-License-Identifier: Apache-2.0
//
// Finds .eh_frame by PT_GNU_EH_FRAME (never by name or order: some linkers put it before its header and give it
// a type of its own), sorts its functions and turns each into rows.
#include "unwind/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/build_parts.h"

enum {
	HDR_BYTES = 4,
	HDR_VERSION = 1,
	HDR_TABLE_ENCODING = 0x3b, /* datarel sdata4, what every linker writes */
	HDR_ENTRY_BYTES = 8,
	EH_PE_OMIT = 0xff,
	EH_FRAME_MAX_BYTES = 512 << 20,
};

/* Where the section is: the header says where it begins, a section header how long it is. */
static bool find_eh_frame(const struct st_elf_view *view, uint64_t *address, uint64_t *offset,
			  uint64_t *size_bytes)
{
	const Elf64_Phdr *header = st_elf_view_header(view, PT_GNU_EH_FRAME);
	uint8_t bytes[HDR_BYTES + sizeof(uint64_t)];
	const uint8_t *at = bytes + HDR_BYTES;
	Elf64_Shdr section;

	if (!header || !st_elf_view_read(view, header->p_offset, bytes, sizeof(bytes)) ||
	    bytes[0] != HDR_VERSION ||
	    !st_cfi_pointer(&at, bytes + sizeof(bytes), bytes[1], header->p_vaddr + HDR_BYTES,
			    address) ||
	    !st_elf_view_locate(view, *address, offset, size_bytes))
		return false;
	if (st_elf_view_section(view, 0, *address, &section) && section.sh_size < *size_bytes)
		*size_bytes = section.sh_size;
	return *size_bytes <= EH_FRAME_MAX_BYTES;
}

/* The sorted table of .eh_frame_hdr, which saves reading the section twice and sorting it. */
static bool functions_from_header(struct st_unwind_build *build)
{
	const Elf64_Phdr *header = st_elf_view_header(build->view, PT_GNU_EH_FRAME);
	struct st_elf_part part = {0};
	const uint8_t *at, *stop;
	uint64_t ignored, count = 0, last = 0;

	if (!st_elf_view_load(build->view, header->p_offset, header->p_filesz, &part))
		return false;
	at = part.data + HDR_BYTES;
	stop = part.data + part.size_bytes;
	if (part.size_bytes < HDR_BYTES || part.data[3] != HDR_TABLE_ENCODING ||
	    !st_cfi_pointer(&at, stop, part.data[1], 0, &ignored) ||
	    !st_cfi_pointer(&at, stop, part.data[2], 0, &count) || !count ||
	    count > (uint64_t)(stop - at) / HDR_ENTRY_BYTES)
		goto fail;
	build->functions = malloc(count * sizeof(*build->functions));
	if (!build->functions)
		goto fail;
	for (uint64_t i = 0; i < count; i++, at += HDR_ENTRY_BYTES) {
		int32_t start, entry;

		memcpy(&start, at, sizeof(start));
		memcpy(&entry, at + sizeof(start), sizeof(entry));
		build->functions[i].start = header->p_vaddr + (uint64_t)(int64_t)start;
		build->functions[i].offset =
			header->p_vaddr + (uint64_t)(int64_t)entry - build->eh_frame.address;
		if (build->functions[i].start < last ||
		    build->functions[i].offset >= build->eh_frame.size_bytes)
			goto fail;
		last = build->functions[i].start;
	}
	build->function_count = count;
	st_elf_part_fini(&part);
	return true;
fail:
	free(build->functions);
	build->functions = NULL;
	st_elf_part_fini(&part);
	return false;
}

static int compare_functions(const void *left, const void *right)
{
	const struct st_unwind_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool functions_from_section(struct st_unwind_build *build)
{
	uint64_t offset = 0, next;
	uint32_t capacity = 0;

	build->function_count = 0;
	while (offset < build->eh_frame.size_bytes) {
		struct st_cfi_fde fde;
		bool found = st_cfi_fde(build->cfi, offset, &fde, &next);

		if (found && !ST_VEC_PUSH(build->functions, build->function_count, capacity,
					  (struct st_unwind_function){fde.start, offset}))
			return false;
		if (!next)
			break;
		offset = next;
	}
	if (build->functions)
		qsort(build->functions, build->function_count, sizeof(*build->functions),
		      compare_functions);
	return true;
}

static bool load_cfi(struct st_unwind_build *build)
{
	uint64_t address, offset, size;

	if (!find_eh_frame(build->view, &address, &offset, &size) ||
	    !st_elf_view_load(build->view, offset, size, &build->eh_frame))
		return true; /* there is none */
	build->eh_frame.address = address;
	build->cfi = calloc(1, sizeof(*build->cfi));
	if (!build->cfi)
		return false;
	build->cfi->arch = st_unwind_arch_find(build->view->machine);
	build->cfi->data = build->eh_frame.data;
	build->cfi->address = address;
	build->cfi->size_bytes = build->eh_frame.size_bytes;
	return functions_from_header(build) || functions_from_section(build);
}

static void describe(const struct st_elf_view *view, struct st_unwind_table *head)
{
	head->machine = view->machine;
	head->build_id_bytes = view->build_id_bytes;
	memcpy(head->build_id, view->build_id, view->build_id_bytes);
	for (uint32_t i = 0; i < view->header_count; i++) {
		const Elf64_Phdr *header = &view->headers[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) ||
		    head->segment_count == ST_UNWIND_SEGMENTS_MAX)
			continue;
		head->segments[head->segment_count++] = (struct st_unwind_segment){
			header->p_offset, header->p_vaddr, header->p_filesz};
	}
}

/* The lowest executable address. */
static uint64_t base_of(const struct st_unwind_table *head)
{
	uint64_t base = UINT64_MAX;

	for (uint32_t i = 0; i < head->segment_count; i++)
		if (head->segments[i].address < base)
			base = head->segments[i].address;
	return head->segment_count ? base & ~4095ull : 0;
}

enum st_status st_unwind_build_view(struct st_unwind_image *image, const struct st_elf_view *view,
				    uint32_t flags, struct st_error *err)
{
	struct st_unwind_build build = {.view = view};
	struct st_unwind_table head = {0};
	enum st_status status = ST_OK;

	*image = (struct st_unwind_image){0};
	if (!st_unwind_arch_find(view->machine))
		return st_error_set(err, ST_EUNSUPPORTED, 0, "no unwind rules for machine %u",
				    (unsigned int)view->machine);
	describe(view, &head);
	if (!(flags & ST_BUILD_NO_CFI) && !load_cfi(&build))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for an unwind table");
	if (!status && !(flags & ST_BUILD_NO_DERIVED)) {
		size_t count = build.function_count;

		st_unwind_symbols_init(&build.symbols, count ? build.functions[0].start : 0,
				       count ? build.functions[count - 1].start : 0);
		for (size_t i = 0; i < count; i++)
			st_unwind_symbols_covered(&build.symbols, build.functions[i].start);
		st_unwind_symbols_load(&build.symbols, view);
	}
	build.base = base_of(&head);
	if (!status && !st_unwind_parts_make(&build, flags))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for an unwind table");
	if (!status) {
		head.flags = build.cfi ? ST_TABLE_CFI : 0;
		status = st_unwind_rows_finish(build.rows, build.part_count, &head, image, err);
	}
	st_unwind_parts_fini(&build);
	st_unwind_symbols_fini(&build.symbols);
	free(build.functions);
	free(build.cfi);
	st_elf_part_fini(&build.eh_frame);
	return status;
}

enum st_status st_unwind_build_file(struct st_unwind_image *image, const char *path, uint32_t flags,
				    struct st_error *err)
{
	struct st_elf_view view;
	enum st_status status;

	*image = (struct st_unwind_image){0};
	status = st_elf_view_open(&view, path, err);
	if (!status) {
		status = st_unwind_build_view(image, &view, flags, err);
		st_elf_view_close(&view);
	}
	return status;
}

enum st_status st_unwind_build_memory(struct st_unwind_image *image, const void *memory,
				      size_t size_bytes, struct st_error *err)
{
	struct st_elf_view view;
	enum st_status status;

	*image = (struct st_unwind_image){0};
	status = st_elf_view_open_memory(&view, memory, size_bytes, err);
	return status ? status : st_unwind_build_view(image, &view, 0, err);
}

void st_unwind_image_fini(struct st_unwind_image *image)
{
	free(image->data);
	*image = (struct st_unwind_image){0};
}
