// SPDX-License-Identifier: Apache-2.0
//
// Which class of CPU time a stack means. Rules are tried once per function; a stack then costs a walk over
// its innermost frames: those of the C library and the kernel, and those of the runtime that called them.
#include "analyze/samples/cpu_class.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "resolve/named.h"

static const struct {
	const char *name, *title;
	enum st_metric metric, kind;
} table[ST_CPU_CLASSES] = {
	[ST_CLASS_EFFECTIVE] = {"effective", "Effective", ST_CPU_EFFECTIVE, ST_CPU_EFFECTIVE},
	[ST_CLASS_SPIN_IMBALANCE] = {"spin-imbalance", "Spin: Imbalance or Serial Spinning",
				     ST_SPIN_IMBALANCE, ST_CPU_SPIN},
	[ST_CLASS_SPIN_LOCK] = {"spin-lock", "Spin: Lock Contention", ST_SPIN_LOCK, ST_CPU_SPIN},
	[ST_CLASS_SPIN_COMMUNICATION] = {"spin-communication", "Spin: Communication",
					 ST_SPIN_COMMUNICATION, ST_CPU_SPIN},
	[ST_CLASS_SPIN_OTHER] = {"spin-other", "Spin: Other", ST_SPIN_OTHER, ST_CPU_SPIN},
	[ST_CLASS_OVERHEAD_CREATION] = {"overhead-creation", "Overhead: Creation",
					ST_OVERHEAD_CREATION, ST_CPU_OVERHEAD},
	[ST_CLASS_OVERHEAD_SCHEDULING] = {"overhead-scheduling", "Overhead: Scheduling",
					  ST_OVERHEAD_SCHEDULING, ST_CPU_OVERHEAD},
	[ST_CLASS_OVERHEAD_REDUCTION] = {"overhead-reduction", "Overhead: Reduction",
					 ST_OVERHEAD_REDUCTION, ST_CPU_OVERHEAD},
	[ST_CLASS_OVERHEAD_ATOMICS] = {"overhead-atomics", "Overhead: Atomics", ST_OVERHEAD_ATOMICS,
				       ST_CPU_OVERHEAD},
	[ST_CLASS_OVERHEAD_OTHER] = {"overhead-other", "Overhead: Other", ST_OVERHEAD_OTHER,
				     ST_CPU_OVERHEAD},
};

const char *st_cpu_class_name(enum st_cpu_class cpu_class)
{
	return table[cpu_class].name;
}

const char *st_cpu_class_title(enum st_cpu_class cpu_class)
{
	return table[cpu_class].title;
}

enum st_metric st_cpu_class_metric(enum st_cpu_class cpu_class)
{
	return table[cpu_class].metric;
}

enum st_metric st_cpu_class_kind(enum st_cpu_class cpu_class)
{
	return table[cpu_class].kind;
}

enum { NO_RULE = UINT16_MAX };

/* What the rules say of a function: the first rule that names it and the first for the rest of its module,
 * under each condition. */
struct verdict {
	uint16_t named[ST_PAUSE_KINDS], rest[ST_PAUSE_KINDS];
	bool has_pause;
};

static bool is_system(const struct st_named_function *function)
{
	return function->kind == ST_FUNCTION_KERNEL || function->flags & ST_FUNCTION_SYSTEM;
}

static bool match_one(const char *pattern, struct st_text name)
{
	const char *dot = memchr(name.bytes, '.', name.size_bytes);

	if (st_pattern_match(pattern, name))
		return true;
	/* "gomp_team_end.part.0" is what the compiler made of gomp_team_end. */
	return dot && dot > name.bytes &&
	       st_pattern_match(pattern, (struct st_text){name.bytes, (size_t)(dot - name.bytes)});
}

/* The alternatives of a rule lie one behind the other, each with its terminator, an empty one at the end. */
static bool match_any(const char *patterns, struct st_text name)
{
	for (; *patterns; patterns += strlen(patterns) + 1)
		if (match_one(patterns, name))
			return true;
	return false;
}

static bool match_module(const char *patterns, struct st_text name)
{
	for (; *patterns; patterns += strlen(patterns) + 1)
		if (st_pattern_match(patterns, name))
			return true;
	return false;
}

static void judge(const struct st_class_rules *rules, const uint8_t *of_module,
		  const struct st_named_function *function, struct verdict *out)
{
	for (uint32_t i = 0; i < rules->count; i++) {
		const struct st_class_rule *rule = &rules->rules[i];
		uint16_t *places = rule->is_rest ? out->rest : out->named;

		if (!of_module[i] || (!rule->is_rest && !match_any(rule->function, function->name)))
			continue;
		/* What is right without a condition is right under any. */
		for (unsigned int pause = rule->pause; pause < ST_PAUSE_KINDS; pause++)
			if (places[pause] == NO_RULE)
				places[pause] = (uint16_t)i;
	}
}

static bool judge_functions(const struct st_class_rules *rules, const struct st_named *named,
			    struct verdict *verdicts)
{
	size_t rule_count = rules->count ? rules->count : 1;
	uint8_t *of_module = calloc((size_t)named->module_count + 1, rule_count);

	if (!of_module)
		return false;
	for (uint32_t module = 0; module < named->module_count; module++)
		for (uint32_t i = 0; i < rules->count; i++)
			of_module[module * rule_count + i] =
				match_module(rules->rules[i].module, named->modules[module].name);
	memset(verdicts, 0xff, ((size_t)named->function_count + 1) * sizeof(*verdicts));
	for (uint32_t i = 0; i < named->function_count; i++) {
		verdicts[i].has_pause = false;
		if (named->functions[i].kind != ST_FUNCTION_PYTHON &&
		    named->functions[i].module < named->module_count)
			judge(rules, of_module + named->functions[i].module * rule_count,
			      &named->functions[i], &verdicts[i]);
	}
	for (uint32_t i = 0; i < named->frame_count; i++)
		if (named->frames[i].flags & ST_NAMED_AT_PAUSE)
			verdicts[named->frames[i].function].has_pause = true;
	free(of_module);
	return true;
}

struct classifier {
	const struct st_class_rules *rules;
	const struct st_named *named;
	const struct verdict *verdicts;
};

/* The innermost frame that is not the system's, and what it waits in: frames of one runtime, from the inside
 * out, until one is named by a rule. */
static uint16_t runtime_rule(const struct classifier *c, uint32_t frame)
{
	const struct st_named_frame *frames = c->named->frames;
	const struct verdict *first = &c->verdicts[frames[frame].function];
	uint32_t module = c->named->functions[frames[frame].function].module;
	enum st_pause_kind pause = ST_PAUSE_ANY;
	bool is_runtime, go_on = true;

	if (first->has_pause)
		pause = frames[frame].flags & ST_NAMED_AT_PAUSE ? ST_PAUSE_AT : ST_PAUSE_FUNCTION;
	is_runtime = first->rest[ST_PAUSE_ANY] != NO_RULE;
	for (uint32_t at = frame; at && go_on; at = frames[at].parent) {
		const struct st_named_function *function =
			&c->named->functions[frames[at].function];

		if (function->module != module)
			break;
		if (c->verdicts[frames[at].function].named[pause] != NO_RULE)
			return c->verdicts[frames[at].function].named[pause];
		go_on = is_runtime || frames[at].flags & ST_NAMED_INLINED;
	}
	return first->rest[pause];
}

static enum st_cpu_class classify(const struct classifier *c, uint32_t frame)
{
	const struct st_named_frame *frames = c->named->frames;
	enum st_cpu_class pending = ST_CLASS_EFFECTIVE;
	uint16_t rule;

	for (; frame; frame = frames[frame].parent) {
		const struct verdict *verdict = &c->verdicts[frames[frame].function];

		if (!is_system(&c->named->functions[frames[frame].function]))
			break;
		rule = verdict->named[ST_PAUSE_ANY];
		if (rule != NO_RULE)
			pending = c->rules->rules[rule].cpu_class;
	}
	if (!frame)
		return pending;
	rule = runtime_rule(c, frame);
	return rule == NO_RULE ? pending : c->rules->rules[rule].cpu_class;
}

bool st_class_frames(const struct st_class_rules *rules, const struct st_named *named,
		     uint8_t *classes)
{
	struct verdict *verdicts = malloc(((size_t)named->function_count + 1) * sizeof(*verdicts));
	struct classifier classifier = {rules, named, verdicts};
	bool done = verdicts && judge_functions(rules, named, verdicts);

	for (uint32_t i = 0; done && i < named->frame_count; i++)
		classes[i] = i ? (uint8_t)classify(&classifier, i) : ST_CLASS_EFFECTIVE;
	free(verdicts);
	return done;
}
