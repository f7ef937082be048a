/* SPDX-License-Identifier: Apache-2.0
 *
 * The pointer by which a loaded library calls a function of another one, or of its own through the same table.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_GOT_H
#define ST_COLLECT_INPROC_TORCH_TORCH_GOT_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct st_got_change {
	const char *prefix; /* of the file names of the libraries meant: "libc10" */
	const char *symbol;
	void *from; /* NULL: whatever is there */
	void *to;
};

/* In every library that matches. Returns how many pointers to the function there are now that lead to `to`; one that
 * leads elsewhere than to `from` is left alone. Calls under way go on where they went. */
uint32_t st_got_change(const struct st_got_change *change);

#pragma GCC visibility pop

#endif
