/* SPDX-License-Identifier: Apache-2.0
 *
 * Another tool that CUDA's driver is told to load.
 */
#include <stdio.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	puts("injected");
	return 1;
}
