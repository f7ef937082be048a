/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of C++ functions that libiberty gives up on, by another demangler where the machine has it.
 */
#ifndef ST_RESOLVE_DEMANGLE_AGAIN_H
#define ST_RESOLVE_DEMANGLE_AGAIN_H

/* With parameters, by malloc; NULL: it cannot either, or there is none. */
char *st_demangle_again(const char *symbol);

/* Cuts parameters and the type of what is returned off a name that st_demangle_again made. */
void st_demangled_strip(char *text);

#endif
