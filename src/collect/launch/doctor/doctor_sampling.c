// SPDX-License-Identifier: Apache-2.0
//
// Checks of what hotspots needs: how threads can be interrupted, whose CPython frames are known, and where
// unwind tables are kept.
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/launch/doctor/doctor_check.h"
#include "collect/launch/run/environment.h"
#include "unwind/cache.h"

enum { PERIOD_NS = 10000000, MINOR_FIRST = 8, MINOR_LAST = 14 };

static const char paranoid_path[] = "/proc/sys/kernel/perf_event_paranoid";

/* *arg: whether the kernel's part is left out. The event is never enabled, so that no signal comes. */
static void try_sigtrap(void *arg, struct st_doctor_answer *answer)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.disabled = 1,
		.inherit = 1,
		.inherit_thread = 1,
		.remove_on_exec = 1,
		.sigtrap = 1,
	};
	int fd;

	attr.exclude_kernel = *(const bool *)arg;
	attr.exclude_hv = attr.exclude_kernel;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		answer->code = errno;
	else
		close(fd);
}

void st_doctor_perf_sampling(const struct st_doctor_context *context,
			     struct st_doctor_finding *finding)
{
	bool everywhere = false, user_only = true;
	struct st_doctor_answer answer;
	long long paranoid = 0;
	char why[96];

	st_doctor_number(context, paranoid_path, &paranoid);
	st_doctor_attempt(try_sigtrap, &everywhere, &answer);
	if (!answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "cpu-clock event with sigtrap, user and kernel mode "
			       "(perf_event_paranoid %lld)",
			       paranoid);
		return;
	}
	st_doctor_attempt(try_sigtrap, &user_only, &answer);
	if (!answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "cpu-clock event with sigtrap, user mode only (kernel time is "
			       "counted for the calling function; perf_event_paranoid %lld)",
			       paranoid);
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_LIMITED,
		       "a timer per thread, at most %ld samples a second; cpu-clock event: %s",
		       sysconf(_SC_CLK_TCK) > 250 ? sysconf(_SC_CLK_TCK) : 250,
		       st_doctor_why(&answer, why, sizeof(why)));
	if (answer.code == EINVAL)
		st_doctor_remedy(finding, "Linux 5.13 or newer");
	else
		st_doctor_perf_remedy(context, &answer, 2, finding);
}

void st_doctor_python_frames(const struct st_doctor_context *context,
			     struct st_doctor_finding *finding)
{
	unsigned long minor = 0;
	char real[PATH_MAX];
	const char *name = NULL;
	char *python = st_doctor_find_python();

	(void)context;
	if (python && realpath(python, real))
		name = strstr(strrchr(real, '/') ? strrchr(real, '/') : real, "python3.");
	if (name)
		minor = strtoul(name + strlen("python3."), NULL, 10);
	free(python);
	if (!name) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "tested with CPython 3.%d to 3.%d; no known version found here",
			       MINOR_FIRST, MINOR_LAST);
	} else if (minor >= MINOR_FIRST && minor <= MINOR_LAST) {
		st_doctor_fact(
			finding, ST_DOCTOR_OK,
			"functions and lines of CPython 3.%lu can be read (tested: 3.%d to 3.%d)",
			minor, MINOR_FIRST, MINOR_LAST);
	} else {
		st_doctor_fact(finding, ST_DOCTOR_MISSING,
			       "CPython 3.%lu is not supported: stacks show native functions only",
			       minor);
		st_doctor_remedy(finding, "use python3.%d to python3.%d", MINOR_FIRST, MINOR_LAST);
	}
}

/* The nearest folder above a path that exists. */
static void to_existing(char *path)
{
	while (access(path, F_OK) != 0) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			break;
		*slash = '\0';
	}
}

void st_doctor_tables(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char path[PATH_MAX], existing[PATH_MAX];

	(void)context;
	if (!st_unwind_cache_place(path, sizeof(path)))
		snprintf(path, sizeof(path), "the home folder, which does not exist");
	snprintf(existing, sizeof(existing), "%s", path);
	to_existing(existing);
	if (access(existing, W_OK) == 0) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "unwind tables are cached in %.180s", path);
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_LIMITED,
		       "unwind tables are rebuilt in every run: cannot write to %.120s", path);
	st_doctor_remedy(finding, "set STRATA_CACHE_DIR to a writable folder");
}
