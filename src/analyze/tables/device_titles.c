// SPDX-License-Identifier: Apache-2.0
//
// Columns of device time are written for CUDA; other devices get torch's word for them.
#include "analyze/tables/device_titles.h"

#include <string.h>

#include "analyze/tables/report_make.h"
#include "base/arena.h"
#include "store/devices.h"
#include "store/operators.h"

static const char cuda[] = "CUDA", other[] = "XPU";
static const uint32_t xpu_type = 12; /* of ST_MEMORY_PLACE */

const char *st_device_word(const struct st_result *result)
{
	uint32_t count;
	const struct st_device_item *items = st_result_device_items(result, &count);
	const struct st_memory_moment *moments;
	bool has_other = false;

	for (uint32_t i = 0; i < count; i++) {
		if (!(items[i].flags & ST_DEVICE_MAKERS))
			return cuda;
		has_other = true;
	}
	if (has_other)
		return other;
	moments = st_result_device_memory(result, &count);
	return count && (moments[0].place & 0xff) == xpu_type ? other : cuda;
}

void st_device_titles(struct st_report *report, const struct st_result *result)
{
	const char *word = st_device_word(result);

	for (uint32_t i = 0; word != cuda && i < report->column_count; i++) {
		struct st_column *column = &report->columns[i];
		const char *at = strstr(column->title, cuda), *title;

		if (!at)
			continue;
		title = st_arena_printf(st_report_arena(report), "%.*s%s%s",
					(int)(at - column->title), column->title, word,
					at + sizeof(cuda) - 1);
		if (title)
			column->title = title;
	}
}
