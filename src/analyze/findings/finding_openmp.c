// SPDX-License-Identifier: Apache-2.0
//
// Regions of OpenMP whose work is unevenly spread. A thread that lost its CPU is late as well, and no schedule helps against that: such time
// counts for the part of the saving that is sure as if it were all of the lateness.
#include <stdlib.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/findings/finding_rules.h"
#include "base/search.h"
#include "format/wait_kind.h"
#include "store/off_cpu.h"

struct study {
	const struct st_finding_ground *ground;
	const struct st_dataset *regions;
	uint64_t *imbalance_ns; /* by key of the region */
	uint32_t key_count;
};

/* Whether it lies in a step, or in the time that figures are of, and makes that longer. */
static bool counts(const struct study *study, uint32_t row)
{
	const struct st_finding_ground *ground = study->ground;
	const struct st_dataset *regions = study->regions;
	const int64_t whole_ns[2] = {regions->begin_ns[row], regions->end_ns[row]};
	uint32_t track = st_key_of(&regions->keys[ST_BY_THREAD], row), count;
	uint32_t at = st_finding_steps_of(ground, track)->range[0];
	int64_t piece_ns[2];

	st_result_tracks(ground->result, &count);
	return st_openmp_region(regions, row).is_parallel && track < count &&
	       ground->track_counts[track] &&
	       st_finding_piece(ground, track, whole_ns, &at, piece_ns) &&
	       piece_ns[0] == whole_ns[0] && piece_ns[1] == whole_ns[1];
}

static uint32_t key_of(const struct study *study, uint32_t row)
{
	return st_key_of(&study->regions->keys[ST_BY_REGION], row);
}

static uint32_t worst(const struct study *study)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < study->regions->row_count; i++)
		if (counts(study, i))
			study->imbalance_ns[key_of(study, i)] +=
				st_openmp_region(study->regions, i).imbalance_ns;
	for (uint32_t i = 1; i < study->key_count; i++)
		if (study->imbalance_ns[i] > study->imbalance_ns[found])
			found = i;
	return found;
}

/* A stretch of time of a process, or of a thread. */
struct stretch {
	int64_t begin_ns, end_ns;
	uint32_t of;
};

struct stretches {
	struct stretch *items;
	uint32_t count;
};

static int by_begin(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Of one absence, what lies in these; those of a region do not overlap but for nested ones. */
static uint64_t overlap(const struct stretches *stretches, uint32_t of,
			const struct st_off_row *row)
{
	const struct stretch *items = stretches->items;
	int64_t end_ns = row->begin_ns + (int64_t)row->off_ns;
	uint64_t sum_ns = 0;
	uint32_t at = ST_SEARCH(i, 0, stretches->count,
				items[i].of < of ||
					(items[i].of == of && items[i].end_ns <= row->begin_ns));

	for (; at < stretches->count && items[at].of == of && items[at].begin_ns < end_ns; at++) {
		int64_t from =
			items[at].begin_ns > row->begin_ns ? items[at].begin_ns : row->begin_ns;
		int64_t to = items[at].end_ns < end_ns ? items[at].end_ns : end_ns;

		sum_ns += to > from ? (uint64_t)(to - from) : 0;
	}
	return sum_ns;
}

static bool find_instances(const struct study *study, uint32_t key, struct stretches *out)
{
	const struct st_dataset *regions = study->regions;

	out->items = calloc((size_t)regions->row_count + 1, sizeof(*out->items));
	for (uint32_t i = 0; out->items && i < regions->row_count; i++)
		if (counts(study, i) && key_of(study, i) == key)
			out->items[out->count++] =
				(struct stretch){regions->begin_ns[i], regions->end_ns[i],
						 st_key_of(&regions->keys[ST_BY_PROCESS], i)};
	if (out->items)
		qsort(out->items, out->count, sizeof(*out->items), by_begin);
	return out->items;
}

/* When threads had done their part already. */
static bool find_waits(const struct st_result *result, struct stretches *out)
{
	uint32_t count;
	const struct st_span *spans = st_result_spans(result, &count);

	out->items = calloc((size_t)count + 1, sizeof(*out->items));
	for (uint32_t i = 0; out->items && i < count; i++)
		if ((st_library_wait(&spans[i]) & ST_WAIT_KIND_MASK) == ST_WAIT_REGION)
			out->items[out->count++] = (struct stretch){
				spans[i].begin_ns, spans[i].end_ns, spans[i].begin_track};
	if (out->items)
		qsort(out->items, out->count, sizeof(*out->items), by_begin);
	return out->items;
}

/* How long threads had work to do in the region, were ready, and had no CPU. Where the kernel told nothing but totals, nobody
 * knows when that was. */
static uint64_t preempted_in(const struct study *study, uint32_t key, bool *only_totals)
{
	const struct st_result *result = study->ground->result;
	struct stretches instances = {0}, waits = {0};
	uint32_t count, track_count;
	const struct st_off_row *rows = st_result_off_cpu(result, &count);
	const struct st_track *tracks = st_result_tracks(result, &track_count);
	bool is_known = find_instances(study, key, &instances) && find_waits(result, &waits);
	uint64_t sum_ns = 0, done_ns = 0;

	*only_totals = false;
	for (uint32_t i = 0; is_known && i < count; i++) {
		*only_totals = *only_totals || rows[i].flags & ST_OFF_RAN;
		if (rows[i].flags & ST_OFF_PREEMPTED &&
		    !(rows[i].flags & (ST_OFF_WOKEN | ST_OFF_RAN)) && rows[i].track < track_count) {
			uint64_t ns = overlap(&instances, tracks[rows[i].track].process, &rows[i]);

			sum_ns += ns;
			done_ns += ns ? overlap(&waits, rows[i].track, &rows[i]) : 0;
		}
	}
	free(instances.items);
	free(waits.items);
	return !is_known ? UINT64_MAX : sum_ns > done_ns ? sum_ns - done_ns : 0;
}

static bool look(const struct study *study, struct st_finding *out)
{
	const struct st_finding_ground *ground = study->ground;
	uint32_t key = worst(study), count = 0, threads = 0;
	uint64_t imbalance_ns = study->imbalance_ns[key], lost_ns, total_ns = 0;
	struct st_text name;
	bool only_totals;

	if (st_finding_share(ground, imbalance_ns) < 0.05)
		return false;
	lost_ns = preempted_in(study, key, &only_totals);
	if (lost_ns >= imbalance_ns)
		return false;
	for (uint32_t i = 0; i < study->regions->row_count; i++)
		if (counts(study, i) && key_of(study, i) == key) {
			count++;
			threads = st_openmp_region(study->regions, i).threads;
			total_ns += study->regions->self_ns[i];
		}
	name = study->regions->text(study->regions, ST_BY_REGION, key, ground->arena);
	out->where = st_arena_copy(ground->arena, name.bytes, name.size_bytes);
	out->evidence_ns = imbalance_ns;
	out->saving_low_ns = only_totals ? 0 : imbalance_ns - lost_ns;
	out->saving_high_ns = imbalance_ns;
	out->what = st_arena_printf(
		ground->arena,
		"%u threads wait %.0f %% of the time of the OpenMP region %.*s for its slowest "
		"thread (%u times, %.0f %% of %s)",
		threads, 100.0 * (double)imbalance_ns / (double)(total_ns ? total_ns : 1),
		(int)name.size_bytes, name.bytes, count,
		st_finding_share(ground, imbalance_ns) * 100.0,
		ground->figures.count ? "a step" : "the run");
	return out->where && out->what;
}

bool st_find_openmp_imbalance(struct st_finding_ground *ground, struct st_finding *out)
{
	struct st_dataset regions;
	struct study study = {.ground = ground, .regions = &regions};
	bool found = false;

	if (!ground->has_waits ||
	    st_dataset_rows_init(&regions, ground->result, ST_ROWS_OPENMP, NULL))
		return false;
	study.key_count = regions.keys[ST_BY_REGION].key_count;
	study.imbalance_ns = calloc((size_t)study.key_count + 1, sizeof(*study.imbalance_ns));
	if (study.imbalance_ns && regions.row_count)
		found = look(&study, out);
	free(study.imbalance_ns);
	st_dataset_rows_fini(&regions);
	return found;
}
