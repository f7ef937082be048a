// SPDX-License-Identifier: Apache-2.0
//
// When and where (resolve/recording.h), from result.json.
#include "resolve/recording.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/result.h"

static const int64_t second_ns = 1000000000;

static int64_t start_s(const struct st_result_info *info)
{
	struct tm when = {0};

	if (!info->started_at || !strptime(info->started_at, "%Y-%m-%dT%H:%M:%S", &when))
		return 0;
	return timegm(&when);
}

int64_t st_recording_end_s(const struct st_result *result)
{
	const struct st_result_info *info = st_result_info(result);
	int64_t start = start_s(info);
	int64_t length_ns =
		info->collected_ns > info->elapsed_ns ? info->collected_ns : info->elapsed_ns;

	return start ? start + length_ns / second_ns + 1 : 0;
}

bool st_recording_is_here(const struct st_result *result)
{
	const struct st_result_info *info = st_result_info(result);
	struct timespec wall, since_boot;
	char host[HOST_NAME_MAX + 1] = "";
	int64_t start = start_s(info);

	if (!start || !info->host || gethostname(host, sizeof(host)) != 0 ||
	    strcmp(host, info->host) != 0)
		return false;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	return start >= wall.tv_sec - since_boot.tv_sec;
}
