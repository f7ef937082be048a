/* SPDX-License-Identifier: Apache-2.0
 *
 * strata version: one line on standard output.
 */
#include <stdio.h>

#include "cli/commands.h"

int st_cmd_version(const struct st_args *args)
{
	(void)args;
	printf("strata %s\n", ST_VERSION);
	return ST_EXIT_OK;
}
