// SPDX-License-Identifier: Apache-2.0
//
// The table of groupings, and how a grouping is found by what a user typed.
#include "analyze/question.h"

#include "analyze/names.h"

static const struct st_grouping_info table[ST_GROUPINGS] = {
	[ST_BY_PROCESS] = {"process", "process", "Process"},
	[ST_BY_THREAD] = {"thread", "thread", "Thread"},
	[ST_BY_TASK_DOMAIN] = {"task-domain", "task_domain", "Task Domain"},
	[ST_BY_TASK_TYPE] = {"task-type", "task_type", "Task Type"},
	[ST_BY_TASK_FAMILY] = {"task-family", "task_family", "Task Family"},
	[ST_BY_TASK] = {"task", "task", "Task"},
	[ST_BY_TASK_STACK] = {"task-stack", "task_stack", "Task Stack"},
};

const struct st_grouping_info *st_grouping_info(enum st_grouping grouping)
{
	return &table[grouping];
}

enum st_status st_grouping_parse(const char *text, size_t size_bytes, enum st_grouping *out,
				 struct st_error *err)
{
	const char *names[ST_GROUPINGS];

	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		names[i] = table[i].name;
		if (st_name_equal(text, size_bytes, table[i].name) ||
		    st_name_equal(text, size_bytes, table[i].title)) {
			*out = (enum st_grouping)i;
			return ST_OK;
		}
	}
	return st_name_unknown(text, size_bytes, "grouping",
			       &(struct st_name_list){names, ST_GROUPINGS}, err);
}
