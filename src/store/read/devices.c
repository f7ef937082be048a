// SPDX-License-Identifier: Apache-2.0
//
// The accessors of store/devices.h over an open result.
#include "store/devices.h"

#include "base/search.h"
#include "store/read/result_state.h"

const struct st_device_about *st_result_device_abouts(const struct st_result *result,
						      uint32_t *count)
{
	*count = result->meta.tables.about_count;
	return result->meta.tables.abouts;
}

const struct st_device_about *st_result_device_about(const struct st_result *result,
						     uint32_t process, uint32_t device)
{
	const struct st_device_about *abouts = result->meta.tables.abouts;

	for (uint32_t i = 0; i < result->meta.tables.about_count; i++)
		if (abouts[i].process == process && abouts[i].device == device)
			return &abouts[i];
	return NULL;
}

const struct st_device_item *st_result_device_items(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.device_count;
	return result->meta.tables.devices;
}

const struct st_device_item *st_result_device_item_of(const struct st_result *result, uint32_t row)
{
	const struct st_device_item *items = result->meta.tables.devices;
	uint32_t count = result->meta.tables.device_count;
	uint32_t at = ST_SEARCH(i, 0, count, items[i].row < row);

	return at < count && items[at].row == row ? &items[at] : NULL;
}
