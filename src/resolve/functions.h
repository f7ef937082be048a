/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that a program named by the address of a function get the name of that function; what threads wait for gets the name
 * of the variable, or the place in the code, that it is (resolve/objects.h).
 */
#ifndef ST_RESOLVE_FUNCTIONS_H
#define ST_RESOLVE_FUNCTIONS_H

struct st_result;

/* What cannot be found (file gone or changed, stripped) keeps its address as name. Costs nothing when there
 * are no such tasks. */
void st_resolve_functions(struct st_result *result);

#endif
