/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that records itself for a while: strata.profile() of the Python package loads this library into the running
 * process and calls the functions below, one at a time and with Python's lock, but for the first. Where a strata records
 * the process already, it goes on as before, with what is wanted besides; else the process starts a strata of its
 * own. Nothing stays behind while nothing is recorded: no callback, no changed pointer or slot, no thread.
 */
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/intern.h"
#include "collect/inproc/python/python_trace.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/torch/torch_module.h"
#include "collect/inproc/torch/torch_stack.h"

enum { STACK_BYTES = 64 << 10, SIGNALS_BYTES = 8, FAILED = 127 };

/* What strata_profile_state and strata_profile_switch answer. */
enum {
	RECORDED = 1, /* by a strata that is not this process' own */
	JOINED = 2,   /* by its own */
	OPERATORS = 4,
	MEMORY = 8,
	MODULES = 16,
	STOPPED = 32, /* for good: by -command stop, a limit, a detach */
	PAUSED = 64,
	STACKS = 128,
	CALLS = 256,
};

int strata_profile_spawn(const char *path, char *const *argv, char *const *envp, int fd);
int strata_profile_join(const char *sock, const char *abs, const char *token, const char *config);
unsigned int strata_profile_state(void);
unsigned int strata_profile_switch(const char *config);
int strata_profile_trace(const char *folders);

static bool calls_prepared; /* their hooks are there */

struct start {
	const char *path;
	char *const *argv, *const *envp;
	int fd;
	uint64_t mask; /* of signals, before all were blocked */
	void *stack;   /* of the one who becomes strata */
	int error;
};

/* The two children share our memory until they are gone from it; the thread that started them waits. */
static int become(void *arg)
{
	struct start *start = arg;

	st_syscall(SYS_fcntl, start->fd, 2 /* F_SETFD */, 0);
	st_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &start->mask, 0, SIGNALS_BYTES);
	start->error = (int)-st_syscall(SYS_execve, start->path, start->argv, start->envp);
	st_syscall(SYS_exit, FAILED);
	return FAILED;
}

/* Its end is told to nobody: its exit signal is none. Whoever executes a program gets SIGCHLD back, hence a child of
 * it, which is left to init. */
static int go_between(void *arg)
{
	struct start *start = arg;

	if (clone(become, (char *)start->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, start) < 0)
		start->error = 11; /* EAGAIN */
	st_syscall(SYS_exit, 0);
	return 0;
}

/* Starts a strata that is nobody's child here: 0, or an error number. fd stays open in it. */
__attribute__((visibility("default"))) int strata_profile_spawn(const char *path, char *const *argv,
								char *const *envp, int fd)
{
	struct start start = {.path = path, .argv = argv, .envp = envp, .fd = fd};
	const uint64_t all = ~0ull;
	long stacks, pid, done;

	stacks = st_syscall(SYS_mmap, 0, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (st_syscall_failed(stacks))
		return (int)-stacks;
	start.stack = (char *)stacks + STACK_BYTES;
	st_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &start.mask, SIGNALS_BYTES);
	pid = clone(go_between, (char *)stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, &start);
	if (pid < 0)
		start.error = 11;
	do
		done = pid < 0 ? 0 : st_syscall(SYS_wait4, pid, 0, __WCLONE, 0);
	while (done == -4 /* EINTR */);
	st_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &start.mask, 0, SIGNALS_BYTES);
	st_syscall(SYS_munmap, stacks, 2 * STACK_BYTES);
	return start.error;
}

static bool is_joined(void)
{
	return st_config.active && st_config.only_pid &&
	       (long)st_config.only_pid == st_syscall(SYS_getpid, 0);
}

/* Nobody reads what this process has mapped. Threads that still have a place in it find out in their next slow path, to
 * which the control word sends them; it stays mapped for them. */
static bool leave(void)
{
	struct st_shm_header *header = st_header();

	st_config.active = false;
	if (header)
		atomic_fetch_or_explicit(&header->control, ST_CONTROL_STOPPED,
					 memory_order_relaxed);
	if (!st_process_lock())
		return false;
	atomic_store_explicit(&st_process->segment_count, 0, memory_order_relaxed);
	memset(st_process->segment, 0, sizeof(st_process->segment));
	st_process->token = st_process->parent_token = st_shared.token = 0;
	atomic_store_explicit(&st_process->state, ST_PROCESS_SILENT, memory_order_relaxed);
	st_intern_undefine();
	ST_BACKENDS_CALL(forget);
	st_process_unlock();
	return true;
}

/* 0: this process now belongs to that strata, and is not recorded yet. */
__attribute__((visibility("default"))) int
strata_profile_join(const char *sock, const char *abs, const char *token, const char *config)
{
	const struct st_join join = {.sock = sock, .abs = abs, .token = token, .config = config};

	/* A forked child, or a process whose strata was killed: all begins anew. */
	if (st_config.active && st_config.only_pid && !leave())
		return 1;
	if (!st_state_join(&join))
		return 1;
	ST_BACKENDS_CALL(joined);
	return 0;
}

static unsigned int control_bits(void)
{
	const struct st_shm_header *header = st_process ? st_header() : NULL;
	uint32_t control =
		header ? atomic_load_explicit(&header->control, memory_order_relaxed) : 0;

	return (control & (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED) ? STOPPED : 0) |
	       (control & (ST_CONTROL_PAUSED_FAMILY | ST_CONTROL_PAUSED_SELF) ? PAUSED : 0);
}

__attribute__((visibility("default"))) unsigned int strata_profile_state(void)
{
	unsigned int state;

	if (!st_config.active)
		return 0;
	if (st_config.only_pid && !is_joined())
		return 0;
	state = is_joined() ? JOINED : RECORDED;
	if (st_torch_config.operators && st_torch_installed())
		state |= OPERATORS;
	if (st_torch_config.memory)
		state |= MEMORY;
	if (st_torch_config.modules)
		state |= MODULES;
	if (st_torch_config.stacks)
		state |= STACKS;
	if (calls_prepared)
		state |= CALLS;
	return state | control_bits();
}

/* The process says hello, so that strata knows it in every window. */
static bool say_hello(void)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return false;
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return true;
}

/* As __itt_pause and __itt_resume do, without a word of it in the result: what is not recorded lies in no window. */
static void set_recording(bool on)
{
	struct st_shm_header *header = st_header();

	if (on)
		atomic_store_explicit(&st_process->resume_ticks, st_ticks(), memory_order_relaxed);
	atomic_store_explicit(&st_shared.self_paused, on ? ST_SELF_RUNNING : ST_SELF_PAUSED_BY_CALL,
			      memory_order_relaxed);
	if (header && on)
		atomic_fetch_and_explicit(&header->control, ~(uint32_t)ST_CONTROL_PAUSED_SELF,
					  memory_order_relaxed);
	else if (header)
		atomic_fetch_or_explicit(&header->control, ST_CONTROL_PAUSED_SELF,
					 memory_order_relaxed);
}

static void read_config(struct st_torch_config *wanted, const char *text)
{
	struct st_torch_config kept = st_torch_config;

	st_torch_config = (struct st_torch_config){0};
	while (text && *text) {
		st_torch_configure(text);
		text = strchr(text, ';');
		text = text ? text + 1 : NULL;
	}
	*wanted = st_torch_config;
	st_torch_config = kept;
}

static void add_config(struct st_torch_config *to, const struct st_torch_config *from)
{
	if (from->operators > to->operators)
		to->operators = from->operators;
	to->memory = to->memory || from->memory;
	to->modules = to->modules || from->modules;
	to->stacks = to->stacks || from->stacks;
	to->calls = to->calls || from->calls;
	if (from->level > to->level)
		to->level = from->level;
}

/* Records from now on what `config` asks for ("operators=2;operator_memory=1"), NULL: nothing but what is recorded
 * without us. Answers what is recorded then. Needs Python's lock. */
__attribute__((visibility("default"))) unsigned int strata_profile_switch(const char *config)
{
	static struct st_torch_config base; /* what a strata of others asked for */
	static bool base_known;
	struct st_torch_config wanted = {0};
	bool joined = is_joined(), on = config != NULL, memory = true;

	if (!st_config.active)
		return 0;
	if (!base_known) {
		base_known = true;
		base = joined ? (struct st_torch_config){0} : st_torch_config;
	}
	if (on)
		read_config(&wanted, config);
	add_config(&wanted, &base);
	if (joined && on && (!say_hello() || (control_bits() & STOPPED)))
		return control_bits();
	if (!wanted.calls)
		st_python_calls_release();
	calls_prepared = wanted.calls && st_python_calls_prepare();
	st_operator_come_by();
	if (joined)
		set_recording(on);
	if (!base.memory)
		memory = st_torch_memory_enter(wanted.memory);
	wanted.memory = wanted.memory && memory;
	st_torch_switch(&wanted);
	if (wanted.stacks)
		st_torch_stack_look();
	if (wanted.modules)
		st_torch_module_look();
	else
		st_torch_module_release();
	return strata_profile_state();
}

/* Where the switch has prepared it: calls of Python functions are recorded from now on, on all threads there are. What is
 * recorded then shows files without `folders`, one a line. NULL: no more. Needs Python's lock. */
__attribute__((visibility("default"))) int strata_profile_trace(const char *folders)
{
	if (!folders)
		st_python_calls_untrace();
	else if (calls_prepared)
		return st_python_calls_trace(folders);
	return 0;
}
