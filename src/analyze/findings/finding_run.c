// SPDX-License-Identifier: Apache-2.0
//
// The rule about waiting for data.
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/dataset_rows.h"
#include "analyze/findings/finding_places.h"
#include "analyze/findings/finding_rules.h"

static bool has_label(const struct st_result *result, const char *part)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	for (uint32_t i = 0; i < count; i++)
		if (st_text_holds(st_result_text(result, labels[i].name), part))
			return true;
	return false;
}

/* What the workers of DataLoaders did in the time of the steps. */
struct workers {
	uint32_t count; /* by their numbers: each epoch may have new ones */
	uint64_t life_ns, idle_ns, cpu_ns;
	struct st_finding_votes votes;
};

static bool is_worker(const struct st_finding_ground *ground, uint32_t track, uint32_t *number)
{
	static const char prefix[] = "DataLoader worker ";
	struct st_text name = st_place_thread(ground->result, track, ground->arena);

	if (name.size_bytes < sizeof(prefix) || memcmp(name.bytes, prefix, sizeof(prefix) - 1) != 0)
		return false;
	*number = 0;
	for (const char *at = name.bytes + sizeof(prefix) - 1; *at >= '0' && *at <= '9'; at++)
		*number = *number * 10 + (uint32_t)(*at - '0');
	return true;
}

static uint64_t overlap(const struct st_finding_ground *ground, int64_t begin_ns, int64_t end_ns)
{
	begin_ns = begin_ns > ground->begin_ns ? begin_ns : ground->begin_ns;
	end_ns = end_ns < ground->end_ns ? end_ns : ground->end_ns;
	return end_ns > begin_ns ? (uint64_t)(end_ns - begin_ns) : 0;
}

static void add_worker(struct workers *workers, const struct st_finding_ground *ground,
		       uint32_t track)
{
	const struct st_samples *samples = ground->samples.samples;
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(ground->result, &count);

	workers->life_ns += overlap(ground, tracks[track].first_ns, tracks[track].last_ns);
	for (uint32_t i = samples->first_of_track[track]; i < samples->first_of_track[track + 1];
	     i++) {
		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE) ||
		    !overlap(ground, samples->time_ns[i], samples->time_ns[i] + 1))
			continue;
		workers->cpu_ns += samples->weight_ns[i];
		st_finding_vote(&workers->votes, ground, i, samples->weight_ns[i]);
	}
}

static uint64_t idle_of(const struct st_finding_ground *ground, const uint8_t *is_one)
{
	const struct st_dataset *waits = &ground->samples.waits;
	const char *idle = st_wait_class_word(ST_WAITS_IDLE);
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; ground->has_waits && i < waits->row_count; i++) {
		struct st_text class =
			waits->text(waits, ST_BY_WAIT_CLASS,
				    st_key_of(&waits->keys[ST_BY_WAIT_CLASS], i), ground->arena);

		if (is_one[st_key_of(&waits->keys[ST_BY_THREAD], i)] &&
		    st_row_is_counted(waits, i) && class.size_bytes == strlen(idle) &&
		    !memcmp(class.bytes, idle, class.size_bytes))
			sum_ns += overlap(ground, waits->begin_ns[i], waits->end_ns[i]);
	}
	return sum_ns;
}

/* ": 2 workers, 97 % busy, in augment, data.py:41" */
static const char *worker_words(const struct st_finding_ground *ground)
{
	struct workers workers = {0};
	uint32_t track_count, number;
	const char *place, *words = "";
	double busy;
	uint8_t *is_one;

	st_result_tracks(ground->result, &track_count);
	is_one = calloc((size_t)track_count + 2, 1);
	for (uint32_t i = 0; is_one && ground->has_set && i < track_count; i++) {
		if (!is_worker(ground, i, &number))
			continue;
		is_one[i] = 1;
		workers.count = number + 1 > workers.count ? number + 1 : workers.count;
		add_worker(&workers, ground, i);
	}
	if (workers.count && workers.life_ns) {
		workers.idle_ns = idle_of(ground, is_one);
		busy = ground->has_waits ? 1.0 - (double)workers.idle_ns / (double)workers.life_ns
					 : (double)workers.cpu_ns / (double)workers.life_ns;
		place = st_finding_elected_function(&workers.votes, ground);
		words = st_arena_printf(ground->arena, ": %u worker%s, %.0f %% %s%s%s",
					workers.count, workers.count == 1 ? "" : "s", busy * 100.0,
					ground->has_waits ? "busy" : "of their time on a CPU",
					*place ? ", most in " : "", place);
	}
	st_finding_votes_fini(&workers.votes);
	free(is_one);
	return words;
}

/* Batches that are made in the loop itself can be made beside it: by one worker, then a step takes as long as the longer
 * of the two, or by so many that nothing is left to wait for. Workers that are there already may become more, or
 * faster. */
bool st_find_data_wait(struct st_finding_ground *ground, struct st_finding *out)
{
	uint64_t data_ns = ground->figures.part_ns[ST_STEP_DATA], rest_ns;
	bool beside = has_label(ground->result, "_MultiProcessingDataLoaderIter");

	out->evidence_ns = data_ns;
	if (!ground->figures.count || st_finding_share(ground, data_ns) < 0.1)
		return false;
	rest_ns = ground->figures.wall_ns - data_ns;
	out->saving_high_ns = data_ns;
	out->saving_low_ns = beside ? 0 : data_ns < rest_ns ? data_ns : rest_ns;
	out->where = "DataLoader";
	out->what = st_arena_printf(ground->arena, "%s of a step (%.0f %%) %s%s",
				    st_finding_time(ground, data_ns),
				    st_finding_share(ground, data_ns) * 100.0,
				    beside ? "waits for DataLoader workers"
					   : "prepares the next batch in the training loop",
				    beside ? worker_words(ground) : "");
	return true;
}
