// SPDX-License-Identifier: Apache-2.0
//
// Rules over steps as a whole and CPU time.
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
	out->what = st_arena_printf(ground->arena, "%s of a step (%.0f %%) %s",
				    st_finding_time(ground, data_ns),
				    st_finding_share(ground, data_ns) * 100.0,
				    beside ? "waits for DataLoader workers"
					   : "prepares the next batch in the training loop");
	return true;
}

static double part(uint64_t some, uint64_t all)
{
	return all ? (double)some / (double)all : 0.0;
}

/* CPU time of threads that wait is not the time of a step: it may be that nothing is saved but power. */
static bool takes_share(const struct st_finding_ground *ground, struct st_finding *out,
			double share)
{
	out->evidence_ns = (uint64_t)(share * (double)ground->step_ns) * ground->divisor;
	out->saving_high_ns = out->evidence_ns;
	return ground->has_samples && share >= 0.1;
}

bool st_find_spin(struct st_finding_ground *ground, struct st_finding *out)
{
	double share = part(ground->spin_ns, ground->cpu_ns);

	if (!takes_share(ground, out, share))
		return false;
	out->what = st_arena_printf(
		ground->arena, "%.0f %% of CPU time is spent spinning and waiting", share * 100.0);
	return true;
}

bool st_find_oversubscription(struct st_finding_ground *ground, struct st_finding *out)
{
	double share = part(ground->use.oversubscribed_ns, ground->use.recorded_ns);

	if (!takes_share(ground, out, share))
		return false;
	out->what = st_arena_printf(
		ground->arena, "more threads than CPUs (%u) want to run for %.0f %% of the time",
		ground->use.cpu_count, share * 100.0);
	return true;
}
