/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders of CPython's line tables and strings. Tables are walked from their beginning like CPython
 * itself does it, through a small window, so that no table needs memory of ours.
 */
#include "collect/inproc/python/python_table.h"

#include <string.h>

#include "base/rt/syscall.h"

enum { WINDOW_BYTES = 256, POINTER_MIN = 4096 };
#define POINTER_MAX (1ull << 56)

struct window {
	uint64_t next, left;
	uint32_t at, filled;
	bool careful, broken;
	uint8_t bytes[WINDOW_BYTES];
};

bool st_python_read(void *to, uint64_t from, size_t size_bytes, bool careful)
{
	struct {
		void *base;
		size_t length;
	} local = {to, size_bytes}, remote = {(void *)(uintptr_t)from, size_bytes};

	if (from < POINTER_MIN || from >= POINTER_MAX)
		return false;
	if (careful)
		return st_syscall(SYS_process_vm_readv, st_syscall(SYS_getpid, 0), &local, 1,
				  &remote, 1, 0) == (long)size_bytes;
	memcpy(to, (const void *)(uintptr_t)from, size_bytes);
	return true;
}

static bool more(struct window *window)
{
	uint32_t size = WINDOW_BYTES;

	if (window->at < window->filled)
		return true;
	if (window->broken || !window->left)
		return false;
	if (window->left < size)
		size = (uint32_t)window->left;
	if (!st_python_read(window->bytes, window->next, size, window->careful)) {
		window->broken = true;
		return false;
	}
	window->next += size;
	window->left -= size;
	window->at = 0;
	window->filled = size;
	return true;
}

/* 0 behind the end; the callers' loops ask more() before each entry, and a table cut inside one is
 * broken. */
static uint32_t byte(struct window *window)
{
	if (!more(window)) {
		window->broken = true;
		return 0;
	}
	return window->bytes[window->at++];
}

static int64_t line_of_deltas(struct window *window, int64_t line, int64_t offset)
{
	int64_t end = 0;

	while (more(window)) {
		end += byte(window);
		if (end > offset)
			break;
		line += (int8_t)byte(window);
	}
	return line;
}

static int64_t line_of_ranges(struct window *window, int64_t line, int64_t offset)
{
	int64_t end = 0;

	while (more(window)) {
		int8_t step;

		end += byte(window);
		step = (int8_t)byte(window);
		if (step != INT8_MIN)
			line += step;
		if (end > offset)
			return step == INT8_MIN ? 0 : line;
	}
	return 0;
}

/* Six bits a byte, lowest first; bit 6: another one follows. */
static uint32_t varint(struct window *window)
{
	uint32_t value = 0, part = 64;

	for (unsigned int shift = 0; part & 64 && shift < 32; shift += 6) {
		part = byte(window);
		value |= (part & 63) << shift;
	}
	return value;
}

static int64_t signed_varint(struct window *window)
{
	uint32_t value = varint(window);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* The head byte has its top bit set: kind in bits 3-6, instructions - 1 in bits 0-2. */
static int64_t line_of_locations(struct window *window, int64_t line, int64_t offset)
{
	int64_t end = 0;

	while (more(window)) {
		uint32_t head = byte(window), kind = head >> 3 & 15;
		uint32_t skip = kind < 10 ? 1 : kind < 13 ? 2 : 0;

		if (!(head & 128)) {
			window->broken = true;
			return 0;
		}
		end += ((head & 7) + 1) * 2;
		if (kind >= 10 && kind < 13)
			line += kind - 10;
		else if (kind == 13 || kind == 14)
			line += signed_varint(window);
		if (end > offset)
			return kind == 15 ? 0 : line;
		while (skip--)
			byte(window);
		for (int i = 0; kind == 14 && i < 3; i++)
			varint(window);
	}
	return 0;
}

uint32_t st_python_line_at(enum st_python_lines format, const struct st_python_span *table,
			   int32_t first_line, int64_t offset)
{
	struct window window = {
		.next = table->address, .left = table->size_bytes, .careful = table->careful};
	int64_t line = first_line;

	if (offset >= 0 && format == ST_LINES_DELTAS)
		line = line_of_deltas(&window, line, offset);
	else if (offset >= 0 && format == ST_LINES_RANGES)
		line = line_of_ranges(&window, line, offset);
	else if (offset >= 0)
		line = line_of_locations(&window, line, offset);
	return window.broken || line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
}

static uint32_t put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code >= 0xDC80 && code <= 0xDCFF) { /* a byte that was no character */
		to[0] = (char)(code & 255);
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xC0 | code >> 6);
		to[1] = (char)(0x80 | (code & 63));
		return 2;
	}
	if ((code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF)
		code = 0xFFFD;
	if (code < 0x10000) {
		to[0] = (char)(0xE0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 63));
		to[2] = (char)(0x80 | (code & 63));
		return 3;
	}
	to[0] = (char)(0xF0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 63));
	to[2] = (char)(0x80 | (code >> 6 & 63));
	to[3] = (char)(0x80 | (code & 63));
	return 4;
}

static bool encode(struct window *window, uint32_t kind, char *text, size_t capacity,
		   uint32_t *length)
{
	uint32_t used = 0;

	while (more(window)) {
		uint32_t code = 0;

		for (uint32_t i = 0; i < kind; i++)
			code |= byte(window) << 8 * i;
		if (window->broken || used + 4 > capacity)
			return false;
		used += put_utf8(text + used, code);
	}
	*length = used;
	return !window->broken;
}

bool st_python_text(const struct st_python_strings *layout, const struct st_python_span *object,
		    char *text, size_t capacity, uint32_t *length)
{
	struct window window = {.careful = object->careful};
	uint32_t state, kind;
	uint64_t characters;
	bool compact, ascii;

	if (!st_python_read(&characters, object->address + layout->length, sizeof(characters),
			    object->careful) ||
	    !st_python_read(&state, object->address + layout->state, sizeof(state),
			    object->careful))
		return false;
	kind = state >> 2 & 7;
	compact = state >> 5 & 1;
	ascii = state >> 6 & 1;
	if (!compact || (kind != 1 && kind != 2 && kind != 4) || characters > capacity)
		return false;
	if (ascii) {
		*length = (uint32_t)characters;
		return st_python_read(text, object->address + layout->ascii_data, characters,
				      object->careful);
	}
	window.next = object->address + layout->data;
	window.left = characters * kind;
	return encode(&window, kind, text, capacity, length);
}
