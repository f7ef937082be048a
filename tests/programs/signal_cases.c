// SPDX-License-Identifier: Apache-2.0
//
// signal_cases CASE: programs that use signals, masks, stacks and processes in ways that a sampler could
// disturb. Each burns CPU while it does so and prints what it found; the output is the same in every run.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { BURN_MS = 60, ROUNDS = 20, OFTEN = 100000 };

extern char **environ;

static volatile uint64_t sum;
static _Atomic int seen, by_user, by_trap;
static const char *self;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void burn(uint32_t ms)
{
	uint64_t until = cpu_ns() + ms * 1000000ull;

	while (cpu_ns() < until)
		for (int i = 0; i < 2000; i++)
			sum += (uint64_t)i;
}

static void trap(void)
{
#if defined(__x86_64__)
	__asm__ volatile("int3");
#else
	raise(SIGTRAP);
#endif
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)context;
	seen += number == SIGTRAP;
	by_user += info->si_code <= 0;
	by_trap += info->si_code > 0;
}

static void count(int number)
{
	(void)number;
	seen++;
}

static void own_trap(void)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, back;

	sigaddset(&action.sa_mask, SIGUSR2);
	if (sigaction(SIGTRAP, NULL, &back) || back.sa_handler != SIG_DFL)
		puts("not the default at first");
	sigaction(SIGTRAP, &action, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		burn(2);
		trap();
		kill(getpid(), SIGTRAP);
	}
	sigaction(SIGTRAP, NULL, &back);
	printf("seen %d, by user %d, by trap %d\n", seen, by_user, by_trap);
	printf("read back %d %d %d\n", back.sa_sigaction == on_trap,
	       (back.sa_flags & SA_SIGINFO) != 0, sigismember(&back.sa_mask, SIGUSR2));
	printf("signal gives the old one %d\n", signal(SIGTRAP, SIG_DFL) == back.sa_handler);
	burn(BURN_MS);
}

static void own_trap_once(void)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = (int)SA_RESETHAND}, back;

	sigaction(SIGTRAP, &action, NULL);
	burn(BURN_MS);
	raise(SIGTRAP);
	sigaction(SIGTRAP, NULL, &back);
	printf("seen %d, default again %d\n", seen, back.sa_handler == SIG_DFL);
	burn(BURN_MS);
}

static void own_prof(void)
{
	struct itimerval value = {{0, 2000}, {0, 2000}}, back;

	signal(SIGPROF, count);
	setitimer(ITIMER_PROF, &value, NULL);
	/* The kernel looks at this timer with its tick, which meets a thread of a busy machine only now and then. */
	for (int i = 0; i < 3 || (seen <= 3 && i < 100); i++)
		burn(BURN_MS);
	getitimer(ITIMER_PROF, &back);
	printf("some came %d, timer is ours %d\n", seen > 3, back.it_interval.tv_usec > 0);
}

static void trap_default(void)
{
	signal(SIGTRAP, SIG_DFL);
	burn(BURN_MS);
	puts("alive");
}

static void trap_ignored(void)
{
	signal(SIGTRAP, SIG_IGN);
	burn(BURN_MS);
	raise(SIGTRAP);
	burn(BURN_MS);
	puts("alive");
}

static void trap_kills(void)
{
	burn(BURN_MS);
	puts("about to");
	fflush(stdout);
	raise(SIGTRAP);
	puts("not reached");
}

static void int3_kills(void)
{
	signal(SIGTRAP, SIG_IGN); /* does not help against what the processor raises */
	burn(BURN_MS);
	puts("about to");
	fflush(stdout);
	trap();
	puts("not reached");
}

static void blocked(void)
{
	const struct timespec none = {0, 0};
	sigset_t all, back, one;
	siginfo_t info;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	burn(BURN_MS);
	sigprocmask(SIG_BLOCK, NULL, &back);
	printf("blocked %d\n", sigismember(&back, SIGTRAP));
	kill(getpid(), SIGTRAP);
	burn(BURN_MS);
	sigpending(&back);
	printf("pending %d\n", sigismember(&back, SIGTRAP));
	sigemptyset(&one);
	sigaddset(&one, SIGTRAP);
	printf("got %d\n", sigtimedwait(&one, &info, &none) == SIGTRAP && info.si_code == SI_USER);
	burn(BURN_MS);
	printf("no more %d\n", sigtimedwait(&one, &info, &none) < 0 && errno == EAGAIN);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	sigprocmask(SIG_BLOCK, NULL, &back);
	printf("blocked %d\n", sigismember(&back, SIGTRAP));
}

static void *wait_for_signal(void *arg)
{
	int number = 0;

	burn(BURN_MS);
	sigwait(arg, &number);
	printf("sigwait gave %s\n", number == SIGUSR1 ? "USR1" : "another");
	return NULL;
}

static void waiting(void)
{
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigaddset(&set, SIGPROF);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, wait_for_signal, &set);
	burn(2 * BURN_MS);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
}

static void descriptor(void)
{
	struct signalfd_siginfo info = {0};
	struct pollfd ready;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	ready = (struct pollfd){.fd = signalfd(-1, &all, SFD_NONBLOCK), .events = POLLIN};
	burn(BURN_MS);
	printf("readable %d\n", poll(&ready, 1, 0));
	kill(getpid(), SIGUSR1);
	if (read(ready.fd, &info, sizeof(info)) != sizeof(info))
		puts("short");
	printf("USR1 %d\n", info.ssi_signo == SIGUSR1);
	burn(BURN_MS);
	printf("readable %d\n", poll(&ready, 1, 0));
}

static void interrupted(void)
{
	const struct timespec nap = {0, 200000};
	int ends[2], failures = 0;
	char byte = 0;

	if (pipe(ends))
		return;
	for (int i = 0; i < 400; i++) {
		struct pollfd wait = {.fd = ends[0], .events = POLLIN};

		failures += poll(&wait, 1, 1) < 0;
		failures += nanosleep(&nap, NULL) < 0;
		burn(i % 4 == 0);
		failures += write(ends[1], &byte, 1) != 1;
		failures += read(ends[0], &byte, 1) != 1;
	}
	printf("interrupted %d\n", failures);
}

static void on_user(int number)
{
	(void)number;
	seen++;
}

static void suspending(void)
{
	struct sigaction action = {.sa_handler = on_user};
	sigset_t all, none;
	int wakes = 0;

	sigaction(SIGUSR1, &action, NULL);
	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		burn(3);
		kill(getpid(), SIGUSR1);
		sigsuspend(&none);
		wakes += seen == i + 1;
	}
	printf("woken %d by %d\n", wakes, seen);
}

/* Each signal is there before the call that waits for it. */
static void suspending_often(void)
{
	struct sigaction action = {.sa_handler = on_user};
	sigset_t user, none;
	int missed[3] = {0};

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&none);
	sigemptyset(&user);
	sigaddset(&user, SIGUSR1);
	sigprocmask(SIG_BLOCK, &user, NULL);
	for (int i = 0; i < OFTEN; i++) {
		int before = seen;

		kill(getpid(), SIGUSR1);
		if (i % 3 == 0)
			sigsuspend(&none);
		else if (i % 3 == 1)
			ppoll(NULL, 0, NULL, &none);
		else
			pselect(0, NULL, NULL, NULL, NULL, &none);
		missed[i % 3] += seen == before;
		while (seen == before)
			sigsuspend(&none);
	}
	printf("missed %d %d %d\n", missed[0], missed[1], missed[2]);
}

static _Atomic int asked;
static pthread_t asker;

/* A signal to the thread that has asked, each time after another while. */
static void *send_signals(void *arg)
{
	uint32_t random = 1;

	for (int sent = 0; sent < OFTEN / 5;) {
		if (atomic_load(&asked) == sent)
			continue;
		random = random * 1103515245u + 12345u;
		for (uint32_t i = 0; i < random >> 20; i++)
			sum += i;
		pthread_kill(asker, SIGUSR1);
		sent++;
	}
	return arg;
}

/* Signals come while the call waits, just before it, and just behind it. */
static void suspending_woken(void)
{
	struct sigaction action = {.sa_handler = on_user};
	int missed[4] = {0}, set = epoll_create1(0);
	struct epoll_event event;
	sigset_t user, none;
	pthread_t sender;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&none);
	sigemptyset(&user);
	sigaddset(&user, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &user, NULL);
	asker = pthread_self();
	pthread_create(&sender, NULL, send_signals, NULL);
	for (int i = 0; i < OFTEN / 5; i++) {
		int before = seen;

		atomic_fetch_add(&asked, 1);
		if (i % 4 == 0)
			sigsuspend(&none);
		else if (i % 4 == 1)
			ppoll(NULL, 0, NULL, &none);
		else if (i % 4 == 2)
			pselect(0, NULL, NULL, NULL, NULL, &none);
		else
			epoll_pwait(set, &event, 1, -1, &none);
		missed[i % 4] += seen == before;
		while (seen == before)
			sigsuspend(&none);
	}
	pthread_join(sender, NULL);
	printf("missed %d %d %d %d\n", missed[0], missed[1], missed[2], missed[3]);
}

/* Code at the very beginning of what can be read, with what looks like the result of an interrupted call. */
static void first_code(void)
{
#if defined(__x86_64__)
	/* again: dec %rdi; je out; mfence, behind which most signals come; jmp again; out: ret */
	static const uint8_t code[] = {0x48, 0xff, 0xcf, 0x74, 0x05, 0x0f,
				       0xae, 0xf0, 0xeb, 0xf6, 0xc3};
	long page = sysconf(_SC_PAGESIZE), times = 1 << 23, result = -EINTR;
	uint8_t *memory =
		mmap(NULL, 2 * (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED ||
	    mprotect(memory + page, (size_t)page, PROT_READ | PROT_WRITE | PROT_EXEC))
		return;
	memcpy(memory + page, code, sizeof(code));
	__asm__ volatile("call *%2"
			 : "+a"(result), "+D"(times)
			 : "r"(memory + page)
			 : "memory", "cc");
#endif
	puts("through");
}

static void forks(void)
{
	int total = 0;

	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			burn((uint32_t)i % 5);
			_exit(i % 7);
		}
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status))
			total += WEXITSTATUS(status);
		else
			puts("a child died");
	}
	printf("total %d\n", total);
}

static void execs(void)
{
	char *const argv[] = {(char *)self, "quick", NULL};
	volatile int good = 0;

	for (volatile int i = 0; i < 30; i++) {
		pid_t pid;
		int status;

		if (i % 3 == 0) {
			if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
				continue;
		} else {
			pid = i % 3 == 1 ? fork() : vfork();
			if (!pid) {
				execv(self, argv);
				_exit(99);
			}
		}
		good += waitpid(pid, &status, 0) == pid && status == 0;
	}
	printf("good %d\n", good);
}

/* Execs itself again and again, with a trigger running. */
static void chain(void)
{
	const char *left = getenv("CHAIN");
	char number[16];
	int n = left ? (int)strtol(left, NULL, 10) : 40;

	burn(3);
	if (!n) {
		puts("end of the chain");
		return;
	}
	snprintf(number, sizeof(number), "%d", n - 1);
	setenv("CHAIN", number, 1);
	execl(self, self, "chain", NULL);
}

/* What is blocked and ignored stays so in the next program. */
static void inherited(void)
{
	struct sigaction back;
	sigset_t all, now;

	if (!getenv("CHAIN")) {
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		burn(BURN_MS);
		setenv("CHAIN", "1", 1);
		execl("/nonexistent/program", "x", NULL);
		burn(3);
		execl(self, self, "inherited", NULL);
	}
	burn(BURN_MS);
	sigprocmask(SIG_SETMASK, NULL, &now);
	sigaction(SIGTRAP, NULL, &back);
	printf("blocked %d %d, default %d\n", sigismember(&now, SIGTRAP),
	       sigismember(&now, SIGUSR1), back.sa_handler == SIG_DFL);
}

enum { FIBRES = 8, FIBRE_BYTES = 32 << 10 };
static ucontext_t contexts[FIBRES + 1];
static int turns;

static void fibre(int which)
{
	for (int i = 0; i < 50; i++) {
		burn(1);
		turns++;
		swapcontext(&contexts[which], &contexts[which + 1 < FIBRES ? which + 1 : 0]);
	}
	setcontext(&contexts[FIBRES]);
}

static void fibres(void)
{
	if (getcontext(&contexts[FIBRES]) || turns) {
		printf("turns %d\n", turns);
		return;
	}
	for (int i = 0; i < FIBRES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(FIBRE_BYTES);
		contexts[i].uc_stack.ss_size = FIBRE_BYTES;
		contexts[i].uc_link = &contexts[FIBRES];
		makecontext(&contexts[i], (void (*)(void))fibre, 1, i);
	}
	setcontext(&contexts[0]);
}

static sigjmp_buf back_here;

static void jump(int number)
{
	(void)number;
	siglongjmp(back_here, 1);
}

static void jumping(void)
{
	struct itimerval value = {{0, 1500}, {0, 1500}}, none = {{0, 0}, {0, 0}};
	volatile int jumps = 0;

	signal(SIGALRM, jump);
	signal(SIGTRAP, jump);
	sigsetjmp(back_here, 1);
	if (jumps == 0)
		setitimer(ITIMER_REAL, &value, NULL);
	if (jumps++ < 100)
		burn(10000);
	setitimer(ITIMER_REAL, &none, NULL);
	if (jumps < 120) {
		raise(SIGTRAP);
		puts("not reached");
	}
	burn(BURN_MS);
	printf("jumps %d\n", jumps);
}

enum { GUARD_BYTES = 8192 };

static void on_alternate(int number)
{
	(void)number;
	burn(3);
	seen++;
}

static void alternate(size_t size_bytes)
{
	unsigned char *memory = malloc(GUARD_BYTES + size_bytes);
	stack_t stack = {.ss_sp = memory + GUARD_BYTES, .ss_size = size_bytes}, back;
	struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK}, read;
	int damaged = 0;

	memset(memory, 0xa5, GUARD_BYTES);
	if (sigaltstack(&stack, NULL))
		puts("refused");
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR1, NULL, &read);
	for (int i = 0; i < ROUNDS; i++) {
		burn(2);
		raise(SIGUSR1);
	}
	for (int i = 0; i < GUARD_BYTES; i++)
		damaged += memory[i] != 0xa5;
	sigaltstack(NULL, &back);
	printf("handled %d, damaged %d, kept %d, mask %d\n", seen, damaged,
	       back.ss_size == size_bytes, sigismember(&read.sa_mask, SIGTRAP));
}

static void alternate_small(void)
{
	alternate(8192);
}

static void alternate_large(void)
{
	alternate(64 << 10);
}

static void *small_thread(void *arg)
{
	burn(1);
	return arg;
}

static void churn(void)
{
	pthread_attr_t attr;
	uintptr_t total = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN));
	for (uintptr_t i = 0; i < 100; i++) {
		pthread_t threads[4];
		void *result;

		for (int k = 0; k < 4; k++)
			if (pthread_create(&threads[k], &attr, small_thread, (void *)i))
				exit(1);
		for (int k = 0; k < 4; k++) {
			pthread_join(threads[k], &result);
			total += (uintptr_t)result;
		}
	}
	printf("total %lu\n", (unsigned long)total);
}

static __attribute__((noinline)) uint64_t deep(uint32_t depth)
{
	volatile char page[512];

	page[0] = (char)depth;
	if (!depth) {
		burn(BURN_MS);
		return sum;
	}
	return deep(depth - 1) + (uint64_t)page[0] * 0;
}

static void recursion(void)
{
	deep(12000);
	puts("back");
}

/* A filter that kills at everything but the end, returning from handlers included. */
static void sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	burn(BURN_MS);
	puts("locking up");
	fflush(stdout);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0))
		return;
	for (uint64_t i = 0; i < 300000000; i++)
		sum += i;
	if (write(1, "locked up\n", 10) != 10)
		_exit(1);
	_exit(0);
}

/* A debugger that takes SIGTRAP for its own and passes everything else. */
static void show_prof(const char *when)
{
	struct sigaction now;

	sigaction(SIGPROF, NULL, &now);
	printf("SIGPROF %s: %s\n", when, now.sa_handler == SIG_DFL ? "default" : "handled");
	fflush(stdout);
}

/* SIGPROF from the first instant on: in the process, in children of all kinds, and with a handler of its own. */
static void prof_early(void)
{
	struct sigaction own = {.sa_handler = count}, before;
	int status = 0;
	pid_t pid;

	show_prof("at first");
	pid = vfork();
	if (!pid) {
		sigaction(SIGPROF, NULL, &before);
		_exit(before.sa_handler != SIG_DFL);
	}
	waitpid(pid, &status, 0);
	printf("vforked: %d\n", status);
	fflush(stdout);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		raise(SIGPROF);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("forked by system call, dies of %d\n", WTERMSIG(status));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		raise(SIGPROF);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("forked, dies of %d\n", WTERMSIG(status));
	sigaction(SIGPROF, &own, &before);
	printf("before: %s\n", before.sa_handler == SIG_DFL ? "default" : "handled");
	raise(SIGPROF);
	printf("seen %d\n", atomic_load(&seen));
	burn(BURN_MS);
	show_prof("at last");
}

static void prof_kills(void)
{
	raise(SIGPROF);
}

static void traced(void)
{
	pid_t pid = fork();
	int status = 0, others = 0;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(self, self, "burn", NULL);
		_exit(99);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int number = WSTOPSIG(status);

		others += number != SIGTRAP && number != SIGPROF;
		ptrace(PTRACE_CONT, pid, 0, number == SIGTRAP ? 0 : number);
	}
	printf("exit %d, other stops %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, others);
}

static void just_burn(void)
{
	burn(BURN_MS);
	puts("burnt");
}

static void quick(void)
{
	burn(8);
	puts("burnt");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"own_trap", own_trap},
	{"own_trap_once", own_trap_once},
	{"own_prof", own_prof},
	{"trap_default", trap_default},
	{"trap_ignored", trap_ignored},
	{"trap_kills", trap_kills},
	{"int3_kills", int3_kills},
	{"blocked", blocked},
	{"waiting", waiting},
	{"descriptor", descriptor},
	{"interrupted", interrupted},
	{"suspending", suspending},
	{"suspending_often", suspending_often},
	{"suspending_woken", suspending_woken},
	{"first_code", first_code},
	{"forks", forks},
	{"execs", execs},
	{"chain", chain},
	{"inherited", inherited},
	{"fibres", fibres},
	{"jumping", jumping},
	{"alternate_small", alternate_small},
	{"alternate_large", alternate_large},
	{"churn", churn},
	{"recursion", recursion},
	{"sandbox", sandbox},
	{"traced", traced},
	{"prof_early", prof_early},
	{"prof_kills", prof_kills},
	{"burn", just_burn},
	{"quick", quick},
};

int main(int argc, char **argv)
{
	self = argv[0];
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			return 0;
		}
	return 2;
}
