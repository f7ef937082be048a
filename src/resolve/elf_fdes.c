// SPDX-License-Identifier: Apache-2.0
//
// Bounds of functions without symbols (resolve/elf_symbols.h): the unwind tables that every library has
// say where each one begins and how long it is. The sorted table of .eh_frame_hdr is searched in place.
#include <string.h>

#include "resolve/elf_symbols.h"

/* Encodings of pointers in these tables. */
enum {
	PE_ABSOLUTE = 0x00,
	PE_U4 = 0x03,
	PE_U8 = 0x04,
	PE_S4 = 0x0b,
	PE_S8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_RELATIVE_PC = 0x10,
	PE_RELATIVE_DATA = 0x30,
	PE_RELATIVE = 0x70,
	PE_OMIT = 0xff,
};

struct header { /* .eh_frame_hdr */
	uint64_t address;
	const uint8_t *
		table; /* pairs of i32: start of the function, place of its entry; both from address */
	uint32_t count;
};

struct reader {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t read_number(struct reader *in, size_t size_bytes)
{
	uint64_t value = 0;

	if (in->failed || (size_t)(in->end - in->at) < size_bytes) {
		in->failed = true;
		return 0;
	}
	memcpy(&value, in->at, size_bytes);
	in->at += size_bytes;
	return value;
}

static uint64_t read_uleb(struct reader *in)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint64_t byte = read_number(in, 1);

		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	in->failed = true;
	return 0;
}

static uint64_t read_pointer(struct reader *in, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_U4:
		return read_number(in, 4);
	case PE_S4:
		return (uint64_t)(int64_t)(int32_t)read_number(in, 4);
	case PE_ABSOLUTE:
	case PE_U8:
	case PE_S8:
		return read_number(in, 8);
	default:
		in->failed = true;
		return 0;
	}
}

static bool find_header(const struct st_elf_file *file, struct header *out)
{
	size_t count, left;
	struct reader in;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		uint8_t start_encoding, count_encoding, table_encoding;

		if (!gelf_getphdr(file->elf, (int)i, &header) || header.p_type != PT_GNU_EH_FRAME)
			continue;
		in.at = st_elf_bytes_at(file, header.p_vaddr, &left);
		if (!in.at)
			return false;
		in.end = in.at + (left < header.p_filesz ? left : header.p_filesz);
		in.failed = false;
		if (read_number(&in, 1) != 1)
			return false;
		start_encoding = (uint8_t)read_number(&in, 1);
		count_encoding = (uint8_t)read_number(&in, 1);
		table_encoding = (uint8_t)read_number(&in, 1);
		if (count_encoding == PE_OMIT || table_encoding != (PE_RELATIVE_DATA | PE_S4))
			return false;
		read_pointer(&in, start_encoding);
		out->count = (uint32_t)read_pointer(&in, count_encoding);
		out->address = header.p_vaddr;
		out->table = in.at;
		return !in.failed && (size_t)(in.end - in.at) / 8 >= out->count;
	}
	return false;
}

/* How the addresses of an entry are written: from its common part. */
static bool pointer_encoding(const struct st_elf_file *file, uint64_t address, uint8_t *out)
{
	size_t left;
	struct reader in = {.at = st_elf_bytes_at(file, address, &left)};
	const char *letters;
	uint8_t version;

	*out = PE_ABSOLUTE;
	if (!in.at)
		return false;
	in.end = in.at + left;
	read_number(&in, 8); /* length, and 0 that marks a common part */
	version = (uint8_t)read_number(&in, 1);
	letters = (const char *)in.at;
	while (read_number(&in, 1) && !in.failed)
		;
	if (in.failed || *letters != 'z')
		return !in.failed;
	read_uleb(&in); /* alignment of code, then of data (signed, the same length) */
	read_uleb(&in);
	if (version == 1)
		read_number(&in, 1);
	else
		read_uleb(&in);
	read_uleb(&in);
	for (letters++; *letters && !in.failed; letters++) {
		if (*letters == 'R') {
			*out = (uint8_t)read_number(&in, 1);
			return !in.failed;
		}
		if (*letters == 'L')
			read_number(&in, 1);
		else if (*letters == 'P')
			read_pointer(&in, (uint8_t)read_number(&in, 1));
	}
	return !in.failed;
}

static bool read_fde(const struct st_elf_file *file, uint64_t address, uint64_t *start,
		     uint64_t *end)
{
	size_t left;
	const uint8_t *bytes = st_elf_bytes_at(file, address, &left);
	struct reader in = {.at = bytes};
	uint64_t common, value;
	uint8_t encoding;

	if (!bytes)
		return false;
	in.end = bytes + left;
	if (read_number(&in, 4) >= 0xffffffffu)
		return false;
	common = read_number(&in, 4);
	if (in.failed || !common || common > address + 4 ||
	    !pointer_encoding(file, address + 4 - common, &encoding))
		return false;
	value = read_pointer(&in, encoding);
	if ((encoding & PE_RELATIVE) == PE_RELATIVE_PC)
		value += address + 8;
	else if (encoding & PE_RELATIVE)
		return false;
	*start = value;
	*end = value + read_pointer(&in, encoding & PE_FORMAT);
	return !in.failed && *end > *start;
}

static int32_t entry(const struct header *header, uint32_t index, size_t which)
{
	int32_t value;

	memcpy(&value, header->table + 8 * (size_t)index + 4 * which, sizeof(value));
	return value;
}

static void find_one(const struct st_elf_file *file, const struct header *header,
		     struct st_bounds *bounds)
{
	uint32_t low = 0, high = header->count;
	uint64_t start, end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (header->address + (uint64_t)(int64_t)entry(header, middle, 0) <=
		    bounds->address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low ||
	    !read_fde(file, header->address + (uint64_t)(int64_t)entry(header, low - 1, 1), &start,
		      &end) ||
	    bounds->address < start || bounds->address >= end)
		return;
	bounds->start = start;
	bounds->end = end;
	bounds->kind = ST_BOUNDS_FDE;
}

void st_elf_find_fdes(const struct st_elf_file *file, struct st_bounds *bounds, size_t count)
{
	struct header header;
	bool looked = false;

	for (size_t i = 0; i < count; i++) {
		if (bounds[i].kind != ST_BOUNDS_NONE)
			continue;
		if (!looked && !find_header(file, &header))
			return;
		looked = true;
		find_one(file, &header, &bounds[i]);
	}
}
