/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples of a result as a dataset: which functions a stack shows, which key a frame or a task has in each
 * grouping, and which class of CPU time a stack means. Questions are answered in two steps: equal samples (same
 * stack, task and thread) become one row, and the engine is asked about the rows.
 *
 * A sample belongs to the innermost slice that its thread had open, else to that of the thread which
 * created it (inherited), else to "[Outside any task]". Self is what happened right there; total is also
 * what it called, or what was nested in it.
 */
#ifndef ST_ANALYZE_SAMPLES_SAMPLE_SET_H
#define ST_ANALYZE_SAMPLES_SAMPLE_SET_H

#include "base/map.h"
#include "analyze/samples/cpu_class.h"
#include "analyze/engine/dataset.h"
#include "analyze/engine/sample_view.h"
#include "resolve/named.h"
#include "store/samples.h"

/* Keys of frames in one grouping. */
struct st_sample_rows;
struct st_sample_operators;

struct st_frame_keys {
	uint32_t *of_frame; /* NULL: not made yet */
	struct st_text *texts;
	uint32_t *function; /* by key: a function that stands for it, or 0 */
	uint32_t count;
};

struct st_sample_set {
	const struct st_result *result;
	const struct st_samples *samples;
	struct st_named *named; /* owned */
	struct st_sample_view view;
	struct st_dataset slices;
	struct st_dataset waits; /* where they were recorded, else empty */
	uint32_t *wait_of;	 /* by sample: the one that it is the stack of, from 1; 0: none */
	uint8_t *class_flags;	 /* by key of their class (sample_waits.h) */
	struct st_arena arena;
	struct st_dataset dataset; /* of the rows at hand (sample_rows.h) */
	const struct st_sample_rows *rows;
	uint8_t *is_shown; /* bit by frame */
	uint8_t *
		is_gc; /* bit by frame: in Python's garbage collection, but not in Python that it calls */
	uint32_t *python_of; /* by frame: itself, or the nearest caller that is Python; 0: none */
	uint32_t *caller;    /* by frame: the nearest caller that is shown, or 0 */
	uint32_t *
		tree_caller; /* the same in trees of calls, which may leave out glue (frame_class.h) */
	uint32_t *
		outer_python; /* by frame: the Python frame around it, or 0; NULL: not asked for yet */
	uint8_t *classes;     /* by frame as the innermost one: enum st_cpu_class */
	struct st_sample_operators *operators; /* NULL: all operators were recorded */
	struct st_frame_keys keys[ST_GROUPINGS];
	uint32_t process_count, track_count;
	uint64_t callers_cut; /* groups whose callers became others in answers so far */
};

/* What the question left open is as it was asked for when the result was collected, else as usual. */
void st_sample_view_complete(struct st_sample_view *view, const struct st_result *result);

enum st_status st_sample_set_open(struct st_sample_set *out, const struct st_result *result,
				  const struct st_sample_view *view, struct st_error *err);
void st_sample_set_close(struct st_sample_set *set);
/* Why an answer from samples has no rows, and what to do. */
const char *st_sample_absence(const struct st_result *result);

/* Groupings that samples can answer. */
struct st_set st_sample_answers(void);
struct st_set st_sample_answers_of(const struct st_result *result); /* NULL: of any */
/* Refuses those that are not among the offered ones, or that this result has nothing for. */
enum st_status st_sample_offers(const struct st_result *result, enum st_grouping grouping,
				struct st_set offered, struct st_error *err);
bool st_grouping_is_frame(enum st_grouping grouping);  /* where the CPU was */
bool st_grouping_is_python(enum st_grouping grouping); /* of the nearest Python frame */
bool st_grouping_is_task(enum st_grouping grouping);

/* The frame itself, or the nearest caller that is shown; 0: none. */
static inline uint32_t st_sample_shown(const struct st_sample_set *set, uint32_t frame)
{
	return set->is_shown[frame / 8] >> frame % 8 & 1 ? frame : set->caller[frame];
}
/* The frame that a stack node shows as its innermost one; 0: none. */
uint32_t st_sample_leaf(const struct st_sample_set *set, uint32_t node);
/* The caller of a shown frame; 0: it is the outermost. */
static inline uint32_t st_sample_caller(const struct st_sample_set *set, uint32_t frame)
{
	return set->caller[frame];
}
/* The same in a tree of calls. */
static inline uint32_t st_sample_tree_caller(const struct st_sample_set *set, uint32_t frame)
{
	return set->tree_caller[frame];
}

/* Whether a frame is in Python's garbage collection, and not in Python that it calls. */
bool st_sample_is_collecting(const struct st_sample_set *set, uint32_t frame);

/* Makes the keys of a frame grouping; false when memory is out. */
bool st_frame_keys_make(struct st_sample_set *set, enum st_grouping grouping);
/* The key as shown, of any grouping; copied into the arena where it is not the result's. */
struct st_text st_sample_text(const struct st_sample_set *set, enum st_grouping grouping,
			      uint32_t key, struct st_arena *arena);

/* Other texts by which a filter may name the key: st_dataset.alias. */
bool st_sample_alias(const struct st_dataset *dataset, enum st_grouping grouping, uint32_t key,
		     unsigned int index, struct st_text *out, struct st_arena *arena);

/* Refuses groupings and filters that samples have no answer to. */
enum st_status st_sample_check(const struct st_sample_set *set, const struct st_question *question,
			       struct st_error *err);
/* Folds the samples into rows for the question and asks st_dataset_ask. */
enum st_status st_sample_ask(struct st_sample_set *set, const struct st_question *question,
			     struct st_answer *out, struct st_error *err);

extern const struct st_measure st_sample_measures[];
enum { ST_SAMPLE_MEASURES = ST_FIGURES - ST_WALL_METRICS + 1 };

#endif
