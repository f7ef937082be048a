// SPDX-License-Identifier: Apache-2.0
//
// The table of metrics, and how a metric is found by what a user typed: our name, the key of the
// JSON, the title, or the word VTune's users know.
#include "analyze/question.h"

#include "analyze/names.h"

static const struct st_metric_info table[ST_METRICS] = {
	[ST_COUNT] = {"count", "count", "Task Count", ""},
	[ST_COPIES] = {"copies", "copies", "Threads", ""},
	[ST_WALL_TOTAL] = {"wall-total", "wall_total_ns", "Task Time", "ns"},
	[ST_WALL_SELF] = {"wall-self", "wall_self_ns", "Task Time:Self", "ns"},
	[ST_WALL_MIN] = {"wall-min", "wall_min_ns", "Minimum", "ns"},
	[ST_WALL_AVG] = {"wall-avg", "wall_avg_ns", "Average Task Time", "ns"},
	[ST_WALL_MEDIAN] = {"wall-median", "wall_median_ns", "Median", "ns"},
	[ST_WALL_P95] = {"wall-p95", "wall_p95_ns", "P95", "ns"},
	[ST_WALL_P99] = {"wall-p99", "wall_p99_ns", "P99", "ns"},
	[ST_WALL_MAX] = {"wall-max", "wall_max_ns", "Maximum", "ns"},
	[ST_WALL_STDDEV] = {"wall-stddev", "wall_stddev_ns", "Std Dev", "ns"},
};

/* Further words for the same thing. */
static const struct {
	const char *word;
	enum st_metric metric;
} aliases[] = {
	{"total", ST_WALL_TOTAL}, {"self", ST_WALL_SELF},	{"min", ST_WALL_MIN},
	{"avg", ST_WALL_AVG},	  {"average", ST_WALL_AVG},	{"median", ST_WALL_MEDIAN},
	{"p50", ST_WALL_MEDIAN},  {"p95", ST_WALL_P95},		{"p99", ST_WALL_P99},
	{"max", ST_WALL_MAX},	  {"stddev", ST_WALL_STDDEV},	{"wall", ST_WALL_TOTAL},
	{"time", ST_WALL_TOTAL},  {"wall-time", ST_WALL_TOTAL}, {"Task Time:Total", ST_WALL_TOTAL},
};

const struct st_metric_info *st_metric_info(enum st_metric metric)
{
	return &table[metric];
}

enum st_status st_metric_parse(const char *text, size_t size_bytes, enum st_metric *out,
			       struct st_error *err)
{
	const char *names[ST_METRICS];

	for (unsigned int i = 0; i < ST_METRICS; i++) {
		names[i] = table[i].name;
		if (st_name_equal(text, size_bytes, table[i].name) ||
		    st_name_equal(text, size_bytes, table[i].key) ||
		    st_name_equal(text, size_bytes, table[i].title)) {
			*out = (enum st_metric)i;
			return ST_OK;
		}
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (st_name_equal(text, size_bytes, aliases[i].word)) {
			*out = aliases[i].metric;
			return ST_OK;
		}
	}
	return st_name_unknown(text, size_bytes, "metric",
			       &(struct st_name_list){names, ST_METRICS}, err);
}
