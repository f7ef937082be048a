/* SPDX-License-Identifier: Apache-2.0
 *
 * An open result from inside; for result.c and events.c only.
 */
#ifndef ST_STORE_RESULT_STATE_H
#define ST_STORE_RESULT_STATE_H

#include "store/code.h"
#include "store/events.h"
#include "store/index_build.h"
#include "store/model.h"
#include "store/result_info.h"

struct st_result {
	struct st_result_info info;
	struct st_info_more more;
	struct st_model model;
	struct st_index index;
	struct st_index_meta meta;
	struct st_slices slices;
	struct st_track *tracks;
	struct st_label *labels;
	struct st_pause_window *windows;
	struct st_quality quality;
	struct st_events events;
	uint32_t *first_of_track;
	struct st_code_table code;
};

#endif
