/* SPDX-License-Identifier: Apache-2.0
 *
 * How stacks are shown: options of every report on samples.
 */
#ifndef ST_ANALYZE_ENGINE_SAMPLE_VIEW_H
#define ST_ANALYZE_ENGINE_SAMPLE_VIEW_H

#include <stdbool.h>

struct st_named_options;

enum st_call_stack_mode {
	ST_STACK_DEFAULT, /* what was asked for when the result was collected, else user-plus-one */
	ST_STACK_ALL,
	ST_STACK_USER_ONLY, /* time of system functions is that of the user function that called */
	ST_STACK_USER_PLUS_ONE, /* and one system function that it called */
};

enum st_python_frames {
	ST_PYTHON_MIXED, /* in place of the evaluation functions that run them */
	ST_PYTHON_ONLY,
	ST_PYTHON_NONE,
};

enum st_show_as { ST_SHOW_VALUES, ST_SHOW_SAMPLES, ST_SHOW_PERCENT };

struct st_sample_view {
	enum st_call_stack_mode call_stack_mode;
	enum st_python_frames python_frames;
	enum st_show_as show_as;
	bool no_inlines;
	bool folds_glue; /* trees of calls without interpreter, dispatcher and the like; not with mode all */
	double threshold_percent; /* rows up to this share of their parent; 0: all */
	const char *class_rules;  /* file of further rules for the classes of CPU time, or NULL */
	const struct st_named_options *naming; /* NULL: as it comes */
};

#endif
