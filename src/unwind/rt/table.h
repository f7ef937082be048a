/* SPDX-License-Identifier: Apache-2.0
 *
 * The compact unwind table of one ELF file, as it lies on disk and is mapped into a target. Built by
 * unwind/build.h, byte by byte in docs/format/unwind-table.md.
 *
 *   struct st_unwind_table          this header
 *   struct st_unwind_rule[]         dictionary; rule 0 is the gap
 *   u32 rows[]                      sorted: ELF virtual address - base at which a rule begins
 *   u16 rule_of_row[]               rule index | ST_ROW_FUNCTION
 *   u32 pages[]                     rows that begin before base + i * 256; page_count + 1 of them
 *
 * A table is checked once when it is mapped (st_unwind_table_check); after that every reader bounds what it
 * takes from rows, pages and rules, so that no content of the file can make it read outside.
 */
#ifndef ST_UNWIND_RT_TABLE_H
#define ST_UNWIND_RT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_UNWIND_MAGIC 0x3130574e55545253ull /* "SRTUNW01" as bytes */

enum {
	ST_UNWIND_VERSION = 1, /* of layout and builder: another one means build it again */
	ST_UNWIND_PAGE_SHIFT = 8,
	ST_UNWIND_SEGMENTS_MAX = 4,
	ST_UNWIND_BUILD_ID_MAX = 32,
	ST_UNWIND_RULES_MAX = 0x7fff,
	ST_ROW_FUNCTION = 0x8000, /* a function (an FDE, or a symbol without one) begins here */
	ST_ROW_RULE = 0x7fff,
};

/* How the caller's stack pointer (CFA) is found. */
enum st_cfa_kind {
	ST_CFA_GAP = 0,	     /* no function known here */
	ST_CFA_REGISTER = 1, /* register + cfa_offset */
	ST_CFA_DEREF = 2,    /* *(register + cfa_offset) + cfa_add */
	ST_CFA_PLT = 3,	     /* sp + cfa_offset, 8 more from byte cfa_add of each 16 on */
	ST_CFA_END = 4,	     /* the outermost frame */
	ST_CFA_SIGNAL = 5,   /* the caller was interrupted: registers are in a signal frame at sp */
	ST_CFA_UNKNOWN = 6,  /* a function whose rule cannot be expressed */
};

/* Where a register of the caller is. */
enum st_saved_kind {
	ST_SAVED_SAME = 0, /* still in the register */
	ST_SAVED_CFA = 1,  /* at CFA + offset */
	ST_SAVED_FP = 2,   /* at fp + offset, by this frame's fp */
	ST_SAVED_LOST = 3,
};

/* Registers that a walk carries; others exist only where a signal interrupted. */
enum st_walk_register {
	ST_REGISTER_SP = 0,
	ST_REGISTER_FP = 1,	    /* x86-64: rbp */
	ST_REGISTER_BX = 2,	    /* x86-64: rbx */
	ST_REGISTER_CONTEXT = 0x10, /* + word of the registers of a signal frame */
};

enum { ST_RULE_DERIVED = 1 }; /* read off the function's code, not out of its CFI */

struct st_unwind_rule {
	uint8_t cfa;	      /* enum st_cfa_kind */
	uint8_t cfa_register; /* enum st_walk_register */
	uint8_t fp, bx, ra;   /* enum st_saved_kind */
	uint8_t flags;	      /* ST_RULE_* */
	int16_t ra_offset;
	int32_t cfa_offset;
	int32_t cfa_add;
	int32_t fp_offset;
	int32_t bx_offset;
};
_Static_assert(sizeof(struct st_unwind_rule) == 24, "a rule is part of the file");

/* An executable segment: tells where a mapping of the file lies among its virtual addresses. */
struct st_unwind_segment {
	uint64_t file_offset, address, size_bytes;
};

struct st_unwind_table {
	uint64_t magic;
	uint32_t version;
	uint16_t machine; /* EM_* */
	uint16_t flags;	  /* ST_TABLE_* */
	uint64_t file_bytes;
	uint64_t base; /* ELF virtual address of offset 0 */
	uint32_t span_bytes;
	uint32_t rule_count, row_count, page_count;
	uint32_t rules_offset, rows_offset, row_rules_offset, pages_offset;
	uint32_t function_count, derived_count; /* functions; those with rules read off code */
	uint32_t segment_count, build_id_bytes;
	uint8_t build_id[ST_UNWIND_BUILD_ID_MAX];
	struct st_unwind_segment segments[ST_UNWIND_SEGMENTS_MAX];
	uint64_t content_check; /* st_unwind_checksum of all behind the header */
	uint64_t header_check;	/* st_unwind_checksum of all before this field */
};
_Static_assert(sizeof(struct st_unwind_table) == 224, "the header is part of the file");

enum {
	ST_TABLE_CFI = 1,	/* there was an .eh_frame */
	ST_TABLE_ANONYMOUS = 2, /* of code in no file, as a JIT compiler told */
};

uint64_t st_unwind_checksum(const void *data, size_t size_bytes);

/* Whether these bytes (8-byte aligned) hold a table of this version whose parts lie inside; NULL when not.
 * Looks at the header only. */
const struct st_unwind_table *st_unwind_table_check(const void *bytes, size_t size_bytes);

/* The row of an ELF virtual address; false outside the table. */
bool st_unwind_table_row(const struct st_unwind_table *table, uint64_t address, uint32_t *row);
/* Its rule; NULL outside all functions. */
const struct st_unwind_rule *st_unwind_table_rule(const struct st_unwind_table *table,
						  uint64_t address);
/* The rule of a dictionary index; NULL when there is none or it is the gap. */
const struct st_unwind_rule *st_unwind_table_rule_at(const struct st_unwind_table *table,
						     uint32_t index);

/* Start and end of the function that holds an ELF virtual address, by its FDE or symbol; false in a gap. A
 * function that was split has several parts, each by itself. Ends may include up to 15 bytes of padding. */
bool st_unwind_table_function(const struct st_unwind_table *table, uint64_t address,
			      uint64_t *start, uint64_t *end);
/* The gap that holds an address where there is no function. */
bool st_unwind_table_gap(const struct st_unwind_table *table, uint64_t address, uint64_t *start,
			 uint64_t *end);
bool st_unwind_table_is_start(const struct st_unwind_table *table, uint64_t address);

/* What to subtract from addresses of a mapping that begins at `start` and shows the file from file_offset on. */
bool st_unwind_table_bias(const struct st_unwind_table *table, uint64_t start, uint64_t file_offset,
			  uint64_t *bias);

static inline const uint32_t *st_unwind_table_rows(const struct st_unwind_table *table)
{
	return (const uint32_t *)((const char *)table + table->rows_offset);
}

static inline const uint16_t *st_unwind_table_row_rules(const struct st_unwind_table *table)
{
	return (const uint16_t *)((const char *)table + table->row_rules_offset);
}

#endif
