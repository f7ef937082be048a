// SPDX-License-Identifier: Apache-2.0
//
// Which signals strata takes for itself. Ctrl-C and Ctrl-\ reach the program by themselves, because it
// is in the same process group; what others send to strata with kill is meant for the program and
// handed on by the caller. Job control is left alone: strata stops and goes on with the job.
#include "collect/launch/run/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int taken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* A broken pipe or a file limit is an error of ours to report, not a reason to die; and a parent that
 * ignores its children would keep us from learning how the program ended. */
static const struct {
	int number;
	bool ignore;
} changed[ST_SIGNALS_CHANGED] = {{SIGPIPE, true}, {SIGXFSZ, true}, {SIGCHLD, false}};

enum st_status st_signals_begin(struct st_signals *signals, struct st_error *err)
{
	sigset_t set;

	memset(signals, 0, sizeof(*signals));
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return st_error_set(err, ST_EIO, errno, "signalfd");
	sigprocmask(SIG_BLOCK, &set, &signals->old_mask);
	for (int i = 0; i < ST_SIGNALS_CHANGED; i++) {
		struct sigaction action = {0};

		action.sa_handler = changed[i].ignore ? SIG_IGN : SIG_DFL;
		sigaction(changed[i].number, &action, &signals->old_actions[i]);
	}
	signals->active = true;
	return ST_OK;
}

void st_signals_restore(const struct st_signals *signals)
{
	for (int i = 0; i < ST_SIGNALS_CHANGED; i++)
		sigaction(changed[i].number, &signals->old_actions[i], NULL);
	sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
}

bool st_signals_next(struct st_signals *signals, int *number, bool *sent)
{
	struct signalfd_siginfo info;

	if (read(signals->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	*number = (int)info.ssi_signo;
	*sent = info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE || info.ssi_code == SI_TKILL;
	return true;
}

/* What is ignored stays so: a summary that cannot be written, or an index that meets a file size limit,
 * must not change how strata ends. */
void st_signals_end(struct st_signals *signals)
{
	int number;
	bool sent;

	if (!signals->active)
		return;
	/* What came after the program's end was meant for the program, and would now end strata. */
	while (st_signals_next(signals, &number, &sent))
		;
	close(signals->fd);
	for (int i = 0; i < ST_SIGNALS_CHANGED; i++)
		if (!changed[i].ignore)
			sigaction(changed[i].number, &signals->old_actions[i], NULL);
	sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
	signals->active = false;
}
