// SPDX-License-Identifier: Apache-2.0
//
// The table of trace formats.
#include "export/exporters.h"

#include <stddef.h>

const struct st_exporter st_exporters[] = {
	{"chrome", "Trace Event Format: Perfetto, chrome://tracing, HolisticTraceAnalysis",
	 st_export_chrome},
	{"perfetto", "Perfetto's own format (.pftrace): ui.perfetto.dev, trace_processor",
	 st_export_perfetto},
	{"csv", "every task as a row: spreadsheets, pandas.read_csv", st_export_csv},
	{"json", "every task as an object of one array: pandas.read_json, jq", st_export_json},
	{NULL, NULL, NULL},
};
