/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that emits a known number of ITT tasks in many ways, for end-to-end tests: it says on
 * stdout, as one JSON object, exactly what it emitted. Options are described by --help.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "itt_static_part.h"

enum { PROGRESS_BYTES = 1 << 20, PROGRESS_STEP_NS = 10000000, CHILDREN_MAX = 4096 };

struct options {
	uint64_t threads, rounds, pairs, rate, depth, labels, forks, busy_threads, burst,
		unbalanced;
	double seconds;
	const char *prefix, *domain, *progress, *thread_name, *until;
	char **exec;
	int exit_code, kill_signal;
	bool cached, spin, crash, print_counts, open_task, outlive, exit_from_thread, quiet;
};

struct progress {
	uint64_t count, mono_raw_ns;
};

struct worker {
	pthread_t thread;
	uint64_t index, pairs;
	struct progress *progress;
	int tid;
};

static struct options opt = {
	.threads = 1,
	.rounds = 1,
	.pairs = 1000,
	.depth = 1,
	.labels = 10,
	.prefix = "label_",
	.domain = "itt_target",
	.exit_code = 0,
};
static struct itt_domain *domain;
static atomic_bool busy_stop;

static const char help[] =
	"usage: itt_target [options]\n"
	"Emits ITT tasks through the library INTEL_LIBITTNOTIFY64 names and prints what it "
	"emitted.\n"
	"  --threads N        threads that record (0: the main thread records); default 1\n"
	"  --rounds N         create and join that set of threads N times\n"
	"  --pairs N          begin+end pairs per thread and round; default 1000\n"
	"  --seconds S        record for S seconds instead of --pairs\n"
	"  --until FILE       with --seconds: end when FILE exists, if that comes first\n"
	"  --rate R           at most R pairs per second and thread\n"
	"  --burst N          N pairs back to back, then 10 ms of sleep\n"
	"  --spin             with --rate: wait by spinning, not sleeping\n"
	"  --depth D          pairs are nested D deep\n"
	"  --labels N         distinct labels, PREFIX0 … PREFIX(N-1); pair k has label k % N\n"
	"  --label-prefix S   default label_\n"
	"  --cached           make the handles once (N <= 65536), not before each pair\n"
	"  --domain NAME      default itt_target\n"
	"  --thread-name S    thread i names itself S followed by i\n"
	"  --busy-threads N   threads that only burn processor time meanwhile\n"
	"  --fork N           N children forked while the threads record; each emits --pairs "
	"pairs\n"
	"  --unbalanced N     N ends with nothing open, after the work, in the main thread\n"
	"  --open-task        the main thread leaves a task \"still_open\" open\n"
	"  --progress FILE    thread i keeps, at offset i MiB, 16-byte records {u64 pairs closed,\n"
	"                     u64 CLOCK_MONOTONIC_RAW ns}: record 0 the latest, 1 … one per 10 ms\n"
	"  --print-counts     the JSON has the count of every label\n"
	"  --quiet            print nothing\n"
	"  --exec PROG ARGS   become PROG at the end (inside the open task with --open-task)\n"
	"  --outlive          the main thread ends first, by pthread_exit\n"
	"  --exit-from-thread the first thread calls _exit when it is done\n"
	"  --exit CODE, --kill SIGNAL, --crash    how to end\n";

static uint64_t mono_raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&ts, NULL);
}

static struct itt_string_handle *label(uint64_t k)
{
	static struct itt_string_handle *_Atomic cache[65536];
	struct itt_string_handle *handle;
	uint64_t index = k % opt.labels;
	char text[512];

	if (opt.cached && index < 65536 && cache[index])
		return cache[index];
	snprintf(text, sizeof(text), "%s%" PRIu64, opt.prefix, index);
	handle = itt_string_handle_create(text);
	if (opt.cached && index < 65536)
		cache[index] = handle;
	return handle;
}

static void note_progress(struct worker *worker, uint64_t pairs, uint64_t *snapshot)
{
	struct progress *progress = worker->progress;
	uint64_t now;

	if (!progress)
		return;
	now = mono_raw_ns();
	progress[0] = (struct progress){pairs, now};
	if (now - progress[*snapshot].mono_raw_ns < PROGRESS_STEP_NS && *snapshot)
		return;
	if (*snapshot + 1 < PROGRESS_BYTES / sizeof(*progress))
		progress[++*snapshot] = (struct progress){pairs, now};
}

/* Waits as the pace asks, after `done` pairs since `start`. */
static void keep_pace(uint64_t start, uint64_t done)
{
	uint64_t due, now;

	if (opt.burst && done % opt.burst == 0)
		sleep_ns(10000000);
	if (!opt.rate || (!opt.spin && done % (opt.rate / 1000 + 1)))
		return;
	due = start + (uint64_t)((double)done * 1e9 / (double)opt.rate);
	now = mono_raw_ns();
	if (opt.spin)
		while (mono_raw_ns() < due)
			;
	else if (now < due)
		sleep_ns(due - now);
}

static bool is_told_to_end(void)
{
	return opt.until && !access(opt.until, F_OK);
}

static void work(struct worker *worker)
{
	uint64_t start = mono_raw_ns(), done = 0, snapshot = 0;
	uint64_t end = opt.seconds > 0 ? start + (uint64_t)(opt.seconds * 1e9) : 0;

	worker->tid = (int)syscall(SYS_gettid);
	while (end ? mono_raw_ns() < end && !is_told_to_end() : done < opt.pairs) {
		uint64_t depth = opt.depth;

		if (!end && depth > opt.pairs - done)
			depth = opt.pairs - done;
		for (uint64_t i = 0; i < depth; i++)
			itt_task_begin(domain, label(done + i));
		for (uint64_t i = 0; i < depth; i++)
			itt_task_end(domain);
		done += depth;
		note_progress(worker, done, &snapshot);
		keep_pace(start, done);
	}
	worker->pairs += done;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	char name[256];

	if (opt.thread_name) {
		snprintf(name, sizeof(name), "%s%" PRIu64, opt.thread_name, worker->index);
		itt_thread_set_name(name);
	}
	work(worker);
	if (opt.exit_from_thread && worker->index == 0)
		_exit(opt.exit_code);
	return NULL;
}

static void *busy_main(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&busy_stop, memory_order_relaxed))
		;
	return NULL;
}

static struct progress *open_progress(void)
{
	uint64_t count = opt.threads ? opt.threads : 1;
	struct progress *map;
	int fd;

	if (!opt.progress)
		return NULL;
	fd = open(opt.progress, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)(count * PROGRESS_BYTES)))
		return NULL;
	map = mmap(NULL, count * PROGRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

struct child {
	pid_t pid;
	uint64_t pairs;
};

static void make_children(struct child *children)
{
	for (uint64_t i = 0; i < opt.forks; i++) {
		struct worker self = {0};
		pid_t pid = fork();

		if (!pid) {
			work(&self);
			children[i].pairs = self.pairs;
			_exit(0);
		}
		children[i].pid = pid;
	}
	for (uint64_t i = 0; i < opt.forks; i++)
		while (waitpid(children[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
}

static void run_round(struct worker *workers, struct child *children)
{
	if (!opt.threads) {
		work(&workers[0]);
		return;
	}
	for (uint64_t i = 0; i < opt.threads; i++)
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]))
			abort();
	if (children)
		make_children(children);
	for (uint64_t i = 0; !opt.outlive && i < opt.threads; i++)
		pthread_join(workers[i].thread, NULL);
}

static void print_labels(const struct worker *workers, uint64_t count, const struct child *children)
{
	uint64_t rounds = opt.seconds > 0 ? 1 : opt.rounds;

	(void)children;
	printf(",\"labels\":{");
	for (uint64_t k = 0; k < opt.labels; k++) {
		uint64_t sum = 0;

		for (uint64_t i = 0; i < count; i++) {
			uint64_t each = workers[i].pairs / rounds;

			sum += rounds * (each / opt.labels + (k < each % opt.labels));
		}
		printf("%s\"%s%" PRIu64 "\":%" PRIu64, k ? "," : "", opt.prefix, k, sum);
	}
	printf("}");
}

static void print_json(const struct worker *workers, const struct child *children)
{
	uint64_t count = opt.threads ? opt.threads : 1, total = 0;

	if (opt.quiet)
		return;
	for (uint64_t i = 0; i < count; i++)
		total += workers[i].pairs;
	printf("{\"pid\":%d,\"collector\":%s,\"domain\":\"%s\",\"pairs\":%" PRIu64 ",\"threads\":[",
	       (int)getpid(), itt_global.state == 4 ? "true" : "false", opt.domain, total);
	for (uint64_t i = 0; i < count; i++)
		printf("%s{\"tid\":%d,\"pairs\":%" PRIu64 "}", i ? "," : "", workers[i].tid,
		       workers[i].pairs);
	printf("],\"children\":[");
	for (uint64_t i = 0; i < opt.forks; i++)
		printf("%s{\"pid\":%d,\"pairs\":%" PRIu64 "}", i ? "," : "", (int)children[i].pid,
		       children[i].pairs);
	printf("],\"unmatched_ends\":%" PRIu64 ",\"open\":%d", opt.unbalanced, opt.open_task);
	if (opt.print_counts)
		print_labels(workers, count, children);
	printf("}\n");
	fflush(stdout);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "itt_target: not a number: %s\n", text);
		exit(2);
	}
	return value;
}

static const struct option table[] = {
	{"threads", 1, NULL, 't'},
	{"rounds", 1, NULL, 'R'},
	{"pairs", 1, NULL, 'p'},
	{"seconds", 1, NULL, 's'},
	{"until", 1, NULL, 'U'},
	{"rate", 1, NULL, 'r'},
	{"burst", 1, NULL, 'b'},
	{"spin", 0, NULL, 'S'},
	{"depth", 1, NULL, 'd'},
	{"labels", 1, NULL, 'l'},
	{"label-prefix", 1, NULL, 'L'},
	{"cached", 0, NULL, 'c'},
	{"domain", 1, NULL, 'D'},
	{"thread-name", 1, NULL, 'n'},
	{"busy-threads", 1, NULL, 'B'},
	{"fork", 1, NULL, 'f'},
	{"unbalanced", 1, NULL, 'u'},
	{"open-task", 0, NULL, 'o'},
	{"progress", 1, NULL, 'P'},
	{"print-counts", 0, NULL, 'C'},
	{"quiet", 0, NULL, 'q'},
	{"exec", 0, NULL, 'x'},
	{"outlive", 0, NULL, 'O'},
	{"exit-from-thread", 0, NULL, 'T'},
	{"exit", 1, NULL, 'e'},
	{"kill", 1, NULL, 'k'},
	{"crash", 0, NULL, 'X'},
	{"help", 0, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static bool parse_number_option(int c)
{
	switch (c) {
	case 't':
		opt.threads = number(optarg);
		return true;
	case 'R':
		opt.rounds = number(optarg);
		return true;
	case 'p':
		opt.pairs = number(optarg);
		return true;
	case 'r':
		opt.rate = number(optarg);
		return true;
	case 'b':
		opt.burst = number(optarg);
		return true;
	case 'd':
		opt.depth = number(optarg);
		return true;
	case 'l':
		opt.labels = number(optarg);
		return true;
	case 'B':
		opt.busy_threads = number(optarg);
		return true;
	case 'f':
		opt.forks = number(optarg);
		return true;
	case 'u':
		opt.unbalanced = number(optarg);
		return true;
	case 'e':
		opt.exit_code = (int)number(optarg);
		return true;
	case 'k':
		opt.kill_signal = (int)number(optarg);
		return true;
	default:
		return false;
	}
}

static void parse_other_option(int c)
{
	switch (c) {
	case 's':
		opt.seconds = strtod(optarg, NULL);
		break;
	case 'U':
		opt.until = optarg;
		break;
	case 'S':
		opt.spin = true;
		break;
	case 'L':
		opt.prefix = optarg;
		break;
	case 'c':
		opt.cached = true;
		break;
	case 'D':
		opt.domain = optarg;
		break;
	case 'n':
		opt.thread_name = optarg;
		break;
	case 'o':
		opt.open_task = true;
		break;
	case 'P':
		opt.progress = optarg;
		break;
	case 'C':
		opt.print_counts = true;
		break;
	case 'q':
		opt.quiet = true;
		break;
	case 'O':
		opt.outlive = true;
		break;
	case 'T':
		opt.exit_from_thread = true;
		break;
	case 'X':
		opt.crash = true;
		break;
	case 'h':
		fputs(help, stdout);
		exit(0);
	default:
		fputs(help, stderr);
		exit(2);
	}
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "+", table, NULL)) != -1) {
		if (c == 'x') {
			opt.exec = argv + optind;
			break;
		}
		if (!parse_number_option(c))
			parse_other_option(c);
	}
	if (!opt.labels || !opt.depth || opt.forks > CHILDREN_MAX || (opt.exec && !opt.exec[0])) {
		fputs(help, stderr);
		exit(2);
	}
}

static int finish(void)
{
	if (opt.outlive)
		pthread_exit(NULL);
	if (opt.exec) {
		execvp(opt.exec[0], opt.exec);
		perror(opt.exec[0]);
		return 127;
	}
	if (opt.crash)
		*(volatile int *)NULL = 0;
	if (opt.kill_signal)
		raise(opt.kill_signal);
	return opt.exit_code;
}

int main(int argc, char **argv)
{
	struct progress *progress;
	struct worker *workers;
	struct child *children;
	pthread_t busy;

	parse(argc, argv);
	itt_part_load();
	domain = itt_domain_create(opt.domain);
	progress = open_progress();
	workers = calloc(opt.threads + 1, sizeof(*workers));
	children = mmap(NULL, CHILDREN_MAX * sizeof(*children), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!workers || children == MAP_FAILED)
		return 1;
	for (uint64_t i = 0; i < opt.threads || !i; i++) {
		workers[i].index = i;
		workers[i].progress =
			progress ? progress + i * (PROGRESS_BYTES / sizeof(*progress)) : NULL;
	}
	for (uint64_t i = 0; i < opt.busy_threads; i++)
		if (pthread_create(&busy, NULL, busy_main, NULL))
			return 1;
	for (uint64_t round = 0; round < opt.rounds; round++)
		run_round(workers, round ? NULL : children);
	atomic_store(&busy_stop, true);
	for (uint64_t i = 0; i < opt.unbalanced; i++)
		itt_task_end(domain);
	if (opt.open_task)
		itt_task_begin(domain, itt_string_handle_create("still_open"));
	if (!opt.outlive)
		print_json(workers, children);
	return finish();
}
