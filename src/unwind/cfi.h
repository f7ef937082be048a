/* SPDX-License-Identifier: Apache-2.0
 *
 * Call frame information of an .eh_frame section: which rule holds from which address on. Anything may be in the
 * bytes; what cannot be read ends the function it belongs to, what cannot be expressed as a rule becomes
 * ST_CFA_UNKNOWN.
 */
#ifndef ST_UNWIND_CFI_H
#define ST_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/elf_view.h"
#include "unwind/rt/arch.h"
#include "unwind/rt/table.h"

enum { ST_CFI_CIE_CACHE = 256, ST_CFI_REMEMBER_MAX = 16 };

/* Where the machine stands while it runs through the instructions. */
struct st_cfi_state {
	struct st_unwind_rule rule;
	uint32_t cfa_register; /* DWARF number */
	bool cfa_expression;
	bool ra_undefined;
	bool ra_odd; /* the return address is neither at a CFA offset nor undefined */
};

struct st_cfi_cie {
	uint64_t offset;
	bool valid, signal;
	uint8_t pointer_encoding; /* of FDEs */
	bool has_size;		  /* augmentation data of FDEs have a length */
	uint64_t code_align;
	int64_t data_align;
	struct st_cfi_state initial;
};

struct st_cfi {
	const struct st_unwind_arch *arch;
	const uint8_t *data; /* .eh_frame */
	uint64_t address;
	size_t size_bytes;
	struct st_cfi_cie cies[ST_CFI_CIE_CACHE];
};

/* One function. */
struct st_cfi_fde {
	uint64_t start, end; /* ELF virtual addresses */
	const struct st_cfi_cie *cie;
	const uint8_t *at, *stop; /* its instructions */
};

typedef void (*st_cfi_row_fn)(void *arg, uint64_t address, const struct st_unwind_rule *rule);

/* The entry at an offset. False: a CIE, unreadable, or the end; *next: the offset behind it, 0 at the end. */
bool st_cfi_fde(struct st_cfi *cfi, uint64_t offset, struct st_cfi_fde *fde, uint64_t *next);
/* Calls row for every change of rule, the first at its start. */
void st_cfi_rows(const struct st_cfi *cfi, const struct st_cfi_fde *fde, st_cfi_row_fn row,
		 void *arg);
/* A DW_EH_PE pointer at *at, moved on; address is that of *at. False: not readable. */
bool st_cfi_pointer(const uint8_t **at, const uint8_t *stop, uint8_t encoding, uint64_t address,
		    uint64_t *value);

#endif
