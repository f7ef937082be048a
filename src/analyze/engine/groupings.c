// SPDX-License-Identifier: Apache-2.0
//
// The table of groupings, and how a grouping is found by what a user typed.
#include "analyze/engine/question.h"

#include <stdio.h>

#include "analyze/engine/names.h"

static const struct st_grouping_info table[ST_GROUPINGS] = {
	[ST_BY_PROCESS] = {"process", "process", "Process"},
	[ST_BY_THREAD] = {"thread", "thread", "Thread"},
	[ST_BY_CATEGORY] = {"category", "category", "Category"},
	[ST_BY_TASK_DOMAIN] = {"task-domain", "task_domain", "Task Domain"},
	[ST_BY_TASK_TYPE] = {"task-type", "task_type", "Task Type"},
	[ST_BY_TASK_FAMILY] = {"task-family", "task_family", "Task Family"},
	[ST_BY_TASK] = {"task", "task", "Task"},
	[ST_BY_TASK_STACK] = {"task-stack", "task_stack", "Task Stack"},
	[ST_BY_STEP] = {"step", "step", "Step"},
	[ST_BY_CALLER] = {"caller", "caller", "Caller"},
	[ST_BY_PYTHON_LINE] = {"python-line", "python_line", "Python Line"},
	[ST_BY_FRAME_DOMAIN] = {"frame-domain", "frame_domain", "Frame Domain"},
	[ST_BY_FRAME] = {"frame", "frame", "Frame"},
	[ST_BY_DOMAIN] = {"domain", "domain", "Domain"},
	[ST_BY_REGION] = {"region", "region", "Region"},
	[ST_BY_MARKER] = {"marker", "marker", "Marker"},
	[ST_BY_SCOPE] = {"scope", "scope", "Scope"},
	[ST_BY_SYNC_TYPE] = {"sync-type", "sync_type", "Sync Object Type"},
	[ST_BY_SYNC_OBJECT] = {"sync-object", "sync_object", "Sync Object"},
	[ST_BY_COUNTER] = {"counter", "counter", "Counter"},
	[ST_BY_SAMPLE] = {"sample", "sample", "Sample"},
	[ST_BY_HEAD] = {"head", "head", "Head"},
	[ST_BY_RELATION] = {"relation", "relation", "Relation"},
	[ST_BY_TAIL] = {"tail", "tail", "Tail"},
	[ST_BY_METADATA_KEY] = {"key", "key", "Key"},
	[ST_BY_HISTOGRAM] = {"histogram", "histogram", "Histogram"},
	[ST_BY_HEAP_FUNCTION] = {"heap-function", "heap_function", "Heap Function"},
	[ST_BY_INSTANCE] = {"instance", "instance", "Instance"},
	[ST_BY_FUNCTION] = {"function", "function", "Function"},
	[ST_BY_FUNCTION_MANGLED] = {"function-mangled", "function_mangled", "Function (Mangled)"},
	[ST_BY_MODULE] = {"module", "module", "Module"},
	[ST_BY_MODULE_PATH] = {"module-path", "module_path", "Module Path"},
	[ST_BY_CLASS] = {"class", "class", "Class"},
	[ST_BY_SOURCE_FILE] = {"source-file", "source_file", "Source File"},
	[ST_BY_SOURCE_FILE_PATH] = {"source-file-path", "source_file_path", "Source File Path"},
	[ST_BY_SOURCE_LINE] = {"source-line", "source_line", "Source Line"},
	[ST_BY_ADDRESS] = {"address", "address", "Code Location"},
	[ST_BY_PYTHON_FUNCTION] = {"python-function", "python_function", "Python Function"},
	[ST_BY_CALLSTACK] = {"callstack", "callstack", "Call Stack"},
	[ST_BY_FUNCTION_STACK] = {"function-stack", "function_stack", "Function Stack"},
	[ST_BY_CPU_CLASS] = {"cpu-class", "cpu_class", "CPU Time Class"},
	[ST_BY_BASIC_BLOCK] = {"basic-block", "basic_block", "Basic Block"},
	[ST_BY_OPERATOR] = {"operator", "operator", "Operator"},
	[ST_BY_INPUT_SHAPES] = {"input-shapes", "input_shapes", "Input Shapes"},
	[ST_BY_INPUT_TYPES] = {"input-types", "input_types", "Input Types"},
	[ST_BY_NN_MODULE] = {"nn-module", "nn_module", "nn.Module"},
	[ST_BY_OPERATOR_SCOPE] = {"operator-scope", "operator_scope", "Operator Scope"},
	[ST_BY_WAIT_CLASS] = {"wait-class", "wait_class", "Wait Class"},
	[ST_BY_WAKER] = {"waker", "waker", "Waker"},
	[ST_BY_CREATED_AT] = {"created-at", "created_at", "Created At"},
	[ST_BY_DEVICE] = {"device", "device", "Device"},
	[ST_BY_LAUNCH] = {"launch", "launch", "Grid and Block"},
	[ST_BY_GAP_REASON] = {"reason", "reason", "Reason"},
};

const struct st_grouping_info *st_grouping_info(enum st_grouping grouping)
{
	return &table[grouping];
}

enum st_status st_grouping_parse(const char *text, size_t size_bytes, struct st_set offered,
				 enum st_grouping *out, struct st_error *err)
{
	const char *names[ST_GROUPINGS];
	size_t count = 0;

	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		if (st_set_has(offered, i))
			names[count++] = table[i].name;
		if (st_name_equal(text, size_bytes, table[i].name) ||
		    st_name_equal(text, size_bytes, table[i].title)) {
			*out = (enum st_grouping)i;
			return ST_OK;
		}
	}
	return st_name_unknown(text, size_bytes, "grouping", &(struct st_name_list){names, count},
			       err);
}

enum st_status st_grouping_without_modules(struct st_error *err)
{
	return st_error_set(
		err, ST_EUSAGE, 0,
		"this result has no nn.Module calls; record them with -knob operator-modules=true");
}

enum st_status st_grouping_refuse(enum st_grouping grouping, struct st_set offered,
				  struct st_error *err)
{
	char list[800] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < ST_GROUPINGS && used < sizeof(list); i++) {
		int n = 0;

		if (st_set_has(offered, i))
			n = snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				     table[i].name);
		used += n > 0 ? (size_t)n : 0;
	}
	if (grouping == ST_BY_PYTHON_LINE && st_set_has(offered, ST_BY_TASK))
		return st_error_set(err, ST_EUSAGE, 0,
				    "this result has no Python lines of tasks; record them with "
				    "-knob task-lines=true");
	/* Only the report of operators has these; it lacks them where nothing was recorded. */
	if (grouping == ST_BY_NN_MODULE && st_set_has(offered, ST_BY_OPERATOR_SCOPE))
		return st_grouping_without_modules(err);
	if ((grouping == ST_BY_INPUT_SHAPES || grouping == ST_BY_INPUT_TYPES) &&
	    st_set_has(offered, ST_BY_OPERATOR_SCOPE))
		return st_error_set(
			err, ST_EUSAGE, 0,
			"this result has no operator inputs; record them with -collect operators");
	/* Only waits have this; they lack functions where the program told of them. */
	if ((grouping == ST_BY_FUNCTION || grouping == ST_BY_PYTHON_LINE) &&
	    st_set_has(offered, ST_BY_WAKER))
		return st_error_set(err, ST_EUSAGE, 0,
				    "the waits of this result have no call stacks, so they have no "
				    "%s; record them with -collect threading",
				    table[grouping].name);
	return st_error_set(err, ST_EUSAGE, 0, "no grouping %s here; available: %s",
			    table[grouping].name, list);
}
