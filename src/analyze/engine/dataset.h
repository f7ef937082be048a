/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine knows about a dataset: how many rows there are, which key each row has in each grouping, and
 * what its measures are. Slices, operators, samples, events and blocks of memory are all a struct st_dataset. The
 * engine reads keys as columns rather than through a call per row, because a question passes over every row.
 *
 * Rows of most datasets last from begin to end and have one key in a grouping. A row of samples has many: every
 * function of its stack, every task around it. Such keys belong to the elements of an axis, a chain that begins with
 * the innermost element of the row: the row's own group is that of the innermost ones, and what reaches around it is
 * counted once for each group of any element.
 */
#ifndef ST_ANALYZE_ENGINE_DATASET_H
#define ST_ANALYZE_ENGINE_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/question.h"
#include "base/arena.h"

struct st_dataset;
struct st_spread;

/* The engine counts along two chains at most: what is around a row, and frames; a dataset may have more axes to say
 * where the innermost keys are and what filters look at. */
enum st_axis_id {
	ST_AXIS_ROW, /* no chain: the row itself */
	ST_AXIS_AROUND,
	ST_AXIS_FRAMES,
	ST_AXIS_CALLS, /* the same as trees of calls show it, without glue between functions */
	ST_AXIS_LEAF,
	ST_AXIS_PYTHON,
	ST_AXIS_PLACE,
	ST_AXIS_CLASS,
	ST_AXIS_WAIT, /* what a wait was for */
	ST_AXES
};

struct st_axis {
	const uint32_t *first; /* of the first row: its innermost element; 0: none */
	size_t stride_bytes;   /* from row to row */
	const uint32_t *next;  /* by element: the one around it, or 0; NULL: there is none */
	uint32_t count; /* elements; callers, and what is around, come before what is inside */
};

/* How a grouping becomes a tree of any depth, below all others. */
enum st_tree_kind {
	ST_TREE_NONE,
	ST_TREE_ROWS,	 /* rows in the rows around them */
	ST_TREE_CALLERS, /* from the innermost frame out */
	ST_TREE_CALLS,	 /* from the outermost frame in */
};

/* The key of a row, or of an element of an axis, in a grouping: map[column[it]]. Without a column its number is looked
 * up, without a map the value is the key. Keys are 0 … key_count - 1. */
struct st_key_column {
	const uint32_t *column;
	const uint32_t *map;
	uint32_t key_count; /* 0: this dataset cannot answer the grouping */
	enum st_axis_id axis;
	enum st_axis_id inner; /* whose first element is the row's own; filters look at its chain */
	enum st_tree_kind tree;
	enum st_grouping
		filtered_by; /* of a tree: the grouping that a filter can be about instead */
	bool is_function;    /* callers below it are its own, and not itself once more */
	bool is_numbered;    /* key - 1 is a number that a filter can name: "#12" */
};

/* Of rows with one key each. */
static inline struct st_key_column st_keys(const uint32_t *column, const uint32_t *map,
					   uint32_t key_count)
{
	return (struct st_key_column){.column = column, .map = map, .key_count = key_count};
}

enum st_fold {
	ST_FOLD_COUNT,
	ST_FOLD_SUM,
	ST_FOLD_MAX,
	ST_FOLD_DERIVED,
	ST_FOLD_AVERAGE,    /* part / whole, rounded */
	ST_FOLD_DIFFERENCE, /* part - whole, which may be negative */
	ST_FOLD_BOTH,	    /* part + whole */
};

/* The groups that a row adds its value to. */
enum st_reach {
	ST_REACH_OWN,	 /* its own one, and those above that in the answer */
	ST_REACH_AROUND, /* once each: those of all that is around it, too */
	/* Its own one, but not where a row around it that has such a value is in the same group: that holds it. */
	ST_REACH_OUTERMOST,
};

/* What is counted. A value is read of each row and summed up (or the largest is kept), or derived: of the durations
 * of the rows of a group, or as a quotient, the difference or the sum of two others. */
struct st_measure {
	enum st_metric metric;
	const char *
		name; /* as typed after -sort-desc: key, title or VTune's word ("Task Time") all match */
	const char *key;   /* "wall_total_ns" */
	const char *title; /* "Task Time" */
	const char *unit;  /* "ns", "" for counts */
	enum st_fold fold;
	enum st_reach reach;
	uint64_t (*read)(const struct st_dataset *dataset, uint32_t row, unsigned int arg);
	unsigned int arg;
	/* A part of the time of the row: where a question is about a part of that, what of it lies inside is told by
	 * read_part; where that is NULL, it counts as evenly spread. */
	bool is_time;
	uint64_t (*read_part)(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			      int64_t end_ns);
	uint64_t (*derive)(const struct st_spread *spread);
	enum st_metric part, whole; /* of a quotient, a difference or a sum */
	bool of_total;		    /* the whole is that of everything */
	enum st_metric known_by; /* where that is 0, there is no value; ST_COUNT: there always is */
};

/* Of rows that last. */
extern const struct st_measure st_wall_measures[];
enum { ST_WALL_MEASURES = ST_WALL_METRICS };
uint64_t st_derive_count(const struct st_spread *spread);
uint64_t st_derive_total(const struct st_spread *spread);
uint64_t st_derive_self(const struct st_spread *spread);
uint64_t st_derive_average(const struct st_spread *spread);

/* Rows of one track lie together, in order of begin, enclosing rows first. */
struct st_row_span {
	uint32_t begin, end;
};

struct st_dataset {
	uint32_t row_count;
	struct st_key_column keys[ST_GROUPINGS];
	struct st_set answers; /* groupings that these rows can answer */
	/* Further ones that a filter may be about; ST_BY_TASK among them means the rows themselves. */
	struct st_set filters;
	const struct st_measure *measures;
	uint32_t measure_count;
	struct st_set absent;	  /* of them those that are 0 in every row: not added up */
	enum st_metric sorted_by; /* unless asked otherwise */
	enum st_metric total; /* what holds more where others are equal; sorts a tree of calls */
	enum st_metric outermost; /* a row with 0 of it adds nothing that is ST_REACH_OUTERMOST */
	/* Rows that last. */
	const struct st_row_span *tracks;
	uint32_t track_count;
	const int64_t *begin_ns, *end_ns; /* NULL: rows with chains of keys */
	const uint64_t *self_ns;
	const uint32_t *parent;
	const uint32_t *track; /* index into tracks */
	const uint16_t *flags;
	/* Where only some rows were recorded: how many rows each of these stands for, how often its time is to be counted
	 * for that (the others may have been faster), and what is to be added to its self time (of a row around such rows
	 * something is to be taken away). NULL: each stands for itself. */
	const double *times, *times_ns, *more_self_ns;
	uint16_t slow_flags; /* rows with one of these do not simply last from begin to end */
	/* Rows with one of these are in their groups, but counted in ST_COPIES only. */
	uint16_t uncounted_flags;
	uint16_t hidden_flags; /* rows with one of these are nowhere */
	/* Rows with one of these are in no group, but their time is not their parent's. */
	uint16_t unlisted_flags;
	uint16_t loose_flags;	  /* what began in one of these and ends behind it is not inside */
	bool uncounted_take_time; /* their time is in ST_WALL_TOTAL all the same: who was busy? */
	enum st_grouping
		instance; /* the grouping that gives one row each; ST_GROUPINGS: there is none */
	enum st_grouping named_by; /* the grouping whose text such a row carries */
	const uint32_t *numbers;   /* by row: what "#12" means; NULL: the row */
	/* Rows with chains of keys. */
	struct st_axis axes[ST_AXES];
	double threshold_percent; /* rows up to this share of their parent; 0: all */
	uint64_t (*weight)(const struct st_dataset *dataset,
			   uint32_t row); /* for the heaviest callers */
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

/* Makes the key columns that the question needs. Refuses, with the list of what there is, a grouping that
 * these rows cannot answer. */
enum st_status st_dataset_prepare(struct st_dataset *dataset, const struct st_question *question,
				  struct st_error *err);

/* Texts that the dataset made live on in the arena when it is closed; it cannot be asked any more. */
void st_dataset_hand_over(struct st_dataset *dataset, struct st_arena *to);

/* The answer to a question, for whose groupings and filters the dataset is prepared. */
enum st_status st_dataset_ask(const struct st_dataset *dataset, const struct st_question *question,
			      struct st_answer *out, struct st_error *err);

/* The measure of a metric, or NULL. */
const struct st_measure *st_dataset_measure(const struct st_dataset *dataset,
					    enum st_metric metric);
/* The value of a row; of one that crosses an edge of a time range (NULL: there is none) what of it lies inside. */
uint64_t st_measure_read(const struct st_measure *measure, const struct st_dataset *dataset,
			 uint32_t row, const int64_t *range_ns);
/* Of a quotient, which is no whole number; total: the answer's. False: there is none. */
bool st_answer_quotient(const struct st_measure *measure, const struct st_answer_row *row,
			const struct st_answer_row *total, double *out);

static inline uint32_t st_key_of(const struct st_key_column *keys, uint32_t row)
{
	uint32_t value = keys->column ? keys->column[row] : row;

	return keys->map ? keys->map[value] : value;
}

/* The innermost element of a row. */
static inline uint32_t st_axis_first(const struct st_axis *axis, uint32_t row)
{
	return *(const uint32_t *)((const char *)axis->first + row * axis->stride_bytes);
}

/* The row's own key, whatever the axis. */
static inline uint32_t st_own_key(const struct st_dataset *dataset, enum st_grouping grouping,
				  uint32_t row)
{
	const struct st_key_column *keys = &dataset->keys[grouping];

	return st_key_of(keys, keys->axis ? st_axis_first(&dataset->axes[keys->inner], row) : row);
}

static inline bool st_row_is_counted(const struct st_dataset *dataset, uint32_t row)
{
	return !(dataset->flags[row] & dataset->uncounted_flags);
}

/* Of a row that lasts: its time without pauses. */
static inline uint64_t st_row_wall_ns(const struct st_dataset *dataset, uint32_t row)
{
	int64_t begin_ns = dataset->begin_ns[row], end_ns = dataset->end_ns[row];

	return dataset->flags[row] & dataset->slow_flags
		       ? dataset->part_ns(dataset, row, begin_ns, end_ns)
		       : (uint64_t)(end_ns - begin_ns);
}

#endif
