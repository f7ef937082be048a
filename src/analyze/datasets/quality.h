/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that was lost, truncated or estimated, as counts and as text. Every report shows it: text below
 * its tables, JSON in "quality", and for CSV the command line prints it to stderr.
 */
#ifndef ST_ANALYZE_DATASETS_QUALITY_H
#define ST_ANALYZE_DATASETS_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

struct st_buf;
struct st_result;

enum { ST_QUALITY_ITEMS = 33 };

struct st_quality_item {
	const char *key;   /* "slices_dropped" */
	const char *words; /* "tasks dropped (full, or too deep; Python calls too)" */
	uint64_t value;
};

/* All of them, zeros too, in the order of importance. */
void st_quality_items(const struct st_result *result, struct st_quality_item out[ST_QUALITY_ITEMS]);
/* Records that are gone: dropped, refused or without a place. */
uint64_t st_quality_lost(const struct st_result *result);
/* A process would have recorded and could not: another build, a limit. */
bool st_quality_cannot_record(const struct st_result *result);
/* Sentences for everything that is not perfect, one per line, each ended by '\n'; nothing when there
 * is nothing to say. False when memory is out. */
bool st_quality_lines(const struct st_result *result, struct st_buf *out);
/* Of these the figures of what is gone, or is not under its own name. */
bool st_quality_losses(const struct st_result *result, struct st_buf *out);

#endif
