// SPDX-License-Identifier: Apache-2.0
#include "unwind/rows.h"

#include <stdlib.h>
#include <string.h>

enum {
	BUCKETS = 1 << 16,
	RULES_START = 512,
	ROWS_START = 1024,
	GAP_MIN_BYTES = 16, /* shorter ones are padding between functions: not worth a row */
	ALIGN = 8,
};

bool st_unwind_rows_init(struct st_unwind_rows *rows, uint64_t base, size_t expected_rows)
{
	*rows = (struct st_unwind_rows){.base = base, .end = base, .rule_count = 1};
	rows->capacity = expected_rows > ROWS_START ? expected_rows : ROWS_START;
	rows->rule_capacity = RULES_START;
	rows->rows = malloc(rows->capacity * sizeof(*rows->rows));
	rows->rules_of_rows = malloc(rows->capacity * sizeof(*rows->rules_of_rows));
	rows->rules = calloc(rows->rule_capacity, sizeof(*rows->rules));
	rows->buckets = calloc(BUCKETS, sizeof(*rows->buckets));
	rows->failed = !rows->rows || !rows->rules_of_rows || !rows->rules || !rows->buckets;
	return !rows->failed;
}

void st_unwind_rows_fini(struct st_unwind_rows *rows)
{
	free(rows->rows);
	free(rows->rules_of_rows);
	free(rows->rules);
	free(rows->buckets);
	*rows = (struct st_unwind_rows){0};
}

static bool grow_rows(struct st_unwind_rows *rows)
{
	size_t capacity = rows->capacity ? rows->capacity * 2 : ROWS_START;
	uint32_t *more = realloc(rows->rows, capacity * sizeof(*more));
	uint16_t *more_rules;

	if (more)
		rows->rows = more;
	more_rules = realloc(rows->rules_of_rows, capacity * sizeof(*more_rules));
	if (more_rules)
		rows->rules_of_rows = more_rules;
	rows->failed = !more || !more_rules;
	if (!rows->failed)
		rows->capacity = capacity;
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

/* 0: no room for another rule. */
static uint16_t intern(struct st_unwind_rows *rows, const struct st_unwind_rule *rule)
{
	uint64_t words[sizeof(*rule) / sizeof(uint64_t)];
	uint32_t at;

	memcpy(words, rule, sizeof(words));
	words[0] = (words[0] ^ words[1] * 0x9fb21c651e98df25ull) * 0xd6e8feb86659fd93ull;
	words[0] = (words[0] ^ words[0] >> 32 ^ words[2]) * 0x9fb21c651e98df25ull;
	at = (uint32_t)(words[0] >> 40) & (BUCKETS - 1);
	for (; rows->buckets[at]; at = (at + 1) & (BUCKETS - 1))
		if (!memcmp(&rows->rules[rows->buckets[at]], rule, sizeof(*rule)))
			return rows->buckets[at];
	if (rows->rule_count == ST_UNWIND_RULES_MAX)
		return 0;
	if (rows->rule_count == rows->rule_capacity) {
		struct st_unwind_rule *more =
			realloc(rows->rules, rows->rule_capacity * 2 * sizeof(*more));

		if (!more) {
			rows->failed = true;
			return 0;
		}
		rows->rules = more;
		rows->rule_capacity *= 2;
	}
	rows->rules[rows->rule_count] = *rule;
	rows->buckets[at] = (uint16_t)rows->rule_count;
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
	} else if (start - rows->end >= GAP_MIN_BYTES || !rows->open) {
		append(rows, rows->end, 0);
	}
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

static size_t aligned(size_t size)
{
	return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void write_pages(const struct st_unwind_rows *rows, const struct st_unwind_table *head,
			uint32_t *pages)
{
	uint32_t row = 0;

	for (uint32_t page = 0; page <= head->page_count; page++) {
		uint64_t start = (uint64_t)page << ST_UNWIND_PAGE_SHIFT;

		while (row < rows->count && rows->rows[row] < start)
			row++;
		pages[page] = row;
	}
}

enum st_status st_unwind_rows_finish(struct st_unwind_rows *rows,
				     const struct st_unwind_table *head,
				     struct st_unwind_image *image, struct st_error *err)
{
	struct st_unwind_table table = *head;
	size_t rules_bytes, rows_bytes, row_rules_bytes, total;
	uint8_t *data;

	if (rows->end > rows->base && !rows->failed)
		append(rows, rows->end, 0);
	if (rows->failed || rows->count > UINT32_MAX - 1)
		return st_error_set(err, ST_ENOMEM, 0, "no room for an unwind table");
	table.magic = ST_UNWIND_MAGIC;
	table.version = ST_UNWIND_VERSION;
	table.base = rows->base;
	table.span_bytes = (uint32_t)(rows->end - rows->base);
	table.rule_count = rows->rule_count;
	table.row_count = (uint32_t)rows->count;
	table.page_count = (table.span_bytes >> ST_UNWIND_PAGE_SHIFT) + 1;
	table.function_count = rows->function_count;
	table.derived_count = rows->derived_count;
	rules_bytes = aligned(rows->rule_count * sizeof(*rows->rules));
	rows_bytes = aligned(rows->count * sizeof(*rows->rows));
	row_rules_bytes = aligned(rows->count * sizeof(*rows->rules_of_rows));
	total = sizeof(table) + rules_bytes + rows_bytes + row_rules_bytes +
		aligned(((size_t)table.page_count + 1) * sizeof(uint32_t));
	if (total > UINT32_MAX)
		return st_error_set(err, ST_ENOMEM, 0, "unwind table over 4 GB");
	table.file_bytes = total;
	table.rules_offset = sizeof(table);
	table.rows_offset = table.rules_offset + (uint32_t)rules_bytes;
	table.row_rules_offset = table.rows_offset + (uint32_t)rows_bytes;
	table.pages_offset = table.row_rules_offset + (uint32_t)row_rules_bytes;
	data = calloc(1, total);
	if (!data)
		return st_error_set(err, ST_ENOMEM, 0, "no memory for an unwind table");
	memcpy(data + table.rules_offset, rows->rules, rows->rule_count * sizeof(*rows->rules));
	memcpy(data + table.rows_offset, rows->rows, rows->count * sizeof(*rows->rows));
	memcpy(data + table.row_rules_offset, rows->rules_of_rows,
	       rows->count * sizeof(*rows->rules_of_rows));
	write_pages(rows, &table, (uint32_t *)(data + table.pages_offset));
	table.content_check = st_unwind_checksum(data + sizeof(table), total - sizeof(table));
	table.header_check =
		st_unwind_checksum(&table, offsetof(struct st_unwind_table, header_check));
	memcpy(data, &table, sizeof(table));
	*image = (struct st_unwind_image){(const struct st_unwind_table *)data, data, total};
	return ST_OK;
}
