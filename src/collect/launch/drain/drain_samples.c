// SPDX-License-Identifier: Apache-2.0
//
// The handler rings: samples as the signal handler wrote them (format/sample_record.h). Each sample names only
// the frames that differ from the one before, so that stacks are restored per ring, then Python's frames are
// put among the native ones, and the result becomes one node of the process's stack tree. Input is a
// private copy and may be garbage, as in decode.c.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/launch/drain/drain_state.h"
#include "collect/launch/drain/merge.h"
#include "format/chunk.h"
#include "format/ring_record.h"

enum {
	KNOWN_FLAGS = ST_SAMPLE_PYTHON_LATE * 2 - 1,
	SAMPLE_HEAD_WORDS = 2, /* of the payload */
	RUNTIME_WORDS = 5,
	NODES_PER_RECORD = 32 << 10,
	NODES_FLUSH = 64 << 10,
	HANDLER_TIMES_MAX = 16,
	HANDLER_LOOK = 64, /* samples between two looks at the usual time */
};

void st_sample_reader_destroy(struct st_sample_reader *reader)
{
	if (!reader)
		return;
	free(reader->native.words);
	free(reader->python.words);
	free(reader->path);
	st_sample_encoder_fini(&reader->encoder);
	st_sample_encoder_fini(&reader->waits);
	free(reader);
}

/* What is kept of the stack before moves behind what is new. False: it cannot be. */
bool st_frame_words_restore(struct st_frame_words *frames, const uint64_t *fresh,
			    uint32_t new_count, uint32_t kept)
{
	if (kept > frames->count || new_count + kept > ST_SAMPLE_FRAMES_MAX ||
	    !ST_VEC_ROOM(frames->words, new_count + kept, frames->capacity))
		return false;
	/* Nothing to move is nothing to touch: there may be no memory yet. */
	if (kept)
		memmove(frames->words + new_count, frames->words + (frames->count - kept),
			kept * sizeof(*frames->words));
	if (new_count)
		memcpy(frames->words, fresh, new_count * sizeof(*frames->words));
	frames->count = new_count + kept;
	return true;
}

/* The frames that this sample and the one before have in common need not be looked up again. */
static uint32_t node_of(struct st_drain *drain, struct st_sample_reader *reader,
			const struct st_merged_frame *frames, uint32_t count)
{
	struct st_stack_tree *tree = &drain->tree;
	uint32_t parent = 0, at = 0;

	if (!ST_VEC_ROOM(reader->path, count, reader->path_capacity))
		return 0;
	while (at < count && at < reader->path_count) {
		const struct st_stack_node *node = st_stack_tree_node(tree, reader->path[at]);

		if (node->value != frames[at].value || node->kind != frames[at].kind)
			break;
		parent = reader->path[at++];
	}
	reader->path_count = at;
	for (; at < count; at++) {
		uint32_t known = tree->count;

		parent = st_stack_tree_get(tree, parent, frames[at].kind, frames[at].value);
		if (!parent)
			return 0;
		if (tree->count > known &&
		    (frames[at].kind & ST_FRAME_KIND_MASK) == ST_FRAME_PYTHON)
			st_drain_use_code(drain, (uint32_t)frames[at].value);
		reader->path[at] = parent;
		reader->path_count = at + 1;
	}
	return parent;
}

static struct st_merged_frame *merge_room(struct st_drain_shared *shared)
{
	if (!shared->merged)
		shared->merged =
			malloc((2 * (size_t)ST_SAMPLE_FRAMES_MAX + ST_DRAIN_KERNEL_FRAMES_MAX) *
			       sizeof(*shared->merged));
	return shared->merged;
}

static void want_maps(struct st_drain *drain, const uint64_t *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		st_code_maps_want(&drain->maps,
				  frames[i] & ~(ST_FRAME_WORD_RECOVERED | ST_FRAME_WORD_EXACT));
}

/* Four buckets to the octave: the two bits behind the highest tell them apart. */
static unsigned int bucket_of(uint32_t ticks)
{
	unsigned int bits = ticks ? 32 - (unsigned int)__builtin_clz(ticks) : 0;

	return bits < 3 ? ticks : bits * 4 + ((ticks >> (bits - 3)) & 3);
}

static uint64_t bucket_value(unsigned int bucket)
{
	return bucket < 12 ? bucket : (uint64_t)(4 + bucket % 4) << (bucket / 4 - 3);
}

uint64_t st_drain_usual_handler(const struct st_drain_shared *shared)
{
	uint64_t below = 0;

	for (unsigned int i = 0; i < ST_HANDLER_BUCKETS; i++) {
		uint64_t here = shared->handler_runs[i], start = bucket_value(i);

		if (here && (below + here) * 2 >= shared->handler_run_count)
			return start + (bucket_value(i + 1) - start) *
					       (shared->handler_run_count / 2 - below) / here;
		below += here;
	}
	return 0;
}

/* A run that took many times the usual was put off the processor in between: that is not its cost, which is taken to be what
 * the others take on average. */
static uint64_t handler_cost(struct st_drain_shared *shared, uint32_t ticks)
{
	if (!ticks)
		return 0;
	shared->handler_runs[bucket_of(ticks)]++;
	shared->handler_run_count++;
	if (shared->handler_run_count < HANDLER_LOOK ||
	    shared->handler_run_count % HANDLER_LOOK == 0)
		shared->handler_limit = st_drain_usual_handler(shared) * HANDLER_TIMES_MAX;
	if (shared->ticks_per_second && shared->handler_limit > shared->ticks_per_second / 1000)
		shared->handler_limit = shared->ticks_per_second / 1000;
	if (ticks > shared->handler_limit)
		return shared->handler_whole_count
			       ? shared->handler_whole_ticks / shared->handler_whole_count
			       : shared->handler_limit;
	shared->handler_whole_ticks += ticks;
	shared->handler_whole_count++;
	return ticks;
}

/* Puts the kernel's frames inside the interrupted one; how many there are then. */
static uint32_t add_kernel(struct st_drain *drain, const struct st_sample_reader *reader,
			   struct st_merged_frame *merged, uint32_t count)
{
	struct st_kernel_ask ask = {.tid = (uint32_t)reader->owner, .ticks = reader->time};
	const uint64_t *frames;
	uint32_t more;

	if (!drain->shared->kernel_frames || !reader->native.count)
		return count;
	ask.pc = reader->native.words[0] & ~(ST_FRAME_WORD_RECOVERED | ST_FRAME_WORD_EXACT);
	more = drain->shared->kernel_frames(drain->shared->kernel_arg, &ask, &frames);
	if (more > ST_DRAIN_KERNEL_FRAMES_MAX)
		more = ST_DRAIN_KERNEL_FRAMES_MAX;
	for (uint32_t i = more; i > 0; i--)
		merged[count++] =
			(struct st_merged_frame){.value = frames[i - 1], .kind = ST_FRAME_KERNEL};
	return count;
}

/* The program's CPU time: the handler's own was part of what the thread's clock has counted. */
static uint32_t weight_of(const struct st_drain_shared *shared, uint32_t flags, uint32_t clock_ns,
			  uint64_t handler_ticks)
{
	uint64_t own_ns;

	if (!shared->ticks_per_second || flags & ST_SAMPLE_WEIGHT_NOMINAL)
		return clock_ns;
	own_ns = handler_ticks * 1000000000u / shared->ticks_per_second;
	return own_ns < clock_ns ? clock_ns - (uint32_t)own_ns : 0;
}

static void keep_sample(struct st_drain *drain, struct st_sample_reader *reader,
			const struct st_sample_record *record, uint64_t handler_ticks)
{
	st_sample_encoder_add(&reader->encoder, record);
	drain->counts.samples++;
	drain->counts.sample_cpu_ns += record->weight_ns;
	drain->counts.handler_ticks += handler_ticks;
	if ((record->flags & ST_SAMPLE_NO_TABLE) && !drain->tables_ready)
		drain->counts.before_tables++;
}

/* The stack of a wait is read when it has ended; it is a sample of the time since it began. */
static void keep_wait(struct st_drain *drain, struct st_sample_reader *reader,
		      struct st_sample_record *record, uint64_t ticks)
{
	uint64_t per_second = drain->shared->ticks_per_second;

	record->time -= ticks < record->time ? ticks : record->time;
	record->weight_ns =
		per_second ? (uint64_t)((double)ticks * 1e9 / (double)per_second) : ticks;
	st_sample_encoder_add(&reader->waits, record);
	if (!reader->oldest_ns)
		reader->oldest_ns = drain->now_ns;
}

static void add_sample(struct st_drain *drain, struct st_sample_reader *reader, uint32_t flags,
		       uint64_t weight_word)
{
	struct st_merge_input input = {.native = reader->native.words,
				       .python = reader->python.words,
				       .native_count = reader->native.count,
				       .python_count = reader->python.count,
				       .flags = flags};
	struct st_merged_frame *merged = merge_room(drain->shared);
	bool is_wait = flags & ST_SAMPLE_WAITING;
	uint64_t handler_ticks =
		is_wait ? 0 : handler_cost(drain->shared, (uint32_t)(weight_word >> 32));
	struct st_sample_record record = {
		.time = reader->time,
		.weight_ns = weight_of(drain->shared, flags, (uint32_t)weight_word, handler_ticks)};
	uint32_t merge_flags = 0, count;

	memcpy(input.eval, drain->python_eval, sizeof(input.eval));
	if (merged) {
		uint32_t user = st_merge_frames(&input, merged, &merge_flags);

		count = is_wait ? user : add_kernel(drain, reader, merged, user);
		if (count > user)
			merge_flags |= ST_SAMPLE_KERNEL;
		record.node = node_of(drain, reader, merged, count);
		if (count && !record.node) /* better none than half of one */
			merge_flags |= ST_SAMPLE_TRUNCATED;
	}
	record.flags = flags | merge_flags;
	if (is_wait)
		keep_wait(drain, reader, &record, weight_word);
	else
		keep_sample(drain, reader, &record, handler_ticks);
}

/* What the stack begins in tells what the thread is for. */
static void keep_outer(struct st_sample_reader *reader)
{
	const struct st_frame_words *native = &reader->native;

	while (reader->outer_count < ST_OUTER_FRAMES && reader->outer_count < native->count) {
		reader->outer[reader->outer_count] =
			native->words[native->count - 1 - reader->outer_count] &
			~(ST_FRAME_WORD_RECOVERED | ST_FRAME_WORD_EXACT);
		reader->outer_count++;
	}
}

static bool take_sample(struct st_drain *drain, struct st_sample_reader *reader,
			const uint64_t *payload, uint32_t payload_words)
{
	struct st_sample_counts counts = {
		.native_new = (uint32_t)(payload[0] >> 16) & ST_SAMPLE_FRAMES_MAX,
		.native_kept = (uint32_t)(payload[0] >> 28) & ST_SAMPLE_FRAMES_MAX,
		.python_new = (uint32_t)(payload[0] >> 40) & ST_SAMPLE_FRAMES_MAX,
		.python_kept = (uint32_t)(payload[0] >> 52) & ST_SAMPLE_FRAMES_MAX,
	};
	const uint64_t *frames = payload + SAMPLE_HEAD_WORDS;
	uint32_t flags = (uint32_t)payload[0] & 0xffff & KNOWN_FLAGS;

	if (payload_words != SAMPLE_HEAD_WORDS + counts.native_new + counts.python_new)
		return false;
	if (!st_frame_words_restore(&reader->native, frames, counts.native_new,
				    counts.native_kept)) {
		/* After a gap in the ring the frames that were kept are not known. */
		st_drain_refuse(drain, "a sample keeps %" PRIu32 " frames of %" PRIu32,
				counts.native_kept, reader->native.count);
		st_frame_words_restore(&reader->native, frames, counts.native_new, 0);
		flags |= ST_SAMPLE_TRUNCATED;
	}
	if (!st_frame_words_restore(&reader->python, frames + counts.native_new, counts.python_new,
				    counts.python_kept)) {
		st_drain_refuse(drain, "a sample keeps %" PRIu32 " frames of Python's %" PRIu32,
				counts.python_kept, reader->python.count);
		st_frame_words_restore(&reader->python, frames + counts.native_new,
				       counts.python_new, 0);
		flags |= ST_SAMPLE_PYTHON_CUT;
	}
	want_maps(drain, frames, counts.native_new);
	if (!reader->outer_count && !(flags & ST_SAMPLE_TRUNCATED))
		keep_outer(reader);
	add_sample(drain, reader, flags, payload[1]);
	return true;
}

static void forget_stack(struct st_sample_reader *reader)
{
	reader->native.count = reader->python.count = reader->path_count = 0;
}

static void begin_owner(struct st_drain *drain, struct st_slot_reader *slot, uint64_t owner)
{
	struct st_sample_reader *reader = slot->samples;

	if (reader->track)
		st_drain_flush_samples(drain, slot);
	reader->owner = owner;
	reader->outer_count = 0;
	reader->first_time = reader->time;
	reader->ended = false;
	forget_stack(reader);
	reader->track = st_drain_track_of(drain, slot, owner, reader->time);
}

/* One record; false when it cannot be one. */
static bool take_record(struct st_drain *drain, struct st_slot_reader *slot, const uint64_t *words,
			uint32_t word_count)
{
	struct st_sample_reader *reader = slot->samples;
	unsigned int subkind = (unsigned int)(words[0] >> 4) & 0xff;
	const uint64_t *payload = words + 1;
	uint32_t payload_words = word_count - 1;

	reader->time = st_drain_bounded_time(drain, reader->time, reader->time + (words[0] >> 28));
	switch (subkind) {
	case ST_EXT_TIME:
		if (payload_words)
			reader->time = st_drain_bounded_time(drain, reader->time, payload[0]);
		return payload_words > 0;
	case ST_EXT_THREAD:
		if (payload_words)
			begin_owner(drain, slot, payload[0]);
		return payload_words > 0;
	case ST_EXT_THREAD_END:
		reader->ended = true;
		return true;
	case ST_EXT_LOST: /* the ring counts them as well */
		return payload_words > 0;
	case ST_EXT_SAMPLE:
		if (!reader->track) /* of nobody: the identity was lost */
			begin_owner(drain, slot, 0);
		return payload_words >= SAMPLE_HEAD_WORDS &&
		       take_sample(drain, reader, payload, payload_words);
	case ST_EXT_PYTHON_CODE:
		return st_drain_take_code(drain, payload, payload_words);
	case ST_EXT_PYTHON_RUNTIME:
		if (payload_words >= RUNTIME_WORDS)
			st_drain_take_runtime(drain, payload);
		return payload_words >= RUNTIME_WORDS;
	default:
		return false;
	}
}

static bool make_reader(struct st_slot_reader *slot)
{
	if (slot->samples)
		return true;
	slot->samples = calloc(1, sizeof(*slot->samples));
	if (!slot->samples)
		return false;
	st_sample_encoder_init(&slot->samples->encoder);
	st_sample_encoder_init(&slot->samples->waits);
	return true;
}

void st_drain_forget_stack(struct st_drain *drain, struct st_slot_reader *slot)
{
	if (!slot->samples)
		return;
	slot->samples->time = drain->now;
	forget_stack(slot->samples);
}

void st_drain_decode_samples(struct st_drain *drain, struct st_slot_reader *slot,
			     const uint64_t *words, size_t word_count)
{
	struct st_sample_reader *reader;
	size_t at = 0;

	if (!make_reader(slot)) {
		st_drain_refuse(drain, "samples: no memory");
		return;
	}
	reader = slot->samples;
	if (reader->time < drain->shared->start_ticks)
		reader->time = drain->shared->start_ticks;
	while (at < word_count) {
		uint32_t count = (uint32_t)(words[at] >> 12) & 0xffff;

		if ((words[at] & 15) != ST_WORD_EXTENDED || !count || count > word_count - at ||
		    !take_record(drain, slot, words + at, count)) {
			st_drain_refuse(drain, "a sample's record that begins with %#" PRIx64,
					words[at]);
			st_drain_forget_stack(drain, slot);
			break;
		}
		drain->counts.records++;
		if (st_sample_encoder_is_full(&reader->encoder) ||
		    st_sample_encoder_is_full(&reader->waits))
			st_drain_flush_samples(drain, slot);
		else if (!reader->oldest_ns && reader->encoder.record_count)
			reader->oldest_ns = drain->now_ns;
		if (drain->tree.count - drain->nodes_written >= NODES_FLUSH)
			st_drain_flush_definitions(drain);
		at += count;
	}
	if (reader->ended)
		st_drain_end_samples(drain, slot);
}

void st_drain_define_nodes(struct st_drain *drain)
{
	struct st_definition_batch *batch = st_drain_passing(drain);
	const struct st_stack_tree *tree = &drain->tree;

	while (drain->nodes_written < tree->count) {
		uint32_t first = drain->nodes_written + 1, end = tree->count + 1;
		struct st_node_encoder encoder;
		size_t record;

		if (end - first > NODES_PER_RECORD)
			end = first + NODES_PER_RECORD;
		drain->nodes_written = end - 1; /* before: defining may flush, which comes here */
		record = st_drain_define(drain, batch, ST_DEF_STACK_NODES);
		st_stack_nodes_begin(&encoder, &batch->records, tree->base + first);
		for (uint32_t i = first; i < end; i++)
			st_stack_nodes_add(&encoder, &tree->nodes[i]);
		st_stack_nodes_end(&encoder);
		st_drain_defined(batch, record);
	}
}

static void forget_path(struct st_slot_reader *slot)
{
	slot->stack_known = false;
	if (slot->samples)
		slot->samples->path_count = 0;
}

void st_drain_forget_nodes(struct st_drain *drain)
{
	st_stack_tree_forget(&drain->tree);
	drain->nodes_written = 0;
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t k = 0; k < drain->segments[i].slot_count; k++)
			forget_path(&drain->segments[i].slots[k]);
	for (uint32_t i = 0; i < drain->outside.count; i++)
		forget_path(drain->outside.slots[i]);
}

static void flush_encoder(struct st_drain *drain, uint32_t track, struct st_sample_encoder *encoder)
{
	const struct st_drain_sink *sink = &drain->shared->sink;
	struct st_buf *payload = &drain->shared->payload;
	struct st_chunk_header header = {
		.type = ST_CHUNK_SAMPLES, .process = drain->process, .track = track};

	if (!encoder->record_count)
		return;
	st_drain_flush_definitions(drain);
	st_buf_clear(payload);
	if (st_sample_encoder_finish(encoder, &header, payload))
		sink->trace(sink->arg, &header, payload);
	else
		st_drain_refuse(drain, "a chunk of samples: no memory");
	st_sample_encoder_clear(encoder);
}

void st_drain_flush_samples(struct st_drain *drain, struct st_slot_reader *slot)
{
	struct st_sample_reader *reader = slot->samples;

	if (!reader)
		return;
	reader->oldest_ns = 0;
	flush_encoder(drain, reader->track, &reader->encoder);
	flush_encoder(drain, reader->track, &reader->waits);
}

static struct st_slot_reader *slot_of(struct st_drain *drain, uint32_t tid)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t k = 0; k < drain->segments[i].slot_count; k++) {
			struct st_slot_reader *slot = &drain->segments[i].slots[k];

			if (slot->samples && (uint32_t)slot->samples->owner == tid)
				return slot;
		}
	return NULL;
}

void st_drain_take_wait(struct st_drain *drain, const struct st_drain_wait *wait)
{
	struct st_slot_reader *slot = slot_of(drain, wait->tid);
	struct st_sample_record record = {
		.time = wait->begin,
		.weight_ns = wait->off_ns,
		.flags = (wait->preempted ? ST_SAMPLE_RUNNABLE : ST_SAMPLE_WAITING) |
			 ST_SAMPLE_NO_STACK};

	if (!slot || !slot->samples->track || !drain->segment_count ||
	    atomic_load_explicit(&st_shm_segment_header(&drain->segments[0])->control,
				 memory_order_relaxed))
		return;
	st_sample_encoder_add(&slot->samples->waits, &record);
	if (!slot->samples->oldest_ns)
		slot->samples->oldest_ns = drain->now_ns;
	if (st_sample_encoder_is_full(&slot->samples->waits))
		st_drain_flush_samples(drain, slot);
}

void st_drain_end_samples(struct st_drain *drain, struct st_slot_reader *slot)
{
	st_drain_flush_samples(drain, slot);
	/* The next owner may be long in coming: give the memory back. */
	st_sample_reader_destroy(slot->samples);
	slot->samples = NULL;
}
