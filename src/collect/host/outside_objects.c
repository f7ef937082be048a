// SPDX-License-Identifier: Apache-2.0
//
// Objects of a CPython in another process, read as bytes: strings, dictionaries and attributes of instances, just enough to
// find the names of its threads. It runs on meanwhile: everything read may be garbage, and then nothing is found.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collect/host/outside_maps.h"
#include "collect/host/outside_python_state.h"

enum {
	DICT_KEYS = 32, /* a dictionary: its keys, and values where keys are shared */
	DICT_VALUES = 40,
	DICT_BYTES = 48,
	KEYS_BYTES = 48, /* the head of keys, at most */
	ENTRIES_MAX = 1 << 16,
	MODULE_DICT = 16,
	INSTANCE_DICT = 16, /* up to 3.10 */
	TYPE_BASIC_BYTES = 32,
	TYPE_DICT = 264,
	DESCRIPTOR_MEMBER = 40,
	MEMBER_OFFSET = 16,
	SLOTS_MAX_BYTES = 4096,
	KIND_GENERAL = 0, /* entries: hash, key, value; others: key, value */
	NAME_BYTES_MAX = 256,
	THREADS_MAX = 2048,
	BATCH = 64, /* strings that are read at once */
	HEAD_BYTES = 96,
	SHORT_HEAD_BYTES = 56, /* of a string at the very end of its memory */
};

/* The entries of a dictionary. */
struct entries {
	uint32_t count, stride; /* words of an entry */
	uint32_t key;		/* word of the key; the value is the next, unless values is set */
	uint64_t *words;
	uint64_t values; /* address of the values of an instance; 0: they stand with the keys */
};

static uint64_t read64(const struct st_outside_python *python, uint64_t address)
{
	uint64_t value = 0;

	return address && st_outside_read(python->pid, address, &value, sizeof(value)) ? value : 0;
}

static uint32_t put_utf8(char *out, uint32_t letter)
{
	if (letter < 0x80) {
		out[0] = (char)letter;
		return 1;
	}
	if (letter < 0x800) {
		out[0] = (char)(0xc0 | letter >> 6);
		out[1] = (char)(0x80 | (letter & 0x3f));
		return 2;
	}
	if (letter < 0x10000) {
		out[0] = (char)(0xe0 | letter >> 12);
		out[1] = (char)(0x80 | (letter >> 6 & 0x3f));
		out[2] = (char)(0x80 | (letter & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (letter >> 18 & 7));
	out[1] = (char)(0x80 | (letter >> 12 & 0x3f));
	out[2] = (char)(0x80 | (letter >> 6 & 0x3f));
	out[3] = (char)(0x80 | (letter & 0x3f));
	return 4;
}

uint32_t st_outside_text(const struct st_outside_python *python, uint64_t object, char *out,
			 uint32_t out_bytes)
{
	const struct st_python_strings *strings = &python->layout.strings;
	uint8_t head[HEAD_BYTES], letters[4096];
	uint32_t state, width, size = 0;
	uint64_t length;
	bool ascii;

	if (!st_outside_read(python->pid, object, head, sizeof(head)))
		return 0;
	length = st_load64(head + strings->length);
	state = st_load32(head + strings->state);
	ascii = state >> 6 & 1;
	width = state >> 2 & 7;
	if (!length || (width != 1 && width != 2 && width != 4) ||
	    length > sizeof(letters) / width ||
	    !st_outside_read(python->pid, object + (ascii ? strings->ascii_data : strings->data),
			     letters, (size_t)length * width))
		return 0;
	for (uint64_t i = 0; i < length; i++) {
		uint32_t letter = 0;

		memcpy(&letter, letters + i * width, width);
		if (!letter || (ascii && letter >= 0x80) || letter > 0x10ffff ||
		    size + 4 > out_bytes)
			return 0;
		size += put_utf8(out + size, letter);
	}
	return size;
}

static bool parse_keys(const struct st_outside_python *python, const uint8_t *head,
		       struct entries *out, uint64_t *at)
{
	uint64_t size, count;

	if (python->layout.minor <= 10) {
		size = st_load64(head + 8);
		count = st_load64(head + 32);
		*at = 40 + size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
		out->stride = 3;
	} else {
		size = head[9] < 30 ? UINT64_C(1) << head[9] : 0;
		count = st_load64(head + 24);
		*at = 32 + size;
		out->stride = head[10] == KIND_GENERAL ? 3 : 2;
	}
	out->key = out->stride - 2;
	out->count = (uint32_t)count;
	return size && size <= (uint64_t)ENTRIES_MAX * 8 && count && count <= ENTRIES_MAX;
}

/* Reads the entries of keys; false: nothing to free. */
static bool read_keys(const struct st_outside_python *python, uint64_t keys, struct entries *out)
{
	uint8_t head[KEYS_BYTES];
	uint64_t at;
	size_t size;

	*out = (struct entries){0};
	if (!keys || !st_outside_read(python->pid, keys, head, sizeof(head)) ||
	    !parse_keys(python, head, out, &at))
		return false;
	size = (size_t)out->count * out->stride * sizeof(*out->words);
	out->words = malloc(size);
	if (out->words && st_outside_read(python->pid, keys + at, out->words, size))
		return true;
	free(out->words);
	return false;
}

/* From 3.13 on an array of values has a head. */
static uint64_t values_begin(const struct st_outside_python *python, uint64_t values)
{
	return values && python->layout.minor >= 13 ? values + 8 : values;
}

static bool read_dict(const struct st_outside_python *python, uint64_t dict, struct entries *out)
{
	uint8_t bytes[DICT_BYTES];

	if (!dict || !st_outside_read(python->pid, dict, bytes, sizeof(bytes)) ||
	    !read_keys(python, st_load64(bytes + DICT_KEYS), out))
		return false;
	out->values = values_begin(python, st_load64(bytes + DICT_VALUES));
	return true;
}

/* Attributes that have no dictionary (yet): the class has the keys. */
static bool read_values(const struct st_outside_python *python, uint64_t object, uint64_t values,
			struct entries *out)
{
	uint64_t type = read64(python, object + ST_PYTHON_OBJECT_TYPE);

	if (!values || !type || !read_keys(python, read64(python, type + python->ways.keys), out))
		return false;
	out->values = values;
	return true;
}

static bool read_attributes(const struct st_outside_python *python, uint64_t object,
			    struct entries *out)
{
	uint64_t type, before[2]; /* the words four and three before the object */

	if (python->layout.minor <= 10)
		return read_dict(python, read64(python, object + INSTANCE_DICT), out);
	if (!st_outside_read(python->pid, object - 32, before, sizeof(before)))
		return false;
	if (python->layout.minor == 12 && before[1] & 1)
		return read_values(python, object, before[1] + 1, out);
	if (before[1])
		return read_dict(python, before[1], out);
	if (python->layout.minor == 11)
		return read_values(python, object, before[0], out);
	type = read64(python, object + ST_PYTHON_OBJECT_TYPE);
	return type && python->layout.minor >= 13 &&
	       read_values(python, object,
			   values_begin(python, object + read64(python, type + TYPE_BASIC_BYTES)),
			   out);
}

static uint64_t value_of(const struct st_outside_python *python, const struct entries *entries,
			 uint32_t index)
{
	if (entries->values)
		return read64(python, entries->values + index * sizeof(uint64_t));
	return entries->words[(size_t)index * entries->stride + entries->key + 1];
}

/* Whether the head of a string object begins with these letters, and is as long. */
static bool is_word(const struct st_outside_python *python, const uint8_t *head, const char *word)
{
	const struct st_python_strings *strings = &python->layout.strings;
	size_t length = strlen(word), shown = HEAD_BYTES - strings->ascii_data;

	return st_load64(head + strings->length) == length &&
	       (st_load32(head + strings->state) >> 6 & 1) &&
	       memcmp(head + strings->ascii_data, word, length < shown ? length : shown) == 0;
}

static void read_one_by_one(const struct st_outside_python *python, const struct iovec *local,
			    const struct iovec *remote, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t at = (uint64_t)(uintptr_t)remote[i].iov_base;

		if (st_outside_read(python->pid, at, local[i].iov_base, HEAD_BYTES))
			continue;
		memset(local[i].iov_base, 0, HEAD_BYTES);
		(void)st_outside_read(python->pid, at, local[i].iov_base, SHORT_HEAD_BYTES);
	}
}

/* The value of a key that is an ASCII string (of up to 48 letters); 0: none. */
static uint64_t find_value(const struct st_outside_python *python, const struct entries *entries,
			   const char *word)
{
	static uint8_t heads[BATCH][HEAD_BYTES];

	for (uint32_t from = 0; from < entries->count; from += BATCH) {
		struct iovec local[BATCH], remote[BATCH];
		uint32_t index[BATCH], count = 0;

		for (uint32_t i = from; i < entries->count && i < from + BATCH; i++) {
			uint64_t key = entries->words[(size_t)i * entries->stride + entries->key];

			if (!key)
				continue;
			index[count] = i;
			local[count] = (struct iovec){heads[count], HEAD_BYTES};
			remote[count++] = (struct iovec){(void *)(uintptr_t)key, HEAD_BYTES};
		}
		if (count && process_vm_readv(python->pid, local, count, remote, count, 0) !=
				     (ssize_t)count * HEAD_BYTES)
			read_one_by_one(python, local, remote, count);
		for (uint32_t i = 0; i < count; i++)
			if (is_word(python, heads[i], word))
				return value_of(python, entries, index[i]);
	}
	return 0;
}

static uint64_t in_dict(const struct st_outside_python *python, uint64_t dict, const char *word)
{
	struct entries entries;
	uint64_t value;

	if (!read_dict(python, dict, &entries))
		return 0;
	value = find_value(python, &entries, word);
	free(entries.words);
	return value;
}

/* An attribute of a class with __slots__, which has a description of where it stands. */
static uint64_t slot(const struct st_outside_python *python, uint64_t object, const char *word)
{
	uint64_t type = read64(python, object + ST_PYTHON_OBJECT_TYPE), member, offset;

	if (!type)
		return 0;
	member = in_dict(python, read64(python, type + TYPE_DICT), word);
	member = member ? read64(python, member + DESCRIPTOR_MEMBER) : 0;
	offset = member ? read64(python, member + MEMBER_OFFSET) : 0;
	return offset && offset < SLOTS_MAX_BYTES ? read64(python, object + offset) : 0;
}

static uint64_t attribute(const struct st_outside_python *python, uint64_t object, const char *word)
{
	struct entries entries;
	uint64_t value = 0;

	if (object && read_attributes(python, object, &entries)) {
		value = find_value(python, &entries, word);
		free(entries.words);
	}
	return value || !object ? value : slot(python, object, word);
}

/* A variable of an imported module. */
static uint64_t global(const struct st_outside_python *python, const char *module, const char *word)
{
	uint64_t interpreter = st_outside_interpreter(python), found;

	if (!interpreter)
		return 0;
	found = in_dict(python, read64(python, interpreter + python->ways.modules), module);
	return found ? in_dict(python, read64(python, found + MODULE_DICT), word) : 0;
}

struct ident {
	uint64_t ident;
	uint32_t tid;
};

struct idents {
	struct st_outside_python *python;
	struct ident list[THREADS_MAX];
	uint32_t count;
};

static bool add_ident(void *arg, uint64_t at, const uint8_t *state)
{
	struct idents *idents = arg;

	(void)at;
	idents->list[idents->count++] =
		(struct ident){st_load64(state + idents->python->ways.thread),
			       st_outside_state_tid(idents->python, state)};
	return idents->count < THREADS_MAX;
}

static uint32_t tid_of(const struct idents *idents, uint64_t ident)
{
	for (uint32_t i = 0; i < idents->count; i++)
		if (idents->list[i].ident == ident)
			return idents->list[i].tid;
	return 0;
}

/* Names that say nothing: of the thread that every program has, and of those that Python did not start. */
static bool is_plain(const char *name, uint32_t size)
{
	return (size == 10 && memcmp(name, "MainThread", 10) == 0) ||
	       (size > 6 && memcmp(name, "Dummy-", 6) == 0);
}

void st_outside_python_names(struct st_outside_python *python,
			     void (*each)(void *arg, uint32_t tid, const char *name,
					  uint32_t name_bytes),
			     void *arg)
{
	static struct idents idents;
	struct entries active;
	char name[NAME_BYTES_MAX];

	if (!python->active)
		python->active = global(python, "threading", "_active");
	if (!read_dict(python, python->active, &active))
		return;
	idents.python = python;
	idents.count = 0;
	st_outside_each_state(python, add_ident, &idents);
	/* The keys are the threads' identities, and a number like that is its own hash. */
	for (uint32_t i = 0; active.stride == 3 && i < active.count; i++) {
		uint32_t tid = tid_of(&idents, active.words[i * 3ul]), size;

		if (!tid || !active.words[i * 3ul + 2])
			continue;
		size = st_outside_text(python,
				       attribute(python, active.words[i * 3ul + 2], "_name"), name,
				       sizeof(name));
		if (size && !is_plain(name, size))
			each(arg, tid, name, size);
	}
	free(active.words);
}

/* A small number; negative: it is none. */
static int64_t number(const struct st_outside_python *python, uint64_t object)
{
	uint8_t bytes[32];
	uint64_t digits;

	if (!object || !st_outside_read(python->pid, object, bytes, sizeof(bytes)))
		return -1;
	digits = st_load64(bytes + ST_PYTHON_OBJECT_SIZE);
	if (python->layout.minor >= 12)
		digits = digits & 3 ? (digits & 3) == 1 ? 0 : 2 : digits >> 3;
	return digits > 1 ? -1 : digits ? (int64_t)st_load32(bytes + 24) : 0;
}

uint32_t st_outside_python_process_name(const struct st_outside_python *python, char *out,
					uint32_t out_bytes)
{
	uint64_t worker = global(python, "torch.utils.data._utils.worker", "_worker_info"), process;
	int64_t id = number(python, attribute(python, worker, "id"));
	uint32_t size;

	if (id >= 0) {
		snprintf(out, out_bytes, "DataLoader worker %lld", (long long)id);
		return (uint32_t)strlen(out);
	}
	process = global(python, "multiprocessing.process", "_current_process");
	size = st_outside_text(python, attribute(python, process, "_name"), out, out_bytes);
	return size == 11 && memcmp(out, "MainProcess", 11) == 0 ? 0 : size;
}
