/* SPDX-License-Identifier: Apache-2.0
 *
 * What of CPython the recording of nn.Module needs, by hand and looked up in the process: see python_abi.h.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_PYTHON_H
#define ST_COLLECT_INPROC_TORCH_TORCH_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/inproc/python/python_abi.h"

#pragma GCC visibility push(hidden)

typedef struct py_object *(*py_call)(struct py_object *self, struct py_object *args,
				     struct py_object *keywords);

enum { PY_KEYWORDS = 2, PY_CLASS_METHOD = 16 };
enum { PY_SLOT_CALL = 50 };
enum {
	PY_TYPE_IMMUTABLE = 1 << 8,
	PY_TYPE_HEAP = 1 << 9,
	PY_TYPE_IS_LIST = 1 << 25,
	PY_TYPE_IS_DICT = 1 << 29,
};
#define PY_TYPE_IS_TYPE (1ul << 31)

/* Filled by the name of each member. */
struct st_torch_python {
	struct py_object *(*PyImport_GetModuleDict)(void);
	struct py_object *(*PyDict_GetItemString)(struct py_object *, const char *);
	struct py_object *(*PyDict_Items)(struct py_object *);
	ptrdiff_t (*PyList_Size)(struct py_object *);
	struct py_object *(*PyList_GetItem)(struct py_object *, ptrdiff_t);
	struct py_object *(*PyTuple_GetItem)(struct py_object *, ptrdiff_t);
	struct py_object *(*PyObject_GetAttrString)(struct py_object *, const char *);
	int (*PyObject_SetAttrString)(struct py_object *, const char *, struct py_object *);
	struct py_object *(*PyObject_GenericGetAttr)(struct py_object *, struct py_object *);
	struct py_object *(*PyObject_Type)(struct py_object *);
	struct py_object *(*PyObject_Call)(struct py_object *, struct py_object *,
					   struct py_object *);
	struct py_object *(*PyObject_CallFunction)(struct py_object *, const char *, ...);
	struct py_object *(*PyObject_CallMethod)(struct py_object *, const char *, const char *,
						 ...);
	void *(*PyType_GetSlot)(struct py_object *, int);
	unsigned long (*PyType_GetFlags)(struct py_object *);
	int (*PyType_IsSubtype)(struct py_object *, struct py_object *);
	struct py_object *(*PyDescr_NewClassMethod)(struct py_object *, void *);
	struct py_object *(*PyCFunction_NewEx)(struct py_method *, struct py_object *,
					       struct py_object *);
	struct py_object *(*PyWeakref_NewRef)(struct py_object *, struct py_object *);
	struct py_object *(*PyUnicode_InternFromString)(const char *);
	const char *(*PyUnicode_AsUTF8)(struct py_object *);
	void (*PyErr_Clear)(void);
	void (*Py_IncRef)(struct py_object *);
	void (*Py_DecRef)(struct py_object *);
	struct py_object *PyType_Type;
	struct py_object *PySuper_Type;
	struct py_object *_Py_NoneStruct;
};
extern struct st_torch_python st_torch_python;

/* False: this is no CPython we know. */
bool st_torch_python_find(void);

/* Drops a reference, if there is one. */
static inline void st_torch_drop(struct py_object *object)
{
	if (object)
		st_torch_python.Py_DecRef(object);
}

#pragma GCC visibility pop

#endif
