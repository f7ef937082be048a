// SPDX-License-Identifier: Apache-2.0
//
// What labels and tracks are, in words (store/category.h, store/result.h). This is the only place that knows what a
// domain's text means.
#include "store/category.h"

#include "format/device.h"
#include "format/operator.h"
#include "store/result.h"

static const char *const names[ST_CATEGORIES] = {
	[ST_CATEGORY_TASK] = "task",
	[ST_CATEGORY_OPERATOR] = "op",
	[ST_CATEGORY_RANGE] = "task",
	[ST_CATEGORY_STEP] = "task",
	[ST_CATEGORY_MODULE] = "nn-module",
	[ST_CATEGORY_PRIMITIVE] = "primitive",
	[ST_CATEGORY_PRIMITIVE_OLD] = "primitive",
	[ST_CATEGORY_PRIMITIVE_CREATE] = "primitive",
	[ST_CATEGORY_PRIMITIVE_STAGE] = "primitive",
	[ST_CATEGORY_RUNTIME_CALL] = "runtime-call",
	[ST_CATEGORY_DEVICE_WAIT] = "device-wait",
	[ST_CATEGORY_KERNEL] = "kernel",
	[ST_CATEGORY_COPY] = "copy",
	[ST_CATEGORY_COMMUNICATION] = "communication",
	[ST_CATEGORY_DEVICE_OVERHEAD] = "device-overhead",
	[ST_CATEGORY_DEVICE_MEMORY] = "device-memory",
};

/* The first row that fits counts. */
static const struct {
	const char *domain;
	enum st_category category;
	bool is_prefix, from_itt;
} domains[] = {
	{ST_OPERATOR_DOMAIN, ST_CATEGORY_OPERATOR, false, false},
	{ST_RANGE_DOMAIN, ST_CATEGORY_RANGE, false, false},
	{ST_MODULE_DOMAIN, ST_CATEGORY_MODULE, false, false},
	/* torch's emit_itt: operators and ranges, told apart below. */
	{"PyTorch", ST_CATEGORY_OPERATOR, false, true},
	{"dnnl::primitive::execute", ST_CATEGORY_PRIMITIVE, false, false},
	{"dnnl::primitive::create", ST_CATEGORY_PRIMITIVE_CREATE, false, false},
	{"dnnl::primitive", ST_CATEGORY_PRIMITIVE_OLD, false, false},
	{"dnnl::primitive", ST_CATEGORY_PRIMITIVE_STAGE, true, false},
	{ST_KERNEL_DOMAIN, ST_CATEGORY_KERNEL, false, false},
	{ST_COPY_DOMAIN, ST_CATEGORY_COPY, false, false},
	{ST_COMMUNICATION_DOMAIN, ST_CATEGORY_COMMUNICATION, false, false},
	{ST_RUNTIME_DOMAIN, ST_CATEGORY_RUNTIME_CALL, false, false},
	{ST_OVERHEAD_DOMAIN, ST_CATEGORY_DEVICE_OVERHEAD, false, false},
	{ST_DEVICE_MEMORY_DOMAIN, ST_CATEGORY_DEVICE_MEMORY, false, false},
};

/* Calls that return when what was launched before is done. A copy that may or may not wait is none. */
static bool waits_for_device(struct st_text name)
{
	static const char *const whole[] = {"clFinish", "clWaitForEvents", "cudaMemcpy"};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (st_text_equals(name, whole[i]))
			return true;
	/* cudaStreamSynchronize, cuCtxSynchronize, zeEventHostSynchronize. */
	return memmem(name.bytes, name.size_bytes, "Synchronize", 11) != NULL;
}

enum st_category st_category_of(struct st_text domain, struct st_text name, bool *from_itt)
{
	enum st_category category = ST_CATEGORY_TASK;

	*from_itt = false;
	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		if (domains[i].is_prefix ? !st_text_begins(domain, domains[i].domain)
					 : !st_text_equals(domain, domains[i].domain))
			continue;
		category = domains[i].category;
		*from_itt = domains[i].from_itt;
		break;
	}
	/* Ranges that a program marks have no namespace. */
	if (*from_itt && !memmem(name.bytes, name.size_bytes, "::", 2))
		category = ST_CATEGORY_RANGE;
	if (category == ST_CATEGORY_RANGE && st_text_begins(name, "ProfilerStep#"))
		category = ST_CATEGORY_STEP;
	if (category == ST_CATEGORY_RUNTIME_CALL && waits_for_device(name))
		category = ST_CATEGORY_DEVICE_WAIT;
	return category;
}

const char *st_category_name(enum st_category category)
{
	return names[category < ST_CATEGORIES ? category : ST_CATEGORY_TASK];
}

const char *st_track_word(const struct st_track *track, const struct st_process *process)
{
	static const char *const words[ST_TRACK_KINDS] = {
		[ST_TRACK_THREAD] = "thread",
		[ST_TRACK_DEVICE_STREAM] = "device stream",
		[ST_TRACK_DEVICE_QUEUE] = "device queue",
		[ST_TRACK_PROCESS] = "process",
		[ST_TRACK_COUNTER] = "counter",
		[ST_TRACK_OTHER] = "track",
	};

	if (track->kind == ST_TRACK_THREAD && process && track->tid == process->pid)
		return "main";
	return words[track->kind < ST_TRACK_KINDS ? track->kind : ST_TRACK_OTHER];
}
