// SPDX-License-Identifier: Apache-2.0
//
// Reads a mapped unwind table. Nothing here trusts rows, pages or rules: see table.h.
#include "unwind/rt/table.h"

#include <string.h>

/* A builder writes a gap as one row; others may follow each other without end. */
enum { WORD = 8, GAP_ROWS_MAX = 4096 };

uint64_t st_unwind_checksum(const void *data, size_t size_bytes)
{
	const uint64_t prime = 0x9fb21c651e98df25ull;
	const uint8_t *at = data;
	uint64_t sum[4] = {1, 2, 3, 4};
	uint64_t total = size_bytes * prime;

	for (; size_bytes >= sizeof(sum); at += sizeof(sum), size_bytes -= sizeof(sum)) {
		uint64_t words[4];

		memcpy(words, at, sizeof(words));
		for (int i = 0; i < 4; i++)
			sum[i] = (sum[i] ^ words[i]) * prime;
	}
	for (; size_bytes; at++, size_bytes--)
		total = (total ^ *at) * prime + (total >> 31);
	for (int i = 0; i < 4; i++)
		total = (total ^ sum[i]) * prime + (total >> 32);
	return total ^ total >> 32;
}

/* Whether count items of size_bytes at offset end before the file does. */
static bool inside(const struct st_unwind_table *table, uint32_t offset, uint64_t count,
		   uint32_t size_bytes)
{
	return offset >= sizeof(*table) && offset % WORD == 0 && offset <= table->file_bytes &&
	       count <= (table->file_bytes - offset) / size_bytes;
}

const struct st_unwind_table *st_unwind_table_check(const void *bytes, size_t size_bytes)
{
	const struct st_unwind_table *table = bytes;

	if (!bytes || (uintptr_t)bytes % WORD || size_bytes < sizeof(*table) ||
	    table->magic != ST_UNWIND_MAGIC || table->version != ST_UNWIND_VERSION ||
	    table->file_bytes > size_bytes || table->file_bytes < sizeof(*table) ||
	    table->header_check !=
		    st_unwind_checksum(table, offsetof(struct st_unwind_table, header_check)))
		return NULL;
	if (table->segment_count > ST_UNWIND_SEGMENTS_MAX ||
	    table->build_id_bytes > ST_UNWIND_BUILD_ID_MAX || !table->rule_count ||
	    table->rule_count > ST_UNWIND_RULES_MAX ||
	    table->page_count != (table->span_bytes >> ST_UNWIND_PAGE_SHIFT) + 1)
		return NULL;
	if (!inside(table, table->rules_offset, table->rule_count, sizeof(struct st_unwind_rule)) ||
	    !inside(table, table->rows_offset, table->row_count, sizeof(uint32_t)) ||
	    !inside(table, table->row_rules_offset, table->row_count, sizeof(uint16_t)) ||
	    !inside(table, table->pages_offset, (uint64_t)table->page_count + 1, sizeof(uint32_t)))
		return NULL;
	return table;
}

bool st_unwind_table_row(const struct st_unwind_table *table, uint64_t address, uint32_t *row)
{
	const uint32_t *rows = st_unwind_table_rows(table);
	const uint32_t *pages = (const uint32_t *)((const char *)table + table->pages_offset);
	uint64_t offset = address - table->base;
	uint32_t page, low, high;

	if (address < table->base || offset >= table->span_bytes)
		return false;
	page = (uint32_t)(offset >> ST_UNWIND_PAGE_SHIFT);
	low = pages[page];
	high = pages[page + 1];
	if (high > table->row_count)
		high = table->row_count;
	/* First row of low … high that begins behind the address. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rows[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || low > table->row_count)
		return false;
	*row = low - 1;
	return true;
}

const struct st_unwind_rule *st_unwind_table_rule_at(const struct st_unwind_table *table,
						     uint32_t index)
{
	const struct st_unwind_rule *rules =
		(const struct st_unwind_rule *)((const char *)table + table->rules_offset);

	return index && index < table->rule_count ? &rules[index] : NULL;
}

const struct st_unwind_rule *st_unwind_table_rule(const struct st_unwind_table *table,
						  uint64_t address)
{
	uint32_t row;

	if (!st_unwind_table_row(table, address, &row))
		return NULL;
	return st_unwind_table_rule_at(table, st_unwind_table_row_rules(table)[row] & ST_ROW_RULE);
}

bool st_unwind_table_function(const struct st_unwind_table *table, uint64_t address,
			      uint64_t *start, uint64_t *end)
{
	const uint16_t *rules = st_unwind_table_row_rules(table);
	const uint32_t *rows = st_unwind_table_rows(table);
	uint32_t row, after;

	if (!st_unwind_table_row(table, address, &row) || !(rules[row] & ST_ROW_RULE))
		return false;
	for (after = row + 1; after < table->row_count; after++)
		if ((rules[after] & ST_ROW_FUNCTION) || !(rules[after] & ST_ROW_RULE))
			break;
	while (row && !(rules[row] & ST_ROW_FUNCTION))
		row--;
	*start = table->base + rows[row];
	*end = table->base + (after < table->row_count ? rows[after] : table->span_bytes);
	return true;
}

bool st_unwind_table_gap(const struct st_unwind_table *table, uint64_t address, uint64_t *start,
			 uint64_t *end)
{
	const uint16_t *rules = st_unwind_table_row_rules(table);
	const uint32_t *rows = st_unwind_table_rows(table);
	uint32_t row, after;

	if (!st_unwind_table_row(table, address, &row) || (rules[row] & ST_ROW_RULE))
		return false;
	for (after = row + 1; after < table->row_count && !rules[after]; after++)
		if (after - row == GAP_ROWS_MAX)
			break;
	for (int i = 0; i < GAP_ROWS_MAX && row && !rules[row]; i++) {
		if (rules[row - 1] & ST_ROW_RULE)
			break;
		row--;
	}
	*start = table->base + rows[row];
	*end = table->base + (after < table->row_count ? rows[after] : table->span_bytes);
	return true;
}

bool st_unwind_table_is_start(const struct st_unwind_table *table, uint64_t address)
{
	uint32_t row;

	return st_unwind_table_row(table, address, &row) &&
	       st_unwind_table_rows(table)[row] == address - table->base &&
	       (st_unwind_table_row_rules(table)[row] & ST_ROW_FUNCTION);
}

bool st_unwind_table_bias(const struct st_unwind_table *table, uint64_t start, uint64_t file_offset,
			  uint64_t *bias)
{
	for (uint32_t i = 0; i < table->segment_count && i < ST_UNWIND_SEGMENTS_MAX; i++) {
		const struct st_unwind_segment *segment = &table->segments[i];
		/* The kernel maps whole pages round a segment. */
		uint64_t page_offset = segment->file_offset & ~4095ull;

		if (file_offset < page_offset ||
		    file_offset >= segment->file_offset + segment->size_bytes)
			continue;
		*bias = start - (segment->address + (file_offset - segment->file_offset));
		return true;
	}
	return false;
}
