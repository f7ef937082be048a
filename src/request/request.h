/* SPDX-License-Identifier: Apache-2.0
 *
 * A request to a result: a report on it or on two, an export to another tool's format, or SQL. The arguments of a
 * command line become a request here, for the command, libstrata.so and a server. Nothing is printed.
 */
#ifndef ST_REQUEST_REQUEST_H
#define ST_REQUEST_REQUEST_H

#include "analyze/reports/changes.h"
#include "analyze/sql/sql.h"
#include "analyze/tables/report.h"
#include "export/export.h"
#include "request/output.h"
#include "resolve/named.h"

struct st_args;

/* The results that are compared; no counts: nothing is. */
struct st_sides {
	const char **paths; /* of the first side, then of the second */
	uint32_t counts[ST_SIDES];
	char *texts; /* where lists of paths were taken apart */
};

struct st_request {
	unsigned int command;	 /* ST_IN_REPORT, ST_IN_COMPARE, ST_IN_EXPORT or ST_IN_QUERY */
	const char *result_word; /* a plain word that names the result, or NULL */
	struct st_sides sides;	 /* of a comparison */
	double fail_above;	 /* a comparison fails when this share slower; 0: it does not */
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

/* How many results it is about, and the path of each; NULL: the newest. */
uint32_t st_request_result_count(const struct st_request *request);
const char *st_request_path(const struct st_request *request, uint32_t index);

/* Zeroed: none yet. */
struct st_request_rows {
	struct st_report report;
	struct st_report *runs; /* what a comparison is of; it shows their texts */
	uint32_t run_count;
	struct st_headline headline; /* of a comparison that may fail */
};

/* The rows of a report, a comparison or a query, in the columns that are wanted. Fini is due also after a failure. */
enum st_status st_request_build(const struct st_request *request, struct st_result *const *results,
				struct st_request_rows *out, struct st_error *err);
void st_request_rows_fini(struct st_request_rows *answer);

/* NULL: there is no such report. */
const struct st_report_kind *st_report_kind_of(const char *name);
extern const char st_torch_knob_names[]; /* "sort-by= row-limit= …" */

/* The options that say where names of functions are looked for. *search is the caller's, also after a failure. */
enum st_status st_naming_args(struct st_named_options *naming, const char ***search,
			      const struct st_args *args, struct st_error *err);

#endif
