/* SPDX-License-Identifier: Apache-2.0
 *
 * Readable names of symbols: C++ and Rust demangled, symbol versions removed.
 */
#ifndef ST_RESOLVE_DEMANGLE_H
#define ST_RESOLVE_DEMANGLE_H

#include "resolve/names.h"

struct st_demangled {
	struct st_text name;	/* without parameters */
	struct st_text full;	/* with them */
	struct st_text mangled; /* as the symbol table has it, without its version */
};

/* Texts are kept in names. */
struct st_demangled st_demangle(struct st_names *names, const char *symbol);

#endif
