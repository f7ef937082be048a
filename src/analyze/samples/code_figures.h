/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time by place in code, for reports that show code line by line: every place is a bucket of the
 * caller's choice.
 */
#ifndef ST_ANALYZE_SAMPLES_CODE_FIGURES_H
#define ST_ANALYZE_SAMPLES_CODE_FIGURES_H

#include "analyze/tables/report.h"
#include "analyze/samples/sample_rows.h"

struct st_code_figures {
	uint64_t self, total; /* ns, or samples when those are to be shown */
	uint64_t samples;     /* of self */
	uint32_t stamp;	      /* last row that was counted here */
};

struct st_code_count {
	struct st_code_figures *figures; /* by bucket */
	uint32_t count;
	struct st_code_figures whole; /* all buckets together */
	uint64_t all;		      /* of all rows, in a bucket or not: what shares are of */
	/* Bucket of a frame, or ST_NO_ROW. */
	uint32_t (*bucket_of)(const void *arg, const struct st_named *named, uint32_t frame);
	const void *arg;
};

/* Self: the innermost frame is in the bucket, or, of Python code, the innermost Python frame, whose time native code
 * that it called is; total: any frame is, each row counted once. */
void st_code_count(struct st_code_count *count, const struct st_sample_rows *rows);

/* The function that the user means: by name (with or without parameters, or as the linker knows it), else by
 * the last part of a name; of several the one with most time, in the module if one is given. */
enum st_status st_code_find_function(const struct st_sample_rows *rows,
				     const struct st_source_object *object, uint32_t *out,
				     struct st_error *err);
/* Whether a path is the one that the user typed: all of it, or its last parts. */
bool st_code_path_fits(struct st_text path, const char *typed);

#endif
