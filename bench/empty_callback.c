/* SPDX-License-Identifier: Apache-2.0
 *
 * The least that whoever watches PyTorch's operators can cost: callbacks that return at once. Loaded into a Python
 * program by ctypes.
 */
#include <stdbool.h>
#include <stdint.h>

#define SHOWN __attribute__((visibility("default")))

/* at::RecordFunctionCallback */
struct callback {
	void *(*begin)(void **context, const void *record);
	void (*end)(const void *record, void *context);
	double probability;
	bool scopes[10];
	bool needs_inputs, needs_outputs, needs_ids;
};

SHOWN uint64_t empty_add(uint64_t (*add)(struct callback callback), int inputs);

static void *begin(void **context, const void *record)
{
	(void)record;
	*context = 0;
	return context;
}

static void end(const void *record, void *context)
{
	(void)record;
	(void)context;
}

/* With at::addGlobalCallback; its handle. */
uint64_t empty_add(uint64_t (*add)(struct callback callback), int inputs)
{
	struct callback callback = {.begin = begin, .end = end, .probability = 1.0};

	for (int i = 0; i < 10; i++)
		callback.scopes[i] = true;
	callback.needs_inputs = inputs != 0;
	return add(callback);
}
