// SPDX-License-Identifier: Apache-2.0
//
// The rule about input of TensorFlow: what tf.data prepares in threads of its own while steps wait for it, or beside them.
#include <string.h>

#include "analyze/findings/finding_rules.h"
#include "analyze/samples/input_cpu.h"

#define PART_OF_CPU 0.2
#define PART_OF_STEP 0.05

static uint64_t less(uint64_t from, uint64_t taken)
{
	return from > taken ? from - taken : 0;
}

static struct st_text last_part(struct st_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);
	size_t before = slash ? (size_t)(slash + 1 - path.bytes) : 0;

	return (struct st_text){path.bytes + before, path.size_bytes - before};
}

/* ", in map() at train.py:28"; of several nobody knows which. */
static const char *name_lines(const struct st_finding_ground *ground,
			      const struct st_input_cpu *input, struct st_finding *out)
{
	const char *text = "";

	for (uint32_t i = 0; i < input->line_count; i++) {
		struct st_text path = ground->samples.named->sources[input->lines[i].source];
		struct st_text name = last_part(path);
		const char *where = st_arena_printf(ground->arena, "%.*s:%u", (int)name.size_bytes,
						    name.bytes, input->lines[i].number);

		text = st_arena_printf(ground->arena, "%s%s%s", text, i ? " or " : ", in map() at ",
				       where);
		if (!i) {
			out->where = where;
			out->command = st_finding_source_command(ground, path);
		}
	}
	return input->has_more_lines ? st_arena_printf(ground->arena, "%s or others", text) : text;
}

/* A step is shorter by no more than its input takes on one CPU, and no shorter than the rest of its work on all of them. How
 * much of the input is done beside the model already, only a try tells. */
bool st_find_input(struct st_finding_ground *ground, struct st_finding *out)
{
	uint64_t wall_ns = ground->figures.wall_ns, rest_ns;
	double stretch = st_finding_stretch(ground);
	struct st_input_cpu input;

	if (!ground->has_samples || !ground->figures.count ||
	    !st_input_cpu_make(&input, &ground->samples, ground->begin_ns, ground->end_ns,
			       ground->arena) ||
	    !input.ns || (double)input.ns < PART_OF_CPU * (double)ground->cpu_ns)
		return false;
	rest_ns = (uint64_t)((double)less(ground->work_ns, input.ns) * stretch /
			     ground->use.cpu_count);
	out->evidence_ns = input.ns;
	out->saving_low_ns = 0;
	out->saving_high_ns = (uint64_t)((double)input.ns * stretch);
	if (out->saving_high_ns > less(wall_ns, rest_ns))
		out->saving_high_ns = less(wall_ns, rest_ns);
	if (st_finding_share(ground, out->saving_high_ns) < PART_OF_STEP)
		return false;
	out->what = st_arena_printf(ground->arena,
				    "%s of CPU time of a step (%.0f %%) prepares input data "
				    "(tf.data%s%s)%s",
				    st_finding_time(ground, input.ns),
				    100.0 * (double)input.ns / (double)ground->cpu_ns,
				    *input.kernels ? ", mostly " : "", input.kernels,
				    name_lines(ground, &input, out));
	return true;
}
