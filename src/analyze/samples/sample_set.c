// SPDX-License-Identifier: Apache-2.0
//
// Opening the samples of a result, and which frames of their stacks are shown.
#include "analyze/samples/sample_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/operators/dataset_tasks.h"
#include "analyze/operators/dataset_operators.h"
#include "analyze/samples/frame_class.h"
#include "analyze/samples/sample_operators.h"
#include "analyze/samples/sample_waits.h"
#include "store/result.h"
#include "format/analysis.h"

/* Of a program that used less, no sample can be expected. */
enum { SHORT_CPU_NS = 20000000 };

static const enum st_grouping frame_groupings[] = {
	ST_BY_FUNCTION, ST_BY_FUNCTION_MANGLED, ST_BY_MODULE,		ST_BY_MODULE_PATH,
	ST_BY_CLASS,	ST_BY_SOURCE_FILE,	ST_BY_SOURCE_FILE_PATH, ST_BY_SOURCE_LINE,
	ST_BY_ADDRESS,	ST_BY_PYTHON_FUNCTION,	ST_BY_PYTHON_LINE,
};

struct st_set st_sample_answers(void)
{
	struct st_set set =
		ST_SET(ST_BY_PROCESS, ST_BY_THREAD, ST_BY_CATEGORY, ST_BY_TASK_DOMAIN,
		       ST_BY_TASK_TYPE, ST_BY_TASK_FAMILY, ST_BY_TASK, ST_BY_STEP, ST_BY_CALLSTACK,
		       ST_BY_FUNCTION_STACK, ST_BY_CPU_CLASS, ST_BY_OPERATOR, ST_BY_NN_MODULE);

	for (size_t i = 0; i < sizeof(frame_groupings) / sizeof(frame_groupings[0]); i++)
		st_set_add(&set, frame_groupings[i]);
	return st_set_join(set, st_wait_groupings());
}

struct st_set st_sample_answers_of(const struct st_result *result)
{
	struct st_set set = st_sample_answers();

	if (result && !st_result_has_modules(result))
		st_set_remove(&set, ST_BY_NN_MODULE);
	for (unsigned int i = 0; result && i < ST_GROUPINGS; i++)
		if (st_set_has(st_wait_groupings(), i) && !st_sample_has_waits(result))
			st_set_remove(&set, i);
	return set;
}

bool st_grouping_is_frame(enum st_grouping grouping)
{
	for (size_t i = 0; i < sizeof(frame_groupings) / sizeof(frame_groupings[0]); i++)
		if (frame_groupings[i] == grouping)
			return true;
	return false;
}

bool st_grouping_is_python(enum st_grouping grouping)
{
	return grouping == ST_BY_PYTHON_FUNCTION || grouping == ST_BY_PYTHON_LINE;
}

bool st_grouping_is_task(enum st_grouping grouping)
{
	return grouping == ST_BY_CATEGORY || grouping == ST_BY_TASK_DOMAIN ||
	       grouping == ST_BY_TASK_TYPE || grouping == ST_BY_TASK_FAMILY ||
	       grouping == ST_BY_TASK || grouping == ST_BY_STEP || grouping == ST_BY_OPERATOR ||
	       grouping == ST_BY_NN_MODULE;
}

static bool is_system(const struct st_named_function *function)
{
	return function->kind == ST_FUNCTION_KERNEL || function->flags & ST_FUNCTION_SYSTEM;
}

/* Whether a frame is shown at all, apart from whose frame it is. */
static bool is_wanted(const struct st_sample_set *set, const struct st_named_frame *frame)
{
	bool python = set->named->functions[frame->function].kind == ST_FUNCTION_PYTHON;

	if (set->view.no_inlines && frame->flags & ST_NAMED_INLINED)
		return false;
	switch (set->view.python_frames) {
	case ST_PYTHON_ONLY:
		return python;
	case ST_PYTHON_NONE:
		return !python;
	default:
		return !(frame->flags & ST_NAMED_EVAL);
	}
}

/* A system function is shown below a user function, once. Above all user functions (the start of a thread)
 * it is nobody's. */
static bool passes_mode(const struct st_sample_set *set, uint32_t index, uint32_t caller)
{
	const struct st_named_function *functions = set->named->functions;
	const struct st_named_frame *frames = set->named->frames;

	if (set->view.call_stack_mode == ST_STACK_ALL ||
	    !is_system(&functions[frames[index].function]))
		return true;
	return set->view.call_stack_mode == ST_STACK_USER_PLUS_ONE && caller &&
	       !is_system(&functions[frames[caller].function]);
}

static bool has_bit(const uint8_t *bits, uint32_t at)
{
	return bits[at / 8] >> at % 8 & 1;
}

/* A run of Python's garbage collector begins here; by version of CPython and by what compilers inlined. */
static bool begins_collection(const struct st_named *named,
			      const struct st_named_function *function)
{
	static const char *const names[] = {"gc_collect_main",	      "gc_collect_with_callback",
					    "gc_collect_generations", "collect_with_callback",
					    "collect_generations",    "_PyGC_Collect",
					    "_PyGC_CollectNoFail",    "_Py_RunGC"};
	struct st_text module = named->modules[function->module].name;

	if (module.size_bytes < 6 ||
	    (memcmp(module.bytes, "python", 6) != 0 &&
	     (module.size_bytes < 9 || memcmp(module.bytes, "libpython", 9) != 0)))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (function->name.size_bytes == strlen(names[i]) &&
		    memcmp(function->name.bytes, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* What a collection calls is one row, that of the collector, unless all functions are asked for. */
static bool is_inside_collection(struct st_sample_set *set, uint32_t index)
{
	const struct st_named_frame *frame = &set->named->frames[index];
	const struct st_named_function *function = &set->named->functions[frame->function];
	bool is_inside = frame->parent && has_bit(set->is_gc, frame->parent);
	bool begins;

	if (function->kind == ST_FUNCTION_PYTHON)
		return false; /* a finalizer, say */
	begins = begins_collection(set->named, function);
	if (is_inside || begins)
		set->is_gc[index / 8] |= (uint8_t)(1u << index % 8);
	return is_inside && !begins && set->view.call_stack_mode != ST_STACK_ALL;
}

static bool make_view(struct st_sample_set *set)
{
	const struct st_named *named = set->named;
	size_t count = (size_t)named->frame_count + 1;

	set->is_shown = st_arena_calloc(&set->arena, count / 8 + 1, 1);
	set->is_gc = st_arena_calloc(&set->arena, count / 8 + 1, 1);
	set->python_of = st_arena_calloc(&set->arena, count, sizeof(*set->python_of));
	set->caller = st_arena_calloc(&set->arena, count, sizeof(*set->caller));
	set->classes = st_arena_calloc(&set->arena, count, sizeof(*set->classes));
	if (!set->classes)
		return false;
	for (uint32_t i = 1; i < named->frame_count; i++) {
		const struct st_named_frame *frame = &named->frames[i];
		uint32_t caller = set->caller[i] = st_sample_shown(set, frame->parent);

		if (!is_inside_collection(set, i) && is_wanted(set, frame) &&
		    passes_mode(set, i, caller))
			set->is_shown[i / 8] |= (uint8_t)(1u << i % 8);
		set->python_of[i] = named->functions[frame->function].kind == ST_FUNCTION_PYTHON
					    ? i
					    : set->python_of[frame->parent];
	}
	return true;
}

/* The body of a library's module is where an import begins; inside another one it is only how that goes on. */
static bool is_folded(const struct st_sample_set *set, const uint8_t *classes, uint32_t frame)
{
	const struct st_named_frame *frames = set->named->frames;
	uint32_t outer = set->tree_caller[frame];

	switch (classes[frames[frame].function]) {
	case ST_FRAME_GLUE:
		return true;
	case ST_FRAME_IMPORT:
		return outer && classes[frames[outer].function] == ST_FRAME_IMPORT;
	default:
		return false;
	}
}

/* Callers come before those they called, so each frame is looked at once. What was interrupted is always shown: only
 * glue between two functions goes, and no function's own time changes. */
static bool fold_glue(struct st_sample_set *set)
{
	const struct st_named *named = set->named;
	size_t count = (size_t)named->frame_count + 1;
	uint8_t *classes;

	set->tree_caller = set->caller;
	if (!set->view.folds_glue)
		return true;
	classes = calloc((size_t)named->function_count + 1, 1);
	set->tree_caller = st_arena_calloc(&set->arena, count, sizeof(*set->tree_caller));
	if (!classes || !set->tree_caller || !st_frame_classes(named, classes)) {
		free(classes);
		return false;
	}
	for (uint32_t i = 1; i < named->frame_count; i++) {
		uint32_t caller = set->caller[i];

		set->tree_caller[i] = caller && is_folded(set, classes, caller)
					      ? set->tree_caller[caller]
					      : caller;
	}
	free(classes);
	return true;
}

bool st_sample_is_collecting(const struct st_sample_set *set, uint32_t frame)
{
	return has_bit(set->is_gc, frame);
}

uint32_t st_sample_leaf(const struct st_sample_set *set, uint32_t node)
{
	uint32_t frame = node < set->named->node_count ? set->named->frame_of_node[node] : 0;

	uint32_t shown = st_sample_shown(set, frame);

	if (shown || set->view.python_frames == ST_PYTHON_ONLY)
		return shown;
	/* A stack without any user function: its time is that of the function itself. */
	return frame;
}

static enum st_status classify(struct st_sample_set *set, struct st_error *err)
{
	struct st_class_rules rules;
	enum st_status status = st_class_rules_load(&rules, set->view.class_rules, err);

	if (status)
		return status;
	if (!st_class_frames(&rules, set->named, set->classes))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the samples");
	st_class_rules_fini(&rules);
	return status;
}

/* The value of an option that collect was given and left for reports, or "". */
static const char *kept_option(const struct st_result *result, const char *name)
{
	const char *options = st_result_info(result)->options;
	const char *found = options ? strstr(options, name) : NULL;

	return found ? found + strlen(name) : "";
}

void st_sample_view_complete(struct st_sample_view *view, const struct st_result *result)
{
	const char *stacks = kept_option(result, "-call-stack-mode ");

	if (strncmp(kept_option(result, "-inline-mode "), "off", 3) == 0)
		view->no_inlines = true;
	if (view->call_stack_mode != ST_STACK_DEFAULT)
		return;
	view->call_stack_mode = ST_STACK_USER_PLUS_ONE;
	if (strncmp(stacks, "all", 3) == 0) {
		view->call_stack_mode = ST_STACK_ALL;
		view->folds_glue = false;
	} else if (strncmp(stacks, "user-only", 9) == 0)
		view->call_stack_mode = ST_STACK_USER_ONLY;
}

static struct st_text sample_text(const struct st_dataset *dataset, enum st_grouping grouping,
				  uint32_t key, struct st_arena *arena)
{
	return st_sample_text(dataset->private_data, grouping, key, arena);
}

static uint64_t row_weight(const struct st_dataset *dataset, uint32_t row)
{
	const struct st_sample_set *set = dataset->private_data;

	return set->rows->rows[row].weight;
}

/* Most results have no waits, and few kinds of spinning: their figures would take half of the memory of a tree. */
static struct st_set absent_measures(const struct st_sample_set *set)
{
	const struct st_samples *samples = set->samples;
	bool waits = st_sample_has_waits(set->result) || st_sample_has_preempted(set->result);
	struct st_set absent = st_set_range(ST_CPU_SPIN, ST_OVERHEAD_OTHER + 1);

	for (uint32_t i = 0; i < samples->count && !waits; i++)
		waits = samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE);
	for (uint32_t i = 0; i < set->named->frame_count; i++) {
		enum st_cpu_class of = (enum st_cpu_class)set->classes[i];

		st_set_remove(&absent, st_cpu_class_metric(of));
		st_set_remove(&absent, st_cpu_class_kind(of));
	}
	return waits ? absent
		     : st_set_join(absent, ST_SET(ST_WAIT, ST_WAIT_ALL, ST_WAIT_COUNT, ST_SYNC_WAIT,
						  ST_IDLE_WAIT, ST_PREEMPTED));
}

enum st_status st_sample_set_open(struct st_sample_set *out, const struct st_result *result,
				  const struct st_sample_view *view, struct st_error *err)
{
	static const struct st_named_options usual = {.inlines = true, .keep = true};
	enum st_status status;

	memset(out, 0, sizeof(*out));
	out->result = result;
	out->samples = st_result_samples(result);
	if (view)
		out->view = *view;
	st_sample_view_complete(&out->view, result);
	st_arena_init(&out->arena, SIZE_MAX / 2);
	st_result_tracks(result, &out->track_count);
	st_result_processes(result, &out->process_count);
	out->dataset = (struct st_dataset){
		.private_data = out,
		.arena = &out->arena,
		.answers = st_sample_answers(),
		.measures = st_sample_measures,
		.measure_count = ST_SAMPLE_MEASURES,
		.sorted_by = ST_CPU_SELF,
		.total = ST_CPU_TOTAL,
		.instance = ST_GROUPINGS,
		.threshold_percent = out->view.threshold_percent,
		.text = sample_text,
		.alias = st_sample_alias,
		.weight = row_weight,
	};
	status = st_dataset_slices_init(&out->slices, result, err);
	if (!status)
		status = st_named_open(&out->named, result,
				       out->view.naming ? out->view.naming : &usual, err);
	if (!status && (!make_view(out) || !fold_glue(out)))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the samples");
	if (!status)
		status = classify(out, err);
	if (!status)
		out->dataset.absent = absent_measures(out);
	if (!status)
		status = st_sample_operators_make(out, err);
	if (!status)
		status = st_sample_waits_open(out, err);
	if (status)
		st_sample_set_close(out);
	return status;
}

void st_sample_set_close(struct st_sample_set *set)
{
	if (!set)
		return;
	st_sample_operators_fini(set);
	st_dataset_rows_fini(&set->waits);
	st_named_close(set->named);
	st_dataset_slices_fini(&set->slices);
	st_arena_fini(&set->arena);
	memset(set, 0, sizeof(*set));
}

enum st_status st_sample_offers(const struct st_result *result, enum st_grouping grouping,
				struct st_set offered, struct st_error *err)
{
	if (!(st_set_has(offered, grouping)))
		return st_grouping_refuse(grouping, offered, err);
	/* Where there are no samples, this is what is said. */
	if (grouping == ST_BY_NN_MODULE && st_result_samples(result)->count &&
	    !st_result_has_modules(result))
		return st_grouping_without_modules(err);
	return ST_OK;
}

enum st_status st_sample_check(const struct st_sample_set *set, const struct st_question *question,
			       struct st_error *err)
{
	enum st_status status = ST_OK;

	for (unsigned int i = 0; i < question->grouping_count && !status; i++)
		status = st_sample_offers(set->result, question->groupings[i], set->dataset.answers,
					  err);
	for (size_t i = 0; i < question->filter_count && !status; i++)
		status = st_sample_offers(set->result, question->filters[i].grouping,
					  set->dataset.answers, err);
	return status;
}

enum st_status st_sample_ask(struct st_sample_set *set, const struct st_question *question,
			     struct st_answer *out, struct st_error *err)
{
	struct st_sample_rows rows;
	enum st_status status = st_sample_check(set, question, err);

	memset(out, 0, sizeof(*out));
	if (!status)
		status = st_sample_rows_fold(&rows, set, question, err);
	if (status)
		return status;
	status = st_dataset_ask(&set->dataset, question, out, err);
	st_sample_rows_fini(&rows);
	set->callers_cut += out->callers_cut;
	return status;
}

const char *st_sample_absence(const struct st_result *result)
{
	uint32_t pauses, samplers, not_entered;

	st_result_pauses(result, &pauses);
	st_result_samplers(result, &samplers);
	if (st_result_samples(result)->count)
		return "No samples match.";
	if (!samplers && !st_analysis_is_for(st_result_info(result)->type, ST_RECORDS_SAMPLES))
		return "No samples were recorded; use strata -collect hotspots.";
	if (pauses)
		return "No samples were taken: recording was paused by -start-paused or by the "
		       "program.";
	if (st_result_info(result)->target_cpu_ns < SHORT_CPU_NS)
		return "No samples were taken: the program used less CPU time than one sampling "
		       "interval (or see the notes).\n"
		       "Use -knob sampling-interval=1 to sample every ms.";
	st_result_not_entered(result, &not_entered);
	if (not_entered)
		return "No samples were taken: the CPU time is that of programs that cannot be "
		       "recorded; strata report info lists them with the reasons.\n"
		       "Start such a program alone and use strata -collect hotspots -target-pid "
		       "PID, "
		       "or perf record -g and strata import perf.data.";
	return "No samples were taken, although the program used CPU time: see the notes.";
}
