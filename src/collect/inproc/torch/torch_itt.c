/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators where PyTorch gives no way to register with it: its own ITT tasks, switched on by
 * torch.autograd.profiler.emit_itt(), which holds for the main thread and those it works with.
 *
 * It is entered between two instructions of Python's, after the first tensor was allocated: PyTorch is imported then, and
 * no operator is under way. A thread can have one profile at a time, so ours ends as soon as the program begins its own: the
 * function that every profile of PyTorch begins with is replaced by one that leaves ours first.
 */
#include <dlfcn.h>

#include "collect/inproc/torch/torch.h"
#include "collect/inproc/torch/torch_python.h"

enum { NOT_WANTED, WANTED, ASKED };
enum { PY_VARARGS_KEYWORDS = PY_VARARGS | PY_KEYWORDS };

static _Atomic uint32_t state;
static struct py_object *scope; /* emit_itt(), entered; with the GIL */

static const char enable_name[] = "_enable_profiler";

static struct py_object *profiler_module(void)
{
	struct py_object *modules = st_torch_python.PyImport_GetModuleDict();

	return modules ? st_torch_python.PyDict_GetItemString(modules, "torch.autograd.profiler")
		       : NULL;
}

/* Gives the thread's place for a profile back. */
static void leave(struct py_object *enable)
{
	struct py_object *none = st_torch_python._Py_NoneStruct, *module = profiler_module();
	struct py_object *ours = scope;

	if (!ours)
		return;
	scope = NULL;
	st_torch_drop(
		st_torch_python.PyObject_CallMethod(ours, "__exit__", "OOO", none, none, none));
	st_torch_drop(ours);
	if (module)
		st_torch_python.PyObject_SetAttrString(module, enable_name, enable);
	st_torch_python.PyErr_Clear();
	st_torch_itt_source("until the program started its own profile");
}

static struct py_object *enable_theirs(struct py_object *theirs, struct py_object *args,
				       struct py_object *keywords)
{
	struct py_object *made;

	st_torch_python.Py_IncRef(theirs);
	leave(theirs);
	made = st_torch_python.PyObject_Call(theirs, args, keywords);
	st_torch_drop(theirs);
	return made;
}

/* Python between two instructions, with the GIL. An exception would be the program's: none is left. */
static int enter(void *unused)
{
	static struct py_method method = {enable_name, (py_function)(void *)enable_theirs,
					  PY_VARARGS_KEYWORDS, NULL};
	struct py_object *(*new_function)(struct py_method *, struct py_object *,
					  struct py_object *) =
		(struct py_object * (*)(struct py_method *, struct py_object *, struct py_object *))
			dlsym(RTLD_DEFAULT, "PyCFunction_NewEx");
	struct py_object *module, *emit, *theirs, *ours, *made = NULL;

	(void)unused;
	module = new_function && st_torch_python_find() ? profiler_module() : NULL;
	if (!module || scope)
		return 0;
	emit = st_torch_python.PyObject_GetAttrString(module, "emit_itt");
	theirs = st_torch_python.PyObject_GetAttrString(module, enable_name);
	ours = theirs ? new_function(&method, theirs, NULL) : NULL;
	scope = emit && ours ? st_torch_python.PyObject_CallFunction(emit, NULL) : NULL;
	if (scope)
		made = st_torch_python.PyObject_CallMethod(scope, "__enter__", NULL);
	if (made && st_torch_python.PyObject_SetAttrString(module, enable_name, ours)) {
		leave(theirs);
	} else if (!made) {
		st_torch_drop(scope);
		scope = NULL;
		st_torch_itt_source("and the program's own profile, or none, came first");
	}
	st_torch_drop(made);
	st_torch_drop(ours);
	st_torch_drop(theirs);
	st_torch_drop(emit);
	st_torch_python.PyErr_Clear();
	return 0;
}

void st_torch_itt_want(void)
{
	atomic_store_explicit(&state, WANTED, memory_order_relaxed);
}

void st_torch_itt_allocated(void)
{
	uint32_t expected = WANTED;
	int (*later)(int (*)(void *), void *);

	if (atomic_load_explicit(&state, memory_order_relaxed) != WANTED ||
	    !atomic_compare_exchange_strong(&state, &expected, ASKED))
		return;
	later = (int (*)(int (*)(void *), void *))dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
	if (later)
		later(enter, NULL);
}
