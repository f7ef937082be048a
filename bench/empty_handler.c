/* SPDX-License-Identifier: Apache-2.0
 *
 * The least that a sampler by signals can cost: the same trigger as Strata's (a cpu-clock event with SIGTRAP,
 * inherited by new threads), and a handler that returns at once. Loaded into a Python program by ctypes.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int empty_open(uint64_t period_ns);
SHOWN int empty_enable(int on);
SHOWN uint64_t empty_count(void);

static int event = -1;
static volatile uint64_t count;

static void handle(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	count++;
}

/* 0, or an errno value. */
int empty_open(uint64_t period_ns)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = period_ns,
				       .disabled = 1,
				       .inherit = 1,
				       .inherit_thread = 1,
				       .remove_on_exec = 1,
				       .sigtrap = 1};

	sigaction(SIGTRAP, &action, NULL);
	event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 && (errno == EACCES || errno == EPERM)) {
		attr.exclude_kernel = 1;
		event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return event < 0 ? errno : 0;
}

int empty_enable(int on)
{
	return ioctl(event, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t empty_count(void)
{
	return count;
}
