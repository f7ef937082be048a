// SPDX-License-Identifier: Apache-2.0
//
// Reading what programs hand over by type and pointer.
#include "analyze/datasets/itt_values.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "store/events.h"

static const struct {
	const char *name;
	unsigned int bytes;
} types[ST_VALUE_TYPES] = {
	[ST_VALUE_UNKNOWN] = {"unknown", 0}, [ST_VALUE_U64] = {"u64", 8},
	[ST_VALUE_S64] = {"s64", 8},	     [ST_VALUE_U32] = {"u32", 4},
	[ST_VALUE_S32] = {"s32", 4},	     [ST_VALUE_U16] = {"u16", 2},
	[ST_VALUE_S16] = {"s16", 2},	     [ST_VALUE_FLOAT] = {"float", 4},
	[ST_VALUE_DOUBLE] = {"double", 8},
};

const char *st_value_type_name(uint32_t type)
{
	return types[type < ST_VALUE_TYPES ? type : ST_VALUE_UNKNOWN].name;
}

unsigned int st_value_bytes(uint32_t type)
{
	return type < ST_VALUE_TYPES ? types[type].bytes : 0;
}

static bool is_floating(uint32_t type)
{
	return type == ST_VALUE_FLOAT || type == ST_VALUE_DOUBLE;
}

double st_value_number(uint32_t type, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float narrow;
	double wide;

	if (type == ST_VALUE_FLOAT) {
		memcpy(&narrow, &low, sizeof(narrow));
		return (double)narrow;
	}
	if (type == ST_VALUE_DOUBLE) {
		memcpy(&wide, &bits, sizeof(wide));
		return wide;
	}
	bits = st_value_integer(type, bits);
	return type == ST_VALUE_S64 || type == ST_VALUE_S32 || type == ST_VALUE_S16
		       ? (double)(int64_t)bits
		       : (double)bits;
}

uint64_t st_value_integer(uint32_t type, uint64_t bits)
{
	double number;

	switch (type) {
	case ST_VALUE_U32:
		return (uint32_t)bits;
	case ST_VALUE_S32:
		return (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
	case ST_VALUE_U16:
		return (uint16_t)bits;
	case ST_VALUE_S16:
		return (uint64_t)(int64_t)(int16_t)(uint16_t)bits;
	case ST_VALUE_FLOAT:
	case ST_VALUE_DOUBLE:
		number = st_value_number(type, bits);
		if (!(number > -9e18 && number < 9e18))
			return 0;
		return (uint64_t)(int64_t)number;
	default:
		return bits;
	}
}

size_t st_values_count(uint32_t type, struct st_text data)
{
	unsigned int bytes = st_value_bytes(type);

	return bytes ? data.size_bytes / bytes : 0;
}

static uint64_t bits_at(uint32_t type, struct st_text data, size_t index)
{
	unsigned int bytes = st_value_bytes(type);
	uint64_t bits = 0;

	memcpy(&bits, data.bytes + index * bytes, bytes);
	return bits;
}

double st_values_at(uint32_t type, struct st_text data, size_t index)
{
	return st_value_number(type, bits_at(type, data, index));
}

static void write_hex(struct st_buf *out, struct st_text data)
{
	for (size_t i = 0; i < data.size_bytes; i++)
		st_buf_printf(out, "%02x", (unsigned int)(uint8_t)data.bytes[i]);
}

static void write_one(struct st_json *json, uint32_t type, uint64_t bits)
{
	if (is_floating(type))
		st_json_double(json, st_value_number(type, bits));
	else if (type == ST_VALUE_U64)
		st_json_u64(json, bits);
	else
		st_json_i64(json, (int64_t)st_value_integer(type, bits));
}

void st_values_write(struct st_buf *out, uint32_t type, struct st_text data)
{
	size_t count = st_values_count(type, data);
	struct st_json json;

	if (!count || data.size_bytes % st_value_bytes(type)) {
		write_hex(out, data);
		return;
	}
	st_json_init(&json, out);
	if (count > 1)
		st_json_array_begin(&json);
	for (size_t i = 0; i < count; i++)
		write_one(&json, type, bits_at(type, data, i));
	if (count > 1)
		st_json_array_end(&json);
}

struct st_text st_itt_id_text(const struct st_itt_id *id, struct st_arena *arena)
{
	char *text;

	if (!id->d[0] && !id->d[1] && !id->d[2])
		return (struct st_text){"", 0};
	text = st_arena_printf(arena, "%" PRIu64 ":%" PRIu64 ":%" PRIu64, id->d[0], id->d[1],
			       id->d[2]);
	return (struct st_text){text ? text : "", text ? strlen(text) : 0};
}

const char *st_scope_name(uint32_t scope)
{
	static const char *const names[] = {"unknown", "global", "process",
					    "thread",  "task",	 "marker"};

	return names[scope < sizeof(names) / sizeof(names[0]) ? scope : 0];
}

const char *st_relation_name(uint32_t relation)
{
	static const char *const names[] = {
		"unknown",	   "dependent_on", "sibling_of",   "parent_of",
		"continuation_of", "child_of",	   "continued_by", "predecessor_to",
	};

	return names[relation < sizeof(names) / sizeof(names[0]) ? relation : 0];
}

const char *st_context_name(uint32_t type)
{
	static const char *const names[] = {
		"unknown",	    "name",	    "name",	 "device",
		"device",	    "units",	    "units",	 "pci_address",
		"pci_address",	    "tid",	    "max_value", "is_bandwidth",
		"is_latency",	    "is_occupancy", "on_thread", "is_absolute",
		"cpu_instructions", "cpu_cycles",
	};

	return names[type < sizeof(names) / sizeof(names[0]) ? type : 0];
}
