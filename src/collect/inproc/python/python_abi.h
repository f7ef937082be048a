/* SPDX-License-Identifier: Apache-2.0
 *
 * What of CPython's stable interface the module `itt` needs, by hand: there is no Python where the
 * collector is built, and all of it is looked up in the process.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_ABI_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_ABI_H

#include <stdbool.h>
#include <stddef.h>

struct py_object;

typedef struct py_object *(*py_function)(struct py_object *self, struct py_object *args);

struct py_method {
	const char *name;
	py_function function;
	int flags;
	const char *doc;
};

enum { PY_VARARGS = 1, PY_NOARGS = 4, PY_ONE_ARGUMENT = 8 };

/* A row of PyImport_Inittab: the modules that are part of the interpreter. */
struct py_builtin {
	const char *name;
	struct py_object *(*init)(void);
};

/* Filled by the name of each member. */
struct python_functions {
	struct py_object *(*PyTuple_GetItem)(struct py_object *, ptrdiff_t);
	int (*PyObject_IsInstance)(struct py_object *, struct py_object *);
	int (*PyUnicode_CompareWithASCIIString)(struct py_object *, const char *);
	ptrdiff_t (*PyList_Size)(struct py_object *);
	struct py_object *(*PyList_GetItem)(struct py_object *, ptrdiff_t);
	int (*PyList_Append)(struct py_object *, struct py_object *);
	struct py_object *(*PySys_GetObject)(const char *);
	struct py_object *(*PyObject_GetAttrString)(struct py_object *, const char *);
	int (*PyObject_SetAttrString)(struct py_object *, const char *, struct py_object *);
	struct py_object *(*PyObject_CallFunction)(struct py_object *, const char *, ...);
	long (*PyLong_AsLong)(struct py_object *);
	struct py_object *(*PyImport_ImportModule)(const char *);
	struct py_object *(*PyCFunction_NewEx)(struct py_method *, struct py_object *,
					       struct py_object *);
	py_function (*PyCFunction_GetFunction)(struct py_object *);
	struct py_object *(*PyCFunction_GetSelf)(struct py_object *);
	int (*PyCFunction_GetFlags)(struct py_object *);
	const char *(*PyUnicode_AsUTF8)(struct py_object *);
	struct py_object *(*PyModule_New)(const char *);
	int (*PyModule_AddFunctions)(struct py_object *, struct py_method *);
	int (*PyArg_ParseTuple)(struct py_object *, const char *, ...);
	struct py_object *(*Py_BuildValue)(const char *, ...);
	struct py_object *(*PyCapsule_New)(void *, const char *, void *);
	void *(*PyCapsule_GetPointer)(struct py_object *, const char *);
	struct py_object *(*PyEval_GetFrame)(void);
	void (*PyErr_Clear)(void);
	void (*Py_DecRef)(struct py_object *);
	struct py_object *PyUnicode_Type;
};

#endif
