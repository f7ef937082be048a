/* SPDX-License-Identifier: Apache-2.0
 *
 * What columns call devices: "CUDA", or "XPU" where none of them is CUDA's, as torch does.
 */
#ifndef ST_ANALYZE_TABLES_DEVICE_TITLES_H
#define ST_ANALYZE_TABLES_DEVICE_TITLES_H

struct st_report;
struct st_result;

const char *st_device_word(const struct st_result *result);
/* Titles of a report's columns, written with CUDA's word. */
void st_device_titles(struct st_report *report, const struct st_result *result);

#endif
