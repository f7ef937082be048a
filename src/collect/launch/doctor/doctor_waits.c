// SPDX-License-Identifier: Apache-2.0
//
// What threading can see here, and the one change for more.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/host/looker.h"
#include "collect/host/switches.h"
#include "collect/launch/doctor/doctor_check.h"

static void ignore(void *arg, const struct st_off_cpu *off)
{
	(void)arg;
	(void)off;
}

static void try_switches(void *arg, struct st_doctor_answer *answer)
{
	struct st_switch_options options = {.pid = getpid(), .told = ignore};
	struct st_switches *switches;
	struct st_error err = {0};

	(void)arg;
	if (st_switches_create(&switches, &options, &err) != ST_OK)
		answer->code = err.code ? err.code : EIO;
	else
		st_switches_destroy(switches);
}

static void try_looks(void *arg, struct st_doctor_answer *answer)
{
	(void)arg;
	answer->code = st_looker_refusal();
}

void st_doctor_waits(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	struct st_doctor_answer switches, looks;
	char why[96];

	st_doctor_attempt(try_switches, NULL, &switches);
	st_doctor_attempt(try_looks, NULL, &looks);
	if (switches.code) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED, "calls%s; no context switches: %s",
			       looks.code ? "" : ", looks 20 times a second",
			       st_doctor_why(&switches, why, sizeof(why)));
		st_doctor_perf_remedy(context, &switches, 2, finding);
	} else if (looks.code) {
		st_doctor_fact(finding, ST_DOCTOR_LIMITED,
			       "calls, context switches; no looks from outside: %s",
			       st_doctor_why(&looks, why, sizeof(why)));
		st_doctor_remedy(finding, "docker run --security-opt seccomp=PROFILE (must allow "
					  "process_vm_readv)");
	} else {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "calls, context switches, looks from outside");
	}
}
