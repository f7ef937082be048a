/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of what threads wait for, by its address: "lock (server)" of a variable of the program or of a library, "solve (grid.c:41)" of a
 * region or a barrier of OpenMP, which are known by their code. Beside it where
 * it was made, as far as the C library was asked to: "make_queue, queue.c:41".
 */
#ifndef ST_RESOLVE_OBJECTS_H
#define ST_RESOLVE_OBJECTS_H

struct st_result;

/* What is on the heap or on a stack, or cannot be found, keeps its address. Costs nothing when there are none. */
void st_resolve_objects(struct st_result *result);

#endif
