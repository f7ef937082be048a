/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of nn.Module. A call of an object goes through the slot tp_call of its class. For every class that has a
 * __call__ in Python that is one and the same function of CPython, which finds the attribute and calls it. We put ours
 * before it, in the slots of nn.Module and of all its subclasses; the attribute __call__, at which torch.compile and
 * others look, stays what it is. New classes get CPython's function again, so nn.Module is given an __init_subclass__
 * that replaces it, and goes on to the one that would have been called. A __call__ that the program assigns to a class
 * resets the slots below it: they are looked at again when a class is made, when a module comes that is not known, and
 * at imports.
 *
 * The slot's place in a class is no part of CPython's stable interface. Its function can be asked for, and that answer
 * must be what is found there, before and after it was replaced; else nothing is done, and a notice says so.
 */
#include "collect/inproc/torch/torch_module.h"

#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/torch/torch_enlist.h"
#include "collect/inproc/torch/torch_module_names.h"
#include "collect/inproc/torch/torch_record.h"
#include "collect/inproc/torch/torch_turns.h"

enum { CLASS_DEPTH_MAX = 64, CLASS_VISITS_MAX = 1 << 16 };

/* Where tp_call is in a class: CPython 3.8 to 3.14 of 64 bits. */
static const uint32_t call_offsets[] = {128};

static enum { NOT_YET, INSTALLED, REFUSED } state;
static uint32_t call_offset;
static py_call their_call;
static struct py_object *module_class, *their_init, *subclasses;
static bool classes_made; /* since all of them were looked at */

/* The module whose call is innermost on this thread. Only compared with what the table knows: with stackful
 * coroutines it may be one that is gone. */
static __thread struct py_object *innermost __attribute__((tls_model("initial-exec")));

/* In place of tp_call; and the one of the clock, which records. */
static py_call call_module, call_recorded;

static py_call *slot_of(struct py_object *class)
{
	return (py_call *)((char *)class + call_offset);
}

static bool slot_is(struct py_object *class, py_call function)
{
	void *asked = st_torch_python.PyType_GetSlot(class, PY_SLOT_CALL);

	return asked == *(void **)&function && *slot_of(class) == function;
}

/* True: calls of this class' objects are recorded. */
static bool take_class(struct py_object *class)
{
	unsigned long flags = st_torch_python.PyType_GetFlags(class);

	if (!(flags & PY_TYPE_HEAP) || (flags & PY_TYPE_IMMUTABLE))
		return false;
	if (slot_is(class, call_module))
		return true;
	if (!slot_is(class, their_call))
		return false;
	__atomic_store_n(slot_of(class), call_module, __ATOMIC_RELAXED);
	if (slot_is(class, call_module))
		return true;
	__atomic_store_n(slot_of(class), their_call, __ATOMIC_RELAXED);
	return false;
}

bool st_torch_class_of(struct py_object *object)
{
	struct py_object *class = st_torch_python.PyObject_Type(object);
	bool is_module = class && st_torch_python.PyType_IsSubtype(class, module_class);

	if (is_module)
		take_class(class);
	st_torch_drop(class);
	return is_module;
}

static void take_classes(struct py_object *class, uint32_t depth, uint32_t *visits)
{
	struct py_object *list;
	ptrdiff_t count;

	if (depth == CLASS_DEPTH_MAX || ++*visits > CLASS_VISITS_MAX)
		return;
	take_class(class);
	list = st_torch_python.PyObject_CallFunction(subclasses, "O", class);
	count = list ? st_torch_python.PyList_Size(list) : 0;
	for (ptrdiff_t i = 0; i < count; i++)
		take_classes(st_torch_python.PyList_GetItem(list, i), depth + 1, visits);
	if (!list)
		st_torch_python.PyErr_Clear();
	st_torch_drop(list);
}

static void take_all(void)
{
	uint32_t visits = 0;

	take_classes(module_class, 0, &visits);
}

/* Of a module that is not in the table. A root that is not known may really be called by one whose class was given
 * its __call__ after it was made: torch.fx does so. */
static __attribute__((noinline)) struct st_torch_module *name_module(struct py_object *self)
{
	static struct st_torch_module nameless;
	struct st_torch_module *module;

	if (!innermost && classes_made) {
		classes_made = false;
		take_all();
	}
	module = st_torch_module_name(self, innermost);
	if (module)
		return module;
	if (!nameless.slice.name)
		st_torch_module_slice(&nameless.slice, "nn.Module", 9);
	return &nameless;
}

/* Whether the entry's module is the one that is called was asked right now. */
static void begin_slowly(const void *key, struct st_torch_module *module)
{
	struct st_torch_named *slice = &module->slice, now = *slice;

	st_operator_renew(&now);
	if (!st_operator_begin_module(key, &now, st_ticks())) {
		st_operator_begin_module_slowly(key, slice);
		now.stamp = slice->stamp;
	}
	slice->stamp = module->unsure ? now.stamp | ST_STAMP_NEVER : now.stamp;
}

/* What is unusual about a call is done by functions that come after the short way, so that it keeps nothing for them. */
static __attribute__((noinline)) struct py_object *
call_slowly(struct py_object *self, struct py_object *args, struct py_object *keywords)
{
	struct py_object *outer = innermost, *result;
	const void *key = __builtin_frame_address(0);
	bool records = !st_torch_paused();
	struct st_torch_module *module = records ? st_torch_module_find(self) : NULL;

	if (records && !module)
		module = name_module(self);
	innermost = self;
	/* The entry is not used after this. */
	if (records)
		begin_slowly(key, module);
	result = their_call(self, args, keywords);
	if (records)
		st_operator_end_of(key, ST_KEY_MODULE);
	innermost = outer;
	return result;
}

static __attribute__((noinline)) struct py_object *end_slowly(struct py_object *result,
							      uintptr_t marked)
{
	st_operator_end_slowly(marked);
	return result;
}

/* An address that no other open slice has. Asked for again when it is needed again: nothing is kept during the call. */
#define KEY_HERE()                                                                                 \
	({                                                                                         \
		uintptr_t here = (uintptr_t)__builtin_frame_address(0);                            \
		__asm__ volatile("" : "+r"(here));                                                 \
		here;                                                                              \
	})

static inline __attribute__((always_inline)) struct py_object *
call_timed(struct py_object *self, struct py_object *args, struct py_object *keywords,
	   enum st_clock clock)
{
	uint64_t now = st_ticks_of(clock); /* waits for what was read before it: first */
	const struct st_torch_module *module = st_torch_module_at(self);
	struct py_object *outer, *result;
	uintptr_t marked;

	if (ST_UNLIKELY(!module ||
			!st_operator_begin_module((void *)KEY_HERE(), &module->slice, now)))
		return call_slowly(self, args, keywords);
	outer = innermost;
	innermost = self;
	result = their_call(self, args, keywords);
	now = st_ticks_of(clock);
	innermost = outer;
	marked = KEY_HERE() | ST_KEY_MODULE;
	if (ST_UNLIKELY(!st_operator_end_module(marked, now)))
		return end_slowly(result, marked);
	return result;
}

static __attribute__((aligned(64))) struct py_object *
call_by_tsc(struct py_object *self, struct py_object *args, struct py_object *keywords)
{
	return call_timed(self, args, keywords, ST_CLOCK_TSC);
}

static struct py_object *call_by_mono_raw(struct py_object *self, struct py_object *args,
					  struct py_object *keywords)
{
	return call_timed(self, args, keywords, ST_CLOCK_MONO_RAW);
}

/* A step of a program is about one of these, and the many calls inside it cost a comparison. */
static struct py_object *call_outermost(struct py_object *self, struct py_object *args,
					struct py_object *keywords)
{
	if (innermost)
		return their_call(self, args, keywords);
	if (st_torch_turns.kind)
		st_torch_turn_module(self);
	return call_recorded(self, args, keywords);
}

/* The __init_subclass__ that would be called if there were none of ours. */
static struct py_object *next_init(struct py_object *class)
{
	struct py_object *super, *next;

	if (their_init)
		return st_torch_python.PyObject_CallMethod(their_init, "__get__", "OO",
							   st_torch_python._Py_NoneStruct, class);
	super = st_torch_python.PyObject_CallFunction(st_torch_python.PySuper_Type, "OO",
						      module_class, class);
	next = super ? st_torch_python.PyObject_GetAttrString(super, "__init_subclass__") : NULL;
	st_torch_drop(super);
	return next;
}

static struct py_object *init_subclass(struct py_object *class, struct py_object *args,
				       struct py_object *keywords)
{
	struct py_object *next = next_init(class), *result;

	result = next ? st_torch_python.PyObject_Call(next, args, keywords) : NULL;
	st_torch_drop(next);
	if (result && st_torch_config.modules) {
		take_class(class);
		classes_made = true;
		if (!slot_is(module_class, call_module))
			take_all();
	}
	return result;
}

static struct py_method init_method = {"__init_subclass__",
				       (py_function)(void (*)(void))init_subclass,
				       PY_VARARGS | PY_KEYWORDS | PY_CLASS_METHOD,
				       "This method is called when a class is subclassed."};

static bool is_class(struct py_object *object)
{
	struct py_object *type = st_torch_python.PyObject_Type(object);
	bool is = type && (st_torch_python.PyType_GetFlags(type) & PY_TYPE_IS_TYPE) &&
		  (st_torch_python.PyType_GetFlags(object) & PY_TYPE_HEAP);

	st_torch_drop(type);
	return is;
}

/* nn.Module, when its module has come to define it. */
static struct py_object *find_class(void)
{
	struct py_object *modules = st_torch_python.PyImport_GetModuleDict();
	struct py_object *module =
		modules ? st_torch_python.PyDict_GetItemString(modules, "torch.nn.modules.module")
			: NULL;
	struct py_object *class =
		module ? st_torch_python.PyObject_GetAttrString(module, "Module") : NULL;

	if (class && !is_class(class)) {
		st_torch_python.Py_DecRef(class);
		class = NULL;
	}
	if (!class)
		st_torch_python.PyErr_Clear();
	return class;
}

static bool find_slot(void)
{
	void *asked = st_torch_python.PyType_GetSlot(module_class, PY_SLOT_CALL);

	for (size_t i = 0; asked && i < sizeof(call_offsets) / sizeof(*call_offsets); i++) {
		call_offset = call_offsets[i];
		their_call = *slot_of(module_class);
		if (asked == *(void **)&their_call)
			return true;
	}
	return false;
}

/* Whether weak references are what we take them for; tried with one of the class. */
static bool try_reference(void)
{
	struct py_object *reference = st_torch_python.PyWeakref_NewRef(module_class, NULL);
	bool right = reference && st_torch_referent(reference) == module_class;

	st_torch_drop(reference);
	return right;
}

static bool set_init(void)
{
	struct py_object *names, *init;
	bool done;

	names = st_torch_python.PyObject_GetAttrString(module_class, "__dict__");
	their_init =
		names ? st_torch_python.PyObject_CallMethod(names, "get", "s", "__init_subclass__")
		      : NULL;
	st_torch_drop(names);
	if (!their_init)
		return false;
	if (their_init == st_torch_python._Py_NoneStruct)
		their_init = NULL;
	init = st_torch_python.PyDescr_NewClassMethod(module_class, &init_method);
	done = init &&
	       !st_torch_python.PyObject_SetAttrString(module_class, "__init_subclass__", init);
	st_torch_drop(init);
	return done;
}

static bool install(void)
{
	struct st_python_runtime runtime;

	call_recorded = st_config.clock == ST_CLOCK_TSC ? call_by_tsc : call_by_mono_raw;
	call_module = st_torch_config.outermost_modules ? call_outermost : call_recorded;
	/* Objects of the free-threaded build have another head, and no lock keeps our table. */
	if (!st_python_runtime_find(&runtime) || runtime.free_threaded)
		return false;
	st_torch_module_deaths_silent = runtime.version >= 0x030e0000;
	subclasses = st_torch_python.PyObject_GetAttrString(st_torch_python.PyType_Type,
							    "__subclasses__");
	if (!subclasses || !find_slot() || !try_reference() || !take_class(module_class))
		return false;
	if (!set_init()) {
		__atomic_store_n(slot_of(module_class), their_call, __ATOMIC_RELAXED);
		return false;
	}
	take_all();
	return true;
}

static void release_classes(struct py_object *class, uint32_t depth, uint32_t *visits)
{
	struct py_object *list;
	ptrdiff_t count;

	if (depth == CLASS_DEPTH_MAX || ++*visits > CLASS_VISITS_MAX)
		return;
	if (slot_is(class, call_module))
		__atomic_store_n(slot_of(class), their_call, __ATOMIC_RELAXED);
	list = st_torch_python.PyObject_CallFunction(subclasses, "O", class);
	count = list ? st_torch_python.PyList_Size(list) : 0;
	for (ptrdiff_t i = 0; i < count; i++)
		release_classes(st_torch_python.PyList_GetItem(list, i), depth + 1, visits);
	if (!list)
		st_torch_python.PyErr_Clear();
	st_torch_drop(list);
}

/* What is not recorded does not cost anything either. The __init_subclass__ stays, it is called seldom. */
void st_torch_module_release(void)
{
	uint32_t visits = 0;

	if (state == INSTALLED)
		release_classes(module_class, 0, &visits);
}

void st_torch_module_look(void)
{
	static bool looked_up;

	if (state == INSTALLED && !slot_is(module_class, call_module))
		take_all();
	if (state != NOT_YET)
		return;
	looked_up = looked_up || st_torch_python_find();
	module_class = looked_up ? find_class() : NULL;
	if (looked_up && !module_class)
		return;
	state = REFUSED; /* for whoever comes by while Python code runs */
	if (looked_up && install())
		state = INSTALLED;
	if (looked_up)
		st_torch_python.PyErr_Clear();
	if (state == REFUSED)
		st_notice(ST_NOTICE_NO_MODULES);
}
