/* SPDX-License-Identifier: Apache-2.0
 *
 * The one table of analyses (collection types): what "-collect TYPE" switches on, what it requires of the machine,
 * and why a type is not available. Collection, reading a result and doctor use the row; nothing compares the name of
 * a type.
 */
#ifndef ST_FORMAT_ANALYSIS_H
#define ST_FORMAT_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

/* What is recorded; bits. */
enum {
	ST_RECORDS_TASKS = 1 << 0,     /* and everything else that is told through ITT */
	ST_RECORDS_SAMPLES = 1 << 1,   /* of the CPU, with stacks */
	ST_RECORDS_OPERATORS = 1 << 2, /* of PyTorch, where a program loads it */
	ST_RECORDS_SHAPES = 1 << 3,    /* of operators' inputs */
	ST_RECORDS_MEMORY = 1 << 4,    /* of the framework's allocator */
	ST_RECORDS_MODULES = 1 << 5,   /* calls of nn.Module */
	ST_RECORDS_STACKS = 1 << 6,    /* of Python, who calls each operator */
	ST_RECORDS_CALLS = 1 << 7,     /* of Python functions, counted */
	ST_RECORDS_DEVICES = 1 << 8,   /* what runs on devices, and the calls that drive them */
	ST_RECORDS_WAITS = 1 << 9,     /* in functions of the C library */
};

enum { ST_ANALYSIS_NEEDS_MAX = 8 };

struct st_analysis {
	const char *name;
	const char *suffix; /* of its result folders: "r@@@" + this */
	const char
		*refusal; /* why it cannot be had, behind "collection type 'NAME' "; NULL: it can */
	uint32_t purpose; /* what somebody who asks for it misses when there is none of it */
	uint32_t
		records; /* recorded unless a knob says otherwise; knobs about anything else are refused */
	const char
		*needs[ST_ANALYSIS_NEEDS_MAX]; /* checks of doctor without which it gives nothing */
};
extern const struct st_analysis st_analyses[]; /* ends with a NULL name */

/* NULL when no row has this name. */
const struct st_analysis *st_analysis_find(const char *name);
/* Whether a result of this type was made for what the bit says; false of types that this version does not know. */
bool st_analysis_is_for(const char *name, uint32_t purpose);
bool st_analysis_needs(const struct st_analysis *analysis, const char *check);

#endif
