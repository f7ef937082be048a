/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of slices that are operators of a framework, and of the memory that any slice took. Everything is
 * borrowed until st_result_close.
 */
#ifndef ST_STORE_OPERATORS_H
#define ST_STORE_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/operator.h"
#include "store/result.h"

#define ST_NO_SEQUENCE (-1)

/* By row; at most one for each slice. */
struct st_operator {
	uint32_t row;		   /* of the slice */
	uint32_t signature;	   /* index, or ST_NO_ROW: a slice that only took memory */
	int64_t sequence;	   /* of autograd, or ST_NO_SEQUENCE */
	uint64_t allocated, freed; /* bytes, by itself: without slices inside of it */
	uint32_t stack;		   /* node (store/samples.h) of Python frames; 0: not recorded */
	uint32_t reserved;
};

struct st_signature {
	uint32_t process; /* index */
	uint32_t domain;
	st_string_id name;
	uint32_t scope; /* enum st_operator_scope */
	uint32_t flags; /* ST_SIGNATURE_* */
	uint32_t input_count;
	uint32_t inputs_bytes;
	const uint8_t *inputs; /* as in format/operator.h, checked */
};

/* A moment at which memory of the framework was given out or taken back, by time. */
struct st_memory_moment {
	int64_t time_ns;
	uint32_t track;
	uint32_t row; /* slice that was open innermost, or ST_NO_ROW */
	uint64_t allocated, freed, peak;
	uint64_t address; /* of the one block that it was; 0: of several */
	uint32_t place;	  /* ST_MEMORY_PLACE (format/ring_record.h); 0: memory of the CPU */
	uint32_t reserved;
};

struct st_operator_source { /* of a process */
	uint32_t process;   /* index */
	uint32_t level;	    /* enum st_operator_level */
	uint32_t flags;
	st_string_id framework, why;
};

const struct st_operator *st_result_operators(const struct st_result *result, uint32_t *count);
/* Of one slice, or NULL. */
const struct st_operator *st_result_operator_of(const struct st_result *result, uint32_t row);
const struct st_signature *st_result_signatures(const struct st_result *result, uint32_t *count);
const struct st_memory_moment *st_result_memory(const struct st_result *result, uint32_t *count);
/* The same of devices. */
const struct st_memory_moment *st_result_device_memory(const struct st_result *result,
						       uint32_t *count);
const struct st_operator_source *st_result_operator_sources(const struct st_result *result,
							    uint32_t *count);

/* The inputs one after the other. */
struct st_input {
	enum st_operator_input kind;
	uint32_t list; /* tensors of a list that follow: each is given by the next calls */
	uint32_t dtype, dimension_count;
	uint32_t integer_count; /* of an integer 1; they stand where sizes do */
	int64_t sizes[ST_INPUT_DIMENSIONS_MAX];
};
struct st_input_reader {
	const uint8_t *at, *end;
};
void st_input_begin(struct st_input_reader *reader, const struct st_signature *signature);
bool st_input_next(struct st_input_reader *reader, struct st_input *out);
/* "float", "c10::Half", "long int": as torch's profiler writes it; "?" when not known. */
const char *st_dtype_name(uint32_t dtype);
uint32_t st_dtype_bytes(uint32_t dtype);

#endif
