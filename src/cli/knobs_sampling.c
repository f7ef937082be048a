/* SPDX-License-Identifier: Apache-2.0
 *
 * Knobs of sampling. They may come in any order, so that what depends on the mode (the limits of the
 * interval) is tested when all are read.
 */
#include "cli/knobs_sampling.h"

#include <stdint.h>
#include <string.h>

#include "request/values.h"

static const uint64_t stack_size_max = 1u << 20;
static const double ms_ns = 1e6;

enum st_status st_knob_sampling_mode(const char *option, const char *value,
				     struct st_collect_config *config, struct st_error *err)
{
	config->sampling.hardware = strcmp(value, "hw") == 0;
	if (config->sampling.hardware || strcmp(value, "sw") == 0)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0, "-%s: expected sw or hw; not '%.60s'", option,
			    value);
}

enum st_status st_knob_sampling_interval(const char *option, const char *value,
					 struct st_collect_config *config, struct st_error *err)
{
	double ms;
	enum st_status status = st_value_milliseconds(option, value, &ms, err);

	if (status)
		return status;
	/* 0 stands for "not given": the smallest time instead, which is outside all limits. */
	config->sampling.interval_ns = (uint64_t)(ms * ms_ns);
	if (!config->sampling.interval_ns)
		config->sampling.interval_ns = 1;
	return ST_OK;
}

enum st_status st_knob_stack_collection(const char *option, const char *value,
					struct st_collect_config *config, struct st_error *err)
{
	return st_knob_truth(option, value, &config->sampling.stacks, err);
}

enum st_status st_knob_stack_size(const char *option, const char *value,
				  struct st_collect_config *config, struct st_error *err)
{
	return st_value_count(option, value, 0, stack_size_max, &config->sampling.stack_bytes, err);
}

enum st_status st_knob_stack_depth(const char *option, const char *value,
				   struct st_collect_config *config, struct st_error *err)
{
	uint64_t frames;
	enum st_status status = st_value_count(option, value, ST_SAMPLE_DEPTH_MIN,
					       ST_SAMPLE_DEPTH_MAX, &frames, err);

	if (!status)
		config->sampling.depth = (uint32_t)frames;
	return status;
}

enum st_status st_knob_sample_processes(const char *option, const char *value,
					struct st_collect_config *config, struct st_error *err)
{
	return st_knob_patterns(option, value, &config->sampling.processes, err);
}

enum st_status st_knob_characterization(const char *option, const char *value,
					struct st_collect_config *config, struct st_error *err)
{
	enum st_choice ignored;

	(void)config;
	return st_knob_truth(option, value, &ignored, err);
}
