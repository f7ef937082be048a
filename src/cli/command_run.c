/* SPDX-License-Identifier: Apache-2.0
 *
 * What each command calls. Apart from the table of commands, which the library of the Python package has too:
 * it only reads results, and shall not carry what collects them.
 */
#include <stddef.h>

#include "cli/commands.h"
#include "request/options.h"

int st_command_run(unsigned int bit, const struct st_args *args)
{
	static const struct {
		unsigned int bit;
		int (*run)(const struct st_args *args);
	} commands[] = {
		{ST_IN_COLLECT, st_cmd_collect},   {ST_IN_REPORT, st_cmd_report},
		{ST_IN_COMPARE, st_cmd_report},	   {ST_IN_EXPORT, st_cmd_export},
		{ST_IN_FINALIZE, st_cmd_finalize}, {ST_IN_QUERY, st_cmd_query},
		{ST_IN_COMMAND, st_cmd_command},   {ST_IN_DOCTOR, st_cmd_doctor},
		{ST_IN_IMPORT, st_cmd_import},	   {ST_IN_HELP, st_cmd_help},
		{ST_IN_VERSION, st_cmd_version},   {ST_IN_BOTTLENECK, st_cmd_bottleneck},
		{ST_IN_TOP, st_cmd_top},	   {ST_IN_DUMP, st_cmd_dump},
		{ST_IN_SERVE, st_cmd_serve},
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].bit & bit)
			return commands[i].run(args);
	return ST_EXIT_USAGE;
}
