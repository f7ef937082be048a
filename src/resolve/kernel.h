/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the kernel, if /proc/kallsyms is readable and still describes the kernel that ran.
 */
#ifndef ST_RESOLVE_KERNEL_H
#define ST_RESOLVE_KERNEL_H

#include "resolve/sites.h"

/* list: indices of the sites of module "[kernel]", in any order. is_here: recorded on this machine
 * since it was started, so that addresses mean the same. */
void st_kernel_resolve(struct st_names *names, struct st_sites *sites, const uint32_t *list,
		       uint32_t count, bool is_here);

#endif
