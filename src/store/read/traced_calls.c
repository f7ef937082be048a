// SPDX-License-Identifier: Apache-2.0
//
// The accessor of store/traced_calls.h over an open result.
#include "store/traced_calls.h"

#include "store/read/result_state.h"

const struct st_traced_call *st_result_traced_calls(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.call_count;
	return result->meta.tables.calls;
}
