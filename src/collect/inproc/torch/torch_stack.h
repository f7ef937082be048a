/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python frames that call an operator, told in the ring before its begin whenever they are not those of the
 * operator before.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_STACK_H
#define ST_COLLECT_INPROC_TORCH_TORCH_STACK_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* From the import system, with the interpreter's lock: frames can be read from then on. */
void st_torch_stack_look(void);
/* Right before the begin of an operator of this thread, whose key this will be (torch_record.h). 0: of something that is
 * not one, in which Python may go on. */
void st_torch_stack_tell(uintptr_t key);

#pragma GCC visibility pop

#endif
