// SPDX-License-Identifier: Apache-2.0
//
// Samples in Perfetto's own format: one PerfSample each, on a packet sequence per thread of their own, because the
// name of what was counted stands in the defaults of a sequence. Functions, modules, frames and call stacks are
// interned: sent once, with the first sample that needs them. The count of a sample is the CPU time of its
// thread so far, so that no weight is lost.
#include <stdlib.h>
#include <string.h>

#include "export/trace/perfetto_packet.h"
#include "export/protobuf.h"

/* Field numbers of the public schema (perfetto_trace.proto), by message. */
enum { PACKET_DEFAULTS = 59, PACKET_PERF_SAMPLE = 66 };
enum {
	DEFAULTS_PERF_SAMPLE = 12,
	PERF_DEFAULTS_TIMEBASE = 1,
	TIMEBASE_PERIOD = 1,
	TIMEBASE_NAME = 10
};
enum {
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_CALLSTACK = 4,
	SAMPLE_CPU_MODE = 5,
	SAMPLE_COUNT = 6,
	SAMPLE_UNWIND_ERROR = 16,
};
enum { MODE_KERNEL = 1, MODE_USER = 2, ERROR_UNWIND_INFO = 3 };
enum {
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_SOURCE_PATHS = 18,
	INTERNED_MAPPINGS = 19,
};
enum { STRING_IID = 1, STRING_TEXT = 2 };
enum { MAPPING_IID = 1, MAPPING_BUILD_ID = 2, MAPPING_PATHS = 7 };
enum {
	FRAME_IID = 1,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_PC = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	FRAME_KIND = 7,
};
enum { CALLSTACK_IID = 1, CALLSTACK_FRAMES = 2 };

struct st_pf_samples {
	struct st_pf *pf;
	const struct st_stacks *stacks;
	/* The sequence that knows it already; frames stand for their call stacks as well. */
	uint32_t *function_sent, *module_sent, *source_sent, *frame_sent, *stack_sent;
	struct st_buf path;
};

static void intern_text(struct st_pf_samples *to, uint32_t field, uint64_t iid, struct st_text text)
{
	struct st_buf *out = &to->pf->interned;
	size_t entry = st_pb_begin(out, field);

	st_pb_u64(out, STRING_IID, iid);
	if (field == INTERNED_BUILD_IDS) { /* any bytes */
		size_t bytes = st_pb_begin(out, STRING_TEXT);

		st_buf_append(out, text.bytes, text.size_bytes);
		st_pb_end(out, bytes);
	} else {
		st_pb_text(out, STRING_TEXT, text.bytes, text.size_bytes);
	}
	st_pb_end(out, entry);
}

static bool is_new(const struct st_pf_samples *to, uint32_t *sent, uint32_t index)
{
	bool is_first = sent[index] != to->pf->sequence;

	sent[index] = to->pf->sequence;
	return is_first;
}

static void intern_module(struct st_pf_samples *to, uint32_t index)
{
	const struct st_named_module *module = &to->stacks->named->modules[index];
	struct st_buf *out = &to->pf->interned;
	struct st_text path = module->path.size_bytes ? module->path : module->name;
	uint64_t iid = (uint64_t)index + 1;
	size_t entry;

	if (!is_new(to, to->module_sent, index))
		return;
	intern_text(to, INTERNED_MAPPING_PATHS, iid,
		    path.size_bytes ? path : (struct st_text){"[Unknown]", 9});
	if (module->build_id.size_bytes)
		intern_text(to, INTERNED_BUILD_IDS, iid, module->build_id);
	entry = st_pb_begin(out, INTERNED_MAPPINGS);
	st_pb_u64(out, MAPPING_IID, iid);
	if (module->build_id.size_bytes)
		st_pb_u64(out, MAPPING_BUILD_ID, iid);
	st_pb_u64(out, MAPPING_PATHS, iid);
	st_pb_end(out, entry);
}

static uint64_t kind_of(const struct st_named_function *function)
{
	static const uint8_t kinds[] = {
		[ST_FUNCTION_NATIVE] = 1, [ST_FUNCTION_PYTHON] = 3,  [ST_FUNCTION_JIT] = 4,
		[ST_FUNCTION_KERNEL] = 2, [ST_FUNCTION_UNKNOWN] = 0,
	};

	return function->kind < sizeof(kinds) ? kinds[function->kind] : 0;
}

static void intern_frame(struct st_pf_samples *to, uint32_t frame)
{
	const struct st_named *named = to->stacks->named;
	const struct st_named_frame *at = &named->frames[frame];
	const struct st_named_function *function = &named->functions[at->function];
	struct st_buf *out = &to->pf->interned;
	size_t entry;

	if (!is_new(to, to->frame_sent, frame))
		return;
	intern_module(to, function->module);
	if (is_new(to, to->function_sent, at->function)) {
		st_stacks_label_text(to->stacks, (struct st_stack_label){at->function, 0, 0},
				     st_stream_scratch(&to->pf->walk.stream));
		intern_text(to, INTERNED_FUNCTION_NAMES, (uint64_t)at->function + 1,
			    st_stream_text(&to->pf->walk.stream));
	}
	if (at->source && is_new(to, to->source_sent, at->source))
		intern_text(to, INTERNED_SOURCE_PATHS, at->source, named->sources[at->source]);
	entry = st_pb_begin(out, INTERNED_FRAMES);
	st_pb_u64(out, FRAME_IID, frame);
	st_pb_u64(out, FRAME_FUNCTION, (uint64_t)at->function + 1);
	st_pb_u64(out, FRAME_MAPPING, (uint64_t)function->module + 1);
	if (function->kind != ST_FUNCTION_PYTHON)
		st_pb_u64(out, FRAME_PC, at->address);
	if (at->source)
		st_pb_u64(out, FRAME_SOURCE, at->source);
	if (at->line)
		st_pb_u64(out, FRAME_LINE, at->line);
	st_pb_u64(out, FRAME_KIND, kind_of(function));
	st_pb_end(out, entry);
}

/* Outermost frame first. */
static void intern_stack(struct st_pf_samples *to, uint32_t leaf)
{
	struct st_buf *out = &to->pf->interned;
	size_t entry, count = 0;

	if (!is_new(to, to->stack_sent, leaf))
		return;
	to->path.size_bytes = 0;
	for (uint32_t at = leaf; at; at = st_stacks_caller(to->stacks, at), count++) {
		intern_frame(to, at);
		st_buf_append(&to->path, &at, sizeof(at));
	}
	entry = st_pb_begin(out, INTERNED_CALLSTACKS);
	st_pb_u64(out, CALLSTACK_IID, leaf);
	while (count && !to->path.failed) {
		uint32_t frame;

		memcpy(&frame, to->path.data + --count * sizeof(frame), sizeof(frame));
		st_pb_u64(out, CALLSTACK_FRAMES, frame);
	}
	st_pb_end(out, entry);
	out->failed |= to->path.failed;
}

static void add_sample(struct st_pf_samples *to, uint32_t row, uint64_t cpu_ns)
{
	const struct st_samples *samples = to->stacks->samples;
	const struct st_track *track = &to->stacks->tracks[samples->track[row]];
	struct st_pf *pf = to->pf;
	uint32_t leaf = st_stacks_leaf(to->stacks, row);
	bool in_kernel = samples->flags[row] & ST_SAMPLE_KERNEL;
	size_t message;

	st_pf_packet_begin(pf, ST_PF_NEEDS_STATE);
	st_pb_u64(pf->out, ST_PF_PACKET_TIMESTAMP, (uint64_t)samples->time_ns[row] + pf->shift_ns);
	message = st_pb_begin(pf->out, PACKET_PERF_SAMPLE);
	st_pb_u64(pf->out, SAMPLE_PID, to->stacks->processes[track->process].pid);
	st_pb_u64(pf->out, SAMPLE_TID, track->tid);
	st_pb_u64(pf->out, SAMPLE_CPU_MODE, in_kernel ? MODE_KERNEL : MODE_USER);
	st_pb_u64(pf->out, SAMPLE_COUNT, cpu_ns);
	if (leaf) {
		intern_stack(to, leaf);
		st_pb_u64(pf->out, SAMPLE_CALLSTACK, leaf);
	}
	if (samples->flags[row] & ST_SAMPLE_TRUNCATED)
		st_pb_u64(pf->out, SAMPLE_UNWIND_ERROR, ERROR_UNWIND_INFO);
	st_pb_end(pf->out, message);
	st_pf_packet_end(pf);
}

/* What is counted; it goes for the sequence from its first packet on. */
static void begin_sequence(struct st_pf_samples *to, uint32_t track)
{
	struct st_pf *pf = to->pf;
	uint32_t count;
	const struct st_sampler *samplers = st_result_samplers(pf->walk.result, &count);
	size_t defaults, perf, timebase;

	st_pf_sequence_begin(pf, 4 + pf->walk.track_count + track);
	defaults = st_pb_begin(pf->out, PACKET_DEFAULTS);
	perf = st_pb_begin(pf->out, DEFAULTS_PERF_SAMPLE);
	timebase = st_pb_begin(pf->out, PERF_DEFAULTS_TIMEBASE);
	for (uint32_t i = 0; i < count; i++) {
		if (samplers[i].process == to->stacks->tracks[track].process) {
			st_pb_u64(pf->out, TIMEBASE_PERIOD, samplers[i].period_ns);
			break;
		}
	}
	st_pb_text(pf->out, TIMEBASE_NAME, "CPU time (ns)", 13);
	st_pb_end(pf->out, timebase);
	st_pb_end(pf->out, perf);
	st_pb_end(pf->out, defaults);
	st_pf_packet_end(pf);
}

static struct st_pf_samples *create(struct st_pf *pf)
{
	const struct st_named *named = pf->walk.stacks.named;
	struct st_pf_samples *to = calloc(1, sizeof(*to));

	if (!to)
		return NULL;
	to->pf = pf;
	to->stacks = &pf->walk.stacks;
	st_buf_init(&to->path, SIZE_MAX / 4);
	to->function_sent = calloc((size_t)named->function_count + named->module_count +
					   named->source_count + 2 * (size_t)named->frame_count + 1,
				   sizeof(*to->function_sent));
	if (!to->function_sent)
		return to;
	to->module_sent = to->function_sent + named->function_count;
	to->source_sent = to->module_sent + named->module_count;
	to->frame_sent = to->source_sent + named->source_count;
	to->stack_sent = to->frame_sent + named->frame_count;
	return to;
}

void st_pf_samples_destroy(struct st_pf *pf)
{
	if (!pf->samples)
		return;
	st_buf_fini(&pf->samples->path);
	free(pf->samples->function_sent);
	free(pf->samples);
}

enum st_status st_pf_samples(void *arg, uint32_t first, uint32_t end, struct st_error *err)
{
	struct st_pf *pf = arg;
	const struct st_stacks *stacks = &pf->walk.stacks;
	enum st_status status = ST_OK;
	uint64_t cpu_ns = 0;

	if (!pf->samples)
		pf->samples = create(pf);
	if (!pf->samples || !pf->samples->function_sent)
		return st_stream_no_memory(&pf->walk.stream, err);
	begin_sequence(pf->samples, stacks->samples->track[stacks->rows[first]]);
	for (uint32_t i = first; i < end && !status; i++) {
		cpu_ns += stacks->samples->weight_ns[stacks->rows[i]];
		add_sample(pf->samples, stacks->rows[i], cpu_ns);
		pf->walk.stream.done++;
		status = st_stream_spill(&pf->walk.stream, err);
	}
	return status;
}
