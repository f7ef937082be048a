/* SPDX-License-Identifier: Apache-2.0
 *
 * Where PyTorch keeps the inputs of an operator. Its headers say nothing that holds from one release to the next, so
 * that a layout is only believed after it has been proven in this process: what stands there is compared with what
 * exported functions of the framework say, for operators of different inputs, before anything is followed. Known layouts
 * are rows of data.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_LAYOUT_H
#define ST_COLLECT_INPROC_TORCH_TORCH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/torch/torch.h"

#pragma GCC visibility push(hidden)

enum { ST_TORCH_RECORD_ROWS = 2, ST_DTYPE_UNKNOWN = 255 };

/* at::RecordFunction: bytes from its beginning. */
struct st_torch_record_row {
	const char *name;
	uint16_t thread, sequence, inputs; /* inputs: pointer, then their number */
};
extern const struct st_torch_record_row st_torch_record_rows[ST_TORCH_RECORD_ROWS];

/* A layout that was proven. */
struct st_torch_memory_layout {
	const struct st_torch_record_row *record;
	uint16_t sizes;	     /* of c10::TensorImpl: number of dimensions; the sizes follow */
	const void *nothing; /* the tensor that stands for none */
	uint64_t plain;	     /* first word of an ordinary tensor: its kind */
	uint32_t tag_bool;   /* of an IValue; 0: not known */
	uint32_t tag_list;   /* likewise, 0: one of several; believed once … */
	uint16_t list; /* … bytes from a list's beginning to its elements are proven; 0: not yet */
};

/* A vector of the framework's. */
struct st_torch_sizes {
	const int64_t *begin, *end, *capacity;
};

/* What the framework says of one record. */
struct st_torch_truth {
	uint64_t thread, inputs;
	int64_t sequence_next;		    /* no record has a higher number */
	int32_t dtype;			    /* of its tensors; -1: not known */
	uint32_t listed;		    /* inputs that `sizes` tells of */
	const struct st_torch_sizes *sizes; /* none: no tensor, or one without dimensions */
};

/* What has been seen so far. */
struct st_torch_learner {
	uint32_t rows;	      /* bits of st_torch_record_rows that nothing contradicts */
	bool counted;	      /* one of the records had inputs */
	uint32_t offsets;     /* bits of TensorImpl's words that nothing contradicts */
	uint32_t tensors;     /* that told something */
	uint64_t first_count; /* elements of the first of them */
	bool distinct;	      /* another one had another number of elements */
	bool refused;
	const void *nothing;
	uint64_t plain; /* first word of the first of them */
};

void st_torch_learner_init(struct st_torch_learner *learner, const void *nothing);
/* One record more. Reads in such a way that a wrong address is no harm. */
void st_torch_learn(struct st_torch_learner *learner, const void *record,
		    const struct st_torch_truth *truth);
/* Whether enough has been seen, and all of it fits one layout. */
bool st_torch_learned(const struct st_torch_learner *learner,
		      struct st_torch_memory_layout *layout);

/* torch_check.c: whether a proven layout still holds, for any record later on. */
enum st_torch_verdict {
	ST_TORCH_FITS,	      /* nothing more can be told */
	ST_TORCH_ASK,	      /* and the framework can be asked: ordinary tensors only */
	ST_TORCH_CONTRADICTS, /* something stands there that cannot */
};
/* By what stands there alone. Reads in such a way that a wrong address is no harm. */
enum st_torch_verdict st_torch_look(const struct st_torch_memory_layout *layout,
				    const void *record);
/* By what the framework says; only of what can be asked. */
bool st_torch_agrees(const struct st_torch_memory_layout *layout, const void *record,
		     const struct st_torch_truth *truth);

/* Lists of tensors, by a layout that is proven for single ones. */
enum { ST_TORCH_LIST_PLACES = 2 };
struct st_torch_list_learner {
	uint32_t votes[ST_TORCH_LIST_PLACES]; /* records that fit each place */
	uint32_t tag;			      /* that their lists had */
	bool refused;
};
/* The tag of a list that begins with a tensor, if the record has one: then it is worth asking. 0: none. */
uint32_t st_torch_has_list(const struct st_torch_memory_layout *layout, const void *record);
/* One record more; `truth` tells the sizes of a list's tensors one by one. Sets layout->list, and
 * the tags, once it is proven. */
void st_torch_learn_list(struct st_torch_list_learner *learner,
			 struct st_torch_memory_layout *layout, const void *record,
			 const struct st_torch_truth *truth);

/* Lists of integers: their tag, and where their elements are told. */
enum { ST_TORCH_LIST_KINDS = 6 };
struct st_torch_value_learner {
	uint32_t seen, fitting; /* lists, and bits of the kinds that fit all of them */
	bool refused;
};
/* One record more, of which the second and third input are lists of these integers. */
void st_torch_learn_values(struct st_torch_value_learner *learner,
			   const struct st_torch_memory_layout *layout, const void *record,
			   const struct st_torch_sizes expected[2]);
/* Or a record of aten::convolution, whose lists must fit its tensors. */
void st_torch_learn_convolution(struct st_torch_value_learner *learner,
				const struct st_torch_memory_layout *layout, const void *record);
/* Whether one kind fits them all: then lists of any kind can be read. Sets tags and place of the layout. */
bool st_torch_values_learned(const struct st_torch_value_learner *learner,
			     struct st_torch_memory_layout *layout);

struct st_torch_integers {
	bool is_list;
	uint32_t count;
	int64_t values[ST_INPUT_DIMENSIONS_MAX];
};
/* Of an IValue, by a layout whose lists are proven; false: it is something else. */
bool st_torch_read_integers(const struct st_torch_memory_layout *layout, const char *value,
			    struct st_torch_integers *out);

/* Copies memory that may not be there. */
bool st_torch_read_safely(const void *from, void *to, size_t bytes);

/* Of a record, by a proven layout: */
uint64_t st_torch_inputs_hash(const struct st_torch_memory_layout *layout, const void *record,
			      uint64_t hash);
struct st_operator_inputs st_torch_inputs_encode(const struct st_torch_memory_layout *layout,
						 const void *record, uint8_t *to, uint32_t room);
/* Both, with the values of integers as well: for operators whose work depends on them. */
uint64_t st_torch_values_hash(const struct st_torch_memory_layout *layout, const void *record,
			      uint64_t hash);
struct st_operator_inputs st_torch_values_encode(const struct st_torch_memory_layout *layout,
						 const void *record, uint8_t *to, uint32_t room);
/* The same bytes of sizes that the framework has told. */
struct st_operator_inputs st_torch_truth_encode(const struct st_torch_truth *truth, uint8_t *to,
						uint32_t room);

#pragma GCC visibility pop

#endif
