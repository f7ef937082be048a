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
	{NULL, NULL, NULL},
};
