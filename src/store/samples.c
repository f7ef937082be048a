// SPDX-License-Identifier: Apache-2.0
//
// The samples of an open result (store/samples.h).
#include "store/samples.h"

#include "store/result_state.h"

const struct st_samples *st_result_samples(const struct st_result *result)
{
	static const struct st_samples none;

	(void)result;
	return &none;
}

const struct st_stack_nodes *st_result_stack_nodes(const struct st_result *result)
{
	static const struct st_stack_nodes none;

	(void)result;
	return &none;
}

const struct st_python_code *st_result_python_codes(const struct st_result *result, uint32_t *count)
{
	(void)result;
	*count = 0;
	return NULL;
}

const struct st_sampler *st_result_samplers(const struct st_result *result, uint32_t *count)
{
	(void)result;
	*count = 0;
	return NULL;
}

const struct st_sample_quality *st_result_sample_quality(const struct st_result *result)
{
	static const struct st_sample_quality none;

	(void)result;
	return &none;
}

uint32_t st_result_track_creator(const struct st_result *result, uint32_t track)
{
	(void)result;
	(void)track;
	return ST_NO_ROW;
}
