/* SPDX-License-Identifier: Apache-2.0
 *
 * Format and destination of a report, from the options.
 */
#ifndef ST_REQUEST_OUTPUT_H
#define ST_REQUEST_OUTPUT_H

#include "base/error.h"
#include "export/export.h"

struct st_args;
struct st_report;
struct st_result;

enum st_output_format { ST_OUTPUT_TEXT, ST_OUTPUT_CSV, ST_OUTPUT_JSON, ST_OUTPUTS };

struct st_output {
	enum st_output_format format;
	char delimiter;
	struct st_text_style style;
	char *path; /* owned: "-" or the file to write */
};

/* Also after a failure st_output_fini is due. */
enum st_status st_output_parse(struct st_output *output, const struct st_args *args,
			       struct st_error *err);
void st_output_fini(struct st_output *output);
enum st_status st_output_write(const struct st_output *output, const struct st_report *report,
			       const struct st_result *result, struct st_sink *sink,
			       struct st_error *err);
/* A CSV table and torch's stay pure: what is to be said beside them, a line each. False: no memory. */
bool st_output_notes(const struct st_output *output, const struct st_report *report,
		     const struct st_result *result, struct st_buf *out);

#endif
