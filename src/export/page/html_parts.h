/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the page that a result is exported to. Texts are of any bytes and become harmless here.
 */
#ifndef ST_EXPORT_PAGE_HTML_PARTS_H
#define ST_EXPORT_PAGE_HTML_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/definitions.h"

struct st_buf;
struct st_report;
struct st_result;

extern const char st_page_css[], st_page_js[];

void st_html_text(struct st_buf *out, struct st_text text);

/* The outermost rows of a report, at most so many, and a line that says how many there are. */
void st_html_table(struct st_buf *out, const struct st_report *report, uint32_t most);

/* Threads over the time of the result. */
enum st_status st_html_timeline(struct st_buf *out, const struct st_result *result,
				struct st_error *err);

#endif
