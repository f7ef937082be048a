/* SPDX-License-Identifier: Apache-2.0
 *
 * The write functions of the table of trace formats in exporters.c. Options are there, and a question in them.
 */
#ifndef ST_EXPORT_EXPORTERS_H
#define ST_EXPORT_EXPORTERS_H

#include "export/export.h"

st_export_write_fn st_export_chrome, st_export_kineto, st_export_memory_timeline,
	st_export_perfetto;
st_export_write_fn st_export_csv, st_export_json;
st_export_write_fn st_export_flamegraph, st_export_folded, st_export_speedscope, st_export_pprof;
st_export_write_fn st_export_torch_stacks, st_export_html;

#endif
