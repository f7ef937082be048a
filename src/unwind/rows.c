// SPDX-License-Identifier: Apache-2.0
#include "unwind/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/big_memory.h"

enum {
	ROWS_START = 1024,
	GAP_MIN_BYTES = 16, /* shorter ones are padding between functions: not worth a row */
	ALIGN = 8,
};

bool st_unwind_rows_init(struct st_unwind_rows *rows, uint64_t base, size_t expected_rows)
{
	*rows = (struct st_unwind_rows){.base = base, .end = base, .rule_count = 1};
	rows->capacity = expected_rows > ROWS_START ? (uint32_t)expected_rows : ROWS_START;
	rows->rows = st_big_memory(rows->capacity * sizeof(*rows->rows));
	rows->rules_of_rows = st_big_memory(rows->capacity * sizeof(*rows->rules_of_rows));
	rows->failed = !rows->rows || !rows->rules_of_rows ||
		       !ST_VEC_ROOM_ZERO(rows->rules, 0, rows->rule_capacity);
	return !rows->failed;
}

void st_unwind_rows_fini(struct st_unwind_rows *rows)
{
	free(rows->rows);
	free(rows->rules_of_rows);
	free(rows->rules);
	st_map_fini(&rows->rule_of);
	free(rows->map);
	*rows = (struct st_unwind_rows){0};
}

static bool grow_rows(struct st_unwind_rows *rows)
{
	uint32_t capacity = rows->capacity; /* the same for both */

	rows->failed = !ST_VEC_ROOM(rows->rows, rows->count, capacity) ||
		       !ST_VEC_ROOM(rows->rules_of_rows, rows->count, rows->capacity);
	return !rows->failed;
}

static void append(struct st_unwind_rows *rows, uint64_t address, uint16_t rule)
{
	uint64_t offset = address - rows->base;

	if (offset > UINT32_MAX) {
		rows->failed = true;
		return;
	}
	if (rows->count == rows->capacity && !grow_rows(rows))
		return;
	rows->rows[rows->count] = (uint32_t)offset;
	rows->rules_of_rows[rows->count++] = rule;
}

/* Field by field: some were written a moment ago, and a load of several at once would wait for their stores. */
static uint64_t hash_of(const struct st_unwind_rule *rule)
{
	uint64_t kinds = rule->cfa + 8u * rule->cfa_register + 1024u * rule->fp + 4096u * rule->bx +
			 16384u * rule->ra + 65536u * rule->flags;
	uint64_t hash = kinds * 0x9fb21c651e98df25ull;

	hash ^= (uint32_t)rule->cfa_offset * 0xd6e8feb86659fd93ull;
	hash += (uint32_t)rule->fp_offset * 0xa0761d6478bd642full;
	hash ^= (uint32_t)rule->bx_offset * 0xe7037ed1a0b428dbull;
	hash += (uint32_t)rule->cfa_add * 0x8ebc6af09c88c6e3ull;
	hash += (uint16_t)rule->ra_offset * 0x589965cc75374cc3ull;
	return (hash ^ hash >> 32) * 0x9fb21c651e98df25ull;
}

static bool is_rule(const void *rules, uint32_t number, const void *rule)
{
	return !memcmp((const struct st_unwind_rule *)rules + number, rule,
		       sizeof(struct st_unwind_rule));
}

/* 0: no room for another rule. */
static uint16_t intern(struct st_unwind_rows *rows, const struct st_unwind_rule *rule)
{
	uint32_t hash = (uint32_t)(hash_of(rule) >> 32);
	uint32_t at = st_map_find(&rows->rule_of, hash, is_rule, rows->rules, rule);

	if (at != ST_ID_NONE)
		return (uint16_t)at;
	if (rows->rule_count == ST_UNWIND_RULES_MAX) {
		rows->is_full = true;
		return 0;
	}
	if (!ST_VEC_ROOM(rows->rules, rows->rule_count, rows->rule_capacity) ||
	    !st_map_add(&rows->rule_of, hash, rows->rule_count)) {
		rows->failed = true;
		return 0;
	}
	rows->rules[rows->rule_count] = *rule;
	return (uint16_t)rows->rule_count++;
}

bool st_unwind_rows_begin(struct st_unwind_rows *rows, uint64_t start, uint64_t end, bool derived)
{
	if (rows->failed || start < rows->base || end <= start ||
	    (rows->open && start <= rows->function_start))
		return false;
	if (rows->open && start < rows->end) {
		while (rows->count && rows->rows[rows->count - 1] >= start - rows->base)
			rows->count--;
	} else if (rows->open ? start - rows->end >= GAP_MIN_BYTES : !rows->is_later) {
		append(rows, rows->end, 0);
	}
	if (!rows->open)
		rows->first_start = start;
	rows->open = true;
	rows->function_start = start;
	rows->function_end = end;
	rows->end = end;
	rows->function_count++;
	rows->derived_count += derived;
	return !rows->failed;
}

void st_unwind_rows_add(struct st_unwind_rows *rows, uint64_t address,
			const struct st_unwind_rule *rule)
{
	uint16_t flag = address == rows->function_start ? ST_ROW_FUNCTION : 0;
	uint16_t index;

	if (rows->failed || address < rows->function_start || address >= rows->function_end)
		return;
	index = intern(rows, rule);
	if (rows->count && rows->rows[rows->count - 1] == address - rows->base)
		rows->count--;
	else if (!flag && rows->count &&
		 (rows->rules_of_rows[rows->count - 1] & ST_ROW_RULE) == index)
		return;
	append(rows, address, index | flag);
}

/* What st_unwind_rows_begin does where a function follows another one, for the first function of a part. */
static void close_part(struct st_unwind_rows *parts, size_t last, uint64_t start)
{
	struct st_unwind_rows *part = &parts[last];

	if (!part->open || start >= part->end) {
		if (!part->open || start - part->end >= GAP_MIN_BYTES)
			append(part, part->end, 0);
		return;
	}
	for (size_t i = last + 1; i-- > 0;) {
		while (parts[i].count && parts[i].rows[parts[i].count - 1] >= start - part->base)
			parts[i].count--;
		if (parts[i].count)
			return;
	}
}

/* The rules of a part get the numbers that they have in the whole: as they would have in the order of the rows. */
static bool map_rules(struct st_unwind_rows *whole, struct st_unwind_rows *part)
{
	part->map = calloc(part->rule_count, sizeof(*part->map));
	for (uint32_t i = 1; part->map && i < part->rule_count; i++)
		part->map[i] = intern(whole, &part->rules[i]);
	whole->function_count += part->function_count;
	whole->derived_count += part->derived_count;
	return part->map && !whole->failed;
}

bool st_unwind_rows_join(struct st_unwind_rows *parts, size_t count)
{
	struct st_unwind_rows *whole = &parts[0];
	size_t last = 0;

	for (size_t i = 1; i < count; i++) {
		if (!parts[i].open)
			continue;
		close_part(parts, last, parts[i].first_start);
		last = i;
	}
	for (size_t i = 0; i < count; i++)
		if (parts[i].failed || parts[i].is_full)
			return false;
	for (size_t i = 1; i < count; i++)
		if (!map_rules(whole, &parts[i]))
			return false;
	parts[count - 1].end = parts[last].end;
	return !whole->is_full;
}

static size_t aligned(size_t size)
{
	return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void put_rows(const struct st_unwind_rows *part, uint32_t *rows, uint16_t *rules)
{
	memcpy(rows, part->rows, part->count * sizeof(*rows));
	if (!part->map)
		memcpy(rules, part->rules_of_rows, part->count * sizeof(*rules));
	for (size_t i = 0; part->map && i < part->count; i++) {
		uint16_t rule = part->rules_of_rows[i];

		rules[i] = (uint16_t)(part->map[rule & ST_ROW_RULE] | (rule & ST_ROW_FUNCTION));
	}
}

static void write_pages(const struct st_unwind_table *table, const uint32_t *rows, uint32_t *pages)
{
	uint32_t row = 0;

	for (uint32_t page = 0; page <= table->page_count; page++) {
		uint64_t start = (uint64_t)page << ST_UNWIND_PAGE_SHIFT;

		while (row < table->row_count && rows[row] < start)
			row++;
		pages[page] = row;
	}
}

/* Where everything goes; false: it is too much. */
static bool lay_out(struct st_unwind_table *table, const struct st_unwind_rows *whole,
		    uint64_t row_count)
{
	uint64_t rules_bytes = aligned(whole->rule_count * sizeof(*whole->rules));
	uint64_t rows_bytes = aligned(row_count * sizeof(*whole->rows));
	uint64_t row_rules_bytes = aligned(row_count * sizeof(*whole->rules_of_rows));

	table->magic = ST_UNWIND_MAGIC;
	table->version = ST_UNWIND_VERSION;
	table->rule_count = whole->rule_count;
	table->row_count = (uint32_t)row_count;
	table->page_count = (table->span_bytes >> ST_UNWIND_PAGE_SHIFT) + 1;
	table->function_count = whole->function_count;
	table->derived_count = whole->derived_count;
	table->file_bytes = sizeof(*table) + rules_bytes + rows_bytes + row_rules_bytes +
			    aligned(((size_t)table->page_count + 1) * sizeof(uint32_t));
	table->rules_offset = sizeof(*table);
	table->rows_offset = table->rules_offset + (uint32_t)rules_bytes;
	table->row_rules_offset = table->rows_offset + (uint32_t)rows_bytes;
	table->pages_offset = table->row_rules_offset + (uint32_t)row_rules_bytes;
	return row_count < UINT32_MAX && table->file_bytes <= UINT32_MAX;
}

/* Everything but the header; zeros where nothing is. */
static void fill(uint8_t *data, const struct st_unwind_table *table,
		 const struct st_unwind_rows *parts, size_t count)
{
	uint32_t *rows = (uint32_t *)(data + table->rows_offset);
	uint16_t *rules = (uint16_t *)(data + table->row_rules_offset);
	size_t at = 0;

	memset(data + table->rows_offset - ALIGN, 0, ALIGN);
	memset(data + table->row_rules_offset - ALIGN, 0, ALIGN);
	memset(data + table->pages_offset - ALIGN, 0, ALIGN);
	memset(data + table->file_bytes - ALIGN, 0, ALIGN);
	memcpy(data + table->rules_offset, parts[0].rules,
	       parts[0].rule_count * sizeof(*parts[0].rules));
	for (size_t i = 0; i < count; at += parts[i++].count)
		put_rows(&parts[i], rows + at, rules + at);
	write_pages(table, rows, (uint32_t *)(data + table->pages_offset));
}

enum st_status st_unwind_rows_finish(struct st_unwind_rows *parts, size_t count,
				     const struct st_unwind_table *head,
				     struct st_unwind_image *image, struct st_error *err)
{
	struct st_unwind_rows *last = &parts[count - 1];
	struct st_unwind_table table = *head;
	uint64_t row_count = 0;
	uint8_t *data;

	if (last->end > last->base && !last->failed)
		append(last, last->end, 0);
	for (size_t i = 0; i < count; i++)
		row_count += parts[i].count;
	table.base = last->base;
	table.span_bytes = (uint32_t)(last->end - last->base);
	if (parts[0].failed || last->failed)
		return st_error_set(err, ST_ENOMEM, 0, "no room for an unwind table");
	if (!lay_out(&table, &parts[0], row_count))
		return st_error_set(err, ST_ENOMEM, 0, "unwind table over 4 GB");
	data = st_big_memory(table.file_bytes);
	if (!data)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for an unwind table");
	fill(data, &table, parts, count);
	table.content_check =
		st_unwind_checksum(data + sizeof(table), table.file_bytes - sizeof(table));
	table.header_check =
		st_unwind_checksum(&table, offsetof(struct st_unwind_table, header_check));
	memcpy(data, &table, sizeof(table));
	*image = (struct st_unwind_image){(const struct st_unwind_table *)data, data,
					  table.file_bytes};
	return ST_OK;
}
