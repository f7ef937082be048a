// SPDX-License-Identifier: Apache-2.0
//
// libiberty prints no name in which a parameter of one template stands for that of another: some 4 % of the loops of
// libtorch_cpu.so, among them those that fill tensors with random numbers. The demangler of LLVM does, and the one
// library with a C interface to it is libc++abi. It is looked for when a name first needs it: it is small, but a C++
// runtime beside another one must not be linked.
#include "resolve/demangle_again.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { SYMBOL_MAX = 4 << 10 }; /* it recurses */

typedef char *demangle_function(const char *symbol, char *buffer, size_t *size_bytes, int *status);

static demangle_function *demangle;
static once_flag looked_for = ONCE_FLAG_INIT;

static void look_for(void)
{
	void *library = dlopen("libc++abi.so.1", RTLD_NOW | RTLD_LOCAL);

	if (library)
		*(void **)&demangle = dlsym(library, "__cxa_demangle");
}

char *st_demangle_again(const char *symbol)
{
	int status = 0;

	if (strncmp(symbol, "_Z", 2) != 0 || strlen(symbol) >= SYMBOL_MAX)
		return NULL;
	call_once(&looked_for, look_for);
	return demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
}

/* The '(' of the last ')'; NULL when there is none. */
static char *parameters_of(char *text)
{
	char *at = strrchr(text, ')');
	int depth = 0;

	for (; at && at >= text; at--) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			return at;
	}
	return NULL;
}

/* Behind the type of what is returned, which only templates have: the first space outside of brackets, unless that
 * is part of the name ("operator()() const::…"). */
static const char *name_of(const char *text)
{
	int depth = 0;

	for (const char *at = text; *at; at++) {
		depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (*at == ' ' && !depth)
			return at > text && at[-1] != ')' ? at + 1 : text;
	}
	return text;
}

void st_demangled_strip(char *text)
{
	char *parameters = parameters_of(text);
	const char *name;

	if (!parameters || parameters == text)
		return;
	*parameters = '\0';
	if (parameters[-1] != '>')
		return;
	name = name_of(text);
	memmove(text, name, strlen(name) + 1);
}
