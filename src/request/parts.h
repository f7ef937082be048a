/* SPDX-License-Identifier: Apache-2.0
 *
 * The parsers of a request, one for each kind and one for what they share.
 */
#ifndef ST_REQUEST_PARTS_H
#define ST_REQUEST_PARTS_H

#include "request/request.h"

enum st_status st_report_args(struct st_request *request, const struct st_args *args,
			      struct st_error *err);
enum st_status st_export_args(struct st_request *request, const struct st_args *args,
			      struct st_error *err);
enum st_status st_query_args(struct st_request *request, const struct st_args *args,
			     struct st_error *err);

/* The report and the results of "compare [NAME] A B", where A and B may be lists of runs; of a report with "-r A -r B"
 * only the results, if there are several. */
enum st_status st_compare_args(struct st_request *request, const struct st_args *args,
			       struct st_error *err);
enum st_status st_compare_results(struct st_request *request, const struct st_args *args,
				  struct st_error *err);
/* ST_EUSAGE: there is no such report; names near ones. */
enum st_status st_report_unknown(const char *typed, struct st_error *err);

/* Groupings, filters and time range. Groupings that are not in offered are refused. */
enum st_status st_question_args(struct st_request *request, const struct st_args *args,
				struct st_set offered, struct st_error *err);
/* How samples are looked at and named. */
enum st_status st_view_args(struct st_request *request, const struct st_args *args,
			    struct st_error *err);

/* A report knob that is an argument of torch's functions; ST_EUSAGE when it is none, naming all report knobs. The
 * value is kept, not copied. */
enum st_status st_torch_knob(struct st_torch_options *options, const char *name, const char *value,
			     struct st_error *err);
/* Whether "NAME=VALUE" is a text that, unlike other values, may be empty or long: the header, the rows. */
bool st_torch_text(struct st_torch_options *options, const char *pair);

#endif
