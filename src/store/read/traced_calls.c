// SPDX-License-Identifier: Apache-2.0
//
// The accessor of store/traced_calls.h over an open result, and the check of what an index from disk says.
#include "store/traced_calls.h"

#include "store/read/result_state.h"

bool st_traced_calls_are_sound(const struct st_index_meta *meta, uint32_t text_count)
{
	const struct st_traced_call *calls = meta->tables.calls;
	bool sound = true;

	for (uint32_t i = 0; i < meta->tables.call_count; i++) {
		uint32_t up = calls[i].parent;

		sound &= calls[i].track < meta->track_count && calls[i].name < text_count &&
			 calls[i].begin_ns <= calls[i].end_ns;
		sound &= up == ST_NO_ROW || (up < i && calls[up].track == calls[i].track);
		sound &= !i || calls[i - 1].track < calls[i].track ||
			 (calls[i - 1].track == calls[i].track &&
			  calls[i - 1].begin_ns <= calls[i].begin_ns);
	}
	return sound;
}

const struct st_traced_call *st_result_traced_calls(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.call_count;
	return result->meta.tables.calls;
}
