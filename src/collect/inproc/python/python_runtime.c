/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds CPython by its exported symbols, in the program itself or in libpython.
 */
#include "collect/inproc/python/python_runtime.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

/* Found, or not, by the loader: to ask dlsym for what is not there costs more than all else that a short process needs of
 * us, because it writes a message. */
extern int Py_IsInitialized(void) __attribute__((weak));

bool st_python_is_here(void)
{
	return Py_IsInitialized != NULL;
}

static void *symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* "3.12.1 (main, …": as PY_VERSION_HEX, the release level left out. */
static uint32_t parse_version(const char *text)
{
	uint32_t version = 0, part = 0;

	for (int shift = 24; shift >= 8; text++) {
		if (*text >= '0' && *text <= '9') {
			part = part * 10 + (uint32_t)(*text - '0');
			continue;
		}
		version |= (part & 255) << shift;
		part = 0;
		shift -= 8;
		if (*text != '.')
			break;
	}
	return version;
}

static void find_eval(struct st_python_runtime *out)
{
	void *start = symbol("_PyEval_EvalFrameDefault");
	const ElfW(Sym) *entry = NULL;
	Dl_info info;

	if (!start)
		return;
	out->eval_start = (uint64_t)(uintptr_t)start;
	if (dladdr1(start, &info, (void **)&entry, RTLD_DL_SYMENT) && entry &&
	    info.dli_saddr == start)
		out->eval_end = out->eval_start + entry->st_size;
}

bool st_python_runtime_find(struct st_python_runtime *out)
{
	const char *(*version)(void) = NULL;
	const struct st_python_layout *row;
	const uint64_t *offsets = symbol("_PyRuntime");
	const char *text;

	memset(out, 0, sizeof(*out));
	*(void **)&version = symbol("Py_GetVersion");
	text = version ? version() : NULL;
	if (!text)
		return false;
	out->present = true;
	out->version = parse_version(text);
	/* Objects of the free-threaded build have another head. */
	out->free_threaded = strstr(text, "free-threading") != NULL;
	*(void **)&out->this_thread_state = symbol("PyGILState_GetThisThreadState");
	*(void **)&out->running_state = symbol("_PyThreadState_UncheckedGet");
	out->holder_state = out->running_state;
	if (!out->holder_state)
		*(void **)&out->holder_state = symbol("PyThreadState_GetUnchecked");
	*(void **)&out->is_finalizing = symbol("Py_IsFinalizing");
	if (!out->is_finalizing)
		*(void **)&out->is_finalizing = symbol("_Py_IsFinalizing");
	out->code_type = (uint64_t)(uintptr_t)symbol("PyCode_Type");
	out->string_type = (uint64_t)(uintptr_t)symbol("PyUnicode_Type");
	out->bytes_type = (uint64_t)(uintptr_t)symbol("PyBytes_Type");
	find_eval(out);
	row = st_python_layout_of(out->version);
	if (!row)
		return true;
	out->layout = *row;
	if (offsets && row->minor >= 13)
		st_python_layout_refine(&out->layout, offsets, out->version, &out->free_threaded);
	if (row->state_thread == ST_PYTHON_ABSENT)
		out->running_state = NULL;
	out->known = !out->free_threaded && out->this_thread_state && out->code_type &&
		     out->string_type && out->bytes_type;
	return true;
}
