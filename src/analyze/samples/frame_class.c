// SPDX-License-Identifier: Apache-2.0
//
// The table of glue. Each row: where the function is (the file of a Python function, else the module), and its name;
// patterns are those of a shell.
#include "analyze/samples/frame_class.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "resolve/named.h"

#define CPYTHON "*python3*"
#define TORCH "libtorch*"
#define ANY "*"

static const struct rule {
	const char *place, *function;
} native_rules[] = {
	/* The start of programs and threads. */
	{CPYTHON, "_start"},
	{CPYTHON, "main"},
	{"libc.*", "__libc_start*"},
	{"libc.*", "clone*"},
	{"libc.*", "__clone*"},
	{"libc.*", "start_thread"},
	{"libpthread*", "start_thread"},
	{"libstdc++*", "execute_native_thread_routine"},
	{ANY, "std::thread::*"},
	{ANY, "std::function<*"},
	{ANY, "std::_Function_handler*"},
	{ANY, "std::__invoke*"},
	{ANY, "std::_Bind*"},
	{ANY, "std::call_once*"},
	{ANY, "pybind11::*"},
	{ANY, "nanobind::*"},
	/* What records tasks and operators, between a caller and what it called. */
	{"libstrata_collector*", ANY},
	/* The interpreter: running, calling, importing. */
	{CPYTHON, "pymain_*"},
	{CPYTHON, "Py_RunMain"},
	{CPYTHON, "Py_BytesMain"},
	{CPYTHON, "Py_Main"},
	{CPYTHON, "*PyRun_*"},
	{CPYTHON, "pyrun_*"},
	{CPYTHON, "run_mod*"},
	{CPYTHON, "run_eval_code_obj*"},
	{CPYTHON, "*PyEval_*"},
	{CPYTHON, "*vectorcall*"},
	{CPYTHON, "*Vectorcall*"},
	{CPYTHON, "PyObject_Call*"},
	{CPYTHON, "_PyObject_Call*"},
	{CPYTHON, "_PyObject_FastCall*"},
	{CPYTHON, "_PyObject_MakeTpCall*"},
	{CPYTHON, "_PyFunction_*"},
	{CPYTHON, "PyCFunction_Call*"},
	{CPYTHON, "cfunction_*"},
	{CPYTHON, "method_call*"},
	{CPYTHON, "object_vacall*"},
	{CPYTHON, "type_call*"},
	{CPYTHON, "slot_*"},
	{CPYTHON, "wrap_*"},
	{CPYTHON, "wrapper_call*"},
	{CPYTHON, "do_call_core*"},
	{CPYTHON, "call_function*"},
	{CPYTHON, "property_descr_get*"},
	{CPYTHON, "gen_send_ex*"},
	{CPYTHON, "gen_iternext*"},
	{CPYTHON, "PyIter_Next*"},
	{CPYTHON, "PyNumber_*"},
	{CPYTHON, "binary_*op*"},
	{CPYTHON, "PyObject_GetAttr*"},
	{CPYTHON, "PyObject_GetItem*"},
	{CPYTHON, "PyObject_SetItem*"},
	{CPYTHON, "builtin_exec*"},
	{CPYTHON, "builtin___import__*"},
	{CPYTHON, "builtin___build_class__*"},
	{CPYTHON, "*PyImport_*"},
	{CPYTHON, "import_*"},
	{CPYTHON, "_imp_*"},
	{CPYTHON, "marshal_loads*"},
	{CPYTHON, "read_object*"},
	{CPYTHON, "r_object*"},
	{CPYTHON, "*_impl"},
	{CPYTHON, "tp_new_wrapper*"},
	{CPYTHON, "type_new_*"},
	/* Garbage collection is known by gc_collect_main. */
	{CPYTHON, "gc_alloc*"},
	{CPYTHON, "_PyObject_GC_*"},
	{CPYTHON, "gc_collect_generations*"},
	{CPYTHON, "gc_collect_with_callback*"},
	{CPYTHON, "deduce_unreachable*"},
	{CPYTHON, "thread_run*"},
	{CPYTHON, "pythread_wrapper*"},
	/* PyTorch between Python, an operator and its kernel: at::_ops::…::call stays and names the operator. */
	{TORCH, "torch::autograd::THPVariable_*"},
	{TORCH, "torch::autograd::dispatch_*"},
	{TORCH, "torch::autograd::TypeError_to_NotImplemented_*"},
	{TORCH, "torch::autograd::VariableType::*"},
	{TORCH, "torch::ADInplaceOrView::*"},
	{TORCH, "torch::TraceType::*"},
	{TORCH, "at::_ops::*::redispatch*"},
	{TORCH, "at::(anonymous namespace)::wrapper_*"},
	{TORCH, "at::redispatch::*"},
	{TORCH, "at::functionalization::*"},
	{TORCH, "at::autocast::*"},
	{TORCH, "c10::Dispatcher::*"},
	{TORCH, "c10::KernelFunction::*"},
	{TORCH, "c10::BoxedKernel*"},
	{TORCH, "c10::impl::wrap_kernel_functor_*"},
	{TORCH, "c10::impl::make_boxed_from_unboxed_functor*"},
	{TORCH, "c10::impl::BoxedKernelWrapper*"},
	{TORCH, "c10::impl::call_functor_*"},
	/* Its autograd engine: a node's apply stays and names the operator. */
	{TORCH, "torch::autograd::Engine::*"},
	{TORCH, "torch::autograd::python::PythonEngine::*"},
	{TORCH, "THPEngine_*"},
	{TORCH, "torch::autograd::Node::operator()*"},
	{TORCH, "torch::autograd::*_apply_functional*"},
	{TORCH, "torch::autograd::CppNode_apply*"},
	/* Thread pools of TensorFlow, JAX and oneDNN. */
	{ANY, "tsl::*PThread*"},
	{ANY, "tsl::*::EigenEnvironment::*"},
	{ANY, "Eigen::ThreadPoolTempl*"},
	{ANY, "Eigen::NonBlockingThreadPoolTempl*"},
	{ANY, "dnnl_primitive_execute"},
	{ANY, "dnnl::primitive::execute"},
	{ANY, "dnnl::impl::primitive_execute"},
};

static const struct rule python_rules[] = {
	{"<frozen importlib*", ANY},
	{"<frozen runpy>", ANY},
	{"<frozen zipimport>", ANY},
	{"*/runpy.py", ANY},
	{"*/importlib/*.py", ANY},
	{"*/contextlib.py", ANY},
	{"*/threading.py", "Thread._bootstrap*"},
	{"*/threading.py", "Thread.run"},
	{"*/torch/nn/modules/module.py", "Module._wrapped_call_impl"},
	{"*/torch/nn/modules/module.py", "Module._call_impl"},
	{"*/torch/nn/modules/module.py", "Module._slow_forward"},
	{"*/torch/nn/modules/container.py", "Sequential.forward"},
	{"*/torch/utils/_contextlib.py", ANY},
	{"*/torch/_compile.py", ANY},
	{"*/torch/_ops.py", "Op*.__call__"},
	{"*/torch/_dynamo/eval_frame.py", ANY},
	{"*/torch/_tensor.py", "Tensor.backward"},
	{"*/torch/autograd/__init__.py", "backward"},
	{"*/torch/autograd/graph.py", "_engine_run_backward"},
	{"*/torch/optim/optimizer.py", "*.<locals>.*"},
	{"*/tensorflow/python/util/*.py", "*.<locals>.*"},
	{"*/tensorflow/python/autograph/*.py", ANY},
	{"*/tensorflow/python/profiler/trace.py", ANY},
	{"*/tensorflow/python/distribute/*.py", ANY},
	{"*/tensorflow/python/eager/polymorphic_function/*.py", ANY},
	{"*/keras/src/utils/traceback_utils.py", ANY},
	{"*/jax/_src/traceback_util.py", ANY},
	{"*/jax/_src/api_util.py", ANY},
	{"*/jax/_src/linear_util.py", ANY},
	{"*/jax/_src/pjit.py", ANY},
	{"*/jax/_src/util.py", ANY},
};

/* "/usr/lib/python3.11/json/decoder.py", and not "project/lib/python_tools/train.py". */
static bool is_standard(struct st_text path)
{
	static const char *const folders[] = {"/lib/python", "/lib64/python"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *at =
			memmem(path.bytes, path.size_bytes, folders[i], strlen(folders[i]));
		const char *end = path.bytes + path.size_bytes;

		at = at ? at + strlen(folders[i]) : end;
		if (at < end && *at >= '0' && *at <= '9')
			return true;
	}
	return false;
}

/* "<frozen importlib._bootstrap>" and "<string>" are in no file. */
bool st_path_is_library(struct st_text path)
{
	return !path.size_bytes || path.bytes[0] == '<' || st_text_holds(path, "/site-packages/") ||
	       st_text_holds(path, "/dist-packages/") || is_standard(path);
}

/* Which rules fit a place, as bits in the order of the table. */
struct fits {
	uint64_t bits[(sizeof(native_rules) / sizeof(native_rules[0]) + 63) / 64];
};

static void fit_place(const struct rule *rules, size_t count, struct st_text place,
		      struct fits *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < count; i++)
		if (st_pattern_match(rules[i].place, place))
			out->bits[i / 64] |= UINT64_C(1) << i % 64;
}

static bool is_glue(const struct rule *rules, size_t count, const struct fits *fits,
		    struct st_text name)
{
	for (size_t i = 0; i < count; i++)
		if (fits->bits[i / 64] >> i % 64 & 1 && st_pattern_match(rules[i].function, name))
			return true;
	return false;
}

static bool is_module_body(struct st_text name)
{
	static const char body[] = "<module>";

	return name.size_bytes == sizeof(body) - 1 &&
	       memcmp(name.bytes, body, name.size_bytes) == 0;
}

#define COUNT(rules) (sizeof(rules) / sizeof((rules)[0]))

static enum st_frame_class python_class(struct st_text path, struct st_text name,
					const struct fits *fits)
{
	if (is_glue(python_rules, COUNT(python_rules), fits, name))
		return ST_FRAME_GLUE;
	if (!st_path_is_library(path))
		return ST_FRAME_USER;
	return is_module_body(name) ? ST_FRAME_IMPORT : ST_FRAME_LIBRARY;
}

bool st_frame_classes(const struct st_named *named, uint8_t *classes)
{
	struct fits *modules = calloc((size_t)named->module_count + 1, sizeof(*modules));
	struct fits *sources = calloc((size_t)named->source_count + 1, sizeof(*sources));

	_Static_assert(COUNT(python_rules) <= COUNT(native_rules), "a set of bits holds either");
	for (uint32_t i = 0; modules && i < named->module_count; i++)
		fit_place(native_rules, COUNT(native_rules), named->modules[i].name, &modules[i]);
	for (uint32_t i = 0; sources && i < named->source_count; i++)
		fit_place(python_rules, COUNT(python_rules), named->sources[i], &sources[i]);
	for (uint32_t i = 0; modules && sources && i < named->function_count; i++) {
		const struct st_named_function *function = &named->functions[i];

		if (function->kind == ST_FUNCTION_PYTHON)
			classes[i] = python_class(named->sources[function->source], function->name,
						  &sources[function->source]);
		else if (is_glue(native_rules, COUNT(native_rules), &modules[function->module],
				 function->name))
			classes[i] = ST_FRAME_GLUE;
		else
			classes[i] = ST_FRAME_LIBRARY;
	}
	free(modules);
	free(sources);
	return modules && sources;
}
