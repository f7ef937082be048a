/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators of a framework as a dataset: slices that are operators, or ranges that the program names among them.
 * Their parent is the enclosing operator or range; oneDNN primitives and module calls, which lie between and
 * inside them, are not rows, so their time belongs to the operator they are part of.
 *
 * If a process recorded no operators, its tasks of the ITT domain "PyTorch" are used: names without
 * inputs. Without those, oneDNN primitives are: what other frameworks compute with it.
 */
#ifndef ST_ANALYZE_OPERATORS_DATASET_OPERATORS_H
#define ST_ANALYZE_OPERATORS_DATASET_OPERATORS_H

#include "analyze/datasets/dataset_parts.h"
#include "store/operators.h"

struct st_operator_work;

enum st_operator_label {
	ST_LABEL_OTHER,
	ST_LABEL_OPERATOR, /* or a range */
	ST_LABEL_MODULE,
	ST_LABEL_ITT,	    /* stands in where there are no operators */
	ST_LABEL_PRIMITIVE, /* the same, where there are no tasks of PyTorch's either */
	ST_LABEL_HELPER,    /* of torch's profiler itself */
	ST_LABEL_CALL,	    /* of a Python function or built-in: a row where it was asked for */
	ST_LABEL_RUNTIME,   /* a call that drives a device, and … */
	ST_LABEL_DEVICE,    /* … what ran on one: rows as torch shows them */
};

/* Columns that the rows have for themselves. */
struct st_operator_columns {
	uint32_t *slice, *label, *parent, *track;
	int64_t *begin_ns, *end_ns;
	uint64_t *self_ns;
	uint16_t *flags;
	uint32_t *row_of_slice;
};

struct st_operator_rows {
	const struct st_result *result;
	struct st_arena arena;
	struct st_key_texts texts[ST_GROUPINGS];
	struct st_pause_list pauses;
	uint32_t count;
	/* By row. Where every slice is a row most of them are the slices' own: `own` has none. */
	const uint32_t *slice, *label, *parent, *track;
	const int64_t *begin_ns, *end_ns;
	const uint64_t *self_ns; /* with calls it may be below 0: as an int64_t, see set_self */
	const uint16_t *flags;
	uint32_t *signature;
	uint32_t *stack; /* node of Python frames; 0: not recorded */
	int64_t *
		sequence; /* always there as torch shows them; else st_operator_sequence tells it */
	/* By slice: the row that it is or lies in, or ST_NO_ROW. */
	const uint32_t *row_of_slice;
	struct st_operator_columns own;
	uint32_t *name_of; /* by label: key of ST_BY_OPERATOR */
	uint8_t *kind_of;  /* by label: enum st_operator_label */
	uint8_t *is_range; /* by label: the program named it */
	/* With calls: by row the innermost one that it began in (of a call itself), or ST_NO_ROW; by call its row. */
	uint32_t *call, *row_of_call;
	uint32_t signature_count;
	struct st_operator_work *work; /* by signature; the last is none; made with the measures */
	uint64_t *allocated, *freed;   /* by row: bytes; NULL: not recorded */
	uint64_t outside_bytes;	       /* given out where no operator was open */
	/* By row: what ran on a device that it launched, without and with the rows inside of it; NULL: nothing did. */
	uint64_t *device_ns, *device_all_ns;
	uint64_t device_outside_ns; /* launched where no operator was open, or nobody knows where */
	uint8_t *launches; /* by label: some row of it launched something; NULL: nothing did */
	bool is_itt;	   /* some rows are ITT tasks that stand in */
	bool is_primitive;
	bool has_inputs, has_modules, has_stacks, has_calls;
	bool as_torch;
};

/* Which operators are rows. */
struct st_operator_choice {
	/* As torch's profiler shows them: its own helpers are no rows, the only child of an operator of the same
	 * name is part of it, and steps have one name. */
	bool as_torch;
	bool has_window; /* only what began and ended inside, as a profiler that ran from begin to end has it */
	int64_t begin_ns, end_ns;
	/* Calls of Python functions (store/traced_calls.h) are rows, too: their number as a slice is behind those of
	 * the slices. As torch shows them only. */
	bool with_calls;
};
enum st_status st_dataset_operators_choose(struct st_dataset *out, const struct st_result *result,
					   const struct st_operator_choice *choice,
					   struct st_error *err);
enum st_status st_dataset_operators_init(struct st_dataset *out, const struct st_result *result,
					 bool as_torch, struct st_error *err);
void st_dataset_operators_fini(struct st_dataset *dataset);
const struct st_operator_rows *st_dataset_operators(const struct st_dataset *dataset);
/* Of autograd, or ST_NO_SEQUENCE. */
static inline int64_t st_operator_sequence(const struct st_operator_rows *rows, uint32_t row)
{
	return rows->sequence ? rows->sequence[row] : ST_NO_SEQUENCE;
}

/* Memory and work beside the times. False when memory is out. */
bool st_operators_add_measures(struct st_dataset *dataset);
extern const struct st_measure st_operator_measures[];
/* Four of all that last, and all of the operators' own. */
enum { ST_OPERATOR_MEASURES = 4 + (ST_HELD - ST_ALLOCATED) + (ST_KEPT - ST_SELF_SHARE) };

/* What rows launched on devices. False when memory is out. */
bool st_operators_add_devices(struct st_operator_rows *rows);
/* Whether a slice ran on a device and counts as its time; ranges that are repeated there do not. */
bool st_slice_is_device_time(const struct st_result *result, uint32_t slice);

/* Groupings, whether a result has such rows or not. */
struct st_set st_dataset_operators_answers(void);
/* Filters can be about these too. */
struct st_set st_dataset_operators_filters(void);

static inline bool st_row_is_call(const struct st_operator_rows *rows, uint32_t row)
{
	return rows->kind_of[rows->label[row]] == ST_LABEL_CALL;
}

static inline bool st_row_is_device(const struct st_operator_rows *rows, uint32_t row)
{
	return rows->kind_of[rows->label[row]] == ST_LABEL_DEVICE;
}

static inline struct st_text st_row_name(const struct st_operator_rows *rows, uint32_t row)
{
	return rows->texts[ST_BY_OPERATOR].texts[rows->name_of[rows->label[row]]];
}
/* What autograd's engine puts around a node of the backward pass. */
static inline bool st_row_is_wrapper(const struct st_operator_rows *rows, uint32_t row)
{
	return st_text_begins(st_row_name(rows, row), "autograd::engine::evaluate_function: ");
}

/* Zeros in the arena, one more than the count; NULL when memory is out. */
static inline void *st_operators_column(struct st_operator_rows *rows, size_t count,
					size_t size_bytes)
{
	return st_arena_calloc(&rows->arena, count + 1, size_bytes);
}

/* Adds them to what was picked; before it is folded. And room for so many rows. False when memory is out. */
bool st_operators_add_calls(struct st_operator_rows *rows, const struct st_operator_choice *choice);
bool st_operators_make_columns(struct st_operator_rows *rows, uint32_t count);
/* The module that each row belongs to: ST_BY_NN_MODULE. False when memory is out. */
bool st_operators_add_modules(struct st_dataset *dataset, struct st_operator_rows *rows);
/* The same of slices; and whether there are any. */
bool st_slices_add_modules(struct st_dataset *dataset, const struct st_result *result,
			   struct st_key_texts *keys, struct st_arena *arena);
bool st_result_has_modules(const struct st_result *result);
/* The Python code that called each row: ST_BY_PYTHON_LINE, _PYTHON_FUNCTION or _CALLSTACK. The same. */
bool st_operators_add_stacks(struct st_dataset *dataset, struct st_operator_rows *rows,
			     enum st_grouping grouping);
/* By row: the forward operator that a backward node belongs to, or ST_NO_ROW. Malloc'd; NULL: no memory. */
uint32_t *st_operators_forwards(const struct st_dataset *dataset,
				const struct st_operator_rows *rows);
/* Chooses the rows, and makes their columns up to row_of_slice; labels are known. False when memory is out. */
bool st_operators_pick(struct st_operator_rows *rows, const struct st_operator_choice *choice);
/* Folds rows as torch does; before anything but the rows' own columns is there. */
bool st_operators_fold(struct st_operator_rows *rows);

#endif
