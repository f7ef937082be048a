// SPDX-License-Identifier: Apache-2.0
//
// The table of trace formats.
#include "export/exporters.h"

#include <stddef.h>

#include "analyze/engine/question.h"

const struct st_exporter st_exporters[] = {
	{"chrome", "Trace Event Format: Perfetto, chrome://tracing, HolisticTraceAnalysis",
	 st_export_chrome, ST_EXPORT_SHOWS_STACKS},
	{"kineto", "operators as torch.profiler exports them: HolisticTraceAnalysis, TensorBoard",
	 st_export_kineto, ST_EXPORT_HAS_WINDOW | ST_EXPORT_HAS_PARTS},
	{"memory-timeline",
	 "PyTorch allocator memory over time: JSON, .raw.json, or an HTML page (.html)",
	 st_export_memory_timeline, ST_EXPORT_HAS_WINDOW | ST_EXPORT_HAS_DEVICE},
	{"perfetto", "Perfetto's own format (.pftrace): ui.perfetto.dev, trace_processor",
	 st_export_perfetto, ST_EXPORT_SHOWS_STACKS},
	{"csv", "one row per task: spreadsheets, pandas.read_csv", st_export_csv, 0},
	{"json", "one JSON object per task, in an array: pandas.read_json, jq", st_export_json, 0},
	{"flamegraph", "flame graph of the samples: one SVG or HTML file for any browser",
	 st_export_flamegraph,
	 ST_EXPORT_TAKES_SAMPLES | ST_EXPORT_SHOWS_STACKS | ST_EXPORT_REVERSES | ST_EXPORT_GROUPS},
	{"html",
	 "one page for any browser: summary, findings, timeline, operators, functions, flame graph",
	 st_export_html, ST_EXPORT_SHOWS_STACKS},
	{"folded", "one line per stack with its CPU time in ns: flamegraph.pl, inferno",
	 st_export_folded,
	 ST_EXPORT_TAKES_SAMPLES | ST_EXPORT_SHOWS_STACKS | ST_EXPORT_REVERSES | ST_EXPORT_GROUPS},
	{"speedscope", "samples of each thread in time order: speedscope.app", st_export_speedscope,
	 ST_EXPORT_TAKES_SAMPLES | ST_EXPORT_SHOWS_STACKS},
	{"pprof", "samples as a gzipped profile.proto: go tool pprof and its web UI",
	 st_export_pprof, ST_EXPORT_TAKES_SAMPLES | ST_EXPORT_SHOWS_STACKS},
	{"torch-stacks",
	 "Python stacks of operators with their time in us, as torch.profiler's export_stacks",
	 st_export_torch_stacks, ST_EXPORT_HAS_WINDOW | ST_EXPORT_HAS_METRIC},
	{NULL, NULL, NULL, 0},
};

enum st_status st_export_write(const struct st_exporter *exporter, const struct st_result *result,
			       const struct st_export_options *options, struct st_sink *sink,
			       struct st_error *err)
{
	static const struct st_question everything = {0};
	struct st_export_options complete = {0};

	if (options)
		complete = *options;
	if (!complete.question)
		complete.question = &everything;
	return exporter->write(result, &complete, sink, err);
}
