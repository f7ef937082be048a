// SPDX-License-Identifier: Apache-2.0
//
// Linked -static: no loader runs, so no preload can enter. Says so from its own auxiliary vector.
#include <stdio.h>
#include <sys/auxv.h>

int main(void)
{
	/* A dynamic program has an interpreter, and the kernel gives its load address in AT_BASE. */
	printf("static child, interpreter at %lu\n", getauxval(AT_BASE));
	return 7;
}
