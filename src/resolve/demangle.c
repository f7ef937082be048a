// SPDX-License-Identifier: Apache-2.0
//
// Demangling by libiberty (resolve/demangle.h), which knows both schemes of Rust as well and, unlike the
// function of the C++ runtime, gives names without their parameters.
#include "resolve/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "resolve/demangle_again.h"

enum { SYMBOL_MAX = 16 << 10 }; /* longer ones are shown as they are: the demangler recurses */

static bool looks_mangled(const char *symbol)
{
	return strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0 ||
	       strncmp(symbol, "__Z", 3) == 0 || strncmp(symbol, "_GLOBAL__", 9) == 0;
}

/* Length of the part that is mangled: what compilers append to copies of a function (".cold", ".isra.0",
 * ".llvm.123") is put behind the name again. */
static size_t clone_at(const char *symbol)
{
	const char *dot = strchr(symbol, '.');

	return dot ? (size_t)(dot - symbol) : strlen(symbol);
}

static struct st_text undo(struct st_names *names, const char *symbol, const char *clone,
			   int options)
{
	char *text = cplus_demangle(symbol, options | DMGL_AUTO | DMGL_ANSI);
	struct st_text kept = {NULL, 0};
	size_t length, clone_length = strlen(clone);
	char *joined;

	if (!text) {
		text = st_demangle_again(symbol);
		if (text && !(options & DMGL_PARAMS))
			st_demangled_strip(text);
	}
	if (!text)
		return kept;
	length = strlen(text);
	joined = realloc(text, length + clone_length + 1);
	if (joined) {
		memcpy(joined + length, clone, clone_length + 1);
		kept = st_names_keep(names, joined, length + clone_length);
		text = joined;
	} else {
		names->failed = true;
	}
	free(text);
	return kept;
}

struct st_demangled st_demangle(struct st_names *names, const char *symbol)
{
	size_t length = strcspn(symbol, "@");
	struct st_demangled out;
	char *plain;

	out.mangled = st_names_keep(names, symbol, length ? length : strlen(symbol));
	out.name = out.full = out.mangled;
	if (length >= SYMBOL_MAX || !looks_mangled(symbol))
		return out;
	plain = strndup(symbol, length);
	if (!plain) {
		names->failed = true;
		return out;
	}
	length = clone_at(plain);
	if (plain[length]) {
		plain[length] = '\0';
		out.name = undo(names, plain, out.mangled.bytes + length, 0);
		out.full = undo(names, plain, out.mangled.bytes + length, DMGL_PARAMS);
	} else {
		out.name = undo(names, plain, "", 0);
		out.full = undo(names, plain, "", DMGL_PARAMS);
	}
	free(plain);
	if (!out.full.bytes)
		out.full = out.mangled;
	if (!out.name.bytes)
		out.name = out.full;
	return out;
}
