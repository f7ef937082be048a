/* SPDX-License-Identifier: Apache-2.0
 *
 * What the question engine knows of a kind of facts: how many rows there are, which key each row has
 * in each grouping, and which time it covers. Slices (dataset_slices.c) are the first kind; samples,
 * allocations and waits join by filling the same struct. The engine reads keys as columns rather than
 * through a call per row, because a question passes over every row.
 */
#ifndef ST_ANALYZE_ENGINE_DATASET_H
#define ST_ANALYZE_ENGINE_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/question.h"
#include "base/arena.h"

struct st_result;

/* The key of a row in a grouping: map[column[row]]. Without a column the row number is looked up,
 * without a map the value is the key. Keys are 0 … key_count - 1. */
struct st_key_column {
	const uint32_t *column;
	const uint32_t *map;
	uint32_t key_count; /* 0: this dataset cannot answer the grouping */
};

/* Rows of one track lie together, in order of begin, enclosing rows first. */
struct st_row_span {
	uint32_t begin, end;
};

struct st_dataset {
	uint32_t row_count;
	const struct st_row_span *tracks;
	uint32_t track_count;
	struct st_key_column keys[ST_GROUPINGS];
	const int64_t *begin_ns, *end_ns;
	const uint64_t *self_ns;
	const uint32_t *parent;
	const uint32_t *track; /* index into tracks */
	const uint16_t *flags;
	uint16_t slow_flags; /* rows with one of these do not simply last from begin to end */
	/* Rows with one of these are in their groups, but in no figure except ST_COPIES. */
	uint16_t uncounted_flags;
	uint16_t hidden_flags;	   /* rows with one of these are nowhere */
	bool uncounted_take_time;  /* their time is in ST_WALL_TOTAL all the same: who was busy? */
	struct st_set answers;	   /* groupings that these rows can answer */
	enum st_grouping instance; /* the grouping that gives one row each */
	enum st_grouping named_by; /* the grouping whose text such a row carries */
	/* Makes the key column of a grouping that is too dear to be made always; NULL when there are none. */
	bool (*prepare)(struct st_dataset *dataset, enum st_grouping grouping);
	/* Time of the row inside begin_ns … end_ns (within its own bounds); asked for slow rows only. */
	uint64_t (*part_ns)(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			    int64_t end_ns);
	/* The key as shown; borrowed from the result or from the arena. */
	struct st_text (*text)(const struct st_dataset *dataset, enum st_grouping grouping,
			       uint32_t key, struct st_arena *arena);
	/* Other texts by which a filter may name the key (a pid, a name alone); false when there are
	 * no more. */
	bool (*alias)(const struct st_dataset *dataset, enum st_grouping grouping, uint32_t key,
		      unsigned int index, struct st_text *out, struct st_arena *arena);
	struct st_arena *arena; /* holds texts that the dataset made itself */
	void *private_data;
};

enum st_status st_dataset_slices_init(struct st_dataset *out, const struct st_result *result,
				      struct st_error *err);
void st_dataset_slices_fini(struct st_dataset *dataset);

/* Makes the key columns that the question needs. Refuses, with the list of what there is, a grouping that
 * these rows cannot answer. */
enum st_status st_dataset_prepare(struct st_dataset *dataset, const struct st_question *question,
				  struct st_error *err);

/* Texts that the dataset made live on in the arena when it is closed; it cannot be asked any more. */
void st_dataset_hand_over(struct st_dataset *dataset, struct st_arena *to);

/* st_question_ask on an open dataset: for a report that asks more than once. */
enum st_status st_dataset_ask(const struct st_dataset *dataset, const struct st_question *question,
			      struct st_answer *out, struct st_error *err);

static inline uint32_t st_key_of(const struct st_key_column *keys, uint32_t row)
{
	uint32_t value = keys->column ? keys->column[row] : row;

	return keys->map ? keys->map[value] : value;
}

static inline bool st_row_is_counted(const struct st_dataset *dataset, uint32_t row)
{
	return !(dataset->flags[row] & dataset->uncounted_flags);
}

#endif
