/* SPDX-License-Identifier: Apache-2.0
 *
 * The one process state of the collector: what the environment says, the page that a fork wipes, and
 * the lock in it. The constructor does nothing else, so that a process which records nothing costs
 * next to nothing.
 */
#include "collect/inproc/core/state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/choose.h"
#include "collect/inproc/core/exec.h"
#include "collect/inproc/core/stand_back.h"
#include "collect/inproc/core/thread.h"

enum { LOCK_SPINS = 64, LOCK_YIELDS = 128, LOCK_SLEEPS = 20, LOCK_SLEEP_NS = 500000 };
enum { ADDRESS_SHARE = 16, WIPED_BYTES = 320 << 10 };

struct st_config st_config;
struct st_shared st_shared;
struct st_inproc_process *st_process;
bool st_bound;
size_t st_handler_memory_bytes;
struct st_hot st_hot_busy;
struct st_hot st_hot_ignored;
__thread struct st_hot *st_tls __attribute__((tls_model("initial-exec")));

static void *map_wiped(size_t size_bytes)
{
	long at = st_syscall(SYS_mmap, 0, size_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (st_syscall_failed(at))
		return NULL;
	if (st_syscall(SYS_madvise, at, size_bytes, MADV_WIPEONFORK)) {
		st_syscall(SYS_munmap, at, size_bytes);
		return NULL;
	}
	st_syscall(SYS_madvise, at, size_bytes, MADV_DONTDUMP);
	return (void *)at;
}

/* The constructor's pieces are one mapping: each takes three system calls, in every process there is. */
static struct {
	uint8_t *at;
	size_t left_bytes;
} wiped;

/* Memory that a forked child finds zeroed. */
void *st_map_wiped(size_t size_bytes)
{
	uint8_t *piece = wiped.at;

	if (size_bytes > wiped.left_bytes)
		return map_wiped(size_bytes);
	wiped.at += size_bytes;
	wiped.left_bytes -= size_bytes;
	return piece;
}

/* After mlockall(MCL_FUTURE) the kernel fills a new mapping before mmap returns: 100 MiB that nobody asked
 * for. It cannot fill what cannot be accessed. */
void *st_map_lazily(size_t size_bytes, int flags, int fd)
{
	long at = st_syscall(SYS_mmap, 0, size_bytes, PROT_NONE, flags, fd, 0);

	if (st_syscall_failed(at))
		return NULL;
	st_syscall(SYS_munlock, at, size_bytes);
	if (!st_syscall(SYS_mprotect, at, size_bytes, PROT_READ | PROT_WRITE))
		return (void *)at;
	st_syscall(SYS_munmap, at, size_bytes);
	return NULL;
}

size_t st_address_share(void)
{
	static const int kinds[] = {RLIMIT_AS, RLIMIT_DATA};
	uint64_t share = RLIM_INFINITY;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct {
			uint64_t soft, hard;
		} limit = {0};

		if (!st_syscall(SYS_prlimit64, 0, kinds[i], 0, &limit) && limit.soft < share)
			share = limit.soft;
	}
	return share == RLIM_INFINITY ? SIZE_MAX : (size_t)(share / ADDRESS_SHARE) & ~4095ul;
}

uint64_t st_ticks_mono_raw(void)
{
	return st_clock_mono_raw_ns();
}

static bool try_lock(void)
{
	uint32_t expected = 0;

	/* Acquire pairs with the release in st_process_unlock. */
	return atomic_compare_exchange_strong_explicit(&st_process->lock, &expected, 1,
						       memory_order_acquire, memory_order_relaxed);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

bool st_process_lock(void)
{
	const struct {
		int64_t seconds, nanoseconds;
	} nap = {0, LOCK_SLEEP_NS};

	if (!st_process)
		return false;
	for (int i = 0; i < LOCK_SPINS; i++) {
		if (try_lock())
			goto locked;
		relax();
	}
	if (st_passive() || atomic_load_explicit(&st_process->lock_stuck, memory_order_relaxed))
		return false;
	for (int i = 0; i < LOCK_YIELDS + LOCK_SLEEPS; i++) {
		if (i < LOCK_YIELDS)
			st_syscall(SYS_sched_yield, 0);
		else
			st_syscall(SYS_nanosleep, &nap, 0);
		if (try_lock())
			goto locked;
	}
	atomic_store_explicit(&st_process->lock_stuck, 1, memory_order_relaxed);
	return false;
locked:
	if (ST_UNLIKELY(atomic_load_explicit(&st_process->lock_stuck, memory_order_relaxed)))
		atomic_store_explicit(&st_process->lock_stuck, 0, memory_order_relaxed);
	return true;
}

void st_process_unlock(void)
{
	/* Pairs with the acquire in try_lock. */
	atomic_store_explicit(&st_process->lock, 0, memory_order_release);
}

uint64_t st_config_number(const char *text)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

static bool key_is(const char *text, const char *key)
{
	return !strncmp(text, key, strlen(key));
}

/* Unknown keys are ignored: an older collector may meet a newer strata. */
static void parse_config(const char *text)
{
	const char *groups = NULL;
	uint64_t value;

	while (text && *text) {
		if (key_is(text, "clock=tsc")) {
			st_config.clock = ST_CLOCK_TSC;
		} else if (key_is(text, "ring=")) {
			value = st_config_number(text + 5);
			if (value >= 64 && value <= 4096 && !(value & (value - 1)))
				st_config.ring_bytes = (uint32_t)value << 10;
		} else if (key_is(text, "slots=")) {
			value = st_config_number(text + 6);
			if (value >= 1 && value <= ST_SHM_SLOTS)
				st_config.slots = (uint32_t)value;
		} else if (key_is(text, "paused=")) {
			st_config.paused = text[7] == '1';
		} else if (key_is(text, "resume_at=")) {
			st_config.resume_at_ns = st_config_number(text + 10);
		} else if (key_is(text, "task_lines=")) {
			st_config.task_lines = text[11] == '1';
		} else if (key_is(text, "offer_itt=")) {
			st_config.offer_itt = text[10] == '1';
		} else if (key_is(text, "groups=")) {
			groups = text + 7;
		} else if (key_is(text, "domains=")) {
			st_choose_domains(text + 8);
		} else {
			ST_BACKENDS_CALL(configure, text);
		}
		text = strchr(text, ';');
		if (text)
			text++;
	}
	st_choose_groups(groups, getenv("INTEL_ITTNOTIFY_GROUPS"));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void parse_token(const char *text)
{
	for (size_t i = 0; text && i < sizeof(st_config.token); i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return;
		st_config.token[i] = (uint8_t)(high << 4 | low);
	}
}

/* A name that does not fit a socket address is as good as none. */
static uint32_t copy_name(char *to, const char *from, size_t size_bytes)
{
	size_t length = from ? strlen(from) : 0;

	if (!length || length >= size_bytes)
		return 0;
	memcpy(to, from, length + 1);
	return (uint32_t)length;
}

/* Whether this process is to be recorded. */
static bool read_environment(void)
{
	st_config.clock = ST_CLOCK_MONO_RAW;
	st_config.ring_bytes = ST_SHM_RING_BYTES;
	st_config.slots = ST_SHM_SLOTS;
	st_config.offer_itt = true;
	parse_config(getenv("STRATA_CONFIG"));
	parse_token(getenv("STRATA_TOKEN"));
	st_config.sock_bytes =
		copy_name(st_config.sock, getenv("STRATA_SOCK"), sizeof(st_config.sock));
	/* One byte of the address is the leading zero of abstract names. */
	st_config.abs_bytes =
		copy_name(st_config.abs, getenv("STRATA_ABS"), sizeof(st_config.abs) - 1);
	if (st_config.paused)
		atomic_init(&st_shared.self_paused, ST_SELF_PAUSED_AT_START);
	return !getenv("STRATA_DISABLE") && (st_config.sock_bytes || st_config.abs_bytes) &&
	       !st_must_stand_back();
}

/* Everything but the word that lets records in. Threads may be there before us, and may record at once: constructors of
 * libraries that are initialised earlier start them. */
static void prepare(const struct st_entered_program *program)
{
	/* Values of later keys live in memory that libc allocates at the first use in each thread: not
	 * for us. strata then notices the end of a thread by itself. */
	st_config.key_valid =
		!pthread_key_create(&st_config.key, st_thread_destructor) && st_config.key < 32;
	ST_BACKENDS_CALL(start, program);
	st_fork_init();
}

static void activate(void)
{
	/* Whoever sees it sees all that was made ready. */
	__atomic_store_n(&st_config.active, true, __ATOMIC_RELEASE);
}

bool st_state_join(const struct st_join *join)
{
	if (!st_process || st_config.active || getenv("STRATA_DISABLE"))
		return false;
	st_config.offer_itt = false;
	parse_config(join->config);
	parse_token(join->token);
	st_config.sock_bytes = copy_name(st_config.sock, join->sock, sizeof(st_config.sock));
	st_config.abs_bytes = copy_name(st_config.abs, join->abs, sizeof(st_config.abs) - 1);
	if (!st_config.sock_bytes && !st_config.abs_bytes)
		return false;
	st_config.only_pid = (uint32_t)st_syscall(SYS_getpid, 0);
	prepare(&(struct st_entered_program){.joined = true});
	/* The program decides when it is recorded. */
	atomic_store_explicit(&st_shared.self_paused, ST_SELF_PAUSED_BY_CALL, memory_order_relaxed);
	activate();
	return true;
}

/* glibc gives constructors the arguments of main. */
__attribute__((constructor)) static void collector_init(int argc, char **argv)
{
	bool wanted = read_environment();

	st_exec_init();
	st_sandbox_init();
	ST_BACKENDS_CALL(probe);
	wiped.at = map_wiped(WIPED_BYTES);
	wiped.left_bytes = wiped.at ? WIPED_BYTES : 0;
	st_process = st_map_wiped((sizeof(struct st_inproc_process) + 4095) & ~4095ul);
	wanted = wanted && st_process;
	if (wanted)
		prepare(&(struct st_entered_program){.argc = argc, .argv = argv});
	/* Who comes later may give back what he maps. */
	wiped.left_bytes = 0;
	if (wanted)
		activate();
}
