/* SPDX-License-Identifier: Apache-2.0
 *
 * A request to a result: a report on it or on two, an export to another tool's format, or SQL. The arguments of a
 * command line become a request here, for the command, libstrata.so and a server. Nothing is printed.
 */
#ifndef ST_REQUEST_REQUEST_H
#define ST_REQUEST_REQUEST_H

#include "analyze/sql/sql.h"
#include "analyze/tables/report.h"
#include "export/export.h"
#include "request/output.h"
#include "resolve/named.h"

struct st_args;

struct st_request {
	unsigned int command;	 /* ST_IN_REPORT, ST_IN_COMPARE, ST_IN_EXPORT or ST_IN_QUERY */
	const char *result_word; /* a plain word that names the result, or NULL */
	const char *second;	 /* another one, to compare with, or NULL */
	struct st_output output; /* form and place; of an export the place only */
	/* A report; the question and the view are an export's as well. */
	const char *name;
	bool is_default; /* nobody named it */
	struct st_report_options options;
	const char *columns; /* as typed, or NULL */
	/* An export. */
	const struct st_exporter *exporter;
	struct st_export_options file;
	/* SQL. */
	const char *sql;
	struct st_sql_options limits; /* whether it is stopped, the caller knows */
	/* Owned; the texts are the command line's. */
	struct st_filter *filters;
	struct st_export_fact *facts;
	struct st_named_options naming;
	const char **search;
};

/* Reads the words and options of args, whose command says which. Must stay where it is until fini, which is due also
 * after a failure. */
enum st_status st_request_parse(struct st_request *request, const struct st_args *args,
				struct st_error *err);
void st_request_fini(struct st_request *request);

/* Zeroed: none yet. */
struct st_request_rows {
	struct st_report report;
	struct st_report sides[2]; /* what a comparison is of; it shows their texts */
};

/* The rows of a report, a comparison (results[1] is there) or a query, in the columns that are wanted. Fini is due also
 * after a failure. */
enum st_status st_request_build(const struct st_request *request,
				struct st_result *const results[2], struct st_request_rows *out,
				struct st_error *err);
void st_request_rows_fini(struct st_request_rows *answer);

/* NULL: there is no such report. */
const struct st_report_kind *st_report_kind_of(const char *name);
extern const char st_torch_knob_names[]; /* "sort-by= row-limit= …" */

/* The options that say where names of functions are looked for. *search is the caller's, also after a failure. */
enum st_status st_naming_args(struct st_named_options *naming, const char ***search,
			      const struct st_args *args, struct st_error *err);

#endif
