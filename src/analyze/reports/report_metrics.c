// SPDX-License-Identifier: Apache-2.0
//
// The metrics by which a report can be sorted, and what it calls them.
#include "analyze/engine/names.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/reports/report_python_calls.h"
#include "analyze/reports/report_rows.h"

struct st_set st_report_metrics(const struct st_report_kind *kind)
{
	struct st_set wall = st_set_range(0, ST_WALL_METRICS);
	struct st_set cpu = st_set_range(ST_WALL_METRICS, ST_FIGURES);

	if (!(kind->accepts & ST_ACCEPTS_SORT))
		return (struct st_set){{0}};
	if (kind->build == st_report_operators_build)
		return st_set_join(ST_SET(ST_COUNT, ST_WALL_TOTAL, ST_WALL_SELF, ST_WALL_AVG),
				   st_set_range(ST_FIGURES, ST_HELD));
	if (kind->build == st_report_python_calls_build)
		return st_python_calls_metrics();
	if (kind->build == st_report_memory_build)
		return ST_SET(ST_COUNT, ST_HELD);
	if (kind->accepts & ST_ACCEPTS_VIEW)
		return kind->build == st_report_top_down_build ? st_set_join(wall, cpu) : cpu;
	return kind->rows ? st_set_join(st_set_of(kind->rows->metrics),
					st_set_of(kind->rows->instance_metrics))
			  : wall;
}

const char *st_report_metric_title(const struct st_report_kind *kind, enum st_metric metric)
{
	const char *title = kind->rows ? kind->rows->titles[metric] : NULL;

	return title ? title : st_metric_info(metric)->title;
}

enum st_status st_report_metric_parse(const struct st_report_kind *kind, struct st_text text,
				      enum st_metric *out, struct st_error *err)
{
	struct st_set offered = st_report_metrics(kind);
	const char *names[ST_METRICS];
	enum st_status status;
	size_t count = 0;

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
	if (kind->build == st_report_python_calls_build && st_python_calls_metric(text, out))
		return ST_OK;
	status = st_metric_parse(text.bytes, text.size_bytes, out, err);
	/* A report that takes none at all says so itself. */
	if (st_set_is_empty(offered))
		return status;
	if (status)
		return st_name_unknown(text.bytes, text.size_bytes, "metric to sort by",
				       &(struct st_name_list){names, count}, err);
	return st_set_has(offered, *out) ? ST_OK : st_metric_refuse(*out, offered, err);
}
