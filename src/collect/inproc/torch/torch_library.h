/* SPDX-License-Identifier: Apache-2.0
 *
 * The framework's library: which release it is, the functions of it that we call, and what they say of a record.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_LIBRARY_H
#define ST_COLLECT_INPROC_TORCH_TORCH_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/torch/torch_layout.h"

#pragma GCC visibility push(hidden)

enum { ST_TORCH_SCOPES = 10 };

/* at::RecordFunctionCallback */
struct st_torch_callback {
	void *(*begin)(void **context, const void *record);
	void (*end)(const void *record, void *context);
	double probability;
	bool scopes[ST_TORCH_SCOPES];
	bool needs_inputs, needs_outputs, needs_ids;
};
_Static_assert(sizeof(struct st_torch_callback) == 40, "passed by value");

/* A std::vector of vectors, returned as any structure of its size is. */
struct st_torch_sizes_list {
	struct st_torch_sizes *begin, *end, *capacity;
};

/* Each NULL where the release has none. */
struct st_torch_functions {
	uint64_t (*add_global)(struct st_torch_callback callback);
	uint64_t (*add_here)(struct st_torch_callback callback);
	void (*remove)(uint64_t handle);
	void (*disable)(uint64_t handle);
	void (*enable)(uint64_t handle);
	const char *(*name)(const void *record);
	uint64_t (*num_inputs)(const void *record);
	uint64_t (*current_thread)(void);
	uint64_t (*peek_sequence)(void);
	struct st_torch_sizes_list (*input_sizes)(const void *record, bool flatten);
	void (*delete_memory)(void *block);
	bool (*has_callbacks)(void);
	/* Makers of tensors; not in old releases. */
	int32_t (*empty)(int64_t dimensions, const int64_t *sizes, const int64_t *strides,
			 int32_t dtype, int32_t device, int32_t index, void **tensor);
	int32_t (*as_strided)(void *self, const int64_t *sizes, const int64_t *strides,
			      void **tensor);
	int32_t (*clone)(void *self, void **tensor);
	int32_t (*delete_tensor)(void *tensor);
};
extern struct st_torch_functions st_torch_functions;

/* A loaded library whose file name begins so (libtorch_cpu.so.1.13 has a tail), or NULL. */
void *st_torch_library(const char *prefix, char *path, uint32_t path_bytes);

/* Finds the library in the process and what is declared here; false: it is not there. */
bool st_torch_library_find(void);
/* The framework's name with its version, where that is told. */
const char *st_torch_framework(void);
/* Whether the tests have seen this release. */
bool st_torch_is_tested(void);

/* The framework's answers to one record. */
struct st_torch_asked {
	struct st_torch_truth truth;
	struct st_torch_sizes_list list;
};
bool st_torch_can_ask(void);
/* To be released. `flatten`: the tensors of lists one by one. */
void st_torch_ask(struct st_torch_asked *asked, const void *record, bool flatten);
void st_torch_release(struct st_torch_asked *asked);

#pragma GCC visibility pop

#endif
