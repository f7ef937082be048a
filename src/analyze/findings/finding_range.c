// SPDX-License-Identifier: Apache-2.0
//
// The rule about CPU work inside a range marked by the program but outside operators. Samples show whether it is
// NumPy, Python itself, or something else.
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/finding_rules.h"

enum { SAMPLES_MIN = 10 };

static bool is_torchs_range(const struct st_finding_ground *ground, uint32_t row)
{
	struct st_text name = st_row_name(ground->rows, row);

	return st_text_begins(name, "ProfilerStep") || st_text_begins(name, "Optimizer.") ||
	       st_text_begins(name, "enumerate(DataLoader)");
}

/* A range of the program that is part of a step: not the step itself, and not one around what a step is made of. */
static void mark_loops(const struct st_finding_ground *ground, uint8_t *is_loop)
{
	const struct st_operator_rows *rows = ground->rows;

	for (uint32_t i = 0; i < ground->steps->count; i++) {
		uint32_t slice = ground->steps->steps[i].slice;

		if (slice != ST_NO_ROW && rows->row_of_slice[slice] != ST_NO_ROW)
			is_loop[rows->row_of_slice[slice]] = 1;
	}
	for (uint32_t row = 0; row < rows->count; row++)
		if (rows->is_range[rows->label[row]] && is_torchs_range(ground, row))
			for (uint32_t up = rows->parent[row]; up != ST_NO_ROW;
			     up = rows->parent[up])
				is_loop[up] = 1;
}

/* The key of the name whose ranges have most time outside of operators. */
static uint32_t find_range(const struct st_finding_ground *ground, uint64_t *outside_ns)
{
	const struct st_operator_rows *rows = ground->rows;
	uint32_t names = rows->texts[ST_BY_OPERATOR].count, largest = 0;
	uint64_t *self_ns = calloc((size_t)names + 1, sizeof(*self_ns));
	uint8_t *is_loop = calloc((size_t)rows->count + 1, 1);

	*outside_ns = 0;
	if (is_loop)
		mark_loops(ground, is_loop);
	for (uint32_t row = 0; self_ns && is_loop && row < rows->count; row++)
		if (rows->is_range[rows->label[row]] && !is_loop[row] &&
		    !is_torchs_range(ground, row) && st_finding_counts(ground, row))
			self_ns[rows->name_of[rows->label[row]]] += rows->self_ns[row];
	free(is_loop);
	for (uint32_t i = 0; self_ns && i < names; i++)
		if (self_ns[i] > self_ns[largest])
			largest = i;
	if (self_ns)
		*outside_ns = self_ns[largest];
	free(self_ns);
	return largest;
}

enum worker { BY_PYTHON, BY_NUMPY, BY_OTHERS, WORKERS };

/* CPU time in a range, by who used it, and the line of the program that most of it is for. */
struct range_cpu {
	uint64_t ns[WORKERS], all_ns;
	uint32_t samples;
	uint32_t source, line;
	uint64_t votes_ns, line_ns;
};

static bool is_numpy(struct st_text path)
{
	return st_text_holds(path, "/numpy/") || st_text_holds(path, "/numpy.libs/") ||
	       st_text_holds(path, "_multiarray_umath");
}

/* The C library works for whoever called it. */
bool st_finding_is_interpreter(const struct st_named_function *function,
			       const struct st_named_module *module)
{
	return function->flags & ST_FUNCTION_SYSTEM || st_text_begins(module->name, "libpython") ||
	       st_text_begins(module->name, "python") ||
	       st_text_holds(module->path, "/lib-dynload/") ||
	       function->kind == ST_FUNCTION_KERNEL || function->kind == ST_FUNCTION_UNKNOWN;
}

/* Who uses the CPU, from the innermost function to the line of the program itself, which it finds too. */
static enum worker who(const struct st_named *named, uint32_t frame, uint32_t *line)
{
	enum worker worker = BY_PYTHON;

	for (; frame; frame = named->frames[frame].parent) {
		const struct st_named_function *function =
			&named->functions[named->frames[frame].function];
		const struct st_named_module *module = &named->modules[function->module];

		if (function->kind == ST_FUNCTION_PYTHON) {
			if (!is_numpy(named->sources[function->source]))
				break;
			worker = BY_NUMPY;
		} else if (is_numpy(module->path)) {
			worker = BY_NUMPY;
		} else if (worker == BY_PYTHON && !st_finding_is_interpreter(function, module)) {
			worker = BY_OTHERS;
		}
	}
	*line = frame;
	return worker;
}

bool st_finding_is_of_range(const struct st_finding_ground *ground, uint32_t sample, uint32_t name)
{
	const struct st_samples *samples = ground->samples.samples;
	const struct st_operator_rows *rows = ground->rows;
	uint32_t slice = samples->slice[sample], row;

	if (slice == ST_NO_ROW || samples->flags[sample] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
		return false;
	row = rows->row_of_slice[slice];
	return row != ST_NO_ROW && rows->is_range[rows->label[row]] &&
	       rows->name_of[rows->label[row]] == name && st_finding_counts(ground, row);
}

/* Two passes: the line that has most time, if one has more than half, is what a vote leaves; then it is counted. */
static void count_range(const struct st_finding_ground *ground, uint32_t name,
			struct range_cpu *out)
{
	const struct st_samples *samples = ground->samples.samples;
	const struct st_named *named = ground->samples.named;

	for (unsigned int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < samples->count; i++) {
			uint64_t ns = samples->weight_ns[i];
			const struct st_named_frame *place;
			enum worker worker;
			uint32_t frame;
			bool same;

			if (!st_finding_is_of_range(ground, i, name) ||
			    samples->node[i] >= named->node_count)
				continue;
			worker = who(named, named->frame_of_node[samples->node[i]], &frame);
			place = &named->frames[frame];
			same = place->source == out->source && place->line == out->line;
			if (pass) {
				out->line_ns += same ? ns : 0;
				continue;
			}
			out->ns[worker] += ns;
			out->all_ns += ns;
			out->samples++;
			if (!same && out->votes_ns < ns) {
				out->source = place->source;
				out->line = place->line;
				out->votes_ns = ns - out->votes_ns;
			} else {
				out->votes_ns = same ? out->votes_ns + ns : out->votes_ns - ns;
			}
		}
	}
}

static const char *add_line(const struct st_finding_ground *ground, const struct range_cpu *cpu)
{
	struct st_text path = ground->samples.named->sources[cpu->source];
	const char *name = memrchr(path.bytes, '/', path.size_bytes);

	if (!cpu->line || cpu->line_ns * 2 < cpu->all_ns)
		return "";
	name = name ? name + 1 : path.bytes;
	return st_arena_printf(ground->arena, ", at %.*s:%u",
			       (int)(path.size_bytes - (size_t)(name - path.bytes)), name,
			       cpu->line);
}

/* Python itself is slow at numbers: next to nothing is left of its time. What NumPy does torch may do as fast or faster. */
static const char *tell_workers(const struct st_finding_ground *ground, struct st_finding *out,
				uint32_t name)
{
	struct range_cpu cpu = {0};
	double wall_ns = (double)out->evidence_ns, part[WORKERS], waits;

	if (ground->has_samples)
		count_range(ground, name, &cpu);
	if (cpu.samples < SAMPLES_MIN) {
		out->command = "operators -group-by operator-scope,operator";
		return "Python, NumPy or waiting (use -collect hotspots to see which)";
	}
	/* The two clocks differ a little; what is missing by more than that was no CPU time. */
	if (wall_ns < (double)cpu.all_ns)
		wall_ns = (double)cpu.all_ns;
	for (unsigned int i = 0; i < WORKERS; i++)
		part[i] = (double)cpu.ns[i] / wall_ns;
	waits = 1.0 - (double)cpu.all_ns / wall_ns;
	out->saving_low_ns = (uint64_t)(0.9 * part[BY_PYTHON] * (double)out->evidence_ns);
	if (part[BY_PYTHON] > 0.8)
		out->saving_high_ns = out->saving_low_ns;
	return st_arena_printf(ground->arena,
			       "NumPy %.0f %%, Python %.0f %%, others %.0f %%, waiting "
			       "%.0f %%%s",
			       part[BY_NUMPY] * 100.0, part[BY_PYTHON] * 100.0,
			       part[BY_OTHERS] * 100.0, waits * 100.0, add_line(ground, &cpu));
}

/* Of one label; ranges of one label may be in several places. */
bool st_find_work_in_range(struct st_finding_ground *ground, struct st_finding *out)
{
	uint32_t range = find_range(ground, &out->evidence_ns);
	struct st_text name;
	const char *workers;

	if (!out->evidence_ns || st_finding_share(ground, out->evidence_ns) < 0.2)
		return false;
	ground->has_claimed_range = true;
	ground->claimed_range = range;
	out->saving_low_ns = 0;
	out->saving_high_ns = out->evidence_ns;
	workers = tell_workers(ground, out, range);
	name = ground->rows->texts[ST_BY_OPERATOR].texts[range];
	out->where = st_text_copy(ground->arena, name).bytes;
	out->what = st_arena_printf(ground->arena, "%s of \"%.*s\" is outside operators: %s",
				    st_finding_time(ground, out->evidence_ns), (int)name.size_bytes,
				    name.bytes, workers);
	return true;
}
