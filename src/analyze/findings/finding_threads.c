// SPDX-License-Identifier: Apache-2.0
//
// Rules about threads: those that are more than CPUs, and those that spin without being so. What fewer of them save lies between two times
// that were measured. A step is never shorter than its work on all CPUs; and one thread alone takes no longer than all of
// the work, if nobody else wants its CPU.
#include "analyze/findings/finding_rules.h"

static double part(uint64_t some, uint64_t all)
{
	return all ? (double)some / (double)all : 0.0;
}

static uint64_t less(uint64_t from, uint64_t taken)
{
	return from > taken ? from - taken : 0;
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Sums over all steps. */
struct budget {
	uint64_t wall_ns; /* without waiting for data */
	uint64_t work_ns; /* effective CPU time of all threads */
	uint64_t
		waiting_ns; /* of the thread of the steps: spinning, or neither at work nor asleep of its own accord */
	uint64_t asleep_ns; /* what is left: nobody knows whether threads have to do with it */
};

/* The thread of the steps may sleep until a worker is done that waits for a CPU, or wait for one itself: of the time that
 * it was on no CPU at most as much is due to that as threads waited for CPUs, by the kernel's count. */
static struct budget budget_of(const struct st_finding_ground *ground)
{
	const struct st_utilization *use = &ground->use;
	uint64_t wall_ns = (uint64_t)((double)ground->step_ns * ground->divisor), off_ns, queue_ns;
	struct budget budget = {.work_ns = ground->work_ns};

	budget.wall_ns = less(wall_ns, ground->figures.part_ns[ST_STEP_DATA]);
	off_ns = less(budget.wall_ns, ground->step_cpu_ns);
	queue_ns = (uint64_t)(part(use->delay_ns, use->watched_ns) * (double)wall_ns);
	queue_ns = smaller(off_ns, queue_ns);
	budget.asleep_ns = off_ns - queue_ns;
	budget.waiting_ns = ground->step_spin_ns + queue_ns;
	return budget;
}

double st_finding_stretch(const struct st_finding_ground *ground)
{
	const struct st_utilization *use = &ground->use;

	return 1.0 + part(less(use->delay_ns, use->own_delay_ns), use->ran_ns);
}

/* No more than is left of a step when the CPUs that others leave do nothing but its work; no less than one thread alone
 * would save, where it is known that it has a CPU for itself. */
static void set_saving(const struct st_finding_ground *ground, const struct budget *budget,
		       uint64_t most_ns, struct st_finding *out)
{
	uint64_t shortest_ns = (uint64_t)((double)budget->work_ns * st_finding_stretch(ground) /
					  ground->use.cpu_count);

	out->saving_high_ns = smaller(most_ns, less(budget->wall_ns, shortest_ns));
	out->saving_low_ns = smaller(out->saving_high_ns,
				     less(budget->wall_ns, budget->asleep_ns + budget->work_ns));
	if (*ground->disturbed || ground->step_tracks > 1)
		out->saving_low_ns = 0;
}

/* Fewer threads are the wrong advice where one alone would take longer than all do now. */
static const char *remedy_of(const struct st_finding_ground *ground, const struct budget *budget)
{
	uint64_t alone_ns = budget->work_ns + budget->asleep_ns;

	if (alone_ns < budget->wall_ns)
		return st_arena_printf(
			ground->arena,
			"use fewer threads (torch.set_num_threads, OMP_NUM_THREADS): the work of "
			"all is %s of CPU time, which one thread alone would do in that time",
			st_finding_time(ground, budget->work_ns));
	return "give each thread more work (larger batches), or share the work out evenly, so that "
	       "no thread waits for another; keep the number of threads: one alone would take "
	       "longer";
}

/* What both rules are about, and what the step would be shorter by at most. */
static const char *tell_waiting(const struct st_finding_ground *ground, const struct budget *budget)
{
	return st_arena_printf(ground->arena,
			       "the thread %s spins for %s and waits for CPUs for %s%s",
			       ground->figures.count ? "of the steps" : "that spins most",
			       st_finding_time(ground, ground->step_spin_ns),
			       st_finding_time(ground, budget->waiting_ns - ground->step_spin_ns),
			       ground->figures.count ? " of a step" : "");
}

/* Threads that were ready to run, by the kernel's own count: a thread waits as long for a CPU as all that are ready do.
 * The thread of the steps waits as well for others to reach the end of a region, which wait for CPUs in turn: what a step
 * may gain is all that it spins, and is on no CPU because of that, as far as the CPUs could do the work sooner. Where other
 * programs have CPUs nobody knows how soon that is. How much it really gains, only a try tells. */
bool st_find_oversubscription(struct st_finding_ground *ground, struct st_finding *out)
{
	const struct st_utilization *use = &ground->use;
	double share = part(use->oversubscribed_ns, use->watched_ns);
	uint64_t queued_ns = (uint64_t)(part(use->queued_ns, use->watched_ns) *
					(double)ground->step_ns * ground->divisor);
	struct budget budget;

	if (!ground->has_samples || share < 0.1 || st_finding_share(ground, queued_ns) < 0.02)
		return false;
	budget = budget_of(ground);
	out->saving_high_ns = budget.waiting_ns;
	if (!*ground->disturbed)
		out->saving_high_ns = smaller(
			budget.waiting_ns, less(budget.wall_ns, budget.work_ns / use->cpu_count));
	if (st_finding_share(ground, out->saving_high_ns) < 0.02)
		return false;
	out->evidence_ns = budget.waiting_ns;
	out->what = st_arena_printf(ground->arena,
				    "more threads than CPUs (%u) are ready to run for %.0f %% of "
				    "the time of %s: %s",
				    use->cpu_count, share * 100.0,
				    ground->figures.count ? "the steps" : "the operators",
				    tell_waiting(ground, &budget));
	out->depends_on_cpus = true;
	ground->has_claimed_threads = true;
	return true;
}

/* Where more threads than CPUs are ready they spin as well: that is the same time, and the same remedy. */
bool st_find_spin(struct st_finding_ground *ground, struct st_finding *out)
{
	double share = part(ground->spin_ns, ground->cpu_ns);
	struct budget budget;

	if (!ground->has_samples || ground->has_claimed_threads || share < 0.1 ||
	    st_finding_share(ground, ground->step_spin_ns) < 0.02)
		return false;
	budget = budget_of(ground);
	out->evidence_ns = budget.waiting_ns;
	set_saving(ground, &budget, budget.waiting_ns, out);
	out->depends_on_cpus = true;
	out->remedy = remedy_of(ground, &budget);
	out->what = st_arena_printf(ground->arena, "%.0f %% of the CPU time of %s is spinning: %s",
				    share * 100.0,
				    ground->figures.count ? "the steps" : "the operators",
				    tell_waiting(ground, &budget));
	return out->saving_high_ns > 0;
}
