/* SPDX-License-Identifier: Apache-2.0
 *
 * What a report is asked, from the words and options that say so.
 */
#ifndef ST_REQUEST_REPORT_ARGS_H
#define ST_REQUEST_REPORT_ARGS_H

#include "analyze/tables/report.h"
#include "request/output.h"
#include "request/view_args.h"

struct st_args;

struct st_report_args {
	const char *name;
	const char *result_word; /* a plain word that names the result, or NULL */
	const char *second;	 /* another one, to compare with, or NULL */
	bool is_default;	 /* nobody named the report */
	struct st_report_options options;
	struct st_filter *filters; /* owned; texts are argv's */
	const char *columns;	   /* as typed, or NULL */
	struct st_view_args view;
	struct st_output output;
};

/* Must stay where it is until st_report_args_fini, which is due also after a failure. */
enum st_status st_report_args_parse(struct st_report_args *request, const struct st_args *args,
				    struct st_error *err);
void st_report_args_fini(struct st_report_args *request);

/* NULL: there is no such report. */
const struct st_report_kind *st_report_kind_of(const char *name);

#endif
