// SPDX-License-Identifier: Apache-2.0
//
// From the sampling knobs to the settings of the collector. In hw mode the trigger is the PMU's cycle
// counter; a machine without one samples by the kernel's CPU clock, whose timer makes periods under 1 ms
// too expensive.
#include "collect/launch/run/sampling.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/launch/run/collect.h"

static const uint64_t ms_ns = 1000000u;
static const uint64_t hw_default_ns = 1000000u, sw_default_ns = 10000000u;
static const uint64_t hw_min_ns = 10000u, sw_min_ns = 100000u;
static const uint64_t interval_max_ns = 1000000000u;
static const uint64_t cpu_clock_min_ns = 1000000u; /* of hw mode without a PMU */

enum st_status st_sampling_interval(const struct st_sampling_config *asked, uint64_t *interval_ns,
				    struct st_error *err)
{
	uint64_t min = asked->hardware ? hw_min_ns : sw_min_ns;
	double scale = asked->interval_scale > 0 ? asked->interval_scale : 1;
	uint64_t usual = asked->hardware ? hw_default_ns : sw_default_ns;

	*interval_ns = asked->interval_ns;
	if (!*interval_ns)
		*interval_ns = (uint64_t)((double)usual * scale);
	if (!asked->interval_ns && *interval_ns > interval_max_ns)
		*interval_ns = interval_max_ns;
	if (*interval_ns >= min && *interval_ns <= interval_max_ns)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0,
			    "-knob sampling-interval: must be between %g and %g ms with "
			    "sampling-mode=%s",
			    (double)min / (double)ms_ns, (double)interval_max_ns / (double)ms_ns,
			    asked->hardware ? "hw" : "sw");
}

bool st_sampling_has_cycles(void)
{
	struct perf_event_attr attr = {0};
	int fd;

	attr.type = PERF_TYPE_HARDWARE;
	attr.size = sizeof(attr);
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = 1u << 30;
	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

void st_sampling_plan(struct st_sampling_plan *plan, const struct st_sampling_config *asked,
		      bool has_cycles)
{
	struct st_error ignored = {0};

	st_sampling_interval(asked, &plan->asked_ns, &ignored);
	plan->period_ns = plan->asked_ns;
	plan->trigger = asked->hardware && has_cycles ? ST_TRIGGER_CYCLES : ST_TRIGGER_CPU_CLOCK;
	plan->note[0] = '\0';
	if (!asked->hardware || has_cycles)
		return;
	if (plan->period_ns >= cpu_clock_min_ns) {
		snprintf(plan->note, sizeof(plan->note),
			 "no hardware cycles on this machine: sampling by the CPU clock");
		return;
	}
	plan->period_ns = cpu_clock_min_ns;
	snprintf(plan->note, sizeof(plan->note),
		 "no hardware cycles on this machine: sampling by the CPU clock, every 1 ms "
		 "instead of %g ms",
		 (double)plan->asked_ns / (double)ms_ns);
}
