/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices as a dataset, with what their labels and tracks tell. operators/dataset_tasks.h has them with steps and
 * modules, too.
 */
#ifndef ST_ANALYZE_DATASETS_DATASET_SLICES_H
#define ST_ANALYZE_DATASETS_DATASET_SLICES_H

#include "analyze/datasets/dataset_parts.h"

/* Groupings of slices that take more than the slices to find. */
struct st_slices_more {
	/* Makes the key column of a grouping; what it keeps beside that is freed by fini. False: no memory. */
	bool (*prepare)(struct st_dataset *dataset, const struct st_result *result,
			enum st_grouping grouping, struct st_key_texts *texts,
			struct st_arena *arena, void **kept);
	void (*fini)(void *kept);
};

enum st_status st_dataset_slices_open(struct st_dataset *out, const struct st_result *result,
				      const struct st_slices_more *more, struct st_error *err);
void st_dataset_slices_fini(struct st_dataset *dataset);
/* What was kept, or NULL. */
void *st_dataset_slices_kept(const struct st_dataset *dataset);

/* What the slices of a label are called in a grouping. */
struct st_text st_label_text(const struct st_result *result, const struct st_label *label,
			     enum st_grouping grouping);

#endif
