// SPDX-License-Identifier: Apache-2.0
//
// The table of metrics, and how a metric is found by what a user typed: our name, the key of the
// JSON, the title, or the word VTune's users know.
#include "analyze/engine/question.h"

#include <stdio.h>

#include "analyze/engine/names.h"

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
	[ST_CPU_SELF] = {"cpu-self", "cpu_self_ns", "CPU Time", "ns"},
	[ST_CPU_EFFECTIVE] = {"effective", "effective_ns", "CPU Time:Effective Time", "ns"},
	[ST_CPU_SPIN] = {"spin", "spin_ns", "CPU Time:Spin Time", "ns"},
	[ST_SPIN_IMBALANCE] = {"spin-imbalance", "spin_imbalance_ns",
			       "CPU Time:Spin Time:Imbalance or Serial Spinning", "ns"},
	[ST_SPIN_LOCK] = {"spin-lock", "spin_lock_ns", "CPU Time:Spin Time:Lock Contention", "ns"},
	[ST_SPIN_COMMUNICATION] = {"spin-communication", "spin_communication_ns",
				   "CPU Time:Spin Time:Communication", "ns"},
	[ST_SPIN_OTHER] = {"spin-other", "spin_other_ns", "CPU Time:Spin Time:Other", "ns"},
	[ST_CPU_OVERHEAD] = {"overhead", "overhead_ns", "CPU Time:Overhead Time", "ns"},
	[ST_OVERHEAD_CREATION] = {"overhead-creation", "overhead_creation_ns",
				  "CPU Time:Overhead Time:Creation", "ns"},
	[ST_OVERHEAD_SCHEDULING] = {"overhead-scheduling", "overhead_scheduling_ns",
				    "CPU Time:Overhead Time:Scheduling", "ns"},
	[ST_OVERHEAD_REDUCTION] = {"overhead-reduction", "overhead_reduction_ns",
				   "CPU Time:Overhead Time:Reduction", "ns"},
	[ST_OVERHEAD_ATOMICS] = {"overhead-atomics", "overhead_atomics_ns",
				 "CPU Time:Overhead Time:Atomics", "ns"},
	[ST_OVERHEAD_OTHER] = {"overhead-other", "overhead_other_ns",
			       "CPU Time:Overhead Time:Other", "ns"},
	[ST_CPU_TOTAL] = {"cpu-total", "cpu_total_ns", "CPU Time:Total", "ns"},
	[ST_CPU_INHERITED] = {"cpu-inherited", "cpu_inherited_ns", "CPU Time:Inherited", "ns"},
	[ST_SAMPLES] = {"samples", "samples", "Samples", ""},
	[ST_WAIT] = {"wait", "wait_ns", "Wait Time", "ns"},
	[ST_ALLOCATED] = {"allocated", "allocated_bytes", "Allocated", "bytes"},
	[ST_SELF_ALLOCATED] = {"self-allocated", "self_allocated_bytes", "Allocated:Self", "bytes"},
	[ST_FREED] = {"freed", "freed_bytes", "Freed", "bytes"},
	[ST_SELF_FREED] = {"self-freed", "self_freed_bytes", "Freed:Self", "bytes"},
	[ST_FLOPS] = {"flops", "flops", "FLOPs", ""},
	[ST_MOVED] = {"moved", "moved_bytes", "Bytes Moved", "bytes"},
	[ST_GFLOPS] = {"gflops", "gflops_per_s", "GFLOP/s", ""},
	[ST_GBYTES] = {"gbytes", "gbytes_per_s", "GB/s", ""},
	[ST_INTENSITY] = {"intensity", "flops_per_byte", "FLOPs/Byte", ""},
	[ST_HELD] = {"held", "held_bytes", "Held at Peak", "bytes"},
};

/* Further words for the same thing. */
static const struct {
	const char *word;
	enum st_metric metric;
} aliases[] = {
	{"CPU Time:Self", ST_CPU_SELF},
	{"CPU Time:Effective", ST_CPU_EFFECTIVE},
	{"cpu", ST_CPU_SELF},
	{"cpu-time", ST_CPU_SELF},
	{"total", ST_WALL_TOTAL},
	{"self", ST_WALL_SELF},
	{"min", ST_WALL_MIN},
	{"avg", ST_WALL_AVG},
	{"average", ST_WALL_AVG},
	{"median", ST_WALL_MEDIAN},
	{"p50", ST_WALL_MEDIAN},
	{"p95", ST_WALL_P95},
	{"p99", ST_WALL_P99},
	{"max", ST_WALL_MAX},
	{"stddev", ST_WALL_STDDEV},
	{"wall", ST_WALL_TOTAL},
	{"time", ST_WALL_TOTAL},
	{"wall-time", ST_WALL_TOTAL},
	{"Task Time:Total", ST_WALL_TOTAL},
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

enum st_status st_metric_refuse(enum st_metric metric, struct st_set offered, struct st_error *err)
{
	char all[600];
	size_t used = 0;

	all[0] = '\0';
	for (unsigned int i = 0; i < ST_METRICS; i++) {
		int n = st_set_has(offered, i) ? snprintf(all + used, sizeof(all) - used, "%s%s",
							  used ? ", " : "", table[i].name)
					       : 0;

		used += n > 0 && (size_t)n < sizeof(all) - used ? (size_t)n : 0;
	}
	if (st_set_is_empty(offered))
		return st_error_set(err, ST_EUSAGE, 0,
				    "these rows are in order of time and cannot be sorted; strata "
				    "query can");
	return st_error_set(err, ST_EUSAGE, 0,
			    "these rows cannot be sorted by %s, only by: %s; strata query can sort "
			    "by anything",
			    table[metric].name, all);
}
