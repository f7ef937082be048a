// SPDX-License-Identifier: Apache-2.0
#include "analyze/datasets/wait_class.h"

#include <stdlib.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/wait_sites.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/samples.h"

enum verdict {
	UNKNOWN, /* it has no stack, or not all of it */
	WORK,
	IDLE,
};

/* How long a thread has waited for an object as a worker without work, and otherwise. */
struct known_wait {
	uint64_t idle_ns, work_ns;
};

struct known_waits {
	struct st_pair_map pairs; /* track, object */
	struct known_wait *items;
	uint32_t capacity;
};

static struct known_wait *known_of(struct known_waits *known, const struct st_span *span)
{
	uint32_t at = st_pair_map_add(&known->pairs, span->begin_track, span->object);

	if (known->pairs.failed || !ST_VEC_ROOM_ZERO(known->items, at, known->capacity))
		return NULL;
	return &known->items[at];
}

/* Who waits for Python's lock has something to do. *kind: 0 where the program tells of the wait. */
static bool may_be_idle(const struct st_span *span, uint32_t *kind)
{
	*kind = st_library_wait(span) & ST_WAIT_KIND_MASK;
	return span->kind == ST_SPAN_WAIT && *kind != ST_WAIT_GIL && span->begin_track != ST_NO_ROW;
}

static enum verdict judge(const struct st_wait_sites *sites, const struct st_span *span)
{
	const struct st_samples *samples = st_result_samples(sites->result);
	uint32_t sample = sites->named ? st_wait_sample(sites->result, span) : ST_NO_ROW;

	if (sample == ST_NO_ROW || !samples->node[sample])
		return UNKNOWN;
	if (st_wait_is_idle(sites, sample))
		return IDLE;
	return samples->flags[sample] & ST_SAMPLE_TRUNCATED ? UNKNOWN : WORK;
}

static bool judge_stacks(const struct st_wait_sites *sites, struct known_waits *known,
			 uint8_t *classes)
{
	uint32_t count, kind;
	const struct st_span *spans = st_result_spans(sites->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		bool may_be = may_be_idle(&spans[i], &kind);
		enum verdict verdict = may_be ? judge(sites, &spans[i]) : UNKNOWN;
		struct known_wait *sum;

		if (kind)
			classes[i] = (uint8_t)st_wait_class_of(kind);
		if (verdict == UNKNOWN)
			continue;
		sum = known_of(known, &spans[i]);
		if (!sum)
			return false;
		*(verdict == IDLE ? &sum->idle_ns : &sum->work_ns) +=
			(uint64_t)(spans[i].end_ns - spans[i].begin_ns);
		if (verdict == IDLE)
			classes[i] = ST_WAITS_IDLE;
	}
	return true;
}

static bool judge_others(const struct st_wait_sites *sites, struct known_waits *known,
			 uint8_t *classes)
{
	uint32_t count, kind;
	const struct st_span *spans = st_result_spans(sites->result, &count);

	for (uint32_t i = 0; i < count && known->pairs.count; i++) {
		struct known_wait *sum;

		if (classes[i] == ST_WAITS_IDLE || !may_be_idle(&spans[i], &kind) ||
		    judge(sites, &spans[i]) != UNKNOWN)
			continue;
		sum = known_of(known, &spans[i]);
		if (!sum)
			return false;
		if (sum->idle_ns > sum->work_ns)
			classes[i] = ST_WAITS_IDLE;
	}
	return true;
}

bool st_wait_classes_make(struct st_wait_classes *out, const struct st_wait_sites *sites)
{
	struct known_waits known = {0};
	uint32_t count;

	st_result_spans(sites->result, &count);
	out->of_span = calloc((size_t)count + 1, 1);
	if (!out->of_span || !judge_stacks(sites, &known, out->of_span) ||
	    !judge_others(sites, &known, out->of_span))
		st_wait_classes_fini(out);
	st_pair_map_fini(&known.pairs);
	free(known.items);
	return out->of_span;
}

void st_wait_classes_fini(struct st_wait_classes *classes)
{
	free(classes->of_span);
	classes->of_span = NULL;
}
