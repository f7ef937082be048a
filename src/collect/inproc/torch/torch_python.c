/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up CPython's functions for torch_module.c.
 */
#include "collect/inproc/torch/torch_python.h"

#include <dlfcn.h>
#include <string.h>

struct st_torch_python st_torch_python;

#define MEMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct st_torch_python, name)                                      \
	}

static const struct {
	const char *name;
	size_t offset;
} members[] = {
	MEMBER(PyImport_GetModuleDict),
	MEMBER(PyDict_GetItemString),
	MEMBER(PyDict_Items),
	MEMBER(PyList_Size),
	MEMBER(PyList_GetItem),
	MEMBER(PyTuple_GetItem),
	MEMBER(PyObject_GetAttrString),
	MEMBER(PyObject_SetAttrString),
	MEMBER(PyObject_GenericGetAttr),
	MEMBER(PyObject_Type),
	MEMBER(PyObject_Call),
	MEMBER(PyObject_CallFunction),
	MEMBER(PyObject_CallMethod),
	MEMBER(PyType_GetSlot),
	MEMBER(PyType_GetFlags),
	MEMBER(PyType_IsSubtype),
	MEMBER(PyDescr_NewClassMethod),
	MEMBER(PyCFunction_NewEx),
	MEMBER(PyWeakref_NewRef),
	MEMBER(PyUnicode_InternFromString),
	MEMBER(PyUnicode_AsUTF8),
	MEMBER(PyErr_Clear),
	MEMBER(Py_IncRef),
	MEMBER(Py_DecRef),
	MEMBER(PyType_Type),
	MEMBER(PySuper_Type),
	MEMBER(_Py_NoneStruct),
};

_Static_assert(sizeof(members) / sizeof(*members) == sizeof(st_torch_python) / sizeof(void *),
	       "all of them");

bool st_torch_python_find(void)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		void *found = dlsym(RTLD_DEFAULT, members[i].name);

		if (!found)
			return false;
		memcpy((char *)&st_torch_python + members[i].offset, &found, sizeof(found));
	}
	return true;
}
