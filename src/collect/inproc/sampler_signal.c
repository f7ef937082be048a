/* SPDX-License-Identifier: Apache-2.0
 *
 * The signal that the trigger sends, shared with the program.
 */
#include "collect/inproc/sampler_state.h"

#include <dlfcn.h>

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static int taken;

void st_sampler_signal_init(void)
{
	*(void **)&real_sigaction = dlsym(RTLD_NEXT, "sigaction");
}

bool st_sampler_take_signal(int signal)
{
	struct sigaction before, ours = {.sa_sigaction = st_sampler_handler,
					 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	if (taken == signal)
		return true;
	if (!real_sigaction || real_sigaction(signal, NULL, &before) ||
	    before.sa_handler != SIG_DFL)
		return false;
	for (size_t i = 0; i < sizeof(ours.sa_mask) / sizeof(unsigned long); i++)
		((unsigned long *)&ours.sa_mask)[i] = ~0ul;
	if (real_sigaction(signal, &ours, NULL))
		return false;
	taken = signal;
	return true;
}

void st_sampler_pass_on(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
}
