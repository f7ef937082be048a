// SPDX-License-Identifier: Apache-2.0
//
// Run by the build and by the installation: makes the folders of run/platforms.c beside the collector.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collect/launch/run/platforms.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_platforms FOLDER\n");
		return 2;
	}
	if (st_platforms_make(argv[1]))
		return 0;
	fprintf(stderr, "make_platforms: %s: %s\n", argv[1], strerror(errno));
	return 1;
}
