// SPDX-License-Identifier: Apache-2.0
//
// The metrics by which a report can be sorted, and what it calls them.
#include <stdio.h>

#include "analyze/engine/names.h"
#include "analyze/operators/dataset_operators.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/reports/report_memory.h"
#include "analyze/reports/report_rows.h"
#include "analyze/samples/sample_set.h"

/* Measures that have a name, in the order in which they are listed. Those of operators repeat some of rows that last,
 * with titles of their own. */
enum { WALL, SAMPLES, OPERATORS, MEMORY, SYNC, HEAP, KERNELS, OPENMP };
static const struct {
	const struct st_measure *measures;
	uint32_t count;
} tables[] = {
	[WALL] = {st_wall_measures, ST_WALL_MEASURES},
	[SAMPLES] = {st_sample_measures, ST_SAMPLE_MEASURES},
	[OPERATORS] = {st_operator_measures, ST_OPERATOR_MEASURES},
	[MEMORY] = {st_memory_measures, ST_MEMORY_MEASURES},
	[SYNC] = {st_sync_measures, ST_SYNC_MEASURES},
	[HEAP] = {st_heap_measures, ST_HEAP_MEASURES},
	[KERNELS] = {st_kernel_measures, ST_KERNEL_MEASURES},
	[OPENMP] = {st_openmp_measures, ST_OPENMP_MEASURES},
};

static struct st_set named(unsigned int table)
{
	struct st_set set = {{0}};

	for (uint32_t i = 0; i < tables[table].count; i++)
		if (tables[table].measures[i].name)
			st_set_add(&set, tables[table].measures[i].metric);
	return set;
}

const struct st_measure *st_metric_info(enum st_metric metric)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (uint32_t j = 0; j < tables[i].count; j++)
			if (tables[i].measures[j].metric == metric)
				return &tables[i].measures[j];
	return NULL;
}

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

enum st_status st_metric_parse(const char *text, size_t size_bytes, enum st_metric *out,
			       struct st_error *err)
{
	const char *names[ST_METRICS];

	for (unsigned int i = 0; i < ST_METRICS; i++) {
		names[i] = st_metric_info((enum st_metric)i)->name;
		if (st_name_equal(text, size_bytes, st_metric_info((enum st_metric)i)->name) ||
		    st_name_equal(text, size_bytes, st_metric_info((enum st_metric)i)->key) ||
		    st_name_equal(text, size_bytes, st_metric_info((enum st_metric)i)->title)) {
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
		int n = st_set_has(offered, i)
				? snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "",
					   st_metric_info((enum st_metric)i)->name)
				: 0;

		used += n > 0 && (size_t)n < sizeof(all) - used ? (size_t)n : 0;
	}
	if (st_set_is_empty(offered))
		return st_error_set(err, ST_EUSAGE, 0,
				    "these rows are in time order and cannot be sorted; use strata "
				    "query to sort them");
	return st_error_set(
		err, ST_EUSAGE, 0,
		"cannot sort these rows by %s, only by: %s; use strata query to sort by any column",
		st_metric_info(metric)->name, all);
}

struct st_set st_report_metrics(const struct st_report_kind *kind)
{
	if (!(kind->accepts & ST_ACCEPTS_SORT))
		return (struct st_set){{0}};
	if (kind->metrics)
		return st_set_of(kind->metrics);
	switch (kind->facts) {
	case ST_FACTS_SAMPLES:
		return named(SAMPLES);
	case ST_FACTS_BOTH:
		return st_set_join(named(WALL), named(SAMPLES));
	case ST_FACTS_OPERATORS:
		return named(OPERATORS);
	case ST_FACTS_MEMORY:
		return named(MEMORY);
	case ST_FACTS_ROWS:
		return st_set_join(st_set_of(kind->rows->metrics),
				   st_set_of(kind->rows->instance_metrics));
	case ST_FACTS_NONE:
	case ST_FACTS_SLICES:
		break;
	}
	return named(WALL);
}

const char *st_report_metric_title(const struct st_report_kind *kind, enum st_metric metric)
{
	const char *title = kind->rows ? kind->rows->titles[metric] : NULL;

	for (uint32_t i = 0;
	     !title && kind->facts == ST_FACTS_OPERATORS && i < ST_OPERATOR_MEASURES; i++)
		if (st_operator_measures[i].metric == metric)
			title = st_operator_measures[i].title;
	return title ? title : st_metric_info(metric)->title;
}

/* "total" and "self", as trees call them, are those of what the rows are about. Of a report on tasks or samples it is
 * known only with the result: as tasks call it until then, and marked. */
static bool is_plain(const struct st_report_kind *kind, struct st_text text, enum st_metric *out,
		     bool *plain)
{
	static const struct {
		const char *word;
		enum st_metric wall, cpu;
	} words[] = {{"total", ST_WALL_TOTAL, ST_CPU_TOTAL}, {"self", ST_WALL_SELF, ST_CPU_SELF}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!st_name_equal(text.bytes, text.size_bytes, words[i].word) ||
		    (kind->facts != ST_FACTS_SAMPLES && kind->facts != ST_FACTS_BOTH))
			continue;
		*out = kind->facts == ST_FACTS_SAMPLES ? words[i].cpu : words[i].wall;
		*plain = kind->facts == ST_FACTS_BOTH;
		return true;
	}
	return false;
}

enum st_status st_report_metric_parse(const struct st_report_kind *kind, struct st_text text,
				      enum st_metric *out, bool *plain, struct st_error *err)
{
	struct st_set offered = st_report_metrics(kind);
	const char *names[ST_METRICS];
	enum st_status status;
	size_t count = 0;

	*plain = false;
	if (!st_set_is_empty(offered) && is_plain(kind, text, out, plain))
		return ST_OK;
	for (unsigned int i = 0; i < ST_METRICS; i++) {
		if (!st_set_has(offered, i))
			continue;
		names[count++] = st_metric_info((enum st_metric)i)->name;
		if (st_name_equal(text.bytes, text.size_bytes,
				  st_report_metric_title(kind, (enum st_metric)i))) {
			*out = (enum st_metric)i;
			return ST_OK;
		}
	}
	if (kind->metric_word && kind->metric_word(text, out))
		return ST_OK;
	status = st_metric_parse(text.bytes, text.size_bytes, out, err);
	/* A report that takes none at all says so itself. */
	if (st_set_is_empty(offered))
		return status;
	if (status)
		return st_name_unknown(text.bytes, text.size_bytes, "sort metric",
				       &(struct st_name_list){names, count}, err);
	return st_set_has(offered, *out) ? ST_OK : st_metric_refuse(*out, offered, err);
}
