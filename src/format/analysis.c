/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of analyses and the look-up in it.
 */
#include "format/analysis.h"

#include <stddef.h>
#include <string.h>

enum {
	/* What costs programs without the framework nothing, and those with it little. */
	USUAL = ST_RECORDS_TASKS | ST_RECORDS_OPERATORS | ST_RECORDS_SHAPES,
};

#define LATER "is not available in this version"
#define COLLECTOR                                                                                  \
	{                                                                                          \
		"libc", "collector", "memfd", "sockets"                                            \
	}

/* clang-format off */
const struct st_analysis st_analyses[] = {
	{"tasks", "ta", NULL, ST_RECORDS_TASKS, USUAL | ST_RECORDS_DEVICES, COLLECTOR},
	{"hotspots", "hs", NULL, ST_RECORDS_SAMPLES, USUAL | ST_RECORDS_SAMPLES, COLLECTOR},
	{"operators", "op", NULL, ST_RECORDS_OPERATORS, USUAL | ST_RECORDS_MEMORY | ST_RECORDS_MODULES | ST_RECORDS_DEVICES, COLLECTOR},
	{"threading", "tr", NULL, ST_RECORDS_WAITS, USUAL | ST_RECORDS_SAMPLES | ST_RECORDS_WAITS, COLLECTOR},
	{.name = "uarch-exploration", .refusal = LATER},
	{.name = "hpc-performance", .refusal = LATER},
	{.name = "memory-access", .refusal = LATER},
	{.name = "memory-consumption", .refusal = LATER},
	{.name = "anomaly-detection", .refusal = LATER},
	{.name = "gpu-hotspots", .refusal = LATER},
	{.name = "gpu-offload", .refusal = LATER},
	{.name = "performance-snapshot", .refusal = LATER},
	{.name = "system-overview", .refusal = LATER},
	{.name = "io", .refusal = LATER},
	{.name = NULL},
};
/* clang-format on */

const struct st_analysis *st_analysis_find(const char *name)
{
	for (const struct st_analysis *analysis = st_analyses; analysis->name; analysis++)
		if (strcmp(analysis->name, name) == 0)
			return analysis;
	return NULL;
}

bool st_analysis_is_for(const char *name, uint32_t purpose)
{
	const struct st_analysis *analysis = st_analysis_find(name);

	return analysis && (analysis->purpose & purpose);
}

bool st_analysis_needs(const struct st_analysis *analysis, const char *check)
{
	for (int i = 0; i < ST_ANALYSIS_NEEDS_MAX && analysis->needs[i]; i++)
		if (strcmp(analysis->needs[i], check) == 0)
			return true;
	return false;
}
