// SPDX-License-Identifier: Apache-2.0
#include "live/take.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "base/rt/clock.h"
#include "collect/host/outside_maps.h"
#include "collect/host/outside_python.h"
#include "format/sample_record.h"
#include "unwind/rt/walk.h"

enum { FRAMES_MAX = 2048, STACK_MAX_BYTES = 256 << 10 };

/* How often one looks whether a thread stands: for 0.2 s, and for 2 s where it only lacks a CPU to stop on. */
enum { STOP_TRIES = 2000, STOP_TRIES_RUNNABLE = 20000 };

struct taking {
	struct st_live_process *process;
	struct st_outside_maps maps;
	struct st_outside_python *python;
	struct st_outside_options told;
	uint8_t stack[STACK_MAX_BYTES];
	uint64_t native[FRAMES_MAX], frames[FRAMES_MAX];
	struct st_merged_frame merged[2 * FRAMES_MAX];
};

struct registers {
	uint64_t pc, sp, fp, bx;
	bool complete; /* false: pc and sp only */
};

enum st_status st_live_refused(pid_t pid, int code, struct st_error *err)
{
	char scope = '0';
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");

	if (file) {
		if (fread(&scope, 1, 1, file) != 1)
			scope = '0';
		fclose(file);
	}
	if (code == ESRCH)
		return st_error_set(err, ST_ENOTFOUND, code, "process %d", (int)pid);
	return st_error_set(
		err, ST_EUNSUPPORTED, code,
		"cannot read process %d: this requires the rights of a debugger: the process must "
		"be yours%s, or use sudo (CAP_SYS_PTRACE; in a container: --cap-add SYS_PTRACE)",
		(int)pid,
		scope == '0' ? ""
			     : " and kernel.yama.ptrace_scope must be 0 (sysctl -w "
			       "kernel.yama.ptrace_scope=0)");
}

static void on_map(void *arg, const struct st_outside_map *map)
{
	st_live_names_map(((struct taking *)arg)->process->names, map);
}

static void on_code(void *arg, const struct st_outside_code *code)
{
	st_live_names_code(((struct taking *)arg)->process->names, code);
}

static bool read_code(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	return st_outside_read(((struct taking *)arg)->process->pid, address, out, size_bytes);
}

static bool read_file(pid_t pid, uint32_t tid, const char *name, char *out, size_t out_bytes)
{
	char path[80];
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/%s", (int)pid, tid, name);
	file = fopen(path, "re");
	if (file) {
		size = fread(out, 1, out_bytes - 1, file);
		fclose(file);
	}
	out[size] = '\0';
	return size > 0;
}

static char state_of(pid_t pid, uint32_t tid)
{
	char text[512], *end;

	if (!read_file(pid, tid, "stat", text, sizeof(text)))
		return '?';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : '?';
}

/* "number arguments sp pc" of a thread that is in a system call; false: it runs, or cannot be asked. */
static bool read_call(pid_t pid, uint32_t tid, int64_t *call, struct registers *out)
{
	char text[256], *pc, *sp;

	*call = -1;
	if (!read_file(pid, tid, "syscall", text, sizeof(text)) || text[0] == 'r')
		return false;
	*call = strtoll(text, NULL, 10);
	pc = strrchr(text, ' ');
	if (!pc)
		return false;
	*pc++ = '\0';
	sp = strrchr(text, ' ');
	*out = (struct registers){.pc = strtoull(pc, NULL, 16),
				  .sp = sp ? strtoull(sp + 1, NULL, 16) : 0};
	return out->pc != 0 && out->sp != 0;
}

/* System calls that end with EINTR when their thread is held, although nobody sent a signal (signal(7)). read and write do
 * so on sockets with a timeout. */
static bool ends_early(int64_t call)
{
	static const int calls[] = {
		SYS_epoll_wait, SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_semop,
		SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_pgetevents,
		SYS_accept,	SYS_accept4,	     SYS_connect,      SYS_recvfrom,
		SYS_recvmsg,	SYS_recvmmsg,	     SYS_sendto,       SYS_sendmsg,
		SYS_sendmmsg,	SYS_io_uring_enter,  SYS_msgrcv,       SYS_msgsnd,
		SYS_read,	SYS_readv,	     SYS_write,	       SYS_writev};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

/* Waits until the thread stands; false: it does not, or has ended. *signal_number: to be given back to it. *ran_ns: when
 * it was last seen running. */
static bool wait_stop(pid_t pid, uint32_t tid, int *signal_number, uint64_t *ran_ns)
{
	struct timespec pause = {.tv_nsec = 50000};
	int status;

	*signal_number = 0;
	for (int i = 0; i < STOP_TRIES_RUNNABLE; i++) {
		uint64_t looked_ns = st_clock_mono_raw_ns();
		pid_t got = waitpid((pid_t)tid, &status, __WALL | WNOHANG);

		if (got < 0 || (got == (pid_t)tid && !WIFSTOPPED(status)))
			return false;
		if (got == (pid_t)tid) {
			/* A signal that was on its way, rather than our hold. */
			if (status >> 16 == 0)
				*signal_number = WSTOPSIG(status);
			return true;
		}
		if (i >= STOP_TRIES && state_of(pid, tid) != 'R')
			return false;
		*ran_ns = looked_ns;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool read_registers(uint32_t tid, struct registers *out)
{
	struct user_regs_struct all;
	struct iovec where = {&all, sizeof(all)};

	if (ptrace(PTRACE_GETREGSET, (pid_t)tid, (void *)(uintptr_t)NT_PRSTATUS, &where) != 0)
		return false;
	*out = (struct registers){
		.pc = all.rip, .sp = all.rsp, .fp = all.rbp, .bx = all.rbx, .complete = true};
	return true;
}

static size_t copy_stack(struct taking *taking, uint64_t sp)
{
	struct iovec local = {taking->stack, STACK_MAX_BYTES};
	struct iovec remote = {(void *)(uintptr_t)sp, STACK_MAX_BYTES};
	ssize_t size = process_vm_readv(taking->process->pid, &local, 1, &remote, 1, 0);

	return size > 0 ? (size_t)size : 0;
}

struct copies {
	size_t stack_bytes;
	uint32_t python_count;
};

static void copy_all(struct taking *taking, struct st_live_thread *thread,
		     const struct registers *registers, struct copies *out)
{
	out->stack_bytes = registers->sp ? copy_stack(taking, registers->sp) : 0;
	if (!taking->python)
		return;
	out->python_count = st_outside_python_walk(taking->python, thread->tid, taking->frames,
						   FRAMES_MAX, &thread->flags);
	thread->holds_lock = st_outside_python_holder(taking->python) == thread->tid;
}

/* False: it cannot be held. */
static bool hold(struct taking *taking, struct st_live_thread *thread, struct registers *registers,
		 struct copies *out)
{
	uint64_t began;
	int signal_number;
	bool ok;

	if (ptrace(PTRACE_SEIZE, (pid_t)thread->tid, NULL, NULL) != 0) {
		taking->process->why_not_held =
			errno == EPERM ? "another tool traces the process" : strerror(errno);
		return false;
	}
	began = st_clock_mono_raw_ns();
	if (ptrace(PTRACE_INTERRUPT, (pid_t)thread->tid, NULL, NULL) != 0 ||
	    !wait_stop(taking->process->pid, thread->tid, &signal_number, &began))
		return false; /* it is let go when this thread of ours ends */
	ok = read_registers(thread->tid, registers);
	if (ok)
		copy_all(taking, thread, registers, out);
	ptrace(PTRACE_DETACH, (pid_t)thread->tid, NULL, (void *)(intptr_t)signal_number);
	thread->held_ns = st_clock_mono_raw_ns() - began;
	thread->held = ok;
	return ok;
}

static void read_unheld(struct taking *taking, struct st_live_thread *thread,
			struct registers *registers, struct copies *out)
{
	struct registers after = {0};
	int64_t call;
	bool in_call = read_call(taking->process->pid, thread->tid, &thread->call, registers);

	copy_all(taking, thread, registers, out);
	thread->moved = !in_call || !read_call(taking->process->pid, thread->tid, &call, &after) ||
			after.sp != registers->sp || after.pc != registers->pc;
}

static void walk(struct taking *taking, struct st_live_thread *thread,
		 const struct registers *registers, const struct copies *copies)
{
	struct st_walk walk = {.modules = {taking->maps.modules, taking->maps.count},
			       .pc = registers->pc,
			       .sp = registers->sp,
			       .fp = registers->fp,
			       .bx = registers->bx,
			       .stack = taking->stack,
			       .stack_low = registers->sp,
			       .stack_high = registers->sp + copies->stack_bytes,
			       .read_code = read_code,
			       .arg = taking,
			       .frames = taking->native,
			       .frames_max = FRAMES_MAX,
			       .recover = true};
	struct st_merge_input input = {.native = taking->native,
				       .python = taking->frames,
				       .python_count = copies->python_count};
	uint32_t flags;

	if (copies->stack_bytes) {
		st_walk_run(&walk);
		input.native_count = walk.frame_count;
		thread->flags |= walk.flags;
	}
	input.flags = thread->flags | (input.native_count ? 0 : ST_SAMPLE_TRUNCATED);
	if (taking->python)
		st_outside_python_eval(taking->python, input.eval);
	thread->frame_count = st_merge_frames(&input, taking->merged, &flags);
	thread->flags |= flags;
	thread->frames = malloc((thread->frame_count + 1) * sizeof(*thread->frames));
	if (thread->frames)
		memcpy(thread->frames, taking->merged,
		       thread->frame_count * sizeof(*thread->frames));
	else
		thread->frame_count = 0;
	st_live_names_want(taking->process->names, thread->frames, thread->frame_count);
}

static void take_thread(struct taking *taking, struct st_live_thread *thread)
{
	struct registers registers = {0};
	struct copies copies = {0};
	pid_t pid = taking->process->pid;

	thread->state = state_of(pid, thread->tid);
	read_call(pid, thread->tid, &thread->call, &registers);
	if (thread->state == 'D' || ends_early(thread->call) ||
	    !hold(taking, thread, &registers, &copies))
		read_unheld(taking, thread, &registers, &copies);
	walk(taking, thread, &registers, &copies);
}

static void name_thread(void *arg, uint32_t tid, const char *name, uint32_t name_bytes)
{
	struct st_live_process *process = arg;

	for (uint32_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].tid == tid)
			snprintf(process->threads[i].name, sizeof(process->threads[i].name), "%.*s",
				 (int)name_bytes, name);
}

bool st_live_comm(pid_t pid, uint32_t tid, char *out, size_t out_bytes)
{
	bool found = read_file(pid, tid, "comm", out, out_bytes);

	out[strcspn(out, "\n")] = '\0';
	return found;
}

static void name_by_kernel(struct st_live_process *process)
{
	char own[64], comm[64];

	if (!st_live_comm(process->pid, (uint32_t)process->pid, own, sizeof(own)))
		return;
	for (uint32_t i = 0; i < process->thread_count; i++) {
		struct st_live_thread *thread = &process->threads[i];

		if (thread->tid == (uint32_t)process->pid ||
		    !st_live_comm(process->pid, thread->tid, comm, sizeof(comm)) ||
		    strcmp(own, comm) == 0)
			continue;
		snprintf(thread->name, sizeof(thread->name), "%s", comm);
	}
}

static void name_by_pool(const struct st_live_process *process, struct st_live_thread *thread)
{
	const char *name =
		thread->name[0] || thread->tid == (uint32_t)process->pid
			? NULL
			: st_live_names_pool(process->names, thread->frames, thread->frame_count);

	if (name)
		snprintf(thread->name, sizeof(thread->name), "%s", name);
}

static int by_tid(const void *a, const void *b)
{
	const struct st_live_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool list_threads(struct st_live_process *process)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process->pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) != NULL) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (tid)
			(void)ST_VEC_PUSH(process->threads, process->thread_count,
					  process->thread_capacity,
					  (struct st_live_thread){.tid = tid, .call = -1});
	}
	if (folder)
		closedir(folder);
	if (process->thread_count)
		qsort(process->threads, process->thread_count, sizeof(*process->threads), by_tid);
	return process->thread_count > 0;
}

static bool prepare(struct taking *taking, struct st_error *err)
{
	struct st_live_process *process = taking->process;
	uint64_t eval[4];

	if (st_outside_maps_init(&taking->maps, process->pid, err))
		return false;
	taking->maps.each = on_map;
	taking->maps.arg = taking;
	if (!st_outside_maps_read(&taking->maps) || !taking->maps.count ||
	    !st_outside_read(process->pid, taking->maps.modules[0].start, eval, sizeof(eval))) {
		st_live_refused(process->pid, errno, err);
		return false;
	}
	taking->told =
		(struct st_outside_options){.pid = process->pid, .code = on_code, .arg = taking};
	taking->python =
		st_outside_python_create(process->pid, &taking->told, &process->python_version);
	if (taking->python) {
		process->has_python = true;
		st_outside_python_eval(taking->python, eval);
		st_live_names_python(process->names, process->python_version, eval[0]);
	}
	return list_threads(process);
}

/* While a thread is held nobody else shall have the processor before us, where that can be had. */
static void hurry(bool on)
{
	struct sched_param priority = {.sched_priority = on};

	(void)sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &priority);
}

static void *take_threads(void *arg)
{
	struct taking *taking = arg;
	struct st_live_process *process = taking->process;

	hurry(true);
	for (uint32_t i = 0; i < process->thread_count; i++)
		take_thread(taking, &process->threads[i]);
	hurry(false);
	return NULL;
}

static void take_all(struct taking *taking)
{
	struct st_live_process *process = taking->process;
	pthread_t thread;

	/* The end of that thread lets go of all that it held, also of those that had not stopped yet. */
	if (pthread_create(&thread, NULL, take_threads, taking) == 0)
		pthread_join(thread, NULL);
	else
		take_threads(taking);
	name_by_kernel(process);
	if (taking->python)
		st_outside_python_names(taking->python, name_thread, process);
	for (uint32_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].holds_lock)
			process->lock_holder = process->threads[i].tid;
	st_live_names_find(process->names);
	for (uint32_t i = 0; i < process->thread_count; i++)
		name_by_pool(process, &process->threads[i]);
}

enum st_status st_live_take(struct st_live_process **out, pid_t pid, bool lines,
			    struct st_error *err)
{
	struct st_live_process *process = calloc(1, sizeof(*process));
	struct taking *taking = calloc(1, sizeof(*taking));
	enum st_status status = ST_OK;

	*out = NULL;
	if (process)
		process->names = st_live_names_create(pid, lines);
	if (!process || !taking || !process->names) {
		free(taking);
		st_live_process_destroy(process);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	process->pid = pid;
	process->why_not_held = "";
	taking->process = process;
	if (prepare(taking, err))
		take_all(taking);
	else
		status = err->status ? err->status
				     : st_error_set(err, ST_ENOTFOUND, 0, "process %d", (int)pid);
	st_outside_python_destroy(taking->python);
	st_outside_maps_fini(&taking->maps);
	free(taking);
	if (status)
		st_live_process_destroy(process);
	else
		*out = process;
	return status;
}

void st_live_process_destroy(struct st_live_process *process)
{
	if (!process)
		return;
	for (uint32_t i = 0; i < process->thread_count; i++)
		free(process->threads[i].frames);
	free(process->threads);
	st_live_names_destroy(process->names);
	free(process);
}
