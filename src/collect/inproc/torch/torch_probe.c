/* SPDX-License-Identifier: Apache-2.0
 *
 * Proves the layout of the framework's records by tensors of our own, seen by this thread only. Older releases have no
 * functions that make them from C.
 */
#include <dlfcn.h>
#include <string.h>

#include "collect/inproc/torch/torch_callbacks.h"
#include "collect/inproc/torch/torch_library.h"

static int32_t probe_dtype;
static struct st_torch_sizes probe_lists[2]; /* what the view is being made with */

static void *begin_probe(void **context, const void *record)
{
	struct st_torch_asked asked;

	*context = NULL;
	st_torch_ask(&asked, record, false);
	asked.truth.dtype = probe_dtype;
	st_torch_learn(&st_torch_known.learner, record, &asked.truth);
	st_torch_release(&asked);
	return context;
}

/* The view, by the layout that has just been proven: its lists are known. */
static void *begin_probe_list(void **context, const void *record)
{
	const char *name = st_torch_functions.name(record);

	*context = NULL;
	if (name && !strcmp(name, "aten::as_strided"))
		st_torch_learn_values(&st_torch_known.values, &st_torch_known.layout, record,
				      probe_lists);
	return context;
}

static void end_probe(const void *record, void *context)
{
	(void)record, (void)context;
}

/* A view needs no kernel; older releases have no function for it, but one for a copy. */
static int32_t look_at(void *tensor, const int64_t *sizes, const int64_t *strides, void **other)
{
	if (st_torch_functions.as_strided)
		return st_torch_functions.as_strided(tensor, sizes, strides, other);
	return st_torch_functions.clone(tensor, other);
}

/* Makes a tensor, and an operator that takes it. */
static bool probe_one(const int64_t *sizes, int64_t dimensions, int32_t dtype)
{
	int64_t strides[ST_INPUT_DIMENSIONS_MAX], stride = 1;
	void *tensor = NULL, *view = NULL;
	bool made;

	for (int64_t i = dimensions; i-- > 0; stride *= sizes[i])
		strides[i] = stride;
	probe_dtype = dtype;
	probe_lists[0] = (struct st_torch_sizes){sizes, sizes + dimensions, NULL};
	probe_lists[1] = (struct st_torch_sizes){strides, strides + dimensions, NULL};
	made = !st_torch_functions.empty(dimensions, sizes, strides, dtype, 0, 0, &tensor) &&
	       tensor && !look_at(tensor, sizes, strides, &view) && view;
	if (view)
		st_torch_functions.delete_tensor(view);
	if (tensor)
		st_torch_functions.delete_tensor(tensor);
	return made;
}

/* Different types, and sizes that nothing else looks like. */
static void probe(void *(*begin_one)(void **context, const void *record))
{
	static const struct {
		int64_t sizes[6], dimensions;
		int32_t dtype;
	} tensors[] = {
		{{3, 5, 7}, 3, 6}, {{11, 13}, 2, 5}, {{17, 2, 3, 19}, 4, 4},
		{{23}, 1, 7},	   {{29, 3}, 2, 11}, {{2, 3, 2, 5, 3, 7}, 6, 6},
	};
	struct st_torch_callback callback = {
		.begin = begin_one, .end = end_probe, .probability = 1.0, .needs_inputs = true};
	uint64_t handle;

	callback.scopes[ST_SCOPE_FUNCTION] = true;
	handle = st_torch_functions.add_here(callback);
	for (size_t i = 0; i < sizeof(tensors) / sizeof(*tensors); i++)
		if (!probe_one(tensors[i].sizes, tensors[i].dimensions, tensors[i].dtype))
			break;
	st_torch_functions.remove(handle);
}

/* Whether somebody would see operators of ours: another profiler, or a mode of the program's (that of tensors without
 * memory, for instance), which may even refuse them. Then the program's own operators have to do. */
static bool is_watched(void *c10)
{
	bool (*any_modes)(bool skip_own) = NULL;

	if (c10)
		*(void **)&any_modes =
			dlsym(c10, "_ZN3c104impl20TorchDispatchModeTLS13any_modes_setEb");
	return (any_modes && any_modes(false)) ||
	       (st_torch_functions.has_callbacks && st_torch_functions.has_callbacks());
}

void st_torch_prove_layout(void)
{
	const struct st_torch_functions *torch = &st_torch_functions;
	struct st_torch_known *known = &st_torch_known;
	void *c10 = st_torch_library("libc10.so", NULL, 0);

	st_torch_learner_init(&known->learner,
			      c10 ? dlsym(c10, "_ZN3c1019UndefinedTensorImpl10_singletonE") : NULL);
	if (st_torch_config.no_layout)
		known->learner.rows = 0; /* nothing that is known can be what is found */
	if (st_torch_config.level > ST_OPERATORS_IN_PLACE || !torch->add_here || !torch->remove ||
	    !torch->empty || !(torch->as_strided || torch->clone) || !torch->delete_tensor ||
	    is_watched(c10))
		return;
	probe(begin_probe);
	if (!st_torch_learned(&known->learner, &known->layout))
		return;
	probe(begin_probe_list);
	st_torch_values_learned(&known->values, &known->layout);
}
