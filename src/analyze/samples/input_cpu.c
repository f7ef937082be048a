// SPDX-License-Identifier: Apache-2.0
//
// A stack says that it is about input where a function of tf.data is in it, and that it is about the model where only the
// executor of a graph is. Kernels hand parts of their work to threads of a pool, whose stacks begin with the pool: what is
// done there is as much input as the same function is where its stack tells, and part of the same kernel.
#include "analyze/samples/input_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/samples/frame_class.h"
#include "base/arena.h"
#include "base/buf.h"
#include "resolve/short_name.h"
#include "store/samples.h"

enum side { NOBODY, MODEL, INPUT, SIDES };
enum {
	KERNELS_SHOWN = 2,
	KERNEL_PART = 5 /* of the input, at least: 1 / 5 */,
	NAME_BYTES_MAX = 1 << 20
};

struct work {
	const struct st_named *named;
	uint8_t *sides;		    /* by frame: enum side */
	uint64_t *self_ns;	    /* by frame */
	uint64_t *all_ns;	    /* by frame: with what it called */
	uint32_t *kernel;	    /* by frame: function of the kernel that it is part of, or 0 */
	uint8_t *has_line;	    /* by frame: a line of the program's own is around it */
	uint8_t *is_own;	    /* by source: of the program, and no library's */
	uint8_t *is_of;		    /* by function: enum side that it tells */
	uint8_t *is_kernel;	    /* by function */
	struct st_key_texts names;  /* of functions; a lambda goes by the function that it is in */
	uint32_t *name_of;	    /* by function */
	uint64_t (*of_side)[SIDES]; /* by name: time in stacks that tell their side */
	uint64_t *best_ns; /* by name: of the heaviest frame of it in a kernel of the input, … */
	uint32_t *best_kernel; /* … and that kernel */
	uint64_t *kernel_ns;   /* by function: input in that kernel */
};

static bool ends_with(struct st_text text, const char *end)
{
	size_t size = strlen(end);

	return text.size_bytes >= size && !memcmp(text.bytes + text.size_bytes - size, end, size);
}

/* "tensorflow::AdjustSaturationOpBase::Compute", but neither that of a device, nor of tf.data's own operators. */
static bool is_kernel(struct st_text name)
{
	return (ends_with(name, "::Compute") || ends_with(name, "::ComputeAsync") ||
		ends_with(name, "::DoCompute")) &&
	       !st_text_holds(name, "Device::") && !st_text_holds(name, "tensorflow::data::");
}

/* False: nobody uses tf.data. */
static bool look_at_functions(struct work *work)
{
	bool any = false;

	for (uint32_t i = 0; i < work->named->function_count; i++) {
		struct st_text name = work->named->functions[i].name;

		if (st_text_holds(name, "tensorflow::data::"))
			work->is_of[i] = INPUT;
		else if (st_text_holds(name, "ExecutorState<"))
			work->is_of[i] = MODEL;
		work->is_kernel[i] = is_kernel(name);
		any = any || work->is_of[i] == INPUT;
	}
	return any;
}

/* What a pool runs is a lambda of the function that waits for it. */
static void name_functions(struct work *work, struct st_arena *arena)
{
	static const char lambda[] = " {lambda}";

	for (uint32_t i = 0; i < work->named->function_count; i++) {
		struct st_text name;
		struct st_buf text;

		st_buf_init(&text, NAME_BYTES_MAX);
		st_short_name(work->named->functions[i].name, &text);
		name = (struct st_text){st_arena_copy(arena, text.data, text.size_bytes),
					text.size_bytes};
		st_buf_fini(&text);
		if (!name.bytes)
			return;
		if (ends_with(name, lambda))
			name.size_bytes -= strlen(lambda);
		work->name_of[i] = st_key_texts_add(&work->names, name);
	}
}

static void look_at_samples(struct work *work, const struct st_samples *samples, int64_t begin_ns,
			    int64_t end_ns)
{
	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t node = samples->node[i];

		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE) ||
		    samples->time_ns[i] < begin_ns || samples->time_ns[i] >= end_ns ||
		    node >= work->named->node_count)
			continue;
		work->self_ns[work->named->frame_of_node[node]] += samples->weight_ns[i];
	}
}

static void look_at_lines(struct work *work)
{
	const struct st_named *named = work->named;

	for (uint32_t i = 0; i < named->source_count; i++)
		work->is_own[i] = !st_path_is_library(named->sources[i]);
	for (uint32_t i = 1; i < named->frame_count; i++) {
		const struct st_named_frame *frame = &named->frames[i];

		work->has_line[i] = named->functions[frame->function].kind == ST_FUNCTION_PYTHON &&
						    work->is_own[frame->source]
					    ? frame->line != 0
					    : work->has_line[frame->parent];
	}
}

/* Callers come before what they call. */
static void look_at_frames(struct work *work)
{
	const struct st_named *named = work->named;

	look_at_lines(work);
	for (uint32_t i = 1; i < named->frame_count; i++) {
		uint32_t function = named->frames[i].function, parent = named->frames[i].parent;
		uint8_t own = work->is_of[function], above = work->sides[parent];

		work->sides[i] = own > above ? own : above;
		work->kernel[i] = work->is_kernel[function] ? function : work->kernel[parent];
	}
	for (uint32_t i = named->frame_count; i-- > 1;) {
		work->all_ns[i] += work->self_ns[i];
		work->all_ns[named->frames[i].parent] += work->all_ns[i];
	}
	for (uint32_t i = 1; i < named->frame_count; i++) {
		uint32_t name = work->name_of[named->frames[i].function];

		if (!work->sides[i])
			continue;
		work->of_side[name][work->sides[i]] += work->all_ns[i];
		if (work->sides[i] == INPUT && work->kernel[i] &&
		    work->all_ns[i] > work->best_ns[name]) {
			work->best_ns[name] = work->all_ns[i];
			work->best_kernel[name] = work->kernel[i];
		}
	}
}

/* The C library works for whoever called it. */
static bool is_known(const struct work *work, uint32_t function)
{
	const uint64_t *of_side = work->of_side[work->name_of[function]];

	return !(work->named->functions[function].flags & ST_FUNCTION_SYSTEM) &&
	       of_side[MODEL] + of_side[INPUT];
}

static uint64_t input_of(struct work *work, uint32_t frame)
{
	const struct st_named_frame *frames = work->named->frames;
	uint64_t ns = work->self_ns[frame];
	uint32_t kernel = work->kernel[frame], at = frame;

	if (work->sides[frame] == MODEL)
		return 0;
	if (work->sides[frame] == NOBODY) {
		const uint64_t *of_side;

		while (at && !is_known(work, frames[at].function))
			at = frames[at].parent;
		if (!at)
			return 0;
		of_side = work->of_side[work->name_of[frames[at].function]];
		ns = (uint64_t)((double)ns * (double)of_side[INPUT] /
				(double)(of_side[INPUT] + of_side[MODEL]));
		kernel = work->best_kernel[work->name_of[frames[at].function]];
	}
	if (kernel)
		work->kernel_ns[kernel] += ns;
	return ns;
}

/* The method of a dataset that takes a function, in Python. */
static bool is_map(const struct st_named *named, uint32_t frame)
{
	const struct st_named_function *function = &named->functions[named->frames[frame].function];

	return function->kind == ST_FUNCTION_PYTHON && ends_with(function->name, ".map") &&
	       ends_with(named->sources[function->source], "/data/ops/dataset_ops.py");
}

/* The line of the program that has called it, or 0. */
static uint32_t own_caller(const struct st_named *named, uint32_t frame)
{
	for (; frame; frame = named->frames[frame].parent) {
		const struct st_named_frame *at = &named->frames[frame];

		if (named->functions[at->function].kind == ST_FUNCTION_PYTHON &&
		    !st_path_is_library(named->sources[at->source]))
			return frame;
	}
	return 0;
}

static void add_line(struct st_input_cpu *out, const struct st_named_frame *at, uint64_t ns)
{
	for (uint32_t i = 0; i < out->line_count; i++)
		if (out->lines[i].source == at->source && out->lines[i].number == at->line) {
			out->lines[i].ns += ns;
			return;
		}
	if (out->line_count < ST_INPUT_LINES_MAX)
		out->lines[out->line_count++] =
			(struct st_input_line){.source = at->source, .number = at->line, .ns = ns};
	else
		out->has_more_lines = true;
}

/* Samples that a call of map() took, by the line that made it. Callers come before what they call. */
static void find_lines(struct st_input_cpu *out, const struct st_named *named,
		       const struct st_samples *samples, uint32_t *maker)
{
	for (uint32_t i = 1; i < named->frame_count; i++)
		maker[i] = is_map(named, i) ? own_caller(named, i) : maker[named->frames[i].parent];
	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t node = samples->node[i];
		uint32_t frame = node < named->node_count ? maker[named->frame_of_node[node]] : 0;

		if (frame && !(samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE)))
			add_line(out, &named->frames[frame], samples->weight_ns[i]);
	}
}

/* Where the last "::" of a name is that is in no brackets, or 0. */
static size_t last_colons(struct st_text name)
{
	size_t depth = 0;

	for (size_t i = name.size_bytes; i-- > 1;) {
		char c = name.bytes[i];

		depth += c == '>' || c == ')';
		depth -= depth && (c == '<' || c == '(');
		if (!depth && c == ':' && name.bytes[i - 1] == ':')
			return i - 1;
	}
	return 0;
}

/* "tensorflow::(anonymous namespace)::AdjustSaturationOp<float>::Compute": AdjustSaturation */
static struct st_text kernel_name(struct st_text name)
{
	static const char *const ends[] = {"Base", "CPU", "Op", "Kernel"};
	struct st_text its = {name.bytes, last_colons(name)};
	size_t from = last_colons(its);
	const char *bracket;

	if (from)
		its = (struct st_text){its.bytes + from + 2, its.size_bytes - from - 2};
	bracket = memchr(its.bytes, '<', its.size_bytes);
	if (bracket)
		its.size_bytes = (size_t)(bracket - its.bytes);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (its.size_bytes > strlen(ends[i]) && ends_with(its, ends[i]))
			its.size_bytes -= strlen(ends[i]);
	return its;
}

static const char *largest_kernels(struct work *work, uint64_t input_ns, struct st_arena *arena)
{
	const char *text = "";

	for (int shown = 0; shown < KERNELS_SHOWN; shown++) {
		uint32_t best = 0;
		struct st_text name;

		for (uint32_t i = 1; i < work->named->function_count; i++)
			if (work->kernel_ns[i] > work->kernel_ns[best])
				best = i;
		if (!best || work->kernel_ns[best] < input_ns / KERNEL_PART)
			break;
		work->kernel_ns[best] = 0;
		name = kernel_name(work->named->functions[best].name);
		text = st_arena_printf(arena, "%s%s%.*s", text, shown ? " and " : "",
				       (int)name.size_bytes, name.bytes);
	}
	return text;
}

bool st_input_cpu_make(struct st_input_cpu *out, const struct st_sample_set *set, int64_t begin_ns,
		       int64_t end_ns, struct st_arena *arena)
{
	struct work work = {.named = set->named};
	size_t frames = (size_t)set->named->frame_count + 1;
	size_t functions = (size_t)set->named->function_count + 1;
	struct st_arena own;
	uint32_t *maker;
	bool failed;

	*out = (struct st_input_cpu){.kernels = ""};
	st_key_texts_init(&work.names);
	st_arena_init(&own, SIZE_MAX / 2);
	work.is_of = st_arena_calloc(&own, functions, sizeof(*work.is_of));
	work.is_kernel = st_arena_calloc(&own, functions, sizeof(*work.is_kernel));
	work.of_side = st_arena_calloc(&own, functions, sizeof(*work.of_side));
	work.best_ns = st_arena_calloc(&own, functions, sizeof(*work.best_ns));
	work.best_kernel = st_arena_calloc(&own, functions, sizeof(*work.best_kernel));
	work.kernel_ns = st_arena_calloc(&own, functions, sizeof(*work.kernel_ns));
	work.name_of = st_arena_calloc(&own, functions, sizeof(*work.name_of));
	work.sides = st_arena_calloc(&own, frames, sizeof(*work.sides));
	work.has_line = st_arena_calloc(&own, frames, sizeof(*work.has_line));
	work.is_own = st_arena_calloc(&own, (size_t)set->named->source_count + 1, 1);
	work.self_ns = st_arena_calloc(&own, frames, sizeof(*work.self_ns));
	work.all_ns = st_arena_calloc(&own, frames, sizeof(*work.all_ns));
	work.kernel = st_arena_calloc(&own, frames, sizeof(*work.kernel));
	maker = st_arena_calloc(&own, frames, sizeof(*maker));
	if (!own.failed && look_at_functions(&work)) {
		name_functions(&work, &own);
		look_at_samples(&work, set->samples, begin_ns, end_ns);
		look_at_frames(&work);
		for (uint32_t i = 1; i < set->named->frame_count; i++) {
			uint64_t ns = work.self_ns[i] ? input_of(&work, i) : 0;

			out->ns += ns;
			out->unlined_ns += work.has_line[i] ? 0 : ns;
		}
		out->kernels = largest_kernels(&work, out->ns, arena);
		find_lines(out, set->named, set->samples, maker);
	}
	failed = own.failed || work.names.failed || !out->kernels;
	st_key_texts_fini(&work.names);
	st_arena_fini(&own);
	return !failed;
}
