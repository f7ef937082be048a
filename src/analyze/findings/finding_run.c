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

/* What the thread of the steps spins itself is time of a step. Others may spin beside it for nothing but power, or on
 * CPUs that it needs: what that costs is not known. */
bool st_find_spin(struct st_finding_ground *ground, struct st_finding *out)
{
	double share = part(ground->spin_ns, ground->cpu_ns);

	out->evidence_ns = out->saving_low_ns = out->saving_high_ns = ground->step_spin_ns;
	if (!ground->has_samples || share < 0.1 ||
	    st_finding_share(ground, out->evidence_ns) < 0.02)
		return false;
	out->what = st_arena_printf(ground->arena,
				    "%.0f %% of the CPU time of %s is spinning and waiting (of the "
				    "run: %.0f %%); %s of it on "
				    "the thread %s, and fewer threads may save more than that",
				    share * 100.0,
				    ground->figures.count ? "the steps" : "the operators",
				    part(ground->run_spin_ns, ground->run_cpu_ns) * 100.0,
				    st_finding_time(ground, out->evidence_ns),
				    ground->figures.count ? "of the steps" : "that spins most");
	return true;
}

/* Threads that were ready to run, by the kernel's own count. What a step may gain is what its thread waited for a CPU,
 * when all that are ready wait alike; how much of that, only a try tells: the CPUs were at work meanwhile. */
bool st_find_oversubscription(struct st_finding_ground *ground, struct st_finding *out)
{
	const struct st_utilization *use = &ground->use;
	double share = part(use->oversubscribed_ns, use->watched_ns);

	out->evidence_ns = out->saving_high_ns =
		(uint64_t)(part(use->queued_ns, use->watched_ns) * (double)ground->step_ns *
			   ground->divisor);
	if (!ground->has_samples || share < 0.1 ||
	    st_finding_share(ground, out->evidence_ns) < 0.02)
		return false;
	out->what =
		st_arena_printf(ground->arena,
				"more threads than CPUs (%u) are ready to run for %.0f %% of the "
				"time of %s (of the run: "
				"%.0f %%): a thread waits %s for a CPU",
				use->cpu_count, share * 100.0,
				ground->figures.count ? "the steps" : "the operators",
				part(ground->run.oversubscribed_ns, ground->run.watched_ns) * 100.0,
				st_finding_time(ground, out->evidence_ns));
	return true;
}
