/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds PyTorch's library among the loaded ones, reads its version and resolves its exported functions.
 */
#include "collect/inproc/torch/torch_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "base/rt/syscall.h"

enum { PATH_BYTES = 4096, VERSION_BYTES = 64, ASKED_MAX = 256 };
#define FRAMEWORK "PyTorch"

/* Releases that the tests have seen: a wheel, and Debian's build, which tells no more of its version. */
static const char *const tested_versions[] = {" 2.13.", " 1.13"};

static char framework[VERSION_BYTES + sizeof(FRAMEWORK) + 1] = FRAMEWORK;

struct st_torch_functions st_torch_functions;

static const struct {
	const char *name;
	void *to;
} symbols[] = {
	{"_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &st_torch_functions.add_global},
	{"_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE",
	 &st_torch_functions.add_here},
	{"_ZN2at14removeCallbackEm", &st_torch_functions.remove},
	{"_ZN2at15disableCallbackEm", &st_torch_functions.disable},
	{"_ZN2at16reenableCallbackEm", &st_torch_functions.enable},
	{"_ZNK2at14RecordFunction4nameEv", &st_torch_functions.name},
	{"_ZNK2at14RecordFunction10num_inputsEv", &st_torch_functions.num_inputs},
	{"_ZN2at14RecordFunction15currentThreadIdEv", &st_torch_functions.current_thread},
	{"_ZN2at15sequence_number4peekEv", &st_torch_functions.peek_sequence},
	{"_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb",
	 &st_torch_functions.input_sizes},
	{"_ZN2at12hasCallbacksEv", &st_torch_functions.has_callbacks},
	{"_ZdlPv", &st_torch_functions.delete_memory},
	{"aoti_torch_empty_strided", &st_torch_functions.empty},
	{"aoti_torch_as_strided", &st_torch_functions.as_strided},
	{"aoti_torch_clone", &st_torch_functions.clone},
	{"aoti_torch_delete_tensor_object", &st_torch_functions.delete_tensor},
};

struct wanted {
	const char *prefix;
	char *path;
	uint32_t path_bytes;
	bool found;
};

static int match_library(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct wanted *wanted = closure;
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	size_t length;

	(void)size;
	if (!name || strncmp(name + 1, wanted->prefix, strlen(wanted->prefix)) != 0)
		return 0;
	length = strlen(info->dlpi_name);
	if (length >= wanted->path_bytes)
		return 0;
	memcpy(wanted->path, info->dlpi_name, length + 1);
	wanted->found = true;
	return 1;
}

void *st_torch_library(const char *prefix, char *path, uint32_t path_bytes)
{
	char own[PATH_BYTES];
	struct wanted wanted = {.prefix = prefix,
				.path = path ? path : own,
				.path_bytes = path ? path_bytes : (uint32_t)sizeof(own)};

	dl_iterate_phdr(match_library, &wanted);
	return wanted.found ? dlopen(wanted.path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

static void copy_version(const char *text, size_t length)
{
	/* Behind the name, whatever was there: a process may be entered again. */
	char *at = framework + sizeof(FRAMEWORK) - 1;

	if (!length || length >= VERSION_BYTES)
		return;
	*at++ = ' ';
	memcpy(at, text, length);
	at[length] = '\0';
}

/* Wheels have <torch>/version.py beside <torch>/lib; distributions put the version behind the library's name. */
static void read_version(char *path)
{
	static const char key[] = "__version__ = '";
	char text[1024], *name = strrchr(path, '/'), *folder, *at;
	const char *tail = name ? strstr(name, ".so.") : NULL;
	long fd, bytes;

	if (tail) {
		copy_version(tail + 4, strlen(tail + 4));
		return;
	}
	if (!name || st_passive())
		return;
	*name = '\0';
	folder = strrchr(path, '/');
	if (!folder || (size_t)(path + PATH_BYTES - folder) < sizeof("/version.py"))
		return;
	memcpy(folder, "/version.py", sizeof("/version.py"));
	fd = st_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (st_syscall_failed(fd))
		return;
	bytes = st_syscall(SYS_read, fd, text, sizeof(text) - 1);
	st_syscall(SYS_close, fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	at = strstr(text, key);
	if (at)
		copy_version(at + sizeof(key) - 1, strcspn(at + sizeof(key) - 1, "'\n"));
}

bool st_torch_library_find(void)
{
	char path[PATH_BYTES];
	void *library = st_torch_library("libtorch_cpu.so", path, sizeof(path));

	if (!library)
		return false;
	read_version(path);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		*(void **)symbols[i].to = dlsym(library, symbols[i].name);
	return true;
}

const char *st_torch_framework(void)
{
	return framework;
}

bool st_torch_is_tested(void)
{
	for (size_t i = 0; i < sizeof(tested_versions) / sizeof(*tested_versions); i++)
		if (strstr(framework, tested_versions[i]))
			return true;
	return false;
}

bool st_torch_can_ask(void)
{
	return st_torch_functions.num_inputs && st_torch_functions.current_thread &&
	       st_torch_functions.peek_sequence && st_torch_functions.input_sizes &&
	       st_torch_functions.delete_memory;
}

void st_torch_ask(struct st_torch_asked *asked, const void *record, bool flatten)
{
	ptrdiff_t listed;

	asked->list = st_torch_functions.input_sizes(record, flatten);
	listed = asked->list.end - asked->list.begin;
	asked->truth = (struct st_torch_truth){
		.thread = st_torch_functions.current_thread(),
		.inputs = st_torch_functions.num_inputs(record),
		.sequence_next = (int64_t)st_torch_functions.peek_sequence(),
		.dtype = -1,
		.listed = (uint32_t)(listed < ASKED_MAX ? listed : ASKED_MAX),
		.sizes = asked->list.begin,
	};
}

void st_torch_release(struct st_torch_asked *asked)
{
	for (struct st_torch_sizes *at = asked->list.begin; at < asked->list.end; at++)
		if (at->begin)
			st_torch_functions.delete_memory((void *)at->begin);
	if (asked->list.begin)
		st_torch_functions.delete_memory(asked->list.begin);
}
