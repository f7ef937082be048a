/* SPDX-License-Identifier: Apache-2.0
 *
 * What of CPython the counting of calls needs, by hand and looked up in the process: see python_abi.h.
 */
#ifndef ST_COLLECT_INPROC_PYTHON_PYTHON_CALLS_ABI_H
#define ST_COLLECT_INPROC_PYTHON_PYTHON_CALLS_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/python/python_abi.h"
#include "collect/inproc/python/python_runtime.h"

#pragma GCC visibility push(hidden)

typedef int (*py_profile)(struct py_object *object, struct py_object *frame, int what,
			  struct py_object *argument);
typedef struct py_object *(*py_fast)(struct py_object *self, struct py_object *const *args,
				     ptrdiff_t count);

/* What a profile function is told. */
enum { PY_CALL = 0, PY_RETURN = 3, PY_C_CALL = 4, PY_C_EXCEPTION = 5, PY_C_RETURN = 6 };
enum { PY_FAST = 0x80, PY_HEAP_TYPE = 1 << 9 };

/* Objects of builds with the interpreter's lock, 3.8 to 3.14. */
enum {
	PY_OBJECT_TYPE = 8,
	PY_TYPE_NAME = 24,	 /* of a class: const char * */
	PY_TYPE_BASE = 256,	 /* the class it is derived from first, or NULL */
	PY_FUNCTION_METHOD = 16, /* built-in function: its definition, what it is of, its module */
	PY_FUNCTION_SELF = 24,
	PY_FUNCTION_MODULE = 32,
	PY_DESCRIPTOR_METHOD = 40, /* method of a built-in class: its definition */
	PY_STATE_INTERPRETER = 16, /* of a thread's state */
	PY_FRAME_INNER = 24,	   /* 3.11: frame object → frame */
};

static inline void *st_py_field(const void *object, size_t offset)
{
	return *(void *const *)((const char *)object + offset);
}

/* Filled by the name of each member; those behind `optional` may be missing. */
struct st_calls_python {
	struct py_object *(*PyObject_GetAttrString)(struct py_object *, const char *);
	struct py_object *(*PyObject_Repr)(struct py_object *);
	struct py_object *(*PyObject_CallFunction)(struct py_object *, const char *, ...);
	struct py_object *(*PyObject_CallMethod)(struct py_object *, const char *, const char *,
						 ...);
	const char *(*PyUnicode_AsUTF8AndSize)(struct py_object *, ptrdiff_t *);
	int (*PyUnicode_CompareWithASCIIString)(struct py_object *, const char *);
	struct py_object *(*PyUnicode_FromString)(const char *);
	long (*PyLong_AsLong)(struct py_object *);
	struct py_object *(*PySys_GetObject)(const char *);
	struct py_object *(*PyEval_GetGlobals)(void);
	struct py_object *(*PyDict_GetItemString)(struct py_object *, const char *);
	struct py_object *(*PyCFunction_NewEx)(struct py_method *, struct py_object *,
					       struct py_object *);
	struct py_object *(*_PyType_Lookup)(struct py_object *, struct py_object *);
	unsigned long (*PyType_GetFlags)(struct py_object *);
	int (*PyType_IsSubtype)(struct py_object *, struct py_object *);
	const char *(*PyModule_GetName)(struct py_object *);
	void (*PyEval_SetProfile)(py_profile, struct py_object *);
	void *(*PyThreadState_Get)(void);
	void *(*PyThreadState_Swap)(void *);
	void *(*PyThreadState_Next)(void *);
	void *(*PyInterpreterState_ThreadHead)(void *);
	void (*PyErr_Clear)(void);
	void (*PyErr_Fetch)(struct py_object **, struct py_object **, struct py_object **);
	void (*PyErr_Restore)(struct py_object *, struct py_object *, struct py_object *);
	int (*PyCode_Addr2Line)(struct py_object *, int);
	struct py_object *(*PyImport_GetModuleDict)(void);
	void (*Py_IncRef)(struct py_object *);
	void (*Py_DecRef)(struct py_object *);
	struct py_object *PyCFunction_Type;
	struct py_object *PyMethodDescr_Type;
	struct py_object *PyUnicode_Type;
	struct py_object *PyModule_Type;
	struct py_object *PyCode_Type;
	struct py_object *_Py_NoneStruct;
};
extern struct st_calls_python st_calls_python;
extern struct st_python_runtime st_calls_runtime;

bool st_calls_python_find(void);

static inline bool st_py_is(const struct py_object *object, const struct py_object *type)
{
	return st_py_field(object, PY_OBJECT_TYPE) == type;
}

#pragma GCC visibility pop

#endif
