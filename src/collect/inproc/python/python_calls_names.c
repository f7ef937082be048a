/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of functions as cProfile has them: of a code object its file, first line and name; of a built-in function a
 * description in angle brackets. Asked for once for each function of the process.
 */
#include <dlfcn.h>
#include <string.h>

#include "collect/inproc/python/python_calls.h"
#include "collect/inproc/python/python_calls_abi.h"

struct st_calls_python st_calls_python;
struct st_python_runtime st_calls_runtime;

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct st_calls_python, name)                                      \
	}

static const struct {
	const char *name;
	size_t offset;
} members[] = {
	MEMBER(PyObject_GetAttrString),
	MEMBER(PyObject_Repr),
	MEMBER(PyObject_CallFunction),
	MEMBER(PyObject_CallMethod),
	MEMBER(PyUnicode_AsUTF8AndSize),
	MEMBER(PyUnicode_CompareWithASCIIString),
	MEMBER(PyUnicode_FromString),
	MEMBER(PyLong_AsLong),
	MEMBER(PySys_GetObject),
	MEMBER(PyEval_GetGlobals),
	MEMBER(PyDict_GetItemString),
	MEMBER(PyCFunction_NewEx),
	MEMBER(_PyType_Lookup),
	MEMBER(PyType_GetFlags),
	MEMBER(PyType_IsSubtype),
	MEMBER(PyModule_GetName),
	MEMBER(PyEval_SetProfile),
	MEMBER(PyThreadState_Get),
	MEMBER(PyThreadState_Swap),
	MEMBER(PyThreadState_Next),
	MEMBER(PyInterpreterState_ThreadHead),
	MEMBER(PyErr_Clear),
	MEMBER(PyErr_Fetch),
	MEMBER(PyErr_Restore),
	MEMBER(PyCode_Addr2Line),
	MEMBER(PyImport_GetModuleDict),
	MEMBER(Py_IncRef),
	MEMBER(Py_DecRef),
	MEMBER(PyCFunction_Type),
	MEMBER(PyMethodDescr_Type),
	MEMBER(PyUnicode_Type),
	MEMBER(PyModule_Type),
	MEMBER(PyCode_Type),
	MEMBER(_Py_NoneStruct),
};

_Static_assert(sizeof(members) / sizeof(*members) == sizeof(st_calls_python) / sizeof(void *),
	       "all of them");

bool st_calls_python_find(void)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		void *found = dlsym(RTLD_DEFAULT, members[i].name);

		if (!found)
			return false;
		memcpy((char *)&st_calls_python + members[i].offset, &found, sizeof(found));
	}
	return true;
}

/* Room for a text that is put together. */
struct text {
	char *at;
	uint32_t used, room;
};

static void add(struct text *text, const char *bytes, size_t size_bytes)
{
	if (size_bytes > text->room - text->used)
		size_bytes = text->room - text->used;
	memcpy(text->at + text->used, bytes, size_bytes);
	text->used += (uint32_t)size_bytes;
}

static void add_string(struct text *text, const char *string)
{
	add(text, string, strlen(string));
}

/* An attribute that is a text; borrowed from the object, which keeps it. */
static const char *attribute(struct py_object *object, const char *name, uint32_t *size_bytes)
{
	struct py_object *value = st_calls_python.PyObject_GetAttrString(object, name);
	ptrdiff_t size = 0;
	const char *text = value ? st_calls_python.PyUnicode_AsUTF8AndSize(value, &size) : NULL;

	if (value)
		st_calls_python.Py_DecRef(value);
	if (!text)
		st_calls_python.PyErr_Clear();
	*size_bytes = text ? (uint32_t)size : 1;
	return text ? text : "?";
}

uint32_t st_call_check(const void *object)
{
	const struct st_python_layout *layout = &st_calls_runtime.layout;
	/* File, name, qualified name: from 3.11 on the layout's is the last, what is shown the one before. */
	size_t short_name = layout->code_file + sizeof(void *);
	uint64_t hash;
	uint32_t line;

	if (!st_py_is(object, st_calls_python.PyCode_Type))
		return 0;
	memcpy(&line, (const char *)object + layout->code_first_line, sizeof(line));
	hash = (uint64_t)(uintptr_t)st_py_field(object, layout->code_name) +
	       7 * (uint64_t)(uintptr_t)st_py_field(object, short_name) +
	       3 * (uint64_t)(uintptr_t)st_py_field(object, layout->code_table) +
	       5 * (uint64_t)(uintptr_t)st_py_field(object, layout->code_file) + line;
	return (uint32_t)(hash * 0x9e3779b97f4a7c15ull >> 32) | 1;
}

static void describe_code(struct py_object *code, struct st_call_text *out)
{
	struct py_object *line = st_calls_python.PyObject_GetAttrString(code, "co_firstlineno");
	long number = line ? st_calls_python.PyLong_AsLong(line) : 0;

	if (line)
		st_calls_python.Py_DecRef(line);
	out->line = number > 0 ? (uint32_t)number : 0;
	out->file = attribute(code, "co_filename", &out->file_bytes);
	out->name = attribute(code, "co_name", &out->name_bytes);
	st_calls_python.PyErr_Clear();
}

/* What an object of a class that no Python code has made says of itself. */
static bool add_repr(struct text *text, struct py_object *object)
{
	struct py_object *type = st_py_field(object, PY_OBJECT_TYPE), *repr;
	const char *bytes;
	ptrdiff_t size;

	if (st_calls_python.PyType_GetFlags(type) & PY_HEAP_TYPE)
		return false;
	repr = st_calls_python.PyObject_Repr(object);
	bytes = repr ? st_calls_python.PyUnicode_AsUTF8AndSize(repr, &size) : NULL;
	if (bytes)
		add(text, bytes, (size_t)size);
	if (repr)
		st_calls_python.Py_DecRef(repr);
	st_calls_python.PyErr_Clear();
	return bytes != NULL;
}

static void add_module(struct text *text, struct py_object *module, bool is_method)
{
	const char *name = NULL;

	if (module && st_py_is(module, st_calls_python.PyUnicode_Type)) {
		ptrdiff_t size;

		name = st_calls_python.PyUnicode_AsUTF8AndSize(module, &size);
	} else if (module && !is_method && st_py_is(module, st_calls_python.PyModule_Type)) {
		name = st_calls_python.PyModule_GetName(module);
	}
	if (!name)
		st_calls_python.PyErr_Clear();
	if (!name || (!is_method && !strcmp(name, "builtins")))
		return;
	add_string(text, name);
	add_string(text, ".");
}

/* A method is described by the attribute of its class; a function by its module and name. */
static void describe_function(struct py_object *function, struct text *text)
{
	const struct py_method *method = st_py_field(function, PY_FUNCTION_METHOD);
	struct py_object *self = st_py_field(function, PY_FUNCTION_SELF);
	struct py_object *module = st_py_field(function, PY_FUNCTION_MODULE);
	struct py_object *name = self ? st_calls_python.PyUnicode_FromString(method->name) : NULL;
	struct py_object *found = NULL;

	if (name) {
		found = st_calls_python._PyType_Lookup(st_py_field(self, PY_OBJECT_TYPE), name);
		st_calls_python.Py_DecRef(name);
	}
	if (found && add_repr(text, found))
		return;
	st_calls_python.PyErr_Clear();
	add_string(text, self ? "<built-in method " : "<");
	add_module(text, module, self != NULL);
	add_string(text, method->name);
	add_string(text, ">");
}

static uint32_t flags_of(const char *name, const struct text *text)
{
	static const char enable[] = "<method 'enable' of '_lsprof.Profiler' objects>";
	static const char *const last[] = {"_exit", "abort",  "kill",
					   "execv", "execve", "raise_signal"};

	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++)
		if (!strcmp(name, last[i]))
			return ST_CALL_ENDS_PROCESS;
	if (!strcmp(name, "start_new_thread"))
		return ST_CALL_STARTS_THREAD;
	if (text->used == sizeof(enable) - 1 && !memcmp(text->at, enable, text->used))
		return ST_CALL_PROFILES;
	return 0;
}

void st_call_describe(void *object, struct st_call_text *out, char *scratch, uint32_t scratch_bytes)
{
	struct text text = {.at = scratch, .room = scratch_bytes};
	const struct py_method *method;

	if (st_py_is(object, st_calls_python.PyCode_Type)) {
		describe_code(object, out);
		return;
	}
	if (st_py_is(object, st_calls_python.PyMethodDescr_Type)) {
		method = st_py_field(object, PY_DESCRIPTOR_METHOD);
		add_repr(&text, object);
	} else {
		method = st_py_field(object, PY_FUNCTION_METHOD);
		describe_function(object, &text);
	}
	out->file = "~";
	out->file_bytes = 1;
	out->line = 0;
	out->name = scratch;
	out->name_bytes = text.used;
	out->flags = flags_of(method->name, &text);
}
