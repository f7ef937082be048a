// SPDX-License-Identifier: Apache-2.0
//
// The rule about Python code of the program that runs in the loop beside PyTorch, such as batches made from lists. It is
// seen by samples of the threads that steps are on: the innermost line of the program's own, with nothing of PyTorch below it.
// What a DataLoader runs is waiting for data, which has a rule of its own.
#include <string.h>

#include "analyze/findings/finding_rules.h"
#include "analyze/samples/frame_class.h"
#include "base/map.h"

enum { SAMPLES_MIN = 20, LINES_SHOWN = 2 };
enum worker { BY_PYTHON, BY_NUMPY, BY_OTHERS, WORKERS };

struct line {
	uint32_t source, number;
	uint64_t ns;
};

struct tally {
	const struct st_finding_ground *ground;
	struct st_pair_map keys; /* (source, line) */
	struct line *lines;	 /* by key; in the arena, one for each sample at most */
	uint64_t ns[WORKERS], all_ns;
	uint32_t samples;
};

static bool is_torch(struct st_text path)
{
	return st_text_holds(path, "/torch/") || st_text_holds(path, "libtorch");
}

static bool is_numpy(struct st_text path)
{
	return st_text_holds(path, "/numpy/") || st_text_holds(path, "/numpy.libs/");
}

/* The frame of the program's own line that a sample is for, or 0 when that is not Python beside PyTorch. */
static uint32_t own_line(const struct st_named *named, uint32_t frame, enum worker *worker)
{
	for (*worker = BY_PYTHON; frame; frame = named->frames[frame].parent) {
		const struct st_named_function *function =
			&named->functions[named->frames[frame].function];
		bool is_python = function->kind == ST_FUNCTION_PYTHON;
		struct st_text path = is_python ? named->sources[function->source]
						: named->modules[function->module].path;

		if (is_torch(path))
			return 0;
		if (is_python && !st_path_is_library(path))
			return frame;
		if (is_numpy(path))
			*worker = BY_NUMPY;
		else if (*worker == BY_PYTHON && !is_python &&
			 !st_finding_is_interpreter(function, &named->modules[function->module]))
			*worker = BY_OTHERS;
	}
	return 0;
}

static bool is_of_loader(const struct st_named *named, uint32_t frame)
{
	for (; frame; frame = named->frames[frame].parent) {
		const struct st_named_function *function =
			&named->functions[named->frames[frame].function];

		if (function->kind == ST_FUNCTION_PYTHON &&
		    st_text_holds(named->sources[function->source], "/torch/utils/data/"))
			return true;
	}
	return false;
}

static void count_sample(struct tally *tally, uint32_t sample)
{
	const struct st_finding_ground *ground = tally->ground;
	const struct st_samples *samples = ground->samples.samples;
	const struct st_named *named = ground->samples.named;
	enum worker worker;
	struct line *line;
	uint32_t frame;

	if (samples->node[sample] >= named->node_count ||
	    !ground->track_counts[samples->track[sample]] ||
	    samples->flags[sample] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE) ||
	    samples->time_ns[sample] < ground->begin_ns ||
	    samples->time_ns[sample] > ground->end_ns ||
	    (ground->has_claimed_range &&
	     st_finding_is_of_range(ground, sample, ground->claimed_range)))
		return;
	frame = own_line(named, named->frame_of_node[samples->node[sample]], &worker);
	if (!frame || !named->frames[frame].line || is_of_loader(named, frame))
		return;
	line = &tally->lines[st_pair_map_add(&tally->keys, named->frames[frame].source,
					     named->frames[frame].line)];
	line->source = named->frames[frame].source;
	line->number = named->frames[frame].line;
	line->ns += samples->weight_ns[sample];
	tally->ns[worker] += samples->weight_ns[sample];
	tally->all_ns += samples->weight_ns[sample];
	tally->samples++;
}

static struct line *largest(struct tally *tally)
{
	struct line *best = &tally->lines[0];

	for (uint32_t i = 1; i < tally->keys.count; i++)
		if (tally->lines[i].ns > best->ns)
			best = &tally->lines[i];
	return best;
}

static const char *place(const struct st_finding_ground *ground, const struct line *line)
{
	struct st_text path = ground->samples.named->sources[line->source];
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);
	const char *name = slash ? slash + 1 : path.bytes;

	return st_arena_printf(ground->arena, "%.*s:%u",
			       (int)(path.size_bytes - (size_t)(name - path.bytes)), name,
			       line->number);
}

static double part(uint64_t some, uint64_t all)
{
	return all ? 100.0 * (double)some / (double)all : 0.0;
}

/* The lines with most of it: "train.py:26 43 %, train.py:23 22 %". */
static const char *name_lines(struct tally *tally, struct st_finding *out)
{
	const struct st_finding_ground *ground = tally->ground;
	const char *text = "";

	for (int i = 0; i < LINES_SHOWN; i++) {
		struct line *line = largest(tally);
		const char *where = place(ground, line);

		if (part(line->ns, tally->all_ns) < 10.0)
			break;
		text = st_arena_printf(ground->arena, "%s%s%s %.0f %%", text, i ? ", " : ": ",
				       where, part(line->ns, tally->all_ns));
		if (!i) {
			out->where = where;
			out->command = st_finding_source_command(
				ground, ground->samples.named->sources[line->source]);
		}
		line->ns = 0;
	}
	return text;
}

/* " (Python 60 %, NumPy 38 %, others 2 %)", where it is not just Python. */
static const char *who_works(const struct tally *tally)
{
	if (part(tally->ns[BY_PYTHON], tally->all_ns) > 95.0)
		return "";
	return st_arena_printf(
		tally->ground->arena, " (Python %.0f %%, NumPy %.0f %%, others %.0f %%)",
		part(tally->ns[BY_PYTHON], tally->all_ns), part(tally->ns[BY_NUMPY], tally->all_ns),
		part(tally->ns[BY_OTHERS], tally->all_ns));
}

/* CPU time takes longer where threads wait for a CPU. */
static uint64_t stretched(const struct st_finding_ground *ground, uint64_t cpu_ns)
{
	const struct st_utilization *use = &ground->use;
	double factor = use->ran_ns ? 1.0 + (double)use->delay_ns / (double)use->ran_ns : 1.0;
	double ns = (double)cpu_ns * factor;

	return ns < (double)ground->figures.wall_ns ? (uint64_t)ns : ground->figures.wall_ns;
}

bool st_find_python(struct st_finding_ground *ground, struct st_finding *out)
{
	struct tally tally = {.ground = ground};
	bool found;

	if (!ground->has_samples || !ground->figures.count || ground->has_tiny_operators)
		return false;
	st_pair_map_init(&tally.keys);
	tally.lines = st_arena_calloc(ground->arena, (size_t)ground->samples.samples->count + 1,
				      sizeof(*tally.lines));
	for (uint32_t i = 0; tally.lines && i < ground->samples.samples->count; i++)
		count_sample(&tally, i);
	out->evidence_ns = stretched(ground, tally.all_ns);
	found = tally.lines && !tally.keys.failed && tally.samples >= SAMPLES_MIN &&
		st_finding_share(ground, out->evidence_ns) >= 0.2;
	if (found) {
		const char *lines = name_lines(&tally, out);

		out->saving_low_ns = 0;
		out->saving_high_ns = out->evidence_ns;
		out->what = st_arena_printf(
			ground->arena, "%s of a step (%.0f %%) is Python code beside PyTorch%s%s",
			st_finding_time(ground, out->evidence_ns),
			st_finding_share(ground, out->evidence_ns) * 100.0, who_works(&tally),
			lines);
	}
	st_pair_map_fini(&tally.keys);
	return found;
}
