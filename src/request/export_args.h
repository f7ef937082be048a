/* SPDX-License-Identifier: Apache-2.0
 *
 * What an export is asked, from the words and options that say so: what strata export reads, and the library too.
 */
#ifndef ST_REQUEST_EXPORT_ARGS_H
#define ST_REQUEST_EXPORT_ARGS_H

#include "analyze/engine/question.h"
#include "request/view_args.h"
#include "export/export.h"

struct st_args;

struct st_export_args {
	const struct st_exporter *exporter;
	const char *path;
	const char *result_word; /* a plain word that names the result, or NULL */
	struct st_export_options options;
	struct st_question question;
	struct st_filter *filters;    /* owned; texts are argv's */
	struct st_export_fact *facts; /* owned; texts are argv's */
	struct st_view_args view_args;
};

/* Must stay where it is until st_export_args_fini, which is due also after a failure. */
enum st_status st_export_args_parse(struct st_export_args *request, const struct st_args *args,
				    struct st_error *err);
void st_export_args_fini(struct st_export_args *request);

#endif
