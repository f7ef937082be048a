/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of knobs and the reading of their values. Groups of ITT calls have the names that
 * INTEL_ITTNOTIFY_GROUPS gives them. Knobs may come in any order, so that what they need of each other (the limits of
 * the sampling interval are its mode's, operators may be switched off) is tested when all are read.
 */
#include "cli/knobs.h"

#include <stdio.h>
#include <string.h>

#include "request/options.h"
#include "request/values.h"
#include "collect/launch/run/collect.h"
#include "format/analysis.h"

enum {
	KNOB_NAME_BYTES = 64,
	WORD_BYTES = 64,
	DOMAINS_MAX_BYTES = 4096,
	NAMES_MAX = 32,
	STACK_MAX_BYTES = 1 << 20,
	WAIT_STACK_MAX_US = 1000000,
};

static enum st_status apply_ring_size(const char *option, const char *value,
				      struct st_collect_config *config, struct st_error *err)
{
	uint64_t kib;
	enum st_status status = st_value_count(option, value, 64, 4096, &kib, err);

	if (status)
		return status;
	if (kib & (kib - 1))
		return st_error_set(err, ST_EUSAGE, 0,
				    "-%s: %s is not a power of two from 64 to 4096 (KiB)", option,
				    value);
	config->ring_kib = (uint32_t)kib;
	return ST_OK;
}

static const struct {
	const char *name;
	uint32_t bits;
} groups[] = {
	{"all", UINT32_MAX}, {"none", 0},	    {"control", 0x2},	  {"thread", 0x4},
	{"mark", 0x8},	     {"sync", 0x10},	    {"fsync", 0x20},	  {"jit", 0x40},
	{"model", 0x80},     {"counter", 0x100},    {"frame", 0x200},	  {"stitch", 0x400},
	{"heap", 0x800},     {"structure", 0x1000}, {"suppress", 0x2000}, {"arrays", 0x4000},
	{"module", 0x8000},
};

enum { GROUP_COUNT = sizeof(groups) / sizeof(groups[0]) };

static enum st_status find_group(const char *option, const char *word, uint32_t *bits,
				 struct st_error *err)
{
	const char *names[GROUP_COUNT];
	char near[160];

	for (size_t i = 0; i < GROUP_COUNT; i++) {
		names[i] = groups[i].name;
		if (strcmp(word, groups[i].name) == 0) {
			*bits = groups[i].bits;
			return ST_OK;
		}
	}
	st_near_text(word, names, GROUP_COUNT, near, sizeof(near));
	return st_error_set(
		err, ST_EUSAGE, 0, "-%s: unknown group of ITT calls '%.40s'%s", option, word,
		near[0] ? near
			: "; expected structure, counter, frame, sync, fsync, heap, mark, control, "
			  "thread, stitch, suppress, module, model, jit, arrays, all or none");
}

/* Copies the next word of a list joined by commas; false when it is empty or too long. */
static bool next_word(const char **at, char *word, size_t size)
{
	size_t length = strcspn(*at, ",");
	bool fits = length > 0 && length < size;

	snprintf(word, size, "%.*s", (int)length, *at);
	*at += length;
	*at = **at ? *at + 1 : NULL;
	return fits;
}

/* "structure,counter", or what is left of all: "!sync,!heap". */
static enum st_status apply_groups(const char *option, const char *value,
				   struct st_collect_config *config, struct st_error *err)
{
	const char *at = value;
	uint32_t chosen = value[0] == '!' ? UINT32_MAX : 0;

	while (at) {
		char word[WORD_BYTES];
		uint32_t bits = 0;
		bool out, whole = next_word(&at, word, sizeof(word));
		enum st_status status;

		out = word[0] == '!';
		if (!whole || !word[out])
			return st_error_set(
				err, ST_EUSAGE, 0,
				"-%s: '%.60s' contains an empty name or one that is too long",
				option, value);
		status = find_group(option, word + out, &bits, err);
		if (status)
			return status;
		chosen = out ? chosen & ~bits : chosen | bits;
	}
	config->itt_groups = chosen;
	config->has_itt_groups = true;
	return ST_OK;
}

static enum st_status read_patterns(const char *option, const char *value, const char **out,
				    struct st_error *err)
{
	size_t length = strlen(value);

	if (length > DOMAINS_MAX_BYTES)
		return st_error_set(err, ST_EUSAGE, 0, "-%s: longer than %d bytes", option,
				    DOMAINS_MAX_BYTES);
	for (const char *at = value; at;) {
		const char *comma = strchr(at, ',');
		size_t bytes = comma ? (size_t)(comma - at) : strlen(at);

		if (bytes == 0 || (bytes == 1 && *at == '!'))
			return st_error_set(err, ST_EUSAGE, 0,
					    "-%s: '%.60s' contains an empty name; expected "
					    "patterns such as torch,dnnl*,!noisy",
					    option, value);
		at = comma ? comma + 1 : NULL;
	}
	*out = value;
	return ST_OK;
}

static enum st_status apply_domains(const char *option, const char *value,
				    struct st_collect_config *config, struct st_error *err)
{
	return read_patterns(option, value, &config->itt_domains, err);
}

static enum st_status read_truth(const char *option, const char *value, enum st_choice *out,
				 struct st_error *err)
{
	bool is_true = strcmp(value, "true") == 0;

	if (!is_true && strcmp(value, "false") != 0)
		return st_error_set(err, ST_EUSAGE, 0, "-%s: expected true or false, not '%.60s'",
				    option, value);
	if (out)
		*out = is_true ? ST_CHOICE_ON : ST_CHOICE_OFF;
	return ST_OK;
}

/* Where a program has no PyTorch nothing is recorded in either case: auto is for those who cannot know. */
static enum st_status apply_collect_operators(const char *option, const char *value,
					      struct st_collect_config *config,
					      struct st_error *err)
{
	if (strcmp(value, "auto") == 0)
		config->operators.on = ST_CHOICE_DEFAULT;
	else if (strcmp(value, "true") == 0)
		config->operators.on = ST_CHOICE_ON;
	else if (strcmp(value, "false") == 0)
		config->operators.on = ST_CHOICE_OFF;
	else
		return st_error_set(err, ST_EUSAGE, 0,
				    "-%s: expected true, false or auto, not '%.60s'", option,
				    value);
	return ST_OK;
}

static enum st_status apply_sampling_mode(const char *option, const char *value,
					  struct st_collect_config *config, struct st_error *err)
{
	config->sampling.hardware = strcmp(value, "hw") == 0;
	if (config->sampling.hardware || strcmp(value, "sw") == 0)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0, "-%s: expected sw or hw, not '%.60s'", option,
			    value);
}

static enum st_status apply_sampling_interval(const char *option, const char *value,
					      struct st_collect_config *config,
					      struct st_error *err)
{
	double ms;
	enum st_status status = st_value_milliseconds(option, value, &ms, err);

	if (status)
		return status;
	/* 0 stands for "not given": the smallest time instead, which is outside all limits. */
	config->sampling.interval_ns = (uint64_t)(ms * 1e6);
	if (!config->sampling.interval_ns)
		config->sampling.interval_ns = 1;
	return ST_OK;
}

static enum st_status apply_stack_size(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err)
{
	return st_value_count(option, value, 0, STACK_MAX_BYTES, &config->sampling.stack_bytes,
			      err);
}

static enum st_status apply_stack_depth(const char *option, const char *value,
					struct st_collect_config *config, struct st_error *err)
{
	uint64_t frames;
	enum st_status status = st_value_count(option, value, ST_SAMPLE_DEPTH_MIN,
					       ST_SAMPLE_DEPTH_MAX, &frames, err);

	if (!status)
		config->sampling.depth = (uint32_t)frames;
	return status;
}

static enum st_status apply_sample_processes(const char *option, const char *value,
					     struct st_collect_config *config, struct st_error *err)
{
	return read_patterns(option, value, &config->sampling.processes, err);
}

static enum st_status apply_device(const char *option, const char *value,
				   struct st_collect_config *config, struct st_error *err)
{
	static const struct {
		const char *word;
		enum st_device_choice choice;
	} words[] = {{"auto", ST_DEVICES_DEFAULT}, {"on", ST_DEVICES_ON},
		     {"off", ST_DEVICES_OFF},	   {"light", ST_DEVICES_LIGHT},
		     {"api", ST_DEVICES_CALLS},	   {"memory", ST_DEVICES_BYTES},
		     {"graph", ST_DEVICES_GRAPHS}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(value, words[i].word) == 0) {
			config->devices = words[i].choice;
			return ST_OK;
		}
	return st_error_set(err, ST_EUSAGE, 0,
			    "-%s: expected auto, on, off, light, api, memory or graph, not '%.60s'",
			    option, value);
}

static enum st_status apply_waits(const char *option, const char *value,
				  struct st_collect_config *config, struct st_error *err)
{
	config->waits.wakes = strcmp(value, "hw") == 0;
	if (config->waits.wakes || strcmp(value, "sw") == 0)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0, "-%s: expected sw or hw, not '%.60s'", option,
			    value);
}

static enum st_status apply_wait_stack(const char *option, const char *value,
				       struct st_collect_config *config, struct st_error *err)
{
	config->waits.has_stack_us = true;
	return st_value_count(option, value, 0, WAIT_STACK_MAX_US, &config->waits.stack_us, err);
}

#define CHOICE(field) .choice = offsetof(struct st_collect_config, field)
#define SAMPLES .about = ST_RECORDS_SAMPLES
#define OPERATORS .about = ST_RECORDS_OPERATORS
#define WAITS .about = ST_RECORDS_WAITS
/* clang-format off */
const struct st_knob st_knobs[] = {
	{"ring-size", "KIB", "1024",
	 "Size of each thread's buffer in KiB: a power of two from 64 to 4096.", .apply = apply_ring_size},
	{"itt-domains", "PATTERNS", "all",
	 "Record only these ITT domains: a comma-separated list of names; '*' and '?' match as in a shell, a leading '!' excludes. An excluded domain costs its callers only a load and a branch.",
	 .apply = apply_domains},
	{"itt-groups", "NAMES", "the value of INTEL_ITTNOTIFY_GROUPS, otherwise all",
	 "Record only these groups of ITT calls, a comma-separated list: structure, counter, frame, sync, fsync, heap, mark, control, thread, stitch, suppress, module, model, jit, arrays, all, none; a leading '!' excludes.",
	 .apply = apply_groups},
	{"task-lines", "true|false", "false",
	 "Record the Python line that started each task.", CHOICE(task_lines)},
	{"offer-itt", "true|false", "true",
	 "Provide the Python module 'itt' to scripts that import it when it is not installed.",
	 CHOICE(offer_itt)},
	{"collect-operators", "true|false|auto", "auto",
	 "Record PyTorch operators: name, time, inputs and the operators they run in. true: every one. auto: in 'hotspots' and 'threading' as many as cost less than 1 % of the time: every one, or those of short turns spread over the run; in other types every one.", .apply = apply_collect_operators, OPERATORS},
	{"measure-cost", "true|false", "false",
	 "Measure what recording operators costs: switch it off for short turns, about 3 % of the time, and compare. These operators are missing. 'hotspots' compares the turns it has anyway.",
	 CHOICE(operators.measured), OPERATORS},
	{"operator-shapes", "true|false", "true",
	 "Record the shapes and types of operator inputs, for -group-by input-shapes, FLOPs and bytes.",
	 CHOICE(operators.shapes), OPERATORS},
	{"operator-memory", "true|false", "true for 'operators', otherwise false",
	 "Record the memory that the framework allocates and frees inside each operator.",
	 CHOICE(operators.memory), OPERATORS},
	{"operator-modules", "true|false", "true for 'operators', otherwise outermost calls",
	 "Record nn.Module calls, for steps and -group-by nn-module.", CHOICE(operators.modules), OPERATORS},
	{"operator-stacks", "true|false", "false",
	 "Record the Python call stack of each operator, for -group-by python-line and callstack.",
	 CHOICE(operators.stacks), OPERATORS},
	{"python-calls", "true|false", "false",
	 "Count every call of a Python or built-in function, for the report python-calls: the numbers of cProfile, for all threads and processes.", CHOICE(python_calls)},
	{"device", "auto|on|off|light|api|memory|graph", "auto",
	 "Record what devices do (CUDA, Level Zero, OpenCL): kernels, copies and fills, and the calls that launch, copy, allocate or wait. auto: on in 'operators' and 'tasks'; off in 'hotspots' and 'threading', which it would slow down. light: only what runs on devices and the calls that wait for them. memory: also what is allocated on devices. api: every call of the runtime and the driver. graph: each launch of a CUDA graph as a whole, not its kernels; the last three are for CUDA.", .apply = apply_device},
	{"sampling-mode", "sw|hw", "sw",
	 "hotspots: sw samples by the CPU time of each thread; hw by CPU cycles where they can be counted, otherwise by the CPU clock; the summary shows which.", .apply = apply_sampling_mode, SAMPLES},
	{"sampling-interval", "MS", "10 in sw mode, 1 in hw mode",
	 "hotspots: CPU time between two samples of a thread, 0.1 to 1000 ms (hw: 0.01 to 1000).",
	 .apply = apply_sampling_interval, SAMPLES},
	{"enable-stack-collection", "true|false", "true",
	 "hotspots: record the call stack of each sample, not only its address.", CHOICE(sampling.stacks), SAMPLES},
	{"stack-size", "BYTES", "the whole stack",
	 "hotspots: bytes of each stack to copy when sampling from outside (-target-pid); otherwise no effect.",
	 .apply = apply_stack_size, SAMPLES},
	{"stack-depth", "FRAMES", "512",
	 "hotspots: maximum number of native frames, and of Python frames, in a stack, 1 to 4095; deeper stacks lose their outermost frames and are marked as truncated.", .apply = apply_stack_depth, SAMPLES},
	{"sample-processes", "PATTERNS", "all",
	 "hotspots: sample only processes whose program or script matches one of these names; patterns as for itt-domains.", .apply = apply_sample_processes, SAMPLES},
	{"sampling-and-waits", "sw|hw", "sw",
	 "threading: how waits are recorded: sw, by the functions of the C library in which threads wait and by context switches; hw, also by the kernel's wake-ups, which tell who let a thread go on, from other processes too, and how long it then waited for a CPU (root, or CAP_PERFMON and tracefs).", .apply = apply_waits, WAITS},
	{"wait-stack-threshold", "US", "100",
	 "threading: record the call stack of waits that take at least so many microseconds, 0 to 1000000.", .apply = apply_wait_stack, WAITS},
	{"enable-characterization-insights", "true|false", "true",
	 "hotspots: accepted for compatibility; no effect.", SAMPLES},
	{.name = NULL},
};
/* clang-format on */

void st_knob_head(const struct st_knob *knob, char *out, size_t out_size)
{
	snprintf(out, out_size, "%s=%s", knob->name, knob->argument);
}

/* Knobs of VTune's other analyses: what gives the same here, or that nothing does. */
static const struct {
	const char *name, *analysis, *instead;
} foreign_knobs[] = {
	{"analyze-openmp", "hpc-performance",
	 "time that OpenMP threads wait or work is in every -collect hotspots: strata report "
	 "hotspots -group-by cpu-class"},
	{"analyze-mem-objects", "memory-access",
	 "for memory of PyTorch use -collect operators, then strata report memory"},
	{"mem-object-size-min-thres", "memory-consumption",
	 "for memory of PyTorch use -collect operators, then strata report memory"},
	{"collect-memory-bandwidth", "uarch-exploration", "memory bandwidth is not measured"},
	{"dram-bandwidth-limits", "memory-access", "memory bandwidth is not measured"},
	{"pmu-collection-mode", "uarch-exploration", "events of the processor are not counted"},
	{"collect-affinity", "threading", "affinity is not recorded"},
	{"gpu-sampling-interval", "gpu-hotspots", "GPUs are not sampled"},
	{"characterization-mode", "gpu-hotspots", "GPUs are not sampled"},
	{"target-gpu", "gpu-hotspots", "GPUs are not sampled"},
	{"enable-gpu-usage", "gpu-offload", "GPUs are not sampled"},
	{"collect-programming-api", "gpu-offload", "GPUs are not sampled"},
	{"enable-user-tasks", "runsa", "tasks are always recorded"},
	{"event-config", "runsa", "events of the processor are not counted"},
	{"enable-user-sync", "threading",
	 "waits that a program reports are always recorded: strata report sync"},
	{"io-mode", "io", "input and output are not recorded"},
};

static enum st_status unknown_knob(const char *name, struct st_error *err)
{
	char list[800] = "";
	size_t used = 0;
	char near[160];

	for (size_t i = 0; i < sizeof(foreign_knobs) / sizeof(foreign_knobs[0]); i++)
		if (strcmp(name, foreign_knobs[i].name) == 0)
			return st_error_set(err, ST_EUSAGE, 0,
					    "knob '%s' belongs to VTune's analysis %s; %s", name,
					    foreign_knobs[i].analysis, foreign_knobs[i].instead);
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		int size = snprintf(list + used, sizeof(list) - used, "%s'%s'", used ? ", " : "",
				    knob->name);

		if (size > 0 && (size_t)size < sizeof(list) - used)
			used += (size_t)size;
	}
	st_row_near(st_knobs, sizeof(*st_knobs), name, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown knob '%s'%s%s", name,
			    near[0] ? near : "; expected one of ", near[0] ? "" : list);
}

static enum st_status not_of(const struct st_knob *knob, const struct st_analysis *asked,
			     struct st_error *err)
{
	const struct st_analysis *other = st_analyses;

	while (other->name && (knob->about & ~other->records))
		other++;
	return st_error_set(err, ST_EUSAGE, 0, "-knob %s requires '%s': '%s' %s", knob->name,
			    other->name, asked->name,
			    knob->about & ST_RECORDS_SAMPLES ? "takes no samples"
			    : knob->about & ST_RECORDS_WAITS ? "records no waits"
							     : "records no operators");
}

/* NULL when the value has another form, or no effect. */
static enum st_choice *choice_of(const struct st_knob *knob, struct st_collect_config *config)
{
	return knob->choice ? (enum st_choice *)(void *)((char *)config + knob->choice) : NULL;
}

static enum st_status read_knob(const char *text, uint32_t *seen, struct st_collect_config *config,
				struct st_error *err)
{
	char name[KNOB_NAME_BYTES], option[KNOB_NAME_BYTES + 8];
	const char *value;
	enum st_status status = st_value_pair("knob", text, name, sizeof(name), &value, err);

	if (status)
		return status;
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		uint32_t bit = 1u << (knob - st_knobs);

		if (strcmp(name, knob->name) != 0)
			continue;
		if (*seen & bit)
			return st_error_set(err, ST_EUSAGE, 0, "-knob %s given twice", name);
		*seen |= bit;
		if (knob->about & ~config->analysis->records)
			return not_of(knob, config->analysis, err);
		snprintf(option, sizeof(option), "knob %s", name);
		return knob->apply ? knob->apply(option, value, config, err)
				   : read_truth(option, value, choice_of(knob, config), err);
	}
	return unknown_knob(name, err);
}

/* Refuses what would have no effect. */
static enum st_status check_operators(struct st_collect_config *config, struct st_error *err)
{
	if (config->operators.on != ST_CHOICE_OFF)
		return ST_OK;
	if (config->analysis->purpose & ST_RECORDS_OPERATORS)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-knob collect-operators=false leaves '%s' nothing to record: "
				    "use -collect tasks",
				    config->analysis->name);
	for (const struct st_knob *knob = st_knobs; knob->name; knob++) {
		const enum st_choice *choice = choice_of(knob, config);

		if ((knob->about & ST_RECORDS_OPERATORS) && choice && *choice == ST_CHOICE_ON)
			return st_error_set(
				err, ST_EUSAGE, 0,
				"-knob %s has no effect with -knob collect-operators=false",
				knob->name);
	}
	return ST_OK;
}

enum st_status st_knobs_read(const struct st_args *args, struct st_collect_config *config,
			     struct st_error *err)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < args->given_count; i++) {
		enum st_status status;

		if (args->given[i].id != ST_OPT_KNOB)
			continue;
		status = read_knob(args->given[i].value, &seen, config, err);
		if (status)
			return status;
	}
	return check_operators(config, err);
}
