// SPDX-License-Identifier: Apache-2.0
//
// Tells whether the kernel started it in secure mode (set-user-ID run by another user) and whether a
// collector got in all the same.
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(void)
{
	char line[4096];
	int entered = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		entered |= strstr(line, "libstrata_collector") != NULL;
	if (maps)
		fclose(maps);
	printf("AT_SECURE %lu uid %d euid %d entered %d\n", getauxval(AT_SECURE), (int)getuid(),
	       (int)geteuid(), entered);
	return 8;
}
