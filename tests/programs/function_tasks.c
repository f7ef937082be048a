// SPDX-License-Identifier: Apache-2.0
//
// Tasks named by code addresses: a function of this program, one of the C library, and an address where
// nothing is. Prints each address. A forked child does the same again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itt_static_part.h"

int named_by_its_address(int x);

__attribute__((noinline)) int named_by_its_address(int x)
{
	return x * 3 + 1;
}

static void one(const struct itt_domain *domain, void *function)
{
	static const struct itt_id null_id;
	void (*call)(const struct itt_domain *, struct itt_id, struct itt_id, void *) =
		ITT_CALL(void (*)(const struct itt_domain *, struct itt_id, struct itt_id, void *),
			 task_begin_fn);

	if (call && domain)
		call(domain, null_id, null_id, function);
	itt_task_end(domain);
}

static void all(const struct itt_domain *domain)
{
	one(domain, (void *)named_by_its_address);
	one(domain, (void *)qsort);
	one(domain, (void *)16);
}

int main(void)
{
	struct itt_domain *domain;
	pid_t child;

	itt_part_load();
	domain = itt_domain_create("functions");
	all(domain);
	child = fork();
	if (child == 0) {
		all(domain);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return named_by_its_address(-1) == -2 ? 0 : 1;
}
