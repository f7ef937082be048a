/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that ours stand for, looked up by the constructor or by whoever comes earlier. A name that this libc does not have
 * stays NULL, and has no caller.
 *
 * A library of the program's may have a function of the same name and stand before libc, as sanitizers do; it may even be another
 * function altogether, with parameters of its own. So what is exported is one jump, with all registers as they came: to ours
 * where the next one is libc's, else past us.
 */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

#include "collect/waits/waits.h"

/* Until they are looked up, all lead to st_first (waits_syscall.S). */
#define EXPORT(name, result, parameters)                                                           \
	__asm__(".pushsection .data\n"                                                             \
		".hidden st_entry_" #name "\n.globl st_entry_" #name "\n.balign 8\n"               \
		"st_entry_" #name ": .quad st_early_" #name "\n.popsection\n"                      \
		".pushsection .text\n.globl " #name "\n.type " #name                               \
		", @function\n.p2align 4\n" #name                                                  \
		":\n.cfi_startproc\nendbr64\njmpq *st_entry_" #name "(%rip)\n"                     \
		"st_early_" #name ": leaq st_entry_" #name "(%rip), %r11\njmp st_first\n"          \
		".cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n");                    \
	extern __attribute__((visibility("hidden"))) void *st_entry_##name;
ST_REAL_FUNCTIONS(EXPORT)
#undef EXPORT

struct st_real_functions st_real;
static struct {
	uintptr_t low, high;
} libc;

/* libc's other names for these three. */
int st_libc_lock(pthread_mutex_t *mutex);
int st_libc_trylock(pthread_mutex_t *mutex);
int st_libc_unlock(pthread_mutex_t *mutex);
__asm__(".symver st_libc_lock, __pthread_mutex_lock@GLIBC_2.2.5");
__asm__(".symver st_libc_trylock, __pthread_mutex_trylock@GLIBC_2.2.5");
__asm__(".symver st_libc_unlock, __pthread_mutex_unlock@GLIBC_2.2.5");

struct st_mutex_functions st_mutex = {st_libc_lock, st_libc_trylock, st_libc_unlock};

static int mutex_is_busy(pthread_mutex_t *mutex)
{
	(void)mutex;
	return EBUSY;
}

static int lock_is_busy(pthread_rwlock_t *lock)
{
	(void)lock;
	return EBUSY;
}

/* A library of the program's stands before libc's mutexes: to that, trying a lock is something else than taking it, and what it
 * has seen locked must be seen unlocked. */
static void stand_before(int (*lock)(pthread_mutex_t *), int (*unlock)(pthread_mutex_t *))
{
	__atomic_store_n(&st_mutex.trylock, mutex_is_busy, __ATOMIC_RELAXED);
	__atomic_store_n(&st_mutex.lock, lock, __ATOMIC_RELAXED);
	__atomic_store_n(&st_mutex.unlock, unlock, __ATOMIC_RELAXED);
	__atomic_store_n(&st_real.pthread_rwlock_tryrdlock, lock_is_busy, __ATOMIC_RELAXED);
	__atomic_store_n(&st_real.pthread_rwlock_trywrlock, lock_is_busy, __ATOMIC_RELAXED);
}

static void find_mutexes(void)
{
	int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);

	*(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (lock && unlock && (lock != st_libc_lock || unlock != st_libc_unlock))
		stand_before(lock, unlock);
}

/* Of two versions of a condition variable ours stand for the newer one. Nothing is asked for that is not there: the loader
 * would allocate the message, in a program's allocator that may have called us while it was being set up. */
static void *look_up(const char *name)
{
	static const char one_version[] = "pthread_cond_clockwait";

	if (!strncmp(name, "pthread_cond_", 13) && strcmp(name, one_version) != 0)
		return dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	return dlsym(RTLD_NEXT, name);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *unused)
{
	uintptr_t low = UINTPTR_MAX, high = 0, within = (uintptr_t)gnu_get_libc_version;

	(void)size;
	(void)unused;
	for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		low = at < low ? at : low;
		high = at + part->p_memsz > high ? at + part->p_memsz : high;
	}
	if (within < low || within >= high)
		return 0;
	libc.low = low;
	libc.high = high;
	return 1;
}

static void find(const char *name, void **real, void **entry, void *ours)
{
	void *next = look_up(name);
	bool is_libcs = !next || ((uintptr_t)next >= libc.low && (uintptr_t)next < libc.high);

	__atomic_store_n(real, next, __ATOMIC_RELAXED);
	__atomic_store_n(entry, is_libcs ? ours : next, __ATOMIC_RELAXED);
}

void st_real_find(void)
{
	int saved = errno;

	dl_iterate_phdr(find_libc, NULL);
#define FIND(name, result, parameters)                                                             \
	find(#name, (void **)&st_real.name, &st_entry_##name, (void *)(name));
	ST_REAL_FUNCTIONS(FIND)
#undef FIND
#define FIND(name, result, parameters)                                                             \
	__atomic_store_n((void **)&st_real.name, look_up(#name), __ATOMIC_RELAXED);
	ST_TRY_FUNCTIONS(FIND)
#undef FIND
	__atomic_store_n((void **)&st_real.syscall, dlsym(RTLD_NEXT, "syscall"), __ATOMIC_RELAXED);
	find_mutexes();
	errno = saved;
}

__attribute__((constructor(101))) static void find_early(void)
{
	st_real_find();
}
