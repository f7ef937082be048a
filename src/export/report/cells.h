/* SPDX-License-Identifier: Apache-2.0
 *
 * How a single value is written, by the reports and by the exports of every task alike.
 */
#ifndef ST_EXPORT_REPORT_CELLS_H
#define ST_EXPORT_REPORT_CELLS_H

struct st_buf;
struct st_cell;
struct st_json;

/* RFC 4180: quoted where needed; what is not UTF-8 becomes U+FFFD. No value: nothing. */
void st_cell_write_csv(struct st_buf *out, char delimiter, const struct st_cell *cell);
/* No value: null. */
void st_cell_write_json(struct st_json *json, const struct st_cell *cell);

#endif
