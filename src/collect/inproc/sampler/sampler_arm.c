/* SPDX-License-Identifier: Apache-2.0
 *
 * The trigger: opens the best one that this process is allowed, tells strata, and hands over its descriptor. In
 * the constructor, and in each forked child. A perf event is opened disabled and set going once the
 * signal is ours; a period is set once and never changed (the kernel would mix up old and new).
 */
#include "collect/inproc/sampler/sampler_state.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/rt/clock.h"
#include "base/rt/elf_text.h"
#include "base/rt/syscall.h"
#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/choose.h"
#include "collect/inproc/python/python_frames.h"
#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/sampler/sampler_birth.h"
#include "collect/inproc/sampler/sampler_modules.h"
#include "collect/inproc/sampler/sampler_stack.h"
#include "collect/inproc/sampler/sampler_trigger.h"

enum {
	NO_PMU_PERIOD_NS = 1000000, /* without hardware counters no faster than 1 kHz */
	CYCLES_PER_US = 3000,	    /* when nobody knows better */
	STATUS_BYTES = 4096,
	PATH_BYTES = 1024,
	CREATED_BEFORE_ANCHOR = 8,
	ANCHORS_MAX = 64,
	ANCHORED = UINT16_MAX,
	SIGTRAP_MAJOR = 5,
	SIGTRAP_MINOR = 18, /* before it, a blocked SIGTRAP of an event is fatal */
};

/* Why this program is not to be sampled: ST_ARM_* */
static uint32_t obstacles;
/* Threads that the calling one has created; ANCHORED: it has an anchor. */
static __thread uint16_t created __attribute__((tls_model("initial-exec")));

static long read_file(const char *path, char *out, size_t size_bytes)
{
	long fd = st_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), got;

	if (fd < 0)
		return fd;
	got = st_syscall(SYS_read, fd, out, size_bytes - 1);
	st_syscall(SYS_close, fd);
	if (got >= 0)
		out[got] = '\0';
	return got;
}

static bool kernel_is_recent(void)
{
	struct utsname name;
	unsigned int version[2] = {0, 0};
	const char *at = name.release;

	if (st_syscall(SYS_uname, &name))
		return false;
	for (int i = 0; i < 2; i++, at++)
		for (; *at >= '0' && *at <= '9'; at++)
			version[i] = version[i] * 10 + (unsigned int)(*at - '0');
	return version[0] > SIGTRAP_MAJOR ||
	       (version[0] == SIGTRAP_MAJOR && version[1] >= SIGTRAP_MINOR);
}

/* A debugger takes every SIGTRAP for its own. */
static bool is_traced(void)
{
	char text[STATUS_BYTES];
	const char *at;

	if (read_file("/proc/self/status", text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "TracerPid:");
	return at && at[strcspn(at, "123456789\n")] != '\n';
}

static uint64_t cycles_of(uint64_t period_ns)
{
	char text[32];
	uint64_t khz = 0;

	if (read_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof(text)) >
	    0)
		for (const char *at = text; *at >= '0' && *at <= '9'; at++)
			khz = khz * 10 + (uint64_t)(*at - '0');
	if (!khz)
		khz = CYCLES_PER_US * 1000;
	return period_ns * (khz / 1000) / 1000;
}

static long open_event(const struct st_shm_arm *arm, long tid, uint32_t rung)
{
	bool cycles = arm->trigger == ST_TRIGGER_CYCLES;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = cycles ? cycles_of(arm->period_ns) : arm->period_ns,
		.disabled = 1,
		.exclude_hv = 1,
		.exclude_kernel = rung != ST_RUNG_SIGTRAP,
	};

	attr.remove_on_exec = 1;
	if (rung != ST_RUNG_SETSIG) {
		attr.sigtrap = 1;
		attr.inherit = !st_sampler_settings.own;
		attr.inherit_thread = !st_sampler_settings.own;
		attr.sig_data = (uint64_t)(uintptr_t)&st_sampler_settings;
	}
	return st_above_standard(
		st_syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/* With cycles where there are counters, else by the clock. */
static long open_either(struct st_shm_arm *arm, long tid, uint32_t rung)
{
	long fd = open_event(arm, tid, rung);

	if (arm->trigger != ST_TRIGGER_CYCLES ||
	    (fd != -ENOENT && fd != -EOPNOTSUPP && fd != -ENODEV && fd != -EINVAL))
		return fd;
	arm->trigger = ST_TRIGGER_CPU_CLOCK;
	arm->flags |= ST_ARM_NO_CYCLES;
	if (arm->period_ns < NO_PMU_PERIOD_NS)
		arm->period_ns = NO_PMU_PERIOD_NS;
	return open_event(arm, tid, rung);
}

static void fill(struct st_shm_arm *arm)
{
	memset(arm, 0, sizeof(*arm));
	arm->magic = ST_SHM_ARM_MAGIC;
	arm->layout_hash = ST_SHM_LAYOUT_HASH;
	memcpy(arm->token, st_config.token, sizeof(arm->token));
	arm->pid = st_sampling->pid;
	arm->tid = (uint32_t)st_syscall(SYS_gettid, 0);
	arm->trigger = st_sampler_settings.cycles ? ST_TRIGGER_CYCLES : ST_TRIGGER_CPU_CLOCK;
	arm->period_ns = st_sampler_settings.period_ns;
	arm->ticks = st_ticks();
	arm->mono_raw_ns = st_clock_mono_raw_ns();
	arm->mark = (uint64_t)(uintptr_t)&st_sampler_settings;
	if (st_sampler_settings.own)
		arm->flags |= ST_ARM_OWN_EVENTS;
}

/* 0, or a negated errno. The event runs, and strata has it. */
static long hand_over(struct st_shm_arm *arm, long fd, int signal)
{
	long result = 0;

	if (fd < 0)
		return fd;
	if (!st_sampler_take_signal(signal)) {
		arm->flags |= ST_ARM_FOREIGN_HANDLER;
		result = -EBUSY;
	}
	/* Before the first signal can come. */
	if (!result) {
		atomic_store_explicit(&st_sampling->armed, arm->rung, memory_order_relaxed);
		result = st_syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	if (!result && !st_rendezvous_send(arm, sizeof(*arm), (int)fd))
		result = -ECONNREFUSED;
	st_syscall(SYS_close, fd);
	if (result)
		atomic_store_explicit(&st_sampling->armed, ST_RUNG_NONE, memory_order_relaxed);
	return result;
}

static long try_sigtrap(struct st_shm_arm *arm, long tid)
{
	if (arm->flags & (ST_ARM_FOREIGN_HANDLER | ST_ARM_TRACED))
		return -EBUSY;
	if (!kernel_is_recent())
		return -EOPNOTSUPP;
	return hand_over(arm, open_either(arm, tid, arm->rung), SIGTRAP);
}

static long try_setsig(struct st_shm_arm *arm)
{
	long fd = open_either(arm, 0, ST_RUNG_SETSIG), result;

	if (fd < 0)
		return fd;
	result = st_timer_set_signal(fd);
	if (result) {
		st_syscall(SYS_close, fd);
		return result;
	}
	return hand_over(arm, fd, SIGPROF);
}

static long try_timer(struct st_shm_arm *arm)
{
	long result;

	if (!st_sampler_take_signal(SIGPROF))
		return -EBUSY;
	arm->trigger = ST_TRIGGER_CPU_TIME;
	atomic_store_explicit(&st_sampling->armed, arm->rung, memory_order_relaxed);
	st_sampling->nominal_ns = arm->period_ns;
	result = arm->rung == ST_RUNG_THREAD_TIMER ? st_phase_begin(arm->rung, 0)
						   : st_timer_start_process(arm->period_ns);
	if (!result)
		st_rendezvous_send(arm, sizeof(*arm), -1);
	else
		atomic_store_explicit(&st_sampling->armed, ST_RUNG_NONE, memory_order_relaxed);
	return result;
}

static long try_rung(struct st_shm_arm *arm)
{
	switch (arm->rung) {
	case ST_RUNG_SIGTRAP:
	case ST_RUNG_SIGTRAP_USER:
		return try_sigtrap(arm, 0);
	case ST_RUNG_SETSIG:
		return try_setsig(arm);
	default:
		return try_timer(arm);
	}
}

/* Threads of the process, by the links of their folder. */
static uint32_t threads_alive(void)
{
	enum { LINKS_OF_NONE = 2 };
	struct stat about = {0};

	if (st_syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &about, 0) ||
	    about.st_nlink <= LINKS_OF_NONE)
		return 0;
	return (uint32_t)about.st_nlink - LINKS_OF_NONE;
}

/* Whether the threads that this one creates end: asked at the ninth, and whenever there are twice as many. Those of a pool live
 * on, and an anchor would make each of their switches dear. */
static bool creates_short_ones(void)
{
	uint32_t before = created;

	if (before + 1 < ANCHORED)
		created++;
	return before >= CREATED_BEFORE_ANCHOR && !(before & (before - 1)) && !st_passive() &&
	       threads_alive() <= created / 2;
}

/* When a thread gives way to one that has inherited its event, the kernel does not stop the one event and start the
 * other: it exchanges them. What the creator had left of its interval goes with a thread that ends at once, and the
 * creator begins a new one, again and again: it is never sampled. The kernel does so only if all events of the creator
 * are inherited; hence one that counts nothing and is not, once a thread has created a few others that are gone. */
void st_sampler_anchor(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	uint32_t rung = atomic_load_explicit(&st_sampling->armed, memory_order_relaxed);
	struct st_shm_arm arm;
	long fd;

	if ((rung != ST_RUNG_SIGTRAP && rung != ST_RUNG_SIGTRAP_USER) || !st_sampling->pid ||
	    st_sampler_settings.own)
		return;
	if (created == ANCHORED || !creates_short_ones() ||
	    atomic_fetch_add_explicit(&st_sampling->anchors, 1, memory_order_relaxed) >=
		    ANCHORS_MAX)
		return;
	created = ANCHORED;
	attr.remove_on_exec = 1;
	fd = st_above_standard(
		st_syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
	if (fd < 0)
		return;
	fill(&arm);
	arm.rung = rung;
	arm.flags = ST_ARM_ANCHOR;
	st_rendezvous_send(&arm, sizeof(arm), (int)fd);
	st_syscall(SYS_close, fd);
}

/* A new thread. On some rungs it has inherited a trigger. */
void st_sampler_arm_thread(void)
{
	struct st_shm_arm arm;
	uint32_t rung = atomic_load_explicit(&st_sampling->armed, memory_order_relaxed);

	if (st_passive() || !st_sampling->pid)
		return;
	st_phase_note_pause();
	if (rung != ST_RUNG_SETSIG) {
		st_phase_begin(rung, 0);
		return;
	}
	fill(&arm);
	arm.rung = rung;
	arm.period_ns = st_sampling->nominal_ns;
	try_setsig(&arm);
}

static void climb_down(struct st_shm_arm *arm)
{
	uint32_t rung = st_sampler_settings.rung;
	long result = -1;

	for (; rung <= ST_RUNG_PROCESS_TIMER; rung++) {
		arm->rung = rung;
		result = try_rung(arm);
		arm->errors[rung] = (int32_t)-result;
		if (!result)
			return;
	}
	arm->rung = ST_RUNG_NONE;
	st_rendezvous_send(arm, sizeof(*arm), -1);
}

static bool may_arm(void)
{
	return !st_sandboxed() && !atomic_load_explicit(&st_shared.detached, memory_order_relaxed);
}

static bool is_inherited(uint32_t rung)
{
	return rung == ST_RUNG_SIGTRAP || rung == ST_RUNG_SIGTRAP_USER;
}

/* Of threads made by a bare system call while the process waited to be armed, who inherited nothing. */
static void arm_other(const struct st_shm_arm *own, uint32_t tid)
{
	struct st_shm_arm arm = *own;
	long fd = open_event(&arm, tid, arm.rung);

	if (fd < 0)
		return;
	arm.tid = tid;
	arm.flags = ST_ARM_ANCHOR;
	if (!st_syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0))
		st_rendezvous_send(&arm, sizeof(arm), (int)fd);
	st_syscall(SYS_close, fd);
}

static void arm_others(const struct st_shm_arm *own)
{
	enum { ENTRIES_BYTES = 2048 };
	_Alignas(8) char entries[ENTRIES_BYTES];
	long fd, got;

	if (threads_alive() <= 1)
		return;
	fd = st_above_standard(st_syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
					  O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return;
	while ((got = st_syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
			uint32_t tid = (uint32_t)st_config_number(entry->d_name);

			if (tid && tid != own->tid)
				arm_other(own, tid);
			at += entry->d_reclen;
		}
	st_syscall(SYS_close, fd);
}

static void arm_with(uint64_t first_ns)
{
	struct st_shm_arm arm;

	fill(&arm);
	if (st_sampler_settings.rung < ST_RUNG_SETSIG && is_traced())
		arm.flags |= ST_ARM_TRACED;
	if (arm.tid != st_sampling->tid) {
		st_sampling->tid = arm.tid;
		st_sampling->arm_cpu_ns = st_sampler_cpu_ns();
	}
	if (obstacles) {
		arm.flags |= obstacles;
		st_rendezvous_send(&arm, sizeof(arm), -1);
		return;
	}
	climb_down(&arm);
	st_sampling->nominal_ns = arm.period_ns;
	if (!is_inherited(arm.rung))
		return;
	if (first_ns)
		arm_others(&arm);
	st_phase_begin(arm.rung, first_ns);
}

void st_sampler_arm_now(uint64_t first_ns)
{
	if (may_arm())
		arm_with(first_ns);
}

void st_sampler_arm(void)
{
	if (!st_sampling || st_sampling->pid || !may_arm())
		return;
	st_sampling->pid = (uint32_t)st_syscall(SYS_getpid, 0);
	st_sampling->tid = (uint32_t)st_syscall(SYS_gettid, 0);
	st_sampling->arm_cpu_ns = st_sampler_cpu_ns();
	st_sampling->nominal_ns = st_sampler_settings.period_ns;
	st_phase_forget();
	st_phase_note_pause();
	created = 0;
	if (obstacles || !st_birth_begin())
		arm_with(0);
}

/* Of a process that records: strata hears of its trigger now. */
static void arm_at_hello(void)
{
	st_sampler_arm();
	st_birth_end();
}

static void lock_up(void)
{
	st_birth_drop();
	st_sampler_drop_signal();
}

bool st_sampler_is_trigger(int signal, const siginfo_t *info)
{
	uint32_t rung = atomic_load_explicit(&st_sampling->armed, memory_order_relaxed);
	uint64_t data;

	if (info->si_code == SI_TIMER)
		return info->si_value.sival_ptr == &st_sampler_settings;
	if (signal == SIGTRAP) {
		if (info->si_code != ST_TRAP_PERF)
			return false;
		memcpy(&data, (const char *)info + ST_SIGINFO_PERF_DATA, sizeof(data));
		return data == (uint64_t)(uintptr_t)&st_sampler_settings;
	}
	switch (rung) {
	case ST_RUNG_SETSIG:
		return info->si_code == SI_SIGIO ||
		       (info->si_code >= POLL_IN && info->si_code <= POLL_HUP);
	case ST_RUNG_PROCESS_TIMER:
		return info->si_code == SI_KERNEL;
	default:
		return false;
	}
}

/* Its run time sets handlers by system calls, and ends the program at a signal it does not expect. */
static bool is_go(void)
{
	const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	uint64_t bias = 0;

	for (unsigned long i = 0; headers && i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			bias = (uint64_t)headers - headers[i].p_vaddr;
	for (unsigned long i = 0; headers && i < count; i++)
		if (headers[i].p_type == PT_NOTE &&
		    st_elf_notes_are_go((const char *)(headers[i].p_vaddr + bias),
					headers[i].p_memsz))
			return true;
	return false;
}

static uint32_t find_obstacles(void)
{
	return (is_go() ? ST_ARM_GO : 0) |
	       (!st_sampler_settings.late && !st_sampler_stands_between() ? ST_ARM_NOT_PRELOADED
									  : 0);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* By the executable's name, by that it was called by, and by the first argument that may be a script. */
static bool is_wanted(int argc, char **argv)
{
	char path[PATH_BYTES];
	const char *names[3];
	uint32_t count = 0;
	long length;

	if (!st_processes_chosen())
		return true;
	length = st_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	names[count++] = last_name(path);
	if (argc > 0 && argv && argv[0])
		names[count++] = last_name(argv[0]);
	for (int i = 1; i < argc && argv && argv[i] && count < 3; i++)
		if (argv[i][0] != '-')
			names[count++] = last_name(argv[i]);
	return st_process_wanted(names, count);
}

/* With or without a sampler: what is called in a handler, or between vfork and exec, must not look for symbols. */
static void probe(void)
{
	st_sampler_signal_init();
	st_timer_init();
}

static void start(const struct st_entered_program *program)
{
	/* The user's word, for debuggers that take every SIGTRAP. */
	const char *rung = getenv("STRATA_SAMPLE_RUNG");

	if (program->joined || !st_sampler_settings.period_ns ||
	    !is_wanted(program->argc, program->argv))
		return;
	if (rung && *rung >= '1' && *rung <= '5')
		st_sampler_settings.rung = (uint32_t)(*rung - '0');
	st_sampling = st_map_wiped(4096);
	if (!st_sampling)
		return;
	st_stack_init(program->argv);
	st_modules_init();
	if (st_python_is_here())
		st_python_frames_init();
	st_handler_memory_bytes = st_sampler_stride();
	obstacles = find_obstacles();
	st_sampler_arm();
}

const struct st_inproc_backend st_backend_sampler = {
	.name = "sampler",
	.configure = st_sampler_configure,
	.probe = probe,
	.start = start,
	.hello = arm_at_hello,
	.forked = st_sampler_arm,
	.thread_end = st_phase_end,
	.thread_retire = st_sampler_leave,
	.before_exec = st_sampler_before_exec,
	.exec_failed = st_sampler_exec_failed,
	.lock_up = lock_up,
};
