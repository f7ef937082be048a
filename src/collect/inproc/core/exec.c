/* SPDX-License-Identifier: Apache-2.0
 *
 * The exec family and posix_spawn, as the program calls them. Each looks at the program to be started
 * and calls the real function, with the caller's environment or with a copy that lacks our LD_PRELOAD
 * entry. Nothing else of the environment is touched; errno is the real function's.
 */
#include "collect/inproc/core/exec.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rt/elf_first.h"
#include "base/rt/syscall.h"
#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/state.h"

static const char *const libraries[] = {"libstrata_collector.so", "libstrata_waits.so"};
#define PRELOAD "LD_PRELOAD="
#define LIBRARY_VARIABLE "INTEL_LIBITTNOTIFY64="
#define ST_EXPORT __attribute__((visibility("default")))

enum { FEW_ENTRIES = 160, VALUE_BYTES = 1024, ARGUMENTS_MAX = 128, FOLDER_BYTES = 512 };

extern char **environ;

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[], char *const[]);
} real;

/* The one place where a symbol is looked up: dlsym is not for handlers or vforked children. */
void st_exec_init(void)
{
	st_exec_check_init();
	*(void **)&real.execve = dlsym(RTLD_NEXT, "execve");
	*(void **)&real.execvpe = dlsym(RTLD_NEXT, "execvpe");
	*(void **)&real.fexecve = dlsym(RTLD_NEXT, "fexecve");
	*(void **)&real.execveat = dlsym(RTLD_NEXT, "execveat");
	*(void **)&real.posix_spawn = dlsym(RTLD_NEXT, "posix_spawn");
	*(void **)&real.posix_spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
}

/* An environment of our own making. It is small enough for a thread with the smallest stack; what does
 * not fit is mapped, and lost to the parent if the caller is its vforked child. */
struct environment {
	char *few[FEW_ENTRIES];
	char few_bytes[VALUE_BYTES];
	char **entries;
	char *preload;
	size_t mapped_bytes; /* 0: nothing is mapped */
};

static bool entry_is_ours(const char *entry, size_t length, const char *own)
{
	if (own && strlen(own) == length && !memcmp(entry, own, length))
		return true;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		const size_t name = strlen(libraries[i]);

		if (length >= name && !memcmp(entry + length - name, libraries[i], name) &&
		    (length == name || entry[length - name - 1] == '/'))
			return true;
	}
	return false;
}

static size_t entry_length(const char *at)
{
	return strcspn(at, ": ");
}

static char *find(char *const env[], const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; env && env[i]; i++)
		if (!strncmp(env[i], name, length))
			return env[i];
	return NULL;
}

static bool names_us(const char *preload, const char *own)
{
	for (const char *at = preload; *at;) {
		size_t length = entry_length(at);

		if (entry_is_ours(at, length, own))
			return true;
		at += length + (at[length] != '\0');
	}
	return false;
}

/* Whether a library behind us insists on being the first (a script that appends it to LD_PRELOAD). */
static bool one_behind_wants_our_place(const char *preload, const char *own)
{
	bool behind = false;

	for (const char *at = preload; *at;) {
		size_t length = entry_length(at);

		if (entry_is_ours(at, length, own))
			behind = true;
		else if (behind && st_elf_name_is_first(at, length))
			return true;
		at += length + (at[length] != '\0');
	}
	return false;
}

/* The user's own entries, in their order; never longer than what was there. */
static void without_us(char *to, const char *preload, const char *own)
{
	size_t used = sizeof(PRELOAD) - 1;

	memcpy(to, PRELOAD, used);
	for (const char *at = preload; *at;) {
		size_t length = entry_length(at);

		if (length && !entry_is_ours(at, length, own)) {
			if (used > sizeof(PRELOAD) - 1)
				to[used++] = ':';
			memcpy(to + used, at, length);
			used += length;
		}
		at += length + (at[length] != '\0');
	}
	to[used] = '\0';
}

/* The path a loader would have to open; NULL when this environment does not preload us. */
static const char *our_preload(char *const env[], const char **own)
{
	const char *preload = find(env, PRELOAD), *variable = find(env, LIBRARY_VARIABLE);

	*own = variable ? variable + sizeof(LIBRARY_VARIABLE) - 1 : NULL;
	if (!preload || !names_us(preload + sizeof(PRELOAD) - 1, *own))
		return NULL;
	return preload + sizeof(PRELOAD) - 1;
}

/* After a chroot, or behind a mount, the same path may name nothing. Opened, not asked for: that is what
 * its loader will do, so no sandbox that lets it start objects. */
static bool path_is_gone(const char *path)
{
	long fd;

	if (!path || *path != '/')
		return false;
	fd = st_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		st_syscall(SYS_close, fd);
	/* No descriptor left is no reason: the loader will have one more. */
	return fd < 0 && fd != -EMFILE && fd != -ENFILE;
}

/* Room for `entries` pointers and a value of `value_bytes`. */
static bool make_room(struct environment *copy, size_t entries, size_t value_bytes)
{
	size_t bytes = entries * sizeof(char *) + value_bytes;
	long at;

	copy->mapped_bytes = 0;
	copy->entries = copy->few;
	copy->preload = copy->few_bytes;
	if (entries <= FEW_ENTRIES && value_bytes <= VALUE_BYTES)
		return true;
	at = st_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (st_syscall_failed(at))
		return false;
	copy->mapped_bytes = bytes;
	copy->entries = (char **)at;
	copy->preload = (char *)(copy->entries + entries);
	return true;
}

/* Copies env without our entry; env itself when that cannot be done. */
static char *const *strip(struct environment *copy, char *const env[])
{
	const char *own, *preload = our_preload(env, &own);
	size_t count = 0, all = 0;

	copy->mapped_bytes = 0;
	while (preload && env[all])
		all++;
	if (!preload || !make_room(copy, all + 1, sizeof(PRELOAD) + strlen(preload)))
		return env;
	without_us(copy->preload, preload, own);
	for (size_t i = 0; i < all; i++) {
		if (strncmp(env[i], PRELOAD, sizeof(PRELOAD) - 1))
			copy->entries[count++] = env[i];
		else if (copy->preload[sizeof(PRELOAD) - 1])
			copy->entries[count++] = copy->preload;
	}
	copy->entries[count] = NULL;
	return copy->entries;
}

/* After a call that came back. */
static void give_back(const struct environment *copy)
{
	if (copy->mapped_bytes)
		st_syscall(SYS_munmap, copy->entries, copy->mapped_bytes);
}

/* The name in LD_PRELOAD holds a word for the loader to replace: what comes before it has to be there. Else it is the name
 * of the library. */
static bool library_is_gone(const char *preload, const char *own)
{
	char path[FOLDER_BYTES];

	for (const char *at = preload; *at;) {
		size_t length = entry_length(at);
		size_t word = strcspn(at, "$");

		if (word < length && entry_is_ours(at, length, own) && word < FOLDER_BYTES) {
			memcpy(path, at, word);
			path[word] = '\0';
			return path_is_gone(path);
		}
		at += length + (at[length] != '\0');
	}
	return path_is_gone(own);
}

static bool must_look(char *const env[], bool *gone)
{
	const char *own, *preload;

	*gone = false;
	if (!st_config.active)
		return false;
	preload = our_preload(env, &own);
	if (!preload)
		return false;
	*gone = one_behind_wants_our_place(preload, own) || library_is_gone(preload, own);
	return true;
}

/* libc's headers promise the compiler that paths are not NULL; callers promise nothing, and the kernel
 * answers EFAULT. */
static const char *as_given(const char *path)
{
	const char *volatile copy = path;

	return copy;
}

/* Whether anybody wants to know that the call came back. */
static bool before_exec(void)
{
	bool told = false;

	for (const struct st_inproc_backend *const *each = st_inproc_backends; *each; each++)
		told |= (*each)->before_exec && (*each)->before_exec();
	return told;
}

enum how { BY_PATH, BY_SEARCH };

static bool to_strip(const char *file, char *const env[], enum how how)
{
	bool gone;

	if (!as_given(file) || !must_look(env, &gone))
		return false;
	if (gone)
		return true;
	return how == BY_PATH ? st_exec_refuses(AT_FDCWD, file) : st_exec_search_refuses(file);
}

/* The copy needs stack: only where it is really made. */
static __attribute__((noinline)) int exec_stripped(const char *file, char *const argv[],
						   char *const env[], enum how how)
{
	struct environment copy;
	int result;

	result = (how == BY_PATH ? real.execve : real.execvpe)(file, argv, strip(&copy, env));
	give_back(&copy);
	return result;
}

static int exec_by(const char *file, char *const argv[], char *const env[], enum how how)
{
	int (*call)(const char *, char *const[], char *const[]) =
		how == BY_PATH ? real.execve : real.execvpe;
	bool told;
	int result;

	if (!call) {
		errno = ENOSYS;
		return -1;
	}
	told = before_exec();
	if (to_strip(file, env, how))
		result = exec_stripped(file, argv, env, how);
	else
		result = call(file, argv, env);
	if (told)
		ST_BACKENDS_CALL(exec_failed);
	return result;
}

ST_EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	return exec_by(path, argv, env, BY_PATH);
}

ST_EXPORT int execv(const char *path, char *const argv[])
{
	return exec_by(path, argv, environ, BY_PATH);
}

ST_EXPORT int execvp(const char *file, char *const argv[])
{
	return exec_by(file, argv, environ, BY_SEARCH);
}

ST_EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	return exec_by(file, argv, env, BY_SEARCH);
}

/* The l-forms: the arguments become an array, which is mapped when it is too long for the stack. */
static int exec_list(const char *file, const char *first, va_list *list, enum how how,
		     bool with_env)
{
	char *few[ARGUMENTS_MAX], **argv = few, *const *env = environ;
	size_t count = 1, i = 0, size_bytes;
	va_list ahead;
	long mapped;
	int result;

	va_copy(ahead, *list);
	for (const char *arg = first; arg; count++)
		arg = va_arg(ahead, const char *);
	va_end(ahead);
	size_bytes = count * sizeof(*argv);
	if (count > ARGUMENTS_MAX) {
		mapped = st_syscall(SYS_mmap, 0, size_bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (st_syscall_failed(mapped)) {
			errno = ENOMEM;
			return -1;
		}
		argv = (char **)mapped;
	}
	for (const char *arg = first; arg; arg = va_arg(*list, const char *))
		argv[i++] = (char *)arg;
	argv[i] = NULL;
	if (with_env)
		env = va_arg(*list, char *const *);
	result = exec_by(file, argv, env, how);
	if (argv != few)
		st_syscall(SYS_munmap, argv, size_bytes);
	return result;
}

ST_EXPORT int execl(const char *path, const char *arg, ...)
{
	va_list list;
	int result;

	va_start(list, arg);
	result = exec_list(path, arg, &list, BY_PATH, false);
	va_end(list);
	return result;
}

ST_EXPORT int execle(const char *path, const char *arg, ...)
{
	va_list list;
	int result;

	va_start(list, arg);
	result = exec_list(path, arg, &list, BY_PATH, true);
	va_end(list);
	return result;
}

ST_EXPORT int execlp(const char *file, const char *arg, ...)
{
	va_list list;
	int result;

	va_start(list, arg);
	result = exec_list(file, arg, &list, BY_SEARCH, false);
	va_end(list);
	return result;
}

static __attribute__((noinline)) int fexec_stripped(int fd, char *const argv[], char *const env[])
{
	struct environment copy;
	int result = real.fexecve(fd, argv, strip(&copy, env));

	give_back(&copy);
	return result;
}

ST_EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	bool gone, told;
	int result;

	if (!real.fexecve) {
		errno = ENOSYS;
		return -1;
	}
	told = before_exec();
	if (must_look(env, &gone) && (gone || st_exec_fd_refuses(fd)))
		result = fexec_stripped(fd, argv, env);
	else
		result = real.fexecve(fd, argv, env);
	if (told)
		ST_BACKENDS_CALL(exec_failed);
	return result;
}

static __attribute__((noinline)) int
execat_stripped(int dirfd, const char *path, char *const argv[], char *const env[], int flags)
{
	struct environment copy;
	int result = real.execveat(dirfd, path, argv, strip(&copy, env), flags);

	give_back(&copy);
	return result;
}

static bool at_refuses(int dirfd, const char *path, int flags)
{
	if (!as_given(path) || (!*path && (flags & AT_EMPTY_PATH)))
		return st_exec_fd_refuses(dirfd);
	return st_exec_refuses(dirfd, path);
}

ST_EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const env[],
		       int flags)
{
	bool gone, told;
	int result;

	if (!real.execveat) {
		errno = ENOSYS;
		return -1;
	}
	told = before_exec();
	if (must_look(env, &gone) && (gone || at_refuses(dirfd, path, flags)))
		result = execat_stripped(dirfd, path, argv, env, flags);
	else
		result = real.execveat(dirfd, path, argv, env, flags);
	if (told)
		ST_BACKENDS_CALL(exec_failed);
	return result;
}

typedef int (*spawn_function)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			      const posix_spawnattr_t *, char *const[], char *const[]);

/* What both forms of posix_spawn are told, but the program and its environment. */
struct spawn_call {
	spawn_function function;
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
	char *const *argv;
};

static __attribute__((noinline)) int spawn_stripped(const struct spawn_call *call, const char *file,
						    char *const env[])
{
	struct environment copy;
	int result = call->function(call->pid, file, call->actions, call->attributes, call->argv,
				    strip(&copy, env));

	give_back(&copy);
	return result;
}

/* The actions may change the folder first, and then a relative path names a file that cannot be looked
 * at from here: to be safe it goes without our preload. */
static bool is_elsewhere(const char *file)
{
	long fd;

	if (!as_given(file) || *file == '/' || !strchr(file, '/'))
		return false;
	fd = st_syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		st_syscall(SYS_close, fd);
	return fd < 0;
}

static int spawn_by(const struct spawn_call *call, const char *file, char *const env[],
		    enum how how)
{
	if (!call->function)
		return ENOSYS;
	if (to_strip(file, env, how) || (call->actions && is_elsewhere(file)))
		return spawn_stripped(call, file, env);
	return call->function(call->pid, file, call->actions, call->attributes, call->argv, env);
}

ST_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const argv[],
			  char *const env[])
{
	const struct spawn_call call = {real.posix_spawn, pid, actions, attributes, argv};

	return spawn_by(&call, path, env, BY_PATH);
}

ST_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const argv[],
			   char *const env[])
{
	const struct spawn_call call = {real.posix_spawnp, pid, actions, attributes, argv};

	return spawn_by(&call, file, env, BY_SEARCH);
}
