// SPDX-License-Identifier: Apache-2.0
//
// A few slots of fixed size: a signal handler reads them, so nothing is allocated or moved.
#include "base/leftover.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 4, NAME_BYTES = 4096 };

static struct leftover {
	volatile sig_atomic_t used;
	int folder_fd;
	char name[NAME_BYTES];
} slots[SLOTS];

int st_leftover_add(int folder_fd, const char *name)
{
	size_t length = strlen(name);

	for (int i = 0; i < SLOTS && length < NAME_BYTES; i++) {
		if (slots[i].used)
			continue;
		slots[i].folder_fd = folder_fd;
		memcpy(slots[i].name, name, length + 1);
		slots[i].used = 1;
		return i;
	}
	return -1;
}

void st_leftover_forget(int slot)
{
	if (slot >= 0)
		slots[slot].used = 0;
}

void st_leftover_remove_all(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].used)
			unlinkat(slots[i].folder_fd, slots[i].name, 0);
}
