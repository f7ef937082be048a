/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run samples: the requested settings and what this machine supports. The method that each
 * process actually uses (its rung) comes with its arm message, see armed.h.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_SAMPLING_H
#define ST_COLLECT_LAUNCH_RUN_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "format/shm.h"

struct st_sampling_config;

struct st_sampling_plan {
	uint64_t asked_ns, period_ns;
	enum st_sampler_trigger trigger;
	char note[160]; /* what was asked for and is not possible here; "" when all is */
};

/* The default of the mode, or what was given; ST_EUSAGE outside the mode's limits. */
enum st_status st_sampling_interval(const struct st_sampling_config *asked, uint64_t *interval_ns,
				    struct st_error *err);
/* Whether the kernel gives us hardware cycles. */
bool st_sampling_has_cycles(void);
void st_sampling_plan(struct st_sampling_plan *plan, const struct st_sampling_config *asked,
		      bool has_cycles);

#endif
