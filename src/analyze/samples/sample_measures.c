// SPDX-License-Identifier: Apache-2.0
//
// The measures of samples: CPU time by class, and time off the CPU.
#include "analyze/samples/sample_rows.h"

static const struct st_sample_row *row_at(const struct st_dataset *dataset, uint32_t row)
{
	const struct st_sample_set *set = dataset->private_data;

	return &set->rows->rows[row];
}

static uint64_t weight(const struct st_dataset *dataset, uint32_t row)
{
	const struct st_sample_set *set = dataset->private_data;
	const struct st_sample_row *it = row_at(dataset, row);

	return set->view.show_as == ST_SHOW_SAMPLES ? it->samples : it->weight;
}

static bool is_off_cpu(const struct st_dataset *dataset, uint32_t row)
{
	return row_at(dataset, row)->flags & ST_SAMPLE_OFF_CPU;
}

static uint64_t read_cpu(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	(void)arg;
	return is_off_cpu(dataset, row) ? 0 : weight(dataset, row);
}

/* arg: the class, or the kind of class, that counts. */
static uint64_t read_class(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	enum st_cpu_class cpu_class = (enum st_cpu_class)row_at(dataset, row)->cpu_class;

	if (st_cpu_class_metric(cpu_class) != arg && st_cpu_class_kind(cpu_class) != arg)
		return 0;
	return read_cpu(dataset, row, 0);
}

static uint64_t read_inherited(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	return row_at(dataset, row)->flags & ST_SAMPLE_INHERITED ? read_cpu(dataset, row, arg) : 0;
}

static uint64_t read_samples(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	(void)arg;
	return is_off_cpu(dataset, row) ? 0 : row_at(dataset, row)->samples;
}

static uint64_t read_wait(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	(void)arg;
	return is_off_cpu(dataset, row) && !(row_at(dataset, row)->flags & ST_SAMPLE_PREEMPTED)
		       ? weight(dataset, row)
		       : 0;
}

/* arg: the flags of what counts. */
static uint64_t read_wait_part(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	return row_at(dataset, row)->flags & arg ? weight(dataset, row) : 0;
}

static uint64_t read_wait_count(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	(void)arg;
	return row_at(dataset, row)->waits;
}

#define SUM(how) .fold = ST_FOLD_SUM, .read = how
#define CLASS(which) SUM(read_class), .arg = which

const struct st_measure st_sample_measures[ST_SAMPLE_MEASURES] = {
	{ST_CPU_SELF, "cpu-self", "cpu_self_ns", "CPU Time", "ns", SUM(read_cpu)},
	{ST_CPU_EFFECTIVE, "effective", "effective_ns", "CPU Time:Effective Time", "ns",
	 CLASS(ST_CPU_EFFECTIVE)},
	{ST_CPU_SPIN, "spin", "spin_ns", "CPU Time:Spin Time", "ns", CLASS(ST_CPU_SPIN)},
	{ST_SPIN_IMBALANCE, "spin-imbalance", "spin_imbalance_ns",
	 "CPU Time:Spin Time:Imbalance or Serial Spinning", "ns", CLASS(ST_SPIN_IMBALANCE)},
	{ST_SPIN_LOCK, "spin-lock", "spin_lock_ns", "CPU Time:Spin Time:Lock Contention", "ns",
	 CLASS(ST_SPIN_LOCK)},
	{ST_SPIN_COMMUNICATION, "spin-communication", "spin_communication_ns",
	 "CPU Time:Spin Time:Communication", "ns", CLASS(ST_SPIN_COMMUNICATION)},
	{ST_SPIN_OTHER, "spin-other", "spin_other_ns", "CPU Time:Spin Time:Other", "ns",
	 CLASS(ST_SPIN_OTHER)},
	{ST_CPU_OVERHEAD, "overhead", "overhead_ns", "CPU Time:Overhead Time", "ns",
	 CLASS(ST_CPU_OVERHEAD)},
	{ST_OVERHEAD_CREATION, "overhead-creation", "overhead_creation_ns",
	 "CPU Time:Overhead Time:Creation", "ns", CLASS(ST_OVERHEAD_CREATION)},
	{ST_OVERHEAD_SCHEDULING, "overhead-scheduling", "overhead_scheduling_ns",
	 "CPU Time:Overhead Time:Scheduling", "ns", CLASS(ST_OVERHEAD_SCHEDULING)},
	{ST_OVERHEAD_REDUCTION, "overhead-reduction", "overhead_reduction_ns",
	 "CPU Time:Overhead Time:Reduction", "ns", CLASS(ST_OVERHEAD_REDUCTION)},
	{ST_OVERHEAD_ATOMICS, "overhead-atomics", "overhead_atomics_ns",
	 "CPU Time:Overhead Time:Atomics", "ns", CLASS(ST_OVERHEAD_ATOMICS)},
	{ST_OVERHEAD_OTHER, "overhead-other", "overhead_other_ns", "CPU Time:Overhead Time:Other",
	 "ns", CLASS(ST_OVERHEAD_OTHER)},
	{ST_CPU_TOTAL, "cpu-total", "cpu_total_ns", "CPU Time:Total", "ns", SUM(read_cpu),
	 .reach = ST_REACH_AROUND},
	{ST_CPU_INHERITED, "cpu-inherited", "cpu_inherited_ns", "CPU Time:Inherited", "ns",
	 SUM(read_inherited)},
	{ST_SAMPLES, "samples", "samples", "Samples", "", SUM(read_samples)},
	{ST_WAIT, "wait", "wait_ns", "Wait Time", "ns", SUM(read_wait)},
	{ST_WAIT_ALL, "wait-total", "wait_total_ns", "Wait Time:Total", "ns", SUM(read_wait),
	 .reach = ST_REACH_AROUND},
	{ST_WAIT_COUNT, "wait-count", "wait_count", "Wait Count", "", SUM(read_wait_count)},
	{ST_SYNC_WAIT, "sync-wait", "sync_wait_ns", "Sync Wait Time", "ns", SUM(read_wait_part),
	 .arg = ST_SAMPLE_FOR_THREAD},
	{ST_IDLE_WAIT, "idle-wait", "idle_wait_ns", "Idle Worker Time", "ns", SUM(read_wait_part),
	 .arg = ST_SAMPLE_IDLE},
	{ST_PREEMPTED, "preempted", "preempted_ns", "Preemption Wait Time", "ns",
	 SUM(read_wait_part), .arg = ST_SAMPLE_READY | ST_SAMPLE_PREEMPTED},
	/* The part of the total that was effective, for whoever shows how well CPUs were used. */
	{ST_CPU_TOTAL_EFFECTIVE, NULL, NULL, NULL, "ns", CLASS(ST_CPU_EFFECTIVE),
	 .reach = ST_REACH_AROUND},
};
