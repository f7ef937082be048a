/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the value of one environment variable, or "(none)", and its arguments. Built twice: once with
 * the usual loader, once with a loader of another name, which the collector must take for another libc.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const char *value = getenv("LD_PRELOAD");

	printf("%s", value ? value : "(none)");
	for (int i = 1; i < argc; i++)
		printf(" [%s]", argv[i]);
	printf("\n");
	return 0;
}
