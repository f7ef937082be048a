// SPDX-License-Identifier: Apache-2.0
//
// Calls of Python functions of an open result: their sums (store/python_calls.h), and one by one (store/traced_calls.h).
#include "store/python_calls.h"

#include "store/read/result_state.h"
#include "store/traced_calls.h"

/* How long so many ticks are. */
static uint64_t span_ns(const struct st_clock_map *clock, uint64_t ticks)
{
	uint64_t first = clock->count ? clock->knots[0].ticks : 0;
	uint32_t begin = 0, end = 0;

	return (uint64_t)(st_clock_map_ns(clock, &end, first + ticks) -
			  st_clock_map_ns(clock, &begin, first));
}

void st_python_calls_make(struct st_result *result)
{
	struct st_model *model = &result->model;

	for (uint32_t i = 0; i < model->python_calls_count; i++) {
		struct st_python_calls *row = &model->python_calls[i];

		row->own_ns = span_ns(&result->meta.clock, row->own_ns);
		row->total_ns = span_ns(&result->meta.clock, row->total_ns);
	}
}

const struct st_python_function *st_result_python_functions(const struct st_result *result,
							    uint32_t *count)
{
	*count = result->model.python_function_count;
	return result->model.python_functions;
}

const struct st_python_calls *st_result_python_calls(const struct st_result *result,
						     uint32_t *count)
{
	*count = result->model.python_calls_count;
	return result->model.python_calls;
}

uint64_t st_result_python_calls_lost(const struct st_result *result)
{
	return result->model.python_calls_lost;
}

const struct st_traced_call *st_result_traced_calls(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.call_count;
	return result->meta.tables.calls;
}
