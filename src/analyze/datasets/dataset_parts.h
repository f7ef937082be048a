/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the datasets: names of processes and threads, pauses of the recording, and texts as keys.
 */
#ifndef ST_ANALYZE_DATASETS_DATASET_PARTS_H
#define ST_ANALYZE_DATASETS_DATASET_PARTS_H

#include "base/buf.h"
#include "base/map.h"
#include "analyze/engine/dataset.h"
#include "store/result.h"

/* "train.py (4711)", "main (4711)"; made in the arena. A thread that is none (its number is the number of
 * tracks) is "[no thread]". */
struct st_text st_place_process(const struct st_result *result, uint32_t process,
				struct st_arena *arena);
struct st_text st_place_thread(const struct st_result *result, uint32_t track,
			       struct st_arena *arena);
/* The name alone, then the number; false when there is no more to try, or the grouping is no place. */
bool st_place_alias(const struct st_result *result, enum st_grouping grouping, uint32_t key,
		    unsigned int index, struct st_text *out, struct st_arena *arena);

/* Windows without recording, those of single processes and of the family together, by begin. */
struct st_pause_list {
	struct st_pause_window *pauses;
	uint32_t count;
};
bool st_pause_list_make(struct st_pause_list *out, const struct st_result *result,
			struct st_arena *arena);
/* Time between the two that was recorded, for a process. */
uint64_t st_pause_list_recorded(const struct st_pause_list *list, uint32_t process,
				int64_t begin_ns, int64_t end_ns);

/* A copy with a terminator that lives as long as the arena; empty when memory is out. */
struct st_text st_text_copy(struct st_arena *arena, struct st_text text);
/* The same of a buffer, which it ends; a buffer that has failed fails the arena. */
struct st_text st_text_take(struct st_arena *arena, struct st_buf *buf);

/* Texts as dense keys, equal texts as one: two processes define a text once each. */
struct st_key_texts {
	struct st_text *texts; /* by key; borrowed */
	uint32_t count, capacity;
	struct st_map key_of;
	bool failed;
};
void st_key_texts_init(struct st_key_texts *keys);
void st_key_texts_fini(struct st_key_texts *keys);
/* The key of a text, a new one if need be; 0 and failed when memory is out. */
uint32_t st_key_texts_add(struct st_key_texts *keys, struct st_text text);

/* A further key for a text that may be there already: things of the same name that are not the same. */
uint32_t st_key_texts_append(struct st_key_texts *keys, struct st_text text);

#endif
