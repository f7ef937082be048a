/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of fingerprints with open addressing. Entries are never removed, so a look-up needs no lock; the one
 * who puts a fingerprint in, or finds one that nobody could describe, describes it.
 */
#include "collect/inproc/python/python_codes.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/inproc/core/thread.h"
#include "format/sample_record.h"

enum { ENTRIES = 32 << 10, PROBES_MAX = 64, CONTENTS = 16 << 10 };
/* What a value is besides the id. */
enum { BEING_DESCRIBED = 1u << 30, DESCRIBED = 1u << 31, ID_MASK = BEING_DESCRIBED - 1 };

struct entry {
	_Atomic uint64_t fingerprint; /* 0: free */
	_Atomic uint32_t value;	      /* 0: no id yet */
	uint32_t reserved;
};

static struct table {
	_Atomic uint32_t ids;
	uint32_t reserved[15];
	struct entry entries[ENTRIES];
	/* By what is in it: code that a program makes again and again is one code. */
	struct entry contents[CONTENTS];
} * table;

bool st_python_codes_init(void)
{
	if (!table)
		table = st_map_wiped((sizeof(*table) + 4095) & ~(size_t)4095);
	return table != NULL;
}

void st_python_codes_forget(void)
{
	if (table)
		memset(table, 0, sizeof(*table));
}

static uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

uint64_t st_python_code_fingerprint(const struct st_python_code_seen *code)
{
	const struct st_python_layout *layout = &code->runtime->layout;
	uint64_t hash = mix(0x5354, code->address);

	if (load64(code->bytes + ST_PYTHON_OBJECT_TYPE) != code->runtime->code_type)
		return 0;
	hash = mix(hash, load32(code->bytes + layout->code_first_line));
	hash = mix(hash, load64(code->bytes + layout->code_file));
	hash = mix(hash, load64(code->bytes + layout->code_name));
	hash = mix(hash, load64(code->bytes + layout->code_table));
	if (layout->code_version != ST_PYTHON_ABSENT)
		hash = mix(hash, load32(code->bytes + layout->code_version));
	return hash ? hash : 1;
}

bool st_python_code_has_number(const struct st_python_runtime *runtime)
{
	return runtime->layout.code_version != ST_PYTHON_ABSENT;
}

static uint8_t content_bytes(uint64_t size_bytes)
{
	return size_bytes < ST_PYTHON_CONTENT_BYTES ? (uint8_t)size_bytes : ST_PYTHON_CONTENT_BYTES;
}

/* The end of a string; where it begins, 0: it cannot be read. */
static uint64_t find_string(const struct st_python_code_seen *code, uint16_t field,
			    struct st_python_content *content, uint32_t part)
{
	const struct st_python_layout *layout = &code->runtime->layout;
	uint64_t string = load64(code->bytes + field), size;
	uint32_t state;

	if (!st_python_read(&size, string + layout->strings.length, sizeof(size), true) ||
	    !st_python_read(&state, string + layout->strings.state, sizeof(state), true) ||
	    size >= ST_PYTHON_FILE_MAX)
		return 0;
	string += state >> 6 & 1 ? layout->strings.ascii_data : layout->strings.data;
	size *= state >> 2 & 7;
	content->size_bytes[part] = content_bytes(size);
	content->at[part] = string + size - content->size_bytes[part];
	return string;
}

/* A path from the root, or the name of a module's file. */
static bool is_file(const struct st_python_content *content, uint64_t begin)
{
	char first, end[3];

	if (!begin || content->size_bytes[0] <= sizeof(end))
		return false;
	if (st_python_read(&first, begin, 1, true) && first == '/')
		return true;
	return st_python_read(end, content->at[0] + content->size_bytes[0] - sizeof(end),
			      sizeof(end), true) &&
	       !memcmp(end, ".py", sizeof(end));
}

void st_python_content_find(const struct st_python_code_seen *code,
			    struct st_python_content *content)
{
	const struct st_python_layout *layout = &code->runtime->layout;
	uint64_t lines_at = load64(code->bytes + layout->code_table), size;

	*content = (struct st_python_content){0};
	content->of_file = is_file(content, find_string(code, layout->code_file, content, 0));
	find_string(code, layout->code_name, content, 1);
	if (st_python_read(&size, lines_at + ST_PYTHON_OBJECT_SIZE, sizeof(size), true)) {
		content->size_bytes[2] = content_bytes(size);
		content->at[2] = lines_at + ST_PYTHON_BYTES_HEAD;
	}
}

uint64_t st_python_content_mix(const struct st_python_content *content, uint64_t fingerprint,
			       const uint8_t *bytes)
{
	uint8_t copy[ST_PYTHON_CONTENT_PARTS * ST_PYTHON_CONTENT_BYTES] = {0};

	for (uint32_t i = 0; i < ST_PYTHON_CONTENT_PARTS; i++) {
		uint8_t *to = copy + i * ST_PYTHON_CONTENT_BYTES;

		if (bytes) {
			memcpy(to, bytes, content->size_bytes[i]);
			bytes += content->size_bytes[i];
		} else if (content->size_bytes[i] &&
			   !st_python_read(to, content->at[i], content->size_bytes[i], true)) {
			return fingerprint;
		}
	}
	for (uint32_t i = 0; i < sizeof(copy); i += 8)
		fingerprint = mix(fingerprint, load64(copy + i));
	return fingerprint ? fingerprint : 1;
}

/* The entry of a fingerprint among `count`, made when there is none; NULL: no place. */
static struct entry *find(struct entry *entries, uint32_t count, uint64_t fingerprint)
{
	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct entry *entry = &entries[(fingerprint + i) % count];
		uint64_t found = atomic_load_explicit(&entry->fingerprint, memory_order_relaxed);

		/* Nothing else is published by the fingerprint: the value has its own order. */
		if (!found && atomic_compare_exchange_strong_explicit(
				      &entry->fingerprint, &found, fingerprint,
				      memory_order_relaxed, memory_order_relaxed))
			return entry;
		if (found == fingerprint)
			return entry;
	}
	return NULL;
}

static uint32_t draw(void)
{
	return atomic_fetch_add_explicit(&table->ids, 1, memory_order_relaxed) + 1;
}

uint32_t st_python_code_id(uint64_t fingerprint, bool *define)
{
	struct entry *entry = table ? find(table->entries, ENTRIES, fingerprint) : NULL;
	uint32_t value, wanted;

	/* A full table costs time: the content has to be read each time a thread meets the code anew. */
	*define = table && !entry;
	if (!entry)
		return table ? draw() : 0;
	value = atomic_load_explicit(&entry->value, memory_order_relaxed);
	if (value & (DESCRIBED | BEING_DESCRIBED))
		return value & ID_MASK;
	wanted = value ? value : draw();
	/* Another thread may be faster; then the id we have drawn is never used. */
	if (!atomic_compare_exchange_strong_explicit(&entry->value, &value,
						     wanted | BEING_DESCRIBED, memory_order_relaxed,
						     memory_order_relaxed))
		return value & ID_MASK;
	*define = true;
	return wanted;
}

void st_python_code_described(uint64_t fingerprint, uint32_t id, bool done)
{
	struct entry *entry = find(table->entries, ENTRIES, fingerprint);

	if (entry)
		atomic_store_explicit(&entry->value, done ? id | DESCRIBED : id,
				      memory_order_relaxed);
}

static bool is_type(uint64_t object, uint64_t type)
{
	uint64_t found;

	return !(object & 7) &&
	       st_python_read(&found, object + ST_PYTHON_OBJECT_TYPE, sizeof(found), true) &&
	       found == type;
}

static uint32_t text(const struct st_python_code_seen *code, uint16_t field, uint8_t *to,
		     uint32_t capacity, uint32_t *flags)
{
	const struct st_python_runtime *runtime = code->runtime;
	struct st_python_span object = {.address = load64(code->bytes + field), .careful = true};
	uint32_t length = 0;

	if (!is_type(object.address, runtime->string_type) ||
	    !st_python_text(&runtime->layout.strings, &object, (char *)to, capacity, &length)) {
		*flags |= ST_PYTHON_CODE_TEXT_CUT;
		return 0;
	}
	return length;
}

static uint32_t lines(const struct st_python_code_seen *code, uint8_t *to, uint32_t *flags)
{
	uint64_t object = load64(code->bytes + code->runtime->layout.code_table), size;

	if (!is_type(object, code->runtime->bytes_type) ||
	    !st_python_read(&size, object + ST_PYTHON_OBJECT_SIZE, sizeof(size), true)) {
		*flags |= ST_PYTHON_CODE_TABLE_CUT;
		return 0;
	}
	if (size > ST_PYTHON_LINES_MAX) {
		*flags |= ST_PYTHON_CODE_TABLE_CUT;
		size = ST_PYTHON_LINES_MAX;
	}
	if (size && !st_python_read(to, object + ST_PYTHON_BYTES_HEAD, size, true)) {
		*flags |= ST_PYTHON_CODE_TABLE_CUT;
		return 0;
	}
	return (uint32_t)size;
}

/* False: no room in the ring. */
static bool write_code(const struct st_python_code_sink *sink, const uint64_t head[3],
		       const uint8_t *scratch)
{
	const uint8_t *name = scratch + ST_PYTHON_FILE_MAX;
	const struct st_part parts[] = {
		{head, 3 * sizeof(*head)},
		{scratch, (uint32_t)head[1]},
		{name, (uint32_t)(head[1] >> 32)},
		{name + ST_PYTHON_NAME_MAX, (uint32_t)head[2]},
	};

	return sink->put(sink->to, ST_EXT_PYTHON_CODE, parts, 4);
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *bytes, uint32_t size_bytes)
{
	uint8_t last[8] = {0};

	hash = mix(hash, size_bytes);
	for (; size_bytes >= 8; bytes += 8, size_bytes -= 8)
		hash = mix(hash, load64(bytes));
	memcpy(last, bytes, size_bytes);
	return mix(hash, load64(last));
}

uint32_t st_python_code_describe(const struct st_python_code_sink *sink,
				 const struct st_python_code_seen *code, uint32_t id,
				 uint8_t *scratch)
{
	const struct st_python_layout *layout = &code->runtime->layout;
	uint8_t *name = scratch + ST_PYTHON_FILE_MAX, *table_at = name + ST_PYTHON_NAME_MAX;
	uint32_t flags = 0, line = load32(code->bytes + layout->code_first_line), same = 0;
	uint32_t file_bytes = text(code, layout->code_file, scratch, ST_PYTHON_FILE_MAX, &flags);
	uint32_t name_bytes = text(code, layout->code_name, name, ST_PYTHON_NAME_MAX, &flags);
	uint32_t table_bytes = lines(code, table_at, &flags);
	uint64_t content = mix_bytes(mix(mix(0x5443, line), flags), scratch, file_bytes);
	struct entry *entry;

	content = mix_bytes(mix_bytes(content, name, name_bytes), table_at, table_bytes);
	entry = find(table->contents, CONTENTS, content ? content : 1);
	if (entry)
		same = atomic_load_explicit(&entry->value, memory_order_relaxed);
	if (same)
		return same;
	if (!write_code(sink,
			(const uint64_t[]){
				id | (uint64_t)line << 32,
				file_bytes | (uint64_t)name_bytes << 32,
				table_bytes | (uint64_t)flags << 32,
			},
			scratch))
		return 0;
	if (entry)
		atomic_store_explicit(&entry->value, id, memory_order_relaxed);
	return id;
}
