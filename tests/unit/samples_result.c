// SPDX-License-Identifier: Apache-2.0
//
// The samples of samples_result.h.
#include "samples_result.h"

static struct fake_named *current;

/* In place of the look-up of names. */
enum st_status st_named_open(struct st_named **out, const struct st_result *of,
			     const struct st_named_options *options, struct st_error *err)
{
	static const struct st_named_module module = {{"", 0}, {"", 0}, {"", 0}};
	static const struct st_named_function function = {{"", 0}, {"", 0}, {"", 0}, .module = 0};
	static const struct st_named_frame frame = {0};
	static const struct st_text source = {"", 0};
	static const uint32_t frame_of_node = 0;
	static struct st_named empty = {.modules = &module,
					.functions = &function,
					.sources = &source,
					.frames = &frame,
					.frame_of_node = &frame_of_node,
					.module_count = 1,
					.function_count = 1,
					.source_count = 1,
					.frame_count = 1,
					.node_count = 1};

	(void)options;
	(void)err;
	*out = current && current->fake == of ? &current->named : &empty;
	return ST_OK;
}

void st_named_close(struct st_named *named)
{
	(void)named;
}

static uint32_t call(struct fake_named *names, uint32_t parent, uint32_t function, uint32_t flags)
{
	uint32_t node = fake_call(names, parent, function, 0);

	names->frames[names->frame_of_node[node]].flags = flags;
	return node;
}

void samples_create(struct samples_result *made)
{
	struct st_result *fake = made->fake = fake_create();
	struct fake_named *names = made->names = current = fake_named_create(fake);
	uint32_t process, start, eval, train, conv, jit, dot, write_function, kernel, clone, worker;
	uint32_t root, inner, node, label;

	process = fake_process(fake, "python3", 100);
	fake_track(fake, process, "", 100);
	label = fake_label(fake, "PyTorch", "aten::conv2d");
	start = fake_function(names, ST_FUNCTION_NATIVE, "libc.so.6", "_start", "");
	clone = fake_function(names, ST_FUNCTION_NATIVE, "libc.so.6", "clone3", "");
	write_function = fake_function(names, ST_FUNCTION_NATIVE, "libc.so.6", "write", "");
	eval = fake_function(names, ST_FUNCTION_NATIVE, "python3", "eval", "");
	train = fake_function(names, ST_FUNCTION_PYTHON, "train.py", "train", "/srv/job/train.py");
	conv = fake_function(names, ST_FUNCTION_NATIVE, "libtorch_cpu.so", "at::conv<a; b>",
			     "conv.cpp");
	dot = fake_function(names, ST_FUNCTION_NATIVE, "libtorch_cpu.so", "dot", "dot.h");
	jit = fake_function(names, ST_FUNCTION_JIT, "[Dynamic code]", "jit_conv", "");
	kernel = fake_function(names, ST_FUNCTION_KERNEL, "[kernel]", "sys_write", "");
	worker = fake_function(names, ST_FUNCTION_NATIVE, "libgomp.so.1", "func@0x1de20", "");
	names->functions[worker].flags = ST_FUNCTION_NO_SYMBOL;
	names->functions[start].flags = names->functions[clone].flags =
		names->functions[write_function].flags = ST_FUNCTION_SYSTEM;
	names->modules[names->functions[conv].module].build_id = (struct st_text){"\x01\xab", 2};

	root = call(names, call(names, 0, start, 0), eval, ST_NAMED_EVAL);
	inner = fake_call(names, fake_call(names, root, train, 88), conv, 0);
	fake_slice(fake, label, 0, 250, ST_NO_ROW);
	node = call(names, inner, jit, 0);
	fake_sample(fake, 100, 40, node, 0);
	fake_sample(fake, 200, 30, node, 0);
	node = fake_call(names, fake_call(names, root, train, 88), conv, 7);
	fake_inlined(names, dot, 12);
	fake_sample(fake, 300, 20, node, 0);
	node = call(names, call(names, fake_call(names, root, train, 90), write_function, 0),
		    kernel, 0);
	fake_sample(fake, 400, 5, node, ST_SAMPLE_KERNEL);
	fake_sample(fake, 500, 1000, node, ST_SAMPLE_WAITING);

	fake_track(fake, process, "pool", 101);
	node = call(names, call(names, 0, clone, 0), worker, ST_NAMED_RECOVERED);
	fake_sample(fake, 100, 4, node, ST_SAMPLE_RECOVERED);
	fake_sample(fake, 200, 1, 0, ST_SAMPLE_TRUNCATED);
	fake_sampler(fake, process, 10000000);
	fake_finish(fake);
}

void samples_destroy(struct samples_result *made)
{
	fake_named_destroy(made->names);
	current = NULL;
	fake_destroy(made->fake);
}
