// SPDX-License-Identifier: Apache-2.0
//
// The accessor of store/off_cpu.h over an open result.
#include "store/off_cpu.h"

#include "store/read/result_state.h"

const struct st_off_row *st_result_off_cpu(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.off_cpu_count;
	return result->meta.tables.off_cpu;
}
